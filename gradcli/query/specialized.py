"""A function for values of given names, shapes and dtypes: what of its values decides what is computed, and its plan."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, Protocol

import numpy as np

from gradcli.errors import GradcliError, ParseError, ShapeError, UsageError, text_lines
from gradcli.graph.nodes import Expr, reachable
from gradcli.language.run import Lowered, Program
from gradcli.language.scope import Scope
from gradcli.language.tree import Query, Statement
from gradcli.limits import Limits
from gradcli.ops.calling.promotion import FLOAT, numpy_dtype
from gradcli.plans.backend import OFTEN
from gradcli.plans.plan import Plan
from gradcli.query import bindings as given
from gradcli.query.evaluate import locate
from gradcli.query.options import Options
from gradcli.query.shared_memory import overlap, overlaps_itself
from gradcli.query.wrt import variables


class Asked(Protocol):
    """What a function is made from."""

    expression: str
    statements: list[Statement]
    wrt: tuple[str, ...] | None
    dtype: str
    limits: Limits
    dialect: str | None
    backend: str
    threads: int | None
    options: tuple[str, ...]  # of its calls


class _Watching(Scope):
    """A scope that notes the names whose values decide what is computed (an axis, a shape, how often to repeat)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.consulted: set[str] = set()
        self.unknown: Collection[str] = ()  # of which there is a shape only

    def evaluate(self, node: Expr) -> Any:
        names = {leaf.payload.name for leaf in reachable([node]) if leaf.is_leaf}
        self.consulted |= names
        refuse_unknown(names, self.unknown)
        return super().evaluate(node)


