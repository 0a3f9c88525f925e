"""An explanation as a sheet to read: the forward pass, the backward pass and what each gradient is made of, as lines of labelled parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any

import numpy as np

from gradcli.inert import display_width, ends_of, padded, printable
from gradcli.report.explanation import Contribution, ExplainedGradient, ExplainedNode, Explanation, Path, Why
from gradcli.report.lines import Line, Part, Table
from gradcli.report.number_text import rounded
from gradcli.report.pictures.folding import drawing

Parts = Sequence[Part | str]

_ROOM = 78  # columns of a formula with its rule
_ENDLESS = 10_000  # columns of a file
_LABEL = 36  # columns of a node's text
_NAMES = 40  # gradients that are listed
_MOST = 120  # nodes that are listed one by one


def explanation_lines(explanation: Explanation, digits: int, width: int | None = None) -> list[Line | Table]:
    """Everything that is shown of an explanation without an error, a formula with its rule in a line where it has room."""
    return _Sheet(explanation, digits, width or _ENDLESS).lines()


class _Sheet:
    def __init__(self, explanation: Explanation, digits: int, width: int) -> None:
        self.explanation, self.digits, self.width = explanation, digits, width
        self.rounded = False

    def lines(self) -> list[Line | Table]:
        explanation = self.explanation
        if explanation.why:
            return [line for each in explanation.why for line in _story(each)]
        record = [line for line in explanation.record.lines() if isinstance(line, Line)]
        lines: list[Line | Table] = [line for line in record if line.kind == "title"]
        if explanation.steps:
            lines += map(_unlabelled, self._steps())
        elif explanation.nodes:  # else an assert
            few = len(explanation.nodes) <= _MOST
            body = [*self._forward(), *self._backward()] if few else self._folded()
            lines += map(_unlabelled, [*body, *self._gradients()])
        facts = self._facts(record)
        lines += [_unlabelled([])] if facts and explanation.record.mode != "assert" else []
        note = f"  numbers are rounded to {self.digits} digits; --digits 17 shows all"
        return [*lines, *facts, *([_unlabelled([Part(note)])] if self.rounded else [])]

    def _steps(self) -> Iterator[Parts]:
        """Each formula with its rule beside it, or above it where a line has no room for both."""
        for name, steps in self.explanation.steps.items():
            yield []
            yield [Part(f"d/d{printable(name)}", "name")]
            rules, formulas = [printable(step.rule) for step in steps], [printable(step.formula) for step in steps]
            widest = max(map(display_width, rules))
            room = max((width for text in formulas if (width := display_width(text)) + widest + 8 <= min(self.width, _ROOM)), default=0)
            for rule, formula in zip(rules, formulas, strict=True):
                if display_width(formula) <= room:
                    yield ["  = ", Part(padded(formula, room), "formula"), f"   {rule}"]
                else:
                    yield [f"    {rule}:"]
                    yield ["  = ", Part(formula, "formula")]

    def _folded(self) -> Iterator[Parts]:
        """Many nodes as fewer: by function, call and line."""
        drawn = drawing(self.explanation, _MOST)
        count = f"  {drawn.nodes:,} nodes as {len(drawn.boxes)}: --format json lists them all" if drawn.is_folded else ""
        yield []
        yield [Part("forward and backward", "heading"), count]
        yield from _aligned(
            [
                (str(box.key), box.role == "leaf", box.title, box.detail, box.value, f"adjoint {box.adjoint}" if box.adjoint else "")
                for box in drawn.boxes
            ],
            len(str(drawn.nodes)),
            self.width,
        )

    def _forward(self) -> Iterator[Parts]:
        nodes = self.explanation.nodes
        yield []
        yield [Part("forward", "heading"), "  every node after its operands"]
        yield from _aligned(
            [
                (str(node.id), node.op == "leaf", self._definition(node), _operation(node), self._number(node.value).text, _recorded(node))
                for node in nodes
            ],
            len(str(len(nodes))),
            self.width,
        )

    def _label(self, node: ExplainedNode) -> str:
        """Return what a node is called: its name, or its text, on one line and cut where it is long; of a function's body with the call."""
        text, source = node.text or f"· {node.op}", self.explanation.source
        if node.call is not None and source is not None:  # names in a body are the function's own
            text = f"{text} in {source.text[slice(*node.call)]}"
        return ends_of(node.name or text, _LABEL)

    def _definition(self, node: ExplainedNode) -> str:
        """The same, with what a name stands for."""
        named = node.name is not None and node.text is not None and node.name != node.text
        return ends_of(f"{node.name} = {node.text}", _LABEL) if named else self._label(node)

    def _backward(self) -> Iterator[Parts]:
        if not self.explanation.backward:
            return
        yield []
        yield [Part("backward", "heading"), "  the adjoint of a node is the derivative of the result by it"]
        arrived: dict[int, list[Contribution]] = {}
        leaving: dict[int, list[Contribution]] = {}
        for each in self.explanation.backward:
            arrived.setdefault(each.operand, []).append(each)
            leaving.setdefault(each.node, []).append(each)
        for id, parts in leaving.items():
            yield from self._adjoint(self.explanation.node(id), arrived.get(id, []))
            for part in parts:
                yield self._passed(part)
        for node in self.explanation.nodes:
            if node.id not in leaving and node.id in arrived:
                yield from self._adjoint(node, arrived[node.id])

    def _adjoint(self, node: ExplainedNode, arrived: list[Contribution]) -> Iterator[Parts]:
        label = self._node(node)
        adjoint = self._number(node.adjoint)
        if node.id == self.explanation.result:
            seed = "the seed" if self.explanation.record.seed_given else "the seed: ones" if node.shape else "the seed"
            yield [Part(f"  {node.id}  ", "id"), label, "  has ", adjoint, f", {seed}"]
        elif len(arrived) > 1:
            yield [Part(f"  {node.id}  ", "id"), label, f"  has {len(arrived)} contributions, together ", adjoint]
            for each in arrived:
                yield ["       ", self._number(each.passed), f" from {each.node}"]
        else:
            yield [Part(f"  {node.id}  ", "id"), label, "  has ", adjoint]

    def _passed(self, part: Contribution) -> Parts:
        operand = self.explanation.node(part.operand)
        line: list[Part | str] = [Part(f"     to {part.operand}  ", "id"), self._node(operand)]
        if part.partial is not None:
            partial = printable(part.partial)
            local = self._number(part.local)
            line += ["  times ", Part(partial, "formula")]
            line += [] if partial in (local.text, "1", "-1") else [" (", local, ")"]
        elif part.rule is not None:
            line += ["  ", Part(printable(part.rule), "formula")]
        line += [f", {part.summed}"] if part.summed is not None else []
        return [*line, " gives ", self._number(part.passed)]

    def _gradients(self) -> Iterator[Parts]:
        if not self.explanation.gradients:
            return
        yield []
        yield [Part("gradient", "heading"), "  by paths from the name to the result, the largest first"]
        gradients = self.explanation.gradients
        for name, gradient in islice(gradients.items(), _NAMES):
            yield ["  ", Part(printable(name), "name"), "  ", self._number(gradient.value)]
            for path in gradient.paths:
                yield self._path(path)
            yield from self._rest(gradient)
        if len(gradients) > _NAMES:
            yield [f"  and {len(gradients) - _NAMES:,} more names: --format json lists them"]

    def _path(self, path: Path) -> Parts:
        nodes = path.nodes
        ends = nodes if len(nodes) <= 6 else (*nodes[:3], *nodes[-2:])
        steps = [self._label(self.explanation.node(id)) for id in ends]
        if len(nodes) > 6:
            steps.insert(3, f"… {len(nodes) - 5:,} more …")
        return ["     ", self._number(path.contribution), " by ", Part(" → ".join(steps), "text")]

    def _rest(self, gradient: ExplainedGradient) -> Iterator[Parts]:
        if gradient.left_out:
            more = f"     and {_count(gradient.left_out)} smaller paths, together "
            yield [Part(more), self._number(gradient.rest)]
        elif gradient.paths and np.any(np.asarray(gradient.rest) != 0) and np.all(np.isfinite(gradient.rest)):
            yield ["     ", self._number(gradient.rest), " is rounding"]
        elif not gradient.paths:
            yield ["     no path leads from it to the result"]

    def _facts(self, record: list[Line]) -> list[Line]:
        """Return the lines of the record beside its numbers."""
        has_value = self.explanation.record.uncertainty is not None or self.explanation.record.mode == "assert"
        wanted = {"read as", "dialect", "check", "note", *(["value"] if has_value else [])}
        return [Line(line.label, line.parts[:1], line.kind if line.label != "value" else "fact") for line in record if line.label in wanted]

    def _node(self, node: ExplainedNode) -> Part:
        return Part(self._label(node), "name" if node.op == "leaf" else "text")

    def _number(self, value: Any) -> Part:
        text, lost = rounded(value, self.digits)
        self.rounded |= lost
        return Part(text, "number")


