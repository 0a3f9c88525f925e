"""Explanations: where every number of a value and its gradient comes from, as plain data, and as a sheet to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice
from typing import Any

import numpy as np

from gradcli.errors import GradcliError, Source
from gradcli.inert import display_width, ends_of, html_text, latex_text, padded, printable
from gradcli.report.data import Data, grouped, plain
from gradcli.report.lines import Line, Part, Table, latex_document, latex_in_notebook, rounded, text_of
from gradcli.report.pictures import drawing, svg
from gradcli.report.records import Failure, Record
from gradcli.report.results import GradientRecord

DIGITS = 6  # to which text rounds numbers
_LABEL = 36  # columns of a node's text

LARGEST = 1_000  # entries of an array that is written out; of a larger one there is a summary
_EXACT = 1 << 53  # whole numbers up to which every reader of JSON has them exactly

Span = tuple[int, int]  # of a text: begin and end, in characters
Value = np.ndarray | np.generic | tuple[Any, ...]  # of a node: numbers, or a tuple of them for an operation of several results


def summary(value: Any, most: int = LARGEST) -> Any:
    """Data as JSON has it, but of an array of many numbers its shape, range, norm, and how many are not finite."""
    if isinstance(value, tuple):
        return [summary(part, most) for part in value]
    if not isinstance(value, np.ndarray) or value.size <= most:
        return plain(value)
    finite = value[np.isfinite(value)] if value.dtype.kind == "f" else value
    with np.errstate(all="ignore"):
        ends = [float(finite.min()), float(finite.max())] if finite.size else [None, None]
        norm = float(np.linalg.norm(finite.astype(float).ravel()))
    return plain({"shape": value.shape, "min": ends[0], "max": ends[1], "norm": norm, "nonfinite": int(value.size - finite.size)})


class Summed(Data):
    """Data in whose JSON large arrays are summed up."""

    __slots__ = ()
    _plain = staticmethod(summary)


@dataclass(slots=True, eq=False, repr=False)
class ExplainedNode(Summed):
    """A node of the graph, with what came of it forward and backward.

    id         from 1, in the order of the forward pass: operands before their users
    op         the operation's name; "leaf" for a name with a value, "const" for a number of the text, "frozen" for a name that is held
    operation  what it does, in a few words: of the record's documentation
    name       of a leaf, or that the statement has which bound the node
    text       the source of the node's own subexpression; None inside of a built-in function
    span       where that stands in the explanation's source
    spelling   the operator or function of that text: ``+``, ``F.softmax``, ``.sum``
    operands   ids
    kind       "float", "int" or "bool"
    value      as the forward pass has it
    adjoint    the derivative of the seeded result by this node, in its shape; None where no gradient is asked
    grad_fn    what PyTorch calls the node of its graph; None for what it records nothing of
    saved      which operands (or "result") are kept for the backward pass, in PyTorch's words: "self", "other", "result", ...
    function   the built-in function whose result the node is, where that is made of several operations: "softmax"
    inside     the node that is that function's result, of those between its arguments and its result
    call       the span of the call, of a node of a user's function, whose text is the body's
    statement  the index of the line of the source that the node belongs to, from 0; None where the text has none
    """

    JSON = "id op name text span operands shape dtype=kind value adjoint grad_fn saved function? inside? call? statement?"

    id: int
    op: str
    operation: str = ""
    name: str | None = None
    text: str | None = None
    span: Span | None = None
    spelling: str | None = None
    operands: tuple[int, ...] = ()
    shape: tuple[Any, ...] = ()
    kind: str = "float"
    value: Any = None
    adjoint: Any = None
    grad_fn: str | None = None
    saved: tuple[str, ...] = ()
    function: str | None = None
    inside: int | None = None
    call: Span | None = None
    statement: int | None = None

    def _told(self) -> list[str]:
        return ["op", "name", "text", "operands", "value", "adjoint"]

    @property
    def label(self) -> str:
        """Return what the node is called among others: its name, its text, or its operation."""
        return self.name or self.text or self.op

    @property
    def is_definition(self) -> bool:
        """Tell whether a statement has bound a name to it."""
        return self.name is not None and self.text is not None and self.name != self.text


@dataclass(slots=True, eq=False, repr=False)
class Contribution(Summed):
    """Part that one node passes back to one of its operands: the adjoint that arrives times the local derivative.

    In formulas operands are called by their texts, and by "v" and their number where those are long or missing.

    node, operand  ids
    place          which operand it is, from 0
    partial        the local derivative as a formula, where the operation works entry by entry
    local          the local derivative as numbers, in the result's shape, where there is a partial
    passed         in the operand's shape
    summed         how it was summed to that shape, in words: "summed over axis 0, along which it was repeated"
    rule           what is passed back as a formula of the adjoint that arrives, which is called "adjoint" in it
    """

    JSON = "node operand place partial rule local contribution=passed summed?"

    node: int
    operand: int
    place: int
    partial: str | None
    local: Any
    passed: Any
    summed: str | None = None
    rule: str | None = None


@dataclass(slots=True, eq=False, repr=False)
class Path(Summed):
    """Part that a name's gradient has through one path: the ids from the leaf to the result, both included."""

    JSON = "nodes contribution"

    nodes: tuple[int, ...]
    contribution: Any


