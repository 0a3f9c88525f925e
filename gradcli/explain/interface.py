"""The Python API of explanations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gradcli.limits import DEFAULT, Limits

if TYPE_CHECKING:
    from gradcli.graph.nodes import Expr
    from gradcli.language.run import Lowered, Program
    from gradcli.report.explanation import Explanation
    from gradcli.report.records import Record


def explain(
    expression: str,
    *,
    seed: Any = None,
    check: bool = True,
    wrt: str | Iterable[str] | None = None,
    freeze: str | Iterable[str] = (),
    dtype: Any = "float64",
    random_state: int = 0,
    timeout: float | None = None,
    limits: Limits = DEFAULT,
    dialect: str | None = None,
    at: Mapping[str, Any] | None = None,
    why: str | Iterable[str] = (),
    **bindings: Any,
) -> Explanation:
    """Where every number of a value and its gradient comes from: ``explain("x*sin(x)", x=2.0).nodes``.

    The options are those of `evaluate`, whose record is the explanation's ``record``. Its ``nodes`` are in the order of the forward pass,
    its ``backward`` in that of the sweep, and its ``gradients`` have the paths that they are the sum of.
    Of each entry in ``why`` ("x", "x[2]", "value") its ``why`` has the story.
    Raises a `GradcliError` with its place in the text for what cannot be evaluated.
    """
    from gradcli.explain.explaining import explained
    from gradcli.query.interface import evaluated

    asked = [why] if isinstance(why, str) else list(why)
    found: dict[int, Explanation] = {}

    def observe(program: Program, lowered: Lowered, wrt: Mapping[str, Expr], record: Record) -> None:
        found[id(record)] = explained(program, lowered, wrt, record, asked)

    record = evaluated(
        "explain", expression, bindings, seed=seed, check=check, wrt=wrt, freeze=freeze, dtype=dtype, random_state=random_state,
        timeout=timeout, limits=limits, dialect=dialect, at=at, observer=observe,
    )  # fmt: skip
    return found[id(record)]
