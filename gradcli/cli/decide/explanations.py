"""``gradcli explain``: queries evaluated as by `gradcli eval`, each with its explanation; derivations need no values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace

from gradcli.cli.decide.differentiation import Differentiation
from gradcli.cli.decide.evaluation import Evaluation
from gradcli.cli.inputs.option_values import explanation_format, limits_of, options_of
from gradcli.cli.inputs.positionals import Inputs, eval_inputs, programs_of
from gradcli.cli.request import ExplainRequest
from gradcli.cli.write.results import write_all, writer_for
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
    nothing = UsageError("nothing to explain")
    return write_all(explanations.all(), writer_for(request), nothing, request, inputs, "explain", explanations.remarks)


class Kept(Inputs):
    """Inputs whose lines are kept, so that standard input can be read twice."""

    def __init__(self, inputs: Inputs) -> None:
        super().__init__(inputs.expression, inputs.bindings, inputs.files, inputs.format)
        object.__setattr__(self, "_kept", {})

    def lines(self, path: str, limits: Limits) -> Iterator[str]:
        kept: dict[str, list[str]] = self.__dict__["_kept"]
        if path not in kept:
            kept[path] = list(super().lines(path, limits))
        return iter(kept[path])


class Explanations:
    """The explanations of all queries of a run, in order; asserts are evaluated, and explained by nothing."""

    def __init__(self, inputs: Inputs, programs: Programs, options: Options, state: int, asked: AskedExplanation | None = None) -> None:
        self._found: dict[int, ShownExplanation] = {}  # by records that are under way
        self.asked = asked or AskedExplanation()
        inputs = Kept(inputs) if self.asked.steps else inputs
        self.inputs, self.programs, self.options, self.state = inputs, programs, options, state
        programs.keeps_text = True
        self.derives = self.asked.steps and not self.asked.why and inputs.expression is not None  # where names have no values
        self.evaluation = Evaluation(inputs, programs, replace(options, observer=self._observe), state, self.derives)
        self.remarks = self.evaluation.remarks

    def all(self) -> Iterator[ShownExplanation]:
        """The explanations; of an expression whose names have no values, and whose derivation is asked for, that."""
        for record in self.evaluation.records():
            found = self._found.pop(id(record), None)
            if found is None or record.error is not None:
                lacks_values = record.error is not None and isinstance(record.error.error, MissingValueError)
                if lacks_values and self.derives:
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

        asked = Asked(
            self.options.wrt, 1, self.asked.latex, self.options.check, state=self.state, timeout=self.options.timeout, observer=observe
        )  # fmt: skip
        differentiation = Differentiation(self.inputs, self.programs, asked)
        for record in differentiation.records():
            if not self._is_of_the_expression(record):
                continue
            explanation = ShownExplanation(_as_record(record))
            general = made.get(id(record))
            if general is not None and record.error is None:
                explanation.steps = derivations(
                    general, {name: record.formulas[name,] for name in record.names if name not in self.options.freeze}
                )
            yield explanation

    def _is_of_the_expression(self, record: DerivativeRecord) -> bool:
        """Return whether a record is that of the expression, and not of a statement that it is made of."""
        expression = self.inputs.expression
        return record.file is None and (record.error is not None or not self.inputs.files or record.expr == (expression or "").strip())


def _as_record(record: DerivativeRecord) -> Record:
    """Return what a record of formulas says, as one of a query without a value."""
    return Record(**{each.name: getattr(record, each.name) for each in fields(Answer)})
