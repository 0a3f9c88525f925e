"""The reference for large arrays in pairs of doubles: the forms and derivatives of long doubles, on arrays that compiled loops compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.graph.interpret import interpret
from gradcli.graph.nodes import Expr, constant_value, reachable
from gradcli.ops.constants import Constant
from gradcli.ops.extended import LONG_DOUBLE, WIDER, Deferred
from gradcli.ops.spec import Op
from gradcli.reference.algebra import Unsupported
from gradcli.reference.extended import LongDoubles, pulled, share
from gradcli.reference.pairs.constants import halves
from gradcli.reference.pairs.deferred import Means, Numbers, OutOfRange, Wide, plain
from gradcli.reference.pairs.functions import FUNCTIONS, UFUNCS
from gradcli.reference.pairs.library import put
from gradcli.reference.pairs.schedule import computed
from gradcli.reference.stand_ins import StandIns

_EPSILON = 2.0**-96  # of pairs of doubles, and of constants as they have them
_MEANS = Means(computed, put, UFUNCS, FUNCTIONS)


def numbers() -> Numbers:
    """A judgement's arrays."""
    return Numbers(_MEANS)


class Found(NamedTuple):
    """As long doubles' `Reference`, in pairs: nothing is computed yet, but what had to be for something else.

    errors  of the slopes of single operations, in doubles
    """

    numbers: Numbers
    value: Wide
    slopes: list[Wide]
    errors: list[Wide]
    share: float


def reference(root: Expr, wrt: Sequence[Expr], leaves: Mapping[Expr, Any], seed: Any, precision: str) -> Found:
    """The derivative in pairs of doubles. Raises Unsupported, for what needs stand-ins also."""
    held = NoStandIns()
    known = numbers()
    order = reachable([root])
    with np.errstate(all="ignore"):
        table = interpret(order, Pairs(known, leaves, precision, held))
        adjoints, _ = pulled(order, table, root, wrt, known.array(np.asarray(seed, LONG_DOUBLE)).astype(LONG_DOUBLE), held)
    slopes, errors = [], []
    for x in wrt:
        slope, error, _ = adjoints.get(x, (np.zeros(x.shape, LONG_DOUBLE), np.zeros(x.shape), None))
        slopes.append(_wide(known, slope))
        errors.append(_wide(known, error).rough())
    return Found(known, _wide(known, table[root]), slopes, errors, share(precision, LONG_DOUBLE if WIDER else _EPSILON))


def value(root: Expr, leaves: Mapping[Expr, Any], precision: str) -> np.ndarray:
    """The value of an expression, computed in pairs of doubles and rounded to doubles. Raises Unsupported."""
    known = numbers()
    with np.errstate(all="ignore"):
        found = _wide(known, interpret(reachable([root]), Pairs(known, leaves, precision, NoStandIns()))[root])
        return found.halves()[0]


def _wide(numbers: Numbers, x: Any) -> Wide:
    return x if isinstance(x, Wide) else numbers.given(x)


class NoStandIns(StandIns):
    """Where an operation has no form, long doubles decide."""

    def value(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
        raise Unsupported(op.name)

    def pulled(self, op: Op, static: Mapping[str, Any], adjoint: Any, out: Any, operands: list[Any]) -> Any:
        raise Unsupported(op.name)


class Pairs(LongDoubles):
    """Whole arrays in pairs of doubles."""

    def __init__(self, numbers: Numbers, leaves: Mapping[Expr, Any], precision: str, held: StandIns) -> None:
        super().__init__(leaves, precision, held)
        self.numbers = numbers

    def leaf(self, node: Expr) -> Any:
        value = np.asarray(self.leaves[node])
        if value.dtype.kind != "f":
            return value
        found = self.numbers.array(value)
        if not value.ndim:
            return found.astype(LONG_DOUBLE)
        high = value.astype(np.float64, copy=False)
        size = np.abs(high)
        least = size.min(initial=np.inf, where=size > 0) if not size.all() else size.min(initial=np.inf)
        if not (size.max(initial=0) < 2.0**1000 and least > 2.0**-960):
            raise OutOfRange("numbers beyond pairs of doubles")
        return self.numbers.made("pair", value.shape, (high, None))

    def constant(self, node: Expr) -> Any:
        if isinstance(node.payload, Constant):
            return self.numbers.filled(*_halves(node.payload), (), "pair")
        value = np.asarray(constant_value(node.payload, self.dtype, node.kind))
        return self.numbers.array(value.astype(LONG_DOUBLE)).astype(LONG_DOUBLE) if node.kind == "float" else value

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Any:
        if op.elementwise and (op.extended is None or op.extended.value is None) and any(isinstance(o, Deferred) for o in operands):
            found = self._by_entries(node, op, operands)
            if found is not None:
                return found
            operands = [plain(o) for o in operands]
        return super().operation(node, op, operands)

    def _by_entries(self, node: Expr, op: Op, operands: list[Any]) -> Any:
        """By sympy's expression of the operation, or what stands here for those that have none."""
        if op.name in _PIECES:
            return _PIECES[op.name](*operands)
        if op.kind != "smooth" or any(o is None for o in operands):
            return None
        from gradcli.reference.symbolic.on_arrays import Unknown, on_arrays
        from gradcli.reference.symbolic.translate import smooth_function

        smooth = smooth_function(op, len(operands), node.static)
        try:
            return on_arrays(smooth.expression, smooth.symbols, operands)
        except Unknown:
            return None


def _halves(constant: Constant) -> tuple[float, float]:
    import mpmath

    with mpmath.workdps(40):
        return halves(+constant.reference(mpmath.mp))


# what sympy has no smooth expression of
_PIECES: dict[str, Any] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "neg": lambda x: -x,
    "square": lambda x: x * x,
    "sign": np.sign,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "abs": lambda x: np.where(x < 0, -x, x),
    "maximum": lambda x, y: np.where(x < y, y, x),
    "minimum": lambda x, y: np.where(y < x, y, x),
    "relu": lambda x: np.where(x > 0, x, 0),
    "where": np.where,
    "less": lambda x, y: x < y,
    "less_equal": lambda x, y: x <= y,
    "greater": lambda x, y: y < x,
    "greater_equal": lambda x, y: y <= x,
    "equal": lambda x, y: x == y,
    "not_equal": lambda x, y: x != y,
    "logical_and": lambda x, y: x & y,
    "logical_or": lambda x, y: x | y,
    "logical_not": lambda x: ~x,
}
