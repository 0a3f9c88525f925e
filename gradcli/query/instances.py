"""A program lowered for values of given names, shapes and dtypes: its result as a graph, and what a plan of it takes, in order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, Protocol, Self

import numpy as np

from gradcli.errors import GradcliError, ParseError, UsageError, text_lines
from gradcli.graph.nodes import Expr, reachable
from gradcli.language.run import Lowered, Program
from gradcli.language.scope import Scope
from gradcli.language.tree import Query, Statement
from gradcli.limits import Limits
from gradcli.ops.calling.promotion import FLOAT, numpy_dtype
from gradcli.query import bindings as given
from gradcli.query.evaluate import locate
from gradcli.query.options import Options
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
    random_state: int
    options: tuple[str, ...]  # of its calls
    float_dtype: np.dtype[Any]

    @property
    def made_of(self) -> tuple[Any, ...]: ...


class _Watching(Scope):
    """A scope that notes the names whose values decide what is computed (an axis, a shape, how often to repeat).

    Random numbers are values that a plan takes, so that it serves for others, too.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.consulted: set[str] = set()
        self.unknown: Collection[str] = ()  # of which there is a shape only
        self.has_drawn = False

    def evaluate(self, node: Expr) -> Any:
        names = {leaf.payload.name for leaf in reachable([node]) if leaf.is_leaf}
        self.consulted |= names
        refuse_unknown(names, self.unknown)
        return super().evaluate(node)

    def drawn(self, numbers: np.ndarray) -> Expr:
        leaf = self.graph.leaf("random numbers", numbers.shape)
        self.values[leaf] = numbers.astype(numpy_dtype(FLOAT, self.precision), copy=False)[()]
        self.frozen.add(leaf)
        self.has_drawn = True
        return leaf


class Instance:
    """A program for values of given names, shapes and dtypes.

    root       its last query
    wrt        what that is differentiated by, by name
    names      of the values that it takes, in their order; ``fixed`` are those that the program has itself, random draws among them
    leaves     that take these
    consulted  names whose values decide what is computed: a program for each of them
    """

    def __init__(self, asked: Asked, bindings: Mapping[str, Any], unknown: Collection[str] = (), state: int | None = None) -> None:
        limits = asked.limits.with_room_for(max((value.size for value in bindings.values()), default=0))
        self.state = asked.random_state if state is None else state
        self.scope = scope = _Watching(limits, asked.dtype, self.state, needed=True)
        scope.unknown = unknown
        for name, value in bindings.items():
            scope.outside[name] = value
            scope.bind_value(name, value)
        self.query = query = _last_query(Program(scope), asked)
        self.root = root = query.value
        self.consulted = sorted(scope.consulted & set(bindings))
        refuse_unknown(self.consulted, unknown)  # whatever became of the first refusal
        options = Options(wrt=asked.wrt)
        self.wrt = variables(scope, reachable([root]), options, query.static_uses).nodes if root.kind == FLOAT else {}
        leaves = {leaf: leaf.payload.name for leaf in reachable([root, *self.wrt.values()]) if leaf.is_leaf}
        self.names = [name for leaf, name in leaves.items() if scope.leaves.get(name) is leaf and name in bindings]
        drawn = [leaf for leaf, name in leaves.items() if name not in self.names]
        self.fixed = [scope.values[leaf] for leaf in drawn]
        self.leaves = [scope.leaves[name] for name in self.names] + drawn
        self.whole = any(bindings[name].dtype.kind in "iu" for name in self.names)
        self.dtype = numpy_dtype(FLOAT, asked.dtype)
        self.kinds = {name: value.dtype for name, value in bindings.items()}
        scope.values.clear()  # arrays of the first call live as long as the caller wants
        scope.outside.clear()

    def values(self, bindings: Mapping[str, Any]) -> list[Any]:
        """What the leaves take."""
        found = [bindings[name] for name in self.names]
        if self.whole:
            found = [value.astype(self.dtype) if value.dtype.kind in "iu" else value for value in found]
        return found + self.fixed

    def located(self, error: GradcliError) -> GradcliError:
        """The error with its place in the text."""
        return locate(error, self.scope, self.query.statement)

    def takes(self, *further: str) -> str:
        """What a plan takes, for people."""
        taken = [f"{name} {self.kinds[name]} {self.scope.leaves[name].shape}" for name in self.names]
        return f"takes {', '.join([*taken, *['numbers of the program'] * bool(self.fixed), *further]) or 'nothing'}"

    def is_like(self, other: Instance) -> bool:
        """Whether both are one graph, but for the values that the programs have themselves: a plan of one is one of the other."""
        ours, others = reachable([self.root, *self.leaves]), reachable([other.root, *other.leaves])
        places = {node: i for i, node in enumerate(ours)}
        places_of_other = {node: i for i, node in enumerate(others)}
        alike = len(ours) == len(others) and all(_are_alike(x, y, places, places_of_other) for x, y in zip(ours, others, strict=True))
        return alike and [places[leaf] for leaf in self.leaves] == [places_of_other[leaf] for leaf in other.leaves]


