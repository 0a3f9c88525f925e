"""Results in notebooks as HTML, in which the user's text is text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gradcli.inert import clipped, html_text
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
