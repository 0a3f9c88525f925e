"""Results as CSV: a row for each entry of each derivative, or for each point of a plot."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradcli.data import id_text
from gradcli.inert import csv_text
from gradcli.report.records import Record

if TYPE_CHECKING:
    from gradcli.report.ranges import PlotRecord

_FIELDS = ("id", "line", "expr", "variable", "index", "at", "gradient", "value")
HEADER = f"{','.join(_FIELDS)}\n"


class Row(NamedTuple):
    """One entry: of which derivative, where, and the numbers there; what there is not is None."""

    variable: str
    place: tuple[int, ...]
    at: Any = None
    gradient: Any = None
    value: Any = None


def csv_rows(record: Record, digits: int | None) -> str:
    """Return the rows of one record.

    A record with an error has one row without numbers in its place. Numbers are unchanged, and
    texts inert (`csv_text`).

    ``at``     the entry's own value (of a Hessian, that of the first name's entry)
    ``value``  the result's: repeated if it is one number, entry for entry if it has the shape of
               the variable, of a Jacobian that of the row. A result that fits no derivative has
               rows of its own, without a variable.
    """
    case = [
        record.id if _is_number(record.id) else csv_text(id_text(record.id)),
        record.line,
        csv_text(record.expr),
    ]
    return _text(
        [
            *case, csv_text(row.variable), " ".join(map(str, row.place)),
            *("" if number is None else _number(number, digits) for number in row[2:]),
        ]
        for row in _rows(record)
    )  # fmt: skip


def plot_rows(records: Sequence[PlotRecord]) -> str:
    """Return all rows below one heading.

    If there are several expressions, each row has its own, and cells of other columns are empty.
    """
    drawn = [record for record in records if record.error is None]
    headings = list(dict.fromkeys(heading for record in drawn for heading in record.columns))
    several = len(records) > 1
    found = (
        [[csv_text(heading) for heading in (["expr"] if several else []) + headings]]
        if drawn
        else []
    )
    for record in drawn:
        for cells in record.table or []:
            expr = [csv_text(record.expr)] if several else []
            found.append(
                expr
                + [
                    repr(cell)
                    if isinstance(cell := cells.get(h, ""), float)
                    else csv_text(str(cell))
                    for h in headings
                ]
            )
    return _text(found)


def _text(rows: Iterable[Sequence[Any]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _rows(record: Record) -> Iterator[Row]:
    if record.error is not None:
        yield Row("", ())
        return
    value = np.asarray(record.value)
    told = False
    for name, array in record.derivatives().items():
        derivative = np.asarray(array)
        at = None if record.mode == "jvp" else record.at.get(name.partition(",")[0])
        own = _spread(
            None if at is None else np.asarray(at),
            derivative.shape,
            value.ndim if record.mode == "jacobian" else 0,
        )
        results = _spread(
            value if record.mode == "jacobian" or value.shape in ((), derivative.shape) else None,
            derivative.shape,
        )
        told = told or (bool(derivative.size) and results is not None)
        for index in np.ndindex(derivative.shape):
            at, result = (None if numbers is None else numbers[index] for numbers in (own, results))
            yield Row(name, index, at, derivative[index], result)
    if not told:
        for index in np.ndindex(value.shape):
            yield Row("", index, value=value[index])


def _spread(
    numbers: np.ndarray | None, shape: tuple[int, ...], before: int = 0
) -> np.ndarray | None:
    """Broadcast numbers to the shape of a derivative.

    Some of the derivative's axes come before the numbers' own, and the others after.
    """
    if numbers is None:
        return None
    after = len(shape) - before - numbers.ndim
    return np.broadcast_to(numbers.reshape(numbers.shape + (1,) * after), shape)


def _is_number(id: Any) -> bool:
    return isinstance(id, (int, float)) and not isinstance(id, bool)


def _number(value: Any, digits: int | None) -> str:
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    return str(np.asarray(value)[()]) if digits is None else f"{float(value):.{digits}g}"
