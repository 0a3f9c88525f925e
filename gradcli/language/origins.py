"""Origins of the nodes of a graph.

An origin is the statement, the place in its text, the calls from which the node was expanded, and
the spelling.

Nodes are made once, so one node may have many origins. They are in a table beside the graph, which
is made on request. While a program runs, only two things are recorded: the result of each node of a
tree and, for each call of a function made of operations, its arguments and result (`Expansion`).
The nodes made by a part of a text are then those between its result and the results of its own
parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradcli.graph.nodes import Expr, reachable
from gradcli.language.names import Module, nodes_in
from gradcli.language.syntax import (
    Attribute,
    Binary,
    Binding,
    Call,
    Conditional,
    DataBinding,
    Frame,
    Name,
    Node,
    Sequence,
    Statement,
    Subscript,
    Unary,
)
from gradcli.ops.arrays.shapes import stack
from gradcli.ops.structure import alias, derivative, detach
from gradcli.ops.text import Expansion
from gradcli.texts import Source, Span

Origins = dict[Expr, list["Origin"]]


@dataclass(frozen=True)
class Origin:
    """One place that a node comes from.

    statement  the statement in whose text it stands: for the body of a function, its definition;
               None outside of programs
    source     the text, and its file
    span       the smallest part of the text that made the node: a call, an operator with its
               operands, a number, a name
    calls      the functions that it was expanded from, by their names in the catalogue, the
               outermost first; none for what the text itself says: ``np.arctan(x)`` is the
               operation, a node inside ``F.cross_entropy(x, t)`` has ``("cross_entropy",)``
    spelling   the function or operator of that part as the text writes it: ``np.arctan``,
               ``F.softmax``, ``.sum``, ``f'``, ``+``, ``[]``; of a number or a name, its text
    tree       that part, and the expression that it stands in; None of a name that is bound
    """

    statement: Statement | None
    source: Source
    span: Span
    calls: tuple[str, ...]
    spelling: str
    tree: Node | None = field(default=None, compare=False)
    frame: Frame | None = field(default=None, compare=False)


def origins(frames: Iterable[Frame], bindings: Mapping[Expr, Binding | DataBinding]) -> Origins:
    """Return the origins of all nodes that a program's text made, in the order of the text.

    Nodes of gradients made later have none.
    """
    table: Origins = {}
    for node, binding in bindings.items():
        origin = Origin(binding, binding.source, binding.name_span, (), binding.name)
        table[node] = [origin]
        if node.op is detach:  # bound with const
            table[node.operand] = [origin]
    bound = frozenset(table)
    for frame in frames:
        lists = _lists(frame)

        def add(
            made: Mapping[Expr, tuple[str, ...]],
            tree: Node,
            frame: Frame = frame,
            lists: Any = lists,
        ) -> None:
            """Give nodes an origin in a part of the text, with the calls in it.

            An array gets its origin in the list that has its entries.
            """
            for node, calls in made.items():
                entries = _entries(node) if lists else ()
                part = lists.get(entries, tree) if entries else tree
                inside = calls if part is tree else ()
                origin = Origin(
                    frame.statement,
                    frame.source,
                    part.span,
                    inside,
                    _spelling(part, frame),
                    part,
                    frame,
                )
                table.setdefault(node, []).append(origin)

        # There are fewer results where lowering failed.
        for tree, result in frame.pairs:
            if isinstance(tree, Name):
                named = (
                    isinstance(result, Expr)
                    and result not in bound
                    and (result.op is None or result.op is alias)
                    # A parameter's name belongs to what the call is given.
                    and tree.name not in frame.locals
                )
                add({result: ()} if named else {}, tree)
            else:
                add(_nodes_made(tree, result, frame), tree)
            expansion = frame.expansions.get(tree.place)
            if expansion is not None:  # nodes of the arguments before the call was expanded
                given = _between(
                    nodes_in(expansion.given),
                    nodes_in([frame.results[part.place] for part in tree.children()]),
                )
                add({node: () for node in given if node not in table}, tree)
        if frame.coerced is not None:
            root = frame.expression.root
            add(
                dict.fromkeys(_between([frame.coerced], nodes_in(frame.results[root.place])), ()),
                root,
            )
    return table


def _lists(frame: Frame) -> dict[tuple[Any, ...], Sequence]:
    """Return the lists of an expression that became no array by themselves, by their entries."""
    found: dict[tuple[Any, ...], Sequence] = {}
    for tree, result in frame.pairs:
        if isinstance(tree, Sequence) and isinstance(result, list):
            found.setdefault(tuple(map(_entry, nodes_in(result)))[::-1], tree)
    return found


def _entries(node: Expr) -> tuple[Any, ...]:
    """Return the entries of an array that a list may have become; none of any other node."""
    if node.op is stack and node.static["axis"] == 0:
        return tuple(
            entry for part in node.given_operands for entry in _entries(part) or (_entry(part),)
        )
    return tuple(np.ravel(node.payload).tolist()) if node.is_constant and node.shape else ()


def _entry(node: Expr) -> Any:
    return node.payload if node.is_constant and not node.shape else node


def _nodes_made(tree: Node, result: Any, frame: Frame) -> dict[Expr, tuple[str, ...]]:
    """Return the nodes that a part of the text made, each with its calls.

    The calls are those from which the node was expanded.
    """
    expansion = frame.expansions.get(tree.place)
    if expansion is None:
        # A call of a user's function: its nodes come from the function's own text.
        if tree.place in frame.expansions:
            return {}
        ends = [frame.results[part.place] for part in tree.children()]
        return dict.fromkeys(_between(nodes_in(result), nodes_in(ends)), ())
    made: dict[Expr, tuple[str, ...]] = {}
    pending: list[tuple[Expansion, tuple[str, ...]]] = [(expansion, ())]
    for (
        call,
        outer,
    ) in pending:  # grows; inner calls come later and override what outer ones say of nodes
        calls = (*outer, call.name)
        made.update(dict.fromkeys(_between(nodes_in(call.result), nodes_in(call.given)), calls))
        pending += [(inner, calls) for inner in call.inner]
    return made


def _between(roots: Iterable[Expr], ends: Iterable[Expr]) -> list[Expr]:
    """Return the nodes from roots down to ends, without the ends.

    A derivative uses nodes of the differentiated expression, which are not its own.
    """
    pending = list(roots)
    seen = set(ends)
    if any(root.op is derivative for root in pending):
        seen.update(reachable(seen))
    found = []
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            found.append(node)
            pending += node.given_operands
    return found


def _spelling(tree: Node, frame: Frame) -> str:
    """Return the function or operator of a part of the text, as it is written."""
    match tree:
        case Unary() | Binary():
            return tree.operator
        case Conditional():
            return "if"
        case Subscript() | Sequence():
            return "[]"
        case Attribute():
            return f".{tree.name}"
        case Call(callee=Attribute() as callee) if not isinstance(
            frame.results[callee.base.place], Module
        ):
            return f".{callee.name}"
        case Call():
            return frame.text_of(tree.callee) + "'" * tree.primes
    return frame.text_of(tree)
