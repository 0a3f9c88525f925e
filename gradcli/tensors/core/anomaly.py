"""Anomaly detection: the operation that passes NaN back, the element, and where the operation was called."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.ops.arrays.shapes import sum_to
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.node import Node

_CALL = "traceback_"  # in a node's metadata, as PyTorch has it


def note_call(node: Node) -> None:
    """Keep where an operation is called."""
    node.metadata[_CALL] = traceback.format_stack()[:-2]


def check_backward(node: Node, parts: Sequence[Any]) -> None:
    """Raise if something that a node passes back to its operands is NaN."""
    if not state.nan_checks:
        return
    for place, (operand, part) in enumerate(zip(node.operands, parts, strict=True)):
        if operand is None or part is None:
            continue
        array = sum_to(np.asarray(getattr(part, "array", part)), shape=operand.shape)
        if array.dtype.kind == "f" and np.isnan(array).any():
            show_call(node)
            where = tuple(int(i) for i in np.argwhere(np.isnan(array))[0])
            raise RuntimeError(
                f"Function '{node.label}' returned nan values in its {place}th output. Element {list(where)} of the gradient is the first"
            )


def show_call(node: Node) -> None:
    """Warn of where an operation was called that something is wrong with."""
    lines = node.metadata.get(_CALL)
    if lines is None:
        said = "No forward pass information available. Enable detect anomaly during forward pass for more information."
    else:
        said = f"Traceback of forward call that caused the error:\n{''.join(lines)}"
    warnings.warn(f"Error detected in {node.label}. {said}", UserWarning, stacklevel=2)
