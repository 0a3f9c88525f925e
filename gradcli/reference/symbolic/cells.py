"""Operations as cells of ranges: sympy's expression of each single operation, and sympy's
derivatives of its functions.
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
from gradcli.reference.ranges.cells import UNIT, Call, Cell
from gradcli.reference.symbolic.translate import OfSympy, Steps, expression_of

_SMALL = 64  # bits of a number that sympy is told, rather than being given a name for it


def of_operation(
    cells: Any, op: Op, static: Mapping[str, Any], arguments: Sequence[Cell | None]
) -> Cell:
    """A smooth operation on cells.

    Numbers are told to sympy: x**2 is no power with a variable in its exponent.
    """
    given: list[Any] = []
    for place, argument in enumerate(arguments):
        is_exponent = op.algebra == "power" and place > 0
        is_told = (
            argument is not None
            and argument.known is not None
            and (is_exponent or argument.known.p.bit_length() < _SMALL)
        )
        given.append(
            _scalar_of(argument) if is_told else None if argument is None else _symbol(place)
        )
    try:
        program = _operation(op, tuple(sorted(static.items())), tuple(given))
    except (TypeError, ValueError, AttributeError) as error:
        raise Unsupported(f"{op.name}: {error}") from None
    made = _make(cells, program, arguments)
    return made if op.domain else cells.fill(made)


def partial(cells: Any, call: Call, place: int) -> Cell:
    """sympy's derivative of a function by one of its arguments."""
    if call.function is None:
        raise Unsupported(f"the derivative of {call.name}")
    given = [
        _scalar_of(a) if a.known is not None and i != place else _symbol(i)
        for i, a in enumerate(call.args)
    ]
    return _make(cells, _slope(call.function, tuple(given), place), call.args)


def _make(cells: Any, program: Steps, arguments: Sequence[Any]) -> Cell:
    found: Cell = cells.branching(lambda: program.run(_Context(cells), tuple(arguments))[0])
    return found


def _scalar_of(x: Any) -> Any:
    return sympy.Rational(int(x.known.p), int(x.known.q))


@cache
def _symbol(place: int) -> Any:
    return sympy.Dummy(f"v{place}", real=True)


@cache
def _operation(op: Op, static: tuple[tuple[str, Any], ...], given: tuple[Any, ...]) -> Steps:
    return Steps.of(
        [expression_of(op, given, dict(static))], tuple(map(_symbol, range(len(given))))
    )


@cache
def _slope(function: Any, given: tuple[Any, ...], place: int) -> Steps:
    return Steps.of(
        [sympy.diff(function(*given), _symbol(place))], tuple(map(_symbol, range(len(given))))
    )


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
        return self.cells.product([(factor, UNIT) for factor in factors])

    def pow(self, base: Any, exponent: Any) -> Any:
        if exponent.known is not None:
            return self.cells.raise_to(base, exponent.known)
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
