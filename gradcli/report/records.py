"""A result: its data, of which formats and the Python API are made, and the lines to read it by.

Texts, terminals and pages show these lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import MISSING, field, fields
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from gradcli.data import Data, data_in_slots
from gradcli.errors import GradcliError, as_gradcli_error
from gradcli.inert import html_text, latex_comment
from gradcli.notation import array, fraction, operator
from gradcli.notation import name as spelled
from gradcli.report.deviations import JointCovariance, Uncertainty, shares, with_deviations
from gradcli.texts import clip_text, display_width, inert_lines, pad, printable, text_lines

if TYPE_CHECKING:
    from gradcli.check.verdicts import Asserted, Check, VariableCheck

# -- Lines of a result

_LABELS = 9  # columns for labels, where they are short


class Part(NamedTuple):
    """Piece of a line, with its role.

    The role is "heading", "id", "text", "number", "formula", "name" or "fact".
    """

    text: str
    role: str = "fact"


class Line(NamedTuple):
    """A line of a result, or what stands beside one label.

    label  what it is called; None of a line that begins at the margin
    parts  what it says
    kind   what it is about: "title", "value", "seed", "fact", "formula", "note", or of a verdict
           its word
    """

    label: str | None
    parts: Sequence[Part]
    kind: str = "fact"

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)


EMPTY = Line(None, [Part("")])


class Row(NamedTuple):
    """One derivative: its numbers, the verdict's word with a remark, and the formula."""

    name: str
    numbers: str
    check: str
    formula: str


class Table(NamedTuple):
    """The derivatives of a record; the heading says what the numbers are."""

    heading: str
    rows: Sequence[Row]
    checked: bool


def labelled_line(label: str, text: str, kind: str = "fact") -> Line:
    """Text of anybody's beside a label."""
    return Line(label, [Part(printable(text))], kind)


def notes(texts: Iterable[str]) -> list[Line]:
    return [labelled_line("note", text, "note") for text in texts]


def label_width(lines: Iterable[Line | Table]) -> int:
    """Return the number of columns of the labels; results with short labels share it."""
    return max(
        [
            _LABELS,
            *(display_width(line.label or "") + 2 for line in lines if isinstance(line, Line)),
        ]
    )


def text_of(lines: Sequence[Line | Table]) -> str:
    """Lines for pipes and files, ending in a newline: no styles, nothing wrapped."""
    width = label_width(lines)
    found = (
        text
        for line in lines
        for text in (_columns(line) if isinstance(line, Table) else _beside_label(line, width))
    )
    return inert_lines("\n".join(text.rstrip() for text in found)) + "\n"


def _beside_label(line: Line, width: int) -> list[str]:
    if line.label is None:
        return [line.text]
    first, *rest = line.text.split("\n")
    return [f"  {pad(line.label, width)}{first}", *(f"{'':{width + 2}}{text}" for text in rest)]


def cells_of(table: Table) -> list[tuple[str, ...]]:
    """Return the rows of a table below its head, without columns that say nothing."""
    head = Row(
        "",
        table.heading,
        "check" if table.checked else "",
        "derivative" if any(row.formula for row in table.rows) else "",
    )
    return [*zip(*filter(any, zip(head, *table.rows, strict=True)), strict=True)]


def _columns(table: Table) -> Iterator[str]:
    """Aligned columns; a cell may have several lines."""
    rows = [[cell.split("\n") for cell in row] for row in cells_of(table)]
    widths = [
        max(display_width(text) for cell in column for text in cell)
        for column in zip(*rows, strict=True)
    ]
    for row in rows:
        for depth in range(max(map(len, row))):
            parts = (
                pad(cell[depth] if depth < len(cell) else "", width)
                for cell, width in zip(row, widths, strict=True)
            )
            yield f"  {'  '.join(parts)}"


# -- Numbers and arrays: as they are, or rounded


_THRESHOLD = 1000  # an array of more entries is summarized, as in NumPy


