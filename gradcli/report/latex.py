"""Results as LaTeX; amsmath is all it needs."""

from __future__ import annotations

from collections.abc import Sequence

from gradcli.errors import text_lines
from gradcli.inert import latex_comment


def document(expr: str, equations: Sequence[str]) -> str:
    """An ``align*`` of one result, its expression in a comment."""
    comment = latex_comment("\n".join(text_lines(expr, keepends=False)))
    body = " \\\\\n".join(equations)
    return f"{comment}\\begin{{align*}}\n{body}\n\\end{{align*}}\n"


def aligned(equations: Sequence[str]) -> str:
    """Equations as notebooks show them."""
    return "$\\displaystyle \\begin{aligned} " + " \\\\ ".join(equations) + " \\end{aligned}$"
