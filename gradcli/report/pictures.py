"""Explanations as pictures, in SVG and in Mermaid, which GitHub draws.

They have boxes and edges, with operands above their users. A box is a node; of many nodes, it is a
function, a call or a line of the text. A drawing has a limited number of boxes. As long as there
are more, nodes are folded further: first the expansion of a built-in function, with the numbers of
the text; then calls of a user's functions; then the lines of the program; and at last whatever is
far from the result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gradcli.data import group_pairs
from gradcli.errors import OutputError
from gradcli.inert import xml_text
from gradcli.report.explanation import ExplainedNode, Explanation, short, size
from gradcli.texts import display_width, ends_of, one_line

FEW = 40  # up to this many nodes are all drawn
MOST = 120  # most boxes in a drawing
_TITLE = 24  # most characters of a box's title
_NUMBER = 26  # most characters of a number
_DIGITS = 4
_GIVEN = ("leaf", "frozen", "const")
_LISTED = 3  # most entries of an array in a box


class Box(NamedTuple):
    """A node, or several as one.

    nodes    the ids that it stands for, the last one its result
    role     "leaf", "frozen", "const", "operation", "folded" or "result"
    title    what it is called, cut to a width; ``text`` is the whole of it
    detail   the operation, or how many nodes
    adjoint  as text, empty where none flows
    """

    key: int
    nodes: tuple[int, ...]
    role: str
    title: str
    text: str
    detail: str
    value: str
    adjoint: str


class Edge(NamedTuple):
    """From the box of an operand to that of its user, with what flows back along it."""

    begin: int
    end: int
    contribution: str
    size: float | None


class Drawing(NamedTuple):
    """Boxes by their keys, operands before their users, and the edges between them."""

    title: str
    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]
    nodes: int  # the number of nodes, drawn or folded


Groups = dict[int, int]  # each id to the id of the node that represents its group


def drawing(explanation: Explanation) -> Drawing:
    """Return what is drawn of an explanation."""
    groups = {node.id: node.id for node in explanation.nodes}
    if len(groups) > FEW:
        for fold in (_functions, _calls, _lines):
            groups = _fold(explanation, groups, fold)
            if len(set(_with_helpers_inside(explanation, groups).values())) <= MOST:
                break
        else:
            groups = _near_the_result(explanation, _with_helpers_inside(explanation, groups), FEW)
    return _draw(explanation, groups)


def _fold(
    explanation: Explanation, groups: Groups, key_of: Callable[[Explanation, ExplainedNode], Any]
) -> Groups:
    """Fold the nodes of one key into one, at the place of the last of them.

    Nodes without a key stay as they were.
    """
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
    """Return the result of the built-in function that a node belongs to.

    A number of the text belongs to its only user.
    """
    return node.inside or (node.id if node.function is not None else None)


def _calls(explanation: Explanation, node: ExplainedNode) -> Any:
    return node.call


def _lines(explanation: Explanation, node: ExplainedNode) -> Any:
    """Return the line of a node, if it is before the line of the result."""
    last = explanation.node(explanation.result).statement
    return None if node.op in ("leaf", "frozen") or node.statement == last else node.statement


def _near_the_result(explanation: Explanation, groups: Groups, most: int) -> Groups:
    """Return the groups nearest to the result.

    Each other group is folded into the nearest one that it leads to.
    """
    operands: dict[int, list[int]] = {}
    for node in reversed(explanation.nodes):
        own = operands.setdefault(groups[node.id], [])
        own += [groups[operand] for operand in _drawn_operands(explanation, groups, node)]
    root = groups[explanation.result]
    into, pending = {root: root}, [root]
    for group in pending:  # grows during the loop
        for operand in operands.get(group, ()):
            if operand not in into:
                into[operand] = operand if len(pending) < most else into[group]
                pending.append(operand)
    return {id: into.get(group, root) for id, group in groups.items()}


# -- what is drawn


def _draw(explanation: Explanation, groups: Groups) -> Drawing:
    groups = _with_helpers_inside(explanation, groups)
    members = group_pairs((group, id) for id, group in groups.items())
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
    title = one_line(explanation.record.expr, 90)
    return Drawing(title, tuple(boxes), tuple(edges), len(explanation.nodes))


def _drawn_operands(explanation: Explanation, groups: Groups, node: ExplainedNode) -> list[int]:
    """Return the operands that an edge leads from.

    A helper with several users stands in the box of one of them. The others do not use the result
    of that box.
    """
    others = [operand for operand in node.operands if groups[operand] != groups[node.id]]
    return [
        operand
        for operand in others
        if groups[operand] == operand or not _is_helper(explanation, explanation.node(operand))
    ]


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
    """Return whether a node has no box of its own.

    This holds for a function's computations that its gradient does not depend on, such as indices
    and masks, and for numbers of the text in drawings of many nodes.
    """
    if node.inside is not None and node.adjoint is None:
        return bool(explanation.gradients)
    return node.op == "const" and len(explanation.nodes) > FEW


def _box(explanation: Explanation, group: int, members: Iterable[int]) -> Box:
    """Return the box of a node, or of the nodes that it stands for."""
    ids = tuple(sorted(members))
    node = explanation.node(group)
    counted = [
        each
        for each in map(explanation.node, ids)
        if each.op != "const" and not (_is_helper(explanation, each) and each is not node)
    ]
    several = len(counted) > 1
    is_number = node.op == "const" and not node.shape
    text = _number(node.value) if is_number else node.label
    detail = f"{len(counted):,} nodes" if several else node.function or node.op
    if several and node.function is not None:
        detail = f"{node.function}, {detail}"
    if group == explanation.result and node.text is None:  # the expression is very long
        text = explanation.record.expr
    role = node.op if node.op in _GIVEN else "folded" if several else "operation"
    if explanation.result in ids:
        role = "result"
    return Box(
        group, ids, role, ends_of(text, _TITLE), one_line(text, 2_000), detail, "" if is_number else _number(node.value),
        _number(node.adjoint),
    )  # fmt: skip


def _flow(parts: list[Any]) -> tuple[str, float | None]:
    """Return what flows back along an edge: the sum of what its contributions are."""
    if not parts:
        return "", None
    if (
        any(isinstance(part, tuple) for part in parts)
        or len({getattr(part, "shape", ()) for part in parts}) > 1
    ):
        return "", sum(map(size, parts))
    total = sum(parts[1:], parts[0])
    return _number(total), size(total)


def _number(value: Any) -> str:
    text = short(value, _DIGITS, _LISTED)
    return text if len(text) <= _NUMBER else f"{text[: _NUMBER - 1]}…"


def lines_of(box: Box) -> list[tuple[str, str]]:
    """Return the lines below a box's title, each with its kind.

    They are what the box is and its value; then the adjoint.
    """
    own = "" if box.detail in (box.role, box.title) else box.detail
    value = f"= {box.value}" if box.value else ""
    first = "  ".join(part for part in (own, value) if part)
    return [
        (first, "value"),
        (f"∂ {box.adjoint}" if box.adjoint else "", "adjoint"),
    ]


# -- Pictures: boxes with values and adjoints, operands above their users ------------------------


# Pixels of a character in the boxes' monospace font: the widest of the usual ones.
_CHARACTER = 7.3
_PADDING, _MARGIN = 10, 24
_HEIGHT, _BETWEEN, _ASIDE = 60, 54, 30  # of a box, between layers, between boxes in a layer
_LINE = 17
_LABELLED, _LABEL = 90, 14  # most edges with a number each, and most characters of that
# Where a number may be placed along the last segment of an edge, as fractions of it, the best
# first.
_ALONG = np.array(sorted(np.linspace(0.1, 0.9, 17), key=lambda place: abs(place - 0.6)))
_TITLE_ROOM = 34
_FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


# -- Layouts: layers from operands to their users, by a library for such (Sugiyama's method)

Point = tuple[float, float]

_BEND = 0.15  # width that a long edge takes between boxes, in widths of a box


class Layout(NamedTuple):
    """Places in units of boxes, from the left and from the top.

    Each edge is given as the points that it goes through, its ends included.
    """

    places: dict[int, Point]
    ways: dict[tuple[int, int], list[Point]]
    columns: float
    layers: float


def layout(keys: Iterable[int], edges: Iterable[tuple[int, int]]) -> Layout:
    """Lay out keys, of which larger ones use smaller ones.

    An edge from a larger key to a smaller one is laid as if it were reversed, so that there are no
    cycles. Parts that no edge connects stand beside each other.
    """
    laid = dict.fromkeys((min(edge), max(edge)) for edge in edges if edge[0] != edge[1])
    part_of = {key: [key] for key in keys}
    for begin, end in laid:
        one, other = part_of[begin], part_of[end]
        if one is not other:
            one += other
            part_of |= dict.fromkeys(other, one)
    places: dict[int, Point] = {}
    ways: dict[tuple[int, int], list[Point]] = {}
    left = top = 0.0
    for part in {id(part): sorted(part) for part in part_of.values()}.values():
        numbers = {key: number for number, key in enumerate(part)}
        numbered = [(numbers[begin], numbers[end]) for begin, end in laid if begin in numbers]
        points = {0: (left, 0.0)}
        if numbered:  # each part is laid out alone: numbers beyond its own are bends of long edges
            ((found, _, height, passed),) = _from_edges()(
                numbered, vertex_spacing=1, dummy_vertices=True, dummy_size=_BEND
            )
            points = {number: (left + x, height - y) for number, (x, y) in found}
            following = {begin: end for begin, end in passed if begin >= len(part)}
            for begin, end in passed:
                way = [begin, end]
                while way[-1] >= len(part):
                    way.append(following[way[-1]])
                if begin < len(part):
                    ways[part[begin], part[way[-1]]] = [points[number] for number in way]
        places |= {key: points[number] for key, number in numbers.items()}
        left = max(x for x, _ in points.values()) + 1
        top = max(top, *(y for _, y in points.values()))
    return Layout(places, ways, max(left - 1, 0.0), top)


def _from_edges() -> Any:
    """Return the function that lays edges out.

    There are wheels of it for the usual systems, but not for every system that has Python.
    """
    try:
        from fast_sugiyama import from_edges
    except ImportError as error:
        raise OutputError(
            "pictures are laid out by fast-sugiyama, which cannot be imported",
            help="pip install fast-sugiyama; --format mermaid does without it",
        ) from error
    return from_edges


# -- Colours: by role and by the size of adjoints, for light and for dark surroundings

ROLES = ("leaf", "frozen", "const", "operation", "folded", "result")

# Light and dark: ink is for edges and text beside boxes, flow for adjoints and what flows back; text
# is readable on its filling (a contrast of 4.5 at least).
_COLOURS = """
    paper           #ffffff #020617
    ink             #334155 #cbd5e1
    flow            #9a3412 #fbbf24
    leaf-fill       #dbeafe #172554
    leaf-line       #2563eb #60a5fa
    leaf-text       #172554 #dbeafe
    frozen-fill     #e2e8f0 #334155
    frozen-line     #64748b #94a3b8
    frozen-text     #1e293b #e2e8f0
    const-fill      #f1f5f9 #1e293b
    const-line      #94a3b8 #64748b
    const-text      #334155 #cbd5e1
    operation-fill  #ffffff #0f172a
    operation-line  #475569 #94a3b8
    operation-text  #0f172a #f1f5f9
    folded-fill     #f3e8ff #3b0764
    folded-line     #9333ea #c084fc
    folded-text     #3b0764 #f3e8ff
    result-fill     #dcfce7 #052e16
    result-line     #16a34a #4ade80
    result-text     #052e16 #dcfce7