_STATES = 16  # of random numbers, whose draws are kept


class ForShapes:
    """What a function keeps for values of given names, shapes and dtypes: an instance, and what computes it.

    order      of the names that results are given by: that of a call, unless one was asked for
    has_order  whether one was
    """

    def __init__(
        self, asked: Asked, bindings: Mapping[str, Any], seed: Any, unknown: Collection[str] = (), state: int | None = None
    ) -> None:
        """Of what is asked for, values, a seed, names whose values are not known, and a state of random numbers."""
        self.made = Instance(asked, bindings, unknown, state)
        self.consulted = self.made.consulted
        self.wrt = list(self.made.wrt)
        self.has_order = asked.wrt is not None
        self.order = self.wrt if self.has_order else _in_order(self.wrt, bindings)
        self._drawn: dict[int, Self] = {}

    def called_with(self, names: Sequence[str]) -> Self:
        """The same where a call has the names in another order, in which results are given, unless an order was asked for."""
        other = copy(self)
        other._drawn = {}
        other.reordered(names)
        return other

    def reordered(self, names: Sequence[str]) -> None:
        """Take the names in the order in which a call has them."""
        if not self.has_order:
            self.order = _in_order(self.wrt, names)

    def drawn(self, asked: Asked, bindings: Mapping[str, Any], seed: Any, state: int) -> Self:
        """The same with the random numbers of another state."""
        if state == self.made.state or not self.made.scope.has_drawn:
            return self
        found = self._drawn.get(state)
        if found is None:
            made = Instance(asked, bindings, (), state)
            if made.is_like(self.made):
                found = copy(self)
                found.made = made
            else:  # numbers that decide what is computed
                found = type(self)(asked, bindings, seed, (), state)
            while len(self._drawn) >= _STATES:
                self._drawn.pop(next(iter(self._drawn), state), None)
            self._drawn[state] = found
        return found


def _are_alike(x: Expr, y: Expr, places: Mapping[Expr, int], places_of_other: Mapping[Expr, int]) -> bool:
    if x.op is not y.op or x.shape != y.shape or x.kind != y.kind or x.is_leaf != y.is_leaf or len(x.operands) != len(y.operands):
        return False
    if x.is_constant and not (type(x.payload) is type(y.payload) and np.array_equal(x.payload, y.payload, equal_nan=True)):
        return False
    operands = [o if o is None else places[o] for o in x.operands]
    return operands == [o if o is None else places_of_other[o] for o in y.operands] and tuple(x.static.items()) == tuple(y.static.items())


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


def _in_order(wrt: Iterable[str], names: Iterable[str]) -> list[str]:
    """What is differentiated by, in the order in which a call has it."""
    order = {name: place for place, name in enumerate(names)}
    return sorted(wrt, key=lambda name: order.get(name, len(order)))
