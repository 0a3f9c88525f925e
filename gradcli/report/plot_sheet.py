"""What is said beside a picture of curves, for people: the expression, its range, places that are not smooth, and the verdict."""

from __future__ import annotations

from collections.abc import Sequence

from gradcli.errors import text_lines
from gradcli.inert import one_line, padded, printable, shown
from gradcli.report.bound_sheet import place_of
from gradcli.report.derivative_sheet import Line, label_width
from gradcli.report.plot_record import PlotRecord
from gradcli.report.verdicts import Verdict

_SOURCES = {"symbolic": "sympy's derivative", "composed": "the composed reference"}
_MOST = 12  # marks that are listed
_LONGEST = 300  # characters of a mark's text


def title(record: PlotRecord) -> list[str]:
    """The expression as it was given, and the ranges."""
    box = ", ".join(f"{low!r} <= {name} <= {high!r}" for name, (low, high) in record.ranges.items())
    return [*(printable(line) for line in text_lines(record.expr, keepends=False)), printable(f"  for {box}")]


def lines_of(record: PlotRecord) -> list[Line]:
    """What is shown below the expression of a record without an error."""
    facts = {"read as": record.read_as, "dialect": record.dialect}
    lines = [Line(label, printable(fact), "fact") for label, fact in facts.items() if fact is not None]
    several = len(record.curves) > 1
    for curve, mark in record.marks[:_MOST]:
        said = mark.text.removeprefix(f"{mark.kind} ")  # which is the label
        text = one_line(f"{curve.label}: {said}" if several else said, _LONGEST)
        lines.append(Line(mark.kind, text, "note"))
    if len(record.marks) > _MOST:
        lines.append(Line("", f"and {len(record.marks) - _MOST} more places, which --format json lists", "note"))
    for note in record.regions[:_MOST]:
        lines.append(Line(note.kind, one_line(f"{note.text}: {place_of(note.where)}" if note.where else note.text, _LONGEST), "note"))
    if record.grid is not None and record.grid.levels:
        lines.append(Line("levels", ", ".join(f"{level:.6g}" for level in record.grid.levels), "fact"))
    if record.check is not None:
        lines.append(Line("check", printable(verdict_text(record)), "verdict"))
    return lines + [Line("note", printable(text), "note") for text in (*record.notes, *record.warnings)]


def verdict_text(record: PlotRecord) -> str:
    """The verdict, by whom, and at how many points."""
    check = record.check
    assert check is not None
    word = check.worst.word
    if check.worst is not Verdict.AGREE:
        reasons = [part.reason for part in check.variables.values() if part.reason]
        reason = check.reason or (reasons[0] if reasons else None)
        return f"{word}: {reason}" if reason else word
    sources = sorted({_SOURCES[part.decided_by] for part in check.variables.values() if part.decided_by in _SOURCES})
    where = f"at {record.points} points of the range" if record.points > 1 else "at one point of the range"
    return f"{word} with {' and '.join(sources)} {where}" if sources else f"{word} {where}"


def text_of(records: Sequence[PlotRecord]) -> str:
    """Records for pipes and files, below their picture."""
    texts = []
    for record in records:
        lines = lines_of(record)
        width = label_width(lines)
        below = [f"  {padded(line.label, width)}{line.text}".rstrip() for line in lines]
        texts.append(shown("\n".join([*title(record), *below])) + "\n")
    return "\n".join(texts)
