"""R from the text of a result: read anew by the judge, so that a wrong function is found, not only a wrong derivative.

Where the text is not read, and on kinks, of which the nodes of the graph know more, the graph's tape decides. What the two say of a
function may differ by rounding where bodies of functions compute with rounded parameters: that is no difference.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.check.comparison import Comparison
from gradcli.errors import GradcliError
from gradcli.graph.nodes import Expr, reachable
from gradcli.language.scope import Scope
from gradcli.reference.algebra import Algebra, FailedError, OtherShapeError, Unsupported
from gradcli.reference.scalars import plain
from gradcli.reference.tape import ReferenceTape
from gradcli.report.verdicts import Verdict

Array = np.ndarray
_ROUNDED = 1e-12  # of the largest entry: what rounded parameters may make of a result
_STEP, _SPREAD, _APART = 1e-3, 1.1, 1e-9  # to points beside the one that is judged, each entry by another; and what is another value there
WRONG = "without any rounding it differs from what the text says"


class Text:
    """One result as its text says it."""

    def __init__(self, scope: Scope, root: Expr, wrt: Mapping[str, Expr], leaves: Mapping[Expr, Any]) -> None:
        self.scope, self.root, self.wrt, self.leaves = scope, root, wrt, leaves
        self.missing = ""  # why it is not read
        self.value: Array | None = None  # at the last precision
        self.hides_kinks = False  # whether kinks may have been met that only the graph's tape notes

    @property
    def witness(self) -> str:
        """What the reference has read: the text, or the graph that was made of it."""
        return "graph" if self.missing or self.value is None else "text"

    def tape(self, m: Any) -> tuple[ReferenceTape, Array] | None:
        """The result on a tape, and its value; None where the text is not read. Raises FailedError in enclosures, and OtherShapeError."""
        self.value = None
        if self.missing:
            return None
        from gradcli.reference.reading.tape import TreeTape

        if not all(np.all(np.isfinite(np.asarray(value, float))) for value in self.leaves.values()):
            self.missing = "inputs that are not finite"
            return None
        tape = TreeTape(m, self.leaves, self.scope.precision, self.scope, self.wrt)
        try:
            y = tape.run(self.root)
        except Unsupported as why:
            if isinstance(why, FailedError) and hasattr(m, "uncertified"):
                raise  # in enclosures: other numbers may do
            self.missing = str(why)
            return None
        self.hides_kinks = tape.called_composites and any(map(_may_kink, reachable([self.root])))
        self.value = Algebra.map(plain, y)
        return tape, y

    def settled(self, by_text: Sequence[Comparison], by_graph: Sequence[Comparison], kinked: bool) -> list[Comparison]:
        """Of comparisons with either reference, the value's last, those that count.

        ``kinked`` is whether the graph's tape has met kinks, where derivatives are choices. Derivatives that differ where the function
        does not, nor around, are a convention, of which the graph knows.
        """
        *slopes, value = [_differ(t, g) for t, g in zip(by_text, by_graph, strict=True)]
        if kinked or (any(slopes) and not value and self._is_one_around(by_text[-1].m)):
            slopes = [False] * len(slopes)  # choices, or conventions at the edge of a domain
        differ = [*slopes, value]
        if not any(differ):
            self.missing = "the same as the program but for rounding, or derivatives that are choices"
        for comparison in (t for t, other in zip(by_text, differ, strict=True) if other):
            comparison.reasons = {
                i: WRONG if v is Verdict.MISMATCH else comparison.reasons.get(i, "") for i, v in enumerate(comparison.verdicts)
            }
        return [t if other else g for t, g, other in zip(by_text, by_graph, differ, strict=True)]

    def _is_one_around(self, m: Any) -> bool:
        """Whether text and graph are one function at points beside this one, as far as both have values there."""
        return all(self._is_one_at(m, step) for step in (_STEP, -_STEP))

    def _is_one_at(self, m: Any, step: float) -> bool:
        from gradcli.reference.reading.tape import TreeTape

        moved = {leaf: self._moved(leaf, value, step) for leaf, value in self.leaves.items()}
        tapes = TreeTape(m, moved, self.scope.precision, self.scope, self.wrt), ReferenceTape(m, moved, self.scope.precision)
        try:
            text, graph = (np.array([float(plain(v)) for v in np.ravel(tape.run(self.root))]) for tape in tapes)
        except (Unsupported, OtherShapeError, GradcliError):
            return True
        with np.errstate(all="ignore"):
            apart = np.abs(text - graph) > _APART * np.max(np.abs(graph), initial=0.0, where=np.isfinite(graph))
        return not np.any(apart & np.isfinite(text) & np.isfinite(graph))

    def _moved(self, leaf: Expr, value: Any, step: float) -> Any:
        if leaf.kind != "float" or leaf in self.scope.whole:
            return value
        entries = np.asarray(value, float)
        return entries + step * (1 + np.abs(entries)) * _SPREAD ** (np.arange(entries.size).reshape(entries.shape) % 7)


def _may_kink(node: Expr) -> bool:
    return node.op is not None and bool(node.op.kinks or node.op.facts.turns)


def _differ(text: Comparison, graph: Comparison) -> bool:
    """Whether two references are different numbers somewhere: further apart than rounding explains."""
    m = text.m
    if len(text.reference) != len(graph.reference):
        return True
    numbers = [
        (t, g, bound)
        for t, g, bound in zip(text.reference, graph.reference, text.bounds, strict=True)
        if not isinstance(t, bool) and not isinstance(g, bool) and m.isfinite(t) and m.isfinite(g)
    ]
    room = _ROUNDED * max((max(abs(t), abs(g)) for t, g, _ in numbers), default=0)
    return any(abs(t - g) > room + (bound if math.isfinite(bound) else 0) for t, g, bound in numbers)
