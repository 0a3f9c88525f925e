"""Results in notebooks as HTML, in which the user's text is text, and in documents of LaTeX; amsmath is all that these need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gradcli.errors import text_lines
from gradcli.inert import clipped, html_text, latex_comment
from gradcli.report.records import Failure

_LONGEST = 400  # characters of a cell


def block(expr: str, error: Failure | None, body: str) -> str:
    """A result below its expression, or the error in its place."""
    text = body if error is None else f"<p>error[{html_text(error.code)}]: {html_text(error.message)}</p>"
    return f"<div><pre>{html_text(clipped(expr, _LONGEST))}</pre>{text}</div>"


def paragraphs(texts: Iterable[str]) -> str:
    """Each text as a paragraph."""
    return "".join(f"<p>{html_text(text)}</p>" for text in texts)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of short texts below headings."""
    head = "".join(f"<th>{html_text(text)}</th>" for text in heads)
    body = "".join("<tr>" + "".join(f"<td>{html_text(clipped(text, _LONGEST))}</td>" for text in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def written(value: Any) -> str:
    """Numbers as text; empty for None."""
    return "" if value is None else np.array2string(np.asarray(value), threshold=20) if np.ndim(value) else str(value)


def document(expr: str, equations: Sequence[str]) -> str:
    """An ``align*`` of one result, its expression in a comment."""
    comment = latex_comment("\n".join(text_lines(expr, keepends=False)))
    body = " \\\\\n".join(equations)
    return f"{comment}\\begin{{align*}}\n{body}\n\\end{{align*}}\n"


def aligned(equations: Sequence[str]) -> str:
    """Equations as notebooks show them."""
    return "$\\displaystyle \\begin{aligned} " + " \\\\ ".join(equations) + " \\end{aligned}$"
