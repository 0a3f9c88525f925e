"""Slopes that are zero on whole pieces, where nothing flows back, whatever it would be multiplied with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gradcli.ops.elementwise.logic import where
from gradcli.ops.facts import Function


class Pieces:
    """A partial of an operation that stays as it is on some pieces, as relu does below 0.

    It is called as any partial is. What multiplies by it asks for ``flowing`` instead: an infinite cotangent times the zero of a flat piece
    is zero, while one times a zero that is so at the point only is not known.

    flat   ``flat(out, *operands, **static)``: where the result does not move, its edges among it if the slope chosen there is 0; None
           where static parameters are such that it moves everywhere
    slope  the partial elsewhere: a function of the same, or a number
    """

    __slots__ = ("flat", "slope")

    def __init__(self, flat: Function, slope: Function | float = 1.0) -> None:
        self.flat, self.slope = flat, slope

    def __call__(self, *values: Any, **static: Any) -> Any:
        flat, slope = self.flat(*values, **static), self._steepness(values, static)
        return slope if flat is None else where(flat, 0.0, slope)

    def flowing(self, times: Function, factor: Any, values: Sequence[Any], static: Mapping[str, Any]) -> Any:
        """Return what ``times`` makes of a factor and the slope, and zero on the flat pieces."""
        flat, slope = self.flat(*values, **static), self._steepness(values, static)
        moved = factor if type(slope) is float and slope == 1 else times(factor, slope)
        return moved if flat is None else where(flat, 0.0, moved)

    def _steepness(self, values: Sequence[Any], static: Mapping[str, Any]) -> Any:
        return self.slope(*values, **static) if callable(self.slope) else self.slope
