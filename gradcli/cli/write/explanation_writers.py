"""Explanations in the form that is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.cli.write.record_writers import JsonArray, JsonLines, Lossless, RecordWriter, complain
from gradcli.cli.write.streams import prepare, put, put_text
from gradcli.cli.write.writers import is_styled
from gradcli.report.explanation import Explanation


def explanation_writer(kind: str, color: str, digits: int) -> RecordWriter:
    """The writer of a format; what the encoding of standard output lacks is escaped. rich is imported for a terminal only."""
    prepare(kind)
    return Lossless(_writer(kind, color, digits))


def _writer(kind: str, color: str, digits: int) -> RecordWriter:
    if kind in ("json", "jsonl"):
        from gradcli.report.explanation_json import as_dict

        return JsonArray(as_dict) if kind == "json" else JsonLines(as_dict)
    if kind == "html":
        return Page(digits)
    if is_styled(color):
        from gradcli.cli.write.terminal import ExplanationTerminal

        return ExplanationTerminal(color == "always", digits)
    from gradcli.report.explanation_sheet import text_of

    return Texts(lambda explanation: text_of(explanation, digits))


class Page:
    """One page of all explanations, at the end; what is wrong stands on it, and beside the output."""

    def __init__(self, digits: int) -> None:
        self.digits = digits
        self.explanations: list[Explanation] = []

    def show(self, explanation: Any) -> None:
        if explanation.error is not None:
            complain(explanation.record)
        self.explanations.append(explanation)

    def end(self) -> None:
        from gradcli.report.page.assembly import page

        put(page(self.explanations, self.digits))


class Texts:
    """Texts one after the other; what is wrong stands beside them."""

    def __init__(self, text_of: Callable[[Explanation], str]) -> None:
        self.text_of, self.first = text_of, True

    def show(self, explanation: Any) -> None:
        if explanation.error is not None:
            complain(explanation.record)
            return
        put_text(("" if self.first else "\n") + self.text_of(explanation))
        self.first = False

    def end(self) -> None:
        """Everything has been put."""
