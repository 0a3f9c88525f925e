"""The value chosen where the derivatives from both sides differ:

PyTorch's, JAX's, or the one of least norm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from gradcli.check.comparison import Comparison
from gradcli.check.judge import Judge, float_results
from gradcli.graph import transforms
from gradcli.graph.interpret import Rebuilding, interpret
from gradcli.graph.nodes import Expr
from gradcli.graph.transforms import Derivation, definition_order
from gradcli.ops.spec import Op
from gradcli.report.verdicts import Verdict

TORCH, JAX, LEAST = "torch", "jax", "min-norm"
_TITLES = {TORCH: "PyTorch", JAX: "JAX", LEAST: "the least norm"}


class Held(NamedTuple):
    """The verdict on one claimed entry; its reason and what is right, if they are matters of
    convention.
    """

    verdict: Verdict
    reason: str | None = None
    right: float | None = None


class Conventions:
    """The choices of each convention for the value and the gradients of one result."""

    def __init__(self, judge: Judge, wanted: str) -> None:
        self.judge, self.wanted = judge, wanted
        unmeasured = (
            f"{event.kink.place} ({event.op.name})"
            for event in judge.events
            if event.kink.jax is None
        )
        self.unmeasured = next(
            unmeasured, None
        )  # the first kink of which it is not known what JAX chooses

    def decide(self, of: str, truth: Comparison, i: int, said: float, room: float) -> Held | None:
        """The verdict on a number that is claimed for an entry on a kink, to ``room``; None where
        the choice is not known.
        """
        choices = self._choices(of, truth, i)
        fitting = [name for name, value in choices.items() if _fits(said, value, room)]
        if self.wanted in fitting:
            return Held(Verdict.AGREE)
        if self.wanted not in choices:
            return None
        follows = " and ".join(_TITLES[name] for name in fitting) or "no convention"
        right = float(choices[self.wanted])
        return Held(
            Verdict.MISMATCH,
            f"on a kink, where {_TITLES[self.wanted]} has {right:g}: it follows {follows}",
            right,
        )

    def _choices(self, of: str, truth: Comparison, i: int) -> dict[str, Any]:
        choices = {TORCH: truth.engine[i], LEAST: truth.sides[i].least}
        if self.unmeasured is None:
            choices[JAX] = np.broadcast_to(self._in_jax[of], truth.shape).flat[i]
        return choices

    @cached_property
    def _in_jax(self) -> dict[str, Any]:
        """The value and the gradients with JAX's choices."""
        judge = self.judge
        root, nodes = in_jax(judge.root, judge.nodes)
        return dict(
            zip(
                ["value", *judge.wrt],
                float_results(root, nodes, judge.seed, judge.scope.values, judge.precision),
                strict=True,
            )
        )


def _fits(said: float, value: Any, room: float) -> bool:
    return bool((said != said and value != value) or said == value or abs(said - value) <= room)


class InJax(Rebuilding):
    """The same function, made of what chooses as JAX does at its kinks."""

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Expr:
        body = next(
            (
                kink.jax.body
                for kink in op.kinks
                if kink.jax is not None and kink.jax.body is not None
            ),
            None,
        )
        return (
            self.graph.apply(op, operands, node.static)
            if body is None
            else cast(Expr, body(*operands, **node.static))
        )

    def derivative(self, node: Expr, table: Mapping[Expr, Any]) -> Expr:
        of: Derivation = node.static["of"]
        return transforms.derive(
            of.kind, table[of.y], table[of.x], None if of.vector is None else table[of.vector]
        )


def in_jax(root: Expr, wrt: Sequence[Expr]) -> tuple[Expr, list[Expr]]:
    """The function as JAX has it, and its variables."""
    found = interpret(definition_order(root, wrt), InJax(root.graph))
    return found[root], [found[x] for x in wrt]
