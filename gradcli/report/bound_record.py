"""Ranges over a box: what came of one query of ``gradcli bound``, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gradcli.errors import GradcliError
from gradcli.inert import well_formed
from gradcli.report.dictionaries import SCHEMA, failure_dict
from gradcli.report.json_text import number, plain_data
from gradcli.report.records import Failure

Ends = tuple[float, float]
Point = dict[str, float]


class Bound(NamedTuple):
    """A range, and the points where the furthest values were found; None where none was."""

    low: float
    high: float
    at_low: Point | None = None
    at_high: Point | None = None


class BoundNote(NamedTuple):
    """What is to be said of a place: "pole", "domain", "kink", "jump"; of no place: "limit", "uncertified"."""

    kind: str
    where: dict[str, Ends]
    text: str


@dataclass(eq=False)
class BoundRecord:
    """The range of one expression and of its derivatives over a box, outward rounded."""

    expr: str
    file: str | None = None
    line: int = 1
    column: int = 1
    record_line: bool = False
    read_as: str | None = None
    dialect: str | None = None
    box: dict[str, Ends] = field(default_factory=dict)
    value: Bound | None = None
    grad: dict[str, Bound] = field(default_factory=dict)
    certified: bool = True
    notes: list[BoundNote] = field(default_factory=list)
    lipschitz: dict[str, float | None] | None = None
    warnings: list[str] = field(default_factory=list)
    error: Failure | None = None

    def fail(self, error: GradcliError) -> BoundRecord:
        """The record, with an error in the place of ranges."""
        self.error = Failure.of(error)
        self.value, self.grad, self.notes, self.lipschitz = None, {}, [], None
        return self


def as_dict(record: BoundRecord) -> dict[str, Any]:
    """The whole record, in the order in which it is documented."""
    failed = record.error is not None
    return {
        "schema": SCHEMA,
        "source": {"file": record.file, "line": record.line, "column": record.column},
        "expr": well_formed(record.expr),
        **({} if record.read_as is None else {"read_as": well_formed(record.read_as)}),
        **({} if record.dialect is None else {"dialect": record.dialect}),
        "box": {name: _ends(ends) for name, ends in record.box.items()},
        "value": None if record.value is None else _ends(record.value[:2]),
        "grad": None if failed else {name: _ends(bound[:2]) for name, bound in record.grad.items()},
        "at": None if record.value is None else {"value": _points(record.value), "grad": {n: _points(b) for n, b in record.grad.items()}},
        "certified": None if failed else record.certified,
        "notes": [
            {"kind": note.kind, "where": {name: _ends(ends) for name, ends in note.where.items()}, "text": well_formed(note.text)}
            for note in record.notes
        ],
        **({} if record.lipschitz is None else {"lipschitz": plain_data(record.lipschitz)}),
        "warnings": [well_formed(text) for text in record.warnings],
        "error": None if record.error is None else failure_dict(record.error),
    }


def _ends(ends: Any) -> list[float | str]:
    return [number(end) for end in ends]


def _points(bound: Bound) -> dict[str, Any]:
    return {"low": plain_data(bound.at_low), "high": plain_data(bound.at_high)}
