"""What is known of an expression before it is read: the units of its exponents and angles, the orders of its roots, the signs of its parts.

All of it is found while reading. What changes how earlier parts are written raises `Refined`: then all is read once more.
"""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from math import lcm

_MULTIPLE = 48  # the largest multiple of a unit, and the largest part that a unit is cut into
_ORDER = 24  # the largest order of a root that has a relation


class Refined(Exception):
    """Something was learnt that earlier parts did not know of."""


class Known:
    """What was learnt so far; it survives reading anew.

    signs    of polynomials, 1 or -1, by their names: where the expression has a value, they are not negative, or not positive
    learnt   signs that count from the next reading on
    """

    def __init__(self) -> None:
        self._units: dict[Hashable, list[Fraction]] = {}
        self._orders: dict[Hashable, int] = {}
        self.signs: dict[str, int] = {}
        self.learnt: dict[str, int] = {}

    def unit(self, key: Hashable, multiple: Fraction) -> Fraction:
        """A unit of which this is a moderate whole multiple: one that others share, where there is one. Raises Refined."""
        units = self._units.setdefault(key, [])
        for i, unit in enumerate(units):
            ratio = multiple / unit
            if ratio.denominator == 1 and abs(ratio) <= _MULTIPLE:
                return unit
            if ratio.denominator <= _MULTIPLE and abs(ratio.numerator) <= _MULTIPLE:
                units[i] = unit / ratio.denominator
                raise Refined
        units.append(abs(multiple))
        return units[-1]

    def order(self, key: Hashable, denominator: int) -> int | None:
        """The order of a root of which all powers of a base are whole powers; None for those that have too large a one. Raises Refined."""
        known = self._orders.get(key)
        if known is not None and known % denominator == 0:
            return known
        order = lcm(known or 1, denominator)
        if order > _ORDER:
            return None
        self._orders[key] = order
        if known is not None:
            raise Refined
        return order

    def learn(self, key: str, sign: int) -> None:
        if key not in self.signs:
            self.learnt[key] = sign

    def take_in(self) -> bool:
        """Whether signs were learnt since the last reading, which count from now on."""
        new = bool(self.learnt)
        self.signs.update(self.learnt)
        self.learnt = {}
        return new
