"""Explanations as SVG: boxes with values and adjoints, operands above their users, laid out without a program outside of Python."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from gradcli.inert import display_width, xml_text
from gradcli.report.explanation import Explanation
from gradcli.report.pictures.folding import Box, Drawing, Edge, drawing, lines_of, shades
from gradcli.report.pictures.layout import Layout, Point, layout
from gradcli.report.pictures.theme import ROLES, colours

_CHARACTER = 7.3  # width of one in the font of boxes, which has one width; of the widest of usual fonts
_PADDING, _MARGIN = 10, 24
_HEIGHT, _BETWEEN, _ASIDE = 60, 54, 30  # of a box, between layers, between boxes of a layer
_LINE = 17
_LABELLED, _LABEL = 90, 14  # edges up to which each has its number, and its characters
_TITLE_ROOM = 34
_FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def svg(explanation: Explanation, *, theme: str = "auto", embedded: bool = False) -> str:
    """The picture of an explanation.

    theme     "light", "dark", or "auto": as the viewer prefers
    embedded  without the title and the paper, for a page that has its own

    Each box is a group with ``data-nodes``, the ids of the nodes that it stands for; each edge has ``data-from`` and ``data-to``, the ids
    of the results of its boxes.
    """
    drawn = drawing(explanation)
    return _Picture(drawn, theme, embedded).text()


class _Picture:
    def __init__(self, drawn: Drawing, theme: str, embedded: bool) -> None:
        self.drawn, self.theme, self.embedded = drawn, theme, embedded
        self.shades = shades(drawn.boxes)
        self.laid: Layout = layout([box.key for box in drawn.boxes], [(edge.begin, edge.end) for edge in drawn.edges])
        self.ids = {box.key: box.nodes[-1] for box in drawn.boxes}
        self.widths = {box.key: _width(box) for box in drawn.boxes}
        self.column = max(self.widths.values(), default=0) + _ASIDE
        self.height = _HEIGHT + (_LINE if any(box.uses for box in drawn.boxes) else 0)
        self.row = self.height + _BETWEEN
        self.top = _MARGIN + (0 if embedded else _TITLE_ROOM)

    def text(self) -> str:
        title = xml_text(self.drawn.title)
        least = 0 if self.embedded else 2 * _MARGIN + max(len(self.drawn.title[:90]) * 8.6, len(self._legend()) * 6.8)
        width = max(2 * _MARGIN + self.laid.columns * self.column + self.column - _ASIDE, least)
        height = self.top + self.laid.layers * self.row + self.height + _MARGIN + (0 if self.embedded else 20)
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="gradcli {self.theme}" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-labelledby="picture-title picture-text">',
            f'<title id="picture-title">{title}</title>',
            f'<desc id="picture-text">{xml_text(self._described())}</desc>',
            f"<style>{_style(self.theme)}</style>",
            '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            '<path class="head" d="M0 0 L8 4 L0 8 z"/></marker></defs>',
        ]
        if not self.embedded:
            lines.append(f'<rect class="paper" width="{width:.0f}" height="{height:.0f}"/>')
            shown = self.drawn.title if len(self.drawn.title) <= 90 else self.drawn.title[:89] + "…"
            lines.append(f'<text class="heading" x="{_MARGIN}" y="{_MARGIN + 8}">{xml_text(shown)}</text>')
            lines.append(f'<text class="legend" x="{_MARGIN}" y="{height - 12:.0f}">{xml_text(self._legend())}</text>')
        lines += [part for edge in self.drawn.edges for part in self._edge(edge)]
        lines += [part for box in self.drawn.boxes for part in self._box(box)]
        if len(self.drawn.edges) <= _LABELLED:
            lines += [part for edge in self.drawn.edges for part in self._label(edge)]
        return "\n".join([*lines, "</svg>", ""])

    def _described(self) -> str:
        folded = f" drawn as {len(self.drawn.boxes)} boxes" if self.drawn.is_folded else ""
        return f"The graph of an expression: {self.drawn.nodes:,} nodes{folded}, operands above their users, with values and adjoints."

    def _legend(self) -> str:
        folded = f"; {self.drawn.nodes:,} nodes as {len(self.drawn.boxes)} boxes" if self.drawn.is_folded else ""
        return f"= value, ∂ adjoint; the stronger a box's bar, the larger its adjoint{folded}"

    # -- boxes --------------------------------------------------------------------------------------------------

    def _place(self, key: int) -> Point:
        """The middle of a box's upper side."""
        x, y = self.laid.places[key]
        return self._at((x, y))

    def _at(self, point: Point) -> Point:
        return _MARGIN + point[0] * self.column + (self.column - _ASIDE) / 2, self.top + point[1] * self.row

    def _box(self, box: Box) -> Iterable[str]:
        x, y = self._place(box.key)
        width = self.widths[box.key]
        left = x - width / 2
        ids = f'data-nodes="{" ".join(map(str, box.nodes))}"'
        yield f'<g class="node {box.role}" {ids} id="node-{box.key}" tabindex="-1"><title>{xml_text(_told(box))}</title>'
        yield f'<rect class="box" x="{left:.1f}" y="{y:.1f}" width="{width:.1f}" height="{self.height}" rx="7"/>'
        if box.key in self.shades:
            bar = f'x="{left + 3:.1f}" y="{y + 4:.1f}" width="4" height="{self.height - 8}" rx="2"'
            yield f'<rect class="shade-{self.shades[box.key]}" {bar}/>'
        alone = not any(line for line, _ in lines_of(box))
        title_y = y + self.height / 2 + 4 if alone else y + 17
        yield f'<text class="title" x="{x + 3:.1f}" y="{title_y:.1f}">{xml_text(box.title)}</text>'
        for number, (line, kind) in enumerate(lines_of(box), 1):
            if line:
                yield f'<text class="{kind}" x="{x + 3:.1f}" y="{y + 17 + number * _LINE:.1f}">{xml_text(line)}</text>'
        yield "</g>"

    # -- edges --------------------------------------------------------------------------------------------------

    def _way(self, edge: Edge) -> list[Point]:
        """The points of an edge, from the lower side of the operand's box to the upper side of the user's."""
        if (edge.begin, edge.end) in self.laid.ways:
            points = [self._at(point) for point in self.laid.ways[edge.begin, edge.end]]
            bends = [(x, y + self.height / 2) for x, y in points[1:-1]]
            return [(points[0][0], points[0][1] + self.height), *bends, points[-1]]
        points = [self._at(point) for point in reversed(self.laid.ways[edge.end, edge.begin])]  # laid the other way round
        return [points[0], *((x, y + self.height / 2) for x, y in points[1:-1]), (points[-1][0], points[-1][1] + self.height)]

    def _edge(self, edge: Edge) -> Iterable[str]:
        points = self._way(edge)
        path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
        for (x0, y0), (x1, y1) in pairwise(points):
            middle = (y0 + y1) / 2
            path += f" C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {y1:.1f}"
        flow = "flow" if edge.size else "still"
        yield f'<path class="edge {flow}" {self._ends(edge)} d="{path}" marker-end="url(#arrow)"/>'

    def _ends(self, edge: Edge) -> str:
        return f'data-from="{self.ids[edge.begin]}" data-to="{self.ids[edge.end]}"'

    def _label(self, edge: Edge) -> Iterable[str]:
        if 0 < len(edge.contribution) <= _LABEL:
            (x0, y0), (x1, y1) = self._way(edge)[-2:]
            x, y = x0 + 0.6 * (x1 - x0), y0 + 0.6 * (y1 - y0)
            ends = self._ends(edge)
            yield f'<text class="passed" {ends} x="{x:.1f}" y="{y:.1f}">{xml_text(edge.contribution)}</text>'


