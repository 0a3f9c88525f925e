"""A gradient by paths.

A path is a way from the result to a name, with what flows back along it. The paths add up to the
gradient.

Paths are counted node by node, and their contributions are carried along from the result down. At
every node the largest ways to it are kept, by the sum of magnitudes. For numbers that is exact,
since what follows multiplies all of them alike. The entries of arrays may be scaled differently
further down, so the ways kept are those that are largest so far.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from gradcli.errors import GradcliError
from gradcli.formulas.printing import formula
from gradcli.formulas.textbook import textbook
from gradcli.graph.nodes import Expr, Graph
from gradcli.graph.sweep import (
    contributions,
    grad_nodes,
    pull_back,
    scale,
    scale_guarded,
    sweep,
    varied_nodes,
)
from gradcli.language.names import nodes_in
from gradcli.language.origins import Origin
from gradcli.language.run import ProgramText, move_span
from gradcli.language.scope import Scope
from gradcli.language.spelling import rewritten, tightness
from gradcli.language.syntax import Expression, Name, Number
from gradcli.limits import Limits
from gradcli.ops.reductions.sums import sum_to
from gradcli.ops.structure import alias, derivative, detach
from gradcli.ops.text import ATOM, Piece
from gradcli.report.explanation import Path, size
from gradcli.texts import Source, Span

# -- The backward sweep, recorded: the adjoint of every node, and what each passes back to its
# operands.


class Passed(NamedTuple):
    """Part that a node passes back to one operand.

    It is given before and after it is summed to the operand's shape.
    """

    node: Expr
    operand: Expr
    place: int
    whole: Any
    part: Any


@dataclass(eq=False)
class Recorded:
    """A sweep: adjoints of nodes, and what was passed back, in its order."""

    order: Sequence[Expr]
    needed: set[Expr]  # nodes through which derivatives flow to those asked for
    requiring: set[Expr]  # nodes that require a gradient, in PyTorch's sense
    times: Callable[[Any, Any], Any]  # cotangent times partial
    adjoints: dict[Expr, Any] = field(default_factory=dict)
    passed: list[Passed] = field(default_factory=list)


def record_sweep(
    order: Sequence[Expr],
    seed: Any,
    wrt: Iterable[Expr],
    values: Mapping[Expr, Any],
    *,
    bare: bool = True,
) -> Recorded:
    """Return the sweep from the last node to what is asked for.

    The seed is the adjoint of the last node.

    bare  zero times infinity is NaN, as in PyTorch; else a zero cotangent contributes nothing
    """
    targets = set(wrt)
    needed = varied_nodes([node for node in order if node.op is not detach], targets)
    record = Recorded(order, needed, grad_nodes(order, targets), scale if bare else scale_guarded)

    def pull(node: Expr, cotangent: Any) -> Sequence[Any]:
        record.adjoints[node] = cotangent
        found = [None] * len(node.operands)
        for passed in passed_back(node, cotangent, record, values):
            record.passed.append(passed)
            found[passed.place] = passed.part
        return found

    root = order[-1]
    if root in needed:
        with np.errstate(all="ignore"):
            sweep(order, {root: seed}, pull)
    for node in _below(order, record.requiring):
        if node not in record.adjoints and not isinstance(values[node], tuple):
            record.adjoints[node] = np.zeros_like(np.asarray(values[node], np.result_type(seed)))[
                ()
            ]
    return record


def _below(order: Sequence[Expr], requires: set[Expr]) -> set[Expr]:
    """Return the nodes that require a gradient and that the last one is made of.

    They are reached through nodes that require a gradient, too.
    """
    found = {order[-1]} & requires
    for node in reversed(order):
        if node in found:
            found.update(operand for operand in node.operands if operand in requires)
    return found


def passed_back(
    node: Expr, cotangent: Any, record: Recorded, values: Mapping[Expr, Any]
) -> Iterator[Passed]:
    """Return what a node makes of a cotangent for each operand that is needed."""
    parts = pull_back(node, record.needed, cotangent, values.__getitem__, record.times)
    for place, (operand, whole) in enumerate(zip(node.operands, parts, strict=False)):
        if operand is not None and whole is not None:
            fits = isinstance(whole, tuple) or whole.shape == operand.shape
            yield Passed(
                node, operand, place, whole, whole if fits else sum_to(whole, shape=operand.shape)
            )


# -- Ways from the result to a name ---------------------------------------------------------------


ALL = 32  # up to so many paths to a name, all are listed
SHOWN = 12  # paths listed where there are more
_MANY = 2_000  # with more nodes than this, fewer paths are kept at each


class _Way(NamedTuple):
    """A way from the result to a node.

    It has the cotangent that arrives by it, and the way before.
    """

    size: float
    cotangent: Any
    node: Expr
    before: _Way | None


def paths(
    record: Recorded,
    seed: Any,
    wrt: Iterable[Expr],
    values: Mapping[Expr, Any],
    same: Mapping[Expr, Expr],
    ids: Mapping[Expr, int],
) -> dict[Expr, tuple[list[Path], int]]:
    """Return the paths of all nodes that are asked for, by leaves.

    These are the largest paths, and the number of further ones.

    same  what stands for each node; two edges between the same two are one path
    """
    root = same[record.order[-1]]
    order = [node for node in record.order if same[node] is node]
    edges = _edges(record, same)
    # A name that does not occur in the result has no representative.
    targets = {same.get(node, node): node for node in wrt}
    counts = _counts(order, root, edges) if record.order[-1] in record.adjoints else {}
    most = max([count for node in targets if (count := counts.get(node, 0)) <= ALL] + [SHOWN])
    kept = ALL if len(order) <= _MANY else most
    ways: dict[Expr, list[_Way]] = {root: [_Way(size(seed), seed, root, None)]} if counts else {}
    found: dict[Expr, tuple[list[Path], int]] = {node: ([], 0) for node in targets.values()}
    with np.errstate(all="ignore"):
        for node in reversed(order):
            here = ways.pop(node, None)
            if here is None:
                continue
            if node in targets:
                shown = here[: ALL if counts[node] <= ALL else SHOWN]
                found[targets[node]] = [_path(way, ids) for way in shown], counts[node] - len(shown)
            if node in edges:
                for way in here:
                    for operand, cotangent in _along(
                        way, node, edges[node], record, values, same
                    ).items():
                        ways.setdefault(operand, []).append(
                            _Way(size(cotangent), cotangent, operand, way)
                        )
                for operand in edges[node]:
                    ways[operand] = sorted(ways[operand], key=attrgetter("size"), reverse=True)[
                        :kept
                    ]
    return found


def _edges(record: Recorded, same: Mapping[Expr, Expr]) -> dict[Expr, dict[Expr, None]]:
    """Return the operands to which each node passed something back."""
    found: dict[Expr, dict[Expr, None]] = {}
    for passed in record.passed:
        node, operand = same[passed.node], same[passed.operand]
        if node is not operand:
            found.setdefault(node, {})[operand] = None
    return found


def _counts(
    order: Sequence[Expr], root: Expr, edges: Mapping[Expr, Iterable[Expr]]
) -> dict[Expr, int]:
    """Return how many ways lead from the result to each node."""
    counts = {root: 1}
    for node in reversed(order):
        if node in counts:
            for operand in edges.get(node, ()):
                counts[operand] = counts.get(operand, 0) + counts[node]
    return counts


def _along(
    way: _Way,
    node: Expr,
    operands: Iterable[Expr],
    record: Recorded,
    values: Mapping[Expr, Any],
    same: Mapping[Expr, Expr],
) -> dict[Expr, Any]:
    """Return what arrives by a way at the operands of its last node."""
    found: dict[Expr, Any] = {}
    for passed in passed_back(node, way.cotangent, record, values):
        operand = same[passed.operand]
        found[operand] = found[operand] + passed.part if operand in found else passed.part
    for operand in operands:
        if operand not in found:  # a zero that the rule does not pass back
            found[operand] = np.zeros_like(np.asarray(values[operand], float))[()]
    return found


def _path(way: _Way, ids: Mapping[Expr, int]) -> Path:
    """Return a way as a path, from the leaf up."""
    nodes: list[int] = []
    step: _Way | None = way
    while step is not None:
        nodes.append(ids[step.node])
        step = step.before
    return Path(tuple(nodes), way.cotangent)


# -- What stands in a text for the nodes of a graph: their own texts, functions that they are
# inside of, calls they belong to.


_SHORT = 200  # texts of up to so many characters are always kept
# Characters of all longer texts: each term of a long sum contains all terms before it.
_ROOM = 1 << 20


class Place(NamedTuple):
    """Facts about a node from the text.

    text, span, spelling  of the smallest part of the text that is the node; None inside of a
                          built-in function. Of many long texts only the spans are known
    function, root        the outermost built-in function that it was expanded from, and the node
                          that is its result
    call                  the span of the call, for a node of a user's function
    statement             the line of the text, from 0
    power                 how tightly the text holds together
    """

    text: str | None = None
    span: tuple[int, int] | None = None
    spelling: str | None = None
    function: str | None = None
    root: Expr | None = None
    call: tuple[int, int] | None = None
    statement: int | None = None
    power: int = ATOM


NOWHERE = Place()


def places(scope: Scope, order: Sequence[Expr], text: ProgramText) -> dict[Expr, Place]:
    """Return where the nodes of a query come from, those that come from its text at all."""
    origins = scope.origins()
    chosen = {node: _best_origin(node, origins[node]) for node in order if node in origins}
    roots = _roots(order, chosen)
    calls = _calls(scope)
    found: dict[Expr, Place] = {}
    room = _ROOM
    for node, origin in chosen.items():
        begin = text.begin_of(origin.source)
        inside = _without_brackets(origin.source.text, origin.span)
        span = move_span(inside, begin)
        line = None if span is None else text.line_of(span[0])
        call = calls.get(node)
        called = None if call is None else move_span(call[1], text.begin_of(call[0]))
        root = roots.get(_group(origin)) if origin.calls else None
        if root is node and not _is_result(node, origin):
            continue  # from a call in another query: its result is not in this one
        function = origin.calls[0] if origin.calls else None
        if root is None or root is node:
            written = None
            length = inside.end - inside.start
            if length <= _SHORT or length <= room:
                written = _own_text(origin, origin.source.text[inside.start : inside.end], scope)
                room -= 0 if length <= _SHORT else length
            found[node] = Place(
                written,
                span,
                origin.spelling,
                function,
                node if root is node else None,
                called,
                line,
                ATOM if origin.tree is None else tightness(origin.tree),
            )
        else:
            found[node] = Place(None, None, None, function, root, called, line)
    return found


def _own_text(origin: Origin, written: str, scope: Scope) -> str:
    """Return the text of a node.

    It is the text as written, or the language's own spelling where the text is a textbook's.

    No part of ``sin^2(3x)`` says ``sin(3*x)``, and no exponent is written ``²``.
    """
    if origin.tree is None or origin.frame is None:
        return written
    is_own = not origin.frame.expression.implied and "=" not in written and written.isascii()
    return written if is_own else rewritten(Expression(origin.tree, []), scope.functions)


def _without_brackets(text: str, span: Span) -> Span:
    """Return what stands in the brackets around a part of a text, which are not its own."""
    begin, end = span
    while text[begin] == "(" and _closing(text, begin, end) == end - 1 > begin + 1:
        begin, end = begin + 1, end - 1
        begin = end - len(text[begin:end].lstrip())
        end = begin + len(text[begin:end].rstrip())
    return Span(begin, end)


def _closing(text: str, begin: int, end: int) -> int:
    """Return where the bracket closes that opens at the beginning."""
    depth = 0
    for place in range(begin, end):
        depth += (text[place] == "(") - (text[place] == ")")
        if not depth:
            return place
    return end


def _best_origin(node: Expr, all_: Iterable[Origin]) -> Origin:
    """Return the origin that a node is called by.

    It is the node's own text rather than the text of a function around it. For a name it is the
    name by itself.
    """
    listed = list(all_)
    own = [origin for origin in listed if not origin.calls] or listed
    if node.is_leaf:
        own = [origin for origin in own if origin.spelling == node.name] or own
    return own[0]


def _group(origin: Origin) -> tuple[int, int, int]:
    return id(origin.source), origin.span.start, origin.span.end


def _roots(
    order: Sequence[Expr], chosen: Mapping[Expr, Origin]
) -> dict[tuple[int, int, int], Expr]:
    """Return the result of each call of a built-in function.

    It is the last one made of the nodes that the call was expanded to.
    """
    found: dict[tuple[int, int, int], Expr] = {}
    for node in order:
        origin = chosen.get(node)
        if origin is not None and origin.calls:
            found[_group(origin)] = node
    return found


def _is_result(node: Expr, origin: Origin) -> bool:
    """Tell whether a node is what the call gave that it was expanded from."""
    if origin.tree is None or origin.frame is None:
        return True
    return node in {*nodes_in(origin.frame.results[origin.tree.place])}


def _calls(scope: Scope) -> dict[Expr, tuple[Source, Span]]:
    """Return where the calls of a user's functions are written, by the nodes of their bodies."""
    called: dict[Expr, tuple[Source, Span]] = {}
    for frame in scope.lowered:
        if frame.call is not None:
            caller, call = frame.call
            # There are fewer results if lowering failed.
            for tree, result in frame.pairs:
                if isinstance(result, Expr) and not isinstance(tree, (Name, Number)):
                    called.setdefault(result, (caller.source, call.span))
    return called


