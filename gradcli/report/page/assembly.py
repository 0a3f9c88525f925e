"""The page of explanations: one file of HTML with a section for each query, which can be read as it is, and a script that plays it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

from gradcli.inert import one_line, printable, xml_text
from gradcli.report.documents import html_page
from gradcli.report.explanation import DIGITS, Explanation, Step
from gradcli.report.lines import Line, text_of
from gradcli.report.number_text import short
from gradcli.report.page.details import PHASES, Details, Story, code, element, note, paragraph
from gradcli.report.shown_explanation import ShownExplanation

MOST_NODES = 1_500  # up to which each is on the page; of more there is the text
_NAMES = 12  # gradients that stand above the graph
_READING = {
    "Forward": "Each node is a part of the text. It is computed from its operands, once they are known.",
    "Adjoint": "The derivative of the result by a node: how much the result changes, per unit, when the node's value does. Adjoints come "
    "backward, from the result to the names.",
    "Local derivative": "How a node changes with one operand, all else held. A node passes to each operand its adjoint times that: this "
    "is the chain rule.",
    "Contributions": "A node that is used several times gets a contribution from each use, and its adjoint is their sum.",
    "Gradient": "The adjoint of a name, when all its contributions have arrived. It is the sum over all paths from the name to the result.",
}


def page(explanations: Sequence[ShownExplanation], digits: int | None = None) -> str:
    """One page of all explanations: whole HTML, in which every text of the user's is text."""
    sections = ["".join(_section(each, place, digits or DIGITS)) for place, each in enumerate(explanations)]
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
    texts = (xml_text(f"{place}: {one_line(each.record.expr, 70)}") for place, each in enumerate(explanations, 1))
    options = "".join(element("option", text, value=f"q{place}") for place, text in enumerate(texts))
    return element("select", options, id="query", aria_label="Query")


@cache
def _asset(name: str) -> str:
    return files("gradcli.report.page").joinpath(name).read_text("utf-8").rstrip("\n")


# -- The section of one query ---------------------------------------------------------------------


def _section(explanation: ShownExplanation, place: int, digits: int) -> Iterator[str]:
    if explanation.error is not None:
        error = element("pre", xml_text(explanation.error_text().rstrip("\n")), class_="error")
        yield _panel("This has no result", error)
        return
    is_played = 0 < len(explanation.nodes) <= MOST_NODES
    source = _source(explanation) if is_played else code(one_line(explanation.record.expr, 2000))
    yield _panel("", element("pre", source, class_="source", tabindex=0, aria_label="Source text"), *_facts(explanation, digits))
    if not is_played:
        yield _panel("", element("pre", xml_text(text_of(explanation.lines(digits)).rstrip("\n"))))
        return
    yield from _stories(explanation, place)
    from gradcli.report.pictures import svg

    details = Details(Story(explanation, digits), f"q{place}")
    picture = element("div", svg(explanation, embedded=True), class_="picture")
    fit = element("button", "Fit", type="button", class_="fit", title="The whole graph, or as large as it is drawn")
    yield _panel("Graph", fit, picture)
    gradients = "".join(
        element("h3", xml_text(f"d/d{name} = {short(each.value, digits)}")) + details.paths(each)
        for name, each in explanation.gradients.items()
    )
    if gradients:
        yield _panel("Gradient: by paths from the name to the result, the largest first", gradients)
    yield from _derivations(explanation)
    reading = "".join(f"<dt>{word}</dt><dd>{text}</dd>" for word, text in _READING.items())
    yield _folded("How to read this", element("dl", reading))
    steps = "".join(
        element(
            "li", f"<b>{PHASES[step.phase]}</b> {element('span', xml_text(step.words))} {code(step.equation) if step.equation else ''}",
            class_=step.phase, data_focus=" ".join(map(str, step.focus)),
        )
        for step in details.story.steps
    )  # fmt: skip
    yield _folded("All steps", element("ol", steps, class_="steps", start=0))
    heading = element("p", "".join(map("<span>{}</span>".format, ("node", "text", "operation", "value", "adjoint"))), class_="head")
    yield _folded(f"All {_counted(len(explanation.nodes), 'node')}", heading, *details.nodes(), is_open=len(explanation.nodes) <= 40)


def _panel(title: str, *content: str) -> str:
    heading = element("h2", xml_text(title)) if title else ""
    return element("section", heading + "".join(content), class_="panel")


def _folded(title: str, *content: str, is_open: bool = False) -> str:
    summary = element("summary", xml_text(title))
    return element("details", summary + "".join(content), class_="panel", open="" if is_open else None)


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}{'s' * (count != 1)}"


def _source(explanation: Explanation) -> str:
    """The text, in which the span of each node is an element; what crosses another span is left out."""
    spans: dict[tuple[int, int], list[int]] = {}
    for node in explanation.nodes:
        owner = node if node.inside is None else explanation.node(node.inside)
        if owner.span is not None:
            spans.setdefault(owner.span, []).append(node.id)
    text = explanation.record.expr if explanation.source is None else explanation.source.text
    found: list[str] = []
    place, ends = 0, [len(text)]
    for (begin, end), ids in sorted(spans.items(), key=lambda item: (item[0][0], -item[0][1])):
        while ends[-1] <= begin and len(ends) > 1:
            found += [xml_text(text[place : ends[-1]]), "</span>"]
            place = ends.pop()
        if end <= ends[-1]:
            found += [xml_text(text[place:begin]), f'<span class="part" data-nodes="{" ".join(map(str, ids))}">']
            place = begin
            ends.append(end)
    for end in reversed(ends):
        found += [xml_text(text[place:end]), "</span>"]
        place = end
    return "".join(found[:-1])


def _facts(explanation: Explanation, digits: int) -> Iterator[str]:
    """The value, the first gradients, and the lines of the record beside its numbers, in the words of every sheet."""
    record = explanation.record
    facts = [("value", code(short(record.value, digits)), "")] if record.value is not None else []
    facts += [(f"d/d{name}", code(short(each.value, digits)), "") for name, each in [*explanation.gradients.items()][:_NAMES]]
    lines = [line for line in record.lines(digits) if isinstance(line, Line)]
    facts += [(str(line.label), xml_text(line.text), line.kind) for line in lines if line.label in ("check", "read as", "dialect")]
    rows = (f"<div><dt>{xml_text(name)}</dt> {element('dd', text, class_=kind)}</div>" for name, text, kind in facts)
    yield element("dl", "".join(rows), class_="facts")
    warnings = [*map(printable, record.warnings)]
    yield from (element("p", xml_text(f"Warning: {warning}"), class_="warning") for warning in warnings)
    yield from (note(line.text) for line in lines if line.label == "note" and line.text not in warnings)


def _stories(explanation: Explanation, place: int) -> Iterator[str]:
    for why in explanation.why:
        first, *rest = why.lines
        content = [element("p", element("strong", xml_text(first))), *map(paragraph, rest)]
        content += [f"<p>Write {code(why.repair)}</p>"] if why.repair else []
        if why.node:
            content.append(f'<p><a class="link" href="#q{place}n{why.node}">Show node {why.node}</a></p>')
        yield _panel(f"Why {why.of} is what it is", *content)


def _derivations(explanation: Explanation) -> Iterator[str]:
    def row(step: Step) -> str:
        of = f" of {step.of}" if step.of else ""
        return element("li", element("span", xml_text(step.rule + of)) + code(step.formula))

    for name, steps in explanation.steps.items():
        yield _panel(f"d/d{name}, rule by rule", element("ol", "".join(map(row, steps)), class_="derived"))
