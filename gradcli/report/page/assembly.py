"""The page of explanations: one HTML file with a section for each query.

It can be read as it is, and a script plays it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from gradcli.data import encode, group_pairs, plain
from gradcli.inert import html_page, xml_text
from gradcli.report.derivative_record import steps_in_html
from gradcli.report.explanation import (
    DIGITS,
    LARGEST,
    Contribution,
    ExplainedNode,
    Explanation,
    short,
)
from gradcli.report.pictures import svg
from gradcli.report.records import text_of
from gradcli.report.shown_explanation import Sheet, ShownExplanation, recorded_line
from gradcli.texts import one_line, words

# -- The story: what happens in which order, forward and backward ---------------------------------

PHASES = {
    "start": "Start",
    "forward": "Forward",
    "seed": "Backward",
    "backward": "Backward",
    "end": "Gradient",
}
_INFIX = words("+ - * / ** @ ^ < > <= >= == !=")
_MOST_NUMBERS = 50_000  # numbers in arrays that a page writes out


class PlayedStep(NamedTuple):
    """A step of the player; the last node in its focus is the one whose details are shown."""

    phase: str
    focus: Sequence[int]
    words: str
    equation: str = ""


@dataclass
class Section:
    """Section of one query: the steps that are played, and the nodes.

    Each node is an element that opens; ``prefix`` makes their ids unique on the page.
    """

    explanation: Explanation
    digits: int
    prefix: str

    def __post_init__(self) -> None:
        self.sheet, self.label = Sheet(self.explanation, self.digits), self.explanation.label
        self.steps = [*self._steps()]
        # Most entries of an array that is written out.
        self.most = min(LARGEST, _MOST_NUMBERS // (2 * len(self.explanation.nodes)))

    def number(self, value: Any) -> str:
        return short(value, self.digits) or "–"

    def _steps(self) -> Iterator[PlayedStep]:
        explanation = self.explanation
        first = (
            "First the value: every part of the text is computed, the inner parts before the "
            "outer ones."
        )
        if explanation.gradients:
            first += (
                " Then the derivative goes back the same way, until it reaches "
                f"{list_names([*explanation.gradients])}."
            )
        yield PlayedStep("start", (), first)
        for node in explanation.nodes:  # literals appear with the operations that use them
            if node.op != "const" or len(explanation.nodes) == 1:
                yield PlayedStep("forward", (node.id,), *self._forward(node))
        if explanation.backward:
            yield PlayedStep("seed", (explanation.result,), *self._seed())
        count: Counter[int] = Counter()
        for each in explanation.backward:
            count[each.operand] += 1
            words, equation = self._backward(each)
            words += self._arrival(each.operand, count[each.operand])
            yield PlayedStep("backward", (each.node, each.operand), words, equation)
        if explanation.gradients:
            leaves = [
                node.id
                for node in explanation.nodes
                if node.name in explanation.gradients and node.op == "leaf"
            ]
            words = (
                "The adjoints of the names are the gradient. Play shows how they come about, "
                "step by step."
            )
            yield PlayedStep("end", leaves[::-1], words)

    def _forward(self, node: ExplainedNode) -> tuple[str, str]:
        label, value = self.label(node.id), self.number(node.value)
        if node.op in ("leaf", "frozen"):
            what = (
                "the derivative by it is asked for"
                if node.op == "leaf"
                else "held: no derivative by it is asked for"
            )
            return f"{label} is given, and {what}.", f"{label} = {value}"
        if not node.operands:
            return f"{label} is computed.", value
        values = [self.number(self.explanation.node(id).value) for id in node.operands]
        is_infix = node.spelling in _INFIX and len(values) == 2
        computed = (
            f" {node.spelling} ".join(values) if is_infix else f"{node.op}({', '.join(values)})"
        )
        names = list_names([f"{self.label(id)} (node {id})" for id in node.operands])
        words = f"Node {node.id}, {label}: {node.op} of {names}."
        if node.operation:
            words += f" {node.operation.removesuffix('.')}."
        if node.inside is not None:
            words += f" This is a part of {self.label(node.inside)}."
        return words, f"{computed} = {value}"

    def _seed(self) -> tuple[str, str]:
        node = self.explanation.node(self.explanation.result)
        words = f"Backward now. The sweep starts at the result, node {node.id}"
        weights = ", with the seed: the weight of each of its entries."
        words += (
            weights if node.shape else ": the derivative of the result by itself, times the seed."
        )
        return words, f"adjoint of {self.label(node.id)} = {self.number(node.adjoint)}"

    def _backward(self, each: Contribution) -> tuple[str, str]:
        words = (
            f"Node {each.node}, {self.label(each.node)}, passes back to node {each.operand}, "
            f"{self.label(each.operand)}: "
        )
        if each.partial is not None:
            words += f"its adjoint times the local derivative, which is {each.partial}"
        else:
            words += (
                "what its own rule makes of its adjoint"
                if each.rule is None
                else one_line(each.rule, 200)
            )
        arrived = self.number(self.explanation.node(each.node).adjoint)
        local = "" if each.partial is None else f" · {self.number(each.local)}"
        words += f", {each.summed}." if each.summed else "."
        return words, f"{arrived}{local} → {self.number(each.passed)}"

    def _arrival(self, id: int, number: int) -> str:
        label, count = self.label(id), len(self.sheet.arrived[id])
        if count == 1:
            return f" That is the whole adjoint of {label}."
        if number < count:
            return (
                f" It is contribution {number} of {count} to the adjoint of {label}; they are "
                "added."
            )
        total = self.number(self.explanation.node(id).adjoint)
        return (
            f" It is the last of {count} contributions; together the adjoint of {label} is {total}."
        )

    # -- the nodes

    def nodes(self) -> Iterator[str]:
        """Every node as a row, with its details below it."""
        for node in self.explanation.nodes:
            cells = [
                str(node.id),
                self.label(node.id, 60),
                f"{node.op} {', '.join(map(str, node.operands))}",
                self.number(node.value),
                self.number(node.adjoint),
            ]
            summary = "".join(f"<span>{xml_text(cell)}</span>" for cell in cells)
            yield (
                f'<details class="row" id="{self.prefix}n{node.id}" data-nodes="{node.id}">'
                f"<summary>{summary}</summary><div>{''.join(self._details(node))}</div></details>"
            )

    def _details(self, node: ExplainedNode) -> Iterator[str]:
        text = self.explanation.definition(node.id, 200)
        yield f"<h2>Node {node.id}: {code(text)}</h2>"
        told = [node.operation or node.op, recorded_line(node)]
        told += [f"shape {'×'.join(map(str, node.shape))}"] if node.shape else []
        yield note(" · ".join(filter(None, told)))
        yield f"<h3>Value</h3>{self._array('value', node.value)}"
        if node.adjoint is not None:
            yield f"<h3>Adjoint</h3>{self._array('adjoint', node.adjoint)}"
            yield f"<pre>{xml_text(text_of([*self.sheet.passed_lines(node)]))}</pre>"

    def _array(self, what: str, value: Any) -> str:
        """Return numbers in a line, and an array also as a picture, if the page has room for it.

        The picture has all of the array's numbers below it.
        """
        line = f"<p>{code(self.number(value))}</p>"
        array = np.asarray(0 if isinstance(value, tuple) else value)
        if not 1 < array.size <= self.most:
            return line
        cells = array.astype(float).reshape(-1, array.shape[-1])
        side = max(2, min(16, 320 // cells.shape[1]))
        return (
            f'{line}<figure class="heat"><svg width="{side * cells.shape[1]}" '
            f'height="{side * cells.shape[0]}" viewBox="0 0 {cells.shape[1]} {cells.shape[0]}">'
            f"<title>{what}</title>{_heat_map(cells)}</svg>"
            "<details><summary>All its numbers</summary>"
            f"<pre>{xml_text(encode(plain(array)))}</pre></details></figure>"
        )


def code(text: str) -> str:
    return f"<code>{xml_text(text)}</code>"


def note(text: str) -> str:
    return f'<p class="note">{xml_text(text)}</p>'


def _heat_map(cells: np.ndarray) -> str:
    """Return a square for each entry, coloured by its sign and size.

    It is orange above zero and blue below it, the stronger the larger; what is not finite is
    violet.
    """
    finite = np.isfinite(cells)
    sizes = np.abs(np.where(finite, cells, 0.0))
    shares = np.where(finite, sizes / (sizes.max(initial=0.0) or 1.0), 1.0)
    colours = np.select([~finite, cells < 0], ["#a050be", "#2d7ddc"], "#e87d1e")
    return "".join(
        f'<rect x="{x}" y="{y}" width="1" height="1" fill="{colours[y, x]}" opacity="{share:.2f}"/>'
        for (y, x), share in np.ndenumerate(shares)
    )


def list_names(names: Sequence[str]) -> str:
    """Join names as ``a, b and c``."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


