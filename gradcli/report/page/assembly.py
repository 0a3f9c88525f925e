"""The page of explanations put together: its template, its style, its program, the data and the pictures, in one text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from gradcli.inert import one_line, script, script_text, xml_text
from gradcli.report.data import encoded
from gradcli.report.explanation import DIGITS, Explanation
from gradcli.report.explanation_lines import explanation_lines
from gradcli.report.lines import text_of
from gradcli.report.page.data import MOST_NODES, page_data
from gradcli.report.pictures.theme import colours

# In the order in which they are put together: what each uses stands in those before it.
_PROGRAM = ("make.js", "numbers.js", "heat.js", "story.js", "source.js", "graph.js", "details.js", "lists.js", "player.js", "page.js")
_STYLE = ("page.css", "parts.css")


def page(explanations: Sequence[Explanation], digits: int | None = None) -> str:
    """One page of all explanations: whole HTML, in which every text of the user's is data."""
    digits = digits or DIGITS
    parts = {
        "title": xml_text(_title(explanations)),
        "style": "\n".join([*map(_asset, _STYLE), _dark_pictures()]),
        "plain": xml_text("\n\n".join(_plain(each, digits) for each in explanations)),
        "pictures": "\n".join(f'<template id="picture-{place}">{_picture(each)}</template>' for place, each in enumerate(explanations)),
        "data": script_text(encoded({"digits": digits, "queries": [page_data(each, digits) for each in explanations]})),
        "program": script("\n".join(['"use strict";', "(() => {", *map(_asset, _PROGRAM), "})();"])),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _asset("page.html"))


def _title(explanations: Sequence[Explanation]) -> str:
    first = one_line(explanations[0].record.expr, 60) if explanations else "nothing"
    more = f" and {len(explanations) - 1} more" if len(explanations) > 1 else ""
    return f"{first}{more}, explained by gradcli"


def _plain(explanation: Explanation, digits: int) -> str:
    """Return what a reader without scripts sees."""
    return explanation.error_text() if explanation.error is not None else text_of(explanation_lines(explanation, digits))


def _picture(explanation: Explanation) -> str:
    """The graph, as its own format draws it; nothing of what the page only sums up."""
    if not explanation.nodes or len(explanation.nodes) > MOST_NODES:
        return ""
    from gradcli.report.pictures.svg import svg

    return svg(explanation, theme="light", embedded=True)


def _dark_pictures() -> str:
    """Pictures are drawn for light surroundings; where the page is dark, their colours are, too."""
    chosen = " ".join(f"{name}: {colour};" for name, colour in colours(dark=True))
    return f':root[data-theme="dark"] svg.gradcli {{ {chosen} }}\n@media print {{ :root[data-theme] svg.gradcli {{ {_light()} }} }}'


def _light() -> str:
    return " ".join(f"{name}: {colour};" for name, colour in colours(dark=False))


@cache
def _asset(name: str) -> str:
    return files("gradcli.report.page").joinpath(name).read_text("utf-8").rstrip("\n")
