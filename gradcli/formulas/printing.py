"""A graph back as text of the language: what is printed parses to the same graph."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.graph.nodes import Expr, Transcription, interpret, reachable
from gradcli.inert import latex_text
from gradcli.notation import array, name, number
from gradcli.ops.calling import textbook
from gradcli.ops.constants import Constant
from gradcli.ops.spec import Op
from gradcli.ops.text import (
    ATOM,
    BINDING,
    COMPARISON,
    LARGEST_ARRAY,
    NEGATION,
    POWER,
    ROOT,
    TERM,
    UNARY,
    ByStatic,
    Form,
    LatexPiece,
    Piece,
    Unprintable,
)


def formula(
    root: Expr,
    *,
    limit: int | None = None,
    names: Mapping[Expr, str | Piece] | None = None,
    taken: Collection[str] = (),
) -> str | None:
    """Return the text of a node, or None where the language has none of at most ``limit`` nodes.

    names   texts of nodes that are called by a name, or stand for a piece of text
    taken   names bound in the program, which no longer mean constants or operations
    """
    order = reachable([root])
    if limit is not None and tree_size(root) > limit:
        return None
    labels: dict[Expr, Any] = {
        node: label if isinstance(label, Piece) else Piece((label, ATOM))
        for node, label in (names or {}).items()
    }
    try:
        text: str = interpret(order, Written(taken), labels)[root][0]
    except Unprintable:
        return None
    return text


class Written(Transcription[Piece]):
    """Nodes as text of the language.

    Raises Unprintable for what has none, or whose name means something else here.

    taken  names that the program has given to something of its own
    """

    def __init__(self, taken: Collection[str]) -> None:
        self.taken = taken

    def leaf(self, node: Expr) -> Piece:
        return Piece((node.name, ATOM))

    def constant(self, node: Expr) -> Piece:
        payload = node.payload
        if isinstance(payload, Constant):
            return (
                _number(float(payload))
                if payload.text in self.taken
                else Piece((payload.text, ATOM))
            )
        if not isinstance(payload, np.ndarray):
            return _number(payload)
        square = payload.ndim == 2 and payload.shape[0] == payload.shape[1] > 1
        if square and "eye" not in self.taken and (payload == np.eye(len(payload))).all():
            return Piece((f"eye({len(payload)})", ATOM))
        if payload.size > LARGEST_ARRAY or 0 in payload.shape:
            raise Unprintable
        return Piece((_nested_text(payload.tolist()), ATOM))

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Piece:
        if op.transparent:
            first: Piece = operands[0]
            return first
        if op.sign:
            return _infix(op.sign, *operands) if len(operands) == 2 else _prefix(op.sign, *operands)
        written = in_form(op.written, node, operands, _literal) if op.written is not None else None
        if written is not None:
            return Piece(written)
        name = op.name
        if not op.public or name in self.taken:
            raise Unprintable
        return Piece((_call(node, op, operands), ATOM))


def tree_size(root: Expr) -> int:
    """Return how many nodes are printed, shared ones each time; computed without printing them."""
    sizes: dict[Expr, int] = {}
    for node in reachable([root]):
        sizes[node] = 1 + sum(sizes[o] for o in node.given_operands)
    return sizes[root]


def _number(value: Any) -> Piece:
    """Write a number as a literal: the shortest that reads back as the same number."""
    if isinstance(value, bool):
        return Piece((str(value), ATOM))
    text = repr(value) if isinstance(value, int) else repr(float(value))
    return Piece((text, UNARY if text.startswith("-") else ATOM))


def _nested_text(value: Any) -> str:
    return (
        f"[{', '.join(_nested_text(v) for v in value)}]"
        if isinstance(value, list)
        else _number(value).text
    )


def _prefix(symbol: str, x: Piece) -> Piece:
    return Piece(
        (f"not {x.at(NEGATION)}", NEGATION) if symbol == "not" else (symbol + x.at(POWER), UNARY)
    )


def _infix(symbol: str, x: Piece, y: Piece) -> Piece:
    power = BINDING[symbol]
    left, right = (
        (ATOM, UNARY) if power == POWER else (power + (power == COMPARISON), power + 1)
    )  # powers bind to the right
    join = symbol if power == POWER or (power == TERM and symbol != "@") else f" {symbol} "
    first = x[0] if x[1] >= left else x.in_brackets()
    return Piece((f"{first}{join}{y[0] if y[1] >= right else y.in_brackets()}", power))


def _call(node: Expr, op: Op, operands: list[Piece | None]) -> str:
    parts = [f"[{', '.join(p.text for p in operands if p)}]"] if op.variadic else []
    if not op.variadic:
        last = max((i for i, p in enumerate(operands) if p is not None), default=-1)
        parts += ["None" if p is None else p.text for p in operands[: last + 1]]
    for key, value in node.static.items():
        if op.static.get(key) != value or (key in op.stated_names and node.operand.ndim > 1):
            parts.append(f"{key}={_literal(value)}")
    return f"{op.name}({', '.join(parts)})"


def _literal(value: Any) -> str:
    """Write a static parameter as a literal."""
    if isinstance(value, tuple):
        return f"({', '.join(_literal(v) for v in value)}{',' if len(value) == 1 else ''})"
    if isinstance(value, str):
        return f"'{value}'"
    return str(value) if value is None or isinstance(value, bool) else _number(value).text


Literal = Callable[[Any], str]


class _Words:
    """The words of a template: the operands' pieces, and static parameters as literals."""

    def __init__(self, node: Expr, pieces: Sequence[Piece | None], literal: Literal) -> None:
        self.node, self.pieces, self.literal = node, pieces, literal

    def __getitem__(self, name: str) -> Any:
        op = self.node.op
        assert op is not None
        if name not in op.operands:
            return self.literal(self.node.static[name])
        if op.variadic:
            return ", ".join(piece.text for piece in self.pieces if piece is not None)
        return self.pieces[op.operands.index(name)]


