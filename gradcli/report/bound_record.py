"""Ranges over a box: what came of one query of ``gradcli bound``, as plain data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gradcli.inert import printable
from gradcli.report.lines import Line, Table, labelled, notes
from gradcli.report.records import Answer

Ends = tuple[float, float]
Point = dict[str, float]
_SHOWN_DIGITS = 6  # of the place where a bound is attained


class Bound(NamedTuple):
    """A range, and the points where the furthest values were found; None where none was."""

    low: float
    high: float
    at_low: Point | None = None
    at_high: Point | None = None


class BoundNote(NamedTuple):
    """A remark about a place: "pole", "domain", "kink", "jump"; of no place: "limit"."""

    kind: str
    where: dict[str, Ends]
    text: str

    @property
    def said(self) -> str:
        """The text with the place: ``x = 0``, ``-1 <= x <= 0``."""
        where = [f"{name} = {low!r}" if low == high else f"{low!r} <= {name} <= {high!r}" for name, (low, high) in self.where.items()]
        return f"{self.text}: {', '.join(where)}" if where else self.text


@dataclass(eq=False, repr=False)
class BoundRecord(Answer):
    """The range of one expression and of its derivatives over a box, outward rounded."""

    RESULT = ("value", "grad", "notes", "lipschitz")
    JSON = (
        "schema source expr read_as? dialect? box value=ends grad=ends_of_derivatives at=places certified=is_certified notes lipschitz? "
        "warnings error"
    )

    box: dict[str, Ends] = field(default_factory=dict)
    value: Bound | None = None
    grad: dict[str, Bound] = field(default_factory=dict)
    notes: list[BoundNote] = field(default_factory=list)
    lipschitz: dict[str, float | None] | None = None

    @property
    def ends(self) -> list[float] | None:
        """The range of the value, as JSON has it."""
        return None if self.value is None else [*self.value[:2]]

    @property
    def ends_of_derivatives(self) -> dict[str, list[float]] | None:
        """The ranges of the derivatives, as JSON has them."""
        return None if self.error is not None else {name: [*bound[:2]] for name, bound in self.grad.items()}

    @property
    def is_certified(self) -> bool | None:
        """True if the ranges are proved; None where there are none."""
        return None if self.error is not None else True

    @property
    def places(self) -> dict[str, Any] | None:
        """The points where the furthest values were found, as JSON has them."""
        if self.value is None:
            return None
        return {"value": _points(self.value), "grad": {name: _points(bound) for name, bound in self.grad.items()}}

    def lines(self, digits: int | None = None, width: int | None = None) -> list[Line | Table]:
        """The ranges, and where they are not smooth."""
        d = "d/d{}" if len(self.grad) == 1 else "∂/∂{}"
        found = {} if self.value is None else {"value": self.value}
        found |= {printable(d.format(name)): bound for name, bound in self.grad.items()}
        norms = {f"norm {name}": "unbounded" if most is None else f"at most {most!r}" for name, most in (self.lipschitz or {}).items()}
        return [
            *self._head(box_text(self.box)),
            *(labelled(label, _range(bound, self.box), "formula") for label, bound in found.items()),
            *(labelled(printable(label), norm, "formula") for label, norm in norms.items()),
            labelled("proved", "yes, by interval arithmetic"),
            *(labelled(note.kind, note.said, "note") for note in self.notes),
            *notes(self.warnings),
        ]


def _points(bound: Bound) -> dict[str, Point | None]:
    return {"low": bound.at_low, "high": bound.at_high}


def box_text(box: dict[str, Ends]) -> str:
    """The box below an expression."""
    return f"  for {', '.join(f'{low!r} <= {name} <= {high!r}' for name, (low, high) in box.items())}"


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
