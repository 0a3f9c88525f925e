"""Where a wrong gradient begins: the first node, from the result back, whose adjoint departs from the reference's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.errors import GradcliError
from gradcli.graph.interpret import forward
from gradcli.graph.nodes import Expr, reachable
from gradcli.graph.sweep import backward
from gradcli.ops.structure import derivative
from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.contexts import context
from gradcli.reference.scalars import plain
from gradcli.reference.tape import ReferenceTape, exact_array
from gradcli.report.verdicts import Departure

if TYPE_CHECKING:
    from gradcli.check.judge import Judge

_LARGEST = 20_000  # scalar operations of an expression that is searched
_DEPARTS = 1e-5


def departure(judge: Judge) -> Departure | None:
    """The first node whose adjoint is not the reference's, and the operation that made it; None if none was found."""
    order = reachable([judge.root])
    if judge.size > _LARGEST or any(node.op is derivative for node in order):
        return None
    nodes = [node for node in order if node.kind == "float" and (node.op is None or node.op.outputs == 1) and not node.is_constant]
    m = context()
    m.dps = 50
    try:
        tape = ReferenceTape(m, judge.leaves, judge.precision)
        y = tape.run(judge.root, nodes)
        right = tape.slopes(y, exact_array(m, judge.seed, "float"), nodes)
    except (Unsupported, GradcliError, ValueError, ArithmeticError):
        return None
    with np.errstate(all="ignore"):
        values = forward([judge.root], judge.scope.values, judge.precision)
        found = backward(order, {judge.root: judge.seed}, nodes, values.__getitem__)
    truth = dict(zip(nodes, right, strict=True))
    for node in reversed(nodes):
        wrong = _first_wrong(found.get(node), truth[node], m)
        if wrong is not None and node is not judge.root:
            consumers = [other for other in reversed(order) if node in other.operands and other in found] or [judge.root]
            index, said, true, beyond = wrong
            made_by = "' or '".join(dict.fromkeys(_text(judge, consumer) for consumer in consumers[:3]))
            return Departure(_text(judge, node), made_by, index, said, true, _place(judge, consumers[0]), beyond)
    return None


def _first_wrong(found: Any, truth: np.ndarray, m: Any) -> tuple[tuple[int, ...], float, float, str | None] | None:
    said = np.zeros(truth.shape) if found is None else np.broadcast_to(np.asarray(found, float), truth.shape)
    exact = Algebra.map(plain, truth)
    largest = max((abs(float(v)) for v in exact.ravel() if m.isfinite(v)), default=0.0)
    for i, (s, t) in enumerate(zip(said.ravel().tolist(), exact.ravel(), strict=True)):
        if not m.isfinite(t):
            continue
        if not math.isfinite(s) or abs(s - float(t)) > _DEPARTS * max(abs(float(t)), 1e-6 * largest):
            index = tuple(int(p) for p in np.unravel_index(i, truth.shape)) if truth.shape else ()
            return index, s, float(t), f"{m.nstr(t, 6)}, too large for floats" if math.isinf(float(t)) else None
    return None


def _text(judge: Judge, node: Expr) -> str:
    spans: Sequence[Any] = judge.scope.spans(node)
    if spans:
        source, span = spans[0]
        text = " ".join(source.text[span.start : span.end].split())
        if len(text) <= 60:
            return text
    if node.is_leaf:
        return str(node.payload.name)
    return f"the result of {node.op.name}" if node.op is not None else "a constant"


def _place(judge: Judge, node: Expr) -> tuple[int, int, int] | None:
    """Line, column and end column of a node in the text."""
    spans = judge.scope.spans(node)
    if not spans:
        return None
    source, span = spans[0]
    line, column = source.position(span.start)
    return line, column, column + max(1, span.end - span.start)
