"""What is drawn of an explanation: boxes and edges, a box a node, or for many nodes a box for a function, a call or a line of the text.

A drawing has at most some boxes. As long as there are more, nodes are folded further: first what a built-in function was expanded to,
with the numbers of the text; then calls of a user's functions; then the lines of the program; and at last whatever is far from the result.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gradcli.inert import ends_of, one_line
from gradcli.report.explanation import ExplainedNode, Explanation
from gradcli.report.number_text import short, size

FEW = 40  # nodes that are all drawn
MOST = 120  # boxes of a drawing
_TITLE = 24  # characters of a box's title
_NUMBER = 26  # characters of a number
_DIGITS = 4
_USES = 4  # of a name or a number, up to which an edge leads to each of them
_GIVEN = ("leaf", "frozen", "const")
_LISTED = 3  # entries of an array that stand in a box


@dataclass(frozen=True, slots=True)
class Box:
    """A node, or several as one.

    nodes    the ids that it stands for, the last one its result
    role     "leaf", "frozen", "const", "operation", "folded" or "result"
    title    what it is called, cut to a width; ``text`` is the whole of it
    detail   the operation, or how many nodes
    adjoint  as text, empty where none flows; ``size`` is the sum of its magnitudes, None where none flows
    uses     operands that no edge leads from, since much uses them: "z, 2"
    """

    key: int
    nodes: tuple[int, ...]
    role: str
    title: str
    text: str
    detail: str
    value: str
    adjoint: str
    size: float | None
    uses: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """From the box of an operand to that of its user, with what flows back along it."""

    begin: int
    end: int
    contribution: str
    size: float | None


@dataclass(frozen=True, slots=True)
class Drawing:
    """Boxes by their keys, operands before their users, and the edges between them."""

    title: str
    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]
    nodes: int  # how many there are, drawn each or folded

    @property
    def is_folded(self) -> bool:
        return len(self.boxes) < self.nodes

    @property
    def count(self) -> str:
        return f"{self.nodes:,} nodes" + (f" as {len(self.boxes)} boxes" if self.is_folded else "")


Groups = dict[int, int]  # by ids: the id of the node that stands for it


def drawing(explanation: Explanation, most: int = MOST) -> Drawing:
    """Return what is drawn of an explanation."""
    groups = {node.id: node.id for node in explanation.nodes}
    if len(groups) > FEW:
        for fold in (_functions, _calls, _lines):
            groups = _folded(explanation, groups, fold)
            if len(set(_with_helpers_inside(explanation, groups).values())) <= most:
                break
        else:
            groups = _near_the_result(explanation, _with_helpers_inside(explanation, groups), FEW)
    return _drawn(explanation, groups)


def _folded(explanation: Explanation, groups: Groups, key_of: Callable[[Explanation, ExplainedNode], Any]) -> Groups:
    """The nodes of one key as one, which stands where the last of them does; those without a key as they were."""
    last: dict[Any, int] = {}
    keys = {}
    for node in explanation.nodes:
        keys[node.id] = key = key_of(explanation, node)
        if key is not None:
            last[key] = max(last.get(key, 0), groups[node.id])
    found: Groups = {}
    for id, group in groups.items():
        key = keys[group] if keys[group] is not None else keys[id]
        found[id] = group if key is None else last[key]
    return found


def _functions(explanation: Explanation, node: ExplainedNode) -> Any:
    """Return what a built-in function was expanded to is one; a number of the text is its only user's."""
    return None if node.inside is None and node.function is None else ("function", node.inside or node.id)


def _calls(explanation: Explanation, node: ExplainedNode) -> Any:
    return None if node.call is None else ("call", node.call)


def _lines(explanation: Explanation, node: ExplainedNode) -> Any:
    """The lines before that of the result."""
    named, last = node.op in ("leaf", "frozen"), explanation.node(explanation.result).statement
    return None if named or node.statement is None or node.statement == last else ("line", node.statement)


def _near_the_result(explanation: Explanation, groups: Groups, most: int) -> Groups:
    """The groups nearest to the result; each of the others is folded into the nearest that it leads to."""
    operands: dict[int, list[int]] = {}
    for node in reversed(explanation.nodes):
        own = operands.setdefault(groups[node.id], [])
        own += [groups[operand] for operand in _drawn_operands(explanation, groups, node)]
    root = groups[explanation.result]
    into, pending = {root: root}, [root]
    for group in pending:  # which grows
        for operand in operands.get(group, ()):
            if operand not in into:
                into[operand] = operand if len(pending) < most else into[group]
                pending.append(operand)
    return {id: into.get(group, root) for id, group in groups.items()}


# -- what is drawn -----------------------------------------------------------------------------------------------------


def _drawn(explanation: Explanation, groups: Groups) -> Drawing:
    groups = _with_helpers_inside(explanation, groups)
    members: dict[int, list[int]] = {}
    for id, group in groups.items():
        members.setdefault(group, []).append(id)
    boxes = [_box(explanation, group, members[group]) for group in sorted(members)]
    passed: dict[tuple[int, int], list[Any]] = {}
    for node in explanation.nodes:
        for operand in _drawn_operands(explanation, groups, node):
            passed.setdefault((groups[operand], groups[node.id]), [])
    for each in explanation.backward:
        edge = groups[each.operand], groups[each.node]
        if edge in passed:
            passed[edge].append(each.passed)
    edges = [Edge(begin, end, *_flow(parts)) for (begin, end), parts in passed.items()]
    title = one_line(explanation.record.expr, 200)
    return Drawing(title, *_with_names_inside(boxes, edges), len(explanation.nodes))