@dataclass(slots=True, eq=False, repr=False)
class ExplainedGradient(Summed):
    """A gradient, and the paths that it is the sum of.

    paths      the largest first, by the sum of magnitudes of their entries
    left_out   how many more there are
    rest       the gradient less the paths that are listed: what is left out, and rounding
    """

    JSON = "value paths paths_left_out rest"

    value: Any
    paths: list[Path]
    left_out: int = 0
    rest: Any = None

    @property
    def paths_left_out(self) -> int | str:
        """The number of paths that are left out, in digits where a float would not be exact."""
        return self.left_out if self.left_out < _EXACT else f"{Decimal(self.left_out):f}"


@dataclass(slots=True, eq=False, repr=False)
class Step(Data):
    """One line of a derivation: the rule by its usual name, and the whole derivative with ``d/dx(...)`` for what is still to do.

    of   of a side calculation: the text that is differentiated
    """

    JSON = "rule formula of? latex?"

    rule: str
    formula: str
    of: str | None = None
    latex: str | None = None


@dataclass(slots=True, eq=False, repr=False)
class Why(Summed):
    """The story of one number.

    of       "x", "x[2]" or "value"
    kind     "zero", "nonfinite", "large", "small", "imprecise" or "plain"
    lines    the answer first, then what it rests on
    node     where the reason is, and the operand towards which it acts, ids
    index    the entry
    repair   an expression that has a better number there
    """

    JSON = "of kind node operand index repair text"

    of: str
    kind: str
    lines: list[str]
    node: int | None = None
    operand: int | None = None
    index: tuple[int, ...] = ()
    repair: str | None = None

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass(slots=True, eq=False, repr=False)
class Explanation(Summed):
    """One query explained; without nodes where the record has an error, or nothing but steps was asked for.

    record    value, gradient, seed, warnings, verdict, error
    source    the text that spans count in: the expression, or the whole file
    nodes     in forward order, ``nodes[i].id == i + 1``
    backward  in the sweep's order
    result    the id of the result
    """

    JSON = (
        "schema id=record.id meta=record.meta? source=record.source expr=record.expr program? dialect=record.dialect? "
        "read_as=record.read_as? assert=holds? value=record.value dtype=record.dtype seed=record.seed uncertainty=record.uncertainty? "
        "result=result_or_none nodes backward gradients steps? why=stories? check=record.check warnings=record.warnings error"
    )

    record: Record
    source: Source | None = None
    nodes: list[ExplainedNode] = field(default_factory=list)
    backward: list[Contribution] = field(default_factory=list)
    gradients: dict[str, ExplainedGradient] = field(default_factory=dict)
    steps: dict[str, list[Step]] = field(default_factory=dict)
    why: list[Why] = field(default_factory=list)
    result: int = 0

    def _told(self) -> list[str]:
        return ["why", "steps", "gradients"]

    @property
    def error(self) -> Failure | None:
        return self.record.error

    @property
    def failed(self) -> bool:
        """True if the verdict is a mismatch; a story is told of wrong numbers, too."""
        return self.record.failed and not self.why

    def error_text(self) -> str:
        """The error as text."""
        return self.record.error_text()

    @property
    def program(self) -> str | None:
        """The whole text, where that is more than the expression."""
        text = self.record.expr if self.source is None else self.source.text
        return None if text == self.record.expr else text

    @property
    def holds(self) -> dict[str, bool | None] | None:
        """The outcome of an assert, as JSON has it."""
        return None if self.record.asserted is None else {"holds": self.record.asserted.holds}

    @property
    def result_or_none(self) -> int | None:
        """The id of the result, if there are nodes."""
        return self.result or None

    def node(self, id: int) -> ExplainedNode:
        return self.nodes[id - 1]

    def label(self, id: int, limit: int = _LABEL) -> str:
        """Return what a node is called: its name, or its text, on one line and cut where it is long; of a function's body with the call."""
        node = self.node(id)
        text = node.text or f"· {node.op}"
        if node.call is not None and self.source is not None:  # names in a body are the function's own
            text = f"{text} in {self.source.text[slice(*node.call)]}"
        return ends_of(node.name or text, limit)

    def route(self, nodes: Sequence[int], limit: int = _LABEL) -> str:
        """Return a path in words."""
        labels = [self.label(id, limit) for id in nodes]
        if len(labels) > 6:
            labels[3:-2] = [f"… {len(labels) - 5:,} more …"]
        return " → ".join(labels)

    def arrived(self) -> dict[int, list[Contribution]]:
        """Return what is passed back to each node."""
        return grouped((each.operand, each) for each in self.backward)

    def leaving(self) -> dict[int, list[Contribution]]:
        """Return what each node passes back, the nodes in the sweep's order."""
        return grouped((each.node, each) for each in self.backward)

    def users(self) -> dict[int, list[int]]:
        """Return the nodes that each node is an operand of."""
        return grouped((operand, node.id) for node in self.nodes for operand in dict.fromkeys(node.operands))

    @property
    def stories(self) -> Why | list[Why]:
        """A story, or a list of several."""
        return self.why[0] if len(self.why) == 1 else self.why

    def fail(self, error: GradcliError) -> Explanation:
        """The explanation, with an error in the place of everything."""
        self.record.fail(error)
        self.nodes, self.backward, self.gradients, self.steps, self.why, self.result = [], [], {}, {}, [], 0
        return self


