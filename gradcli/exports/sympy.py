"""Exports to sympy: a function of symbols or numbers, which gives expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gradcli.errors import UnsupportedInTargetError
from gradcli.exports.python import PythonModule, number_text
from gradcli.exports.subject import Subject
from gradcli.graph.nodes import Expr, reachable
from gradcli.ops.spec import Op
from gradcli.reference.symbolic.derivative import written_for_sympy


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

    def has_sign(self, op: Op) -> bool:
        return super().has_sign(op) and op.sign not in (
            "==",
            "!=",
        )  # which compare how things are written

    def text_of_call(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> str:
        return written_for_sympy(op, operands, static)

    def number(self, value: float) -> str:
        if value.is_integer() and abs(value) < 2**53:
            return str(int(value))
        return number_text(value, "sympy.nan", "sympy.oo")

    def taken(self, name: str, leaf: Expr, precision: str) -> str:
        return f"sympy.sympify({name})"

    def result(self, node: Expr, text: str, precision: str) -> str:
        return f"sympy.sympify({text})"
