"""What the references of functions of matrices cost."""

from __future__ import annotations

import math

from gradcli.ops.spec import Function, Shape


def for_rows(units: float = 1.0, power: int = 1) -> Function:
    """So many scalar operations for each entry of the largest array, times a power of the number of rows of the first matrix."""

    def work(out: Shape, *operands: Shape) -> int:
        largest = max(math.prod(shape) for shape in (out, *operands))
        return int(max(1, largest) * operands[0][-1] ** power * units)

    return work
