"""What `gradcli plot` decides: curves of expressions and programs over ranges, each with its cross-check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gradcli.cli.decide.texts import texts
from gradcli.cli.inputs.ranges import PlotInputs
from gradcli.containment import contained
from gradcli.errors import GradcliError, UsageError
from gradcli.files.opening import folder_of
from gradcli.language.run import Program
from gradcli.language.tree import Query
from gradcli.query.bounds import refuse_unknown
from gradcli.query.options import Options
from gradcli.query.plot_checks import cross_checked
from gradcli.query.plots import plots
from gradcli.report.plot_record import PlotRecord


class Plotting:
    """The results of all inputs, in order."""

    def __init__(self, given: PlotInputs, check: bool, timeout: float | None, state: int) -> None:
        self.inputs, self.programs, self.asked = given.inputs, given.programs, given.asked
        self.check, self.timeout, self.state = check, timeout, state

    def records(self) -> Iterator[PlotRecord]:
        """The results in order. Raises UnknownNameError for a name with a range that none of the expressions has."""
        programs: list[Program] = []
        sound = True
        before: tuple[Program, list[str], int] | None = None  # a file whose names the expression sees
        for text in texts(self.inputs, self.programs, self.state):
            if text.program is None:
                raise UsageError("'gradcli plot' reads programs, not records")
            lines: list[str] = []
            number = 0
            earlier, passed = (before[1], before[2]) if before is not None and before[0] is text.program else ([], 0)
            try:
                lines = list(text.lines)
                for record, statement in plots(text.program, lines, text.name, self.asked):
                    if record.error is None and self.check and self.asked_by(record):
                        load = self.programs.loader(None if text.path is None else folder_of(text.path))
                        cross_checked(record, passed + number, self._fresh([*earlier, *_ended(lines)], load), Options(
                            formula=False, check=True, timeout=self.timeout,
                        ))  # fmt: skip
                    number += isinstance(statement, Query)
                    sound = sound and record.error is None
                    yield record
            except GradcliError as error:
                sound = False
                yield PlotRecord.of_error(error)
            except Exception as error:
                sound = False
                yield PlotRecord.of_error(contained(error))
            programs.append(text.program)
            before = text.program, _ended(lines), number
        if sound and len(programs) == 1:
            refuse_unknown(programs[0], self.asked.ranges)

    @staticmethod
    def asked_by(record: PlotRecord) -> bool:
        """Whether there is a derivative to be judged."""
        return bool(record.by)

    def _fresh(self, lines: list[str], load: Any) -> Callable[[Mapping[str, Any]], tuple[Program, list[str]]]:
        def fresh(point: Mapping[str, Any]) -> tuple[Program, list[str]]:
            return self.programs.fresh(self.state, load, {**self.programs.values, **point}), lines

        return fresh


def _ended(lines: list[str]) -> list[str]:
    """Lines each of which has an end."""
    return [line if line.endswith("\n") else f"{line}\n" for line in lines]
