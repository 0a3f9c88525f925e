"""Derivatives as formulas: what came of one query of ``gradcli diff``, as plain data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from gradcli.characters import ByName, normalized
from gradcli.errors import GradcliError
from gradcli.inert import well_formed
from gradcli.report.dictionaries import SCHEMA, check_dict, failure_dict
from gradcli.report.json_text import encoded, plain_data
from gradcli.report.records import Failure
from gradcli.report.short_repr import Short

if TYPE_CHECKING:
    from gradcli.report.verdicts import Check

Path = tuple[str, ...]  # the names that something is differentiated by, one after the other


class Formula(NamedTuple):
    """A derivative as text of the language, and in LaTeX where that is wanted; None for one that is too long."""

    text: str | None
    latex: str | None = None


@dataclass(eq=False, repr=False)
class DerivativeRecord(Short):
    """The derivatives of one expression, of one order, by every name or by those that were asked for.

    Orders of names do not matter, so that each formula stands once: below its names in their order.
    """

    expr: str
    id: Any = None
    file: str | None = None
    line: int = 1
    column: int = 1
    record_line: bool = False  # whether ``line`` is that of a JSON Lines record
    read_as: str | None = None  # how the text was read, where that is not as it stands there
    dialect: str | None = None  # by which the text was read, if not NumPy's
    names: Path = ()
    absent: Path = ()  # those of them that do not stand in the expression
    known: Path = ()  # those that do, and others beside them
    order: int = 1
    formulas: dict[Path, Formula] = field(default_factory=dict)  # also those of lower orders
    picture: str | None = None  # the expression itself in LaTeX
    check: Check | None = None
    points: int = 0  # at how many points it was checked
    warnings: list[str] = field(default_factory=list)
    error: Failure | None = None
    meta: dict[str, Any] | None = None

    def _told(self) -> list[str]:
        return ["derivative", "check", "warnings", "error"]

    def to_dict(self) -> dict[str, Any]:
        """The record as ``gradcli diff --format jsonl`` writes it, as plain data."""
        return as_dict(self)

    def to_json(self) -> str:
        """One line of JSON Lines."""
        return encoded(as_dict(self))

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from gradcli.report.notebook import derivatives_in_html

        return derivatives_in_html(self)

    def _repr_latex_(self) -> str:
        """What notebooks show that want formulas."""
        from gradcli.report.notebook import derivatives_in_latex

        return derivatives_in_latex(self)

    @property
    def partial(self) -> bool:
        """Whether the derivatives are partial ones: the expression has several names."""
        return len({*self.names, *self.known}) > 1

    @property
    def derivative(self) -> dict[str, Any]:
        """The formulas by their names: ``{"x": "2*x"}``; of second order ``{"x": {"x": "2"}}``, and so on. Empty with an error."""
        return {} if self.error is not None else self._nested(lambda formula: formula.text)

    @property
    def latex(self) -> dict[str, Any]:
        """The same in LaTeX; empty where that was not asked for."""
        if self.error is not None or self.picture is None:
            return {}
        return self._nested(lambda formula: formula.latex)

    @property
    def verdict(self) -> str | None:
        """The verdict on the formulas in a word; None where they were not checked."""
        return None if self.check is None else self.check.worst.word

    @property
    def failed(self) -> bool:
        """Whether a formula is wrong: ``gradcli diff`` exits with 1."""
        return self.verdict == "mismatch"

    def formula(self, *names: str) -> str | None:
        """The derivative by names, in any order. Raises KeyError for others than those of the record."""
        return self.formulas[self._sorted(tuple(map(normalized, names)))].text

    def _sorted(self, names: Path) -> Path:
        return tuple(sorted(names, key=self.names.index)) if set(names) <= {*self.names} else names

    def _nested(self, what: Any) -> dict[str, Any]:
        """Formulas below every sequence of names."""
        found: dict[str, Any] = ByName()
        pending: list[tuple[dict[str, Any], Path]] = [(found, ())]
        for table, names in pending:  # which grows
            for name in self.names:
                path = (*names, name)
                if len(path) == self.order:
                    table[name] = what(self.formulas[self._sorted(path)])
                else:
                    table[name] = ByName()
                    pending.append((table[name], path))
        return found

    def fail(self, error: GradcliError) -> DerivativeRecord:
        """The record, with an error in the place of formulas."""
        self.error = Failure.of(error)
        self.formulas, self.check = {}, None
        return self


def as_dict(record: DerivativeRecord) -> dict[str, Any]:
    """The whole record, in the order in which it is documented."""
    return {
        "schema": SCHEMA,
        "id": plain_data(record.id),
        **({} if record.meta is None else {"meta": plain_data(record.meta)}),
        "source": {"file": record.file, "line": record.line, "column": record.column},
        "expr": well_formed(record.expr),
        "read_as": None if record.read_as is None else well_formed(record.read_as),
        **({} if record.dialect is None else {"dialect": record.dialect}),
        "order": record.order,
        "derivative": None if record.error is not None else record.derivative,
        **({} if record.picture is None else {"latex": None if record.error is not None else record.latex}),
        "check": None if record.check is None else {**check_dict(record.check), "points": record.points},
        "warnings": record.warnings,
        "error": None if record.error is None else failure_dict(record.error),
    }


def operator(path: Path, partial: bool) -> str:
    """What stands before the expression: ``d/dx``, ``∂²/∂x∂y``."""
    d, order = "∂" if partial else "d", len(path)
    below = "".join(f"{d}{name}{_raised(count)}" for name, count in Counter(path).items())
    return f"{d}{_raised(order)}/{below}"


def _raised(exponent: int) -> str:
    return "" if exponent == 1 else str(exponent).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
