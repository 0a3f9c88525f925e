"""The real solutions of an equation in one name, by sympy, where they have a short form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import sympy

from gradcli.graph.nodes import Expr, reachable
from gradcli.ops.constants import Constant

_DEGREE = 4
_LONGEST = 24  # characters of a solution


def zeros(sides: Sequence[Expr], name: str) -> list[tuple[str, float]] | None:
    """The solutions, each as text and as a number (of periodic ones that with k = 0); None where they are not known."""
    x = sympy.Symbol(name, real=True)
    left, right = (_expression(side, x) for side in sides)
    if left is None or right is None:
        return None
    found: dict[str, float] = {}
    for factor in sympy.Mul.make_args(sympy.factor(left - right)):
        solutions = _of_factor(factor, x)
        if solutions is None:
            return None
        found |= solutions
    return sorted(found.items(), key=lambda solution: solution[1])


def _expression(root: Expr, x: Any) -> Any:
    """A scalar node as sympy has it; None where it has no such function."""
    table: dict[Expr, Any] = {}
    for node in reachable([root]):
        if node.is_leaf:
            table[node] = x
        elif node.op is None:
            payload = node.payload
            exact = payload.reference(sympy) if isinstance(payload, Constant) else sympy.Rational(Fraction(str(float(payload))))
            table[node] = exact
        elif not node.op.elementwise or node.op.kind == "flat" or _has_pieces(node) or any(o is None for o in node.operands):
            return None
        else:
            try:
                table[node] = (node.op.symbolic or node.op.reference)(
                    sympy, *[table[o] for o in node.operands if o is not None], **node.static
                )
            except (AttributeError, TypeError):
                return None  # a function that sympy lacks
    return table[root]


def _has_pieces(node: Expr) -> bool:
    assert node.op is not None
    return node.op.kind == "piecewise" and (bool(node.op.kinks) or node.op.facts.selects)


def _of_factor(factor: Any, x: Any) -> dict[str, float] | None:
    base = factor.base if factor.is_Pow and factor.exp.is_positive else factor
    if not base.has(x):
        return {}
    functions = [f for f in base.atoms(sympy.Function) if f.has(x)]
    if len(functions) > 1 or (functions and base.subs(functions[0], sympy.Dummy()).has(x)):
        return None
    if not base.subs(functions[0], x).is_polynomial(x) if functions else not base.is_polynomial(x):
        return None
    if sympy.degree(base.subs(functions[0], x) if functions else base, x) > _DEGREE:
        return None
    solutions = sympy.solveset(base, x, sympy.Reals)
    if solutions is sympy.S.EmptySet:
        return {}
    if isinstance(solutions, sympy.FiniteSet):
        return _written(dict.fromkeys(solutions))
    return _periodic(solutions)


def _periodic(solutions: Any) -> dict[str, float] | None:
    """Text of a union of a*n + b over the whole numbers: as one, where the offsets are evenly apart."""
    parts = solutions.args if isinstance(solutions, sympy.Union) else (solutions,)
    offsets: dict[Any, None] = {}
    period: Any = None
    for part in parts:
        if not isinstance(part, sympy.ImageSet) or part.base_sets != (sympy.S.Integers,):
            return None
        n = part.lamda.variables[0]
        step = sympy.expand(part.lamda.expr).coeff(n, 1)
        if period not in (None, step):
            return None
        period = step
        offsets[sympy.simplify(part.lamda.expr.subs(n, 0))] = None
    listed = sorted(offsets, key=float)
    if len(listed) > 1 and all(sympy.simplify(b - a - period / len(listed)) == 0 for a, b in pairwise(listed)):
        listed, period = listed[:1], period / len(listed)
    return _written(dict.fromkeys(listed, f"k*{period}"))


def _written(solutions: Mapping[Any, str | None]) -> dict[str, float] | None:
    """Solutions as text and as numbers, each with what repeats it."""
    found = {}
    for value, more in solutions.items():
        text = _number(value)
        text = text if more is None else more if value == 0 else f"{text} + {more}"
        if not value.is_real or len(text) > _LONGEST:
            return None
        found[text] = float(value)
    return found


def _number(value: Any) -> str:
    """A number as it is written: a decimal fraction where that is exact."""
    decimal = repr(float(value))
    return decimal if value.is_Rational and not value.is_Integer and Fraction(decimal) == Fraction(str(value)) else str(value)