def count_text(number: int) -> str:
    """A count of paths, which grows exponentially with the depth of a graph."""
    return f"{number:,}" if number < 10**15 else f"about 10**{Decimal(number).adjusted()}"


# -- The sheet: the forward pass, the backward pass, and what each gradient is made of -------------


_ROOM = 78  # columns of a formula with its rule
_ENDLESS = 10_000  # columns of a file
_NAMES = 40  # gradients that are listed
_MOST = 120  # nodes that are listed one by one
_MOST_NODES = 150  # of a graph that is drawn beside the text


class ShownExplanation(Explanation):
    """An explanation that can be shown: as lines, in LaTeX, and as notebooks show it."""

    __slots__ = ()
    record: GradientRecord[Any]

    def lines(self, digits: int | None = None, width: int | None = None) -> list[Line | Table]:
        """Return everything that is shown of it, a formula with its rule in a line where it has room."""
        return _Sheet(self, digits or DIGITS, width).lines()

    def to_latex(self, digits: int | None = None) -> str:
        """The derivation, or else the value and the gradient, as a part of a document in LaTeX."""
        if not self.steps:
            return self.record.to_latex(digits)
        text = ""
        for name, steps in self.steps.items():
            rows = [rf"  &= {step.latex} && \text{{{latex_text(step.rule)}}}" for step in steps if step.latex is not None]
            text += latex_document(f"{self.record.expr}, by {name}", rows)
        return text

    def to_html(self) -> str:
        """The graph, unless it is large, and the same in words."""
        is_drawn = 0 < len(self.nodes) <= _MOST_NODES
        picture = f'<div class="picture">{svg(self, embedded=True)}</div>' if is_drawn else ""
        return f"<div>{picture}<pre>{html_text(text_of(self.lines()))}</pre></div>"

    _repr_html_ = to_html

    def _repr_latex_(self) -> str:
        lines = [f"&= {step.latex}" for steps in self.steps.values() for step in steps if step.latex]
        return latex_in_notebook(lines or self.record.equations())


