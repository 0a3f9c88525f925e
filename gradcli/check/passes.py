"""One pass of the judge at one precision: the reference and the rules without rounding, in multi-precision numbers or in balls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.errors import GradcliError
from gradcli.graph.indeterminate import gradients
from gradcli.graph.interpret import Domain, interpret
from gradcli.graph.nodes import Expr, reachable
from gradcli.ops.constants import Constant
from gradcli.ops.operands import Operand
from gradcli.ops.spec import Op
from gradcli.reference.algebra import Algebra, Numbers, Unsupported, surely_zero
from gradcli.reference.deadline import check as still_in_time
from gradcli.reference.kinks import InnerKinks, Sides, has_inner, with_inner_choices
from gradcli.reference.scalars import plain
from gradcli.reference.tape import ReferenceTape, SignedZeros, constant_array, exact_array

# -- E-infinity: the engine's own rules, run by the engine's own sweep on multi-precision numbers --


class Reals(Operand):
    """An array of multi-precision numbers that rules compute with."""

    __slots__ = ("algebra", "array")
    __array_ufunc__ = None  # NumPy scalars and arrays leave mixed operators to the carrier

    def __init__(self, algebra: Numbers, array: np.ndarray) -> None:
        self.algebra, self.array = algebra, array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def ndim(self) -> int:
        return self.array.ndim

    def is_zero(self) -> bool:
        return all(map(surely_zero, self.array.ravel()))

    def apply_op(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
        arrays = [None if o is None else self._array(o) for o in operands]
        result = self.algebra.apply(op, static, arrays)
        if isinstance(result, tuple):
            return tuple(Reals(self.algebra, part) for part in result)
        return Reals(self.algebra, result)

    def _array(self, operand: Any) -> np.ndarray:
        if isinstance(operand, Reals):
            return operand.array
        m = self.algebra.m
        if isinstance(operand, Constant):
            out = np.empty((), dtype=object)
            out[()] = operand.reference(m)
            return out
        kind = "bool" if np.asarray(operand).dtype == np.bool_ else "float"
        return exact_array(m, operand, kind)


class Exact(Domain[Reals]):
    """The engine's own rules without rounding."""

    def __init__(self, m: Any, leaves: Mapping[Expr, Any], precision: str, zeros: SignedZeros | None = None) -> None:
        self.m, self.leaves, self.precision, self.zeros = m, leaves, precision, zeros
        self.algebra = Numbers(m, precision)

    def leaf(self, node: Expr) -> Reals:
        return Reals(self.algebra, exact_array(self.m, self.leaves[node], node.kind))

    def constant(self, node: Expr) -> Reals:
        return Reals(self.algebra, constant_array(self.m, node, self.precision))

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Any:
        still_in_time()
        arrays = [None if o is None else o.array for o in operands]
        if self.zeros is not None:
            arrays = self.zeros.marked(self.m, node, arrays)
        result = self.algebra.apply(op, node.static, arrays)
        return tuple(Reals(self.algebra, part) for part in result) if isinstance(result, tuple) else Reals(self.algebra, result)


def forward_exact(m: Any, root: Expr, leaves: Mapping[Expr, Any], precision: str, zeros: SignedZeros | None = None) -> dict[Expr, Any]:
    """The engine's forward pass in multi-precision: a table for the sweep."""
    return interpret(reachable([root]), Exact(m, leaves, precision, zeros))


def gradients_exact(m: Any, table: Mapping[Expr, Any], root: Expr, wrt: Sequence[Expr], seed: Any) -> list[np.ndarray]:
    """The gradients of the engine's rules without rounding; the table is that of `forward_exact`."""
    start = Reals(table[root].algebra, exact_array(m, seed, "float"))
    found = gradients(reachable([root]), {root: start}, wrt, table.__getitem__)
    out = []
    for x in wrt:
        part = found.get(x)
        if part is None:
            part = Reals(start.algebra, exact_array(m, np.zeros(x.shape), "float"))
        out.append(part.array)
    return out


NO_CHOICES: Mapping[int, Sides] = {}


class Run(NamedTuple):
    """The function on a tape: its value with its history, and the entries of the value that depend on choices at kinks."""

    tape: ReferenceTape
    y: np.ndarray
    chosen: Mapping[int, Sides] = NO_CHOICES


class Pass(NamedTuple):
    """The reference R and the engine's rules without rounding, E-infinity, at one precision."""

    run: Run
    reference: list[np.ndarray]
    engine_value: np.ndarray
    engine: list[np.ndarray]

    @property
    def value(self) -> np.ndarray:
        return Algebra.map(plain, self.run.y)


class Passes:
    """The question of one judge, for passes at any precision."""

    def __init__(self, judge: Any, own_leaves: Mapping[Expr, Any]) -> None:
        self.judge, self.own_leaves = judge, own_leaves
        self.nodes: Sequence[Expr] = list(judge.wrt.values())
        self._whole: Any = None

    def at(self, m: Any, probing: bool = True) -> Pass:
        """A pass in a context.

        probing  whether to go on where values are not finite, and to look at kinks of inner derivatives from all sides
        Raises Unsupported where an operation has no reference, and Undecidable in balls that are too wide.
        """
        judge = self.judge
        table = forward_exact(m, judge.root, self.own_leaves, judge.precision, judge.zeros)
        run = self._run(m, table, probing)
        reference = run.tape.slopes(run.y, exact_array(m, judge.seed, "float"), self.nodes)
        if not probing and not are_finite(m, [Algebra.map(plain, run.y), *reference]):
            raise Unsupported("values that are not finite")
        return Pass(run, reference, table[judge.root].array, gradients_exact(m, table, judge.root, self.nodes, judge.seed))

    def _run(self, m: Any, table: Mapping[Expr, Any], probing: bool) -> Run:
        """The function on a tape, with the choices that inner derivatives leave at kinks."""
        judge = self.judge
        tape = ReferenceTape(m, judge.leaves, judge.precision, judge.zeros)
        y = tape.run(judge.root, self.nodes)
        is_open = tape.scalars.events or not are_finite(m, [Algebra.map(plain, y)])
        if not (probing and is_open and has_inner(judge.root)):
            return Run(tape, y)
        kinks = InnerKinks(m, judge.leaves, judge.precision, judge.size)
        return Run(*with_inner_choices(kinks, judge.root, self.nodes, table))

    def symbolic(self, m: Any, numbers: Any) -> list[np.ndarray] | None:
        """The derivative by sympy, in a context; None where sympy has none in reach. It is derived once, in plain multi-precision."""
        judge = self.judge
        if not judge.fits_sympy:
            return None
        if self._whole is None:
            self._whole = _whole(judge, numbers)
        return None if self._whole is False else self._whole.evaluate(m, judge.leaves)


def are_finite(m: Any, arrays: Sequence[np.ndarray]) -> bool:
    """Return whether all numbers of some arrays of scalars are finite."""
    return all(isinstance(x, bool) or m.isfinite(x) for array in arrays for x in np.ravel(array))


def _whole(judge: Any, m: Any) -> Any:
    """sympy's derivative of the whole function, or False where there is none in reach."""
    from gradcli.reference.symbolic.derivative import WholeDerivative

    try:
        return WholeDerivative(m, judge.root, list(judge.wrt.values()), judge.leaves, judge.seed, judge.precision)
    except (Unsupported, GradcliError, RecursionError, TypeError, ArithmeticError):
        return False
