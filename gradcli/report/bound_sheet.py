"""Ranges over a box, for people: as text, and the parts of which a terminal makes its own picture."""

from __future__ import annotations

import math

from gradcli.errors import text_lines
from gradcli.inert import padded, printable, shown
from gradcli.report.bound_record import Bound, BoundNote, BoundRecord, Ends, Point
from gradcli.report.derivative_sheet import Line, label_width

_SHOWN_DIGITS = 6  # of the place where a bound is attained


def title(record: BoundRecord) -> list[str]:
    """The expression as it was given, and the box."""
    box = ", ".join(f"{low!r} <= {name} <= {high!r}" for name, (low, high) in record.box.items())
    return [*(printable(line) for line in text_lines(record.expr, keepends=False)), printable(f"  for {box}")]


def lines_of(record: BoundRecord) -> list[Line]:
    """What is shown below the expression of a record without an error."""
    facts = {"read as": record.read_as, "dialect": record.dialect}
    lines = [Line(label, printable(fact), "fact") for label, fact in facts.items() if fact is not None]
    if record.value is not None:
        lines.append(Line("value", printable(_range(record.value, record.box)), "formula"))
    one = len(record.grad) == 1
    for name, bound in record.grad.items():
        lines.append(Line(printable(f"d/d{name}" if one else f"∂/∂{name}"), printable(_range(bound, record.box)), "formula"))
    for name, most in (record.lipschitz or {}).items():
        lines.append(Line(printable(f"norm {name}"), "unbounded" if most is None else f"at most {most!r}", "formula"))
    lines.append(Line("proved", "yes, by interval arithmetic" if record.certified else "no: see the notes", "fact"))
    lines += [Line(note.kind, printable(_note(note)), "note") for note in record.notes]
    return [*lines, *(Line("note", printable(warning), "note") for warning in record.warnings)]


def _range(bound: Bound, box: dict[str, Ends]) -> str:
    text = f"[{bound.low!r}, {bound.high!r}]"
    sides = (("low", bound.low, bound.at_low), ("high", bound.high, bound.at_high))
    places = [f"{word} at {_point(point, box)}" for word, end, point in sides if point and math.isfinite(end)]
    return f"{text}  {', '.join(places)}" if places and bound.low != bound.high else text


def _point(point: Point, box: dict[str, Ends]) -> str:
    """A point, as exactly as is of interest in the box."""
    units = {name: 10.0 ** math.floor(math.log10(high - low or 1.0)) for name, (low, high) in box.items()}
    rounded = {name: round(value / units[name], _SHOWN_DIGITS) * units[name] + 0.0 for name, value in point.items()}
    return " ".join(f"{name}={value:.{_SHOWN_DIGITS}g}" for name, value in rounded.items())


def _note(note: BoundNote) -> str:
    where = place_of(note.where)
    return f"{note.text}: {where}" if where else note.text


def place_of(where: dict[str, Ends]) -> str:
    """A box in words: ``x = 0``, ``-1 <= x <= 0``."""
    return ", ".join(f"{name} = {low!r}" if low == high else f"{low!r} <= {name} <= {high!r}" for name, (low, high) in where.items())


def text_of(record: BoundRecord) -> str:
    """A record for pipes and files, ending in a newline."""
    lines = lines_of(record)
    width = label_width(lines)
    below = [f"  {padded(line.label, width)}{line.text}".rstrip() for line in lines]
    return shown("\n".join([*title(record), *below])) + "\n"
