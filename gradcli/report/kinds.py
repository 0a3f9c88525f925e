"""The kinds of reports by the names that ``gradcli check --report KIND=FILE`` takes."""

from __future__ import annotations

from typing import TextIO

from gradcli.report.github import GitHubReport
from gradcli.report.html_report import HtmlReport
from gradcli.report.json_report import GitLabReport, JsonLinesReport, JsonReport
from gradcli.report.junit import JUnitReport
from gradcli.report.markdown import MarkdownReport
from gradcli.report.outcomes import Report
from gradcli.report.sarif import SarifReport
from gradcli.report.text_report import TextReport

KINDS: dict[str, type[Report]] = {
    "text": TextReport,
    "json": JsonReport,
    "jsonl": JsonLinesReport,
    "junit": JUnitReport,
    "github": GitHubReport,
    "gitlab": GitLabReport,
    "sarif": SarifReport,
    "markdown": MarkdownReport,
    "html": HtmlReport,
}


def make(kind: str, stream: TextIO, verbose: bool = False) -> Report:
    """A report of one of the `KINDS`; text takes more words if ``verbose``."""
    return TextReport(stream, verbose) if kind == "text" else KINDS[kind](stream)
