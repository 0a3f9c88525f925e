"""Floats of 16 bits, float16 and bfloat16: stored as such, computed with in float32, and rounded once, as PyTorch's CPU does it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.graph.sweep import Parts
from gradcli.ops.arrays.shapes import sum_to
from gradcli.ops.spec import Op
from gradcli.tensors.core.dtypes import FLOATS


def is_half(kind: np.dtype[Any]) -> bool:
    """Whether floats of a dtype are of 16 bits."""
    return kind.itemsize == 2 and kind.kind in FLOATS


def holds_halves(kinds: Any) -> bool:
    """Whether a result is of such floats, or one of several."""
    return any(map(is_half, kinds)) if isinstance(kinds, tuple) else is_half(kinds)


def widened(value: Any) -> Any:
    """An array in the dtype that it is computed with, or each of several; whatever else there is, as it is."""
    if isinstance(value, np.ndarray):
        return value.astype(np.float32) if is_half(value.dtype) else value
    if isinstance(value, Parts):
        parts = Parts(map(widened, value))
        parts.shape, parts.dtype = value.shape, value.dtype
        return parts
    return tuple(map(widened, value)) if type(value) is tuple else value


def computed_with(op: Op, arrays: Sequence[Any], kind: np.dtype[Any] | None) -> list[Any]:
    """The operands of an operation as it computes with them; numbers, too, are rounded first unless its loops take them as they are."""
    wide = [widened(array) for array in arrays]
    if op.elementwise and kind is not None and op.torch.numbers != "wide":
        wide = [float(np.asarray(a, kind)) if type(a) is float else a for a in wide]
    return wide


def narrowed(parts: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
    """What a rule passes back to operands, summed to their shapes before it is rounded to their dtypes."""
    return [
        None if part is None or operand is None else _fitted(np.asarray(part), operand)
        for part, operand in zip(parts, operands, strict=True)
    ]  # fmt: skip


def _fitted(part: np.ndarray, operand: Any) -> np.ndarray:
    fitting = part if part.shape == operand.shape else sum_to(part, shape=operand.shape)
    return np.asarray(fitting, operand.dtype)
