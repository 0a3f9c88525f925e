"""The cross-check of what is plotted: the expression at a few points of its ranges, each judged as `gradcli eval` judges it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gradcli.containment import contained
from gradcli.errors import EvaluationError, GradcliError
from gradcli.language.run import Program
from gradcli.language.tree import Assertion, Query
from gradcli.query.evaluate import run_statement
from gradcli.query.options import Options
from gradcli.report.plot_record import VALUE, PlotRecord
from gradcli.report.verdicts import Check, Verdict

_POINTS = 5
_GOLDEN = 0.6180339887498949
_CANDIDATES = 64


def cross_checked(
    record: PlotRecord, number: int, fresh: Callable[[Mapping[str, Any]], tuple[Program, list[str]]], options: Options
) -> None:
    """Put the gravest verdict of some points into a record, or the error of what cannot be judged at all.

    number  which query of its program it is, from 0
    fresh   the program with these values of the names, which has not been run, and its lines
    """
    try:
        record.check = _gravest(record, number, fresh, options)
    except Exception as error:
        record.fail(contained(error))
        return
    if record.check is None:
        record.notes.append("the cross-check has no point: none that was tried has a value and a derivative")


def _gravest(
    record: PlotRecord, number: int, fresh: Callable[[Mapping[str, Any]], tuple[Program, list[str]]], options: Options
) -> Check | None:
    gravest: Check | None = None
    for point in _points(record):
        check = _judged(point, number, fresh, replace(options, wrt=record.by), in_passing=gravest is not None)
        if check is None:
            continue
        record.points += 1
        if gravest is None or check.worst > gravest.worst:
            gravest = check
        if gravest.worst is Verdict.MISMATCH:
            break
    return gravest


def _points(record: PlotRecord) -> Iterator[dict[str, float]]:
    """Points of the ranges at which all that is drawn is finite, at no round numbers."""
    found = 0
    for i in range(1, _CANDIDATES):
        shares = [(i * _GOLDEN * (k + 1) + 0.17 * k) % 1.0 for k in range(len(record.ranges))]
        point = {name: low + (high - low) * share for (name, (low, high)), share in zip(record.ranges.items(), shares, strict=True)}
        if _is_drawn(record, point):
            found += 1
            yield point
        if found == _POINTS:
            return


def _is_drawn(record: PlotRecord, point: Mapping[str, float]) -> bool:
    where = list(point.values())
    if record.grid is not None:
        i, j = (int(np.argmin(np.abs(axis - x))) for axis, x in zip((record.grid.xs, record.grid.ys), where, strict=True))
        return bool(np.isfinite(record.grid.values[j, i]))
    for curve in record.curves:
        i = int(np.searchsorted(curve.xs, where[0]))
        if not np.isfinite(curve.heights[VALUE][max(0, i - 1) : i + 1]).all():
            return False
    return True


def _judged(
    point: Mapping[str, float],
    number: int,
    fresh: Callable[[Mapping[str, Any]], tuple[Program, list[str]]],
    options: Options,
    in_passing: bool,
) -> Check | None:
    """The verdict on one query of a program at one point; None where it has none. Raises what is no matter of the point."""
    program, lines = fresh({name: np.float64(value) for name, value in point.items()})
    program.scope.in_passing = in_passing
    queries = -1
    for statement in program.statements(lines):
        if isinstance(statement, (GradcliError, Assertion)):
            continue
        queries += isinstance(statement, Query)
        if not isinstance(statement, Query):
            run_statement(program, statement, replace(options, check=False))
        elif queries == number:
            record = run_statement(program, statement, options)
            if record is not None and record.error is not None and type(record.error.error) is not EvaluationError:
                raise record.error.error
            return None if record is None or record.error is not None else record.check
    return None