def _with_names_inside(boxes: list[Box], edges: list[Edge]) -> tuple[tuple[Box, ...], tuple[Edge, ...]]:
    """Names and numbers that much uses stand in each box that does: edges from one place would go through the whole picture."""
    users = Counter(edge.begin for edge in edges)
    many = {box.key: box.title for box in boxes if box.role in _GIVEN and users[box.key] > _USES}
    inside: dict[int, list[str]] = {}
    for edge in edges:
        if edge.begin in many:
            inside.setdefault(edge.end, []).append(many[edge.begin])
    kept = [box for box in boxes if box.role != "const" or box.key not in many]
    with_names = [replace(box, uses=one_line(", ".join(inside[box.key]), _TITLE)) if box.key in inside else box for box in kept]
    return tuple(with_names), tuple(edge for edge in edges if edge.begin not in many)


def _drawn_operands(explanation: Explanation, groups: Groups, node: ExplainedNode) -> list[int]:
    """The operands that an edge leads from: a helper that several use stands in one of their boxes, whose result the others do not use."""
    others = [operand for operand in node.operands if groups[operand] != groups[node.id]]
    return [operand for operand in others if groups[operand] == operand or not _is_helper(explanation, explanation.node(operand))]


def _with_helpers_inside(explanation: Explanation, groups: Groups) -> Groups:
    """Helpers as parts of what uses them."""
    users: dict[int, int] = {}
    for node in explanation.nodes:
        for operand in node.operands:
            users.setdefault(operand, node.id)
    found = dict(groups)
    for node in reversed(explanation.nodes):  # users before their operands
        if groups[node.id] == node.id and node.id in users and _is_helper(explanation, node):
            found[node.id] = found[users[node.id]]
    return found


def _is_helper(explanation: Explanation, node: ExplainedNode) -> bool:
    """Return whether a node has no box of its own: what a function computes beside the way of its gradient, as indices and masks are; and
    numbers of the text, in drawings of many nodes."""
    if node.inside is not None and node.adjoint is None:
        return bool(explanation.gradients)
    return node.op == "const" and len(explanation.nodes) > FEW


def _box(explanation: Explanation, group: int, members: Iterable[int]) -> Box:
    """A node, or those that it stands for."""
    ids = tuple(sorted(members))
    node = explanation.node(group)
    counted = [
        each for each in map(explanation.node, ids) if each.op != "const" and not (_is_helper(explanation, each) and each is not node)
    ]
    several = len(counted) > 1
    adjoint = node.adjoint
    is_number = node.op == "const" and not node.shape
    text = _number(node.value) if is_number else node.label
    detail = f"{len(counted):,} nodes" if several else node.function or node.op
    if several and node.function is not None:
        detail = f"{node.function}, {detail}"
    if group == explanation.result and node.text is None:  # of a very long expression
        text = explanation.record.expr
    role = node.op if node.op in _GIVEN else "folded" if several else "operation"
    if explanation.result in ids:
        role = "result"
    return Box(
        group, ids, role, ends_of(text, _TITLE), one_line(text, 2_000), detail, "" if is_number else _number(node.value),
        _number(adjoint),
        None if adjoint is None else size(adjoint),
    )  # fmt: skip


def _flow(parts: list[Any]) -> tuple[str, float | None]:
    """Return what flows back along an edge: the sum of what its contributions are."""
    if not parts:
        return "", None
    if any(isinstance(part, tuple) for part in parts) or len({getattr(part, "shape", ()) for part in parts}) > 1:
        return "", sum(map(size, parts))
    total = sum(parts[1:], parts[0])
    return _number(total), size(total)


def _number(value: Any) -> str:
    text = short(value, _DIGITS, _LISTED)
    return text if len(text) <= _NUMBER else text[: _NUMBER - 1] + "…"


def lines_of(box: Box) -> list[tuple[str, str]]:
    """Return what stands below a box's title, each line with its kind: what it is and its value; the adjoint; what else it uses."""
    own = "" if box.detail in (box.role, box.title) else box.detail
    value = f"= {box.value}" if box.value else ""
    first = "  ".join(part for part in (own, value) if part)
    return [(first, "value"), (f"∂ {box.adjoint}" if box.adjoint else "", "adjoint"), (f"with {box.uses}" if box.uses else "", "uses")]


def shades(boxes: Iterable[Box]) -> Mapping[int, int]:
    """Return how large the adjoints of boxes are among each other, from 0 for zero to 5 for the largest; 6 where one is not finite."""
    sizes = {box.key: box.size for box in boxes if box.size is not None}
    top = max((math.log10(size) for size in sizes.values() if 0 < size < math.inf), default=0.0)

    def shade(size: float) -> int:
        """A shade for each factor of about six."""
        return 0 if not size else 6 if math.isinf(size) else max(1, 5 - int((top - math.log10(size)) * 1.25))

    return {key: shade(size) for key, size in sizes.items()}
