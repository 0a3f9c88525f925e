"""The page of explanations: one file of HTML with a section for each query, which can be read as it
is, and a script that plays it.
"""

from __future__ import annotations

import math
import struct
import zlib
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from gradcli.inert import one_line, printable, xml_text
from gradcli.report.data import encode, group_pairs, plain
from gradcli.report.explanation import (
    DIGITS,
    LARGEST,
    Contribution,
    ExplainedGradient,
    ExplainedNode,
    Explanation,
    Step,
    count_text,
)
from gradcli.report.lines import Line, html_page, short, size, text_of
from gradcli.report.pictures import svg
from gradcli.report.shown_explanation import ShownExplanation

# -- The story: what happens in which order, forward and backward ---------------------------------

PHASES = {
    "start": "Start",
    "forward": "Forward",
    "seed": "Backward",
    "backward": "Backward",
    "end": "Gradient",
}
_INFIX = frozenset(["+", "-", "*", "/", "**", "@", "^", "<", ">", "<=", ">=", "==", "!="])


class PlayedStep(NamedTuple):
    """A step of the player; the last node in its focus is the one whose details are shown, ``part``
    what is passed back.
    """

    phase: str
    focus: Sequence[int]
    words: str
    equation: str = ""
    part: Contribution | None = None


class Story:
    """The steps of an explanation."""

    def __init__(self, explanation: Explanation, digits: int) -> None:
        self.explanation, self.digits = explanation, digits
        self.arrived = explanation.contributions_by_node()
        self.steps = [*self._steps()]

    def number(self, value: Any) -> str:
        return short(value, self.digits) or "–"

    def label(self, id: int, limit: int = 36) -> str:
        return self.explanation.label(id, limit)

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
        for node in explanation.nodes:  # numbers of the text come with what uses them
            if node.op != "const" or len(explanation.nodes) == 1:
                yield PlayedStep("forward", (node.id,), *self._forward(node))
        if explanation.backward:
            yield PlayedStep("seed", (explanation.result,), *self._seed())
        count: Counter[int] = Counter()
        for each in explanation.backward:
            count[each.operand] += 1
            words, equation = self._backward(each)
            words += self._arrival(each.operand, count[each.operand])
            yield PlayedStep("backward", (each.node, each.operand), words, equation, each)
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
        return words + (f", {each.summed}." if each.summed else "."), self.product(each)

    def product(self, each: Contribution) -> str:
        """A contribution as what it is computed from."""
        local = "" if each.partial is None else f" · {self.number(each.local)}"
        return (
            f"{self.number(self.explanation.node(each.node).adjoint)}{local} → "
            f"{self.number(each.passed)}"
        )

    def _arrival(self, id: int, number: int) -> str:
        label, count = self.label(id), len(self.arrived[id])
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


