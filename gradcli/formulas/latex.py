"""A graph as a LaTeX formula."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gradcli.formulas.printing import in_form
from gradcli.graph.interpret import Transcription, interpret
from gradcli.graph.nodes import Expr, reachable
from gradcli.inert import latex_text
from gradcli.notation import array, name, number
from gradcli.ops.constants import Constant
from gradcli.ops.spec import Op
from gradcli.ops.text import ATOM, UNARY, LatexPiece

_CONSTANTS = {
    "pi": "\\pi", "e": "e", "log(2)": "\\log 2", "log(10)": "\\log 10", "(2/sqrt(pi))": "\\frac{2}{\\sqrt{\\pi}}",
    "sqrt(2)": "\\sqrt{2}", "sqrt(2*pi)": "\\sqrt{2 \\pi}", "sqrt(2/pi)": "\\sqrt{\\frac{2}{\\pi}}", "log(pi)": "\\log \\pi",
    "(sqrt(pi)/2)": "\\frac{\\sqrt{\\pi}}{2}", "(pi/180)": "\\frac{\\pi}{180}", "(180/pi)": "\\frac{180}{\\pi}",
}  # fmt: skip


def latex(root: Expr, names: Mapping[Expr, str | LatexPiece] | None = None) -> str:
    """The formula of a node; ``names`` gives texts of leaves that are not called by their own name, or formulas in their place."""
    labels: dict[Expr, Any] = {
        node: label
        if isinstance(label, LatexPiece)
        else LatexPiece((name(label) if label.isidentifier() else f"\\mathtt{{{latex_text(label)}}}", ATOM))
        for node, label in (names or {}).items()
    }
    text: str = interpret(reachable([root]), Latex(), labels)[root][0]
    return text


class Latex(Transcription[LatexPiece]):
    """Nodes as LaTeX."""

    def leaf(self, node: Expr) -> LatexPiece:
        return LatexPiece((name(node.payload.name), ATOM))

    def constant(self, node: Expr) -> LatexPiece:
        payload = node.payload
        if isinstance(payload, Constant):
            return LatexPiece((_CONSTANTS.get(payload.text, number(float(payload))), ATOM))
        if isinstance(payload, np.ndarray):
            return LatexPiece((array(payload, None), ATOM))
        text = number(payload)
        return LatexPiece((text, UNARY if text.startswith("-") else ATOM))

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> LatexPiece:
        present = [piece for piece in operands if piece is not None]
        if op.text.transparent:
            first: LatexPiece = present[0]
            return first
        written = in_form(op.text.latex, node, operands, number)
        if written is not None:
            return LatexPiece(written)
        sign = op.text.sign or f"\\operatorname{{{latex_text(op.name)}}}"
        return LatexPiece((f"{sign}\\left({', '.join(piece.text for piece in present)}\\right)", ATOM))
