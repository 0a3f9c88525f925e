"""Explanations: where every number of a value and its gradient comes from.

They are plain data, from which every form is printed, with numbers in few characters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from typing import Any

import numpy as np

from gradcli.data import Data, data_in_slots, group_pairs, plain
from gradcli.errors import GradcliError
from gradcli.notation import operator
from gradcli.report.derivative_record import Step, Steps
from gradcli.report.records import Record, array_text
from gradcli.texts import Source, ends_of, printable

DIGITS = 6  # digits that numbers are rounded to in text
LABEL = 36  # columns for the text of a node

LARGEST = 1_000  # most entries of an array that is written out; a larger one is summarized
LISTED = 8  # entries of an array that fit on a line
_EXACT = 1 << 53  # every JSON reader holds whole numbers up to this exactly

Span = tuple[int, int]  # begin and end in a text, in characters


def summary(value: Any) -> Any:
    """Return data as JSON has it, with large arrays summarized.

    The summary of an array of many numbers is its shape, its range, its norm, and how many numbers
    are not finite.
    """
    if isinstance(value, tuple):
        return [summary(part) for part in value]
    if not isinstance(value, np.ndarray) or value.size <= LARGEST:
        return plain(value)
    finite = value[np.isfinite(value)] if value.dtype.kind == "f" else value
    with np.errstate(all="ignore"):
        ends = [float(finite.min()), float(finite.max())] if finite.size else [None, None]
        norm = float(np.linalg.norm(finite.astype(float).ravel()))
    return plain(
        {
            "shape": value.shape,
            "min": ends[0],
            "max": ends[1],
            "norm": norm,
            "nonfinite": int(value.size - finite.size),
        }
    )


class Summed(Data):
    """Data in whose JSON large arrays are summed up."""

    __slots__ = ()
    _plain = staticmethod(summary)


@data_in_slots
class ExplainedNode(Summed):
    """A node of the graph, with what came of it forward and backward.

    id         from 1, in the order of the forward pass: operands before their users
    op         the operation's name; "leaf" for a name with a value, "const" for a number of the
               text, "frozen" for a name that is held
    operation  what it does, in a few words: of the record's documentation
    name       of a leaf, or that the statement has which bound the node
    text       the source of the node's own subexpression; None inside of a built-in function
    span       where that stands in the explanation's source
    spelling   the operator or function of that text: ``+``, ``F.softmax``, ``.sum``
    operands   ids
    kind       "float", "int" or "bool"
    value      as the forward pass has it
    adjoint    the derivative of the seeded result by this node, in its shape; None where no
               gradient is asked
    grad_fn    what PyTorch calls the node of its graph; None for what it records nothing of
    saved      which operands (or "result") are kept for the backward pass, in PyTorch's words:
               "self", "other", "result", ...
    function   the built-in function whose result the node is, where that is made of several
               operations: "softmax"
    inside     the node that is that function's result, of those between its arguments and its
               result
    call       the span of the call, of a node of a user's function, whose text is the body's
    statement  the index of the line of the source that the node belongs to, from 0; None where the
               text has none
    static     the operation's parameters, which its text shows
    """

    JSON = (
        "id op name text span operands shape dtype=kind value adjoint grad_fn saved function? "
        "inside? call? statement?"
    )
    SHOWN = "id op name text operands value adjoint"

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
    static: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Return what the node is called among others: its name, its text, or its operation."""
        return self.name or self.text or self.op

    @property
    def is_definition(self) -> bool:
        """Tell whether a statement has bound a name to it."""
        return self.name is not None and self.text is not None and self.name != self.text


