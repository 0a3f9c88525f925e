"""Functions of an expression's names: what they are called with, and the plans that they keep for the shapes that they have met."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from gradcli.characters import by_name as found_by_name
from gradcli.errors import GradcliError, InputTypeError, UsageError, text_lines
from gradcli.inert import clipped
from gradcli.language.mentions import names_bound_by, names_imported_by, words_of
from gradcli.language.run import statements
from gradcli.language.tree import Assertion, Statement
from gradcli.limits import Limits
from gradcli.ops.calling.inputs import numbers
from gradcli.ops.calling.promotion import FLOAT, numpy_dtype
from gradcli.ops.constants import NAMED
from gradcli.query import bindings as given
from gradcli.query.flat import Flat, Layout, flattened
from gradcli.query.instances import by_name, refuse_unknown
from gradcli.query.placeholders import placeholder
from gradcli.query.specialized import Specialized

if TYPE_CHECKING:
    from numpy.typing import NDArray

Key = tuple[Any, ...]
_ARRAY = np.ndarray
SHOWN = 100  # characters of an expression that a prompt shows
_PLANS = 256  # that a function keeps: shapes, or values that decide what is computed, may be others in every call
_OPTIONS = ("seed", "out", "random_state")  # keywords of a call, whatever is made of it
_STEP = 0x9E3779B1  # 2**32 by the golden ratio: its multiples are spread evenly


class Function:
    """An expression and its gradients as a function of its names. Made by `value_and_grad`."""

    options: tuple[str, ...] = _OPTIONS

    def __init__(
        self,
        expression: str,
        wrt: tuple[str, ...] | None,
        dtype: Any,
        limits: Limits,
        dialect: str | None = None,
        backend: str = "auto",
        threads: int | None = None,
        random_state: int = 0,
        maker: Any = Specialized,
    ) -> None:
        self.expression = given.text_of(expression)
        self.wrt = wrt
        self.dtype = given.precision_of(dtype)
        self.limits = given.limits_of(limits)
        self.dialect = given.dialect_of(dialect)
        self.backend = given.backend_of(backend)
        self.threads = given.threads_of(threads)
        self.random_state = given.state_of(random_state)
        self._ascii = expression.isascii()  # all results are keyed as names are written
        self._maker = maker  # of plans for shapes
        self._dropped = 0
        self.float_dtype = numpy_dtype(FLOAT, self.dtype)
        self.statements: list[Statement] = []
        self._words: set[str] = {*(wrt or ())}
        self._plans: dict[Key, Specialized] = {}
        for statement in statements(text_lines(expression), None, limits):
            if isinstance(statement, GradcliError):
                raise statement
            if isinstance(statement, Assertion):
                raise UsageError(
                    "a compiled function runs no asserts", span=statement.span, source=statement.source,
                    help="leave it out, or call gradcli.evaluate",
                )  # fmt: skip
            self.statements.append(statement)
            self._words |= words_of(statement)
            self._words.update(names_bound_by(statement))

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} {clipped(self.expression, SHOWN)!r}>"

    def __call__(
        self,
        at: Mapping[str, Any] | None = None,
        /,
        *more: Any,
        seed: Any = None,
        out: Mapping[str, NDArray[Any]] | None = None,
        random_state: int | None = None,
        **bindings: Any,
    ) -> tuple[Any, dict[str, NDArray[Any]]]:
        """The value, and the gradient by each name, in its shape.

        at, bindings  values of names: numbers, nested lists or arrays; ``at`` takes names that are no keywords
        seed          the vector of the vector-Jacobian product, of the value's shape, where that is no scalar
        out           arrays that take gradients, by name; the others are new
        Gradients are by names as the language has them, and found by any form of these (`gradcli.characters`).
        random_state  the seed of the program's random draws in this call, where they are not to be those of the function
        Raises a `GradcliError` for values that the expression has no result for.
        """
        if at is not None or more or not self._words.issuperset(bindings):
            bindings = self._by_names(at, bindings, more)
        parts: list[Any] = list(bindings)  # names and shapes: what a plan is made for
        dtype = self.float_dtype
        for name, value in bindings.items():
            if type(value) is _ARRAY and value.dtype is dtype:
                parts.append(value.shape)
            elif hasattr(value, "__dask_graph__"):
                return self._lazily(bindings, seed, out, random_state)
            else:
                bindings[name] = array = self._array(name, value)
                parts.append(self._kind(array))
        if seed is not None:
            seed, kind = self._maker.seed_of(seed, dtype)
            parts.append(kind)
        key = tuple(parts)
        compiled = self._plans.get(key)
        if compiled is None or compiled.consulted:
            compiled = self._compiled(key, bindings, seed)
        if random_state is not None:
            compiled = compiled.drawn(self, bindings, seed, given.state_of(random_state))
        if self._ascii:
            return compiled(bindings, seed, out)
        found = compiled(bindings, seed, given.by_form("out", out) if isinstance(out, Mapping) else out)
        by_any_form: tuple[Any, dict[str, NDArray[Any]]] = found_by_name(found)
        return by_any_form

    def prepare(self, shapes: Mapping[str, Any] | None = None, /, **named: Any) -> Self:
        """Compile ahead for values of these shapes; gives the function.

        shapes, named  what stands for the values of names, and for ``seed``: a tuple of whole numbers is a shape (of floats), what has a
                       ``shape`` and a ``dtype`` but no entries says both, and all else is a value as in a call
        Raises a `GradcliError` by its name for a shape where a value is needed, which decides what is computed (an axis, an index).
        """
        self.prepared(shapes, named)
        return self

    def prepared(self, shapes: Mapping[str, Any] | None, named: dict[str, Any]) -> Any:
        """The plan for values of these shapes."""
        options = ("seed",) if "seed" in self.options else ()
        asked = {option: named.pop(option, None) for option in options}
        given.refuse_unknown(named, self._words, options, "prepare")
        specs = given.bound(shapes, named, self._words, lambda name: f'f.prepare({{"{name}": ...}})')
        values, unknown = {}, set()
        for name, spec in specs.items():
            empty = placeholder(name, spec, self.float_dtype)
            values[name] = self._array(name, spec) if empty is None else empty
            if empty is not None:
                unknown.add(name)
        seed = asked.get("seed")
        if seed is not None:
            empty = placeholder("seed", seed, self.float_dtype)
            seed = numbers(seed, "the seed", copy=False) if empty is None else empty
        key = (*values, *map(self._kind, values.values()), *([] if seed is None else [seed.shape]))
        return self._compiled(key, values, seed, unknown)

    def called(
        self, at: Mapping[str, Any] | None, keywords: Mapping[str, Any] | None, how: Any, state: int | None = None, seed: Any = None
    ) -> Any:
        """What plans of another kind give, which take for ``out`` how results are wanted."""
        if keywords and any(option in keywords for option in _OPTIONS):  # names here
            at, keywords = {**(at or {}), **keywords}, None
        return Function.__call__(self, at, seed=seed, out=how, random_state=state, **(keywords or {}))

    @property
    def words(self) -> Collection[str]:
        """The names that the expression mentions, functions among them, and those of ``wrt``."""
        return self._words

    def flat(self, *names: str, **values: Any) -> Flat:
        """The function of one vector that holds the values of these names: it gives the value and the gradient as a vector, as solvers
        want them (``jac=True`` of ``scipy.optimize.minimize``).

        names   what the vector holds, one after the other
        values  shapes of these, ``x=(3, 2)`` (or values that have them; one name may have none: it is a vector of what is left), and the
                values of all other names, which are fixed; ``at=`` is a dictionary for names that are no keywords
        """
        return flattened(names, values, self.words, self._by, self.float_dtype)

    def _by(self, names: tuple[str, ...]) -> Self:
        """The same function with derivatives by these names."""
        expression, _, *options = self.made_of
        return self if self.wrt == names else type(self)(expression, names, *options)

    def of_vector(self, layout: Layout, bindings: Mapping[str, Any]) -> Any:
        """The value, and the gradient as a vector."""
        value, grads = self.called(None, bindings, None)
        return value, layout.join(grads)

    def plan(self) -> Listing:
        """The programs that there are, one for each set of shapes: why NumPy or native code runs them, and their steps in order."""
        made = {id(found.made): found for found in self._plans.values()}.values()
        return Listing(
            "\n\n".join(found.text() for found in made) or "nothing is compiled yet: call the function, or prepare it for shapes"
        )

    def _by_names(self, at: Any, keywords: dict[str, Any], more: tuple[Any, ...] = ()) -> dict[str, Any]:
        """The values by the names that the expression has for them; those that come by position are refused."""
        if more or (at is not None and not isinstance(at, Mapping)):
            names = [name for statement in self.statements for name in (*names_bound_by(statement), *names_imported_by(statement))]
            taken = {*names, *NAMED, *re.findall(r"\b(\w++)\s*+\(", self.expression)}
            free = sorted(self._words - taken)
            shown = [f"{value!r}" if isinstance(value, (int, float)) else "..." for value in (at, *more)]
            free += [f"x{place}" for place in range(len(free), len(shown))] if len(shown) > 1 else ["x"][len(free) :]
            help = f"call it by names: f({', '.join(f'{name}={text}' for name, text in zip(free, shown, strict=False))})"
            raise InputTypeError("a compiled function takes values by names", help=help)
        given.refuse_unknown(keywords, self._words, self.options, "the function")
        return given.bound(at, keywords, self._words, by_name)

    def _lazily(self, bindings: Mapping[str, Any], seed: Any, out: Any, state: int | None) -> tuple[Any, dict[str, Any]]:
        """The results of a call some of whose values are Dask's arrays."""
        from gradcli.query.chunked import dask_arrays

        if out is not None or self._maker is not Specialized:
            raise UsageError("of Dask's arrays there are values and gradients in arrays of their own", help="call value_and_grad(...)")
        values = {name: value if dask_arrays.is_lazy(name, value) else self._array(name, value) for name, value in bindings.items()}
        state = self.random_state if state is None else given.state_of(state)
        value, gradients = dask_arrays.lazily(self, values, seed, state)
        return value, gradients if self._ascii else found_by_name(gradients)

    def _array(self, name: str, value: Any) -> Any:
        array = given.value_of(name, value, copy=False)
        if array.dtype.kind in "iub":
            return array
        with np.errstate(all="ignore"):  # what is too large for float32 is infinite
            return array.astype(self.float_dtype, copy=False)

    def _kind(self, array: Any) -> Any:
        """What of a value a plan is made for."""
        return array.shape if array.dtype is self.float_dtype else (array.dtype.kind, array.shape)

    def _compiled(self, key: Key, bindings: Mapping[str, Any], seed: Any, unknown: Collection[str] = ()) -> Specialized:
        """The plan for values of these shapes, and where the text makes constants of values, for these values.

        It is made for names in their order, so that it is the same however a call orders them; ``unknown`` are those of which there is a
        shape only.
        """
        known = self._plans.get(key)
        if known is not None:
            refuse_unknown(known.consulted, unknown)
            key = (*key, *(bindings[name].tobytes() for name in known.consulted))
        found = self._plans.get(key)
        if found is None:
            self._make_room()
            names, places = sorted(bindings), dict(zip(bindings, key[len(bindings) :], strict=False))
            if names == list(bindings):
                found = self._maker(self, bindings, seed, unknown)
            else:
                ordered = (*names, *map(places.__getitem__, names), *key[2 * len(names) : 2 * len(names) + (seed is not None)])
                found = self._compiled(ordered, {name: bindings[name] for name in names}, seed, unknown).called_with(list(bindings))
            self._plans[key] = found
            if found.consulted and known is None:
                self._plans[(*key, *(bindings[name].tobytes() for name in found.consulted))] = found
        return found

    def _make_room(self) -> None:
        """Drop one of the older half of the plans. The oldest of all would be the next one that is asked for, where shapes come in turn:
        of 257, each would be compiled again in every round. This way it is a few."""
        while len(self._plans) >= _PLANS:
            self._dropped += 1
            older = list(self._plans)[: _PLANS // 2]
            self._plans.pop(older[(self._dropped * _STEP >> 16) % len(older)], None)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, in another process too, compiles for itself."""
        return type(self), self.made_of

    @property
    def made_of(self) -> tuple[Any, ...]:
        """What it is made of, as its class takes it."""
        return self.expression, self.wrt, self.dtype, self.limits, self.dialect, self.backend, self.threads, self.random_state


class Listing(str):
    """Text that a prompt shows as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Value(Function):
    """An expression as a function of its names. Made by `compile`."""

    options = ("random_state",)

    def __call__(self, at: Mapping[str, Any] | None = None, /, *more: Any, **bindings: Any) -> Any:
        """The value; ``random_state`` is the seed of the program's random draws in this call.

        Raises a `GradcliError` for values that the expression has no result for.
        """
        if "seed" in bindings or "out" in bindings:  # names here, and options there
            state = bindings.pop("random_state", None)
            return super().__call__(self._by_names(at, bindings, more), random_state=state)[0]
        return super().__call__(at, *more, **bindings)[0]

    def _by(self, names: tuple[str, ...]) -> Self:
        return self

    def of_vector(self, layout: Layout, bindings: Mapping[str, Any]) -> Any:
        """The value: a number, or a vector of its entries."""
        value = self.called(None, bindings, None)[0]
        return np.ravel(value) if value.ndim else value
