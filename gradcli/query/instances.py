"""A program lowered for values of given names, shapes and dtypes: its result as a graph, and what a plan of it takes, in order."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gradcli.errors import GradcliError, ParseError, UsageError, text_lines
from gradcli.graph.nodes import Expr, reachable
from gradcli.language.run import Lowered, Program, statements
from gradcli.language.scope import Scope
from gradcli.language.tree import Assertion, Query, Statement
from gradcli.limits import Limits
from gradcli.ops.calling.inputs import FLOAT, numpy_dtype
from gradcli.query.evaluate import locate
from gradcli.query.options import Options
from gradcli.query.wrt import variables

_KEPT = 64  # programs whose statements are remembered
_DRAWN = "random numbers"  # the name of their leaves, which no text can have
_Result = TypeVar("_Result")


class Settings(NamedTuple):
    """The expression and the options of a compiled function: equal ones compute the same."""

    expression: str
    wrt: tuple[str, ...] | None
    dtype: str
    limits: Limits
    dialect: str | None = None
    backend: str = "auto"
    threads: int | None = None
    random_state: int = 0

    @property
    def float_dtype(self) -> np.dtype[Any]:
        """The dtype of its numbers."""
        return numpy_dtype(FLOAT, self.dtype)


@lru_cache(_KEPT)
def statements_of(expression: str, limits: Limits) -> tuple[Statement, ...]:
    """The statements of a program that is compiled. Raises a `GradcliError`, for asserts too."""
    found = []
    for statement in statements(text_lines(expression), None, limits):
        if isinstance(statement, GradcliError):
            raise statement
        if isinstance(statement, Assertion):
            raise UsageError(
                "a compiled function runs no asserts", span=statement.span, source=statement.source,
                help="leave it out, or call gradcli.evaluate",
            )  # fmt: skip
        found.append(statement)
    return tuple(found)


class Spec(NamedTuple):
    """A value as far as a program is made for it: its name, shape and dtype.

    axis     along which it is cut into chunks
    content  its bytes, where it decides what is computed (an axis, a shape, how often to repeat)
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    axis: int | None = None
    content: bytes | None = None

    def example(self) -> np.ndarray:
        """The value, or an array of zeros in its place, which takes no memory."""
        if self.content is not None:
            return np.ndarray(self.shape, self.dtype, self.content)
        return np.broadcast_to(np.zeros((), self.dtype), self.shape)


class ValueNeeded(UsageError):
    """The value of a name decides what is computed, and its shape alone is known."""

    def __init__(self, name: str) -> None:
        message = f"the value of '{name}' decides what is computed: its shape is not enough"
        super().__init__(message, help=f"give it a value: {name}=1")
        self.name = name


def with_deciding(make: Callable[[tuple[Spec, ...]], _Result], specs: Iterable[Spec], known: Mapping[str, Any]) -> _Result:
    """The result of ``make`` for values, with the content of those that decide what is computed. Raises ValueNeeded for others."""
    specs = tuple(specs)
    while True:
        try:
            return make(specs)
        except ValueNeeded as error:
            if error.name not in known:
                raise
            content = known[error.name].tobytes()
            specs = tuple(spec._replace(content=content) if spec.name == error.name else spec for spec in specs)


class _Watching(Scope):
    """A scope that raises ValueNeeded for a name whose value decides what is computed, if there is a shape only.

    Random numbers are values that a plan takes, so that it serves for others, too.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.unknown: Collection[str] = ()
        self.needed_value: ValueNeeded | None = None
        self.has_drawn = self.draws_decide = False

    def evaluate(self, node: Expr) -> Any:
        names = {leaf.payload.name for leaf in reachable([node]) if leaf.is_leaf}
        self.draws_decide |= _DRAWN in names
        for name in sorted(names.intersection(self.unknown)):
            self.needed_value = ValueNeeded(name)
            raise self.needed_value
        return super().evaluate(node)

    def drawn(self, numbers: np.ndarray) -> Expr:
        leaf = self.graph.leaf(_DRAWN, numbers.shape)
        self.values[leaf] = numbers.astype(numpy_dtype(FLOAT, self.precision), copy=False)[()]
        self.frozen.add(leaf)
        self.has_drawn = True
        return leaf


class Instance:
    """A program for values of given names, shapes and dtypes.

    root    its last query
    wrt     what that is differentiated by, by name
    names   of the values that it takes, in their order; ``fixed`` are those that the program has itself, random draws among them
    leaves  that take these
    """

    def __init__(self, settings: Settings, specs: Collection[Spec], state: int | None = None) -> None:
        limits = settings.limits.with_room_for(max((math.prod(spec.shape) for spec in specs), default=0))
        self.state = settings.random_state if state is None else state
        self.scope = scope = _Watching(limits, settings.dtype, self.state, needed=True)
        scope.unknown = {spec.name for spec in specs if spec.content is None}
        for spec in specs:
            scope.outside[spec.name] = value = spec.example()
            scope.bind_value(spec.name, value)
        try:
            self.query = query = _last_query(Program(scope), settings)
        finally:
            if scope.needed_value is not None:  # whatever became of it
                raise scope.needed_value
        self.root = root = query.value
        options = Options(wrt=settings.wrt)
        self.wrt = variables(scope, reachable([root]), options, query.static_uses).nodes if root.kind == FLOAT else {}
        self.kinds = {spec.name: np.dtype(spec.dtype) for spec in specs}
        leaves = {leaf: leaf.payload.name for leaf in reachable([root, *self.wrt.values()]) if leaf.is_leaf}
        self.names = [name for leaf, name in leaves.items() if scope.leaves.get(name) is leaf and name in self.kinds]
        drawn = [leaf for leaf, name in leaves.items() if name not in self.names]
        self.fixed = [scope.values[leaf] for leaf in drawn]
        self.leaves = [scope.leaves[name] for name in self.names] + drawn
        self.whole = any(self.kinds[name].kind in "iu" for name in self.names)
        self.is_plain = not (self.whole or self.fixed)  # the leaves take the values of names as they are
        self.dtype = settings.float_dtype
        scope.values.clear()
        scope.outside.clear()

    def values(self, bindings: Mapping[str, Any]) -> list[Any]:
        """The values that the leaves take."""
        found = [bindings[name] for name in self.names]
        if self.whole:
            found = [value.astype(self.dtype) if value.dtype.kind in "iu" else value for value in found]
        if self.fixed:
            found += self.fixed
        return found

    def with_place(self, error: GradcliError) -> GradcliError:
        """The error with its place in the text."""
        return locate(error, self.scope, self.query.statement)

    def takes(self, *further: str) -> str:
        """The values that a plan takes, for people."""
        taken = [f"{name} {self.kinds[name]} {self.scope.leaves[name].shape}" for name in self.names]
        return f"takes {', '.join([*taken, *['numbers of the program'] * bool(self.fixed), *further]) or 'nothing'}"


def _last_query(program: Program, settings: Settings) -> Lowered:
    found = None
    program.scope.dialect.asked = settings.dialect
    program.foresee(text_lines(settings.expression))
    for statement in statements_of(settings.expression, settings.limits):
        try:
            lowered = program.execute(statement)
        except GradcliError as error:
            raise locate(error, program.scope, statement) from None
        if isinstance(statement, Query):
            found = lowered
    if found is None:
        raise ParseError("the program has no query")
    return found
