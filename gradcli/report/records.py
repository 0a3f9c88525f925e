"""Results as plain data: what every output format, and the Python API, is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np

from gradcli.errors import GradcliError

Array = Any  # a NumPy array or scalar


class Verdict(IntEnum):
    """Verdicts of the cross-check and of claims; the larger is the graver."""

    SKIPPED = 0
    AGREE = 1
    KINK = 2
    ILL_CONDITIONED = 3
    UNDEFINED = 4
    UNDETERMINED = 5
    MISMATCH = 6

    @property
    def word(self) -> str:
        return self.name.lower().replace("_", "-")


@dataclass
class Worst:
    """The entry of a gradient that is furthest from its reference."""

    index: tuple[int, ...]
    engine: float
    reference: float


@dataclass
class OneSided:
    """A kink at one entry: the derivatives from both sides and the value that the engine chose."""

    index: tuple[int, ...]
    left: float
    right: float
    chosen: float
    convention: str


@dataclass
class VariableCheck:
    """The cross-check of one gradient (or of the value)."""

    verdict: Verdict
    decided_by: str | None = None  # "symbolic", "composed"
    max_abs_error: float | None = None
    max_rel_error: float | None = None
    digits: int | None = None  # right digits of the worst entry, at most 17
    entries: tuple[int, int] | None = None  # checked, of how many
    wrong: int = 0  # how many entries are wrong
    worst: Worst | None = None
    kinks: list[OneSided] = field(default_factory=list)
    reason: str | None = None  # why undetermined, where undefined, which digits were lost


@dataclass
class Claim:
    """Somebody's statement about a result, and what became of it."""

    of: str
    kind: str  # "formula", "numbers", "assert" or "value"
    verdict: Verdict
    worst: Worst | None = None
    reason: str | None = None


@dataclass
class Check:
    """The cross-check of one result."""

    verdict: Verdict
    variables: dict[str, VariableCheck] = field(default_factory=dict)
    value: VariableCheck | None = None
    claims: list[Claim] = field(default_factory=list)
    reason: str | None = None


@dataclass
class Asserted:
    """The outcome of an ``assert``."""

    holds: bool
    left: Array
    right: Array
    within: float
    worst: Worst | None = None


@dataclass
class Failure:
    """Why a record has no result; ``error`` renders itself with carets."""

    code: str
    message: str
    line: int | None
    column: int | None
    end_column: int | None
    help: str | None
    error: GradcliError

    @classmethod
    def of(cls, error: GradcliError) -> Failure:
        line, column, end = error.place() or (None, None, None)
        return cls(error.code, error.message, line, column, end, error.help, error)


@dataclass
class Record:
    """The result of one query: its value, gradients and formulas, and the verdict on them."""

    expr: str
    id: Any = None
    file: str | None = None
    line: int = 1
    column: int = 1
    value: Array = None
    seed: Array = None
    seed_given: bool = False
    grad: dict[str, Array] | None = None
    jacobian: dict[str, Array] | None = None
    hessian: dict[str, dict[str, Array]] | None = None
    jvp: Array = None
    derivative: dict[str, str | None] | None = None
    derivative_kind: str | None = None
    latex: dict[str, str] | None = None
    check: Check | None = None
    asserted: Asserted | None = None
    warnings: list[str] = field(default_factory=list)
    error: Failure | None = None
    mode: str = "grad"  # "grad", "jacobian", "hessian", "jvp" or "assert"

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(self.value)

    @property
    def dtype(self) -> str | None:
        return None if self.value is None else str(np.asarray(self.value).dtype)

    @property
    def failed(self) -> bool:
        """Whether the record makes ``gradcli eval`` exit with 1: a mismatch, or a false assert."""
        return (self.check is not None and self.check.verdict is Verdict.MISMATCH) or (
            self.asserted is not None and not self.asserted.holds
        )