# -- The nodes of a graph as people count them: those that only name a value, or wrap what a
# derivative expands to, do not count.


def representatives(order: Sequence[Expr], kept: Collection[Expr]) -> dict[Expr, Expr]:
    """Return the representative of each node.

    It is the node itself, or its operand if the node only names or wraps it.

    kept  nodes that stand for themselves, as those that something is differentiated by
    """
    found: dict[Expr, Expr] = {}
    for node in order:
        is_same = (node.op is alias or node.op is derivative) and node not in kept
        found[node] = found[node.operand] if is_same else node
    return found


# -- Local derivatives as formulas: what an operation passes back, in terms of the texts of its
# operands.


_LARGEST = 40  # most nodes of a formula that is shown
# The partial, what is passed back, and the stand-ins for the operands.
_Made = tuple[Expr | None, Expr | None, list[Expr | None]]


@dataclass(eq=False)
class LocalFormulas:
    """Formulas of a graph's edges.

    They are made once for each operation, and written with the texts of its operands.

    In ``rule`` the adjoint that arrives is called "adjoint"; an operand without a short text is "v"
    and its number.
    """

    limits: Limits
    texts: Mapping[Expr, Piece]
    taken: Sequence[str]
    known: dict[tuple[Any, ...], _Made] = field(default_factory=dict)

    def of(self, passed: Passed, same: Mapping[Expr, Expr]) -> tuple[str | None, str | None]:
        """Return the formulas of an edge: its local derivative, and what is passed back.

        There is a local derivative where the operation works entry by entry. What is passed back is
        a formula of the adjoint.
        """
        node = passed.node
        key = (node.op, tuple(node.static.items()), passed.place, tuple(map(_kind, node.operands)))
        if key not in self.known:
            made: _Made = None, None, []
            with suppress(GradcliError, RecursionError):
                made = edge_formulas(node, passed.place, self.limits)
            self.known[key] = made
        partial, rule, stand_ins = self.known[key]
        names = {
            x: self.texts[same[o]]
            for x, o in zip(stand_ins, node.operands, strict=False)
            if x is not None and o is not None and x.is_leaf
        }
        return self._write(partial, names), self._write(rule, names)

    def _write(self, made: Expr | None, names: Mapping[Expr, Piece]) -> str | None:
        return (
            None if made is None else formula(made, limit=_LARGEST, names=names, taken=self.taken)
        )


