"""Derivations as lines to read: each formula with its rule beside it, or above it where a line has no room for both."""

from __future__ import annotations

from collections.abc import Iterator

from gradcli.inert import display_width, padded, printable
from gradcli.report.explanation import Step

_ROOM = 78  # columns of a formula with its rule


def derivation_lines(name: str, steps: list[Step]) -> Iterator[tuple[str, str, str]]:
    """The lines of one derivation: what stands before a formula, the formula, and the rule."""
    yield f"d/d{printable(name)}", "", ""
    widest = max(display_width(printable(step.rule)) for step in steps)
    formulas = [printable(step.formula) for step in steps]
    room = max((width for text in formulas if (width := display_width(text)) + widest + 8 <= _ROOM), default=0)
    for step, formula in zip(steps, formulas, strict=True):
        rule = printable(step.rule)
        if display_width(formula) <= room:
            yield "  = ", padded(formula, room), f"   {rule}"
        else:
            yield "", "", f"    {rule}:"
            yield "  = ", formula, ""
