"""Derivatives as formulas: what came of one query of ``gradcli diff``, as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gradcli.inert import printable
from gradcli.notation import name as spelled
from gradcli.report.lines import EMPTY, Line, Table, labelled_line, notes
from gradcli.report.records import Answer
from gradcli.report.steps import Steps, step_lines, steps_in_latex
from gradcli.texts import ByName, normalize

_TOO_LONG = "(too long to be shown)"
_LONGER = "\\text{a longer formula}"

Path = tuple[str, ...]  # the names that an expression is differentiated by, in order


class Formula(NamedTuple):
    """Derivative as text of the language, and as LaTeX where that is wanted.

    A text that is too long is None.
    """

    text: str | None
    latex: str | None = None


@dataclass(eq=False, repr=False)
class DerivativeRecord(Answer):
    """Derivatives of one expression, of one order, by every name or by the names asked for.

    The order of names does not matter. Each formula stands once, under its names in their order.
    """

    RESULT = "formulas picture steps check"
    SHOWN = "expr derivative check warnings error"
    JSON = (
        "schema id meta? source expr read_as dialect? order derivative=derivative_or_none "
        "latex? steps? check=check_at_points warnings error"
    )

    names: Path = ()
    absent: Path = ()  # names that do not occur in the expression
    known: Path = ()  # the names in the expression, and all others that are known
    order: int = 1
    formulas: dict[Path, Formula] = field(default_factory=dict)  # lower orders included
    picture: str | None = None  # the expression itself in LaTeX
    steps: Steps = field(default_factory=dict)
    # The name that an equation defines and whose derivatives these are; "" for a rate.
    dependent: str | None = None
    depending: tuple[str, ...] = ()

    def equations(self, digits: int | None = None) -> list[str]:
        """Return the formulas of the order that was asked for."""
        picture = self.picture or (self.dependent and spelled(self.dependent)) or "f"
        operand = picture if self.picture is None else f"\\left({picture}\\right)"
        rows = [
            f"{_fraction(path, self.partial)} {operand} &= {formula.latex or _LONGER}"
            for path, formula in self.formulas.items()
            if len(path) == self.order
        ]
        return rows or [f"{picture} &= \\text{{a constant}}"]

    def to_latex(self, digits: int | None = None) -> str:
        """Return the steps, or else the formulas, as a part of a document in LaTeX."""
        return steps_in_latex(self.steps, self.expr) or super().to_latex(digits)

    @property
    def partial(self) -> bool:
        """Return whether the derivatives are partial ones: the expression has several names."""
        return self.dependent != "" and len({*self.names, *self.known} - {self.dependent}) > 1

    @property
    def derivative(self) -> dict[str, Any]:
        """Formulas by their names.

        ``{"x": "2*x"}``; of second order ``{"x": {"x": "2"}}``, and so on. It is empty if there is
        an error.
        """
        return {} if self.error is not None else self._nest(lambda formula: formula.text)

    @property
    def derivative_or_none(self) -> dict[str, Any] | None:
        """The formulas; None with an error."""
        return None if self.error is not None else self.derivative

    @property
    def latex(self) -> dict[str, Any]:
        """The same in LaTeX; empty where that was not asked for."""
        found: dict[str, Any] = {}
        if self.error is None and self.picture is not None:
            found = self._nest(lambda formula: formula.latex)
        return found

    @property
    def verdict(self) -> str | None:
        """The verdict on the formulas in a word; None where they were not checked."""
        return None if self.check is None else self.check.worst.word

    def formula(self, *names: str) -> str | None:
        """Return the derivative by names, in any order.

        Raises KeyError for names other than those of the record.
        """
        return self.formulas[self._sort_names(tuple(map(normalize, names)))].text

    def _sort_names(self, names: Path) -> Path:
        return tuple(sorted(names, key=self.names.index)) if set(names) <= {*self.names} else names

    def _nest(self, what: Any, names: Path = ()) -> Any:
        """Formulas below every sequence of names."""
        if len(names) == self.order:
            return what(self.formulas[self._sort_names(names)])
        return ByName({name: self._nest(what, (*names, name)) for name in self.names})

    def lines(self, digits: int | None = None, width: int | None = None) -> list[Line | Table]:
        """Return the lines of the formulas, and of the verdict on them."""
        lines: list[Line | Table] = [*self._head()]
        for path, formula in self.formulas.items():
            name, steps = operator(path, self.partial, self.dependent or ""), ",".join(path)
            if steps in self.steps:
                lines += step_lines(name, self.steps[steps])
            elif len(path) == self.order:
                text = formula.text or _TOO_LONG
                lines.append(labelled_line(printable(name), text, "formula"))
        lines += [EMPTY] if self.steps and (self.check or self.warnings) else []
        return [*lines, *self._check_lines(), *notes(self.warnings)]


def operator(path: Sequence[str], partial: bool = False, of: str = "") -> str:
    """Return what stands before the expression: ``d/dx``, ``∂²/∂x∂y``, ``dy/dx`` of a name."""
    d, order = "∂" if partial else "d", len(path)
    below = "".join(f"{d}{name}{_raise(count)}" for name, count in Counter(path).items())
    return f"{d}{_raise(order)}{of}/{below}"


def _raise(exponent: int) -> str:
    return (
        "" if exponent == 1 else str(exponent).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    )


def _fraction(path: Path, partial: bool) -> str:
    d = "\\partial" if partial else "d"
    above = f"{d}^{{{len(path)}}}" if len(path) > 1 else d
    parts = []
    for name, count in Counter(path).items():
        symbol = spelled(name)
        space = " " if partial or symbol.startswith("\\") else ""
        parts.append(f"{d}{space}{symbol}" + (f"^{{{count}}}" if count > 1 else ""))
    return f"\\frac{{{above}}}{{{' '.join(parts)}}}"
