"""Anomaly detection: the operation and the element that became infinite or NaN, forwards or backwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.ops.arrays.shapes import sum_to
from gradcli.ops.spec import Op
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.node import Node


def check_forward(op: Op, operands: Sequence[Any], out: np.ndarray) -> None:
    """Raise if a result is not finite although its operands are."""
    if out.dtype.kind != "f" or not state.nan_checks or np.isfinite(out).all():
        return
    arrays = [np.asarray(o) for o in operands if o is not None]
    if not all(np.isfinite(a).all() for a in arrays if a.dtype.kind == "f"):
        return
    place = tuple(int(i) for i in np.argwhere(~np.isfinite(out))[0])
    values = []
    for array in arrays:
        if op.elementwise and array.size:
            values.append(f"{np.broadcast_to(array, out.shape)[place]}")
    of = f" of {' and '.join(values)}" if values else ""
    raise RuntimeError(
        f"Function '{op.name}' returned {_kind(out[place])} values in its forward pass: element {list(place)} is {out[place]}{of}, the "
        "first of its graph that is not finite"
    )


def _kind(value: Any) -> str:
    return "nan" if np.isnan(value) else "inf"


def check_backward(node: Node, parts: Sequence[Any]) -> None:
    """Raise if something that a node passes back to its operands is not finite."""
    if not state.nan_checks:
        return
    for place, (operand, part) in enumerate(zip(node.operands, parts, strict=True)):
        if operand is None or part is None:
            continue
        array = sum_to(np.asarray(getattr(part, "array", part)), shape=operand.shape)
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            raise RuntimeError(
                f"Function '{node.label}' returned {_kind(array[where])} values in its {place}th output: element {list(where)} of the "
                f"gradient is {array[where]}"
            )
