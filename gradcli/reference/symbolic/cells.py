"""Operations as cells of ranges.

Each single operation is sympy's expression, and derivatives of its functions are sympy's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import sympy
from flint import fmpq

from gradcli.ops.spec import Op
from gradcli.reference.algebra import Unsupported
from gradcli.reference.symbolic.translate import OfSympy, Smooth, smooth_function, symbols_of


def of_operation(cells: Any, op: Op, static: Mapping[str, Any], arguments: Sequence[Any]) -> Any:
    """Apply a smooth operation to cells."""
    try:
        function = smooth_function(op, len(arguments), static)
    except (TypeError, ValueError, AttributeError) as error:
        raise Unsupported(f"{op.name}: {error}") from None
    return _make(cells, function, arguments)


def partial(cells: Any, call: Any, place: int) -> Any:
    """Return sympy's derivative of a function by one of its arguments."""
    if call.function is None:
        raise Unsupported(f"the derivative of {call.name}")
    given = tuple(a.known if i != place else None for i, a in enumerate(call.args))
    return _make(cells, _smooth(call.function, given).partial(place), call.args)


@cache
def _smooth(function: Any, given: tuple[fmpq | None, ...]) -> Smooth:
    """Return a function of sympy's that knows some numbers, such as orders of derivatives."""
    symbols = symbols_of(len(given))
    told = [
        x if q is None else sympy.Rational(int(q.p), int(q.q))
        for x, q in zip(symbols, given, strict=True)
    ]
    return Smooth(function(*told), symbols)


def _make(cells: Any, function: Smooth, arguments: Sequence[Any]) -> Any:
    return cells.branching(lambda: function.value(_Context(cells), tuple(arguments)))


class _Context(OfSympy):
    """sympy's functions of cells."""

    def __init__(self, cells: Any) -> None:
        self.cells, self.zero, self.mpf = cells, cells.zero, cells.of
        self.inf, self.ninf, self.nan = map(cells.of, (math.inf, -math.inf, math.nan))
        self.pi, self.euler = cells.pi, cells.euler

    def make_mpf(self, parts: Any) -> Any:
        exact = sympy.Rational(sympy.Float._new(parts, 100))
        return self.cells.number(fmpq(int(exact.p), int(exact.q)))

    def exp(self, x: Any) -> Any:
        return self.cells.call("e", None) if x == 1 else self.call(sympy.exp, x)

    def fsum(self, terms: Any) -> Any:
        return self.cells.fsum(terms)

    def fprod(self, factors: Any) -> Any:
        return self.cells.product([(factor, fmpq(1)) for factor in factors])

    def pow(self, base: Any, exponent: Any) -> Any:
        if exponent.known is not None:
            return self.cells.product([(base, exponent.known)])
        return self.cells.call("pow", sympy.Pow, base, exponent)

    def own(self, function: Any, *arguments: Any) -> Any:
        x = arguments[0]
        if function is sympy.tan:
            return self.call(sympy.sin, x) / self.call(sympy.cos, x)
        if function is sympy.Abs:
            return x if x >= 0 else -x
        if function is sympy.sign:
            return self.cells.of(1 if x > 0 else -1 if x < 0 else 0)
        if function is sympy.floor:
            return self.cells.floor(x)
        return self.cells.call(function.__name__.lower(), function, *arguments)
