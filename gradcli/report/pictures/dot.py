"""Explanations in DOT, the language of Graphviz."""

from __future__ import annotations

from gradcli.inert import well_formed
from gradcli.report.explanation import Explanation
from gradcli.report.pictures.folding import Box, Edge, drawing, lines_of, shades
from gradcli.report.pictures.theme import LIGHT, SHADES_LIGHT

_LABELLED = 90  # edges up to which each has its number


def dot(explanation: Explanation) -> str:
    """The graph with values, adjoints and what flows back along edges: ``dot -Tsvg`` draws it."""
    drawn = drawing(explanation)
    shaded = shades(drawn.boxes)
    lines = [
        "digraph explanation {",
        f"  label={_quoted(drawn.title)}; labelloc=t; fontname=monospace;",
        '  node [shape=box, style="rounded,filled", fontname=monospace, fontsize=11];',
        '  edge [fontname=monospace, fontsize=10, fontcolor="#9a3412"];',
        *(_box(box, shaded.get(box.key)) for box in drawn.boxes),
        *(_edge(edge, len(drawn.edges) <= _LABELLED) for edge in drawn.edges),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _box(box: Box, shade: int | None) -> str:
    fill, line, text = LIGHT[box.role]
    label = "\n".join([box.title, *(line for line, _ in lines_of(box) if line)])
    width = "" if shade is None else f", penwidth={1 + shade / 2:g}, tooltip={_quoted(box.text)}"
    border = SHADES_LIGHT[shade] if shade is not None and shade > 2 else line
    return f'  n{box.key} [label={_quoted(label)}, fillcolor="{fill}", color="{border}", fontcolor="{text}"{width}];'


def _edge(edge: Edge, labelled: bool) -> str:
    label = f"label={_quoted(edge.contribution)}" if labelled and edge.contribution else ""
    style = "" if edge.size else "style=dashed"
    inside = ", ".join(part for part in (label, style) if part)
    return f"  n{edge.begin} -> n{edge.end}" + (f" [{inside}];" if inside else ";")


def _quoted(text: str) -> str:
    """A text in quotes: backslashes would be escapes of labels, and ampersands begin entities, which labels have as HTML has."""
    return '"' + well_formed(text).replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
