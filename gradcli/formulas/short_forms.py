"""Quotients of functions as the functions that they are: sin(x)/cos(x) as tan(x), 1/cos(x) as sec(x)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gradcli.formulas.algebra import Algebra
from gradcli.formulas.bases import Value
from gradcli.formulas.polynomials import Number
from gradcli.ops.spec import Op


def ratios(
    algebra: Algebra, plain: Mapping[int, Number], alone: bool, cost: Callable[[Value], int]
) -> tuple[list[tuple[Op, Value, Number, int]], list[int]]:
    """Functions, their operands, exponents and places for powers of such functions, and the bases that they stand for.

    alone  whether nothing else stands above the line, so that 1/cos(x) needs a 1
    cost   the operations of an operand
    """
    bases = algebra.bases
    pairs: dict[Any, dict[Op, int]] = {}
    for number in plain:
        base = bases[number]
        if base.op is not None and base.op.rewriting.squared not in (None, 1):
            pairs.setdefault(base.operands[0], {})[base.op] = number
    pieces: list[tuple[Op, Value, Number, int]] = []
    used: list[int] = []
    for operand, numbers in pairs.items():
        family = next(iter(numbers)).rewriting.quotients
        if family is None:
            continue
        sin, cos, tan, cot, csc, sec = family()
        s, c = plain.get(numbers.get(sin, -1), 0), plain.get(numbers.get(cos, -1), 0)
        if s >= 0 and c >= 0:
            continue
        argument = cost(operand)
        _, _, t = min((_weight(s - t, c + t, t, argument), i, t) for i, t in enumerate(dict.fromkeys((0, s, -c))))
        s, c = s - t, c + t
        lonely = alone and s <= 0 and c <= 0
        if not t and not lonely:
            continue
        names: list[tuple[Op, Number]] = []
        if t:
            names.append((tan, t) if t > 0 else (cot, -t))
        for function, exponent, reciprocal in ((sin, s, csc), (cos, c, sec)):
            if exponent:
                names.append((reciprocal, -exponent) if exponent < 0 else (function, exponent))
        place = min(numbers.values())
        pieces += [(function, operand, exponent, place + i) for i, (function, exponent) in enumerate(names)]
        used += numbers.values()
    return pieces, used


def _weight(s: Number, c: Number, t: Number, argument: int) -> int:
    return sum(2 + argument + (abs(e) != 1) for e in (s, c, t) if e)