# -- The page ------------------------------------------------------------------------------------


MOST_NODES = 1_500  # a page shows each of up to this many nodes; for more, there is the text


def page(explanations: Sequence[ShownExplanation], digits: int | None = None) -> str:
    """One page of all explanations: whole HTML, in which every text of the user's is text."""
    before, between, after = _asset("page.html").split("{{}}")
    sections = (
        f'<section class="query" id="q{place}">{"".join(_section(each, place, digits or DIGITS))}'
        "</section>"
        for place, each in enumerate(explanations)
    )
    content = [
        before, _chooser(explanations) if len(explanations) > 1 else "", between, *sections, after,
    ]  # fmt: skip
    title = f"{one_line(explanations[0].record.expr, 60)}, explained by gradcli"
    return html_page(title, _asset("page.css"), content, _asset("page.js"))


def _chooser(explanations: Sequence[Explanation]) -> str:
    options = "".join(
        f'<option value="q{place}">{place + 1}: {xml_text(one_line(each.record.expr, 70))}</option>'
        for place, each in enumerate(explanations)
    )
    return f'<select id="query" aria-label="Query">{options}</select>'


@cache
def _asset(name: str) -> str:
    return files("gradcli.report.page").joinpath(name).read_text("utf-8").rstrip("\n")


# -- The section of one query --------------------------------------------------------------------