def _unlabelled(parts: Parts) -> Line:
    return Line(None, [Part(part) if isinstance(part, str) else part for part in parts])


def _aligned(rows: Sequence[tuple[str, bool, str, str, str, str]], ids: int, width: int) -> Iterator[Parts]:
    """Nodes below one another: id, whether it is a leaf, title, operation, value, and what else is known."""
    columns = [max(map(display_width, column), default=0) for column in [*zip(*rows, strict=True)][2:5]]
    titles, operations, values = map(min, columns, (_LABEL, 24, 30)) if sum(columns) < width - ids - 10 else (0, 0, 0)
    for id, is_leaf, title, operation, value, further in rows:
        name = Part(padded(title, titles) + "  ", "name" if is_leaf else "text")
        yield [
            Part(f"  {id:>{ids}}  ", "id"),
            name,
            padded(operation, operations) + "  ",
            Part(padded(value, values) + "  ", "number"),
            further,
        ]


def _operation(node: ExplainedNode) -> str:
    if not node.operands:
        return node.op
    made = f"{node.op} {', '.join(map(str, node.operands))}"
    return f"{node.function}: {made}" if node.function is not None and node.function != node.op else made


def _recorded(node: ExplainedNode) -> str:
    keeps = f", keeps {', '.join(node.saved)}" if node.saved else ""
    return f"{node.grad_fn}{keeps}" if node.grad_fn is not None else ""


def _story(why: Why) -> list[Line]:
    first, *more = why.lines
    return [_unlabelled([Part(printable(first), "heading")]), *(_unlabelled([Part(f"  {printable(line)}", "text")]) for line in more)]


def _count(number: int) -> str:
    """A count of paths, which grows exponentially with the depth of a graph."""
    return f"{number:,}" if number < 10**15 else f"about 10**{Decimal(number).adjusted()}"
