"""Results of the Python API: a class for each mode.

Each class has what was asked for, and nothing in it is None without need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gradcli.check.verdicts import Check, Verdict
from gradcli.data import default_values
from gradcli.report.records import Record
from gradcli.texts import by_name

# None where no check was asked for
Checked_co = TypeVar("Checked_co", bound=Check | None, covariant=True)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Arrays = dict[str, NDArray[Any]]


class Result(Record, Generic[Checked_co]):
    """Result that `evaluate` gives: the record of ``gradcli eval --format jsonl`` as an object.

    value       the value
    derivative  formulas of the derivatives by their names; empty where none were asked for
    latex       the same in LaTeX, with ``latex=True``
    precise     value and derivatives in decimal digits, with ``precision=30``;
                ``precise_certified`` says whether each is proved
    check       the verdict of the cross-check; None with ``check=False``

    What is by names is found by any form of a name: its keys are as the language has them, ``"μ"``
    (U+03BC) also of ``µ`` (U+00B5). Numbers without axes are NumPy's scalars, which have what
    arrays have.
    """

    value: NDArray[Any]
    seed: NDArray[Any] | None
    derivative: dict[str, Any]
    latex: dict[str, Any]
    precise: dict[str, Any]
    check: Checked_co


class GradientRecord(Result[Checked_co]):
    """A value and its gradient by each name."""

    grad: Arrays


class AssertRecord(GradientRecord[Checked_co]):
    """Outcome of a program whose last statement is an assert.

    ``value`` says whether it holds. It has no gradient.
    """


class JacobianRecord(Result[Checked_co]):
    """A value and its Jacobian by each name: the axes of the value, and then those of the name."""

    jacobian: Arrays


class HessianRecord(Result[Checked_co]):
    """A scalar and its second derivatives by each pair of names."""

    hessian: dict[str, Arrays]
    derivative: dict[str, dict[str, Any]]


class JvpRecord(Result[Checked_co]):
    """A value and its derivative in a direction, of the value's shape."""

    jvp: NDArray[Any]


class HvpRecord(Result[Checked_co]):
    """A scalar and its Hessian times a direction, by each name."""

    hvp: Arrays


KINDS: dict[str, type[Result[Any]]] = {
    "grad": GradientRecord, "assert": AssertRecord, "jacobian": JacobianRecord, "hessian": HessianRecord, "jvp": JvpRecord,
    "hvp": HvpRecord,
}  # fmt: skip


def result_of(record: Record, checked: bool) -> Result[Any]:
    """Return the record as the class of its mode."""
    kind: Any = type(record)
    given = {name: getattr(record, name) for name in default_values(kind)}
    for name in ("derivative", "latex", "precise"):
        given[name] = given[name] or {}
    given |= {name: by_name(value) for name, value in given.items() if type(value) in (dict, tuple)}
    found = KINDS[record.mode](**given)
    if found.check is not None:
        found.check.variables = by_name(found.check.variables)
    if isinstance(found, AssertRecord):
        found.grad = {}
        if checked and found.check is None:
            found.check = Check(
                Verdict.SKIPPED, reason="an assert is held or broken: it has no gradient to check"
            )
    return found
