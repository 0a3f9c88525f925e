"""Explanations as LaTeX: tables of the forward and the backward pass, and the gradients with their paths; amsmath is all it needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gradcli.inert import ends_of, latex_text
from gradcli.notation import name as spelled
from gradcli.report.explanation import Explanation
from gradcli.report.number_text import short

_DIGITS = 5
_LONGEST = 30  # characters of a text in a table
_MOST = 200  # nodes that are listed
_SIGNS = {
    "×": r"$\times$", "→": r"$\to$", "…": r"\dots{}", "·": r"$\cdot$", "²": r"${}^2$", "³": r"${}^3$", "√": r"$\surd$", "∂": r"$\partial$",
    **{letter: f"${spelled(letter)}$" for letter in "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩ"},
}  # fmt: skip


def explanation_in_latex(explanation: Explanation) -> str:
    """Tables of the forward and the backward pass, and the gradients with their paths."""
    return "\n".join(_lines(explanation)) + "\n"


def _lines(explanation: Explanation) -> Iterator[str]:
    yield rf"\paragraph{{{_text(explanation.record.expr)}}}"
    if explanation.why:
        yield from (_plain(line) + r"\\" for each in explanation.why for line in each.lines)
        return
    if explanation.steps:
        for name, steps in explanation.steps.items():
            yield r"\begin{align*}"
            yield " \\\\\n".join(rf"  &= {step.latex} && \text{{{_plain(step.rule)}}}" for step in steps if step.latex is not None)
            yield rf"\end{{align*}} % by {_plain(name)}"
        return
    if len(explanation.nodes) > _MOST:
        yield f"{len(explanation.nodes):,} nodes, too many for a table."
    else:
        yield from _forward(explanation)
        yield from _backward(explanation)
    yield from _gradients(explanation)


def _forward(explanation: Explanation) -> Iterator[str]:
    yield r"{\footnotesize\begin{tabular}{rllll}"
    yield r"node & text & operation & value & adjoint \\ \hline"
    for node in explanation.nodes:
        operands = " ".join(map(str, node.operands))
        operation = _plain(f"{node.function or node.op} {operands}".strip())
        yield f"{node.id} & {_text(node.label)} & {operation} & {_number(node.value)} & {_number(node.adjoint)} " + r"\\"
    yield r"\end{tabular}}"
    yield ""


def _backward(explanation: Explanation) -> Iterator[str]:
    if not explanation.backward:
        return
    yield r"{\footnotesize\begin{tabular}{rrlll}"
    yield r"from & to & local derivative & & contribution \\ \hline"
    for each in explanation.backward:
        formula = _text(each.partial if each.partial is not None else each.rule or "")
        yield f"{each.node} & {each.operand} & {formula} & {_number(each.local)} & {_number(each.passed)} " + r"\\"
    yield r"\end{tabular}}"
    yield ""


def _gradients(explanation: Explanation) -> Iterator[str]:
    for name, gradient in explanation.gradients.items():
        yield rf"\paragraph{{Gradient by {_text(name)}: {_number(gradient.value)}}}"
        if gradient.paths:
            yield r"\begin{itemize}"
            for path in gradient.paths:
                steps = r" $\to$ ".join(_text(explanation.node(id).label) for id in path.nodes[:8])
                yield rf"\item {_number(path.contribution)} by {steps}" + (r" $\to$ \dots" if len(path.nodes) > 8 else "")
            if gradient.left_out:
                yield rf"\item and {gradient.left_out:,} smaller paths, together {_number(gradient.rest)}"
            yield r"\end{itemize}"


def _text(text: str) -> str:
    """Text of the user's, as it was typed."""
    return rf"\texttt{{{_plain(ends_of(text, _LONGEST))}}}" if text else ""


def _plain(text: str) -> str:
    """Text outside of formulas: a backslash by its number, and the signs that only formulas have."""
    return "".join(_SIGNS.get(character, character) for character in latex_text(text).replace("\\backslash ", "\\char92 "))


def _number(value: Any) -> str:
    return _plain(short(value, _DIGITS, 3))
