"""A graph back as text of the language: what is printed parses to the same graph."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from gradcli.formulas.forms import in_form
from gradcli.graph.nodes import Expr, reachable
from gradcli.ops.constants import Constant
from gradcli.ops.text import BINDING, COMPARISON, LARGEST_ARRAY, NOT, POWER, TERM, UNARY, Piece, Unprintable


def formula(root: Expr, *, limit: int | None = None, names: Mapping[Expr, str] | None = None, taken: Collection[str] = ()) -> str | None:
    """The text of a node, or None where the language has none of at most ``limit`` nodes.

    names   texts of nodes that are called by a name
    taken   names bound in the program, which no longer mean constants or operations
    """
    order = reachable([root])
    if limit is not None and _tree_size(order) > limit:
        return None
    pieces: dict[Expr, Piece] = {}
    try:
        for node in order:
            if names and node in names:
                pieces[node] = Piece(names[node])
            elif node.op is None:
                pieces[node] = _terminal(node, taken)
            else:
                pieces[node] = _operation(node, [None if o is None else pieces[o] for o in node.operands], taken)
    except Unprintable:
        return None
    return pieces[root].text


def _tree_size(order: list[Expr]) -> int:
    """How many nodes are printed, shared ones each time; computed without printing them."""
    sizes: dict[Expr, int] = {}
    for node in order:
        sizes[node] = 1 + sum(sizes[o] for o in node.operands if o is not None)
    return sizes[order[-1]]


def _number(value: Any) -> Piece:
    """A number as a literal: shortest round-trip."""
    if isinstance(value, bool):
        return Piece(str(value))
    text = repr(value) if isinstance(value, int) else repr(float(value))
    return Piece(text, UNARY) if text.startswith("-") else Piece(text)


def _terminal(node: Expr, taken: Collection[str]) -> Piece:
    payload = node.payload
    if node.is_leaf:
        return Piece(payload.name)
    if isinstance(payload, Constant):
        return _number(float(payload)) if payload.text in taken else Piece(payload.text)
    if isinstance(payload, np.ndarray):
        if (
            payload.ndim == 2
            and payload.shape[0] == payload.shape[1] > 1
            and "eye" not in taken
            and (payload == np.eye(len(payload))).all()
        ):
            return Piece(f"eye({len(payload)})")
        if payload.size > LARGEST_ARRAY or 0 in payload.shape:
            raise Unprintable
        return Piece(_nested(payload.tolist()))
    return _number(payload)


def _nested(value: Any) -> str:
    return "[" + ", ".join(_nested(v) for v in value) + "]" if isinstance(value, list) else _number(value).text


def _operation(node: Expr, operands: list[Piece | None], taken: Collection[str]) -> Piece:
    op = node.op
    assert op is not None
    text = op.text
    present = [piece for piece in operands if piece is not None]
    if text.transparent:
        return present[0]
    if text.infix:
        return _infix(text.infix, *present)
    if text.prefix:
        power, inside = (NOT, NOT) if text.prefix[0].isalpha() else (UNARY, POWER)
        return Piece(text.prefix + present[0].at(inside), power)
    written = in_form(text.written, node, operands, _literal)
    if written is not None:
        return Piece(*written)
    name = op.name
    if not op.public or name in taken:
        raise Unprintable
    return Piece(_call(node, operands))


def _infix(symbol: str, left: Piece, right: Piece) -> Piece:
    power = BINDING[symbol]
    if power == POWER:  # binds to the right, and a sign may stand there
        return Piece(f"{left.at(POWER + 1)}{symbol}{right.at(UNARY)}", power)
    join = symbol if power == TERM and symbol != "@" else f" {symbol} "
    return Piece(f"{left.at(power + (power == COMPARISON))}{join}{right.at(power + 1)}", power)


def _call(node: Expr, operands: list[Piece | None]) -> str:
    op = node.op
    assert op is not None
    parts = ["[" + ", ".join(p.text for p in operands if p) + "]"] if op.variadic else []
    if not op.variadic:
        last = max((i for i, p in enumerate(operands) if p is not None), default=-1)
        parts += ["None" if p is None else p.text for p in operands[: last + 1]]
    for key, value in node.static.items():
        if op.static.get(key) != value:
            parts.append(f"{key}={_literal(value)}")
    return f"{op.name}({', '.join(parts)})"


def _literal(value: Any) -> str:
    """A static parameter."""
    if isinstance(value, tuple):
        return "(" + ", ".join(_literal(v) for v in value) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, str):
        return f"'{value}'"
    return str(value) if value is None or isinstance(value, bool) else _number(value).text