def array_text(array: Any, digits: int | None, width: int | None = None) -> str:
    """Return numbers unrounded, in the shortest form that round-trips, or rounded to ``digits``.

    Rounded numbers are marked by ≈ where rounding changed them.
    """
    value = np.asarray(array)
    if value.dtype.kind == "O" and value.ndim:
        return np.array2string(value, separator=", ", formatter={"all": str})
    if value.dtype.kind != "f" or (digits is None and not value.ndim):
        return str(value if value.ndim else value[()])
    text = f"{float(value):.{digits}g}" if not value.ndim else _array_text(value, digits, width)
    if digits is None:
        return text
    rounded = [float(f"{number:.{digits}g}") for number in value.ravel().tolist()]
    if np.array_equal(rounded, value.ravel(), equal_nan=True):
        return text
    return f"≈ {text}" if "\n" not in text else f"≈\n{text}"


def _array_text(value: np.ndarray, digits: int | None, width: int | None) -> str:
    rounded: dict[str, Any] = (
        {} if digits is None else {"formatter": {"float_kind": lambda v: f"{v:.{digits}g}"}}
    )
    finite = np.abs(value[np.isfinite(value) & (value != 0)])
    without_exponents = bool(finite.size) and finite.min() >= 1e-5 and finite.max() < 1e16
    text = np.array2string(
        value,
        suppress_small=without_exponents,
        separator=", ",
        floatmode="unique",
        threshold=_THRESHOLD,
        max_line_width=width or 10**9,
        **rounded,
    )
    if value.ndim == 1 and "\n" not in text:
        text = re.sub(r" +(?=[,\]])", "", re.sub(r"(?<=\[) +|(?<=,) +(?= )", "", text))
    return text


# -- Parts of documents: HTML, in which the user's text is text, and LaTeX, for which amsmath is
# enough


def html_of(lines: Sequence[Line | Table]) -> str:
    """Return an HTML table of the lines: labels with their texts, and derivatives."""
    rows = [
        row
        for line in lines
        for row in (cells_of(line) if isinstance(line, Table) else [(line.label or "", line.text)])
    ]
    return f"<table>{''.join(f'<tr>{cells}</tr>' for cells in map(_cells, rows))}</table>"


def _cells(row: Sequence[str]) -> str:
    return "".join(
        f"<td style='white-space: pre-wrap; text-align: left'>{html_text(text)}</td>"
        for text in row
    )


def latex_document(expr: str, equations: Sequence[str]) -> str:
    """Return an ``align*`` of one result, with its expression in a comment."""
    comment = latex_comment("\n".join(text_lines(expr, keepends=False)))
    body = " \\\\\n".join(equations)
    return f"{comment}\\begin{{align*}}\n{body}\n\\end{{align*}}\n"


# -- Results as data


Array = Any  # a NumPy array or scalar
_LONGEST = 2000  # most characters of a text that is repeated
_SOURCES = {
    "symbolic": "sympy's derivative", "composed": "the composed reference", "double": "a "
    "reference in double",
    "long double": "a reference in long double",
}  # fmt: skip
_HEADINGS = {
    "grad": "gradient",
    "jacobian": "Jacobian",
    "hessian": "Hessian",
    "jvp": "",
    "hvp": "Hessian · v",
    "assert": "",
}
_LAYOUT = (
    "schema id meta? source expr dialect? read_as? value shape=shape_or_none dtype {} precise? "
    "precise_certified? uncertainty? check "
    "warnings error"
)
_LAYOUTS = {
    **{
        mode: _LAYOUT.format(f"seed {mode} derivative=derivative_or_none latex? derivative_kind?")
        for mode in _HEADINGS
    },
    "assert": _LAYOUT.format("assert=asserted"),
}


@cache
def _name(dtype: np.dtype[Any]) -> str:
    return str(dtype)