def list_names(names: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


# -- The nodes -----------------------------------------------------------------------------------

_LISTED = 12  # links, or contributions, beside which further ones are folded
_MOST_NUMBERS = 200_000  # of arrays that a page writes out
_ROWS = 24  # of the picture of a long vector, at most
_ABOVE, _BELOW, _NOT_FINITE = (232, 125, 30), (45, 125, 220), (160, 80, 190)


def element(tag: str, content: str = "", **attributes: Any) -> str:
    """An element of HTML: its content is HTML, its attributes are text, and left out where they are
    None.
    """
    named = (
        (name.rstrip("_").replace("_", "-"), value)
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{''.join(f' {name}={chr(34)}{xml_text(str(value))}{chr(34)}' for name, value in named)}>{content}</{tag}>"


def code(text: str) -> str:
    return element("code", xml_text(text))


def note(text: str) -> str:
    return element("p", xml_text(text), class_="note")


def paragraph(text: str) -> str:
    return element("p", xml_text(text))


class Details:
    """The nodes of one query, each as an element that opens; ``prefix`` makes their ids unique on
    the page.
    """

    def __init__(self, story: Story, prefix: str) -> None:
        self.story, self.prefix = story, prefix
        self.explanation = story.explanation
        self.users = self.explanation.users()
        self.reached: dict[int, int] = {}  # the steps in which nodes have their whole adjoints
        for number, step in enumerate(story.steps):
            if step.phase in ("seed", "backward"):
                self.reached[step.focus[-1]] = number
        passed = [
            (number, step.part) for number, step in enumerate(story.steps) if step.part is not None
        ]
        self.arriving = group_pairs(
            (part.operand, (number, part)) for number, part in passed
        )  # with the steps in which it does
        self.leaving = group_pairs((part.node, (number, part)) for number, part in passed)
        self.most = min(
            LARGEST, _MOST_NUMBERS // (2 * len(self.explanation.nodes))
        )  # entries of an array that is written out

    def nodes(self) -> Iterator[str]:
        """Every node as a row, with its details below it."""
        number, label = self.story.number, self.story.label
        for node in self.explanation.nodes:
            operation = " ".join([node.op, ", ".join(map(str, node.operands))])
            cells = [
                str(node.id),
                label(node.id, 60),
                operation,
                number(node.value),
                number(node.adjoint),
            ]
            summary = element("summary", "".join(element("span", xml_text(cell)) for cell in cells))
            yield element(
                "details", summary + element("div", "".join(self._details(node))), class_="row", id=f"{self.prefix}n{node.id}",
                data_nodes=node.id,
            )  # fmt: skip

    def link(self, id: int) -> str:
        return element(
            "a",
            xml_text(f"{id} {self.story.label(id, 28)}"),
            class_="link",
            href=f"#{self.prefix}n{id}",
        )

    def _details(self, node: ExplainedNode) -> Iterator[str]:
        text = (
            f"{node.name} = {one_line(node.text or '', 200)}"
            if node.is_definition
            else self.story.label(node.id, 200)
        )
        yield element("h2", f"Node {node.id}: {code(text)}")
        yield note(self._kind(node))
        yield "<h3>Value</h3>" + self._array("value", node.value)
        yield "<h3>Adjoint</h3>" + self._adjoint(node)
        if node.operands:
            yield "<h3>Made of</h3>" + self._links(dict.fromkeys(node.operands))
        if node.id in self.users:
            yield "<h3>Used by</h3>" + self._links(self.users[node.id])
        yield self._arriving(node)
        outgoing = self.leaving.get(node.id)
        if outgoing:
            passed = "".join(
                element("div", self._passed_text(each), class_="pass", data_step=step)
                for step, each in outgoing
            )
            yield element("div", f"<h3>Passes back</h3>{passed}", data_step=outgoing[0][0])
        gradient = self.explanation.gradients.get(node.name or "") if node.op == "leaf" else None
        if gradient is not None:
            heading = element("h3", xml_text(f"d/d{node.name} by paths"))
            yield element(
                "div", heading + self.paths(gradient), data_step=self.reached.get(node.id, 0)
            )

    def _kind(self, node: ExplainedNode) -> str:
        own = {
            "leaf": "a leaf: given, and differentiated by",
            "frozen": "frozen: given, and held",
            "const": "a constant",
        }
        parts = [
            own.get(node.op) or (f"{node.op}: {node.operation}" if node.operation else node.op)
        ]
        parts += [f"the result of {node.function}"] if node.function else []
        parts += [f"inside of {self.story.label(node.inside)}"] if node.inside is not None else []
        parts += [f"shape {'×'.join(map(str, node.shape))}" if node.shape else "one number"]
        if node.grad_fn:
            parts.append(
                f"PyTorch: {node.grad_fn}"
                + (f", keeps {', '.join(node.saved)}" if node.saved else "")
            )
        return " · ".join(parts)

    def _adjoint(self, node: ExplainedNode) -> str:
        if node.adjoint is None:
            reasons = {"frozen": "it is held", "const": "a constant has no derivative"}
            return note(
                f"none: {reasons.get(node.op, 'no derivative is asked for through this node')}"
            )
        step = self.reached.get(node.id, 0)
        later = element(
            "p",
            f"comes with step {step}, in the backward pass",
            class_="note",
            data_until=step,
            hidden="",
        )
        return later + element("div", self._array("adjoint", node.adjoint), data_step=step)

    def _links(self, ids: Iterable[int]) -> str:
        return _fold([*map(self.link, ids)], "node", ", ")

    def _arriving(self, node: ExplainedNode) -> str:
        if node.id == self.explanation.result and self.explanation.backward:
            return element(
                "div",
                "<h3>Arrives</h3><p>the seed: this is the result</p>",
                data_step=self.reached[node.id],
            )
        parts = self.arriving.get(node.id)
        if not parts:
            return ""
        heading, total, many = "Arrives", "", len(parts) > 1
        if many:
            heading = f"Arrives: {len(parts)} contributions, added"
            total = element(
                "p",
                f"together {code(self.story.number(node.adjoint))}",
                data_step=self.reached[node.id],
            )
        rows = [
            element(
                "div",
                f"{self._from(each)}{f' ({number} of {len(parts)})' * many}",
                class_="pass",
                data_step=step,
            )
            for number, (step, each) in enumerate(parts, 1)
        ]
        return element(
            "div", f"<h3>{heading}</h3>{total}{_fold(rows, 'contribution')}", data_step=parts[0][0]
        )

    def _from(self, each: Contribution) -> str:
        return f"from {self.link(each.node)} {code(self.story.number(each.passed))}"

    def _passed_text(self, each: Contribution) -> str:
        parts = [f"to {self.link(each.operand)}"]
        if each.partial is not None:
            local = self.story.number(each.local)
            value = "" if local == each.partial else f" = {code(local)}"
            parts.append(element("p", f"local derivative {code(each.partial)}{value}"))
        elif each.rule is not None:
            parts.append(element("p", f"rule {code(each.rule)}"))
        parts.append(element("p", code(self.story.product(each))))
        return "".join(parts) + (note(each.summed) if each.summed else "")

    def paths(self, gradient: ExplainedGradient) -> str:
        """A gradient by its paths, the largest first, each with its share; choosing one shows it in
        the graph.
        """
        if not gradient.paths:
            return "<p>no path leads from it to the result</p>"
        largest = size(gradient.paths[0].contribution)
        found = []
        for path in gradient.paths:
            share = size(path.contribution) / largest if 0 < largest < math.inf else 0.0
            bar = element("i", style=f"width:{max(2, min(100, round(100 * share)))}%")
            route = element(
                "span", xml_text(f"by {self.explanation.route(path.nodes, 30)}"), class_="note"
            )
            content = bar + code(self.story.number(path.contribution)) + route
            nodes = " ".join(map(str, path.nodes))
            found.append(
                element(
                    "button",
                    content,
                    type="button",
                    class_="path",
                    data_path=nodes,
                    aria_pressed="false",
                )
            )
        if gradient.left_out:
            rest = self.story.number(gradient.rest)
            found.append(
                note(f"and {count_text(gradient.left_out)} smaller paths, together {rest}")
            )
        elif np.any(np.asarray(gradient.rest) != 0):
            found.append(note(f"{self.story.number(gradient.rest)} is rounding"))
        return "".join(found)

    def _array(self, what: str, value: Any) -> str:
        """Numbers in a line; an array whose numbers have room on the page also as a picture, with
        all of them below it.
        """
        line = element("p", code(self.story.number(value)))
        array = np.asarray(0 if isinstance(value, tuple) else value)
        if not 1 < array.size <= self.most:
            return line
        cells, finite = _cells(array.astype(float)), array[np.isfinite(array)]
        ends = (
            f"from {float(finite.min()):.3g} to {float(finite.max()):.3g}"
            if finite.size
            else "without a finite entry"
        )
        label = f"Heat map of the {what}, {'×'.join(map(str, array.shape))}, {ends}"
        side = max(2, min(16, 320 // cells.shape[1]))
        picture = (
            f'<img alt="" width="{side * cells.shape[1]}" height="{side * cells.shape[0]}" '
            f'src="{_picture(cells)}">'
        )
        numbers = element(
            "details",
            "<summary>All its numbers</summary>" + element("pre", xml_text(encode(plain(array)))),
        )
        return line + element(
            "figure",
            picture + element("figcaption", xml_text(label), class_="note") + numbers,
            class_="heat",
        )


def _fold(parts: Sequence[str], word: str, separator: str = "") -> str:
    """The first of many, and the rest where it is asked for."""
    if len(parts) <= _LISTED + 3:
        return separator.join(parts)
    rest = parts[_LISTED:]
    more = f"<summary>and {len(rest):,} more {word}s</summary>{separator.join(rest)}"
    return separator.join(parts[:_LISTED]) + element("details", more)


def _cells(array: np.ndarray) -> np.ndarray:
    """An array as a matrix: the last axis by all others, or a vector in rows."""
    if array.ndim == 1:
        columns = min(array.size, max(_ROWS, array.size // _ROWS))
        array = np.pad(array, (0, -array.size % columns)).reshape(-1, columns)
    return array.reshape(-1, array.shape[-1])


def _picture(cells: np.ndarray) -> str:
    """A PNG as an address: orange above zero, blue below it, the stronger the larger, and what is
    not finite violet.
    """
    finite = np.isfinite(cells)
    largest = np.abs(cells[finite]).max(initial=0.0) or 1.0
    pixels = np.empty((*cells.shape, 4), np.uint8)
    pixels[..., :3] = np.select(
        [~finite[..., None], cells[..., None] < 0], [_NOT_FINITE, _BELOW], _ABOVE
    )
    pixels[..., 3] = 255 * np.where(finite, np.abs(np.where(finite, cells, 0.0)) / largest, 1.0)
    header = struct.pack(">2I5B", cells.shape[1], cells.shape[0], 8, 6, 0, 0, 0)
    lines = b"".join(b"\0" + row.tobytes() for row in pixels)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(lines)), (b"IEND", b"")]
    data = b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks
    )
    return "data:image/png;base64," + b64encode(b"\x89PNG\r\n\x1a\n" + data).decode()


# -- The page ------------------------------------------------------------------------------------


MOST_NODES = 1_500  # up to which each is on the page; of more there is the text
_NAMES = 12  # gradients that stand above the graph
_READING = {
    "Forward": "Each node is a part of the text. It is computed from its operands, once they are "
    "known.",
    "Adjoint": "The derivative of the result by a node: how much the result changes, per unit, "
    "when the node's value does. Adjoints come "
    "backward, from the result to the names.",
    "Local derivative": "How a node changes with one operand, all else held. A node passes to "
    "each operand its adjoint times that: this "
    "is the chain rule.",
    "Contributions": "A node that is used several times gets a contribution from each use, and "
    "its adjoint is their sum.",
    "Gradient": "The adjoint of a name, when all its contributions have arrived. It is the sum "
    "over all paths from the name to the result.",
}


def page(explanations: Sequence[ShownExplanation], digits: int | None = None) -> str:
    """One page of all explanations: whole HTML, in which every text of the user's is text."""
    sections = [
        "".join(_section(each, place, digits or DIGITS)) for place, each in enumerate(explanations)
    ]
    before, between, after = _asset("page.html").split("{{}}")
    content = [
        before, _chooser(explanations) if len(explanations) > 1 else "", between,
        *(element("section", text, class_="query", id=f"q{place}") for place, text in enumerate(sections)), after,
    ]  # fmt: skip
    return html_page(_title(explanations), _asset("page.css"), content, _asset("page.js"))


def _title(explanations: Sequence[Explanation]) -> str:
    first = one_line(explanations[0].record.expr, 60) if explanations else "nothing"
    more = f" and {len(explanations) - 1} more" if len(explanations) > 1 else ""
    return f"{first}{more}, explained by gradcli"


def _chooser(explanations: Sequence[Explanation]) -> str:
    texts = (
        xml_text(f"{place}: {one_line(each.record.expr, 70)}")
        for place, each in enumerate(explanations, 1)
    )
    options = "".join(
        element("option", text, value=f"q{place}") for place, text in enumerate(texts)
    )
    return element("select", options, id="query", aria_label="Query")


@cache
def _asset(name: str) -> str:
    return files("gradcli.report.page").joinpath(name).read_text("utf-8").rstrip("\n")


# -- The section of one query --------------------------------------------------------------------


def _section(explanation: ShownExplanation, place: int, digits: int) -> Iterator[str]:
    if explanation.error is not None:
        error = element("pre", xml_text(explanation.error_text().rstrip("\n")), class_="error")
        yield _panel("This has no result", error)
        return
    is_played = 0 < len(explanation.nodes) <= MOST_NODES
    source = _source(explanation) if is_played else code(one_line(explanation.record.expr, 2000))
    yield _panel(
        "",
        element("pre", source, class_="source", tabindex=0, aria_label="Source text"),
        *_facts(explanation, digits),
    )
    if not is_played:
        yield _panel("", element("pre", xml_text(text_of(explanation.lines(digits)).rstrip("\n"))))
        return
    yield from _stories(explanation, place)
    details = Details(Story(explanation, digits), f"q{place}")
    picture = element("div", svg(explanation, embedded=True), class_="picture")
    fit = element(
        "button",
        "Fit",
        type="button",
        class_="fit",
        title="The whole graph, or as large as it is drawn",
    )
    yield _panel("Graph", fit, picture)
    gradients = "".join(
        element("h3", xml_text(f"d/d{name} = {short(each.value, digits)}")) + details.paths(each)
        for name, each in explanation.gradients.items()
    )
    if gradients:
        yield _panel("Gradient: by paths from the name to the result, the largest first", gradients)
    yield from _derivations(explanation)
    reading = "".join(f"<dt>{word}</dt><dd>{text}</dd>" for word, text in _READING.items())
    yield _folded_panel("How to read this", element("dl", reading))
    steps = "".join(
        element(
            "li", f"<b>{PHASES[step.phase]}</b> {element('span', xml_text(step.words))} "
            f"{code(step.equation) if step.equation else ''}",
            class_=step.phase, data_focus=" ".join(map(str, step.focus)),
        )
        for step in details.story.steps
    )  # fmt: skip
    yield _folded_panel("All steps", element("ol", steps, class_="steps", start=0))
    heading = element(
        "p",
        "".join(map("<span>{}</span>".format, ("node", "text", "operation", "value", "adjoint"))),
        class_="head",
    )
    yield _folded_panel(
        f"All {_count_words(len(explanation.nodes), 'node')}",
        heading,
        *details.nodes(),
        is_open=len(explanation.nodes) <= 40,
    )


def _panel(title: str, *content: str) -> str:
    heading = element("h2", xml_text(title)) if title else ""
    return element("section", heading + "".join(content), class_="panel")


def _folded_panel(title: str, *content: str, is_open: bool = False) -> str:
    summary = element("summary", xml_text(title))
    return element(
        "details", summary + "".join(content), class_="panel", open="" if is_open else None
    )


def _count_words(count: int, word: str) -> str:
    return f"{count:,} {word}{'s' * (count != 1)}"


def _source(explanation: Explanation) -> str:
    """The text, in which the span of each node is an element; what crosses another span is left
    out.
    """
    owners = (
        (explanation.node(node.inside or node.id).span, node.id) for node in explanation.nodes
    )
    spans = group_pairs((span, id) for span, id in owners if span is not None)
    text = explanation.record.expr if explanation.source is None else explanation.source.text
    found: list[str] = []
    place, ends = 0, [len(text)]
    for (begin, end), ids in sorted(spans.items(), key=lambda item: (item[0][0], -item[0][1])):
        while ends[-1] <= begin and len(ends) > 1:
            found += [xml_text(text[place : ends[-1]]), "</span>"]
            place = ends.pop()
        if end <= ends[-1]:
            found += [
                xml_text(text[place:begin]),
                f'<span class="part" data-nodes="{" ".join(map(str, ids))}">',
            ]
            place = begin
            ends.append(end)
    for end in reversed(ends):
        found += [xml_text(text[place:end]), "</span>"]
        place = end
    return "".join(found[:-1])


def _facts(explanation: Explanation, digits: int) -> Iterator[str]:
    """The value, the first gradients, and the lines of the record beside its numbers, in the words
    of every sheet.
    """
    record = explanation.record
    facts = [("value", code(short(record.value, digits)), "")] if record.value is not None else []
    facts += [
        (f"d/d{name}", code(short(each.value, digits)), "")
        for name, each in [*explanation.gradients.items()][:_NAMES]
    ]
    lines = [line for line in record.lines(digits) if isinstance(line, Line)]
    facts += [
        (str(line.label), xml_text(line.text), line.kind)
        for line in lines
        if line.label in ("check", "read as", "dialect")
    ]
    rows = (
        f"<div><dt>{xml_text(name)}</dt> {element('dd', text, class_=kind)}</div>"
        for name, text, kind in facts
    )
    yield element("dl", "".join(rows), class_="facts")
    warnings = [*map(printable, record.warnings)]
    yield from (
        element("p", xml_text(f"Warning: {warning}"), class_="warning") for warning in warnings
    )
    yield from (
        note(line.text) for line in lines if line.label == "note" and line.text not in warnings
    )


def _stories(explanation: Explanation, place: int) -> Iterator[str]:
    for why in explanation.why:
        first, *rest = why.lines
        content = [element("p", element("strong", xml_text(first))), *map(paragraph, rest)]
        content += [f"<p>Write {code(why.repair)}</p>"] if why.repair else []
        if why.node:
            content.append(
                f'<p><a class="link" href="#q{place}n{why.node}">Show node {why.node}</a></p>'
            )
        yield _panel(f"Why {why.of} is what it is", *content)


def _derivations(explanation: Explanation) -> Iterator[str]:
    def row(step: Step) -> str:
        of = f" of {step.of}" if step.of else ""
        return element("li", element("span", xml_text(step.rule + of)) + code(step.formula))

    for name, steps in explanation.steps.items():
        yield _panel(
            f"d/d{name}, rule by rule", element("ol", "".join(map(row, steps)), class_="derived")
        )
