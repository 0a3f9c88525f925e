"""Where nodes come from: statement, place in the text, the calls they were expanded from, the
spelling.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from recorded import LISTS

from gradcli import GradcliError
from gradcli.graph.nodes import Expr, reachable
from gradcli.language.origins import Origin
from gradcli.language.run import Program, statements
from gradcli.language.scope import Scope

X, T = np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 4.0]]), np.array([0, 2])


class Found(NamedTuple):
    nodes: list[Expr]  # of the last query
    table: dict[Expr, list[Origin]]

    def of(self, operation: str) -> list[tuple[str, tuple[str, ...], str]]:
        """The text, calls and spelling of all nodes of an operation."""
        made = [node for node in self.nodes if node.op is not None and node.op.name == operation]
        return [
            (_text(origin), origin.calls, origin.spelling)
            for node in made
            for origin in self.table[node]
        ]


def _text(origin: Origin) -> str:
    return origin.source.text[origin.span.start : origin.span.end]


def found(text: str, **bindings: Any) -> Found:
    scope = Scope()
    for name, value in bindings.items():
        scope.bind_value(name, value)
    program = Program(scope)
    root = None
    for statement in statements(text.splitlines(keepends=True)):
        assert not isinstance(statement, GradcliError)
        lowered = program.execute(statement)
        root = root if lowered is None else lowered.value
    assert root is not None
    return Found(reachable([root]), scope.origins())


CASES = LISTS["origins"]


@pytest.mark.parametrize(
    ("text", "operation", "wanted"),
    CASES,
    ids=[f"{operation} of {text}" for text, operation, _ in CASES],
)
def test_origin(text: str, operation: str, wanted: list[tuple[str, tuple[str, ...], str]]) -> None:
    places = found(text, x=0.5).of(operation)
    assert [[place, [*calls], spelling] for place, calls, spelling in places] == wanted


def test_every_node_of_a_program_comes_from_somewhere() -> None:
    text = (
        "f(u) = u**3 + [u, 2][1]\nconst k = 3\ny = k*x\nf''(y) + hessian(x**4, x) + "
        "geomspace(x, 8, 3)[1] + logaddexp(x, k)"
    )
    nodes, table = found(text, x=2.0)
    assert [node for node in nodes if node not in table] == []


def test_earlier_queries_are_forgotten() -> None:
    nodes, table = found("sin(x)\ncos(x)", x=0.5)
    assert {node.op.name for node in table if node.op is not None} == {"cos"}
    assert nodes[-1] in table
