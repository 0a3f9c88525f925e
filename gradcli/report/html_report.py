"""A page of what is wrong, each case in full, with its explanation where there is one: a file of HTML that fetches and runs nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TextIO

from gradcli.inert import one_line, shown, xml_text
from gradcli.report.describing import block, id_of, location_in_repository
from gradcli.report.explanation import Explanation
from gradcli.report.outcomes import Outcome, Report, Summary, Worst
from gradcli.report.places import address_of, place_of

_MOST = 200  # cases that a page shows
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_STYLE = """
:root { color-scheme: light dark; --text: #1f2328; --back: #ffffff; --line: #d0d7de; --dim: #59636e; --bad: #b42318; --good: #1a7f37; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6edf3; --back: #0d1117; --line: #30363d; --dim: #9198a1; --bad: #ff7b72; --good: #56d364; }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); }
body { margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h1.bad, h2 { color: var(--bad); } h1.good { color: var(--good); }
h2 { font-size: 1.05rem; margin: 0; overflow-wrap: anywhere; }
article { border: 1px solid var(--line); border-radius: 6px; padding: .75rem 1rem; margin: 1rem 0; }
article p { margin: 0; color: var(--dim); overflow-wrap: anywhere; }
pre { font: 14px/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0; }
pre.command { border-left: 3px solid var(--line); padding-left: .75rem; }
summary { cursor: pointer; }
.picture { overflow: auto; }
footer { color: var(--dim); margin-top: 2rem; }
"""


class HtmlReport(Report):
    """The page, at the end."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self.worst: Worst[str] = Worst(_MOST)

    def add(self, outcome: Outcome) -> None:
        if outcome.bad:
            self.worst.add(outcome, _article)

    def close(self, summary: Summary) -> None:
        self.stream.write(self._page(summary).encode("ascii", "xmlcharrefreplace").decode())  # which every encoding has
        self.stream.flush()

    def _page(self, summary: Summary) -> str:
        title = xml_text(f"gradcli check: {summary.came_of or 'nothing to check'}")
        return "\n".join([
            "<!DOCTYPE html>", '<html lang="en">', "<head>", '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">', '<meta name="referrer" content="no-referrer">',
            '<link rel="icon" href="data:,">', f"<title>{title}</title>",
            f"<style>{_STYLE}</style>", "</head>", "<body>", "<main>",
            f'<h1 class="{"bad" if summary.bad or summary.interrupted else "good"}">{title}</h1>', f"<p>{xml_text(summary.line())}</p>",
            *([f"<p>Verdicts: {summary.listed_verdicts}</p>"] if summary.verdicts else []), *self.worst,
            *([f"<p>and {self.worst.left_out:,} more, none of them graver</p>"] if self.worst.left_out else []),
            "</main>", "<footer>Made by gradcli. This file is complete: it loads nothing, and works offline.</footer>",
            "</body>", "</html>", "",
        ])  # fmt: skip


def _article(outcome: Outcome) -> str:
    where = xml_text(location_in_repository(outcome) + id_of(outcome.record))
    address = address_of(place_of(outcome))
    parts = [
        "<article>", f"<h2>{xml_text(one_line(outcome.headline, 500))}</h2>",
        f"<p>{where}</p>" if address is None else f'<p><a href="{xml_text(address)}">{where}</a></p>',
        f"<pre>{xml_text(block(replace(outcome, repeat=None)))}</pre>",
    ]  # fmt: skip
    if outcome.repeat is not None:
        parts.append(f'<pre class="command">{xml_text(shown(outcome.repeat))}</pre>')
    return "\n".join([*parts, *_explanation(outcome), "</article>"])


def _explanation(outcome: Outcome) -> list[str]:
    """The right gradient, step by step: the graph with its numbers, and the same in words."""
    explanation = outcome.record.explanation
    if not isinstance(explanation, Explanation):
        return []
    from gradcli.report.documents import picture_and_text

    return ["<details>", "<summary>Where the numbers come from</summary>", picture_and_text(explanation), "</details>"]