@data_in_slots
class Contribution(Summed):
    """Part that one node passes back to one of its operands.

    It is the adjoint that arrives, times the local derivative. In formulas operands are called by
    their texts, or by "v" and their number where those are long or missing.

    node, operand  ids
    place          which operand it is, from 0
    partial        the local derivative as a formula, where the operation works entry by entry
    local          the local derivative as numbers, in the result's shape, where there is a partial
    passed         in the operand's shape
    summed         how it was summed to that shape, in words: "summed over axis 0, along which it
                   was repeated"
    rule           what is passed back as a formula of the adjoint that arrives, which is called
                   "adjoint" in it
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


@data_in_slots
class Path(Summed):
    """Part of a name's gradient that comes through one path.

    The path is the ids from the leaf to the result, both included.
    """

    JSON = "nodes contribution"

    nodes: tuple[int, ...]
    contribution: Any


@data_in_slots
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


@data_in_slots
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


@data_in_slots
class Explanation(Summed):
    """Explanation of one query.

    It has no nodes if the record has an error, or if nothing but steps was asked for.

    record    value, gradient, seed, warnings, verdict, error
    source    the text that spans count in: the expression, or the whole file
    nodes     in forward order, ``nodes[i].id == i + 1``
    backward  in the sweep's order
    result    the id of the result
    """

    JSON = (
        "schema id=record.id meta=record.meta? source=record.source expr=record.expr program? "
        "dialect=record.dialect? "
        "read_as=record.read_as? assert=holds? value=record.value dtype=record.dtype "
        "seed=record.seed uncertainty=record.uncertainty? "
        "result=result_or_none nodes backward gradients steps? why=stories? check=record.check "
        "warnings=record.warnings error"
    )
    SHOWN = "record why steps gradients"

    record: Record
    source: Source | None = None
    nodes: list[ExplainedNode] = field(default_factory=list)
    backward: list[Contribution] = field(default_factory=list)
    gradients: dict[str, ExplainedGradient] = field(default_factory=dict)
    steps: Steps = field(default_factory=dict)
    why: list[Why] = field(default_factory=list)
    result: int = 0

    @property
    def error(self) -> GradcliError | None:
        return self.record.error

    @property
    def failed(self) -> bool:
        """True if the verdict is a mismatch; a story is told of wrong numbers, too."""
        return self.record.failed and not self.why

    def error_text(self) -> str:
        """Return the error as text."""
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

    def definition(self, id: int, limit: int = LABEL) -> str:
        """Return what a node is called, with what a name stands for."""
        node = self.node(id)
        if node.is_definition:
            return ends_of(f"{node.name} = {node.text}", limit)
        return self.label(id, limit)

    def label(self, id: int, limit: int = LABEL) -> str:
        """Return the label of a node: its name, or else its text.

        It is on one line, and cut where it is long. A node of a function's body has the call with
        it.
        """
        node = self.node(id)
        text = node.text or f"· {node.op}"
        # Names in the body are the function's own.
        if node.call is not None and self.source is not None:
            text = f"{text} in {self.source.text[slice(*node.call)]}"
        return ends_of(node.name or text, limit)

    def route(self, nodes: Sequence[int], limit: int = LABEL) -> str:
        """Return a path in words."""
        labels = [self.label(id, limit) for id in nodes]
        if len(labels) > 6:
            labels[3:-2] = [f"… {len(labels) - 5:,} more …"]
        return " → ".join(labels)

    def contributions_by_node(self) -> dict[int, list[Contribution]]:
        """Return what is passed back to each node."""
        return group_pairs((each.operand, each) for each in self.backward)

    def leaving(self) -> dict[int, list[Contribution]]:
        """Return what each node passes back, the nodes in the sweep's order."""
        return group_pairs((each.node, each) for each in self.backward)

    def users(self) -> dict[int, list[int]]:
        """Return the nodes that each node is an operand of."""
        return group_pairs(
            (operand, node.id) for node in self.nodes for operand in dict.fromkeys(node.operands)
        )

    @property
    def derivations(self) -> list[tuple[str, list[Step]]]:
        """Derivations, each with what stands before the expression."""
        return [(printable(operator(by.split(","))), steps) for by, steps in self.steps.items()]

    @property
    def stories(self) -> Why | list[Why]:
        """A story, or a list of several."""
        return self.why[0] if len(self.why) == 1 else self.why

    def fail(self, error: GradcliError) -> Explanation:
        """Return the explanation with an error in place of everything."""
        self.record.fail(error)
        self.nodes, self.backward, self.why, self.result = [], [], [], 0
        self.gradients, self.steps = {}, {}
        return self


def count_text(number: int) -> str:
    """Return a count of paths as text; it grows exponentially with the depth of a graph."""
    return f"{number:,}" if number < 10**15 else f"about 10**{Decimal(number).adjusted()}"


def short(value: Any, digits: int | None, listed: int = LISTED) -> str:
    """Return a value as short text, a large array as its shape and range; empty for None."""
    return round_number(value, digits, listed)[0]


def round_number(value: Any, digits: int | None, listed: int = LISTED) -> tuple[str, bool]:
    """Return a value as short text, as ``short`` does, and whether a number was rounded."""
    if value is None:
        return "", False
    if isinstance(value, tuple):
        parts = [round_number(part, digits, listed) for part in value]
        return f"({', '.join(text for text, _ in parts)})", any(lost for _, lost in parts)
    array = np.asarray(value)
    if array.size > listed:
        return _range(array), False
    text = array_text(array, digits)
    return " ".join(text.removeprefix("≈").split()), text.startswith("≈")


def _range(array: np.ndarray) -> str:
    shape = "×".join(map(str, array.shape))
    if array.dtype.kind != "f":
        return f"{shape} of {array.dtype.name}"
    finite = array[np.isfinite(array)]
    if not finite.size:
        return f"{shape}, none finite"
    ends = [f"{float(end):.3g}" for end in (finite.min(), finite.max())]
    bad = array.size - finite.size
    span = ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
    return f"{shape}, {span}{f', {bad} not finite' if bad else ''}"


def size(value: Any) -> float:
    """Return the sum of the magnitudes of all entries; infinite if one is not finite."""
    if isinstance(value, tuple):
        return sum(size(part) for part in value if part is not None)
    with np.errstate(all="ignore"):
        total = float(np.abs(np.asarray(value, float)).sum())
    return total if total == total else np.inf
