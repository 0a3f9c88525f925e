"""Plans of compiled functions for values of given names, shapes and dtypes: a value with gradients, a matrix of derivatives, or
the product of a Hessian with a vector."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np

from gradcli.errors import GradcliError, InputTypeError, MissingValueError, ShapeError, UsageError, suggestion
from gradcli.graph.nodes import Expr
from gradcli.graph.transforms import definition_order, ones_like, vjp
from gradcli.ops.calling.inputs import FLOAT, numbers
from gradcli.ops.reductions.sums import sum_
from gradcli.plans.linearized import Runs
from gradcli.plans.source import Gradients
from gradcli.query.bindings import by_form
from gradcli.query.instances import Instance, Settings, Spec
from gradcli.query.matrices import Compressed, Derivatives, Short, csr

_STATES = 16  # of random numbers, whose draws are kept
_WORK = 100_000  # steps in which it is found out whether arrays overlap
Order = Sequence[tuple[int, str]]  # the places of names among those that are differentiated by, in the order of results


class Specialized:
    """A program for values of given names, shapes and dtypes, and the plan that computes it."""

    def __init__(self, settings: Settings, specs: tuple[Spec, ...], seed: Any, state: int | None = None) -> None:
        """``seed`` is what of the seed a plan is made for."""
        self.settings, self.specs, self.seed = settings, specs, seed
        self.made = Instance(settings, specs, state)
        self.wrt = list(self.made.wrt)
        self.runs = Runs(settings.dtype, settings.backend, settings.threads)
        self.with_state = lru_cache(_STATES)(self._with_state)
        self.compile()

    def compile(self) -> None:
        """Make the plan. Raises a `GradcliError` for a program that has no such derivatives."""
        raise NotImplementedError

    def __call__(self, bindings: Mapping[str, Any], seed: Any, out: Any, order: Order) -> Any:
        """The results of a call; ``out`` are arrays that take gradients, or how a matrix is wanted."""
        raise NotImplementedError

    @staticmethod
    def seed_of(seed: Any, dtype: np.dtype[Any]) -> tuple[Any, Any]:
        """The seed as numbers, and what of it a plan is made for."""
        array = _as_floats(seed, "the seed", dtype)
        return array, array.shape

    def order(self, names: Iterable[str]) -> Order:
        """The order of results: that in which a call has names, unless one was asked for."""
        places = {name: place for place, name in enumerate(names)}
        found = list(enumerate(self.wrt))
        if self.settings.wrt is None:
            found.sort(key=lambda pair: places.get(pair[1], len(places)))
        return found

    def _with_state(self, state: int) -> Self:
        """The same with the random numbers of another state."""
        scope = self.made.scope
        if state == self.made.state or not scope.has_drawn:
            return self
        if scope.draws_decide:
            return type(self)(self.settings, self.specs, self.seed, state)
        found = copy(self)
        found.made = Instance(self.settings, self.specs, state)
        return found

    def text(self) -> str:
        """The program, with what it takes and gives in the order in which it does."""
        raise NotImplementedError


class ValueAndGradients(Specialized):
    """The value, and its vector-Jacobian product by each name."""

    def compile(self) -> None:
        made, seed = self.made, self.seed
        root, wrt = made.root, list(made.wrt.values())
        if seed is None and wrt and math.prod(root.shape) != 1:
            raise ShapeError(
                f"the value has the shape {root.shape}; only a scalar has a gradient without a seed",
                help="give a seed of that shape, e.g. seed=np.ones(...)",
            )
        if seed is not None and seed != root.shape:
            raise ShapeError(f"the seed has the shape {seed}, the output {root.shape}; they must be the same")
        seeds = [] if seed is None else [made.scope.graph.leaf("seed", root.shape)]
        self.plan = self.runs.plan(Gradients(root, wrt, seeds[0] if seeds else None), [*made.leaves, *seeds])

    def text(self) -> str:
        given = ["the value", *(f"the gradient by {name}" for name in self.wrt)]
        taken = self.made.takes(*["the seed"] * (self.seed is not None))
        return f"{taken}\ngives {', '.join(given)}\n{self.plan.text()}"

    def __call__(self, bindings: Mapping[str, Any], seed: Any, out: Mapping[str, Any] | None, order: Order) -> tuple[Any, dict[str, Any]]:
        made = self.made
        values = [bindings[name] for name in made.names] if made.is_plain else made.values(bindings)
        if seed is not None:
            values.append(seed)
        outs = () if out is None else (None, *self._outs(out, values))
        try:
            results = self.plan(values, outs)
        except GradcliError as error:
            raise made.with_place(error) from None
        grads = {}
        for place, name in order:  # in half the time of a comprehension
            grads[name] = results[place + 1]
        if out is not None:
            for name, array in out.items():
                if grads[name] is not array:
                    np.copyto(array, grads[name])
                    grads[name] = array
        return results[0], grads

    def _outs(self, out: Mapping[str, Any], values: list[Any]) -> list[Any]:
        """The caller's arrays, where a plan can write straight into them."""
        if not isinstance(out, Mapping):
            help = f'write out={{"{next(iter(self.wrt), "x")}": np.empty(...)}}'
            raise InputTypeError(f"'out' must map names to arrays, not {type(out).__name__}", help=help)
        dtype = self.made.dtype
        for name, array in out.items():
            if name not in self.wrt:
                raise UsageError(f"out: there is no gradient by '{name}'")
            shape = self.made.wrt[name].shape
            if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype != dtype:
                raise UsageError(f"out: the gradient by '{name}' needs a {dtype} array of shape {shape}")
        arrays = list(out.items())
        for i, (name, array) in enumerate(arrays):
            if not array.flags.writeable or _overlaps_itself(array):
                help = f"give an array of its own: np.empty({array.shape})"
                raise UsageError(f"out: the array for '{name}' cannot be written entry by entry", help=help)
            for other, array_of_other in arrays[:i]:
                if _overlap(array, array_of_other):
                    raise UsageError(f"out: the arrays for '{other}' and '{name}' share memory", help="give each an array of its own")
        straight = {
            name: array
            for name, array in out.items()
            if array.flags.carray and not any(np.may_share_memory(array, value) for value in values)
        }
        return [straight.get(name) for name in self.wrt]


