"""Jacobians, Hessians and products of Hessians with vectors as functions of an expression's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from gradcli.characters import by_name
from gradcli.errors import ShapeError, UsageError
from gradcli.inert import clipped
from gradcli.limits import Limits
from gradcli.query.derivative_plans import HessianPlan, JacobianPlan, MatrixPlan, ProductPlan
from gradcli.query.flat import Flat, Layout, flattened
from gradcli.query.functions import SHOWN, Function, Listing

Settings = tuple[str, tuple[str, ...] | None, Any, Limits, str | None, str, int | None, int]  # what a `Function` is made of, in its order


class _Derived:
    """A function that gives derivatives beside a value: a `Function` that keeps plans of another kind."""

    plans: type
    options: tuple[str, ...] = ("random_state",)

    def __init__(self, settings: Settings, sparse: bool = False) -> None:
        self._settings, self._sparse = settings, sparse
        self._function = Function(*settings, self.plans)
        self._function.options = self.options

    @property
    def expression(self) -> str:
        return self._function.expression

    @property
    def wrt(self) -> tuple[str, ...] | None:
        """The names to differentiate with respect to; None for all that it is called with and depends on."""
        return self._function.wrt

    def __repr__(self) -> str:
        return f"<{'sparse ' * self._sparse}{type(self).__name__.lower()} {clipped(self.expression, SHOWN)!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, in another process too, compiles for itself."""
        return type(self), (self._settings, self._sparse)

    def _by(self, names: tuple[str, ...]) -> Self:
        """The same function with derivatives by these names."""
        if self._function.wrt == names:
            return self
        expression, _, *options = self._settings
        return type(self)((expression, names, *options), self._sparse)

    def flat(self, *names: str, **values: Any) -> Flat:
        """The function of one vector that holds the values of these names, as solvers call it.

        names   what the vector holds, one after the other
        values  shapes of these, ``x=(3, 2)`` (or values that have them; one name may have none: it is a vector of what is left), and the
                values of all other names, which are fixed; ``at=`` is a dictionary for names that are no keywords
        """
        function = self._function
        return flattened(names, values, function.words, self._by, function.float_dtype)

    def plan(self) -> Listing:
        """The programs that there are, one for each set of shapes: why NumPy or native code runs them, and their steps in order."""
        return self._function.plan()


class _Matrix(_Derived):
    """What has a matrix of derivatives."""

    def prepare(self, shapes: Mapping[str, Any] | None = None, /, **named: Any) -> Self:
        """Compile ahead for values of these shapes, as `Function.prepare`; gives the function."""
        plan: MatrixPlan = self._function.prepared(shapes, named)
        plan.matrix.made(self._sparse)
        return self

    def of_vector(self, layout: Layout, bindings: Mapping[str, Any]) -> Any:
        """The matrix, with a row for each entry of the value (of the vector, for a Hessian) and a column for each of the vector."""
        return self._function.called(None, bindings, "whole sparse" if self._sparse else "whole")

    def pattern_of_vector(self, layout: Layout, bindings: Mapping[str, Any]) -> Any:
        return self._function.called(None, bindings, "whole pattern")


class Jacobian(_Matrix):
    """A value and its Jacobians as a function of names. Made by `jacobian`."""

    plans = JacobianPlan

    def __call__(
        self, at: Mapping[str, Any] | None = None, /, *, random_state: int | None = None, **bindings: Any
    ) -> tuple[Any, dict[str, Any]]:
        """The value, and by each name the Jacobian, of the value's shape followed by the name's.

        ``sparse=True`` of `jacobian` makes each a ``scipy.sparse.csr_array`` with a row for each entry of the value and a column for each
        entry of the name, in C order.
        """
        found: tuple[Any, dict[str, Any]] = self._function.called(at, bindings, "sparse" * self._sparse, random_state)
        return found

    def sparsity(self, shapes: Mapping[str, Any] | None = None, /, **named: Any) -> dict[str, Any]:
        """By each name, which entries of the Jacobian may be other than zero, for values of these shapes (as ``prepare`` takes them).

        Sparse arrays of truths, with a row for each entry of the value. What is left out is zero for all values; what is not may be.
        """
        plan: JacobianPlan = self._function.prepared(shapes, named)
        found: dict[str, Any] = by_name(plan.patterns())
        return found


class Hessian(_Matrix):
    """A scalar, its gradients and its second derivatives as a function of names. Made by `hessian`."""

    plans = HessianPlan

    def __call__(
        self, at: Mapping[str, Any] | None = None, /, *, random_state: int | None = None, **bindings: Any
    ) -> tuple[Any, dict[str, Any], dict[str, dict[str, Any]]]:
        """The value, the gradient by each name, and by each two the second derivatives, ``[x][y]`` of the shape of x followed by that of y.

        ``sparse=True`` of `hessian` makes each a ``scipy.sparse.csr_array`` with a row for each entry of x and a column for each of y.
        """
        found: tuple[Any, dict[str, Any], dict[str, dict[str, Any]]]
        found = self._function.called(at, bindings, "sparse" * self._sparse, random_state)
        return found

    def sparsity(self, shapes: Mapping[str, Any] | None = None, /, **named: Any) -> dict[str, dict[str, Any]]:
        """By each two names, which second derivatives may be other than zero, as `Jacobian.sparsity` has it."""
        plan: HessianPlan = self._function.prepared(shapes, named)
        found: dict[str, dict[str, Any]] = by_name(plan.patterns())
        return found


class HessianProduct(_Derived):
    """A scalar, its gradients and its Hessian times a vector as a function of names. Made by `hvp`."""

    plans = ProductPlan
    options = ("v", "random_state")

    def __call__(
        self,
        at: Mapping[str, Any] | None = None,
        /,
        *,
        v: Mapping[str, Any] | None = None,
        random_state: int | None = None,
        **bindings: Any,
    ) -> tuple[Any, dict[str, Any], dict[str, Any]]:
        """The value, the gradient by each name, and by each name the Hessian times ``v``, in its shape.

        v  the vector: an array by name, of the name's shape; names without one do not move
        """
        if not v:
            raise UsageError("a Hessian-vector product needs a vector", help='give it one: v={"x": ...}, of the shape of x')
        found: tuple[Any, dict[str, Any], dict[str, Any]] = self._function.called(at, bindings, None, random_state, v)
        return found

    def of_vector(self, layout: Layout, bindings: Mapping[str, Any], *direction: Any) -> np.ndarray:
        """The product, as a vector."""
        if len(direction) != 1:
            raise UsageError("a Hessian-vector product needs a vector", help="call it with two: g(x, p)")
        if np.shape(direction[0]) != (size := (sum(np.size(bindings[name]) for name in layout.shapes),)):
            raise ShapeError(f"p has the shape {np.shape(direction[0])}, the vector {size}; they must be the same")
        return layout.join(self._function.called(None, bindings, None, None, layout.split(direction[0]))[2])
