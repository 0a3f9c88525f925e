"""How cases are calculated and judged: what `gradcli check` and the pytest plugin take from the same settings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gradcli.query.options import Options

if TYPE_CHECKING:
    from gradcli.files.settings import Settings

POINTS = 16  # to which names without values are set
FAIL_ON = ("mismatch", "undetermined", "undefined")
CHECKING = Options(formula=False, decide_asserts=True, remembering=True)  # what every check computes


@dataclass(frozen=True, eq=False)
class Policy:
    """How the cases of a file are calculated and judged."""

    options: Options
    state: int = 0  # of random numbers
    points: int = POINTS
    fail_on: tuple[str, ...] = FAIL_ON  # verdicts
    dialect: str | None = None  # of programs that show none


def policy_of(settings: Settings, options: Options = CHECKING) -> Policy:
    """The policy of settings, or what is usual where they say nothing."""
    options = replace(
        options, rtol=settings.rtol, atol=settings.atol or 0.0, convention=settings.convention, timeout=settings.timeout,
        backend=settings.backend or "auto", threads=settings.threads,
    )  # fmt: skip
    fail_on = FAIL_ON if settings.fail_on is None else settings.fail_on
    return Policy(options, settings.random_state or 0, settings.points or POINTS, fail_on, settings.dialect)
