"""The real solutions of an equation in one name, by sympy, where they have a short form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
        branches = op.kind == "flat" or (op.kind == "piecewise" and (op.kinks or op.selects))
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
    found: dict[Any, Any] = {}  # solutions, each with the period at which it repeats
    for part in sympy.Union.make_args(sympy.solveset(base, x, sympy.Reals)):
        if isinstance(part, sympy.FiniteSet) or part is sympy.S.EmptySet:
            found |= dict.fromkeys(part)
        elif isinstance(part, sympy.ImageSet) and part.base_sets == (sympy.S.Integers,):
            n, repeated = part.lamda.variables[0], sympy.expand(part.lamda.expr)
            found[sympy.simplify(repeated.subs(n, 0))] = repeated.coeff(n, 1)
        else:
            return None
    periods = set(found.values())
    return _written(found, *periods) if len(periods) < 2 and all(value.is_real for value in found) else None


def _written(solutions: Iterable[Any], period: Any = None) -> dict[str, float] | None:
    """Solutions as text and as numbers: periodic ones as one, where they are evenly apart."""
    listed, texts = sorted(solutions, key=float), {}
    if period is not None and all(sympy.simplify(b - a - period / len(listed)) == 0 for a, b in pairwise(listed)):
        listed, period = listed[:1], period / len(listed)
    for value in listed:
        text = _number(value) if period is None else f"k*{period}" if value == 0 else f"{_number(value)} + k*{period}"
        if len(text) > _LONGEST:
            return None
        texts[text] = float(value)
    return texts


def _number(value: Any) -> str:
    """A number as it is written: a decimal fraction where that is exact."""
    decimal = repr(float(value))
    return decimal if value.is_Rational and not value.is_Integer and Fraction(decimal) == Fraction(str(value)) else str(value)
