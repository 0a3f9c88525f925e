"""Local derivatives as formulas: what an operation passes back, in terms of the texts of its
operands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from gradcli.errors import GradcliError
from gradcli.explanations.paths import Passed
from gradcli.formulas.printing import formula
from gradcli.formulas.textbook import textbook
from gradcli.graph.nodes import Expr, Graph
from gradcli.graph.sweep import contributions, scale
from gradcli.limits import Limits
from gradcli.ops.text import Piece

_LARGEST = 40  # nodes of a formula that is shown
_Made = tuple[
    Expr | None, Expr | None, list[Expr | None]
]  # the partial, what is passed back, and what stands for the operands


@dataclass(eq=False, repr=False)
class LocalFormulas:
    """The formulas of a graph's edges; made once for each operation, and written with the texts of
    its operands.

    In ``rule`` the adjoint that arrives is called "adjoint"; an operand without a short text is "v"
    and its number.
    """

    limits: Limits
    texts: Mapping[Expr, Piece]
    taken: Sequence[str]
    known: dict[tuple[Any, ...], _Made] = field(default_factory=dict)

    def of(self, passed: Passed, same: Mapping[Expr, Expr]) -> tuple[str | None, str | None]:
        """The local derivative of an edge, where it works entry by entry; and what is passed back,
        a formula of the adjoint.
        """
        node = passed.node
        key = (node.op, tuple(node.static.items()), passed.place, tuple(map(_kind, node.operands)))
        if key not in self.known:
            made: _Made = None, None, []
            with suppress(GradcliError, RecursionError):
                made = edge_formulas(node, passed.place, self.limits)
            self.known[key] = made
        partial, rule, stand_ins = self.known[key]
        names = {
            x: self.texts[same[o]]
            for x, o in zip(stand_ins, node.operands, strict=False)
            if x is not None and o is not None and x.is_leaf
        }
        return self._write(partial, names), self._write(rule, names)

    def _write(self, made: Expr | None, names: Mapping[Expr, Piece]) -> str | None:
        return (
            None if made is None else formula(made, limit=_LARGEST, names=names, taken=self.taken)
        )


def _kind(operand: Expr | None) -> Any:
    """Return what of an operand a formula depends on: a number's value, and otherwise shape and
    kind.
    """
    if operand is None:
        return None
    return operand if operand.is_constant and not operand.shape else (operand.shape, operand.kind)


def edge_formulas(node: Expr, place: int, limits: Limits) -> _Made:
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
