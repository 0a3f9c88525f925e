"""Results as lines to read, from which texts, terminals and pages are made.

The file also writes numbers, text, HTML and LaTeX for these lines.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from gradcli.inert import html_text, latex_comment, xml_text
from gradcli.texts import display_width, inert_lines, pad, printable, text_lines

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


# -- Numbers and arrays: as they are, rounded, or in few characters for lines and boxes ----------


_THRESHOLD = 1000  # an array of more entries is summarized, as in NumPy

LISTED = 8  # entries of an array that fit on a line


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


_FIXED = range(-5, 6)  # powers of ten that are written without an exponent
_EPSILON = 1e-15  # relative to a number: below this, its own digits do not reach


def with_deviations(values: Any, found: Any, digits: int | None) -> Any:
    """Numbers with their standard deviations as texts: rounded to these, or to so many digits."""
    write = f"{{:.{digits}g}} ± {{:.{digits}g}}".format if digits else round_to_deviation
    return np.frompyfunc(write, 2, 1)(values, found)


def round_to_deviation(value: Any, deviation: Any) -> str:
    """Round a standard deviation as the Particle Data Group does, and the number to match.

    The deviation has two digits if it begins with 100 to 354 or 950 to 999, else one. The number is
    rounded to the same place.
    """
    if not (math.isfinite(value) and _EPSILON * abs(value) < deviation < math.inf):
        return f"{value} ± {deviation:.2g}"
    leading, _, power = f"{deviation:.2e}".partition("e")
    top = Decimal(str(max(abs(value), deviation))).adjusted()
    exponent = 0 if top in _FIXED else top
    places = Decimal(1).scaleb(int(power) - (float(leading) < 3.545) - exponent)
    rounded = (Decimal(str(v)).scaleb(-exponent).quantize(places) for v in (value, deviation))
    text = " ± ".join(map("{:f}".format, rounded))
    return f"({text})e{exponent}" if exponent else text


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


def short(value: Any, digits: int | None, listed: int = LISTED) -> str:
    """Return a value as short text, a large array as its shape and range; empty for None."""
    return round_number(value, digits, listed)[0]


def round_number(value: Any, digits: int | None, listed: int = LISTED) -> tuple[str, bool]:
    """Return a value as short text, as ``short`` does, and whether a number was rounded."""
    if value is None:
        return "", False
    if isinstance(value, tuple):
        parts = [round_number(part, digits, listed) for part in value]
        return "(" + ", ".join(text for text, _ in parts) + ")", any(lost for _, lost in parts)
    array = np.asarray(value)
    if array.size > listed:
        return _range(array), False
    text = array_text(array, digits)
    return " ".join(text.removeprefix("≈").split()), text.startswith("≈")


def _range(array: np.ndarray) -> str:
    shape = "×".join(map(str, array.shape))
    if array.dtype.kind != "f":
        return f"{shape} of {array.dtype.name}"
    finite = array[np.isfinite(array)]
    if not finite.size:
        return f"{shape}, none finite"
    ends = [f"{float(end):.3g}" for end in (finite.min(), finite.max())]
    bad = array.size - finite.size
    span = ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
    return f"{shape}, {span}" + (f", {bad} not finite" if bad else "")


def size(value: Any) -> float:
    """Return the sum of the magnitudes of all entries; infinite if one is not finite."""
    if isinstance(value, tuple):
        return sum(size(part) for part in value if part is not None)
    with np.errstate(all="ignore"):
        total = float(np.abs(np.asarray(value, float)).sum())
    return total if total == total else np.inf


# -- Parts of documents: HTML, in which the user's text is text, and LaTeX, for which amsmath is
# enough


# -- HTML


def html_page(title: str, style: str, content: Iterable[str], program: str = "") -> str:
    """Return a page that fetches nothing, and runs no program but ours.

    It is in ASCII, which is part of every encoding.
    """
    scripts = icon = script = ""
    if program:
        scripts, icon = " script-src 'unsafe-inline';", '<link rel="icon" href="data:,"/>'
        script = f"<script>{program}</script>\n"
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline';{scripts} img-src data:; base-uri "
        "'none'; form-action 'none'"
    )
    body = "\n".join(content)
    page = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="{policy}"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="referrer" content="no-referrer"/>
{icon}
<title>{xml_text(title)}</title>
<style>{style}</style>
</head>
<body>
{body}
<footer>Made by gradcli. This file is complete: it loads nothing, and works offline.</footer>
{script}</body>
</html>
"""
    return page.encode("ascii", "xmlcharrefreplace").decode()


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


# -- LaTeX


def latex_document(expr: str, equations: Sequence[str]) -> str:
    """Return an ``align*`` of one result, with its expression in a comment."""
    comment = latex_comment("\n".join(text_lines(expr, keepends=False)))
    body = " \\\\\n".join(equations)
    return f"{comment}\\begin{{align*}}\n{body}\n\\end{{align*}}\n"
