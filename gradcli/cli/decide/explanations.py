"""What `gradcli explain` decides: queries evaluated as by `gradcli eval`, each with its explanation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gradcli.cli.decide.evaluation import Evaluation
from gradcli.cli.inputs.positionals import Inputs
from gradcli.explain.explaining import explained
from gradcli.graph.nodes import Expr
from gradcli.language.run import Lowered, Program
from gradcli.query.options import Options
from gradcli.query.programs import Programs
from gradcli.report.explanation import Explanation
from gradcli.report.records import Record


class Explanations:
    """The explanations of all queries of a run, in order; asserts are evaluated, and explained by nothing."""

    def __init__(self, inputs: Inputs, programs: Programs, options: Options, state: int, why: Sequence[str] = ()) -> None:
        self.why = why
        self._found: dict[int, Explanation] = {}  # by records that are under way
        programs.keeps_text = True
        self.evaluation = Evaluation(inputs, programs, replace(options, observer=self._observe), state)

    def all(self) -> Iterator[Explanation]:
        for record in self.evaluation.records():
            found = self._found.pop(id(record), None)
            if found is None or record.error is not None:
                found = Explanation(record)
            yield found

    def _observe(self, program: Program, lowered: Lowered, wrt: Mapping[str, Expr], record: Record) -> None:
        self._found[id(record)] = explained(program, lowered, wrt, record, self.why)
