"""The real solutions of an equation in one name, by sympy, where they have a short form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import sympy

from gradcli.graph.interpret import Domain, interpret
from gradcli.graph.nodes import Expr, reachable
from gradcli.ops.constants import Constant
from gradcli.ops.spec import Op
from gradcli.reference.algebra import Unsupported
from gradcli.reference.symbolic.translate import expression_of

_DEGREE = 4
_LONGEST = 24  # characters of a solution


def zeros(sides: Sequence[Expr], name: str) -> list[tuple[str, float]] | None:
    """The solutions, each as text and as a number (of periodic ones that with k = 0); None where they are not known."""
    x = sympy.Symbol(name, real=True)
    try:
        left, right = (interpret(reachable([side]), _Expressions(x))[side] for side in sides)
    except (Unsupported, AttributeError, TypeError):  # a function that sympy lacks
        return None
    found: dict[str, float] = {}
    for factor in sympy.Mul.make_args(sympy.factor(left - right)):
        solutions = _of_factor(factor, x)
        if solutions is None:
            return None
        found |= solutions
    return sorted(found.items(), key=lambda solution: solution[1])


class _Expressions(Domain[Any]):
    """Scalar nodes as sympy has them: without branches."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def leaf(self, node: Expr) -> Any:
        return self.x

    def constant(self, node: Expr) -> Any:
        payload = node.payload
        return payload.reference(sympy) if isinstance(payload, Constant) else sympy.Rational(Fraction(str(float(payload))))

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Any:
        branches = op.kind == "flat" or (op.kind == "piecewise" and (op.kinks or op.rewriting.selects))
        if not op.elementwise or branches or None in operands:
            raise Unsupported(op.name)
        return expression_of(op, operands, node.static)


def _of_factor(factor: Any, x: Any) -> dict[str, float] | None:
    base = factor.base if factor.is_Pow and factor.exp.is_positive else factor
    if not base.has(x):
        return {}
    inner, *others = [f for f in base.atoms(sympy.Function) if f.has(x)] or [x]
    unknown = sympy.Dummy()
    polynomial = base.subs(inner, unknown)
    if others or polynomial.has(x) or not polynomial.is_polynomial(unknown) or sympy.degree(polynomial, unknown) > _DEGREE:
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
