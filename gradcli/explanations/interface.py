"""The Python API of explanations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gradcli.characters import by_name
from gradcli.errors import UsageError
from gradcli.limits import DEFAULT, Limits

if TYPE_CHECKING:
    from gradcli.graph.nodes import Expr
    from gradcli.language.run import Lowered, Program
    from gradcli.ops.calling.prefixes import Dialect
    from gradcli.query.options import DType
    from gradcli.report.records import Record
    from gradcli.report.shown_explanation import ShownExplanation


def explain(
    expression: str,
    *,
    seed: Any = None,
    check: bool = True,
    wrt: str | Iterable[str] | None = None,
    freeze: str | Iterable[str] = (),
    dtype: DType = "float64",
    random_state: int = 0,
    timeout: float | None = None,
    limits: Limits = DEFAULT,
    dialect: Dialect | None = None,
    at: Mapping[str, Any] | None = None,
    why: str | Iterable[str] = (),
    steps: bool = False,
    **bindings: Any,
) -> ShownExplanation:
    """Where every number of a value and its gradient comes from: ``explain("x*sin(x)", x=2.0).nodes``.

    The options are those of `evaluate`, whose record is the explanation's ``record``. Its ``nodes`` are in the order of the forward pass,
    its ``backward`` in that of the sweep, and its ``gradients`` have the paths that they are the sum of.
    Of each entry in ``why`` ("x", "x[2]", "value") its ``why`` has the story; with ``steps`` its ``steps`` have the derivation of each
    derivative as a formula.
    Raises a `GradcliError` with its place in the text for what cannot be evaluated.
    """
    from gradcli.explanations.explaining import AskedExplanation, explained
    from gradcli.query.bindings import entries_of, flag_of
    from gradcli.query.interface import evaluated
    from gradcli.report.results import GradientRecord, result_of

    derived = flag_of("steps", steps)
    asked = AskedExplanation(entries_of(why), derived, derived)
    found: dict[int, ShownExplanation] = {}

    def observe(program: Program, lowered: Lowered, wrt: Mapping[str, Expr], record: Record) -> None:
        found[id(record)] = explained(program, lowered, wrt, record, asked)

    record = evaluated(
        explain, expression, bindings, seed=seed, check=check, wrt=wrt, freeze=freeze, dtype=dtype, random_state=random_state,
        timeout=timeout, limits=limits, dialect=dialect, at=at, formula=False, observer=observe,
    )  # fmt: skip
    result = result_of(record, check)
    explanation = found.get(id(record))
    if explanation is None or not isinstance(result, GradientRecord):
        raise UsageError("an assert is held or broken: there is no gradient to explain", help="write one of its sides as the last line")
    explanation.record, explanation.gradients = result, by_name(explanation.gradients)
    return explanation
