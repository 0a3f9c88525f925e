"""What reducing along axes leaves: its shape, and how many entries go into one."""

from __future__ import annotations

import math
from typing import Any

from gradcli.ops.writing import Shape, axes_of


def reduced(shape: Shape, axis: Any = None, keepdims: bool = False, **_: Any) -> Shape:
    """The shape that a reduction leaves."""
    axes = axes_of(axis, len(shape))
    return tuple(1 if i in axes else n for i, n in enumerate(shape) if keepdims or i not in axes)


def count(shape: Shape, axis: Any) -> int:
    """How many entries go into one entry of the result."""
    return math.prod(shape[a] for a in axes_of(axis, len(shape)))
