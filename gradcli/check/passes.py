"""One pass of the judge at one precision: the reference and the rules without rounding, in multi-precision numbers or in balls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from gradcli.check.exact import forward_exact, gradients_exact
from gradcli.errors import GradcliError
from gradcli.graph.nodes import Expr
from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.exact_values import exact_array
from gradcli.reference.inner_kinks import InnerKinks, has_inner, with_inner_choices
from gradcli.reference.kinks import Question, Sides
from gradcli.reference.scalars import plain
from gradcli.reference.tape import ReferenceTape

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


class Asked(Question, Protocol):
    """The gradient that is judged, as a question to references."""

    @property
    def wrt(self) -> Mapping[str, Expr]: ...
    @property
    def fits_sympy(self) -> bool: ...
    @property
    def gradients(self) -> Sequence[np.ndarray]: ...  # as the engine computed them
    @property
    def size(self) -> int: ...  # in scalar operations
    @property
    def wide(self) -> dict[str, Callable[[], tuple[Any, Any]]]: ...  # reference and bounds of large arrays, for claims


class Passes:
    """The question of one judge, for passes at any precision."""

    def __init__(self, judge: Asked, own_leaves: Mapping[Expr, Any]) -> None:
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
    """Whether all numbers of some arrays of scalars are finite."""
    return all(isinstance(x, bool) or m.isfinite(x) for array in arrays for x in np.ravel(array))


def _whole(judge: Asked, m: Any) -> Any:
    """sympy's derivative of the whole function, or False where there is none in reach."""
    from gradcli.reference.symbolic.derivative import WholeDerivative

    try:
        return WholeDerivative(m, judge.root, list(judge.wrt.values()), judge.leaves, judge.seed, judge.precision)
    except (Unsupported, GradcliError, RecursionError, TypeError, ArithmeticError):
        return False
