"""R from the text of a result: read anew by the judge, so that a wrong function is found, not only a wrong derivative.

Where the text is not read, and on kinks, of which the nodes of the graph know more, the graph's tape decides. What the two say of a
function may differ by rounding where bodies of functions compute with rounded parameters: that is no difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from gradcli.graph.nodes import Expr, reachable
from gradcli.language.scope import Scope
from gradcli.reference.algebra import FailedError, Unsupported
from gradcli.reference.inner_kinks import has_inner
from gradcli.reference.kinks import Question, Sides
from gradcli.reference.tape import ReferenceTape

Array = np.ndarray
_ROUNDED = 1e-12  # of the largest entry: what rounded parameters may make of a result
_SAME = 25  # digits
NO_CHOICES: Mapping[int, Sides] = {}


class Pass(NamedTuple):
    """The reference R and the engine's rules without rounding, E-infinity, at one precision."""

    tape: ReferenceTape
    value: np.ndarray
    y: np.ndarray  # the same, with its history
    reference: list[np.ndarray]
    engine_value: np.ndarray
    engine: list[np.ndarray]
    chosen: Mapping[int, Sides]  # the entries of the value that depend on choices at kinks


class Asked(Question, Protocol):
    """The gradient that is judged, as a question to references."""

    @property
    def wrt(self) -> Mapping[str, Expr]: ...
    @property
    def fits_sympy(self) -> bool: ...
    @property
    def scope(self) -> Scope: ...
    @property
    def slack(self) -> Sequence[Any]: ...  # what rounding explains: of the value, and of each gradient


class Text:
    """What is judged, as its text says it."""

    def __init__(self, judge: Asked) -> None:
        self.judge = judge
        self.missing = ""  # why the text is not what decides
        self._hides_kinks = False

    def tape(self, m: Any) -> tuple[ReferenceTape, Array] | None:
        """The result on a tape, and its value; None where the text is not read. Raises as the tape does in enclosures."""
        judge = self.judge
        if self.missing:
            return None
        if judge.zeros:
            self.missing = "zeros whose sign counts"
            return None
        if not all(np.all(np.isfinite(np.asarray(value, float))) for value in judge.leaves.values()):
            self.missing = "inputs that are not finite"
            return None
        from gradcli.reference.reading.tape import TreeTape

        tape = TreeTape(m, judge.leaves, judge.precision, judge.scope, judge.wrt)
        try:
            y = tape.run(judge.root)
        except Unsupported as why:
            if isinstance(why, FailedError) and hasattr(m, "uncertified"):
                raise  # in enclosures: other numbers may do
            self.missing = str(why)
            return None
        self._hides_kinks = tape.called_composites and any(map(_may_kink, reachable([judge.root])))
        return tape, y

    def asks_graph(self, tape: ReferenceTape) -> bool:
        """Whether kinks may have been met that only the graph's tape notes, or that make values choices."""
        return self._hides_kinks or (bool(tape.scalars.events) and has_inner(self.judge.root))

    def settled(self, m: Any, by_text: Pass, by_graph: Pass) -> Pass:
        """Of the references by the text and by the graph, the one that counts."""
        events = by_graph.tape.scalars.events
        if events and has_inner(self.judge.root):
            return by_graph  # whose value is a choice, too
        if events:  # the derivatives are choices
            return by_graph._replace(value=by_text.value) if _differ(by_text.value, by_graph.value, self.judge.slack[0]) else by_graph
        pairs = zip([by_text.value, *by_text.reference], [by_graph.value, *by_graph.reference], self.judge.slack, strict=True)
        if same(m, by_text) or any(_differ(text, graph, slack) for text, graph, slack in pairs):
            return by_text
        self.missing = "the same as the program but for rounding"
        return by_graph


def same(m: Any, found: Pass) -> bool:
    """Whether the rules without rounding say what a reference says, as far as can be told."""
    pairs = zip([found.value, *found.reference], [found.engine_value, *found.engine], strict=True)
    return all(np.shape(x) == np.shape(y) and all(map(_close, [m] * np.size(x), np.ravel(x), np.ravel(y))) for x, y in pairs)


def _close(m: Any, x: Any, y: Any) -> bool:
    if hasattr(x, "ball") and hasattr(y, "ball"):
        return bool(x.ball.overlaps(y.ball))
    if isinstance(x, bool) or not m.isfinite(x) or not m.isfinite(y):
        return bool(x == y) or (x != x and y != y)
    return bool(abs(x - y) <= m.mpf(10) ** -_SAME * max(abs(x), abs(y)))


def _differ(text: Array, graph: Array, slack: Array) -> bool:
    """Whether two references are different numbers somewhere: further apart than rounding explains."""
    if np.shape(text) != np.shape(graph):
        return True
    t, g = (np.array([float(v) for v in np.ravel(x)]) for x in (text, graph))
    both = np.isfinite(t) & np.isfinite(g)
    with np.errstate(all="ignore"):
        allowed = np.ravel(np.broadcast_to(np.asarray(slack, float), np.shape(text)))
        room = np.where(np.isfinite(allowed), allowed, 0.0) + _ROUNDED * float(np.max(np.abs(np.where(both, g, 0.0)), initial=0.0))
        apart = both & (np.abs(t - g) > room)
    return any(apart[i] and not _overlap(x, y) for i, (x, y) in enumerate(zip(np.ravel(text), np.ravel(graph), strict=True)))


def _overlap(x: Any, y: Any) -> bool:
    return hasattr(x, "ball") and hasattr(y, "ball") and bool(x.ball.overlaps(y.ball))


def _may_kink(node: Expr) -> bool:
    return node.op is not None and bool(node.op.kinks or node.op.facts.turns)
