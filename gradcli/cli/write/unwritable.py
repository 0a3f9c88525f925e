"""What takes the place of a result that cannot be written: an error that says so, so that neither it nor another one is lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gradcli.containment import contained
from gradcli.inert import clipped

if TYPE_CHECKING:
    from gradcli.report.outcomes import Outcome, Report

_LONGEST = 2000  # characters of a text that is told again


def written(write: Callable[[Any], None], record: Any) -> None:
    """Write a record. If that fails it becomes its own error, as which it is written: with its id and text, or without them."""
    try:
        write(record)
    except OSError:  # the output takes nothing any more
        raise
    except Exception as error:
        record.fail(contained(error))
        try:
            write(record)
        except OSError:
            raise
        except Exception:
            _strip(record)
            write(record)


def _strip(result: Any) -> None:
    record = getattr(result, "record", result)  # of an explanation
    record.expr = clipped(record.expr, _LONGEST) if isinstance(record.expr, str) else ""
    record.read_as = record.id = record.meta = None
    record.warnings = []


def reported(report: Report, outcome: Outcome) -> bool:
    """Give a report an outcome, or an error in its place; whether it was the outcome itself."""
    try:
        report.add(outcome)
    except OSError:
        raise
    except Exception as error:
        from gradcli.report.outcomes import ERROR

        record = replace(outcome.record, relations=[], refuted=[], warnings=[]).fail(contained(error))
        _strip(record)
        report.add(replace(outcome, record=record, name=f"line {record.line}", status=ERROR, reason=None, details=[], identity=None))
        return False
    return True
