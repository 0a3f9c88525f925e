"""Explanations as notebooks show them: the picture of the graph, what is told, and the gradients."""

from __future__ import annotations

from typing import Any

from gradcli.inert import html_text
from gradcli.report.explanation import Explanation
from gradcli.report.explanation_json import as_dict
from gradcli.report.json_text import encoded
from gradcli.report.notebook import aligned, block, record_in_html, record_in_latex, table, written
from gradcli.report.pictures.svg import svg
from gradcli.report.results import GradientRecord


class ShownExplanation(Explanation):
    """An explanation that a notebook can show."""

    __slots__ = ()
    record: GradientRecord[Any]

    def to_dict(self) -> dict[str, Any]:
        """The explanation as ``gradcli explain --format jsonl`` writes it, as plain data."""
        return as_dict(self)

    def to_json(self) -> str:
        """One line of JSON Lines."""
        return encoded(as_dict(self))

    def _repr_html_(self) -> str:
        return explanation_in_html(self)

    def _repr_latex_(self) -> str:
        return explanation_in_latex(self)


def explanation_in_html(explanation: Explanation) -> str:
    """The picture of its graph, stories and derivations, and the gradients with their largest paths."""
    if explanation.error is not None:
        return record_in_html(explanation.record)
    picture = svg(explanation, embedded=True) if explanation.nodes else ""
    told = "".join(f"<p>{html_text(line)}</p>" for why in explanation.why for line in why.lines)
    steps = "".join(
        f"<p>by {html_text(by)}</p>" + table(("rule", "derivative"), ((step.rule, step.formula) for step in derivation))
        for by, derivation in explanation.steps.items()
    )
    rows = [
        (f"by {by}", written(gradient.value), str(len(gradient.paths) + gradient.left_out))
        for by, gradient in explanation.gradients.items()
    ]  # fmt: skip
    gradients = table(("gradient", "value", "paths"), rows) if rows else ""
    return block(explanation.record.expr, picture + told + steps + gradients)


def explanation_in_latex(explanation: Explanation) -> str:
    """The value and the gradients; derivations that were asked for, in their place."""
    lines = [f"&= {step.latex}" for steps in explanation.steps.values() for step in steps if step.latex]
    return aligned(lines) if lines else record_in_latex(explanation.record)