"""


def colours(dark: bool) -> dict[str, str]:
    """Return the colours of a theme by the names of the style's variables."""
    words = _COLOURS.split()
    return {
        f"--{name}": colour for name, colour in zip(words[::3], words[1 + dark :: 3], strict=True)
    }


# -- The picture ---------------------------------------------------------------------------------


def svg(explanation: Explanation, *, embedded: bool = False) -> str:
    """Return the picture of an explanation, light or dark as the viewer prefers.

    If it is ``embedded``, it has no title and no paper.

    Each box is a group with ``data-nodes``, the ids of the nodes that it stands for; each edge has
    ``data-from`` and ``data-to``, the ids of the results of its boxes.
    """
    return _Picture(drawing(explanation), embedded).text()


@dataclass
class _Picture:
    drawn: Drawing
    embedded: bool

    def __post_init__(self) -> None:
        self.laid: Layout = layout(
            [box.key for box in self.drawn.boxes],
            [(edge.begin, edge.end) for edge in self.drawn.edges],
        )
        self.ids = {box.key: box.nodes[-1] for box in self.drawn.boxes}
        self.widths = {box.key: _width(box) for box in self.drawn.boxes}
        self.column = max(self.widths.values(), default=0) + _ASIDE
        self.row = _HEIGHT + _BETWEEN
        self.top = _MARGIN + (0 if self.embedded else _TITLE_ROOM)

    def text(self) -> str:
        title = xml_text(self.drawn.title)
        least = 0 if self.embedded else len(self.drawn.title) * 8.6
        width = 2 * _MARGIN + max((self.laid.columns + 1) * self.column - _ASIDE, least)
        height = self.top + self.laid.layers * self.row + _HEIGHT + _MARGIN
        size = f'width="{width:.0f}" height="{height:.0f}"'
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="gradcli" {size} '
            f'viewBox="0 0 {width:.0f} {height:.0f}" role="img">',
            f"<title>{title}</title>",
            f"<desc>The graph of an expression: {self.drawn.nodes:,} nodes as "
            f"{len(self.drawn.boxes)} boxes, operands above their users, with values and "
            "adjoints.</desc>",
            f"<style>{_style()}</style>",
        ]
        if not self.embedded:
            lines += [
                f'<rect class="paper" {size}/>',
                f'<text class="heading" x="{_MARGIN}" y="{_MARGIN + 8}">{title}</text>',
            ]
        lines += map(self._edge, self.drawn.edges)
        lines += [part for box in self.drawn.boxes for part in self._box(box)]
        if len(self.drawn.edges) <= _LABELLED:
            lines += self._labels()
        return "\n".join([*lines, "</svg>", ""])

    # -- boxes

    def _place(self, key: int) -> Point:
        """Return the middle of a box's upper side."""
        return self._at(self.laid.places[key])

    def _at(self, point: Point) -> Point:
        return _MARGIN + point[0] * self.column + (self.column - _ASIDE) / 2, self.top + point[
            1
        ] * self.row

    def _box(self, box: Box) -> Iterable[str]:
        x, y = self._place(box.key)
        width = self.widths[box.key]
        left = x - width / 2
        ids = f'data-nodes="{" ".join(map(str, box.nodes))}"'
        yield (
            f'<g class="node {box.role}" {ids} '
            f'tabindex="-1"><title>{xml_text(_text_of(box))}</title>'
        )
        yield (
            f'<rect class="box" x="{left:.1f}" y="{y:.1f}" width="{width:.1f}" '
            f'height="{_HEIGHT}" rx="7"/>'
        )
        alone = not any(line for line, _ in lines_of(box))
        title_y = y + _HEIGHT / 2 + 4 if alone else y + 17
        yield f'<text class="title" x="{x + 3:.1f}" y="{title_y:.1f}">{xml_text(box.title)}</text>'
        for number, (line, kind) in enumerate(lines_of(box), 1):
            if line:
                yield (
                    f'<text class="{kind}" x="{x + 3:.1f}" '
                    f'y="{y + 17 + number * _LINE:.1f}">{xml_text(line)}</text>'
                )
        yield "</g>"

    # -- edges

    def _way(self, edge: Edge) -> list[Point]:
        """Return the points of an edge from the operand's box to the user's.

        They lead from a lower side to the upper side of a box below.
        """
        (x, y), *bends, last = map(
            self._at, self.laid.ways[min(edge.begin, edge.end), max(edge.begin, edge.end)]
        )
        way = [(x, y + _HEIGHT), *((x, y + _HEIGHT / 2) for x, y in bends), last]
        return way if edge.begin < edge.end else way[::-1]

    def _edge(self, edge: Edge) -> str:
        points = self._way(edge)
        path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
        for (x0, y0), (x1, y1) in pairwise(points):
            middle = (y0 + y1) / 2
            path += f" C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {y1:.1f}"
        x, y = points[-1]
        back = y - 7 if y > points[-2][1] else y + 7
        path += f" M{x - 4:.1f} {back:.1f} L{x:.1f} {y:.1f} L{x + 4:.1f} {back:.1f}"
        return (
            f'<path class="edge {"flow" if edge.size else "still"}" {self._ends(edge)} d="{path}"/>'
        )

    def _ends(self, edge: Edge) -> str:
        return f'data-from="{self.ids[edge.begin]}" data-to="{self.ids[edge.end]}"'

    def _labels(self) -> Iterator[str]:
        """Yield the numbers on edges, each where it covers no box and no other number."""
        taken = []
        for box in self.drawn.boxes:
            x, y = self._place(box.key)
            taken.append((x, y + _HEIGHT / 2, self.widths[box.key] / 2, _HEIGHT / 2))
        for edge in self.drawn.edges:
            if not 0 < len(edge.contribution) <= _LABEL:
                continue
            (x0, y0), (x1, y1) = self._way(edge)[-2:]
            t = _ALONG
            way = np.stack(
                [x0 + (x1 - x0) * (3 - 2 * t) * t**2, y0 + (y1 - y0) * (1.5 - 1.5 * t + t**2) * t],
                axis=1,
            )
            half = np.array([display_width(edge.contribution) * 3.4 + 3, 8.0])
            centers, halves = np.split(np.array(taken), 2, axis=1)
            free = (np.abs(way[:, None] - centers) >= half + halves).any(axis=2).all(axis=1)
            if free.any():
                x, y = way[np.argmax(free)]
                taken.append((x, y, *half))
                back = (
                    f'x="{x - half[0]:.1f}" y="{y - half[1]:.1f}" width="{2 * half[0]:.1f}" '
                    f'height="{2 * half[1]:.1f}"'
                )
                text = f'<text x="{x:.1f}" y="{y + 4:.1f}">{xml_text(edge.contribution)}</text>'
                yield f'<g class="passed" {self._ends(edge)}><rect class="paper" {back}/>{text}</g>'