def in_form(
    form: ByStatic | None, node: Expr, pieces: Sequence[Piece | None], literal: Literal
) -> tuple[str, int] | None:
    """Return a node's text in a form of its operation, and its binding power.

    Gives None if the operation has no such form.
    """
    if isinstance(form, Mapping):
        form = form.get(tuple(node.static.values())) or form.get(...)
    if form is None:
        return None
    if callable(form):
        return form(*pieces, **node.static)
    template, power = form if isinstance(form, Form) else (form, ATOM)
    return template.format_map(_Words(node, pieces, literal)), power


# -- A graph as a LaTeX formula ------------------------------------------------------------------


_CONSTANTS = {
    "pi": "\\pi", "e": "e", "log(2)": "\\log 2", "log(10)": "\\log 10", "(2/sqrt(pi))": "\\frac{2}{\\sqrt{\\pi}}",
    "sqrt(2)": "\\sqrt{2}", "sqrt(2*pi)": "\\sqrt{2 \\pi}", "sqrt(2/pi)": "\\sqrt{\\frac{2}{\\pi}}", "log(pi)": "\\log \\pi",
    "(sqrt(pi)/2)": "\\frac{\\sqrt{\\pi}}{2}", "(pi/180)": "\\frac{\\pi}{180}", "(180/pi)": "\\frac{180}{\\pi}",
}  # fmt: skip


def latex(root: Expr, names: Mapping[Expr, str | LatexPiece] | None = None) -> str:
    """Write a node as a LaTeX formula.

    ``names`` gives other texts for leaves, or formulas in their place.
    """
    labels: dict[Expr, Any] = {
        node: label
        if isinstance(label, LatexPiece)
        else LatexPiece(
            (name(label) if label.isidentifier() else f"\\mathtt{{{latex_text(label)}}}", ATOM)
        )
        for node, label in (names or {}).items()
    }
    text: str = interpret(reachable([root]), Latex(), labels)[root][0]
    return text


class Latex(Transcription[LatexPiece]):
    """Nodes as LaTeX."""

    def leaf(self, node: Expr) -> LatexPiece:
        text = name(node.name)
        return LatexPiece((text, POWER if text.startswith("\\frac") else ATOM))

    def constant(self, node: Expr) -> LatexPiece:
        payload = node.payload
        if isinstance(payload, Constant):
            return LatexPiece((_CONSTANTS.get(payload.text, number(float(payload))), ATOM))
        if isinstance(payload, np.ndarray):
            return LatexPiece((array(payload, None), ATOM))
        text = number(payload)
        power = UNARY if text.startswith("-") else TERM if " " in text else ATOM
        return LatexPiece((text, power))

    def operation(self, node: Expr, op: Op, operands: list[LatexPiece | None]) -> LatexPiece:
        present = [piece for piece in operands if piece is not None]
        if op.transparent:
            first: LatexPiece = present[0]
            return first
        written = in_form(op.latex, node, operands, number)
        if written is not None:
            return LatexPiece(written)
        sign = f"\\{op.name}" if op.is_latex_command else f"\\operatorname{{{latex_text(op.name)}}}"
        power = ROOT if textbook.is_bare(op.name) else ATOM
        return LatexPiece(
            (f"{sign}\\left({', '.join(piece.text for piece in present)}\\right)", power)
        )