def _width(box: Box) -> float:
    widest = max(map(display_width, (box.title, *(line for line, _ in lines_of(box)))))
    return max(64.0, widest * _CHARACTER + 2 * _PADDING + 6)


def _told(box: Box) -> str:
    parts = [f"{box.text}: {box.detail}", f"value {box.value}" if box.value else "", f"adjoint {box.adjoint}" if box.adjoint else ""]
    return ", ".join(part for part in parts if part)


def _style(theme: str) -> str:
    light, dark = (" ".join(f"{name}: {value};" for name, value in colours(is_dark)) for is_dark in (False, True))
    chosen = f"svg.gradcli {{ {dark if theme == 'dark' else light} font: 12px {_FONT}; }}"
    if theme == "auto":
        chosen += f" @media (prefers-color-scheme: dark) {{ svg.gradcli {{ {dark} }} }}"
    filled = (f".{role} .box {{ fill: var(--{role}-fill); stroke: var(--{role}-line); }}" for role in ROLES)
    written = (f".{role} text {{ fill: var(--{role}-text); }}" for role in ROLES)
    shaded = (f".shade-{number} {{ fill: var(--shade-{number}); }}" for number in range(7))
    return " ".join([chosen, *(_with_colours(rule, theme == "dark") for rule in (*filled, *written, *shaded, *_RULES))])


def _with_colours(rule: str, dark: bool) -> str:
    """A rule with each colour itself before its variable, which converters such as librsvg do not know: what they skip has been said."""
    found = dict(colours(dark))
    return re.sub(r"(fill|stroke): var\((--[\w-]+)\);", lambda each: f"{each[1]}: {found[each[2]]}; {each[0]}", rule)


_RULES = (
    ".paper { fill: var(--paper); }",
    ".box { stroke-width: 1.4; } .frozen .box, .folded .box { stroke-dasharray: 5 3; }",
    ".node text { text-anchor: middle; } .node .title { font-weight: 600; } .node .adjoint { fill: var(--flow); }",
    ".edge { fill: none; stroke: var(--ink); stroke-width: 1.3; } .still { opacity: 0.45; } .head { fill: var(--ink); }",
    ".passed { fill: var(--flow); text-anchor: middle; font-size: 11px; }",
    ".passed { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; }",
    ".heading { fill: var(--ink); font-size: 14px; font-weight: 600; } .legend { fill: var(--ink); font-size: 11px; }",
)