def _kind(operand: Expr | None) -> Any:
    """Return those facts of an operand that a formula depends on.

    These are a number's value, and otherwise shape and kind.
    """
    if operand is None:
        return None
    return operand if operand.is_constant and not operand.shape else (operand.shape, operand.kind)


def edge_formulas(node: Expr, place: int, limits: Limits) -> _Made:
    """Return the formulas of an edge in a graph of their own.

    Its leaves stand for the operands, and "adjoint" for the adjoint of the node.
    """
    graph = Graph(limits)
    op = node.op
    assert op is not None
    if op.outputs != 1 or any(o.op is not None and o.op.outputs != 1 for o in node.given_operands):
        return None, None, []  # several results at once have no text
    stand_ins = [None if o is None else _stand_in(graph, o, i) for i, o in enumerate(node.operands)]
    out = graph.apply(op, stand_ins, node.static)
    wanted = tuple(i == place for i in range(len(node.operands)))
    adjoint = graph.leaf("adjoint", out.shape)
    rule = contributions(out, wanted, adjoint, [out, *stand_ins], scale)
    passed = rule[place] if len(rule) > place else None
    partial = None
    if op.partials is not None and op.elementwise:
        partial = op.partials[place]
        partial = None if partial is None else partial(out, *stand_ins, **node.static)
    return _simple(partial, graph), _simple(passed, graph), stand_ins


def _stand_in(graph: Graph, operand: Expr, place: int) -> Expr:
    if operand.is_constant and not operand.shape:
        return graph.constant(operand.payload)
    return graph.leaf(f"x{place}", operand.shape, operand.kind)


def _simple(made: Any, graph: Graph) -> Expr | None:
    if made is None or isinstance(made, tuple):
        return None
    return textbook(made if isinstance(made, Expr) else graph.constant(made))
