"""Explanations in every form: as lines, in LaTeX, and as notebooks show them."""

from __future__ import annotations

from typing import Any

from gradcli.report.explanation import DIGITS, Explanation
from gradcli.report.lines import Line, Table
from gradcli.report.results import GradientRecord


class ShownExplanation(Explanation):
    """An explanation that can be shown: the picture of the graph, what is told, and the gradients."""

    __slots__ = ()
    record: GradientRecord[Any]

    def lines(self, digits: int | None = None, width: int | None = None) -> list[Line | Table]:
        """Return the lines of it."""
        from gradcli.report.explanation_lines import explanation_lines

        return explanation_lines(self, digits or DIGITS, width)

    def to_latex(self, digits: int | None = None) -> str:
        """The explanation as a part of a document in LaTeX."""
        from gradcli.report.explanation_latex import explanation_in_latex

        return explanation_in_latex(self)

    def _repr_html_(self) -> str:
        from gradcli.report.notebook import block, paragraphs, table, written
        from gradcli.report.pictures.svg import svg

        picture = svg(self, embedded=True) if self.nodes else ""
        told = paragraphs(line for why in self.why for line in why.lines)
        steps = [
            paragraphs([f"by {by}"]) + table(("rule", "derivative"), ((step.rule, step.formula) for step in derivation))
            for by, derivation in self.steps.items()
        ]
        rows = [(f"by {by}", written(found.value), str(len(found.paths) + found.left_out)) for by, found in self.gradients.items()]
        gradients = table(("gradient", "value", "paths"), rows) if rows else ""
        return block(self.record.expr, self.error, "".join([picture, told, *steps, gradients]))

    def _repr_latex_(self) -> str:
        from gradcli.report.latex import aligned

        lines = [f"&= {step.latex}" for steps in self.steps.values() for step in steps if step.latex]
        return aligned(lines or self.record.equations())
