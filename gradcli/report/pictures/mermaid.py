"""Explanations in Mermaid, which GitHub, GitLab and many editors draw."""

from __future__ import annotations

from gradcli.report.explanation import Explanation
from gradcli.report.pictures.folding import Box, Edge, drawing, lines_of
from gradcli.report.pictures.svg import LIGHT, ROLES

_LABELLED = 90  # edges up to which each has its number


def mermaid(explanation: Explanation) -> str:
    """The graph as a flowchart, operands above their users, with values, adjoints and what flows back along edges."""
    drawn = drawing(explanation)
    lines = ["flowchart TB", *map(_box, drawn.boxes), *(_edge(edge, len(drawn.edges) <= _LABELLED) for edge in drawn.edges)]
    for role in ROLES:
        keys = [f"n{box.key}" for box in drawn.boxes if box.role == role]
        if keys:
            fill, line, text = LIGHT[role]
            lines += [f"  classDef {role}Box fill:{fill},stroke:{line},color:{text}", f"  class {','.join(keys)} {role}Box"]
    return "\n".join(lines) + "\n"


def _box(box: Box) -> str:
    label = "<br>".join(map(_entities, [box.title, *(line for line, _ in lines_of(box) if line)]))
    return f'  n{box.key}["{label}"]'


def _edge(edge: Edge, labelled: bool) -> str:
    arrow = "-->" if edge.size else "-.->"
    label = f'|"{_entities(edge.contribution)}"|' if labelled and edge.contribution else ""
    return f"  n{edge.begin} {arrow}{label} n{edge.end}"


def _entities(text: str) -> str:
    """Text in which every character that Mermaid, Markdown or HTML would act on is written as its number."""
    return "".join(character if character.isalnum() or character in " .,+=" else f"#{ord(character)};" for character in text)
