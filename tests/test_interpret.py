"""One walk over the graph, and what nodes are in a domain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from cases import EVERY as CASES
from helpers import lowered

from gradcli.graph.nodes import Domain, Expr, Graph, interpret, reachable, rebuild
from gradcli.ops.spec import Op


class Text(Domain[str]):
    """A domain as the guide describes one: a few lines for a new reading of every graph."""

    def leaf(self, node: Expr) -> str:
        return str(node.payload.name)

    def constant(self, node: Expr) -> str:
        return str(node.payload)

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> str:
        return f"{op.name}({', '.join(o for o in operands if o is not None)})"

    def part(self, node: Expr, whole: str, place: int) -> str:
        return f"{whole}[{place}]"

    def detach(self, node: Expr, x: str) -> str:
        return f"[{x}]"

    def derivative(self, node: Expr, table: Mapping[Expr, Any]) -> str:
        return f"d {table[node.static['of'].y]} / d {table[node.static['of'].x]}"


READINGS = [
    ("x*y + x", "add(mul(x, y), x)"),
    ("x*detach(sin(y))", "mul(x, [sin(y)])"),
    ("np.linalg.eigh(x)[1]", "eigh(x)[1]"),
    ("grad(x**2*y, x)", "d mul(pow(x, 2), y) / d x"),
    ("z = x; z*y", "mul(x, y)"),
]


@pytest.mark.parametrize(("text", "reading"), READINGS)
def test_a_domain_reads_every_kind_of_node(text: str, reading: str) -> None:
    _, root = lowered(text, {"x": np.eye(2) if "eigh" in text else 2.0, "y": 3.0})
    assert interpret(definition(root), Text())[root] == reading


def definition(root: Expr) -> list[Expr]:
    from gradcli.graph.nodes import definition_order

    return definition_order(root)


def test_what_is_known_is_not_asked_for() -> None:
    _, root = lowered("sin(x)*y", {"x": 2.0, "y": 3.0})
    first = root.operand
    found = interpret(reachable([root]), Text(), {first: "known"})
    assert found[root] == "mul(known, y)"


def test_rebuilding_in_the_same_graph_finds_the_same_nodes() -> None:
    for case in CASES[:200]:
        _, root = lowered(case.text, case.values)
        if all(
            node.op is None or node.op.name != "alias" for node in reachable([root])
        ) and not any(node.kind == "int" and node.op is None for node in reachable([root])):
            assert rebuild([root], {})[0] is root, f"{case.text}: rebuilt as another node"


def test_rebuilding_over_other_leaves() -> None:
    _, root = lowered("sin(x)*y", {"x": 2.0, "y": 3.0})
    graph = Graph()
    leaves = {
        node: graph.leaf(node.payload.name, (4,)) for node in reachable([root]) if node.is_leaf
    }
    (other,) = rebuild([root], leaves, graph=graph)
    assert (other.graph, other.shape) == (graph, (4,))
