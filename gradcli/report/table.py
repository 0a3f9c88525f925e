"""Records as CSV: a row for each entry of each gradient."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np

from gradcli.report.records import Record

_FIELDS = ("id", "line", "variable", "index", "value", "gradient")
HEADER = ",".join(_FIELDS) + "\n"


def csv_rows(record: Record, digits: int | None) -> str:
    """The rows of one record; ``value`` is the output's value, if it is one number."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    value = _number(record.value, digits) if np.ndim(record.value) == 0 else ""
    identity = "" if record.id is None else record.id
    rows = _entries(record)
    if not rows:
        flat = np.asarray(record.value)
        rows = [("", index, None) for index in np.ndindex(flat.shape)]
        for _, index, _gradient in rows:
            writer.writerow([identity, record.line, "", _index(index), _number(flat[index], digits), ""])
        return out.getvalue()
    for name, index, gradient in rows:
        writer.writerow([identity, record.line, name, _index(index), value, _number(gradient, digits)])
    return out.getvalue()


def _entries(record: Record) -> list[tuple[str, tuple[int, ...], Any]]:
    arrays = record.derivatives()
    return [(name, index, np.asarray(array)[index]) for name, array in arrays.items() for index in np.ndindex(np.shape(array))]


def _index(index: tuple[int, ...]) -> str:
    return " ".join(str(i) for i in index)


def _number(value: Any, digits: int | None) -> str:
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    return str(np.asarray(value)[()]) if digits is None else f"{float(value):.{digits}g}"
