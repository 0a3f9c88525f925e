"""The kinds of reports by the names that ``gradcli check --report KIND=FILE`` takes, each imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TextIO

from gradcli.report.outcomes import Report

KINDS = {
    "text": "text_report.TextReport", "json": "json_report.JsonReport", "jsonl": "json_report.JsonLinesReport",
    "junit": "junit.JUnitReport", "github": "github.GitHubReport", "gitlab": "json_report.GitLabReport", "sarif": "sarif.SarifReport",
    "markdown": "markdown.MarkdownReport", "html": "html_report.HtmlReport",
}  # fmt: skip


def make(kind: str, stream: TextIO, **how: bool) -> Report:
    """A report of one of the `KINDS`; that for people takes ``verbose`` and ``quiet``."""
    module, _, name = KINDS[kind].partition(".")
    report: Report = getattr(import_module(f"gradcli.report.{module}"), name)(stream, **(how if kind == "text" else {}))
    return report