@data_in_slots
class Answer(Data):
    """Answer to one case.

    It has the case's place, how it was read, the verdict on the result, and the reason if there is
    no result.

    RESULT  the fields that a case with an error does not have
    """

    RESULT: ClassVar[str] = ""

    expr: str
    id: Any = None
    file: str | None = None
    line: int = 1
    column: int = 1
    record_line: bool = False  # whether ``line`` is the line of a JSON Lines record
    read_as: str | None = None  # the text in the language's own notation, if it was a textbook's
    dialect: str | None = None  # the dialect that the text was read in, if not NumPy's
    check: Check | None = None
    points: int = 0  # the number of points that the case was checked at
    warnings: list[str] = field(default_factory=list)
    error: GradcliError | None = None  # why there is no result
    meta: dict[str, Any] | None = None  # other members of a JSON Lines record, which are passed on
    # A digest of the claims etc. that identify the case together with its text.
    given: str | None = None

    def last_of(self, queries: int) -> Self:
        """Warn of the queries of a program that the answer is not about, and return it."""
        if queries > 1:
            self.warnings.append(f"only the last of {queries} queries is answered: '{self.expr}'")
        return self

    @classmethod
    def of_error(cls, error: GradcliError, *, id: Any = None, expr: str | None = None) -> Self:
        """Return the answer to something that could not be read or run."""
        source, span = error.source, error.span
        line, column = source.position(span.start) if source and span else (1, 1)
        text = expr if expr is not None else source.text.strip() if source else ""
        found = cls(
            text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…",
            id,
            source.name if source else None,
            line,
            column,
        )
        return found.fail(error)

    def fail(self, error: GradcliError) -> Self:
        """Return the answer with an error in place of its result."""
        self.error = error
        for each in fields(self):
            if each.name in self.RESULT.split():
                setattr(
                    self,
                    each.name,
                    each.default if each.default_factory is MISSING else each.default_factory(),
                )
        return self

    def error_text(self) -> str:
        """Return the error as text.

        The error of a whole record says which record it is.
        """
        assert self.error is not None
        text = self.error.render()
        if self.error.source is None and self.record_line:
            head, *rest = text.split("\n")
            place = f" --> {printable(self.file or '<stdin>')}:{self.line}"
            text = "\n".join([head, place, *rest])
        return text

    @property
    def has_line(self) -> bool:
        """Return whether it stands on a line of its file, rather than for the file as a whole."""
        return bool(self.expr) or self.record_line or self.line > 1

    def _head(self, *further: str) -> list[Line]:
        """Return the lines of the expression, and of how it was read."""
        facts = {"read as": self.read_as, "dialect": self.dialect}
        title = [printable(line) for line in text_lines(self.expr, keepends=False)]
        heading = [
            Line(None, [Part(text, "heading")], "title")
            for text in (*title, *map(printable, further))
        ]
        return [
            *heading,
            *(labelled_line(label, fact) for label, fact in facts.items() if fact is not None),
        ]

    def _check_lines(self, of: str = "") -> list[Line]:
        """Return the line of the verdict on formulas or curves, with who checked it and where."""
        if self.check is None:
            return []
        word, parts = self.check.worst, self.check.variables.values()
        if word != "agree":
            reasons = filter(None, [self.check.reason, *(part.reason for part in parts)])
            return [labelled_line("check", ": ".join([word, *islice(reasons, 1)]), word)]
        where = "at the given values and around them"
        if self.points:
            where = f"at {self.points} points{of}" if self.points > 1 else f"at one point{of}"
        by = sorted({_SOURCES[part.decided_by] for part in parts if part.decided_by in _SOURCES})
        with_ = f"with {' and '.join(by)} " if by else ""
        return [labelled_line("check", f"{word} {with_}{where}", word)]

    def lines(self, digits: int | None = None, width: int | None = None) -> list[Line | Table]:
        """Return the lines of a result.

        Numbers are rounded to ``digits``, if given, and arrays have lines of ``width``.
        """
        raise NotImplementedError

    def equations(self, digits: int | None = None) -> list[str]:
        """Return the result in LaTeX."""
        raise NotImplementedError

    def to_latex(self, digits: int | None = None) -> str:
        """Return the result as a part of a document in LaTeX."""
        return latex_document(self.expr, self.equations(digits))

    def _repr_latex_(self) -> str:
        """Return the formulas for notebooks."""
        rows = " \\\\ ".join(self.equations())
        return f"$\\displaystyle \\begin{{aligned}} {rows} \\end{{aligned}}$"

    def _repr_html_(self) -> str:
        """Return the lines for notebooks."""
        return html_of(
            self.lines() if self.error is None else [Line(None, [Part(self.error_text())])]
        )

    @property
    def source(self) -> dict[str, Any]:
        """The place of the case, as JSON has it."""
        return {"file": self.file, "line": self.line, "column": self.column}

    @property
    def check_at_points(self) -> dict[str, Any] | None:
        """The verdict as JSON has it, with the number of points."""
        return None if self.check is None else {**self.check.to_dict(), "points": self.points}

    @property
    def failed(self) -> bool:
        """True if the result is wrong, for which commands exit with 1."""
        return self.check is not None and self.check.worst == "mismatch"


