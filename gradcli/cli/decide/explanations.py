"""``gradcli diff``: derivatives as formulas.

``gradcli explain``: queries evaluated as by `eval`, each with its explanation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from typing import Any

from gradcli.cli.commands import DiffRequest, ExplainRequest
from gradcli.cli.decide.running import (
    Evaluation,
    Inputs,
    Run,
    eval_inputs,
    kind_by_suffix,
    options_of,
    programs_of,
    words_of,
    writer_for,
)
from gradcli.errors import MissingValueError, UsageError
from gradcli.explanations.derivation import derive
from gradcli.explanations.explaining import explain_record
from gradcli.limits import Limits
from gradcli.options import Options, names_of
from gradcli.query.general_derivatives import derivatives, refuse_absent
from gradcli.query.programs import Programs, Script
from gradcli.query.related import related_of, with_equations
from gradcli.report.derivative_record import DerivativeRecord
from gradcli.report.records import Answer, Record
from gradcli.report.shown_explanation import ShownExplanation
from gradcli.texts import PLAIN_NAME

# -- ``gradcli diff``


_NAMES = re.compile(rf"\s*{PLAIN_NAME}(?:\s*,\s*{PLAIN_NAME})*\s*\Z")
DIFF_EXAMPLE = "gradcli diff 'x^3*sin(x)'"


def diff_inputs(request: DiffRequest) -> tuple[Inputs, tuple[str, ...] | None]:
    """Return what ``gradcli diff`` reads, and the names to differentiate by; None for all.

    Raises UsageError.

    The first argument is the expression and those after it are names; beside files, names alone are
    names.
    """
    found = words_of(request)
    names: list[str] = [] if request.wrt is None else [*_list_of(request.wrt)]
    expressions: list[tuple[str, bool]] = []
    for text, beside in found.others:
        if _NAMES.match(text) and (expressions or beside):
            names += _list_of(text)
        else:
            expressions.append((text, beside))
    found = found._replace(others=expressions)
    help = "quote the expression as a whole; after it come the names to differentiate by"
    inputs = found.inputs(request, "differentiate", DIFF_EXAMPLE, help)
    return inputs, tuple(dict.fromkeys(names)) if names else None


def _list_of(text: str) -> tuple[str, ...]:
    names = names_of(text) or ()
    if not names or not all(_NAMES.match(name) for name in names):
        raise UsageError(
            f"'{text.strip()}' is no name to differentiate by", help=f"{DIFF_EXAMPLE} x"
        )
    return names


def differentiate(request: DiffRequest, *, only_last: bool = False) -> int:
    """Differentiate everything that was asked for.

    only_last  whether bindings are no equations to differentiate, but what the last expression is
               made of
    """
    if request.latex and request.output_format == "text":
        request = request.but(output_format="latex")
    options = options_of(request, "diff")
    inputs, names = diff_inputs(request)
    asked = options.but(
        wrt=names, order=request.order, latex=request.latex or request.output_format == "latex",
        points=request.points, observer=derive if request.steps else None,
        related=related_of(request.implicit, request.of),
    )  # fmt: skip
    programs = programs_of(request, inputs)
    run = Differentiation(inputs, programs, asked, only_last=only_last)
    return run.write(writer_for(request), request.fail_fast)


class Differentiation(Run):
    """The results of `diff`.

    only_last  whether bindings are no equations to differentiate, but what the last expression is
               made of
    """

    def __init__(
        self, inputs: Inputs, programs: Programs, asked: Options, *, only_last: bool = False
    ) -> None:
        self.asked, self.only_last = asked, only_last
        self.done: list[DerivativeRecord] = []
        super().__init__(
            "diff", inputs, programs, self._derive, asked.but(wrt=None, freeze=()),
            kind=DerivativeRecord, example=DIFF_EXAMPLE,
        )  # fmt: skip

    def answers(self) -> Iterator[Any]:
        """Return the derivatives."""
        found = super().answers()
        return iter([*found][-1:]) if self.only_last else found

    def remarks(self) -> list[str]:
        """Return what is to be said when all is done.

        Raises UnknownNameError for a name to differentiate by that nothing has.
        """
        if self.only_last:
            return []
        refuse_absent(self.asked.wrt, self.done)
        if self.names.unread or any(record.error is not None for record in self.done):
            return []
        return self.names.warn_unmentioned(self.programs.values, self.asked)

    def _derive(self, script: Script, _: Options) -> Iterator[DerivativeRecord]:
        script = with_equations(script, self.asked.related)
        for record in derivatives(script, self.asked):
            self.done.append(record)
            yield record


# -- ``gradcli explain``


_OF_EXPLANATIONS = {
    ".svg": ("svg",), ".html": ("html",), ".json": ("json",), ".md": ("mermaid",), ".tex": ("latex",), ".txt": ("text",),
}  # fmt: skip


def explain(request: ExplainRequest) -> int:
    """Explain everything that was asked for."""
    given = kind_by_suffix(request.out, _OF_EXPLANATIONS, "--format", request.output_format)
    request = request.but(output_format=given or ("latex" if request.latex else "text"))
    options, inputs = options_of(request, "explain"), eval_inputs(request)
    latex = request.latex or request.output_format in ("latex", "html")
    options = options.but(why=request.why, steps=request.steps, latex=latex)
    run = Explanations(inputs, programs_of(request, inputs), options)
    return run.write(writer_for(request), request.fail_fast)


class Kept(Inputs):
    """Inputs whose lines are kept, so that standard input can be read twice."""

    @cache  # noqa: B019 - for as long as the run
    def lines(self, path: str, limits: Limits) -> list[str]:  # type: ignore[override]
        return [*super().lines(path, limits)]


class Explanations(Evaluation):
    """The explanations of all queries; asserts are evaluated, and explained by nothing."""

    def __init__(self, inputs: Inputs, programs: Programs, options: Options) -> None:
        # Derivations need no values.
        free = options.steps and not options.why and inputs.expression is not None
        if free:
            inputs = Kept(*(getattr(inputs, each.name) for each in fields(inputs)))
        programs.keeps_text = True
        options = options.but(observer=explain_record)
        super().__init__("explain", inputs, programs, options, free=free)

    def answers(self) -> Iterator[ShownExplanation]:
        """Yield the explanations.

        For an expression whose names have no values, yield its derivation if that is asked for.
        """
        for record in super().answers():
            error, found = record.error, record.explanation
            if self.free and found is None and isinstance(error, MissingValueError):
                yield from self._derive_steps()
                return
            yield found if error is None and found is not None else ShownExplanation(record)

    def _derive_steps(self) -> Iterator[ShownExplanation]:
        """Yield derivations for all values of the names, like the formulas of `gradcli diff`."""
        asked = self.options.but(observer=derive)
        only_last = bool(self.inputs.files)  # the files only define what the expression uses
        run = Differentiation(self.inputs, self.programs, asked, only_last=only_last)
        for explanation in map(explanation_of, run.answers()):
            for name in asked.freeze:
                explanation.steps.pop(name, None)
            yield explanation


def explanation_of(record: DerivativeRecord) -> ShownExplanation:
    """Return an explanation with nothing but the derivations of a record."""
    answer = Record(**{each.name: getattr(record, each.name) for each in fields(Answer)})
    return ShownExplanation(answer, steps=record.steps)
