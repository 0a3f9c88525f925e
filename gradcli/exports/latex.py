"""Exports to LaTeX: equations of the value and of its partial derivatives.

Parts that the equations share have names of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from gradcli.exports.subject import Subject, describe, plain
from gradcli.formulas.printing import Latex
from gradcli.formulas.textbook import simplify
from gradcli.graph.nodes import Expr, interpret, reachable
from gradcli.notation import name
from gradcli.ops.spec import Op
from gradcli.ops.text import ATOM, LatexPiece
from gradcli.texts import printable

_LONGEST = 240  # characters beyond which a formula gets a name of its own
_SHORT = 40  # the same for a formula that is used more than once


class LatexFile:
    """Files of LaTeX: one environment for each query."""

    def file(self, subjects: Sequence[Subject]) -> str:
        """Return the text of a file."""
        return "\n\n".join(map(self._equations, subjects)) + "\n"

    def _equations(self, subject: Subject) -> str:
        subject = plain(subject)
        roots = simplify(subject.roots, subject.value.graph)
        shared = _Shared(roots, subject.labels)
        table = interpret(reachable(roots), shared)
        texts = [table[root][0] for root in roots]
        names = map(name, subject.parameters)
        head = f"f\\left({', '.join(names)}\\right)" if subject.parameters else "f"
        lines = [f"{sign} &= {text}" for sign, text in shared.lines]
        lines.append(f"{head} &= {texts[0]}")
        for by, text in zip(subject.gradients, texts[1:], strict=True):
            above = (
                "f"
                if not subject.value.shape
                else "\\sum f"
                if subject.seed == "ones"
                else "\\left\\langle v, f\\right\\rangle"
            )
            lines.append(f"\\frac{{\\partial {above}}}{{\\partial {name(by)}}} &= {text}")
        comment = [
            f"% {printable(line)}".rstrip()
            for line in describe(subject, {own: own for own in subject.parameters})
        ]
        return "\n".join(
            [
                *comment,
                "\\begin{align*}",
                *(f"    {line} \\\\" for line in lines[:-1]),
                f"    {lines[-1]}",
                "\\end{align*}",
            ]
        )


class _Shared(Latex):
    """Formulas whose long parts that stand in several places are equations of their own."""

    def __init__(self, roots: Sequence[Expr], labels: dict[Expr, str]) -> None:
        self.labels = labels
        order = reachable(roots)
        self.uses = Counter(operand for node in order for operand in node.given_operands)
        self.lines: list[tuple[str, str]] = []

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> LatexPiece:
        piece = super().operation(node, op, operands)
        is_shared = self.uses[node] > 1 and len(piece[0]) > _SHORT
        if not is_shared and len(piece[0]) <= _LONGEST and node not in self.labels:
            return piece
        label = self.labels.get(node)
        sign = name(label) if label is not None else f"t_{{{len(self.lines) + 1}}}"
        self.lines.append((sign, piece[0]))
        return LatexPiece((sign, ATOM))
