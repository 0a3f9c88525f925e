"""The backward sweep, recorded: the adjoint of every node, and what each passes back to its
operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradcli.errors import GradcliError
from gradcli.formulas.printing import formula
from gradcli.formulas.textbook import textbook
from gradcli.graph.nodes import Expr, Graph
from gradcli.graph.sweep import contributions, depending, scale, scale_guarded, sweep
from gradcli.limits import Limits
from gradcli.ops.calling.inputs import FLOAT
from gradcli.ops.reductions.sums import sum_to
from gradcli.ops.structure import detach
from gradcli.ops.text import ATOM, BINDING, EXPRESSION, UNARY, Piece

Table = Mapping[Expr, Any]


@dataclass(slots=True, eq=False, repr=False)
class Passed:
    """Part that a node passes back to one operand: before it is summed to the operand's shape, and
    after.
    """

    node: Expr
    operand: Expr
    place: int
    whole: Any
    part: Any


@dataclass(eq=False, repr=False)
class Recorded:
    """A sweep: adjoints of nodes, and what was passed back, in its order."""

    order: Sequence[Expr]
    needed: set[Expr]  # nodes through which a derivative flows to what is asked for
    requiring: set[Expr]  # nodes that require a gradient, in PyTorch's sense
    times: Callable[[Any, Any], Any]  # cotangent times partial
    adjoints: dict[Expr, Any] = field(default_factory=dict)
    passed: list[Passed] = field(default_factory=list)


def record_sweep(
    order: Sequence[Expr], seed: Any, wrt: Iterable[Expr], values: Table, *, bare: bool = True
) -> Recorded:
    """The sweep from the last node, with the seed as its adjoint, to what is asked for.

    bare  zero times infinity is NaN, as in PyTorch; else a zero cotangent contributes nothing
    """
    targets = set(wrt)
    needed = depending([node for node in order if node.op is not detach], targets)
    record = Recorded(order, needed, requiring(order, targets), scale if bare else scale_guarded)
    root = order[-1]
    if root in needed:
        with np.errstate(all="ignore"):
            sweep(order, {root: seed}, _Pulling(record, values))
    for node in _below(order, record.requiring):
        if node not in record.adjoints and not isinstance(values[node], tuple):
            record.adjoints[node] = np.zeros_like(np.asarray(values[node], np.result_type(seed)))[
                ()
            ]
    return record


def requiring(order: Iterable[Expr], targets: set[Expr]) -> set[Expr]:
    """The nodes that require a gradient, as PyTorch has it: those of which an operand does, also
    where the derivative is always zero.
    """
    found = set(targets)
    for node in order:
        if (
            node.op is not None
            and node.op is not detach
            and node.kind == FLOAT
            and not found.isdisjoint(node.operands)
        ):
            found.add(node)
    return found


def _below(order: Sequence[Expr], requires: set[Expr]) -> set[Expr]:
    """The nodes that require a gradient and that the last one is made of by such."""
    found = {order[-1]} & requires
    for node in reversed(order):
        if node in found:
            found.update(operand for operand in node.operands if operand in requires)
    return found


class _Pulling:
    """Function that the sweep calls for each node: the node's contributions, which are written
    down.
    """

    def __init__(self, record: Recorded, values: Table) -> None:
        self.record, self.values = record, values

    def __call__(self, node: Expr, cotangent: Any) -> Sequence[Any]:
        self.record.adjoints[node] = cotangent
        found = [None] * len(node.operands)
        for passed in passed_back(node, cotangent, self.record, self.values):
            self.record.passed.append(passed)
            found[passed.place] = passed.part
        return found


def passed_back(node: Expr, cotangent: Any, record: Recorded, values: Table) -> Iterator[Passed]:
    """Return what a node makes of a cotangent for each operand that is needed."""
    wanted = tuple([operand in record.needed for operand in node.operands])
    if True not in wanted:
        return
    own = [
        values[node],
        *[None if operand is None else values[operand] for operand in node.operands],
    ]
    parts = contributions(node, wanted, cotangent, own, record.times)
    for place, (operand, whole) in enumerate(zip(node.operands, parts, strict=False)):
        if operand is not None and whole is not None:
            fits = isinstance(whole, tuple) or whole.shape == operand.shape
            yield Passed(
                node, operand, place, whole, whole if fits else sum_to(whole, shape=operand.shape)
            )


# -- Local derivatives as formulas: what an operation passes back, in terms of the texts of its
# operands.


_LARGEST = 40  # nodes of a formula that is shown
_LONGEST = (
    40  # characters of an operand's text that stands in a formula; else it is called by its number
)

_Key = tuple[Any, ...]
_Made = tuple[
    Expr | None, Expr | None, list[Expr | None]
]  # the partial, what is passed back, and what stands for the operands


class LocalFormulas:
    """The formulas of a graph's edges; made once for each operation, and written with the texts of
    its operands.

    In ``rule`` the adjoint that arrives is called "adjoint"; an operand without a short text is "v"
    and its number.
    """

    def __init__(self, limits: Limits, texts: Mapping[Expr, Piece], taken: Sequence[str]) -> None:
        self._limits, self._texts, self._taken = limits, texts, taken
        self._known: dict[_Key, _Made] = {}
        self._adjoints: dict[Expr, Expr] = {}

    def of(self, passed: Passed, same: Mapping[Expr, Expr]) -> tuple[str | None, str | None]:
        """The local derivative of an edge, where it works entry by entry; and what is passed back,
        a formula of the adjoint.
        """
        node = passed.node
        key = (node.op, tuple(node.static.items()), passed.place, tuple(map(_kind, node.operands)))
        if key not in self._known:
            made: _Made = None, None, []
            with suppress(GradcliError, RecursionError):
                made = _make_formulas(node, passed.place, self._limits)
            self._known[key] = made
        partial, rule, stand_ins = self._known[key]
        names = {
            x: self._texts[same[o]]
            for x, o in zip(stand_ins, node.operands, strict=False)
            if x is not None and o is not None and x.is_leaf
        }
        return self._write(partial, names), self._write(rule, names)

    def _write(self, made: Expr | None, names: Mapping[Expr, Piece]) -> str | None:
        return (
            None if made is None else formula(made, limit=_LARGEST, names=names, taken=self._taken)
        )


def _kind(operand: Expr | None) -> Any:
    """Return what of an operand a formula depends on: a number's value, and otherwise shape and
    kind.
    """
    if operand is None:
        return None
    return operand if operand.is_constant and not operand.shape else (operand.shape, operand.kind)


def _make_formulas(node: Expr, place: int, limits: Limits) -> _Made:
    """The formulas of an edge in a graph of their own, where leaves stand for the operands, and
    "adjoint" for the node's.
    """
    graph, op = Graph(limits), node.op
    assert op is not None
    if op.outputs != 1 or any(
        o is not None and o.op is not None and o.op.outputs != 1 for o in node.operands
    ):
        return None, None, []  # several results at once have no text
    stand_ins = [None if o is None else _stand_in(graph, o, i) for i, o in enumerate(node.operands)]
    out = graph.apply(op, stand_ins, node.static)
    wanted = tuple(i == place for i in range(len(node.operands)))
    adjoint = graph.leaf("adjoint", out.shape)
    rule = contributions(out, wanted, adjoint, [out, *stand_ins], scale)
    passed = rule[place] if len(rule) > place else None
    partial = None
    if op.partials is not None and op.elementwise:
        partial = op.partials[place]
        partial = None if partial is None else partial(out, *stand_ins, **node.static)
    return _simple(partial, graph), _simple(passed, graph), stand_ins


def _stand_in(graph: Graph, operand: Expr, place: int) -> Expr:
    if operand.is_constant and not operand.shape:
        return graph.constant(operand.payload)
    return graph.leaf(f"x{place}", operand.shape, operand.kind)


def _simple(made: Any, graph: Graph) -> Expr | None:
    if made is None or isinstance(made, tuple):
        return None
    return textbook(made if isinstance(made, Expr) else graph.constant(made))


def pieces_of(
    ids: Mapping[Expr, int],
    written: Mapping[Expr, str | None],
    spellings: Mapping[Expr, str | None],
) -> dict[Expr, Piece]:
    """Return what nodes are called in formulas: their own text, which holds together as its
    operator does, or their numbers.
    """
    found = {}
    for node, id in ids.items():
        text = written.get(node)
        if text is None or len(text) > _LONGEST or "\n" in text:
            found[node] = Piece((f"v{id}", ATOM))
        else:
            found[node] = Piece((text, _power(node, text, spellings.get(node))))
    return found


def _power(node: Expr, text: str, spelling: str | None) -> int:
    """Return how tightly a node's text holds together: by its operator, if it has one."""
    if text.isidentifier() or text.isdecimal():
        return ATOM
    operator = spelling or ""
    if operator in BINDING:
        return UNARY if len(node.operands) == 1 else BINDING[operator]
    is_open = (
        len(operator) < len(text) and text[-1] not in ")]|" and not operator.startswith(".")
    )  # sin x, √x: it takes what follows
    return EXPRESSION if is_open or operator in ("if", "not", "~", "|", "-") else ATOM
