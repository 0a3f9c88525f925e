"""Results in notebooks: records and derivatives as HTML and LaTeX, in which the user's text is text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gradcli.inert import clipped, html_text
from gradcli.notation import array, name

_LONGEST = 400  # characters of a cell
_MOST = 1_000  # rows of a table


def record_in_html(record: Any) -> str:
    """The value, and each gradient with its formula and the verdict on it."""
    if record.error is not None:
        return block(record.expr, f"<p>error[{html_text(record.error.error.code)}]: {html_text(record.error.error.message)}</p>")
    found = record.grad or {}
    verdict = None if record.check is None else record.check.verdict
    rows = [("value", written(record.value), "", "" if verdict is None else verdict.word)]
    formulas = record.derivative or {}
    rows += [(f"by {by}", written(gradient), str(formulas.get(by) or ""), "") for by, gradient in found.items()]
    notes = "".join(f"<p>{html_text(note)}</p>" for note in record.warnings)
    return block(record.expr, table(("", "value", "formula", "check"), rows) + notes)


def record_in_latex(record: Any) -> str:
    """The value and the gradients, with their formulas where there are any."""
    lines = [f"f &= {array(np.asarray(record.value), None)}"] if record.value is not None else []
    for by, gradient in (record.grad or {}).items():
        formula = (record.latex or {}).get(by)
        equal = f"{formula} = " if formula else ""
        lines.append(f"\\frac{{\\partial f}}{{\\partial {name(by)}}} &= {equal}{array(np.asarray(gradient), None)}")
    return aligned(lines)


def derivatives_in_html(record: Any) -> str:
    """Each derivative's names and formula."""
    if record.error is not None:
        return block(record.expr, f"<p>error[{html_text(record.error.error.code)}]: {html_text(record.error.error.message)}</p>")
    rows = [(" ".join(path), str(formula.text or "")) for path, formula in record.formulas.items()]
    return block(record.expr, table(("by", "derivative"), rows))


def derivatives_in_latex(record: Any) -> str:
    """The derivatives as equations."""
    lines = []
    for path, formula in record.formulas.items():
        below = " ".join(f"\\partial {name(by)}" for by in path)
        power = f"^{{{len(path)}}}" if len(path) > 1 else ""
        if formula.latex:
            lines.append(f"\\frac{{\\partial{power} f}}{{{below}}} &= {formula.latex}")
    return aligned(lines)


def block(title: str, body: str) -> str:
    return f"<div><pre>{html_text(clipped(title, _LONGEST))}</pre>{body}</div>"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{html_text(text)}</th>" for text in heads)
    body = "".join("<tr>" + "".join(f"<td>{html_text(clipped(text, _LONGEST))}</td>" for text in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def written(value: Any) -> str:
    return "" if value is None else np.array2string(np.asarray(value), threshold=20) if np.ndim(value) else str(value)


def aligned(lines: Sequence[str]) -> str:
    return "$\\displaystyle \\begin{aligned} " + " \\\\ ".join(lines) + " \\end{aligned}$"
