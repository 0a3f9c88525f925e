"""What `gradcli plot` decides: curves of expressions and programs over ranges, each with its cross-check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gradcli.cli.decide.texts import Answers, Text
from gradcli.cli.inputs.ranges import PlotInputs
from gradcli.files.npy import folder_of
from gradcli.language.run import Program
from gradcli.language.tree import Query
from gradcli.query.bounds import refuse_unknown
from gradcli.query.options import Options
from gradcli.query.plot_marks import cross_checked
from gradcli.query.plots import plots
from gradcli.report.plot_record import PlotRecord


class Plotting(Answers[PlotRecord]):
    """The results of all inputs, in order."""

    kind, command = PlotRecord, "plot"

    def __init__(self, given: PlotInputs, check: bool, timeout: float | None, state: int) -> None:
        super().__init__(given.inputs, given.programs, state)
        self.asked, self.check, self.timeout = given.asked, check, timeout
        self.done: dict[Program, tuple[list[str], int]] = {}  # the lines of programs, and the number of their queries

    def records(self) -> Iterator[PlotRecord]:
        """The results in order. Raises UnknownNameError for a name with a range that none of the expressions has."""
        sound = True
        for record in super().records():
            sound = sound and record.error is None
            yield record
        if sound and len(self.done) == 1:
            refuse_unknown(next(iter(self.done)), self.asked.ranges)

    def of_program(self, text: Text, program: Program) -> Iterator[PlotRecord]:
        lines = list(text.lines)
        earlier, number = self.done.get(program, ([], 0))  # of a file whose names the expression sees
        load = self.programs.loader(None if text.path is None else folder_of(text.path))
        options = Options(formula=False, check=True, timeout=self.timeout)
        for record, statement in plots(program, lines, text.name, self.asked):
            if record.error is None and self.check and record.by:
                cross_checked(record, number, self._fresh([*earlier, *_ended(lines)], load), options)
            number += isinstance(statement, Query)
            yield record
        self.done[program] = _ended(lines), number

    def _fresh(self, lines: list[str], load: Any) -> Callable[[Mapping[str, Any]], tuple[Program, list[str]]]:
        def fresh(point: Mapping[str, Any]) -> tuple[Program, list[str]]:
            return self.programs.fresh(self.state, load, {**self.programs.values, **point}), lines

        return fresh


def _ended(lines: list[str]) -> list[str]:
    """Lines each of which has an end."""
    return [line if line.endswith("\n") else f"{line}\n" for line in lines]
