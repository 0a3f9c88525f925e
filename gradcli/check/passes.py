"""One pass of the judge at one precision: the reference and the rules without rounding, in multi-precision numbers or in balls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from gradcli.check.exact import forward_exact, gradients_exact
from gradcli.check.text import NO_CHOICES, Asked, Pass, Text, same
from gradcli.errors import GradcliError
from gradcli.graph.nodes import Expr
from gradcli.graph.transforms import definition_order
from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.exact_values import exact_array
from gradcli.reference.inner_kinks import InnerKinks, has_inner, with_inner_choices
from gradcli.reference.kinks import Sides
from gradcli.reference.scalars import plain
from gradcli.reference.tape import ReferenceTape

_SYMPY_CALLS = 300_000  # of Python's functions, that sympy may make for one derivative


class Passes:
    """The question of one judge, for passes at any precision."""

    def __init__(self, judge: Asked, own_leaves: Mapping[Expr, Any]) -> None:
        self.judge, self.own_leaves = judge, own_leaves
        self.nodes: Sequence[Expr] = list(judge.wrt.values())
        self.text = Text(judge)
        self._whole: Any = None

    def at(self, m: Any, probing: bool = True) -> Pass:
        """A pass in a context, where ``probing`` with choices at kinks of inner derivatives.

        Raises Unsupported where an operation has no reference, and Undecidable in balls that are too wide.
        """
        judge = self.judge
        table = forward_exact(m, judge.root, self.own_leaves, judge.precision, judge.zeros)
        rules = [table[judge.root].array, *gradients_exact(m, table, judge.root, self.nodes, judge.seed)]
        read = self.text.tape(m)
        by_text = None if read is None else self._pass(m, *read, NO_CHOICES, rules)
        if by_text is not None and not self.text.asks_graph(by_text.tape) and same(m, by_text):
            return by_text
        tape = ReferenceTape(m, judge.leaves, judge.precision, judge.zeros)
        y, chosen = tape.run(judge.root, self.nodes), NO_CHOICES
        if probing and tape.scalars.events and has_inner(judge.root):
            kinks = InnerKinks(m, judge.leaves, judge.precision, judge.size)
            tape, y, chosen = with_inner_choices(kinks, judge.root, self.nodes, table)
        by_graph = self._pass(m, tape, y, chosen, rules)
        return by_graph if by_text is None else self.text.settled(m, by_text, by_graph)

    def _pass(self, m: Any, tape: ReferenceTape, y: np.ndarray, chosen: Mapping[int, Sides], rules: list[np.ndarray]) -> Pass:
        reference = tape.slopes(y, exact_array(m, self.judge.seed, "float"), self.nodes)
        return Pass(tape, Algebra.map(plain, y), y, reference, rules[0], rules[1:], chosen)

    def symbolic(self, m: Any, numbers: Any) -> list[np.ndarray] | None:
        """The derivative by sympy, in a context; None where sympy has none in reach. It is derived once, in plain multi-precision."""
        judge = self.judge
        if not judge.fits_sympy:
            return None
        if self._whole is None:
            self._whole = _whole(judge, numbers)
        return None if self._whole is False else self._whole.evaluate(m, judge.leaves)


def _whole(judge: Asked, m: Any) -> Any:
    """sympy's derivative of the whole function, or False where there is none in reach."""
    from gradcli.reference.symbolic.derivative import WholeDerivative
    from gradcli.reference.symbolic.steps import TooManySteps, steps

    # whole numbers and simple fractions never lead sympy astray; to others, such as 0.1, its polynomials may have no end
    odd = any(node.is_constant and not _is_simple(node.payload) for node in definition_order(judge.root))
    try:
        with steps(_SYMPY_CALLS) if odd else nullcontext():
            return WholeDerivative(m, judge.root, list(judge.wrt.values()), judge.leaves, judge.seed, judge.precision)
    except (TooManySteps, Unsupported, GradcliError, RecursionError, TypeError, ArithmeticError):
        return False


def _is_simple(payload: Any) -> bool:
    """Whether a number is a fraction of small numbers."""
    if not isinstance(payload, (int, float, np.ndarray)):
        return True
    numbers = np.asarray(payload, float)
    numbers = np.where(np.isfinite(numbers), numbers, 0.1)
    return bool(np.all((numbers * 64 % 1 == 0) & (np.abs(numbers) < 1e6)))