@data_in_slots
class Record(Answer):
    """The result of one query: its value, gradients and formulas, and the verdict on them."""

    RESULT = (
        "value seed grad jacobian hessian jvp hvp asserted relations refuted check derivative "
        "derivative_kind latex precise precise_certified uncertainty"
    )
    SHOWN = (
        "expr value std seed=given_seed seed_chosen grad jacobian hessian jvp hvp derivative latex "
        "precise check verdicts refuted warnings error skip xfail"
    )

    value: Array = None
    seed: Array = None
    seed_given: bool = False
    grad: dict[str, Array] | None = None
    jacobian: dict[str, Array] | None = None
    hessian: dict[str, dict[str, Array]] | None = None
    jvp: Array = None
    hvp: dict[str, Array] | None = None
    tangents: dict[str, Array] = field(default_factory=dict)  # directions of the jvp or hvp
    derivative: dict[str, Any] | None = None  # formulas; for a Hessian, by both names
    derivative_kind: str | None = None
    latex: dict[str, str] | None = None
    asserted: Asserted | None = None  # an assert's first false relation, or else its first one
    relations: list[Asserted] = field(default_factory=list)  # all relations of the assert
    # False asserts in the same program, which no other record reports.
    refuted: list[str] = field(default_factory=list)
    mode: str = "grad"  # "grad", "jacobian", "hessian", "jvp", "hvp" or "assert"
    # value and gradients as decimal strings, from the reference
    precise: dict[str, Any] | None = None
    precise_certified: bool | None = None  # whether every one of these digits is proved
    skip: str | None = None  # why the case is not checked
    unreached: bool = False  # whether time ran out before the case
    xfail: str | None = None  # why the case is known to fail
    # Values chosen for names that have none.
    point: dict[str, Array] = field(default_factory=dict)
    # Values of the names with derivatives, where a report shows them.
    at: dict[str, Array] = field(default_factory=dict)
    uncertainty: Uncertainty | None = None  # of the value, if the given values are not exact
    explanation: Any = None  # the Explanation, if one was asked for
    dependent: str = ""  # the name that an equation gives, whose derivatives these are
    partial: bool = True  # whether that name may depend on several

    def point_text(self, between: str = " ") -> str:
        """Write the values that were chosen for names that have none."""
        return between.join(f"{name}={float(value)!r}" for name, value in self.point.items())

    @property
    def seed_chosen(self) -> str | None:
        """The words for the seed of a gradient of several numbers, where nobody gave one."""
        summed = (
            self.mode == "grad" and bool(self.grad) and bool(self.shape) and not self.seed_given
        )
        return "ones, the gradient of the sum" if summed else None

    @property
    def std(self) -> Array:
        """The standard deviation of the value; None where that is exact."""
        return None if self.uncertainty is None else self.uncertainty.std

    @property
    def verdicts(self) -> dict[str, str]:
        """The verdicts of the names, where they are not all that of the whole."""
        parts = {} if self.check is None else self.check.variables
        words = {name: part.verdict.word for name, part in parts.items()}
        return words if len({*words.values()}) > 1 else {}

    @property
    def given_seed(self) -> Array:
        """The seed, if somebody gave one."""
        return self.seed if self.seed_given else None

    def equations(self, digits: int | None = None) -> list[str]:
        """Return the value, and each derivative as a formula and as numbers."""
        if self.value is None:
            return []
        f = spelled(self.dependent or "f")
        lines = [f"{f} &= {array(self._value_with_deviation(digits), digits)}"]
        for name, numbers in self.derivatives().items():
            formula = (self.latex or {}).get(name)
            lines.append(
                f"{_derivative(self.mode, name, f, self.partial)} &= "
                f"{f'{formula} = ' if formula else ''}{array(numbers, digits)}"
            )
        return lines

    def _value_with_deviation(self, digits: int | None) -> Any:
        """Return the value, with its standard deviation, if it has one."""
        return self.value if self.std is None else with_deviations(self.value, self.std, digits)

    def lines(self, digits: int | None = None, width: int | None = None) -> list[Line | Table]:
        """Return the lines of the value, the derivatives, the verdict, and remarks on them."""
        value, kind = (
            array_text(self._value_with_deviation(digits), digits, width),
            f"{self.dtype}{f', shape {self.shape}' if self.shape else ''}",
        )
        said: list[str] = []
        if self.uncertainty is not None:
            said = shares(self.uncertainty) + self.uncertainty.notes
        if self.asserted is not None:
            value, kind = (
                {True: "true", False: "false", None: "undetermined"}[self.asserted.holds],
                "",
            )
        between = "\n" if "\n" in value else "  "
        lines: list[Line | Table] = [
            *self._head(),
            Line("value", [Part(value), *([Part(f"{between}({kind})")] if kind else [])], "value"),
        ]
        if self.mode == "grad" and self.grad:
            seed = array_text(self.seed, digits, width) if self.seed_given else self.seed_chosen
            lines += [] if seed is None else [Line("seed", [Part(seed)], "seed")]
        checks = self.check.variables if self.check is not None else {}
        formulas = self.formulas()
        rows = []
        for name, numbers in self.derivatives().items():
            check = checks.get(name)
            verdict = (
                ""
                if check is None
                else check.verdict + check.few_digits(12 if self.dtype == "float64" else 5)
            )
            rows.append(
                Row(
                    printable(
                        operator([name], self.partial, of) if (of := self.dependent) else name
                    ),
                    array_text(numbers, digits, width),
                    verdict,
                    printable(formulas.get(name, "")),
                )
            )
            said += [] if check is None else check.notes(name)
        if rows:
            lines.append(Table(_HEADINGS[self.mode], rows, self.check is not None))
        if self.uncertainty is not None and self.uncertainty.results is not None:
            lines.append(_covariances(self.uncertainty.results))
        for part in self.relations:
            if not part.holds:
                text = part.difference or (part.open_box if part.holds is None else "")
                said += [text] if text else []
        if self.check is not None:
            word, basis = self.check.verdict, printable(self._basis(self.check))
            lines.append(
                labelled_line(
                    "check", f"{word}{'' if basis.startswith(',') else ' '}{basis}".rstrip(), word
                )
            )
            said += [] if self.check.value is None else self.check.value.notes("the value")
            point = self.check.critical_point
            lines += [] if point is None else [labelled_line("point", point.text)]
        for name, decimals in (self.precise or {}).items():
            what = name if name == "value" else f"d/d{printable(name)}"
            said.append(f"{what} = {str(decimals).replace(chr(39), '')}")
        said += [] if self.check is None else self.check.advice
        return [*lines, *notes([*said, *self.warnings])]

    def _basis(self, check: Check) -> str:
        """Return the words after the verdict, which may go on after a comma."""
        from gradcli.check.verdicts import certainty

        word = check.verdict
        parts = [*check.variables.values()] or check.parts
        sources = sorted({c.decided_by for c in parts if c.decided_by})
        text = " and ".join(_SOURCES.get(s, s) for s in sources)
        digits = [c.digits for c in parts if c.digits is not None]
        digitless = (
            f", no digit of {', '.join(check.without_digits)} is right"
            if check.without_digits
            else ""
        )
        if self.asserted is not None and self.asserted.over is not None and word == "agree":
            return "proved"
        if word == "agree" and text:
            proof = certainty(check.parts)
            text = (
                f"{proof}with {text}, to {min(digits)} digits"
                if digits and not digitless
                else f"{proof}with {text}{digitless}"
            )
            return text + _what_was_held(parts)
        if word == "skipped":
            return "" if self.warnings else check.reason or "nothing to check"
        if word == "undetermined":
            return check.reason or ""
        if word == "mismatch" and all(c.certified for c in parts if c.verdict == word) and sources:
            return f"(proved by {text})"
        if word == "ill-conditioned" and digitless:
            return f"{digitless} (decided by {text})" if text else digitless
        return f"(decided by {text})" if text else ""

    @property
    def shape(self) -> tuple[int, ...]:
        return () if type(self.value) is np.float64 else np.shape(self.value)

    @property
    def dtype(self) -> str | None:
        if self.value is None:
            return None
        return "float64" if type(self.value) is np.float64 else _name(np.asarray(self.value).dtype)

    def derivatives(self) -> dict[str, Array]:
        """Return the derivatives of the record's mode by their variable's name.

        A Hessian has names of pairs of variables.
        """
        if self.mode == "jvp":
            return {"jvp": self.jvp}
        if self.mode == "hessian":
            return _by_pairs(self.hessian)
        return {"jacobian": self.jacobian, "hvp": self.hvp}.get(self.mode, self.grad) or {}

    def formulas(self) -> dict[str, str]:
        """Return the formulas of the derivatives by the same names."""
        found = _by_pairs(self.derivative) if self.mode == "hessian" else self.derivative or {}
        return {name: text for name, text in found.items() if text}

    @property
    def failed(self) -> bool:
        """True if the record makes ``gradcli eval`` exit with 1.

        The cause is a mismatch, or a false assert.
        """
        mismatch = self.check is not None and self.check.verdict == "mismatch"
        return mismatch or bool(self.refuted) or self.is_refuted

    @property
    def is_refuted(self) -> bool:
        """True if the record is of a false assert."""
        return self.asserted is not None and self.asserted.holds is False

    def _layout(self) -> str:
        return _LAYOUTS[self.mode]

    @property
    def derivative_or_none(self) -> dict[str, Any] | None:
        """The formulas, if there are any."""
        return self.derivative or None

    @property
    def shape_or_none(self) -> tuple[int, ...] | None:
        """The shape of the value, if there is one."""
        return None if self.value is None else self.shape

    def join(self, later: Record) -> Record:
        """Return the result of a program with these two records.

        It is that of the program's last query, if there is one, and it reports the false asserts as
        well.
        """
        kept, other = (
            (self, later)
            if later.mode == "assert" != self.mode and later.error is None
            else (later, self)
        )
        said = [*other.refuted]
        if other.asserted is not None and other.asserted.holds is False:
            said.append(f"line {other.line}: '{other.expr}' is false: {other.asserted.difference}")
        kept.refuted += said
        kept.warnings += said
        return kept

    def take_outcome(self, relations: list[Asserted]) -> None:
        """Take the outcome of an assert's relations.

        It is the outcome of the first false relation, or else of the first undecided one.
        """
        self.relations = relations
        outcomes = [part.holds for part in relations]
        self.value = False if False in outcomes else None if None in outcomes else True
        self.asserted = relations[outcomes.index(self.value)]


