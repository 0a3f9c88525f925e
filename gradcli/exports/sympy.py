"""Exports to sympy: a function of symbols or numbers, which gives expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli.errors import UnsupportedInTargetError
from gradcli.exports.python import PythonModule, Statements, is_operator, number_text
from gradcli.exports.subject import Subject
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
        return number_text(value, "sympy.nan", "sympy.oo")


class SympyModule(PythonModule):
    """Modules of Python that build sympy's expressions."""

    name = "sympy"
    notes = ("", "Names may be symbols (sympy.symbols with real=True) or numbers.")

    def file(self, subjects: Sequence[Subject]) -> str:
        """Return the text of a module.

        Raises UnsupportedInTargetError.
        """
        return "import sympy\n\n\n" + "\n\n\n".join(map(self.function, subjects)) + "\n"

    def function(self, subject: Subject) -> str:
        if any(node.shape for node in reachable(subject.roots)) or subject.precision != "float64":
            raise UnsupportedInTargetError(
                "sympy has no arrays of numbers", help="export numbers, or export to numpy"
            )
        return super().function(subject)

    @property
    def reserved_names(self) -> set[str]:
        return super().reserved_names | {"sympy"}

    def writes(self, op: Op, node: Expr, operands: Sequence[Any]) -> bool:
        return is_operator(op) or bool(written_for_sympy(op, len(operands), node.static))

    def statements(self, precision: str, *arguments: Any) -> Statements:
        return _Text(*arguments)

    def taken(self, name: str, leaf: Expr, precision: str) -> str:
        return f"sympy.sympify({name})"

    def result(self, node: Expr, text: str, precision: str) -> str:
        return f"sympy.sympify({text})"
