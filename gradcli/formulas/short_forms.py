"""Quotients of functions as the functions that they are: sin(x)/cos(x) as tan(x), 1/cos(x) as sec(x)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from gradcli.formulas.polynomials import Number
from gradcli.ops.registry import registry
from gradcli.ops.spec import Op

if TYPE_CHECKING:
    from gradcli.formulas.fractions import Piece
    from gradcli.formulas.layout import Layout

_RANK = 3  # of functions among factors


@cache
def families() -> Mapping[Op, tuple[Op, Op, Op, Op, Op, Op]]:
    """For sin: (sin, cos, tan, cot, csc, sec); for sinh likewise: two functions, their quotients and their reciprocals."""
    from gradcli.formulas.algebra import Algebra

    found: dict[Any, Op] = {}
    algebra = Algebra(10)
    x = algebra.of_number(float("nan"))  # stands for anything
    for op in registry().values():
        if op.rewriting.means is not None and len(op.operands) == 1:
            number, monomial = algebra.applied(op, [x], op.static)
            functions = {algebra.bases[base].op: exponent for base, exponent in monomial}
            if number == 1 and None not in functions and sum(functions.values()) in (0, -1):
                found[frozenset(functions.items())] = op
    result = {}
    for key, op in found.items():
        powers = dict(key)
        if len(powers) != 2:
            continue
        over = next(f for f, e in powers.items() if e == 1)
        under = next(f for f, e in powers.items() if e == -1)
        inverse = found.get(frozenset({(over, -1), (under, 1)}))
        csc, sec = found.get(frozenset({(over, -1)})), found.get(frozenset({(under, -1)}))
        # sin is what vanishes at 0: the odd one
        if inverse is not None and csc is not None and sec is not None and over.facts.parity == "odd":
            result[over] = result[under] = (over, under, op, inverse, csc, sec)
    return result


def ratios(layout: Layout, plain: Mapping[int, Number], alone: bool) -> tuple[list[Piece], list[int]]:
    """Pieces for powers of such functions, and the bases that they stand for.

    alone  whether nothing else stands above the line, so that 1/cos(x) needs a 1
    """
    bases = layout.algebra.bases
    pairs: dict[Any, dict[Op, int]] = {}
    for number in plain:
        base = bases[number]
        if base.op is not None and base.op.rewriting.squared not in (None, 1):
            pairs.setdefault(base.operands, {})[base.op] = number
    pieces: list[Piece] = []
    used: list[int] = []
    for operands, numbers in pairs.items():
        family = families().get(next(iter(numbers)))
        if family is None:
            continue
        sin, cos, tan, cot, csc, sec = family
        s, c = plain.get(numbers.get(sin, -1), 0), plain.get(numbers.get(cos, -1), 0)
        if s >= 0 and c >= 0:
            continue
        argument = layout.cost(layout.node(operands[0]))
        _, t = min((_weight(s - t, c + t, t, argument, alone), i, t)[::2] for i, t in enumerate(dict.fromkeys((0, s, -c))))
        s, c = s - t, c + t
        names: list[tuple[Op, Number]] = []
        if t:
            names.append((tan, t) if t > 0 else (cot, -t))
        lonely = alone and s <= 0 and c <= 0
        for function, exponent, reciprocal in ((sin, s, csc), (cos, c, sec)):
            if exponent:
                names.append((reciprocal, -exponent) if exponent < 0 and (lonely or t) else (function, exponent))
        if len(names) == len(numbers) and not any(exponent < 0 for _, exponent in names) is False and not t:
            continue
        argument_node = layout.node(operands[0])
        place = min(numbers.values())
        pieces += [(_RANK, ("", place + i), layout.graph.apply(f, (argument_node,)), e) for i, (f, e) in enumerate(names)]
        used += numbers.values()
    return pieces, used


def _weight(s: Number, c: Number, t: Number, argument: int, alone: bool) -> int:
    return sum(2 + argument + (abs(e) != 1) for e in (s, c, t) if e)
