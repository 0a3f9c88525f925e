"""Extent of a rewrite: the numbers for which a part equals what is written in its place, said where these are not all.

Both are computed at numbers of all signs and sizes in many digits. A series holds near zero or far from it, an identity with a
condition on one side of zero; of anything else, numbers are named for which it does not hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gradcli.check.passes import forward_exact
from gradcli.errors import GradcliError
from gradcli.graph.nodes import Expr, reachable
from gradcli.reference.algebra import Unsupported

_DIGITS = 120
_SAME = 1e-15  # relative: to floats the same
_POINTS = 24
_SIZES = (1e-3, 0.1, 0.5, 1.0, 2.0, 5.0, 30.0)
_NEAREST, _FARTHEST = -20, 20  # powers of ten between which a series is tried
_SHARES = (0.999, 0.5, 0.15)
_WITHOUT_VALUE = (Unsupported, GradcliError, ArithmeticError, ValueError, TypeError)


class Extent:
    """The numbers for which parts of a function and their rewrites are equal."""

    def __init__(self, values: Mapping[Expr, Any], precision: str) -> None:
        import mpmath

        self.values, self.precision = values, precision
        self.m = mpmath.MPContext()
        self.m.dps = _DIGITS

    def of(self, part: Expr, rewrite: Expr) -> str:
        """Return for which numbers a rewrite equals a part, in words; nothing where it does throughout the part's domain."""
        leaves = [leaf for leaf in reachable([part]) if leaf.is_leaf and leaf.kind == "float"]
        outside = next((point for point in self._points(leaves) if self._alike(part, rewrite, point) is False), None)
        if outside is None:
            return ""
        if len(leaves) == 1 and not leaves[0].shape:
            found = self._along(part, rewrite, leaves[0])
            if found:
                return found
        return f"here, not at {' '.join(f'{x.payload.name}={_text(point)}' for x, point in outside.items())}"

    def _points(self, leaves: list[Expr]) -> Iterator[dict[Expr, Any]]:
        """Points of all signs and of moderate sizes, the same each time."""
        random = np.random.default_rng(0)
        for _ in range(_POINTS):
            point = {}
            for leaf in leaves:
                size = random.choice(_SIZES, leaf.shape) * random.uniform(0.5, 1.5, leaf.shape)
                point[leaf] = np.asarray(size * random.choice([-1.0, 1.0], leaf.shape))[()]
            yield point

    def _along(self, part: Expr, rewrite: Expr, leaf: Expr) -> str:
        """The same in one number."""
        name, here = leaf.payload.name, float(self.values[leaf])

        def holds(number: float) -> bool:
            return self._alike(part, rewrite, {leaf: np.float64(number)}) is not False

        sign = -1.0 if here < 0 else 1.0
        if all(holds(sign * size * share) for size in (1e-12, 1e-6, *_SIZES, 1e3) for share in _SHARES):
            return f"for {name} {'<' if here < 0 else '>'} 0"

        def within(power: int, outwards: bool) -> bool:
            sizes = [10.0**power * (1 / share if outwards else share) for share in _SHARES]
            return all(holds(side * size) for size in sizes for side in (1.0, -1.0))

        if abs(here) < 1:
            powers = [power for power in range(_NEAREST, 1) if within(power, outwards=False)]
            radius = _last_in_row(powers, _NEAREST, 1)
            if radius is not None and abs(here) < 10.0**radius:
                return f"near {name} = 0, for |{name}| < {_power(radius)}"
        else:
            powers = [power for power in range(_FARTHEST, -1, -1) if within(power, outwards=True)]
            radius = _last_in_row(powers, _FARTHEST, -1)
            if radius is not None and abs(here) > 10.0**radius:
                return f"far from {name} = 0, for |{name}| > {_power(radius)}"
        return f"near {name} = {here!r}"

    def _alike(self, part: Expr, rewrite: Expr, point: Mapping[Expr, Any]) -> bool | None:
        """Return True if both have one value at a point; None where the part has none."""
        try:
            right = self._numbers(part, point)
        except _WITHOUT_VALUE:
            return None
        if not all(self.m.isfinite(x) for x in right):
            return None
        try:
            found = self._numbers(rewrite, point)
        except _WITHOUT_VALUE:
            return False
        return all(abs(x - y) <= _SAME * abs(x) + self.m.mpf(10) ** (10 - _DIGITS) for x, y in zip(right, found, strict=True))

    def _numbers(self, node: Expr, point: Mapping[Expr, Any]) -> list[Any]:
        leaves = {leaf: point.get(leaf, self.values[leaf]) for leaf in reachable([node]) if leaf.is_leaf}
        return list(np.ravel(forward_exact(self.m, node, leaves, self.precision)[node].array))


def _last_in_row(powers: list[int], first: int, step: int) -> int | None:
    """The last of some powers that follow one another from the first one on."""
    found = None
    for place, power in enumerate(powers):
        if power != first + step * place:
            break
        found = power
    return found


def _power(power: int) -> str:
    return f"{10.0**power:g}"


def _text(value: Any) -> str:
    return np.array2string(np.asarray(value), separator=",", precision=6, threshold=6).replace("\n", "").replace(" ", "")
