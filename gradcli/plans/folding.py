"""Folding a graph for speed.

Folded are constants, identities that hold to rounding, and shapes that broadcasting implies. Unlike
`simplify`, which writes for people, nothing here cancels: every result is the original's to a few
units in the last place as long as all intermediate values are finite and normal. Elsewhere a fold
that assumes all values to be finite may differ (a product in another order overflows; a cotangent
of zero meets an infinite partial). A caller that runs a ``risky`` fold checks its results and, if
any is not finite, runs a fold without that assumption.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.graph.nodes import Expr, Graph, Rebuilding, constant_value, interpret, reachable
from gradcli.ops.arrays import shapes
from gradcli.ops.calling.inputs import FLOAT, INT, numpy_dtype
from gradcli.ops.elementwise import arithmetic, exponential, logic
from gradcli.ops.spec import Op

# Coefficients that may move through a product. This bounds the loss in the subnormal range.
_MODERATE = 2.0**10


class Folder(Rebuilding):
    """Folds nodes of one graph into another.

    A folded node may have a smaller shape, which broadcasts to the old one.
    """

    def __init__(self, graph: Graph, *, assume_finite: bool) -> None:
        super().__init__(graph)
        self.assume_finite = assume_finite
        self.risky = False
        self.done: dict[Expr, Expr] = {}
        self._rules: dict[str, Callable[..., Expr | None]] = {
            "sum": self._sum,
            "difference": self._difference,
            "negation": lambda x: self._scale(-1.0, x),
            "product": self._product,
            "chain": self._chain,
            "quotient": self._quotient,
            "reciprocal": lambda x: self._quotient(self._number(1.0), x),
            "power": self._power,
            "choice": _choose,
        }

    def fold(self, roots: Sequence[Expr]) -> list[Expr]:
        """Return nodes of the same values, each in its old shape."""
        interpret(reachable(roots), self, self.done)
        return [self._shape_node(root) for root in roots]

    def _shape_node(self, node: Expr) -> Expr:
        folded = self.done[node]
        if (node.op is not None and node.op.outputs > 1) or folded.shape == node.shape:
            return folded
        return self.graph.apply(shapes.broadcast_to, (folded,), {"shape": node.shape})

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Expr:
        reshapes = op.algebra == "reshaping"
        if op.leaves_unchanged or (
            reshapes and (node.operand.shape == node.shape or not self.done[node.operand].shape)
        ):
            return self.done[node.operand]
        if not op.elementwise:
            return self.graph.apply(
                op, [None if o is None else self._shape_node(o) for o in node.operands], node.static
            )
        numbers = [constant_of(o) for o in operands if o is not None]
        if None not in numbers and node.kind != INT:
            with np.errstate(all="ignore"):
                value = op.forward(*[np.asarray(number)[()] for number in numbers], **node.static)
            return self.graph.constant(float(value) if node.kind == FLOAT else bool(value))
        if op.parts is not None:
            parts: Expr = op.parts(*operands, **node.static)
            return parts
        rule = self._rules.get(op.algebra)
        folded = rule(*operands) if rule is not None else None
        return self.graph.apply(op, operands, node.static) if folded is None else folded

    def constant(self, node: Expr) -> Expr:
        if node.kind != FLOAT:
            return node
        value = constant_value(node, numpy_dtype(FLOAT, "float64"))
        alike = not value.ndim or (value.size and (value == value.flat[0]).all())
        return (
            self._number(value.flat[0] if value.ndim else value)
            if alike
            else self.graph.constant(value)
        )

    def _number(self, value: float) -> Expr:
        return self.graph.constant(float(value))

    # -- sums --------------------------------------------------------------------------------------

    def _sum(self, x: Expr, y: Expr) -> Expr:
        if _is_negative_zero(x):
            return y
        if _is_negative_zero(y):
            return x
        if y.op is arithmetic.neg:
            return self.graph.apply(arithmetic.sub, (x, y.operand))
        if x.op is arithmetic.neg:
            return self.graph.apply(arithmetic.sub, (y, x.operand))
        return self.graph.apply(arithmetic.add, _order_operands(x, y))

    def _difference(self, x: Expr, y: Expr) -> Expr | None:
        if constant_of(y) == 0 and not _is_negative_zero(y):
            return x
        return self._sum(x, y.operand) if y.op is arithmetic.neg else None

    # -- products ----------------------------------------------------------------------------------

    def _may_move(self, a: float, b: float) -> bool:
        """Return whether two coefficients may become one, or move outward.

        They may if that changes no more than rounding.
        """
        if abs(a) == 1 or (abs(b) == 1 and math.isfinite(a)):
            return True
        if not (
            math.isfinite(a * b)
            and min(abs(a), abs(b)) >= 1 / _MODERATE
            and max(abs(a), abs(b)) <= _MODERATE
        ):
            return False
        if (abs(a) < 1) != (abs(b) < 1):
            if not self.assume_finite:
                return False
            self.risky = True
        return True

    def _scale(self, c: float, x: Expr) -> Expr:
        """c*x, joined with a coefficient that x has."""
        a, inner = _split(x)
        if inner is None:
            return self._number(c * a)
        if self._may_move(c, a):
            c, x = c * a, inner
        if abs(c) == 1:
            return x if c == 1 else self.graph.apply(arithmetic.neg, (x,))
        return self.graph.apply(arithmetic.mul, (self._number(c), x))

    def _product(self, x: Expr, y: Expr) -> Expr:
        a, u = _split(x)
        b, v = _split(y)
        if u is None:
            return self._scale(a, y)
        if v is None:
            return self._scale(b, x)
        if a == b == 1 or not (
            self.assume_finite and max(abs(a), abs(b)) <= _MODERATE and self._may_move(a, b)
        ):
            return self._times(x, y)
        self.risky = self.risky or abs(a * b) != 1
        return self._scale(a * b, self._times(u, v))

    def _times(self, x: Expr, y: Expr) -> Expr:
        if x is y:
            return self.graph.apply(arithmetic.square, (x,))
        if self.assume_finite:
            for quotient, factor in ((x, y), (y, x)):
                if quotient.op is arithmetic.div and constant_of(quotient.operand) == 1:
                    self.risky = True
                    return self.graph.apply(arithmetic.div, (factor, quotient.operands[1]))
        return self.graph.apply(arithmetic.mul, _order_operands(x, y))

    def _chain(self, cotangent: Expr, partial: Expr) -> Expr:
        """Return the product of a cotangent and a partial.

        It is zero where the cotangent is that of a branch not taken, whatever the partial is there.
        """
        constant, factor = constant_of(cotangent), constant_of(partial)
        if constant or (factor is not None and math.isfinite(factor)):
            return self._product(cotangent, partial)
        if self.assume_finite:
            self.risky = True
            return self._product(cotangent, partial)
        if cotangent.op is logic.where and 0 in map(constant_of, cotangent.operands[1:]):
            condition, *branches = cotangent.operands
            passed = [
                x if x is None or constant_of(x) == 0 else self._chain(x, partial) for x in branches
            ]
            return self.graph.apply(logic.where, (condition, *passed))
        return self._open_product(cotangent, partial)

    def _open_product(self, cotangent: Expr, partial: Expr) -> Expr:
        """Return a product in which a zero may meet an infinity."""
        return self._product(cotangent, partial)

    def _quotient(self, x: Expr, y: Expr) -> Expr | None:
        a, u = _split(x)
        b, v = _split(y)
        if v is None:
            exact = b != 0 and math.isfinite(1 / b) and abs(math.frexp(b)[0]) == 0.5
            return self._scale(1 / b, x) if exact else None
        if not (self.assume_finite and b and (a, b) != (1, 1) and self._may_move(a, 1 / b)):
            return None
        self.risky = self.risky or abs(a / b) != 1
        if u is None:
            return self.graph.apply(arithmetic.div, (self._number(a / b), v)) if b != 1 else None
        return self._scale(a / b, self.graph.apply(arithmetic.div, (u, v)))

    def _power(self, x: Expr, y: Expr) -> Expr | None:
        exponent = constant_of(y)
        if exponent == 0:
            return self._number(1.0)  # for every x, even NaN
        if exponent is None or abs(exponent) not in _SIMPLE_POWERS:
            return None
        if not float(exponent).is_integer():
            # Numbers use C's power, by which the root of -0 is 0.
            if not self.assume_finite or not x.shape:
                return None
            self.risky = True  # square roots of -inf and -0 differ from powers
        power = _SIMPLE_POWERS[abs(exponent)](self, x)
        return power if exponent > 0 else self.graph.apply(arithmetic.div, (1.0, power))

    def _square(self, x: Expr) -> Expr:
        return self.graph.apply(arithmetic.square, (x,))

    def _root(self, x: Expr) -> Expr:
        return self.graph.apply(exponential.sqrt, (x,))


_SIMPLE_POWERS: dict[float, Callable[[Folder, Expr], Expr]] = {
    1.0: lambda f, x: x,
    2.0: Folder._square,
    3.0: lambda f, x: f._times(f._square(x), x),
    4.0: lambda f, x: f._square(f._square(x)),
    0.5: Folder._root,
    1.5: lambda f, x: f._times(x, f._root(x)),
}


def constant_of(node: Expr | None) -> float | None:
    """Return the number of a scalar constant, or None for any other node."""
    if node is None or not node.is_constant or isinstance(node.payload, np.ndarray):
        return None
    return node.payload if isinstance(node.payload, bool) else float(node.payload)


def _is_negative_zero(node: Expr) -> bool:
    """Return whether a node is -0, which changes nothing that it is added to; 0 makes 0 of -0."""
    number = constant_of(node)
    return number == 0 and math.copysign(1, number) < 0


def _choose(condition: Expr, x: Expr, y: Expr) -> Expr | None:
    decided = constant_of(condition)
    return (x if x is y else None) if decided is None else x if decided else y


def _split(node: Expr) -> tuple[float, Expr | None]:
    """Return a coefficient and the node that it multiplies.

    A number is returned as the coefficient, with None as the node.
    """
    number = constant_of(node)
    if number is not None:
        return number, None
    if node.op is arithmetic.neg:
        return -1.0, node.operand
    if node.op is arithmetic.mul:
        number = constant_of(node.operand)
        if number is not None:
            return number, node.operands[1]
    return 1.0, node


def _order_operands(x: Expr, y: Expr) -> tuple[Expr, Expr]:
    """Return the operands of a commutative operation in one order, numbers first.

    Equal products thus become one node.
    """
    return (x, y) if (not x.is_constant, x.index) <= (not y.is_constant, y.index) else (y, x)
