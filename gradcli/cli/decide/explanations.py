"""``gradcli explain``: queries evaluated as by `gradcli eval`, each with its explanation; derivations need no values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from functools import cache

from gradcli.cli.decide.differentiation import Differentiation
from gradcli.cli.decide.running import Evaluation
from gradcli.cli.inputs.option_values import explanation_format, limits_of, options_of
from gradcli.cli.inputs.positionals import Inputs, eval_inputs, programs_of
from gradcli.cli.request import ExplainRequest
from gradcli.cli.write.results import writer_for
from gradcli.errors import MissingValueError, UsageError
from gradcli.explanations.derivation import derivations
from gradcli.explanations.explaining import AskedExplanation, explained
from gradcli.graph.nodes import Expr
from gradcli.language.run import Lowered, Program
from gradcli.limits import Limits
from gradcli.query.bindings import Programs
from gradcli.query.general_derivatives import Asked
from gradcli.query.general_formulas import General
from gradcli.query.options import Options
from gradcli.report.derivative_record import DerivativeRecord
from gradcli.report.records import Answer, Record
from gradcli.report.shown_explanation import ShownExplanation


def explain(request: ExplainRequest) -> int:
    """Explain everything that was asked for."""
    request = request.but(output_format=explanation_format(request))
    limits = limits_of(request)
    options = options_of(request, "explain")
    inputs = eval_inputs(request)
    asked = AskedExplanation(request.why, request.steps, request.latex or request.output_format == "latex")
    explanations = Explanations(inputs, programs_of(request, inputs, limits), options, request.random_state, asked)
    return explanations.write(writer_for(request), UsageError("nothing to explain"), request.fail_fast)


class Kept(Inputs):
    """Inputs whose lines are kept, so that standard input can be read twice."""

    @cache  # noqa: B019 - for as long as the run
    def lines(self, path: str, limits: Limits) -> list[str]:  # type: ignore[override]
        return [*super().lines(path, limits)]


class Explanations(Evaluation):
    """The explanations of all queries; asserts are evaluated, and explained by nothing."""

    command = "explain"

    def __init__(self, inputs: Inputs, programs: Programs, options: Options, state: int, asked: AskedExplanation | None = None) -> None:
        self._found: dict[int, ShownExplanation] = {}  # by records that are under way
        self.asked = asked or AskedExplanation()
        self.free = self.asked.steps and not self.asked.why and inputs.expression is not None  # derivations need no values
        if self.free:
            inputs = Kept(*(getattr(inputs, each.name) for each in fields(inputs)))
        programs.keeps_text = True
        super().__init__(inputs, programs, replace(options, observer=self._observe), state)

    def answers(self) -> Iterator[ShownExplanation]:
        """The explanations; of an expression whose names have no values, and whose derivation is asked for, that."""
        for record in super().answers():
            found = self._found.pop(id(record), None)
            if found is None or record.error is not None:
                if self.free and record.error is not None and isinstance(record.error.error, MissingValueError):
                    yield from self._derived()
                    return
                found = ShownExplanation(record)
            yield found

    def _observe(self, program: Program, lowered: Lowered, wrt: Mapping[str, Expr], record: Record) -> None:
        self._found[id(record)] = explained(program, lowered, wrt, record, self.asked)

    def _derived(self) -> Iterator[ShownExplanation]:
        """Derivations for all values of the names, as `gradcli diff` has the formulas."""
        made: dict[int, General] = {}

        def observe(general: General, record: DerivativeRecord) -> None:
            made[id(record)] = general

        options, expression = self.options, self.inputs.expression or ""
        asked = Asked(options.wrt, 1, self.asked.latex, options.check, state=self.state, timeout=options.timeout, observer=observe)
        for record in Differentiation(self.inputs, self.programs, asked).answers():
            if record.file is not None or (record.error is None and self.inputs.files and record.expr != expression.strip()):
                continue  # a statement that the expression is made of
            explanation = ShownExplanation(Record(**{each.name: getattr(record, each.name) for each in fields(Answer)}))
            general = made.get(id(record))
            if general is not None and record.error is None:
                explanation.steps = derivations(
                    general, {name: record.formulas[name,] for name in record.names if name not in options.freeze}
                )
            yield explanation
