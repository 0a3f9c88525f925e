"""Jacobians, Hessians and products of Hessians with vectors, for values of given names, shapes and dtypes."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.errors import EvaluationError, GradcliError, InputTypeError, MissingValueError, ShapeError, suggestion
from gradcli.graph.indeterminate import gradients
from gradcli.graph.interpret import forward
from gradcli.graph.nodes import Expr, reachable
from gradcli.graph.transforms import definition_order, ones_like, vjp
from gradcli.ops.calling.inputs import numbers
from gradcli.ops.calling.promotion import FLOAT
from gradcli.ops.reductions.sums import sum_
from gradcli.plans.linearized import Runs, pushed
from gradcli.query.bindings import by_form
from gradcli.query.instances import Asked, ForShapes, Instance
from gradcli.query.matrices import Blocks, Derivatives


class MatrixPlan(ForShapes):
    """What `jacobian` and `hessian` have in common: a matrix of derivatives, in blocks by names."""

    kind = ""

    def __init__(
        self, asked: Asked, bindings: Mapping[str, Any], seed: Any, unknown: Collection[str] = (), state: int | None = None
    ) -> None:
        super().__init__(asked, bindings, seed, unknown, state)
        self.matrix = Blocks(self._of(self.made, Runs(asked.dtype, asked.backend, asked.threads)))

    def _of(self, made: Instance, runs: Runs) -> Derivatives:
        raise NotImplementedError

    def __call__(self, bindings: Mapping[str, Any], seed: None, how: str) -> Any:
        """The results by name, of arrays or ``sparse`` ones; or the ``whole`` matrix, rows and columns in the order of ``wrt``."""
        if how == "whole pattern":
            return self.matrix.pattern()
        values = self.made.values(bindings)
        try:
            if how.startswith("whole"):
                return self.matrix.whole(values, how == "whole sparse")
            return self.named(*(self.matrix.sparse(values) if how else self.matrix.dense(values)))
        except GradcliError as error:
            raise self.made.located(error) from None

    def named(self, beside: list[Any], blocks: list[Any]) -> Any:
        """The results by name."""
        raise NotImplementedError

    def text(self) -> str:
        names = ", ".join(self.wrt) or "nothing"
        return f"{self.made.takes()}\ngives the value and the {self.kind} by {names}\n{self.matrix.text()}"


class JacobianPlan(MatrixPlan):
    """The value, and the Jacobian by each name."""

    kind = "Jacobian"

    def _of(self, made: Instance, runs: Runs) -> Derivatives:
        return Derivatives([made.root], list(made.wrt.values()), [made.root], made.leaves, runs, is_symmetric=False)

    def named(self, beside: list[Any], blocks: list[Any]) -> tuple[Any, dict[str, Any]]:
        return beside[0], {name: blocks[self.wrt.index(name)] for name in self.order}

    def patterns(self) -> dict[str, Any]:
        found = self.matrix.patterns()
        return {name: found[self.wrt.index(name)] for name in self.order}


class HessianPlan(MatrixPlan):
    """The value, the gradient by each name, and the second derivatives by each two."""

    kind = "Hessian"

    def _of(self, made: Instance, runs: Runs) -> Derivatives:
        refuse_arrays(made, "a Hessian")
        wrt = list(made.wrt.values())
        slopes = vjp(made.root, wrt, ones_like(made.root)) if wrt else []
        return Derivatives(slopes, wrt, [made.root, *slopes], made.leaves, runs, is_symmetric=True)

    def named(self, beside: list[Any], blocks: list[Any]) -> tuple[Any, dict[str, Any], dict[str, dict[str, Any]]]:
        grads = {name: beside[1 + self.wrt.index(name)] for name in self.order}
        return beside[0], grads, self._by_two(blocks)

    def _by_two(self, blocks: Sequence[Any]) -> dict[str, dict[str, Any]]:
        count = len(self.wrt)
        places = {name: self.wrt.index(name) for name in self.order}
        return {name: {other: blocks[places[name] * count + places[other]] for other in self.order} for name in self.order}

    def patterns(self) -> dict[str, dict[str, Any]]:
        return self._by_two(self.matrix.patterns())


class ProductPlan(ForShapes):
    """The value, the gradient, and the Hessian times a vector, by each name: the derivative of the gradient in its direction."""

    def __init__(
        self, asked: Asked, bindings: Mapping[str, Any], seed: Any, unknown: Collection[str] = (), state: int | None = None
    ) -> None:
        super().__init__(asked, bindings, seed, unknown, state)
        made = self.made
        refuse_arrays(made, "a Hessian-vector product")
        self._moving = self._movable(seed)
        graph = made.root.graph
        self._directions = {name: graph.leaf("direction", x.shape) for name, x in self._moving.items()}
        wrt, ends = list(made.wrt.values()), list(self._moving.values())
        slopes = vjp(made.root, [*wrt, *ends], ones_like(made.root))
        self._slopes = slopes[: len(wrt)]
        along = graph.constant(0.0)
        for slope, direction in zip(slopes[len(wrt) :], self._directions.values(), strict=True):
            along = along + sum_(slope * direction)
        self._along = along
        self.graph, self.decides = graph, True
        products = pushed(self._slopes, {x: self._directions[name] for name, x in self._moving.items()}) if wrt else []
        self.roots = [made.root, *self._slopes, *products]
        runs = Runs(asked.dtype, asked.backend, asked.threads)
        self.plan = runs.plan(self, [*made.leaves, *self._directions.values()])

    def _movable(self, seed: Mapping[str, Any]) -> dict[str, Expr]:
        """What moves, by name. Raises for names that the value does not depend on, and for vectors of another shape."""
        root, scope = self.made.root, self.made.scope
        depends = set(definition_order(root))
        found = {}
        for name, vector in seed.items():
            x = self.made.wrt.get(name, scope.subject(name))
            if x is None or x not in depends or x.kind != FLOAT:
                known = [leaf.payload.name for leaf in depends if leaf.is_leaf]
                close = suggestion(name, sorted(known))
                help = f"did you mean '{close}'?" if close else "leave its vector out"
                raise MissingValueError(f"v: the value does not depend on '{name}'", help=help)
            if vector.shape != x.shape:
                raise ShapeError(f"v: the vector for '{name}' has the shape {vector.shape}, its value {x.shape}; they must be the same")
            found[name] = x
        return found

    @staticmethod
    def seed_of(seed: Any, dtype: np.dtype[Any]) -> tuple[Any, Any]:
        if not isinstance(seed, Mapping):
            raise InputTypeError(f"'v' must map names to vectors, not {type(seed).__name__}", help='write v={"x": ...}')
        with np.errstate(all="ignore"):
            found = {name: numbers(part, f"v['{name}']", copy=False).astype(dtype, copy=False) for name, part in by_form("v", seed).items()}
        return found, tuple((name, part.shape) for name, part in found.items())

    def interpreted(self, given: Mapping[Expr, Any], precision: str) -> list[Any]:
        """The gradient of the derivative in the vector's direction, by a sweep."""
        wrt = list(self.made.wrt.values())
        table = forward([self._along, self.made.root, *self._slopes], given, precision)
        one = np.ones_like(table[self._along])
        try:
            with np.errstate(all="ignore"):
                found = gradients(reachable([self._along]), {self._along: one}, wrt, table.__getitem__)
        except (ValueError, ArithmeticError) as error:
            raise EvaluationError(f"the product has no value: {error}") from None
        return [table[self.made.root], *(table[s] for s in self._slopes), *(found.get(x, np.zeros(x.shape, one.dtype)[()]) for x in wrt)]

    def __call__(self, bindings: Mapping[str, Any], seed: Mapping[str, Any], out: None) -> tuple[Any, dict[str, Any], dict[str, Any]]:
        try:
            value, *found = self.plan([*self.made.values(bindings), *seed.values()])
        except GradcliError as error:
            raise self.made.located(error) from None
        grads, products = {}, {}
        for name in self.order:
            place = self.wrt.index(name)
            grads[name], products[name] = found[place], found[place + len(self.wrt)]
        return value, grads, products

    def text(self) -> str:
        vectors = [f"v['{name}'] {x.shape}" for name, x in self._moving.items()]
        return f"{self.made.takes(*vectors)}\ngives the value, the gradient and the product by {', '.join(self.wrt)}\n{self.plan.text()}"


def refuse_arrays(made: Instance, what: str) -> None:
    if math.prod(made.root.shape) != 1:
        error = ShapeError(f"{what} is of a scalar: the value has the shape {made.root.shape}", help="take sum(...) of it, or its Jacobian")
        raise made.located(error)