class MatrixPlan(Specialized):
    """A matrix of derivatives, in blocks by names; compiled in whichever way suits when it is first asked for."""

    kind = ""
    of: Derivatives

    @cached_property
    def dense(self) -> Short | Compressed:
        """The way to arrays."""
        if Short.suits(self.of):
            short = Short(self.of)
            if short.pays:
                return short
        return self.compressed

    @cached_property
    def compressed(self) -> Compressed:
        """The way to sparse arrays."""
        return Compressed(self.of)

    def __call__(self, bindings: Mapping[str, Any], seed: None, out: str, order: Order) -> Any:
        """The results by name, of arrays or ``sparse`` ones; the ``whole`` matrix, rows and columns in the order of ``wrt``, or
        ``whole sparse``; or its ``pattern``."""
        if out == "pattern":
            return self.pattern()
        values = self.made.values(bindings)
        try:
            if out.endswith("sparse"):
                beside, data = self.compressed.entries(values)
                whole = csr(data, self.of.pattern)
                return self.by_names(beside, self.of.parts(whole), order) if out == "sparse" else whole
            beside, blocks = self.dense.blocks(values)
        except GradcliError as error:
            raise self.made.with_place(error) from None
        return self.of.join(blocks) if out else self.by_names(beside, blocks, order)

    def pattern(self) -> Any:
        """The entries of the matrix that may be other than zero, as a sparse array of truths."""
        return csr(np.ones(self.of.pattern.columns.size, bool), self.of.pattern)

    def patterns(self, order: Order) -> dict[str, Any]:
        """The patterns of blocks, by name."""
        found: dict[str, Any] = self.by_names([None] * (1 + len(self.wrt)), self.of.parts(self.pattern()), order)[-1]
        return found

    def by_names(self, beside: list[Any], blocks: list[Any], order: Order) -> tuple[Any, ...]:
        """The results by name."""
        raise NotImplementedError

    def text(self) -> str:
        names = ", ".join(self.wrt) or "nothing"
        made = dict.fromkeys(way.text() for name, way in vars(self).items() if name in ("dense", "compressed"))
        ways = "\n\n".join(made) or "compiled at the first call"
        return f"{self.made.takes()}\ngives the value and the {self.kind} by {names}\n{ways}"


class JacobianPlan(MatrixPlan):
    """The value, and the Jacobian by each name."""

    kind = "Jacobian"

    def compile(self) -> None:
        made = self.made
        self.of = Derivatives([made.root], list(made.wrt.values()), [made.root], made.leaves, self.runs, is_symmetric=False)

    def by_names(self, beside: list[Any], blocks: list[Any], order: Order) -> tuple[Any, ...]:
        return beside[0], {name: blocks[place] for place, name in order}


