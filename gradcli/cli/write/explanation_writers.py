"""Explanations in the form that is asked for, on standard output or in a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gradcli.cli.write.record_writers import JsonArray, JsonLines, Lossless, RecordWriter, complain
from gradcli.cli.write.streams import prepare, put, put_text
from gradcli.cli.write.writers import is_styled
from gradcli.errors import UsageError
from gradcli.report.explanation import Explanation

Document = Callable[[list[Explanation]], str]


def explanation_writer(kind: str, color: str, digits: int, out: str | None = None) -> RecordWriter:
    """The writer of a format; what the encoding of standard output lacks is escaped. rich is imported for a terminal only."""
    prepare(kind)
    return Lossless(_writer(kind, color, digits, out))


def _writer(kind: str, color: str, digits: int, out: str | None) -> RecordWriter:
    if out is not None or kind not in ("text", "json", "jsonl"):
        return Collected(_document(kind, digits), kind, out)
    if kind in ("json", "jsonl"):
        from gradcli.report.explanation_json import as_dict

        return JsonArray(as_dict) if kind == "json" else JsonLines(as_dict)
    if is_styled(color):
        from gradcli.cli.write.terminal import ExplanationTerminal

        return ExplanationTerminal(color == "always", digits)
    from gradcli.report.explanation_sheet import text_of

    return Texts(lambda explanation: text_of(explanation, digits))


def _document(kind: str, digits: int) -> Document:
    """What a format makes of all explanations of a run."""
    if kind in ("json", "jsonl"):
        from gradcli.report.explanation_json import as_dict
        from gradcli.report.json_text import encoded

        if kind == "jsonl":
            return lambda found: "".join(encoded(as_dict(each)) + "\n" for each in found)
        return lambda found: encoded(as_dict(found[0]) if len(found) == 1 else [as_dict(each) for each in found], 2) + "\n"
    if kind == "svg":
        from gradcli.report.pictures.svg import svg

        return lambda found: svg(found[0])
    if kind == "html":
        from gradcli.report.page.assembly import page

        return lambda found: page(found, digits)
    if kind == "mermaid":
        from gradcli.report.pictures.mermaid import mermaid

        return lambda found: mermaid(found[0])
    if kind == "latex":
        from gradcli.report.explanation_latex import latex

        return lambda found: "\n".join(map(latex, found))
    from gradcli.report.explanation_sheet import text_of

    return lambda found: "\n".join(text_of(each, digits) for each in found)


_OF_ONE = ("svg", "mermaid")  # formats that have a single picture


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


class Collected:
    """One document of all explanations, written at the end: whole, or not at all. What is wrong stands beside it."""

    def __init__(self, document: Document, kind: str, out: str | None) -> None:
        self.document, self.kind, self.out = document, kind, out
        self.found: list[Explanation] = []

    def show(self, explanation: Any) -> None:
        if explanation.error is not None:
            complain(explanation.record)
            if self.kind not in ("json", "jsonl", "html"):
                return
        if self.kind in _OF_ONE and self.found:
            first = self.found[0].record
            raise UsageError(
                f"--format {self.kind} has one picture, and that is of line {first.line}",
                help="explain one expression, or write --format html",
            )
        self.found.append(explanation)

    def end(self) -> None:
        if not self.found:
            return
        text = self.document(self.found)
        if self.out is None:
            put(text)
            return
        from gradcli.storage.whole_files import write_whole

        if self.kind == "mermaid":
            text = f"```mermaid\n{text}```\n"  # how Markdown has it drawn
        write_whole(Path(self.out), text.encode())
