"""Results as plain data: what every output format, and the Python API, is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.errors import GradcliError
from gradcli.report.short_repr import Short

if TYPE_CHECKING:
    from gradcli.report.uncertainty import Uncertainty
    from gradcli.report.verdicts import Check, Worst

Array = Any  # a NumPy array or scalar


@cache
def _name(dtype: np.dtype[Any]) -> str:
    return str(dtype)


@dataclass(eq=False, repr=False)
class Asserted(Short):
    """The outcome of one relation of an ``assert``."""

    holds: bool | None  # None where that could not be decided
    left: Array
    right: Array
    within: float
    worst: Worst | None = None
    relation: str = "=="
    text: str = ""  # what the user wrote, where the assert has several
    over: dict[str, tuple[float, float]] | None = None  # the box that it is claimed for
    left_open: dict[str, tuple[float, float]] | None = None  # the smallest box in which it is not decided
    reason: str | None = None  # why not

    @property
    def difference(self) -> str:
        """Both sides where it does not hold."""
        if self.worst is None:
            return ""
        index = f"[{', '.join(map(str, self.worst.index))}]" if self.worst.index else ""
        which = f"{self.text}: " if self.text else ""
        at = "" if self.worst.at is None else " at " + " ".join(f"{name}={value!r}" for name, value in self.worst.at.items())
        return f"{which}left{index} is {self.worst.engine!r}, right{index} is {self.worst.reference!r}{at}"

    @property
    def open_box(self) -> str:
        """Where it is not decided, and why."""
        if self.left_open is None:
            return self.reason or ""
        box = ", ".join(f"{low!r} <= {name} <= {high!r}" for name, (low, high) in self.left_open.items())
        return f"open for {box}" + (f": {self.reason}" if self.reason else "")


@dataclass(eq=False, repr=False)
class Failure(Short):
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


@dataclass(eq=False, repr=False)
class Record(Short):
    """The result of one query: its value, gradients and formulas, and the verdict on them."""

    expr: str
    id: Any = None
    file: str | None = None
    line: int = 1
    column: int = 1
    record_line: bool = False  # whether ``line`` is that of a JSON Lines record
    value: Array = None
    seed: Array = None
    seed_given: bool = False
    grad: dict[str, Array] | None = None
    jacobian: dict[str, Array] | None = None
    hessian: dict[str, dict[str, Array]] | None = None
    jvp: Array = None
    hvp: dict[str, Array] | None = None
    tangents: dict[str, Array] = field(default_factory=dict)  # the directions of the jvp or hvp
    dialect: str | None = None  # by which the text was read, if not NumPy's
    derivative: dict[str, Any] | None = None  # formulas; of a Hessian, by both names
    derivative_kind: str | None = None
    latex: dict[str, str] | None = None
    check: Check | None = None
    asserted: Asserted | None = None  # the first false relation of an assert, or else its first one
    relations: list[Asserted] = field(default_factory=list)  # all of them
    refuted: list[str] = field(default_factory=list)  # false asserts beside it in its program, of which no other record tells
    warnings: list[str] = field(default_factory=list)
    error: Failure | None = None
    read_as: str | None = None  # the text in the language's own spelling, where it has a textbook's
    mode: str = "grad"  # "grad", "jacobian", "hessian", "jvp", "hvp" or "assert"
    precise: dict[str, Any] | None = None  # value and gradients as decimal strings, from the reference
    precise_certified: bool | None = None  # whether each of these digits is proved
    skip: str | None = None  # why the case is not checked
    unreached: bool = False  # whether there was no time left for it
    xfail: str | None = None  # why it is known to fail
    point: dict[str, Array] = field(default_factory=dict)  # values that were chosen for names without one
    at: dict[str, Array] = field(default_factory=dict)  # the values of the names with derivatives, where a report shows them
    uncertainty: Uncertainty | None = None  # of the value, where values are not exact
    points: int = 0  # at how many points the case was checked
    meta: dict[str, Any] | None = None  # what a JSON Lines record says beside the case, for others
    explanation: Short | None = None  # the Explanation of a case that is wrong, where a report shows it
    given: str | None = None  # a digest of the claims and the like that identify the case beside its text

    @property
    def seed_chosen(self) -> str | None:
        """The words for the seed of a gradient of several numbers, where nobody gave one."""
        summed = self.mode == "grad" and bool(self.grad) and bool(self.shape) and not self.seed_given
        return "ones, the gradient of the sum" if summed else None

    def _told(self) -> list[str]:
        derivatives = "grad" if self.mode == "assert" else self.mode
        seed = ["seed"] if self.seed_given else ["seed_chosen"]
        beside = ["derivative", "latex", "precise", "check", "refuted", "warnings", "error", "skip", "xfail"]
        return ["value", *seed, derivatives, *beside]

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from gradcli.report.notebook import record_in_html

        return record_in_html(self)

    def _repr_latex_(self) -> str:
        """What notebooks show that want formulas."""
        from gradcli.report.notebook import record_in_latex

        return record_in_latex(self)

    @property
    def shape(self) -> tuple[int, ...]:
        return () if type(self.value) is np.float64 else np.shape(self.value)

    @property
    def dtype(self) -> str | None:
        if self.value is None:
            return None
        return "float64" if type(self.value) is np.float64 else _name(np.asarray(self.value).dtype)

    def derivatives(self) -> dict[str, Array]:
        """The derivatives of the record's mode, by the name of their variable (or pair of variables)."""
        if self.mode == "jvp":
            return {"jvp": self.jvp}
        if self.mode == "hessian":
            return {f"{a},{b}": block for a, row in (self.hessian or {}).items() for b, block in row.items()}
        return {"jacobian": self.jacobian, "hvp": self.hvp}.get(self.mode, self.grad) or {}

    def formulas(self) -> dict[str, str]:
        """The formulas of these."""
        if self.mode == "hessian":
            return {f"{a},{b}": text for a, row in (self.derivative or {}).items() for b, text in row.items() if text}
        return {name: text for name, text in (self.derivative or {}).items() if text}

    @property
    def failed(self) -> bool:
        """Whether the record makes ``gradcli eval`` exit with 1: a mismatch, or a false assert."""
        mismatch = self.check is not None and self.check.verdict.word == "mismatch"
        return mismatch or bool(self.refuted) or (self.asserted is not None and self.asserted.holds is False)

    def fail(self, error: GradcliError) -> Record:
        """The record, with an error in the place of its result."""
        self.error = Failure.of(error)
        self.value = self.seed = self.grad = self.jacobian = self.hessian = self.jvp = self.hvp = self.asserted = self.check = None
        self.derivative = self.derivative_kind = self.latex = self.precise = self.precise_certified = None
        self.relations, self.refuted, self.warnings, self.uncertainty = [], [], [], None
        return self

    def joined(self, later: Record) -> Record:
        """The result of a program with these two: that of its last query, if there is one, which tells of false asserts beside it."""
        kept, other = (self, later) if later.mode == "assert" != self.mode and later.error is None else (later, self)
        said = [*other.refuted]
        if other.asserted is not None and other.asserted.holds is False:
            said.append(f"line {other.line}: '{other.expr}' is false: {other.asserted.difference}")
        kept.refuted += said
        kept.warnings += said
        return kept

    def told(self, relations: list[Asserted]) -> None:
        """Take the outcome of an assert's relations: it is the first false one's, or else the first undecided one's."""
        self.relations = relations
        outcomes = [part.holds for part in relations]
        self.value = False if False in outcomes else None if None in outcomes else True
        self.asserted = relations[outcomes.index(self.value)]
