"""Results as parts of documents: HTML for notebooks, in which the user's text is text, and LaTeX, for which amsmath is enough."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradcli.errors import text_lines
from gradcli.inert import html_text, latex_comment, xml_text
from gradcli.report.lines import Line, Table, cells_of

# -- HTML --------------------------------------------------------------------------------------------------------------


def html_page(title: str, style: str, content: Iterable[str], program: str = "") -> str:
    """A page that fetches nothing, and runs nothing but a program of ours; in ASCII, which every encoding has."""
    scripts = " script-src 'unsafe-inline';" if program else ""
    policy = f"default-src 'none'; style-src 'unsafe-inline';{scripts} img-src data:; base-uri 'none'; form-action 'none'"
    page = "\n".join([
        "<!DOCTYPE html>", '<html lang="en">', "<head>", '<meta charset="utf-8"/>',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"/>',
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>', '<meta name="referrer" content="no-referrer"/>',
        '<link rel="icon" href="data:,"/>', f"<title>{xml_text(title)}</title>", f"<style>{style}</style>", "</head>", "<body>",
        *content, "<footer>Made by gradcli. This file is complete: it loads nothing, and works offline.</footer>",
        *([f"<script>{program}</script>"] if program else []), "</body>", "</html>", "",
    ])  # fmt: skip
    return page.encode("ascii", "xmlcharrefreplace").decode()


def html_of(lines: Sequence[Line | Table]) -> str:
    """A table of labels with what stands beside them, and of derivatives."""
    rows = [row for line in lines for row in (cells_of(line) if isinstance(line, Table) else [(line.label or "", line.text)])]
    return f"<table>{''.join(f'<tr>{cells}</tr>' for cells in map(_cells, rows))}</table>"


def _cells(row: Sequence[str]) -> str:
    return "".join(f"<td style='white-space: pre-wrap; text-align: left'>{html_text(text)}</td>" for text in row)


# -- LaTeX -------------------------------------------------------------------------------------------------------------


def latex_document(expr: str, equations: Sequence[str]) -> str:
    """An ``align*`` of one result, its expression in a comment."""
    comment = latex_comment("\n".join(text_lines(expr, keepends=False)))
    body = " \\\\\n".join(equations)
    return f"{comment}\\begin{{align*}}\n{body}\n\\end{{align*}}\n"


def latex_in_notebook(equations: Sequence[str]) -> str:
    """Equations as notebooks show them."""
    return "$\\displaystyle \\begin{aligned} " + " \\\\ ".join(equations) + " \\end{aligned}$"