def _section(explanation: ShownExplanation, place: int, digits: int) -> Iterator[str]:
    if explanation.error is not None:
        error = xml_text(explanation.error_text().rstrip("\n"))
        yield _panel("This has no result", f'<pre class="error">{error}</pre>')
        return
    is_played = 0 < len(explanation.nodes) <= MOST_NODES
    source = _source(explanation) if is_played else code(one_line(explanation.record.expr, 2000))
    yield _panel(
        "",
        f'<pre class="source" tabindex="0" aria-label="Source text">{source}</pre>',
        _facts(explanation, digits),
    )
    if not is_played:
        text = xml_text(text_of(explanation.lines(digits)).rstrip("\n"))
        yield from (
            _derivations(explanation) if explanation.steps else [_panel("", f"<pre>{text}</pre>")]
        )
        return
    yield from _stories(explanation)
    section = Section(explanation, digits, f"q{place}")
    yield _panel(
        "Graph",
        f'<div class="picture">{svg(explanation, embedded=True)}</div>',
    )
    if explanation.gradients:
        paths = text_of([*section.sheet.gradient_lines()])
        yield _panel("", f"<pre>{xml_text(paths.strip())}</pre>")
    yield from _derivations(explanation)
    steps = "".join(
        f'<li class="{step.phase}" data-focus="{" ".join(map(str, step.focus))}">'
        f"<b>{PHASES[step.phase]}</b> <span>{xml_text(step.words)}</span> "
        f"{code(step.equation) if step.equation else ''}</li>"
        for step in section.steps
    )
    yield _folded_panel("All steps", f'<ol class="steps" start="0">{steps}</ol>')
    count = len(explanation.nodes)
    yield _folded_panel(
        f"All {count:,} node{'s' * (count != 1)}",
        '<p class="head"><span>node</span><span>text</span><span>operation</span>'
        "<span>value</span><span>adjoint</span></p>",
        *section.nodes(),
        is_open=count <= 40,
    )


def _panel(title: str, *content: str) -> str:
    heading = f"<h2>{xml_text(title)}</h2>" if title else ""
    return f'<section class="panel">{heading}{"".join(content)}</section>'


def _folded_panel(title: str, *content: str, is_open: bool = False) -> str:
    opened = ' open=""' if is_open else ""
    return (
        f'<details class="panel"{opened}><summary>{xml_text(title)}</summary>'
        f"{''.join(content)}</details>"
    )


def _source(explanation: Explanation) -> str:
    """Return the text, in which the span of each node is an element.

    A span that crosses another one is left out.
    """
    owners = (
        (explanation.node(node.inside or node.id).span, node.id) for node in explanation.nodes
    )
    spans = group_pairs((span, id) for span, id in owners if span is not None)
    text = explanation.record.expr if explanation.source is None else explanation.source.text
    found: list[str] = []
    ends: list[int] = []
    place, last = 0, len(text)
    ordered = sorted(spans.items(), key=lambda item: (item[0][0], -item[0][1]))
    for (begin, end), ids in [*ordered, ((last, last), [])]:  # an empty last span closes the others
        while ends and ends[-1] <= begin:
            found += [xml_text(text[place : ends[-1]]), "</span>"]
            place = ends.pop()
        if end <= (ends or [last])[-1]:
            found += [
                xml_text(text[place:begin]),
                f'<span class="part" data-nodes="{" ".join(map(str, ids))}">',
            ]
            place = begin
            ends.append(end)
    return "".join(found[:-1])


def _facts(explanation: Explanation, digits: int) -> str:
    """Return the value, the gradients, and the record's lines other than its numbers."""
    record = explanation.record
    numbers = {} if record.value is None else {"value": record.value}
    numbers |= {f"d/d{name}": each.value for name, each in explanation.gradients.items()}
    lines = [f"{name} {short(value, digits)}" for name, value in numbers.items()]
    lines.append(text_of(Sheet(explanation, digits).facts()))
    return f'<pre class="facts">{xml_text(chr(10).join(lines).rstrip())}</pre>'


def _stories(explanation: Explanation) -> Iterator[str]:
    for why in explanation.why:
        first, *rest = map(xml_text, why.lines)
        content = [f"<p><strong>{first}</strong></p>", *(f"<p>{line}</p>" for line in rest)]
        content += [f"<p>Write {code(why.repair)}</p>"] if why.repair else []
        yield _panel(f"Why {why.of} is what it is", *content)


def _derivations(explanation: Explanation) -> Iterator[str]:
    for heading, steps in explanation.derivations:
        yield _panel(f"{heading}, rule by rule", steps_in_html(steps))
