"""Functions of an expression's names.

They are called with values of names, and keep plans for the shapes that they have met.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from gradcli.errors import GradcliError, InputTypeError, ShapeError, UsageError
from gradcli.language.reading import names_bound_by, words_of
from gradcli.limits import DEFAULT, Limits
from gradcli.ops.calling.inputs import numbers
from gradcli.query import bindings as given
from gradcli.query.programs import Programs
from gradcli.query.specialized import (
    HessianPlan,
    MatrixPlan,
    Order,
    Settings,
    Spec,
    Specialized,
    ValueAndGradients,
    ValueNeeded,
    statements_of,
    with_deciding,
)
from gradcli.texts import ByName, clip_text
from gradcli.texts import by_name as found_by_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gradcli.ops.calling.prefixes import Dialect
    from gradcli.options import Backend, DType


# -- Functions of one vector, as solvers call them: the values of some names, one after the other,
# with all others fixed.


class Flat:
    """A function of one vector.

    Made by ``flat`` of a compiled function, which is called with its parts and what is fixed.

    shapes  of the vector's parts, by name; None, for one name at most, is a vector of what is left
    """

    def __init__(
        self, function: Any, names: tuple[str, ...], at: Any, values: Mapping[str, Any]
    ) -> None:
        """Bind the names of the vector's parts, and fix the values of all other names.

        ``names`` are those of the parts, also as "a, b". ``values`` are the shapes of parts (or
        values that have these shapes), and the values of all other names.
        """
        words, dtype = function.words, function.float_dtype
        known = tuple(dict.fromkeys(given.names_given("names", names, words) or ()))
        bound = given.bind_values(at, values, words, lambda name: f'at={{"{name}": ...}}')
        given.refuse_unknown((*known, *bound), words, ("at",), "flat")
        self.shapes = {
            name: _shape(name, bound[name], dtype) if name in bound else None for name in known
        }
        self.fixed = {
            name: given.value_of(name, value) for name, value in bound.items() if name not in known
        }
        self.function = function.by(known)
        self._open = [name for name, shape in self.shapes.items() if shape is None]
        self._size = sum(math.prod(shape) for shape in self.shapes.values() if shape is not None)
        if len(self._open) > 1:
            first, second = self._open[:2]
            raise UsageError(
                f"flat: the shapes of '{first}' and '{second}' are not known",
                help=f"give one: flat(..., {second}=(3,))",
            )

    def __call__(self, vector: Any) -> Any:
        """Return the results of the function for a flat vector of the values of the names.

        The results are flat, one after the other.
        """
        return self.function.of_vector(self, {**self.fixed, **self.parts(vector)})

    def parts(self, vector: Any) -> dict[str, np.ndarray]:
        """Return the values by name, as views of the vector.

        Raises InputTypeError for anything but real numbers, ShapeError for another size.
        """
        array = (
            vector
            if type(vector) is np.ndarray and vector.dtype.kind == "f"
            else numbers(vector, "the vector", copy=False)
        )
        if (
            array.ndim != 1
            or array.size < self._size
            or (array.size > self._size and not self._open)
        ):
            wanted = f"at least {self._size}" if self._open else f"{self._size}"
            raise ShapeError(
                f"the vector has the shape {array.shape}: it holds {wanted} entries along one "
                f"axis, for {self._layout}"
            )
        found = {}
        begin = 0
        for name, shape in self.shapes.items():
            size = array.size - self._size if shape is None else math.prod(shape)
            part = array[begin : begin + size]
            found[name] = part if shape is None else part.reshape(shape)
            begin += size
        return found

    def vector(self, values: Mapping[str, Any]) -> np.ndarray:
        """Return the vector of values by name."""
        return np.concatenate([np.ravel(values[name]) for name in self.shapes])

    def split(self, vector: Any) -> dict[str, np.ndarray]:
        """Return the values of the names in a vector, such as a solver's result."""
        return ByName((name, np.array(part)[()]) for name, part in self.parts(vector).items())

    @property
    def _layout(self) -> str:
        return ", ".join(
            f"{name} {'(...,)' if shape is None else shape}" for name, shape in self.shapes.items()
        )

    def __repr__(self) -> str:
        return f"<{self.function!r} of a vector of {self._layout}>"