class _Sheet:
    """Lines that are shown of an explanation without an error."""

    def __init__(self, explanation: Explanation, digits: int, width: int | None) -> None:
        self.explanation, self.digits, self.width = explanation, digits, width or _ENDLESS
        self.rounded = False

    def lines(self) -> list[Line | Table]:
        explanation = self.explanation
        if explanation.why:
            return [line for each in explanation.why for line in _story(each.lines)]
        record = [line for line in explanation.record.lines() if isinstance(line, Line)]
        lines: list[Line | Table] = [line for line in record if line.kind == "title"]
        if explanation.steps:
            lines += self._steps()
        elif explanation.nodes:  # else an assert
            few = len(explanation.nodes) <= _MOST
            lines += [*(self._forward() if few else self._folded()), *(self._backward() if few else ()), *self._gradients()]
        facts = self._facts(record)
        lines += [_line()] if facts and explanation.record.mode != "assert" else []
        note = _line(f"  numbers are rounded to {self.digits} digits; --digits 17 shows all")
        return [*lines, *facts, *([note] if self.rounded else [])]

    def _steps(self) -> Iterator[Line]:
        """Each formula with its rule beside it, or above it where a line has no room for both."""
        for name, steps in self.explanation.steps.items():
            yield from _headed(f"d/d{printable(name)}", role="name")
            rules, formulas = [printable(step.rule) for step in steps], [printable(step.formula) for step in steps]
            most = min(self.width, _ROOM) - max(map(display_width, rules)) - 8
            room = max((width for width in map(display_width, formulas) if width <= most), default=0)
            for rule, formula in zip(rules, formulas, strict=True):
                if display_width(formula) <= room:
                    yield _line("  = ", Part(padded(formula, room), "formula"), f"   {rule}")
                else:
                    yield _line(f"    {rule}:")
                    yield _line("  = ", Part(formula, "formula"))

    def _folded(self) -> Iterator[Line]:
        """Many nodes as fewer: by function, call and line."""
        drawn = drawing(self.explanation, _MOST)
        yield from _headed("forward and backward", f"  {drawn.count}: --format json lists them all" if drawn.is_folded else "")
        yield from self._rows(
            (box.key, box.role, box.title, box.detail, box.value, f"adjoint {box.adjoint}" if box.adjoint else "") for box in drawn.boxes
        )

    def _forward(self) -> Iterator[Line]:
        yield from _headed("forward", "  every node after its operands")
        yield from self._rows(
            (node.id, node.op, self._definition(node), _operation(node), self._number(node.value).text, _recorded(node))
            for node in self.explanation.nodes
        )

    def _definition(self, node: ExplainedNode) -> str:
        """Return what a node is called, with what a name stands for."""
        return ends_of(f"{node.name} = {node.text}", _LABEL) if node.is_definition else self.explanation.label(node.id)

    def _rows(self, nodes: Iterator[tuple[int, str, str, str, str, str]]) -> Iterator[Line]:
        """Nodes below one another: id, kind, title, operation, value, and what else is known."""
        rows = [*nodes]
        ids = len(str(max(row[0] for row in rows)))
        columns = [max(map(display_width, column)) for column in [*zip(*rows, strict=True)][2:5]]
        titles, operations, values = map(min, columns, (_LABEL, 24, 30)) if sum(columns) < self.width - ids - 10 else (0, 0, 0)
        for id, kind, title, operation, value, further in rows:
            parts = [
                Part(f"  {id:>{ids}}  ", "id"), Part(padded(title, titles) + "  ", _role(kind)), Part(padded(operation, operations) + "  "),
                Part(padded(value, values) + "  ", "number"), Part(further),
            ]  # fmt: skip
            yield Line(None, parts, "row")

    def _backward(self) -> Iterator[Line]:
        if not self.explanation.backward:
            return
        yield from _headed("backward", "  the adjoint of a node is the derivative of the result by it")
        arrived, leaving = self.explanation.arrived(), self.explanation.leaving()
        for id in [*leaving, *(node.id for node in self.explanation.nodes if node.id not in leaving and node.id in arrived)]:
            yield from self._adjoint(self.explanation.node(id), arrived.get(id, []))
            yield from map(self._passed, leaving.get(id, ()))

    def _adjoint(self, node: ExplainedNode, arrived: list[Contribution]) -> Iterator[Line]:
        several, adjoint, seed = len(arrived) > 1, self._number(node.adjoint), ""
        if node.id == self.explanation.result:
            several = False
            seed = ", the seed: ones" if node.shape and not self.explanation.record.seed_given else ", the seed"
        has = f"  has {len(arrived)} contributions, together " if several else "  has "
        yield _line(Part(f"  {node.id}  ", "id"), self._node(node.id), has, adjoint, seed)
        for each in arrived if several else ():
            yield _line("       ", self._number(each.passed), f" from {each.node}")

    def _passed(self, part: Contribution) -> Line:
        line: list[Part | str] = [Part(f"     to {part.operand}  ", "id"), self._node(part.operand)]
        if part.partial is not None:
            partial, local = printable(part.partial), self._number(part.local)
            line += ["  times ", Part(partial, "formula")]
            line += [] if partial in (local.text, "1", "-1") else [" (", local, ")"]
        elif part.rule is not None:
            line += ["  ", Part(printable(part.rule), "formula")]
        line += [f", {part.summed}"] if part.summed is not None else []
        return _line(*line, " gives ", self._number(part.passed))

    def _gradients(self) -> Iterator[Line]:
        gradients = self.explanation.gradients
        if not gradients:
            return
        yield from _headed("gradient", "  by paths from the name to the result, the largest first")
        for name, gradient in islice(gradients.items(), _NAMES):
            yield _line("  ", Part(printable(name), "name"), "  ", self._number(gradient.value))
            for path in gradient.paths:
                yield _line("     ", self._number(path.contribution), " by ", Part(self.explanation.route(path.nodes), "text"))
            yield from self._rest(gradient)
        if len(gradients) > _NAMES:
            yield _line(f"  and {len(gradients) - _NAMES:,} more names: --format json lists them")

    def _rest(self, gradient: ExplainedGradient) -> Iterator[Line]:
        if gradient.left_out:
            yield _line(f"     and {count_text(gradient.left_out)} smaller paths, together ", self._number(gradient.rest))
        elif gradient.paths and np.any(np.asarray(gradient.rest) != 0) and np.all(np.isfinite(gradient.rest)):
            yield _line("     ", self._number(gradient.rest), " is rounding")
        elif not gradient.paths:
            yield _line("     no path leads from it to the result")

    def _facts(self, record: list[Line]) -> list[Line]:
        """Return the lines of the record beside its numbers."""
        has_value = self.explanation.record.uncertainty is not None or self.explanation.record.mode == "assert"
        wanted = {"read as", "dialect", "check", "note", *(["value"] if has_value else [])}
        return [Line(line.label, line.parts[:1], line.kind if line.label != "value" else "fact") for line in record if line.label in wanted]

    def _node(self, id: int) -> Part:
        return Part(self.explanation.label(id), _role(self.explanation.node(id).op))

    def _number(self, value: Any) -> Part:
        text, lost = rounded(value, self.digits)
        self.rounded |= lost
        return Part(text, "number")


def _role(kind: str) -> str:
    return "name" if kind == "leaf" else "text"


def _line(*parts: Part | str) -> Line:
    return Line(None, [Part(part) if isinstance(part, str) else part for part in parts])


def _headed(heading: str, *further: str, role: str = "heading") -> list[Line]:
    """An empty line, and a heading."""
    return [_line(), _line(Part(heading, role), *further)]


def _operation(node: ExplainedNode) -> str:
    if not node.operands:
        return node.op
    made = f"{node.op} {', '.join(map(str, node.operands))}"
    return f"{node.function}: {made}" if node.function is not None and node.function != node.op else made


def _recorded(node: ExplainedNode) -> str:
    keeps = f", keeps {', '.join(node.saved)}" if node.saved else ""
    return f"{node.grad_fn}{keeps}" if node.grad_fn is not None else ""


def _story(lines: Sequence[str]) -> list[Line]:
    first, *more = map(printable, lines)
    return [_line(Part(first, "heading")), *(_line(Part(f"  {line}", "text")) for line in more)]
