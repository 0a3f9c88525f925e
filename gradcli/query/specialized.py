"""Plans of compiled functions for values of given names, shapes and dtypes.

A plan computes a value with gradients, a matrix of derivatives, or the product of a Hessian with a
vector.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gradcli.errors import GradcliError, ParseError, ShapeError, UsageError
from gradcli.graph.nodes import Expr, reachable
from gradcli.graph.sweep import ones_like, vjp
from gradcli.language.run import Lowered, Program, statements
from gradcli.language.scope import Scope
from gradcli.language.syntax import Assertion, Query, Statement
from gradcli.limits import Limits
from gradcli.ops.calling.inputs import FLOAT, numpy_dtype
from gradcli.options import Options
from gradcli.plans.linearized import Runs
from gradcli.plans.source import Gradients
from gradcli.query.bindings import by_names
from gradcli.query.matrices import Compressed, Derivatives, Short, csr
from gradcli.query.programs import locate, variables
from gradcli.texts import text_lines

# -- A program lowered for values of given names, shapes and dtypes: its result as a graph, and
# what a plan of it takes, in order.


_KEPT = 64  # most programs whose statements are remembered
_DRAWN = "random numbers"  # name of their leaves, which no text can contain
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
    """Return the statements of a program that is compiled.

    Raises a `GradcliError`, for asserts too.
    """
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
        """Return the value, or in its place an array of zeros that takes no memory."""
        if self.content is not None:
            return np.ndarray(self.shape, self.dtype, self.content)
        return np.broadcast_to(np.zeros((), self.dtype), self.shape)


class ValueNeeded(UsageError):
    """The value of a name decides what is computed, and its shape alone is known."""

    def __init__(self, name: str) -> None:
        message = f"the value of '{name}' decides what is computed: its shape is not enough"
        super().__init__(message, help=f"give it a value: {name}=1")
        self.name = name


def with_deciding(
    make: Callable[[tuple[Spec, ...]], _Result], specs: Iterable[Spec], known: Mapping[str, Any]
) -> _Result:
    """Return the result of ``make`` for values, with the content of those that are needed.

    The content of a value is needed if it decides what is computed. Raises ValueNeeded if such a
    value is not known.
    """
    specs = tuple(specs)
    while True:
        try:
            return make(specs)
        except ValueNeeded as error:
            if error.name not in known:
                raise
            content = known[error.name].tobytes()
            specs = tuple(
                spec._replace(content=content) if spec.name == error.name else spec
                for spec in specs
            )


class _Watching(Scope):
    """Scope that raises ValueNeeded if a name decides what is computed and has only a shape.

    Random numbers are values that a plan takes.
    """

    def __init__(self, limits: Limits, precision: str, random_state: int) -> None:
        super().__init__(limits, precision, random_state)
        self.needed = True
        self.unknown: Collection[str] = ()
        self.needed_value: ValueNeeded | None = None

    def evaluate(self, node: Expr) -> Any:
        names = {leaf.name for leaf in reachable([node]) if leaf.is_leaf}
        for name in sorted(names.intersection(self.unknown)):
            self.needed_value = ValueNeeded(name)
            raise self.needed_value
        return super().evaluate(node)

    def draw(self, numbers: np.ndarray) -> Expr:
        leaf = self.graph.leaf(_DRAWN, numbers.shape)
        self.values[leaf] = numbers.astype(numpy_dtype(FLOAT, self.precision), copy=False)[()]
        self.frozen.add(leaf)
        return leaf


class Instance:
    """A program for values of given names, shapes and dtypes.

    root    its last query
    wrt     what that is differentiated by, by name
    names   of the values that it takes, in their order; ``fixed`` are those that the program has
            itself, random draws among them
    leaves  that take these
    """

    def __init__(self, settings: Settings, specs: Collection[Spec]) -> None:
        limits = settings.limits.with_room_for(
            max((math.prod(spec.shape) for spec in specs), default=0)
        )
        self.scope = scope = _Watching(limits, settings.dtype, settings.random_state)
        scope.unknown = {spec.name for spec in specs if spec.content is None}
        for spec in specs:
            scope.outside[spec.name] = value = spec.example()
            scope.bind_value(spec.name, value)
        try:
            self.query = query = _last_query(Program(scope), settings)
        finally:
            if scope.needed_value is not None:  # takes precedence over any result or other error
                raise scope.needed_value
        self.root = root = query.value
        options = Options(wrt=settings.wrt)
        self.wrt = (
            variables(scope, reachable([root]), options, query.static_uses).nodes
            if root.kind == FLOAT
            else {}
        )
        self.kinds = {spec.name: np.dtype(spec.dtype) for spec in specs}
        leaves = {leaf: leaf.name for leaf in reachable([root, *self.wrt.values()]) if leaf.is_leaf}
        self.names = [
            name
            for leaf, name in leaves.items()
            if scope.leaves.get(name) is leaf and name in self.kinds
        ]
        drawn = [leaf for leaf, name in leaves.items() if name not in self.names]
        self.fixed = [scope.values[leaf] for leaf in drawn]
        self.leaves = [scope.leaves[name] for name in self.names] + drawn
        self.whole = any(self.kinds[name].kind in "iu" for name in self.names)
        # Leaves take the values of names unchanged.
        self.is_plain = not (self.whole or self.fixed)
        self.dtype = settings.float_dtype
        scope.values.clear()
        scope.outside.clear()

    def values(self, bindings: Mapping[str, Any]) -> list[Any]:
        """Return the values that the leaves take."""
        found = [bindings[name] for name in self.names]
        if self.whole:
            found = [
                value.astype(self.dtype) if value.dtype.kind in "iu" else value for value in found
            ]
        if self.fixed:
            found += self.fixed
        return found

    def seed(self, shape: tuple[int, ...] | None) -> Expr | None:
        """Return the leaf of a seed of the given shape, or None without a shape.

        Raises ShapeError where the value has another shape, or needs a seed.
        """
        if shape is None:
            if self.wrt and self.root.size != 1:
                raise ShapeError(
                    f"the value has the shape {self.root.shape}; only a scalar has a gradient "
                    "without a seed",
                    help="give a seed of that shape, e.g. seed=np.ones(...)",
                )
            return None
        if shape != self.root.shape:
            raise ShapeError(
                f"the seed has the shape {shape}, the output {self.root.shape}; they must be the "
                "same"
            )
        return self.scope.graph.leaf("seed", shape)

    def with_place(self, error: GradcliError) -> GradcliError:
        """Return the error with its place in the text."""
        return locate(error, self.scope, self.query.statement)

    def takes(self, *further: str) -> str:
        """Describe for people the values that a plan takes."""
        taken = [
            f"{name} {self.kinds[name]} {self.scope.leaves[name].shape}" for name in self.names
        ]
        return (
            "takes "
            f"{', '.join([*taken, *['numbers of the program'] * bool(self.fixed), *further]) or 'nothing'}"
        )


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


# For each result in order: the place of its name among those differentiated by, and the name.
Order = Sequence[tuple[int, str]]


class Specialized:
    """A program for values of given names, shapes and dtypes, and the plan that computes it.

    compile   makes the plan. Raises a `GradcliError` for a program that has no such derivatives
    text      describes the program, and in their order the values that it takes and gives
    __call__  gives the results for bindings, a seed, what takes or says the form of derivatives
              (arrays for gradients, or the form of a matrix), and the order of names
    """

    compile: Callable[[], None]
    text: Callable[[], str]
    __call__: Callable[..., Any]

    def __init__(self, settings: Settings, specs: tuple[Spec, ...], seed: Any) -> None:
        """``seed`` is what of the seed a plan is made for."""
        self.settings = settings
        self.specs = specs
        self.seed = seed
        self.made = Instance(settings, specs)
        self.wrt = list(self.made.wrt)
        self.runs = Runs(settings.dtype, settings.backend, settings.threads)
        self.compile()

    def order(self, names: Iterable[str]) -> Order:
        """Return the order of results.

        It is the order of names in a call, unless an order was asked for.
        """
        places = {name: place for place, name in enumerate(names)}
        found = list(enumerate(self.wrt))
        if self.settings.wrt is None:
            found.sort(key=lambda pair: places.get(pair[1], len(places)))
        return found


class ValueAndGradients(Specialized):
    """The value, and its vector-Jacobian product by each name."""

    def compile(self) -> None:
        made = self.made
        seed = self.made.seed(self.seed)
        self.plan = self.runs.plan(
            Gradients(made.root, list(made.wrt.values()), seed),
            [*made.leaves, *([] if seed is None else [seed])],
        )

    def text(self) -> str:
        given = ["the value", *(f"the gradient by {name}" for name in self.wrt)]
        taken = self.made.takes(*["the seed"] * (self.seed is not None))
        return f"{taken}\ngives {', '.join(given)}\n{self.plan.text()}"

    def __call__(
        self, bindings: Mapping[str, Any], seed: Any, out: Mapping[str, Any] | None, order: Order
    ) -> tuple[Any, dict[str, Any]]:
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
        for place, name in order:  # takes half the time of a comprehension
            grads[name] = results[place + 1]
        if out is not None:
            for name, array in out.items():
                if grads[name] is not array:
                    np.copyto(array, grads[name])
                    grads[name] = array
        return results[0], grads

    def _outs(self, out: Mapping[str, Any], values: list[Any]) -> list[Any]:
        """Return the caller's arrays, if a plan can write straight into them.

        Raises UsageError for others.
        """
        by_names("out", out, "arrays", f'out={{"{next(iter(self.wrt), "x")}": np.empty(...)}}')
        dtype = self.made.dtype
        taken: list[Any] = [*values]
        for name, array in out.items():
            if name not in self.wrt:
                raise UsageError(f"out: there is no gradient by '{name}'")
            shape = self.made.wrt[name].shape
            if not isinstance(array, np.ndarray) or (
                array.shape,
                array.dtype,
                array.flags.carray,
            ) != (shape, dtype, True):
                raise UsageError(
                    f"out: the gradient by '{name}' needs a {dtype} array of shape {shape}, "
                    "writable and in C order",
                    help=f"give np.empty({shape})",
                )
            if any(np.may_share_memory(array, other) for other in taken):
                raise UsageError(
                    f"out: the array for '{name}' shares memory with another array",
                    help="give each an array of its own",
                )
            taken.append(array)
        return [out.get(name) for name in self.wrt]


class MatrixPlan(Specialized):
    """Plan of the value and of the Jacobian by each name, in blocks by names.

    It is compiled in whichever way suits when it is first asked for.
    """

    kind = "Jacobian"

    def compile(self) -> None:
        made = self.made
        self.of = Derivatives(
            [made.root],
            list(made.wrt.values()),
            [made.root],
            made.leaves,
            self.runs,
            is_symmetric=False,
        )

    @cached_property
    def dense(self) -> Short | Compressed:
        """The way to arrays."""
        if Short.suits(self.of):
            short = Short(self.of)
            if short.pays:
                return short
        return self.compression

    @cached_property
    def compression(self) -> Compressed:
        """The way to sparse arrays."""
        return Compressed(self.of)

    def __call__(self, bindings: Mapping[str, Any], seed: None, out: str, order: Order) -> Any:
        """Return the results by name, or the whole matrix.

        ``out`` is empty for arrays, ``sparse`` for sparse arrays, and ``whole`` or ``whole sparse``
        for the matrix, whose rows and columns are in the order of ``wrt``.
        """
        values = self.made.values(bindings)
        try:
            if out.endswith("sparse"):
                beside, data = self.compression.entries(values)
                whole = csr(data, self.of.pattern)
                return (
                    self.by_names(beside, self.of.parts(whole), order) if out == "sparse" else whole
                )
            beside, blocks = self.dense.blocks(values)
        except GradcliError as error:
            raise self.made.with_place(error) from None
        return self.of.join(blocks) if out else self.by_names(beside, blocks, order)

    def pattern(self) -> Any:
        """Return a sparse boolean array of the matrix's entries that may be other than zero."""
        return csr(np.ones(self.of.pattern.columns.size, bool), self.of.pattern)

    def patterns(self, order: Order) -> dict[str, Any]:
        """Return the patterns of blocks, by name."""
        found: dict[str, Any] = self.by_names(
            [None] * (1 + len(self.wrt)), self.of.parts(self.pattern()), order
        )[-1]
        return found

    def by_names(self, beside: list[Any], blocks: list[Any], order: Order) -> tuple[Any, ...]:
        """Return the results by name."""
        return beside[0], {name: blocks[place] for place, name in order}

    def text(self) -> str:
        names = ", ".join(self.wrt) or "nothing"
        made = dict.fromkeys(
            way.text() for name, way in vars(self).items() if name in ("dense", "compression")
        )
        ways = "\n\n".join(made) or "compiled at the first call"
        return f"{self.made.takes()}\ngives the value and the {self.kind} by {names}\n{ways}"


class HessianPlan(MatrixPlan):
    """The value, the gradient by each name, and the second derivatives by each two."""

    kind = "Hessian"

    def compile(self) -> None:
        made = self.made
        if made.root.size != 1:
            raise made.with_place(
                ShapeError(
                    f"a Hessian is of a scalar: the value has the shape {made.root.shape}",
                    help="take sum(...) of it, or its Jacobian",
                )
            )
        wrt = list(made.wrt.values())
        slopes = vjp(made.root, wrt, ones_like(made.root)) if wrt else []
        self.of = Derivatives(
            slopes, wrt, [made.root, *slopes], made.leaves, self.runs, is_symmetric=True
        )

    def by_names(self, beside: list[Any], blocks: list[Any], order: Order) -> tuple[Any, ...]:
        value, *slopes = beside
        count = len(slopes)
        by_two = {
            name: {other: blocks[row * count + column] for column, other in order}
            for row, name in order
        }
        return value, {name: slopes[place] for place, name in order}, by_two