def _width(box: Box) -> float:
    widest = max(map(display_width, (box.title, *(line for line, _ in lines_of(box)))))
    return max(64.0, widest * _CHARACTER + 2 * _PADDING + 6)


def _text_of(box: Box) -> str:
    parts = [
        f"{box.text}: {box.detail}",
        f"value {box.value}" if box.value else "",
        f"adjoint {box.adjoint}" if box.adjoint else "",
    ]
    return ", ".join(part for part in parts if part)


def _style() -> str:
    dark = colours(dark=True)
    variables = " ".join(
        f"{name}: light-dark({light}, {dark[name]});" for name, light in colours(dark=False).items()
    )
    chosen = f"svg.gradcli {{ color-scheme: light dark; {variables} font: 12px {_FONT}; }}"
    filled = (
        f".{role} .box {{ fill: var(--{role}-fill); stroke: var(--{role}-line); }}"
        for role in ROLES
    )
    written = (f".{role} text {{ fill: var(--{role}-text); }}" for role in ROLES)
    return " ".join([chosen, *(_with_colours(rule) for rule in (*filled, *written, *_RULES))])


def _with_colours(rule: str) -> str:
    """Return a rule with each colour itself before its variable.

    Converters such as librsvg do not know variables. They skip the variable and keep the colour.
    """
    found = colours(dark=False)
    return re.sub(
        r"(fill|stroke): var\((--[\w-]+)\);",
        lambda each: f"{each[1]}: {found[each[2]]}; {each[0]}",
        rule,
    )


