"""A graph as products: every node a coefficient times powers of bases, sums put over a common denominator and cancelled.

What is equal for reasons of arithmetic, of powers, roots and exponentials, or by what records say of an operation (`Rewriting.means`,
`squared`, `parity`) becomes the same value, as far as sums are short enough to be multiplied out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from gradcli.formulas.bases import ONE, ZERO, Value
from gradcli.formulas.polynomials import lean
from gradcli.formulas.sums import Sums
from gradcli.graph.interpret import Transcription
from gradcli.graph.nodes import Expr, Operand
from gradcli.ops.constants import EULER_GAMMA, PI, Constant, E
from gradcli.ops.elementwise import exponential
from gradcli.ops.elementwise.logic import equal
from gradcli.ops.spec import Op


class Quantity(Operand):
    """A value with operators: what rules in records compute with."""

    __slots__ = ("algebra", "value")

    def __init__(self, algebra: Algebra, value: Value) -> None:
        self.algebra, self.value = algebra, value

    def __pos__(self) -> Quantity:
        return self

    def apply_op(self, op: Op, operands: Sequence[Any], static: Any) -> Quantity:
        values = [o.value if isinstance(o, Quantity) else self.algebra.of_number(o) for o in operands]
        return Quantity(self.algebra, self.algebra.applied(op, values, static))


class _Definitions:
    """What constants are defined by (`Constant.reference`)."""

    def __init__(self, algebra: Algebra) -> None:
        self.pi, self.euler = (Quantity(algebra, algebra.of_number(constant)) for constant in (PI, EULER_GAMMA))
        self.algebra = algebra

    def sqrt(self, x: Any) -> Any:
        return exponential.sqrt(self._quantity(x))

    def log(self, x: Any) -> Any:
        return exponential.log(self._quantity(x))

    def mpf(self, x: float) -> Quantity:
        return self._quantity(x)

    def _quantity(self, x: Any) -> Quantity:
        return x if isinstance(x, Quantity) else Quantity(self.algebra, self.algebra.of_number(x))


class Algebra(Sums, Transcription[Value]):
    """Values of nodes of one graph.

    largest  terms that a sum may have when it is multiplied out
    """

    def __init__(self, largest: int) -> None:
        super().__init__(largest)
        self.written: Callable[[Value], Expr] | None = None
        self._known: dict[Any, Value] = {}
        self._roles: dict[str, Callable[[list[Any]], Value]] = {
            "sum": self.total,
            "difference": lambda x: self.total([x[0], (-x[1][0], x[1][1])]),
            "negation": lambda x: (-x[0][0], x[0][1]),
            "product": lambda x: self.times(*x),
            "chain": lambda x: self.times(*x),
            "quotient": lambda x: self.times(x[0], self.raised(x[1], -1)),
            "square": lambda x: self.raised(x[0], 2),
            "reciprocal": lambda x: self.raised(x[0], -1),
            "power": lambda x: self.symbolic_power(*x),
            "exponential": lambda x: self.exponential(x[0]),
            "logarithm": lambda x: self.logarithm(x[0]),
        }

    # -- nodes ------------------------------------------------------------------------------------------------

    def leaf(self, node: Expr) -> Value:
        return 1, ((self.bases.make(node, node=node).number, 1),)

    def constant(self, node: Expr) -> Value:
        found = self.of_number(node.payload) if not isinstance(node.payload, (np.ndarray, bool)) else None
        return self.leaf(node) if found is None else found

    def of_number(self, payload: Any) -> Value:
        """A number as a coefficient: floats are the decimals that they are written as."""
        if isinstance(payload, Constant):
            if payload is E:
                return self.exponential(ONE)
            if payload is PI or payload is EULER_GAMMA:
                return 1, ((self.bases.make(payload.text, node=payload, positive=True).number, 1),)
            found: Quantity = payload.reference(_Definitions(self))
            return found.value
        if isinstance(payload, int):
            return payload, ()
        if payload - payload != 0:
            return 1, ((self.bases.make(repr(payload), node=payload).number, 1),)
        return (int(payload) if payload == int(payload) and abs(payload) < 1e15 else lean(Fraction(repr(float(payload))))), ()

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Value:
        if op.rewriting.repeats or (op.rewriting.unchanged and op.text.transparent) or (op.rewriting.reshapes and node.operand.shape == ()):
            inner: Value = operands[0]
            return inner
        rule = op.rewriting.simpler
        if rule is not None and op.elementwise and self.written is not None:
            nodes = [None if o is None else self.written(o) for o in operands]
            found = rule(node, *nodes, **node.static)
            for operand, value in zip(nodes, operands, strict=True):
                if found is operand and value is not None:
                    same: Value = value
                    return same
            if isinstance(found, bool):
                return self.leaf(node.graph.constant(found))
            if isinstance(found, (int, float)):
                return self.of_number(found)
            if found is not None:
                return self.leaf(found)
            if op.rewriting.algebra == "choice" and operands[1] == ZERO and self._guards(operands[0], operands[2]):
                branch: Value = operands[2]
                return branch
        return self.applied(op, operands, node.static, node)

    def _guards(self, condition: Value, branch: Value) -> bool:
        """Whether a condition such as 1/n == 0 only protects a product that has the factor 1/n anyway."""
        base = self.bases[condition[1][0][0]] if condition[1] else None
        if base is None or base.op is not equal or base.operands[1] != ZERO or not base.operands[0]:
            return False
        powers = dict(branch[1])
        return all(powers.get(b, 0) / e >= 1 for b, e in base.operands[0][1])

    def applied(self, op: Op, operands: Sequence[Any], static: Any, node: Expr | None = None) -> Value:
        role = self._roles.get(op.rewriting.algebra)
        if role is not None:
            return role(list(operands))
        means = op.rewriting.means
        if means is not None:
            key = (op, *operands, *static.values())
            known = self._known.get(key)
            if known is None:
                found = means(*(Quantity(self, o) for o in operands), **static)
                known = self._known[key] = found.value if isinstance(found, Quantity) else self.of_number(found)
            return known
        return self.function(op, operands, static, node)

    def function(self, op: Op, operands: Sequence[Value | None], static: Any, node: Expr | None = None) -> Value:
        """A function that is not taken apart; of -x, for odd and even ones that of x."""
        sign = 1
        parity = op.facts.parity
        first = operands[0]
        if parity and first is not None and first[0] < 0:
            operands = [(-first[0], first[1]), *operands[1:]]
            sign = -1 if parity == "odd" else 1
        shapes = () if op.elementwise or node is None else tuple(None if o is None else o.shape for o in node.operands)
        key = (op, tuple(operands), tuple(static.items()) if static else (), shapes)
        base = self.bases.make(
            key, op=op, operands=tuple(operands), static=static, shapes=shapes,
            modulus=2 if op.rewriting.squared == 1 else 0,
        )  # fmt: skip
        return sign, ((base.number, 1),)

    def squared(self, number: int) -> Value | None:
        base = self.bases[number]
        rule = base.op.rewriting.squared if base.op is not None else None
        if rule is None or isinstance(rule, int):
            return None
        found: Quantity = rule(*(Quantity(self, o) for o in base.operands if o is not None))
        return found.value
