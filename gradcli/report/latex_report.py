"""Records as LaTeX: the value, and each derivative as a formula and as numbers."""

from __future__ import annotations

from gradcli.errors import text_lines
from gradcli.inert import latex_comment
from gradcli.notation import array, name
from gradcli.report.records import Record


def latex_record(record: Record, digits: int | None) -> str:
    """An ``align*`` of one record."""
    spread = "" if record.uncertainty is None else f" \\pm {array(record.uncertainty.std, 2)}"
    lines = [f"f &= {array(record.value, digits)}{spread}"]
    if record.mode == "jvp":
        lines.append(f"\\dot f &= {array(record.jvp, digits)}")
    elif record.mode == "hessian":
        for a, row in (record.hessian or {}).items():
            for b, block in row.items():
                formula = (record.latex or {}).get(f"{a},{b}")
                middle = f"{formula} = " if formula else ""
                lines.append(f"\\frac{{\\partial^2 f}}{{\\partial {name(a)}\\,\\partial {name(b)}}} &= {middle}{array(block, digits)}")
    elif record.mode == "hvp":
        lines += [f"\\left(\\nabla^2 f\\, v\\right)_{{{name(x)}}} &= {array(product, digits)}" for x, product in (record.hvp or {}).items()]
    else:
        symbol = "\\frac{\\partial f}{\\partial %s}"
        for variable, numbers in ((record.jacobian if record.mode == "jacobian" else record.grad) or {}).items():
            formula = (record.latex or {}).get(variable)
            middle = f"{formula} = " if formula else ""
            lines.append(f"{symbol % name(variable)} &= {middle}{array(numbers, digits)}")
    comment = latex_comment("\n".join(text_lines(record.expr, keepends=False)))
    body = " \\\\\n".join(lines)
    return f"{comment}\\begin{{align*}}\n{body}\n\\end{{align*}}\n"
