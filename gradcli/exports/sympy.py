"""Exports to sympy: a function of symbols or numbers, which gives expressions."""

from __future__ import annotations

import keyword
import math
from collections.abc import Sequence
from typing import Any

from gradcli.errors import UnsupportedInTargetError
from gradcli.exports.python import Statements, function_lines, is_operator
from gradcli.exports.subject import Names, Subject, conventions, describe, writable
from gradcli.graph.nodes import Expr, reachable
from gradcli.ops.spec import Op
from gradcli.reference.symbolic.derivative import written_for_sympy


class _Text(Statements):
    """Statements of Python."""

    def template(self, node: Expr, op: Op, operands: list[Any]) -> str:
        return written_for_sympy(op, len(operands), node.static)

    def number(self, value: float) -> str:
        if value.is_integer() and abs(value) < 2**53:
            return str(int(value))
        return (
            repr(value)
            if math.isfinite(value)
            else "sympy.nan"
            if value != value
            else "-sympy.oo"
            if value < 0
            else "sympy.oo"
        )


class SympyModule:
    """Modules of Python that build sympy's expressions."""

    def file(self, subjects: Sequence[Subject]) -> str:
        """The text of a module. Raises UnsupportedInTargetError."""
        return "import sympy\n\n\n" + "\n\n\n".join(map(self._function, subjects)) + "\n"

    def _function(self, subject: Subject) -> str:
        if any(node.shape for node in reachable(subject.roots)) or subject.precision != "float64":
            raise UnsupportedInTargetError(
                "sympy has no arrays of numbers", help="export numbers, or export to numpy"
            )
        kinks = conventions(subject)
        subject = writable(subject, "sympy", _writes)
        names = Names({*keyword.kwlist, "value", "sympy"}, unicode=True)
        known = {parameter.leaf: names.of(parameter.name) for parameter in subject.parameters}
        text = _Text(subject.roots, names, subject.labels, known)
        results = [f"sympy.sympify({piece})" for piece in text.texts()]
        told = describe(subject, kinks, {p.name: known[p.leaf] for p in subject.parameters})
        told += ["", "Names may be symbols (sympy.symbols with real=True) or numbers."]
        body = [f"{name} = sympy.sympify({name})" for name in known.values()]
        return "\n".join(function_lines(subject, known, told, [*body, *text.lines], results))


def _writes(op: Op, node: Expr, operands: Sequence[Any]) -> bool:
    return is_operator(op) or bool(written_for_sympy(op, len(operands), node.static))