def _by_pairs(found: dict[str, dict[str, Any]] | None) -> dict[str, Any]:
    """Second derivatives by both of their names."""
    return {f"{a},{b}": part for a, row in (found or {}).items() for b, part in row.items()}


def _covariances(found: JointCovariance) -> Table:
    """Return covariances, each with the correlation."""
    cells = np.char.mod("%.2g", found.covariance), np.char.mod(" (%.2f)", found.correlation)
    rows = [
        Row(printable(name), "".join(map("{:17}".format, row)).rstrip(), "", "")
        for name, row in zip(found.of, np.char.add(*cells), strict=True)
    ]
    return Table("covariance (correlation)", rows, False)


def _what_was_held(parts: Sequence[VariableCheck]) -> str:
    """Return text on what a check of large arrays may have missed.

    It names entries that were not looked at, and rules that were held along directions only.
    """
    fewest = min(
        (c.entries for c in parts if c.entries),
        key=lambda entries: entries[0] / max(1, entries[1]),
        default=(1, 1),
    )
    text = f", {fewest[0]:,} of {fewest[1]:,} entries" if fewest[0] < fewest[1] else ""
    directions = min((c.directions for c in parts if c.directions), default=0)
    return text + (f", rules held along {directions} random directions" if directions else "")


def _derivative(mode: str, name: str, f: str, partial: bool) -> str:
    if mode == "jvp":
        return "\\dot f"
    if mode == "hvp":
        return f"\\left(\\nabla^2 f\\, v\\right)_{{{spelled(name)}}}"
    return fraction(name.split(","), partial, f)


def as_error(result: Any, error: Exception) -> Any:
    """Return a result as an error, without anything else that may prevent writing it."""
    result.fail(as_gradcli_error(error))
    record = getattr(result, "record", result)  # an explanation has its own record
    record.expr, record.read_as, record.meta, record.warnings = (
        clip_text(record.expr, _LONGEST),
        None,
        None,
        [],
    )
    return result