class HessianPlan(MatrixPlan):
    """The value, the gradient by each name, and the second derivatives by each two."""

    kind = "Hessian"

    def compile(self) -> None:
        made = self.made
        _refuse_arrays(made, "a Hessian")
        wrt = list(made.wrt.values())
        slopes = vjp(made.root, wrt, ones_like(made.root)) if wrt else []
        self.of = Derivatives(slopes, wrt, [made.root, *slopes], made.leaves, self.runs, is_symmetric=True)

    def by_names(self, beside: list[Any], blocks: list[Any], order: Order) -> tuple[Any, ...]:
        value, *slopes = beside
        count = len(slopes)
        by_two = {name: {other: blocks[row * count + column] for column, other in order} for row, name in order}
        return value, {name: slopes[place] for place, name in order}, by_two


class ProductPlan(Specialized):
    """The value, the gradient, and the Hessian times a vector, by each name: the derivative of the gradient in its direction."""

    def compile(self) -> None:
        made = self.made
        _refuse_arrays(made, "a Hessian-vector product")
        self.moving = self._movable()
        graph = made.root.graph
        directions = [graph.leaf("direction", x.shape) for x in self.moving.values()]
        wrt = list(made.wrt.values())
        slopes = vjp(made.root, [*wrt, *self.moving.values()], ones_like(made.root))
        along = graph.constant(0.0)
        for slope, direction in zip(slopes[len(wrt) :], directions, strict=True):
            along = along + sum_(slope * direction)
        subject = Gradients(along, wrt, beside=[made.root, *slopes[: len(wrt)]])
        self.plan = self.runs.plan(subject, [*made.leaves, *directions])

    def _movable(self) -> dict[str, Expr]:
        """The nodes that move, by name. Raises for names that the value does not depend on, and for vectors of another shape."""
        depends = set(definition_order(self.made.root))
        found = {}
        for name, shape in self.seed:
            x = self.made.wrt.get(name, self.made.scope.subject(name))
            if x is None or x not in depends or x.kind != FLOAT:
                close = suggestion(name, sorted(leaf.payload.name for leaf in depends if leaf.is_leaf))
                help = f"did you mean '{close}'?" if close else "leave its vector out"
                raise MissingValueError(f"v: the value does not depend on '{name}'", help=help)
            if shape != x.shape:
                raise ShapeError(f"v: the vector for '{name}' has the shape {shape}, its value {x.shape}; they must be the same")
            found[name] = x
        return found

    @staticmethod
    def seed_of(seed: Any, dtype: np.dtype[Any]) -> tuple[Any, Any]:
        if not isinstance(seed, Mapping):
            raise InputTypeError(f"'v' must map names to vectors, not {type(seed).__name__}", help='write v={"x": ...}')
        found = {name: _as_floats(part, f"v['{name}']", dtype) for name, part in by_form("v", seed).items()}
        return found, tuple((name, part.shape) for name, part in found.items())

    def __call__(
        self, bindings: Mapping[str, Any], seed: Mapping[str, Any], out: None, order: Order
    ) -> tuple[Any, dict[str, Any], dict[str, Any]]:
        try:
            value, *found = self.plan([*self.made.values(bindings), *seed.values()])
        except GradcliError as error:
            raise self.made.with_place(error) from None
        grads = {name: found[place] for place, name in order}
        return value, grads, {name: found[place + len(self.wrt)] for place, name in order}

    def text(self) -> str:
        vectors = [f"v['{name}'] {x.shape}" for name, x in self.moving.items()]
        return f"{self.made.takes(*vectors)}\ngives the value, the gradient and the product by {', '.join(self.wrt)}\n{self.plan.text()}"


def _as_floats(value: Any, what: str, dtype: np.dtype[Any]) -> Any:
    with np.errstate(all="ignore"):
        return numbers(value, what, copy=False).astype(dtype, copy=False)


def _refuse_arrays(made: Instance, what: str) -> None:
    if math.prod(made.root.shape) != 1:
        error = ShapeError(f"{what} is of a scalar: the value has the shape {made.root.shape}", help="take sum(...) of it, or its Jacobian")
        raise made.with_place(error)


def _overlap(a: np.ndarray, b: np.ndarray) -> bool:
    """Return True for arrays with memory in common. What cannot be told in reasonable time counts as such."""
    if not np.may_share_memory(a, b):
        return False
    try:
        return bool(np.shares_memory(a, b, max_work=_WORK))  # type: ignore[arg-type]
    except (np.exceptions.TooHardError, OverflowError):
        return True


def _overlaps_itself(array: np.ndarray) -> bool:
    """Return True for an array two entries of which may lie in one place, as in a broadcast one."""
    reach = array.itemsize
    for stride, extent in sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if stride < reach:
            return bool(array.size)
        reach += stride * (extent - 1)
    return False
