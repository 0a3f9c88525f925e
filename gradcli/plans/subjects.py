"""What a plan computes: nodes of one graph, and how they are computed array by array where its program has no result for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from gradcli.errors import EvaluationError
from gradcli.graph.indeterminate import gradients
from gradcli.graph.interpret import forward
from gradcli.graph.nodes import Expr, Graph, reachable
from gradcli.graph.sweep import backward, itself
from gradcli.graph.transforms import ones_like, zeros_like


class Subject(Protocol):
    """The nodes that are results, and what they are where something is not finite."""

    @property
    def roots(self) -> Sequence[Expr]: ...

    @property
    def graph(self) -> Graph: ...

    @property
    def decides(self) -> bool:
        """Whether `interpreted` gives other results than the roots, array by array, where something is not finite."""
        ...

    def interpreted(self, given: Mapping[Expr, Any], precision: str) -> list[Any]: ...


class Gradients:
    """The value of a root and its vector-Jacobian products.

    wrt     the nodes to differentiate with respect to
    seed    the cotangent of the root: ones, if None
    beside  nodes that are results in place of the value
    """

    def __init__(self, root: Expr, wrt: Sequence[Expr], seed: Expr | None = None, beside: Sequence[Expr] = ()) -> None:
        self.root, self.wrt, self.seed = root, list(wrt), seed
        self.beside = list(beside) or [root]
        self.graph = root.graph

    @property
    def roots(self) -> list[Expr]:
        """The value, and the gradients that the sweep makes of the graph."""
        seed = ones_like(self.root) if self.seed is None else self.seed
        found = backward(reachable([self.root]), {self.root: seed}, self.wrt, itself) if self.wrt else {}
        return [*self.beside, *(found[x] if x in found else zeros_like(x) for x in self.wrt)]

    @property
    def decides(self) -> bool:
        """Where a cotangent of zeros ends the sweep, the program goes on."""
        return bool(self.wrt) and any(
            not (node.op is None or node.op.elementwise or node.op.facts.linear) for node in reachable([self.root])
        )

    def interpreted(self, given: Mapping[Expr, Any], precision: str) -> list[Any]:
        """By the forward pass and the sweep."""
        table = forward([self.root, *self.beside], given, precision)
        value = table[self.root]
        seed = np.ones_like(value) if self.seed is None else given[self.seed]
        try:
            with np.errstate(all="ignore"):
                found = gradients(reachable([self.root]), {self.root: seed}, self.wrt, table.__getitem__)
        except (ValueError, ArithmeticError) as error:
            raise EvaluationError(f"the gradient has no value: {error}") from None
        return [*(table[node] for node in self.beside), *(found.get(x, np.zeros(x.shape, value.dtype)[()]) for x in self.wrt)]


class Nodes:
    """Nodes as they are."""

    def __init__(self, roots: Sequence[Expr]) -> None:
        self.roots = list(roots)
        self.graph = self.roots[0].graph
        self.decides = False

    def interpreted(self, given: Mapping[Expr, Any], precision: str) -> list[Any]:
        """By the forward pass."""
        table = forward(self.roots, given, precision)
        return [table[root] for root in self.roots]