class Specialized:
    """The plan of a function for values of given names, shapes and dtypes."""

    def __init__(self, asked: Asked, bindings: Mapping[str, Any], seed: Any, unknown: Collection[str] = ()) -> None:
        limits = asked.limits.with_room_for(max((value.size for value in bindings.values()), default=0))
        self.scope = scope = _Watching(limits, asked.dtype, needed=True)
        scope.unknown = unknown
        for name, value in bindings.items():
            scope.outside[name] = value
            scope.bind_value(name, value)
        self.query = query = _last_query(Program(scope), asked)
        root = query.value
        self.consulted = sorted(scope.consulted & set(bindings))
        refuse_unknown(self.consulted, unknown)  # whatever became of the first refusal
        options = Options(wrt=asked.wrt)
        wrt = variables(scope, reachable([root]), options, query.static_uses).nodes if root.kind == FLOAT else {}
        self.wrt = list(wrt)
        self.places = list(enumerate(self.wrt, 1))  # of gradients among a plan's results
        if seed is None and wrt and math.prod(root.shape) != 1:
            raise ShapeError(
                f"the value has the shape {root.shape}; only a scalar has a gradient without a seed",
                help="give a seed of that shape, e.g. seed=np.ones(...)",
            )
        if seed is not None and seed.shape != root.shape:
            raise ShapeError(f"the seed has the shape {seed.shape}, the output {root.shape}; they must be the same")
        leaves = {leaf: leaf.payload.name for leaf in reachable([root, *wrt.values()]) if leaf.is_leaf}
        self.names = [name for leaf, name in leaves.items() if scope.leaves.get(name) is leaf and name in bindings]
        self.all_in_order = self.names == list(bindings)
        drawn = [leaf for leaf, name in leaves.items() if name not in self.names]
        self.fixed = [scope.values[leaf] for leaf in drawn]
        self.kinds = {name: value.dtype for name, value in bindings.items()}
        self.has_order = asked.wrt is not None
        self.seeded = seed is not None
        self.whole = any(bindings[name].dtype.kind in "iu" for name in self.names)
        self.dtype = numpy_dtype(FLOAT, asked.dtype)
        seeds = [] if seed is None else [scope.graph.leaf("seed", root.shape)]
        order = [scope.leaves[name] for name in self.names] + drawn + seeds
        self.plan = Plan(
            root, list(wrt.values()), order, asked.dtype, seeds[0] if seeds else None,
            backend=asked.backend, threads=asked.threads, calls=OFTEN,
        )  # fmt: skip
        scope.values.clear()  # arrays of the first call live as long as the caller wants
        scope.outside.clear()

    def called_with(self, names: Sequence[str]) -> Specialized:
        """The same where a call has the names in another order, in which gradients are given, unless an order was asked for."""
        other = copy(self)
        other.all_in_order = self.names == list(names)
        if not self.has_order:
            order = {name: place for place, name in enumerate(names)}
            other.places = sorted(self.places, key=lambda place: order.get(place[1], len(order)))
        return other

    def text(self) -> str:
        """The program, with what it takes and gives in the order in which it does."""
        taken = [f"{name} {self.kinds[name]} {self.scope.leaves[name].shape}" for name in self.names]
        taken += ["numbers of the program"] * bool(self.fixed) + ["the seed"] * self.seeded
        given = ["the value", *(f"the gradient by {name}" for name in self.wrt)]
        return f"takes {', '.join(taken) or 'nothing'}\ngives {', '.join(given)}\n{self.plan.text()}"

    def __call__(self, bindings: Mapping[str, Any], seed: Any, out: Mapping[str, Any] | None) -> tuple[Any, dict[str, Any]]:
        values = [*bindings.values()] if self.all_in_order else [bindings[name] for name in self.names]
        if self.whole:
            values = [value.astype(self.dtype) if value.dtype.kind in "iu" else value for value in values]
        if self.fixed:
            values += self.fixed
        if seed is not None:
            values.append(seed)
        outs = () if out is None else (None, *self._outs(out, values))
        try:
            results = self.plan(values, outs)
        except GradcliError as error:
            raise locate(error, self.scope, self.query.statement) from None
        grads = {}
        for place, name in self.places:  # in half the time of dict(zip(...))
            grads[name] = results[place]
        if out is not None:
            for name, array in out.items():
                if grads[name] is not array:
                    np.copyto(array, grads[name])
                    grads[name] = array
        return results[0], grads

    def _outs(self, out: Mapping[str, Any], values: list[Any]) -> list[Any]:
        """The caller's arrays, where a plan can write straight into them."""
        for name, array in out.items():
            if name not in self.wrt:
                raise UsageError(f"out: there is no gradient by '{name}'")
            shape = self.scope.leaves[name].shape
            if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype != self.dtype:
                raise UsageError(f"out: the gradient by '{name}' needs a {self.dtype} array of shape {shape}")
        arrays = list(out.items())
        for i, (name, array) in enumerate(arrays):
            if not array.flags.writeable or overlaps_itself(array):
                help = f"give an array of its own: np.empty({array.shape})"
                raise UsageError(f"out: the array for '{name}' cannot be written entry by entry", help=help)
            for other, array_of_other in arrays[:i]:
                if overlap(array, array_of_other):
                    raise UsageError(f"out: the arrays for '{other}' and '{name}' share memory", help="give each an array of its own")
        straight = {
            name: array
            for name, array in out.items()
            if array.flags.carray and not any(np.may_share_memory(array, value) for value in values)
        }
        return [straight.get(name) for name in self.wrt]


def refuse_unknown(consulted: Iterable[str], unknown: Collection[str]) -> None:
    """Raise for names whose values decide what is computed, and of which there is a shape only."""
    for name in sorted(consulted):
        if name in unknown:
            raise UsageError(f"the value of '{name}' decides what is computed: its shape is not enough", help=f"give it a value: {name}=1")


def by_name(name: str) -> str:
    """How a name is given a value that is also an option's."""
    return f'f({{"{name}": ...}})'


def _last_query(program: Program, asked: Asked) -> Lowered:
    found = None
    program.scope.dialect.asked = asked.dialect
    program.foresee(text_lines(asked.expression))
    for statement in asked.statements:
        try:
            lowered = program.execute(statement)
        except GradcliError as error:
            raise given.helped(locate(error, program.scope, statement), asked.options, by_name) from None
        if isinstance(statement, Query):
            found = lowered
    if found is None:
        raise ParseError("the program has no query")
    return found
