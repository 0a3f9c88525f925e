"""A graph as a LaTeX formula."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gradcli.formulas.printing import in_form
from gradcli.graph.nodes import Expr, reachable
from gradcli.notation import array, escape, name, number
from gradcli.ops.constants import Constant
from gradcli.ops.text import ATOM, UNARY, LatexPiece

_CONSTANTS = {
    "pi": "\\pi", "e": "e", "log(2)": "\\log 2", "log(10)": "\\log 10", "(2/sqrt(pi))": "\\frac{2}{\\sqrt{\\pi}}",
    "sqrt(2)": "\\sqrt{2}", "sqrt(2*pi)": "\\sqrt{2 \\pi}", "sqrt(2/pi)": "\\sqrt{\\frac{2}{\\pi}}", "log(pi)": "\\log \\pi",
    "(sqrt(pi)/2)": "\\frac{\\sqrt{\\pi}}{2}", "(pi/180)": "\\frac{\\pi}{180}", "(180/pi)": "\\frac{180}{\\pi}",
}  # fmt: skip


def latex(root: Expr, names: Mapping[Expr, str] | None = None) -> str:
    """The formula of a node; ``names`` gives texts of leaves that are not called by their own name."""
    pieces: dict[Expr, LatexPiece] = {}
    for node in reachable([root]):
        label = (names or {}).get(node)
        if label is not None:
            pieces[node] = LatexPiece((name(label) if label.isidentifier() else f"\\mathtt{{{escape(label)}}}", ATOM))
        elif node.op is None:
            pieces[node] = _terminal(node)
        else:
            pieces[node] = _operation(node, [None if o is None else pieces[o] for o in node.operands])
    return pieces[root][0]


def _terminal(node: Expr) -> LatexPiece:
    payload = node.payload
    if node.is_leaf:
        return LatexPiece((name(payload.name), ATOM))
    if isinstance(payload, Constant):
        return LatexPiece((_CONSTANTS.get(payload.text, number(float(payload))), ATOM))
    if isinstance(payload, np.ndarray):
        return LatexPiece((array(payload, None), ATOM))
    text = number(payload)
    return LatexPiece((text, UNARY if text.startswith("-") else ATOM))


def _operation(node: Expr, operands: list[LatexPiece | None]) -> LatexPiece:
    assert node.op is not None
    text = node.op.text
    present = [piece for piece in operands if piece is not None]
    if text.transparent:
        return present[0]
    written = in_form(text.latex, node, operands, number)
    if written is not None:
        return LatexPiece(written)
    sign = text.sign or f"\\operatorname{{{escape(node.op.name)}}}"
    return LatexPiece((f"{sign}\\left({', '.join(piece.text for piece in present)}\\right)", ATOM))