def placeholder(name: str, spec: Any, of_floats: np.dtype[Any]) -> np.ndarray | None:
    """Return an array of zeros, which takes no memory, of the shape in a tuple.

    The result is None for a value. Raises InputTypeError for a tuple that is not a shape.
    """
    if not isinstance(spec, tuple):
        return None
    try:
        return np.broadcast_to(np.zeros((), of_floats), spec)
    except (TypeError, ValueError):
        raise InputTypeError(
            f"the shape of '{name}' must be whole numbers from 0, as an array can have "
            f"them, not {spec!r}",
            help="for a value, write a number, a list or an array",
        ) from None


def _shape(name: str, spec: Any, dtype: Any) -> tuple[int, ...]:
    """Return the shape that is given, or that of a value."""
    empty = placeholder(name, spec, dtype)
    return (given.value_of(name, spec) if empty is None else empty).shape


Key = tuple[Any, ...]
_ARRAY = np.ndarray
_SHOWN = 100  # characters of the expression shown in the repr
# Plans that a function keeps: shapes, or values that decide what is computed, may differ in every
# call.
_PLANS = 256


class Compiled:
    """An expression as a function of its names, which keeps a plan for each set of shapes."""

    plans: type[Specialized] = ValueAndGradients
    of_vector: Callable[[Flat, dict[str, Any]], Any]  # gives the results of a flat function
    options: tuple[str, ...] = ()  # keyword options of a call

    def __init__(self, settings: Settings, sparse: bool = False) -> None:
        self.settings = settings
        self.sparse = sparse
        self.float_dtype = settings.float_dtype
        self.words = {*(settings.wrt or ())}  # names in the expression, including functions
        for statement in statements_of(settings.expression, settings.limits):
            self.words |= {*words_of(statement), *names_bound_by(statement)}
        self._ascii = settings.expression.isascii()  # result keys are then the names as written
        self._made = lru_cache(_PLANS)(partial(self.plans, settings))
        # Keyed by names and shapes as given in calls.
        self._planned: dict[Key, tuple[Specialized, Order]] = {}
        self._deciding: dict[Key, list[str]] = {}  # names whose values decide what is computed

    @property
    def expression(self) -> str:
        return self.settings.expression

    @property
    def wrt(self) -> tuple[str, ...] | None:
        """The names to differentiate with respect to.

        None stands for all names that the function is called with and depends on.
        """
        return self.settings.wrt

    def __repr__(self) -> str:
        return (
            f"<{'sparse ' * self.sparse}{type(self).__name__.lower()} "
            f"{clip_text(self.expression, _SHOWN)!r}>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the settings only; a copy, in another process too, compiles for itself."""
        return type(self), (self.settings, self.sparse)

    def plan(self) -> str:
        """Return the programs that there are, one for each set of shapes.

        Each tells why NumPy or native code runs it, and lists its steps in order.
        """
        plans = dict.fromkeys(plan for plan, _ in self._planned.values())
        listed = "\n\n".join(plan.text() for plan in plans)
        return listed or "nothing is compiled yet: call the function, or prepare it for shapes"

    def prepare(self, shapes: Mapping[str, Any] | None = None, /, **named: Any) -> Self:
        """Compile ahead for values of these shapes; gives the function.

        shapes, named  what stands for the values of names, and for ``seed``: a tuple of whole
                       numbers is a shape (of floats), what has a ``shape`` and a ``dtype`` but no
                       entries says both, and all else is a value as in a call
        Raises a `GradcliError` by its name for a shape where a value is needed, which decides what
        is computed (an axis, an index).
        """
        self.plan_for(shapes, named)
        return self

    def flat(self, *names: str, at: Any = None, **values: Any) -> Flat:
        """Return the function of one vector that holds the values of these names, as solvers want.

        For `value_and_grad` it gives the value and the gradient as a vector (``jac=True`` of
        ``scipy.optimize.minimize``).

        names   the contents of the vector, one after the other
        values  shapes of these, ``x=(3, 2)`` (or values that have them; one name may have none: it
                is a vector of the remaining entries), and the values of all other names, which are
                fixed; ``at=`` is a dictionary for names that are no keywords
        """
        return Flat(self, names, at, values)

    def by(self, names: tuple[str, ...]) -> Self:
        """Return the same function with derivatives by these names."""
        return type(self)(self.settings._replace(wrt=names), self.sparse)

    def call(
        self,
        at: Any,
        bindings: dict[str, Any],
        seed: Any = None,
        out: Any = None,
    ) -> Any:
        """Return the results for values of names; ``out`` is for the plan."""
        if at is not None or not self.words.issuperset(bindings):
            bindings = self._by_names(at, bindings)
        parts: list[Any] = list(bindings)  # names and shapes: the key of a plan
        dtype = self.float_dtype
        kind = None
        for name, value in bindings.items():
            if type(value) is _ARRAY and value.dtype is dtype:
                parts.append(value.shape)
            elif hasattr(value, "__dask_graph__"):
                return self._lazily(bindings, seed, out)
            else:
                bindings[name] = array = self._array(name, value)
                parts.append(self._kind(array))
        if seed is not None:
            seed = self._seed(seed)
            parts.append(kind := seed.shape)
        key = tuple(parts)
        plan, order = self._planned.get(key) or self._plan(key, bindings, kind)
        if self._ascii:
            return plan(bindings, seed, out, order)
        return found_by_name(
            plan(
                bindings,
                seed,
                given.by_form("out", out) if isinstance(out, Mapping) else out,
                order,
            )
        )

    def plan_for(
        self, shapes: Mapping[str, Any] | None, named: dict[str, Any]
    ) -> tuple[Any, Order]:
        """Return the plan for values of these shapes, and the order of its results."""
        options = ("seed",) if "seed" in self.options else ()
        seed = named.pop("seed", None) if options else None
        given.refuse_unknown(named, self.words, options, "prepare")
        specs = given.bind_values(
            shapes, named, self.words, lambda name: f'f.prepare({{"{name}": ...}})'
        )
        values = {name: placeholder(name, spec, self.float_dtype) for name, spec in specs.items()}
        unknown = {name for name, empty in values.items() if empty is not None}
        values |= {name: self._array(name, specs[name]) for name in specs if name not in unknown}
        kind = None
        if seed is not None:
            empty = placeholder("seed", seed, self.float_dtype)
            kind = np.shape(self._seed(seed) if empty is None else empty)
        key = (*values, *map(self._kind, values.values()), *([] if kind is None else [kind]))
        return self._plan(key, values, kind, unknown)

    def _plan(
        self, key: Key, bindings: Mapping[str, Any], seed: Any, unknown: Collection[str] = ()
    ) -> tuple[Specialized, Order]:
        """Return the plan for values of these shapes, and the order of its results.

        Where the text makes constants of values, it is the plan for these values. It is made for
        names in their order, so it is the same however a call orders them. ``unknown`` are names
        that have a shape only.
        """
        deciding = self._deciding.get(key, [])
        known = {name: value for name, value in bindings.items() if name not in unknown}
        for name in deciding:
            if name not in known:
                raise ValueNeeded(name)
        contents = {name: known[name].tobytes() for name in deciding}
        found = self._planned.get((*key, *contents.values()))
        if found is None:
            specs = [
                Spec(name, value.shape, value.dtype.str, content=contents.get(name))
                for name, value in sorted(bindings.items())
            ]
            try:
                plan = with_deciding(lambda specs: self._made(specs, seed), specs, known)
            except GradcliError as error:
                raise given.in_words_of_api(error, self.options, _by_name) from None
            if len(self._planned) >= _PLANS:
                self._planned.clear()
                self._deciding.clear()
            contents = {spec.name: spec.content for spec in plan.specs if spec.content is not None}
            if contents:
                self._deciding[key] = [*contents]
            found = self._planned[(*key, *contents.values())] = plan, plan.order(bindings)
        return found

    def _by_names(self, at: Any, keywords: dict[str, Any]) -> dict[str, Any]:
        """Return the values by the names that the expression has for them.

        A value given by position belongs to the only name that is left.
        """
        if at is not None and not isinstance(at, Mapping):
            names = [name for name in self._free_names if name not in keywords]
            if len(names) != 1:
                raise InputTypeError(
                    "a compiled function takes values by names",
                    help=f"call it by names: f({', '.join(f'{name}=...' for name in names or 'x')})",
                )
            at = {names[0]: at}
        given.refuse_unknown(keywords, self.words, self.options, "the function")
        return given.bind_values(at, keywords, self.words, _by_name)

    @cached_property
    def _free_names(self) -> list[str]:
        """The names that need a value."""
        from gradcli.query.free_variables import names_left

        program = Programs(self.settings.limits).fresh()
        return names_left(program, self.expression.split("\n"))

    def _lazily(
        self, bindings: Mapping[str, Any], seed: Any, out: Any
    ) -> tuple[Any, dict[str, Any]]:
        """Return the results of a call some of whose values are Dask's arrays."""
        from gradcli.query.chunked import dask_arrays

        if out is not None or self.plans is not ValueAndGradients:
            raise UsageError(
                "Dask's arrays are taken by value_and_grad(...) alone, without out=",
                help="call value_and_grad(...)",
            )
        values = {
            name: value if dask_arrays.is_lazy(name, value) else self._array(name, value)
            for name, value in bindings.items()
        }
        try:
            value, gradients = dask_arrays.lazily(self.settings, values, seed)
        except GradcliError as error:
            raise given.in_words_of_api(error, self.options, _by_name) from None
        return value, gradients if self._ascii else found_by_name(gradients)

    def _seed(self, seed: Any) -> Any:
        with np.errstate(all="ignore"):
            return numbers(seed, "the seed", copy=False).astype(self.float_dtype, copy=False)

    def _array(self, name: str, value: Any) -> Any:
        array = given.value_of(name, value, copy=False)
        if array.dtype.kind in "iub":
            return array
        with np.errstate(all="ignore"):  # values too large for float32 become infinite
            return array.astype(self.float_dtype, copy=False)

    def _kind(self, array: Any) -> Any:
        """Return the part of a value that a plan is made for."""
        return array.shape if array.dtype is self.float_dtype else (array.dtype.kind, array.shape)


class Function(Compiled):
    """An expression and its gradients as a function of its names. Made by `value_and_grad`."""

    options = ("seed", "out")

    def __call__(
        self,
        at: Mapping[str, Any] | None = None,
        /,
        seed: Any = None,
        out: Mapping[str, NDArray[Any]] | None = None,
        **bindings: Any,
    ) -> tuple[Any, dict[str, NDArray[Any]]]:
        """Return the value, and the gradient by each name, in its shape.

        at, bindings  values of names: numbers, nested lists or arrays; ``at`` takes names that are
                      no keywords
        seed          the vector of the vector-Jacobian product, of the value's shape, if the
                      value is not a scalar
        out           arrays that take gradients, by name; the others are new

        Gradients are given by names as the language spells them, and found by any form of these
        (`gradcli.texts`). Raises a `GradcliError` for values at which the expression has no
        result.
        """
        found: tuple[Any, dict[str, NDArray[Any]]] = self.call(at, bindings, seed, out)
        return found

    def of_vector(self, flat: Flat, bindings: dict[str, Any]) -> Any:
        """Return the value, and the gradient as a vector."""
        value, grads = self.call(None, bindings)
        return value, flat.vector(grads)


class Value(Compiled):
    """An expression as a function of its names. Made by `compile`."""

    def __call__(
        self,
        at: Mapping[str, Any] | None = None,
        /,
        **bindings: Any,
    ) -> Any:
        """Return the value.

        Raises a `GradcliError` for values at which the expression has no result.
        """
        return self.call(at, bindings)[0]

    def by(self, names: tuple[str, ...]) -> Self:
        return self

    def of_vector(self, flat: Flat, bindings: dict[str, Any]) -> Any:
        """Return the value: a number, or a vector of its entries."""
        value = self.call(None, bindings)[0]
        return np.ravel(value) if value.ndim else value


class _Matrix(Compiled):
    """A function that has a matrix of derivatives."""

    def prepare(self, shapes: Mapping[str, Any] | None = None, /, **named: Any) -> Self:
        """Compile ahead for values of these shapes, as `Function.prepare`; gives the function."""
        plan: MatrixPlan = self.plan_for(shapes, named)[0]
        _ = plan.compression if self.sparse else plan.dense
        return self

    def of_vector(self, flat: Flat, bindings: dict[str, Any]) -> Any:
        """Return the matrix of derivatives.

        It has a row for each entry of the value (of the vector, for a Hessian) and a column for
        each entry of the vector.
        """
        return self.call(None, bindings, out="whole sparse" if self.sparse else "whole")

    def __call__(
        self,
        at: Mapping[str, Any] | None = None,
        /,
        *further: Any,
        **bindings: Any,
    ) -> Any:
        """Return the value and its matrices of derivatives.

        `jacobian` gives the value, and by each name the Jacobian, of the value's shape followed by
        the name's. `hessian` gives the value, the gradient by each name, and by each pair of names
        the second derivatives, ``[x][y]`` of the shape of x followed by that of y.

        ``sparse=True`` makes each matrix a ``scipy.sparse.csr_array`` with a row for each entry of
        the value (of x) and a column for each entry of the name (of y), in C order.
        """
        values = [at, *further] if further else at
        return self.call(values, bindings, out="sparse" * self.sparse)

    def sparsity(self, shapes: Mapping[str, Any] | None = None, /, **named: Any) -> Any:
        """Return the entries of each matrix that may be other than zero.

        The shapes of values are given as for ``prepare``. The result is sparse arrays of booleans,
        by name, or by two names for a Hessian. Entries that are left out are zero for all values;
        the others may be.
        """
        plan, order = self.plan_for(shapes, named)
        return found_by_name(plan.patterns(order))


class Jacobian(_Matrix):
    """A value and its Jacobians as a function of names. Made by `jacobian`."""

    plans = MatrixPlan
    __call__: Callable[..., tuple[Any, dict[str, Any]]]
    sparsity: Callable[..., dict[str, Any]]


class Hessian(_Matrix):
    """A scalar, its gradients and its second derivatives as a function of names.

    Made by `hessian`.
    """

    plans = HessianPlan
    __call__: Callable[..., tuple[Any, dict[str, Any], dict[str, dict[str, Any]]]]
    sparsity: Callable[..., dict[str, dict[str, Any]]]


def _by_name(name: str) -> str:
    """Write the call that gives a value to a name that is also an option."""
    return f'f({{"{name}": ...}})'


# -- Expressions as functions that are called many times, as in an optimizer's inner loop


def value_and_grad(
    expression: str,
    wrt: str | Iterable[str] | None = None,
    *,
    dtype: DType = "float64",
    limits: Limits = DEFAULT,
    dialect: Dialect | None = None,
    backend: Backend = "auto",
    threads: int | None = None,
    random_state: int = 0,
) -> Function:
    """Return a function that gives the value and the gradients of an expression.

    It takes values of the expression's names, and is compiled once for each set of shapes.

    expression  a program of the language; the result is that of its last query
    wrt         names to differentiate with respect to, also "a, b" (default: every name that it is
                called with and depends on)
    dialect     the meaning of methods and bare names where no prefix or import line shows it:
                "numpy", "torch" or "jax"
    backend     "numpy", "native" (C, compiled by the machine's compiler), or "auto": native code
                for shapes that are worth compiling for, as a count of operations decides, if there
                is a compiler
    threads     the most threads that share the work on large arrays (default: as many as cores, or
                as OMP_NUM_THREADS allows); products of matrices use BLAS's own. Results are the
                same to the bit
    random_state
                the seed of the program's random draws, as in `evaluate`: every call has the same

    Raises a `GradcliError` with its place in the text for a program that cannot be read.
    """
    return Function(_settings(**locals()))


def jacobian(
    expression: str,
    wrt: str | Iterable[str] | None = None,
    *,
    sparse: bool = False,
    dtype: DType = "float64",
    limits: Limits = DEFAULT,
    dialect: Dialect | None = None,
    backend: Backend = "auto",
    threads: int | None = None,
    random_state: int = 0,
) -> Jacobian:
    """Return a function that gives the value and its Jacobian by each name.

    It gives ``value, {"x": J}``, with J of the value's shape followed by x's.

    >>> value, by = jacobian("x[1:] - x[:-1]**2")(x=[1., 2., 3.])
    >>> by["x"]
    array([[-2.,  1.,  0.],
           [ 0., -4.,  1.]])

    ``sparse`` makes each J a ``scipy.sparse.csr_array`` with a row for each entry of the value and
    a column for each of x. The entries that may be other than zero are read from the expression
    (``f.sparsity(x=(1000,))``). Columns, or rows, that do not meet share a colour, and one
    derivative in a direction is computed for each colour.

    The other options are those of `value_and_grad`. ``f.flat("x")`` is the matrix as a function of
    a vector, for ``jac=`` of SciPy's ``least_squares``.
    """
    return Jacobian(_settings(**locals()), given.option_of("sparse", sparse))


def hessian(
    expression: str,
    wrt: str | Iterable[str] | None = None,
    *,
    sparse: bool = False,
    dtype: DType = "float64",
    limits: Limits = DEFAULT,
    dialect: Dialect | None = None,
    backend: Backend = "auto",
    threads: int | None = None,
    random_state: int = 0,
) -> Hessian:
    """Return a function that gives a scalar, its gradients and its second derivatives.

    It gives ``value, {"x": g}, {"x": {"y": H}}``. H has the shape of x followed by that of y.
    ``sparse`` makes it a ``scipy.sparse.csr_array`` with a row for each entry of x and a column for
    each of y, as in `jacobian`; one derivative is computed for two symmetric places. The other
    options are those of `value_and_grad`. ``f.flat("x")`` is the matrix as a function of a vector,
    for ``hess=`` of ``scipy.optimize.minimize``.

    >>> value, grads, by = hessian("x**2*y")(x=3., y=2.)
    >>> float(by["x"]["x"]), float(by["x"]["y"])
    (4.0, 6.0)
    """
    return Hessian(_settings(**locals()), given.option_of("sparse", sparse))


def _settings(expression: Any, wrt: Any, sparse: Any = None, **options: Any) -> Settings:
    """Return the settings of a function: everything that it is made with except ``sparse``.

    Raises for an invalid option by its name.
    """
    names = given.names_given("wrt", wrt, given.words(given.text_of(expression)))
    return Settings(expression, names, **given.options_of(options))


def compile(
    expression: str,
    *,
    dtype: DType = "float64",
    limits: Limits = DEFAULT,
    dialect: Dialect | None = None,
    backend: Backend = "auto",
    threads: int | None = None,
    random_state: int = 0,
) -> Value:
    """Return a function of an expression's names that gives its value.

    The options are those of `value_and_grad`.
    """
    return Value(_settings(wrt=(), **locals()))
