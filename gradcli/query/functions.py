"""Functions of an expression's names: what they are called with, and the plans that they keep for the shapes that they have met."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from gradcli.errors import GradcliError, InputTypeError, UsageError, text_lines
from gradcli.language.mentions import names_bound_by, names_imported_by, words_of
from gradcli.language.run import statements
from gradcli.language.tree import Assertion, Statement
from gradcli.limits import Limits
from gradcli.ops.calling.inputs import numbers
from gradcli.ops.calling.promotion import FLOAT, numpy_dtype
from gradcli.ops.constants import NAMED
from gradcli.query import bindings as given
from gradcli.query.placeholders import placeholder
from gradcli.query.specialized import Specialized, by_name, refuse_unknown

if TYPE_CHECKING:
    from numpy.typing import NDArray

Key = tuple[Any, ...]
_ARRAY = np.ndarray
_PLANS = 256  # that a function keeps: shapes, or values that decide what is computed, may be others in every call


class Function:
    """An expression and its gradients as a function of its names. Made by `value_and_grad`."""

    options: tuple[str, ...] = ("seed", "out")

    def __init__(
        self,
        expression: str,
        wrt: tuple[str, ...] | None,
        dtype: Any,
        limits: Limits,
        dialect: str | None = None,
        backend: str = "auto",
        threads: int | None = None,
    ) -> None:
        self.expression = given.text_of(expression)
        self.wrt = wrt
        self.dtype = given.precision_of(dtype)
        self.limits = given.limits_of(limits)
        self.dialect = given.dialect_of(dialect)
        self.backend = given.backend_of(backend)
        self.threads = given.threads_of(threads)
        self._float = numpy_dtype(FLOAT, self.dtype)
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
        return f"<{type(self).__name__.lower()} {self.expression!r}>"

    def __call__(
        self,
        at: Mapping[str, Any] | None = None,
        /,
        *more: Any,
        seed: Any = None,
        out: Mapping[str, NDArray[Any]] | None = None,
        **bindings: Any,
    ) -> tuple[Any, dict[str, NDArray[Any]]]:
        """The value, and the gradient by each name, in its shape.

        at, bindings  values of names: numbers, nested lists or arrays; ``at`` takes names that are no keywords
        seed          the vector of the vector-Jacobian product, of the value's shape, where that is no scalar
        out           arrays that take gradients, by name; the others are new
        Raises a `GradcliError` for values that the expression has no result for.
        """
        if at is not None or more or not self._words.issuperset(bindings):
            bindings = self._by_names(at, bindings, more)
        parts: list[Any] = list(bindings)  # names and shapes: what a plan is made for
        dtype = self._float
        for name, value in bindings.items():
            if type(value) is _ARRAY and value.dtype is dtype:
                parts.append(value.shape)
            else:
                bindings[name] = array = self._array(name, value)
                parts.append(self._kind(array))
        if seed is not None:
            with np.errstate(all="ignore"):
                seed = numbers(seed, "the seed", copy=False).astype(dtype, copy=False)
            parts.append(seed.shape)
        key = tuple(parts)
        compiled = self._plans.get(key)
        if compiled is None or compiled.consulted:
            compiled = self._compiled(key, bindings, seed)
        return compiled(bindings, seed, out)

    def prepare(self, shapes: Mapping[str, Any] | None = None, /, **named: Any) -> Self:
        """Compile ahead for values of these shapes; gives the function.

        shapes, named  what stands for the values of names, and for ``seed``: a tuple of whole numbers is a shape (of floats), what has a
                       ``shape`` and a ``dtype`` but no entries says both, and all else is a value as in a call
        Raises a `GradcliError` by its name for a shape where a value is needed, which decides what is computed (an axis, an index).
        """
        options = ("seed",) if "seed" in self.options else ()
        asked = {option: named.pop(option, None) for option in options}
        given.refuse_unknown(named, self._words, options, "prepare")
        specs = given.bound(shapes, named, self._words, lambda name: f'f.prepare({{"{name}": ...}})')
        values, unknown = {}, set()
        for name, spec in specs.items():
            empty = placeholder(name, spec, self._float)
            values[name] = self._array(name, spec) if empty is None else empty
            if empty is not None:
                unknown.add(name)
        seed = asked.get("seed")
        if seed is not None:
            empty = placeholder("seed", seed, self._float)
            seed = numbers(seed, "the seed", copy=False) if empty is None else empty
        key = (*values, *map(self._kind, values.values()), *([] if seed is None else [seed.shape]))
        self._compiled(key, values, seed, unknown)
        return self

    def plan(self) -> Listing:
        """The programs that there are, one for each set of shapes: why NumPy or native code runs them, and their steps in order."""
        made = {id(found.plan): found for found in self._plans.values()}.values()
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

    def _array(self, name: str, value: Any) -> Any:
        array = given.value_of(name, value, copy=False)
        if array.dtype.kind in "iub":
            return array
        with np.errstate(all="ignore"):  # what is too large for float32 is infinite
            return array.astype(self._float, copy=False)

    def _kind(self, array: Any) -> Any:
        """What of a value a plan is made for."""
        return array.shape if array.dtype is self._float else (array.dtype.kind, array.shape)

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
            if len(self._plans) >= _PLANS:
                self._plans.clear()
            names, places = sorted(bindings), dict(zip(bindings, key[len(bindings) :], strict=False))
            if names == list(bindings):
                found = Specialized(self, bindings, seed, unknown)
            else:
                ordered = (*names, *map(places.__getitem__, names), *key[2 * len(names) : 2 * len(names) + (seed is not None)])
                found = self._compiled(ordered, {name: bindings[name] for name in names}, seed, unknown).called_with(list(bindings))
            self._plans[key] = found
            if found.consulted and known is None:
                self._plans[(*key, *(bindings[name].tobytes() for name in found.consulted))] = found
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, in another process too, compiles for itself."""
        made = (self.expression, self.wrt, self.dtype, self.limits, self.dialect, self.backend, self.threads)
        return type(self), made


class Listing(str):
    """Text that a prompt shows as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Value(Function):
    """An expression as a function of its names. Made by `compile`."""

    options = ()

    def __call__(self, at: Mapping[str, Any] | None = None, /, *more: Any, **bindings: Any) -> Any:
        """The value. Raises a `GradcliError` for values that the expression has no result for."""
        if "seed" in bindings or "out" in bindings:  # names here, and options there
            at, bindings = self._by_names(at, bindings), {}
        return super().__call__(at, *more, **bindings)[0]
