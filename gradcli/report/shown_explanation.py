"""Explanations in every form, made from a sheet to read.

The sheet has the forward pass, the backward pass and the parts of each gradient.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gradcli.inert import html_text
from gradcli.report.derivative_record import step_lines, steps_in_html, steps_in_latex
from gradcli.report.explanation import (
    DIGITS,
    LABEL,
    Contribution,
    ExplainedGradient,
    ExplainedNode,
    Explanation,
    count_text,
    round_number,
)
from gradcli.report.pictures import svg
from gradcli.report.records import Line, Part, Table, text_of
from gradcli.report.results import GradientRecord
from gradcli.texts import display_width, pad, printable

_MOST = 120  # most nodes that are listed one by one
_MOST_NODES = 150  # most nodes of a graph that is drawn next to the text


class ShownExplanation(Explanation):
    """An explanation that can be shown: as lines, in LaTeX, and as notebooks show it."""

    __slots__ = ()
    record: GradientRecord[Any]

    def __str__(self) -> str:
        return text_of(self.lines())

    def lines(self, digits: int | None = None, width: int | None = None) -> list[Line | Table]:
        """Return everything that is shown of it."""
        return Sheet(self, digits or DIGITS).lines()

    def to_latex(self, digits: int | None = None) -> str:
        """Return the derivation, or else the value and gradient, as a part of a LaTeX document."""
        return steps_in_latex(self.steps, self.record.expr) or self.record.to_latex(digits)

    def to_html(self) -> str:
        """Return the graph, unless it is large, and the same in words."""
        is_drawn = 0 < len(self.nodes) <= _MOST_NODES
        picture = f'<div class="picture">{svg(self, embedded=True)}</div>' if is_drawn else ""
        steps = "".join(
            f"<p>{html_text(heading)}</p>{steps_in_html(found)}"
            for heading, found in ([] if self.why else self.derivations)
        )
        lines = "" if steps else f"<pre>{html_text(text_of(self.lines()))}</pre>"
        return f"<div>{picture}{steps}{lines}</div>"

    _repr_html_ = to_html


@dataclass
class Sheet:
    """Lines that are shown of an explanation without an error."""

    explanation: Explanation
    digits: int

    def __post_init__(self) -> None:
        self.arrived = self.explanation.contributions_by_node()
        self.leaving = self.explanation.leaving()
        self.rounded = False

    def lines(self) -> list[Line | Table]:
        explanation = self.explanation
        if explanation.why:
            stories = [line for each in explanation.why for line in _story(each.lines)]
            return [*stories, *self._steps()]
        lines: list[Line | Table] = [
            line
            for line in explanation.record.lines()
            if isinstance(line, Line) and line.kind == "title"
        ]
        if explanation.steps:
            lines += self._steps()
        elif explanation.nodes:  # an assert has no nodes
            if len(explanation.nodes) <= _MOST:
                lines += [*self._forward(), *self._backward()]
            else:
                lines += _heading_lines(
                    f"{len(explanation.nodes):,} nodes", ": --format json lists them all"
                )
            lines += self.gradient_lines()
        facts = self.facts()
        lines += [_line()] if facts and explanation.record.mode != "assert" else []
        note = _line(f"  numbers are rounded to {self.digits} digits; --digits 17 shows all")
        return [*lines, *facts, *([note] if self.rounded else [])]

    def _steps(self) -> Iterator[Line]:
        for heading, steps in self.explanation.derivations:
            yield from step_lines(heading, steps)

    def _forward(self) -> Iterator[Line]:
        yield from _heading_lines("forward", "  every node after its operands")
        nodes = self.explanation.nodes
        rows = [
            (
                str(node.id),
                self.explanation.definition(node.id),
                _operation(node),
                self._number(node.value).text,
            )
            for node in nodes
        ]
        ids, *columns = [max(map(display_width, column)) for column in zip(*rows, strict=True)]
        titles, operations, values = map(min, columns, (LABEL, 24, 30))
        for node, (id, title, operation, value) in zip(nodes, rows, strict=True):
            parts = [
                Part(f"  {id:>{ids}}  ", "id"), Part(f"{pad(title, titles)}  ", _role(node.op)), Part(f"{pad(operation, operations)}  "),
                Part(f"{pad(value, values)}  ", "number"), Part(recorded_line(node)),
            ]  # fmt: skip
            yield Line(None, parts, "row")

    def _backward(self) -> Iterator[Line]:
        if not self.explanation.backward:
            return
        yield from _heading_lines(
            "backward", "  the adjoint of a node is the derivative of the result by it"
        )
        ends = [id for id in sorted(self.arrived) if id not in self.leaving]
        for id in [*self.leaving, *ends]:
            yield from self.passed_lines(self.explanation.node(id))

    def passed_lines(self, node: ExplainedNode) -> Iterator[Line]:
        """Lines of what arrives at a node, and of what it passes back."""
        yield from self._adjoint(node, self.arrived.get(node.id, []))
        yield from map(self._passed_line, self.leaving.get(node.id, ()))

    def _adjoint(self, node: ExplainedNode, arrived: list[Contribution]) -> Iterator[Line]:
        several, adjoint, seed = len(arrived) > 1, self._number(node.adjoint), ""
        if node.id == self.explanation.result:
            several = False
            seed = (
                ", the seed: ones"
                if node.shape and not self.explanation.record.seed_given
                else ", the seed"
            )
        has = f"  has {len(arrived)} contributions, together " if several else "  has "
        yield _line(Part(f"  {node.id}  ", "id"), self._node(node.id), has, adjoint, seed)
        for each in arrived if several else ():
            yield _line("       ", self._number(each.passed), f" from {each.node}")

    def _passed_line(self, part: Contribution) -> Line:
        line: list[Part | str] = [Part(f"     to {part.operand}  ", "id"), self._node(part.operand)]
        if part.partial is not None:
            partial, local = printable(part.partial), self._number(part.local)
            line += ["  times ", Part(partial, "formula")]
            line += [] if partial in (local.text, "1", "-1") else [" (", local, ")"]
        elif part.rule is not None:
            line += ["  ", Part(printable(part.rule), "formula")]
        line += [f", {part.summed}"] if part.summed is not None else []
        return _line(*line, " gives ", self._number(part.passed))

    def gradient_lines(self) -> Iterator[Line]:
        """Lines of the gradients, each with its paths."""
        gradients = self.explanation.gradients
        if not gradients:
            return
        yield from _heading_lines(
            "gradient", "  by paths from the name to the result, the largest first"
        )
        for name, gradient in gradients.items():
            yield _line("  ", Part(printable(name), "name"), "  ", self._number(gradient.value))
            for path in gradient.paths:
                yield _line(
                    "     ",
                    self._number(path.contribution),
                    " by ",
                    Part(self.explanation.route(path.nodes), "text"),
                )
            yield from self._rest(gradient)

    def _rest(self, gradient: ExplainedGradient) -> Iterator[Line]:
        if gradient.left_out:
            yield _line(
                f"     and {count_text(gradient.left_out)} smaller paths, together ",
                self._number(gradient.rest),
            )
        elif not gradient.paths:
            yield _line("     no path leads from it to the result")

    def facts(self) -> list[Line]:
        """Return the lines of the record beside its numbers."""
        has_value = (
            self.explanation.record.uncertainty is not None
            or self.explanation.record.mode == "assert"
        )
        wanted = {"read as", "dialect", "check", "note", *(["value"] if has_value else [])}
        return [
            Line(line.label, line.parts[:1], line.kind if line.label != "value" else "fact")
            for line in self.explanation.record.lines()
            if isinstance(line, Line) and line.label in wanted
        ]

    def _node(self, id: int) -> Part:
        return Part(self.explanation.label(id), _role(self.explanation.node(id).op))

    def _number(self, value: Any) -> Part:
        text, lost = round_number(value, self.digits)
        self.rounded |= lost
        return Part(text, "number")


def _role(kind: str) -> str:
    return "name" if kind == "leaf" else "text"


def _line(*parts: Part | str) -> Line:
    return Line(None, [Part(part) if isinstance(part, str) else part for part in parts])


def _heading_lines(heading: str, *further: str) -> list[Line]:
    """Return an empty line and a heading."""
    return [_line(), _line(Part(heading, "heading"), *further)]


def _operation(node: ExplainedNode) -> str:
    if not node.operands:
        return node.op
    made = f"{node.op} {', '.join(map(str, node.operands))}"
    return (
        f"{node.function}: {made}"
        if node.function is not None and node.function != node.op
        else made
    )


def recorded_line(node: ExplainedNode) -> str:
    keeps = f", keeps {', '.join(node.saved)}" if node.saved else ""
    return f"{node.grad_fn}{keeps}" if node.grad_fn is not None else ""


def _story(lines: Sequence[str]) -> list[Line]:
    first, *more = map(printable, lines)
    return [_line(Part(first, "heading")), *(_line(Part(f"  {line}", "text")) for line in more)]
