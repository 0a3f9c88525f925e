"""Derivatives as formulas, for people: as text, as LaTeX, and the parts of which a terminal makes its own picture."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from gradcli.errors import text_lines
from gradcli.inert import display_width, latex_comment, padded, printable, shown
from gradcli.notation import name as latex_name
from gradcli.report.derivative_record import DerivativeRecord, Path, operator
from gradcli.report.verdicts import Verdict

_SOURCES = {"symbolic": "sympy's derivative", "composed": "the composed reference"}
_TOO_LONG = "(too long to be shown)"


class Line(NamedTuple):
    """A line below an expression: what it is called, what it says, and what it is about."""

    label: str
    text: str
    kind: str  # "formula", "verdict", "note" or "fact"


def title(record: DerivativeRecord) -> list[str]:
    """The expression as it was given."""
    return [printable(line) for line in text_lines(record.expr, keepends=False)]


def lines_of(record: DerivativeRecord) -> list[Line]:
    """What is shown below the expression of a record without an error."""
    facts = {"read as": record.read_as, "dialect": record.dialect}
    lines = [Line(label, printable(fact), "fact") for label, fact in facts.items() if fact is not None]
    for path, text in formulas(record).items():
        lines.append(Line(printable(operator(path, record.partial)), printable(text or _TOO_LONG), "formula"))
    if record.check is not None:
        lines.append(Line("check", printable(verdict_text(record)), "verdict"))
    return [*lines, *(Line("note", printable(warning), "note") for warning in record.warnings)]


def formulas(record: DerivativeRecord) -> dict[Path, str | None]:
    """The formulas of the order that was asked for, each once."""
    return {path: formula.text for path, formula in record.formulas.items() if len(path) == record.order}


def verdict_text(record: DerivativeRecord) -> str:
    """The verdict, by whom, and where."""
    check = record.check
    assert check is not None
    word = check.worst.word
    if check.worst is not Verdict.AGREE:
        return f"{word}: {check.reason}" if check.reason else word
    sources = sorted({_SOURCES[part.decided_by] for part in check.variables.values() if part.decided_by in _SOURCES})
    where = (
        f"at {record.points} points" if record.points > 1 else "at one point" if record.points else "at the given values and around them"
    )
    return f"{word} with {' and '.join(sources)} {where}" if sources else f"{word} {where}"


def text_of(record: DerivativeRecord) -> str:
    """A record for pipes and files, ending in a newline."""
    lines = lines_of(record)
    width = label_width(lines)
    below = [f"  {padded(line.label, width)}{line.text}".rstrip() for line in lines]
    return shown("\n".join([*title(record), *below])) + "\n"


def label_width(lines: list[Line]) -> int:
    """The columns of the labels, as in other results where they are short."""
    return max([9, *(display_width(line.label) + 2 for line in lines)])


def latex_of(record: DerivativeRecord) -> str:
    """An ``align*`` of one record, its expression in a comment."""
    picture = record.picture or "f"
    operand = picture if picture == "f" else f"\\left({picture}\\right)"
    rows = []
    for path in formulas(record):
        formula = record.formulas[path].latex or "\\text{a longer formula}"
        rows.append(f"{_fraction(path, record.partial)} {operand} &= {formula}")
    comment = latex_comment("\n".join(title(record)))
    return f"{comment}\\begin{{align*}}\n" + " \\\\\n".join(rows or [f"{picture} &= \\text{{a constant}}"]) + "\n\\end{align*}\n"


def _fraction(path: Path, partial: bool) -> str:
    d = "\\partial" if partial else "d"
    above = f"{d}^{{{len(path)}}}" if len(path) > 1 else d
    parts = []
    for name, count in Counter(path).items():
        symbol = latex_name(name)
        space = " " if partial or symbol.startswith("\\") else ""
        parts.append(f"{d}{space}{symbol}" + (f"^{{{count}}}" if count > 1 else ""))
    return f"\\frac{{{above}}}{{{' '.join(parts)}}}"