_RULES = (
    ".paper { fill: var(--paper); }",
    ".box { stroke-width: 1.4; } .frozen .box, .folded .box { stroke-dasharray: 5 3; }",
    ".node text { text-anchor: middle; } .node .title { font-weight: 600; } .node .adjoint { "
    "fill: var(--flow); }",
    ".edge { fill: none; stroke: var(--ink); stroke-width: 1.3; } .still { opacity: 0.45; }",
    ".passed text { fill: var(--flow); text-anchor: middle; font-size: 11px; }",
    ".heading { fill: var(--ink); font-size: 14px; font-weight: 600; }",
)


# -- Mermaid


def mermaid(explanation: Explanation) -> str:
    """Return the graph as a flowchart, operands above their users.

    It has values, adjoints, and what flows back along edges.
    """
    drawn = drawing(explanation)
    lines = [
        "flowchart TB",
        *map(_mermaid_box, drawn.boxes),
        *(_mermaid_edge(edge, len(drawn.edges) <= _LABELLED) for edge in drawn.edges),
    ]
    light = colours(dark=False)
    for role in ROLES:
        keys = [f"n{box.key}" for box in drawn.boxes if box.role == role]
        if keys:
            fill, line, text = (light[f"--{role}-{part}"] for part in ("fill", "line", "text"))
            lines += [
                f"  classDef {role}Box fill:{fill},stroke:{line},color:{text}",
                f"  class {','.join(keys)} {role}Box",
            ]
    return "\n".join(lines) + "\n"


def _mermaid_box(box: Box) -> str:
    label = "<br>".join(map(_entities, [box.title, *(line for line, _ in lines_of(box) if line)]))
    return f'  n{box.key}["{label}"]'


def _mermaid_edge(edge: Edge, labelled: bool) -> str:
    arrow = "-->" if edge.size else "-.->"
    label = f'|"{_entities(edge.contribution)}"|' if labelled and edge.contribution else ""
    return f"  n{edge.begin} {arrow}{label} n{edge.end}"


def _entities(text: str) -> str:
    """Escape a text for Mermaid, Markdown and HTML.

    Each character that one of these would act on is written as its number.
    """
    return "".join(
        character if character.isalnum() or character in " .,+=" else f"#{ord(character)};"
        for character in text
    )
