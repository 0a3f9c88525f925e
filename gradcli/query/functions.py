"""Functions of an expression's names: what they are called with, and the plans that they keep for the shapes that they have met."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

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
from gradcli.query.specialized import Specialized, by_name

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
        self, at: Mapping[str, Any] | None = None, /, *, seed: Any = None, out: Mapping[str, Any] | None = None, **bindings: Any
    ) -> tuple[Any, dict[str, Any]]:
        """The value, and the gradient by each name, in its shape.

        at, bindings  values of names: numbers, nested lists or arrays; ``at`` takes names that are no keywords
        seed          the vector of the vector-Jacobian product, of the value's shape, where that is no scalar
        out           arrays that take gradients, by name; the others are new
        Raises a `GradcliError` for values that the expression has no result for.
        """
        if at is not None or not self._words.issuperset(bindings):
            bindings = self._by_names(at, bindings)
        parts: list[Any] = list(bindings)  # names and shapes: what a plan is made for
        dtype = self._float
        for name, value in bindings.items():
            if type(value) is _ARRAY and value.dtype is dtype:
                parts.append(value.shape)
            else:
                bindings[name] = array = self._array(name, value)
                parts.append((array.dtype.kind, array.shape))
        if seed is not None:
            with np.errstate(all="ignore"):
                seed = numbers(seed, "the seed", copy=False).astype(dtype, copy=False)
            parts.append(seed.shape)
        key = tuple(parts)
        compiled = self._plans.get(key)
        if compiled is None or compiled.consulted:
            compiled = self._compiled(key, bindings, seed)
        return compiled(bindings, seed, out)

    def _by_names(self, at: Any, keywords: dict[str, Any]) -> dict[str, Any]:
        """The values by the names that the expression has for them."""
        if at is not None and not isinstance(at, Mapping):
            names = [name for statement in self.statements for name in (*names_bound_by(statement), *names_imported_by(statement))]
            taken = {*names, *NAMED, *re.findall(r"(\w+)\s*\(", self.expression)}
            free = sorted(self._words - taken)
            shown = f"{at!r}" if isinstance(at, (int, float)) else "..."
            help = f"call it by names: f({free[0] if free else 'x'}={shown})"
            raise InputTypeError("a compiled function takes values by names", help=help)
        given.refuse_unknown(keywords, self._words, self.options, "the function")
        return given.bound(at, keywords, self._words, by_name)

    def _array(self, name: str, value: Any) -> Any:
        array = given.value_of(name, value, copy=False)
        if array.dtype.kind in "iub":
            return array
        with np.errstate(all="ignore"):  # what is too large for float32 is infinite
            return array.astype(self._float, copy=False)

    def _compiled(self, key: Key, bindings: Mapping[str, Any], seed: Any) -> Specialized:
        """The plan for values of these shapes, and where the text makes constants of values, for these values."""
        known = self._plans.get(key)
        if known is not None:
            key = (*key, *(bindings[name].tobytes() for name in known.consulted))
        found = self._plans.get(key)
        if found is None:
            if len(self._plans) >= _PLANS:
                self._plans.clear()
            found = self._plans[key] = Specialized(self, bindings, seed)
            if found.consulted and known is None:
                self._plans[(*key, *(bindings[name].tobytes() for name in found.consulted))] = found
        return found


class Value(Function):
    """An expression as a function of its names. Made by `compile`."""

    options = ()

    def __call__(self, at: Mapping[str, Any] | None = None, /, **bindings: Any) -> Any:
        """The value. Raises a `GradcliError` for values that the expression has no result for."""
        if "seed" in bindings or "out" in bindings:  # names here, and options there
            at, bindings = self._by_names(at, bindings), {}
        return super().__call__(at, **bindings)[0]
