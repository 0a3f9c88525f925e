"""Expressions as functions that are called many times, as in an optimizer's inner loop.

>>> f = value_and_grad("sum(3*a**3 - b**2)")
>>> value, grads = f(a=[2., 3.], b=[6., 4.])
>>> value, grads["a"]
(np.float64(53.0), array([36., 81.]))
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, overload

import numpy as np

from gradcli.errors import GradcliError, InputTypeError, ParseError, ShapeError, UsageError, suggestion, text_lines
from gradcli.graph.nodes import Expr, reachable
from gradcli.language.mentions import names_bound_by, names_imported_by, words_of
from gradcli.language.run import Lowered, Program, statements
from gradcli.language.scope import Scope
from gradcli.language.tree import Assertion, Query, Statement
from gradcli.limits import DEFAULT, Limits
from gradcli.ops.calling.inputs import numbers
from gradcli.ops.calling.promotion import FLOAT, numpy_dtype
from gradcli.ops.constants import NAMED
from gradcli.plans.plan import Plan
from gradcli.query import bindings as given
from gradcli.query.evaluate import locate
from gradcli.query.options import Options, names_of
from gradcli.query.shared_memory import overlap, overlaps_itself
from gradcli.query.wrt import variables

Key = tuple[Any, ...]
_Array = np.ndarray
_PYTORCH_COMPILE = ("fullgraph", "dynamic", "backend", "mode", "options", "disable")
_PLANS = 256  # that a function keeps: shapes, or values that decide what is computed, may be others in every call


def value_and_grad(
    expression: str, wrt: Iterable[str] | None = None, *, dtype: Any = "float64", limits: Limits = DEFAULT, dialect: str | None = None
) -> Function:
    """A function of an expression's names that gives its value and its gradients, compiled once for each set of shapes.

    expression  a program of the language; the result is that of its last query
    wrt         names to differentiate with respect to, also "a, b" (default: every name that it is called with and depends on)
    dialect     what methods and bare names mean where no prefix or import line says so: "numpy", "torch" or "jax"
    Raises a `GradcliError` with its place in the text for what cannot be read.
    """
    return Function(expression, names_of(wrt), dtype, limits, dialect)


@overload
def compile(expression: str, *, dtype: Any = ..., limits: Limits = ..., dialect: str | None = ...) -> Value: ...
@overload
def compile(expression: Callable[..., Any], **pytorch: Any) -> Callable[..., Any]: ...
@overload
def compile(expression: None = None, **pytorch: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...
def compile(expression: Any = None, *, dtype: Any = "float64", limits: Limits = DEFAULT, dialect: str | None = None, **pytorch: Any) -> Any:
    """A function of an expression's names that gives its value, compiled once for each set of shapes.

    A Python function is given back as it is, as PyTorch's `compile` changes nothing that a function computes; with PyTorch's keywords
    alone it is the decorator that does so. Raises UnknownArgument for other keywords, and InputTypeError for what is neither.
    """
    of_functions = expression is None or callable(expression)
    options = _PYTORCH_COMPILE if of_functions else ("dtype", "limits", "dialect")
    for name in pytorch:
        if name not in options:
            close = suggestion(name, [*options])
            raise given.UnknownArgument(f"compile has no option '{name}'", help=f"did you mean '{close}'?" if close else None)
    if of_functions:
        return expression if expression is not None else lambda function: function
    return Value(expression, (), dtype, limits, dialect)


class Function:
    """An expression and its gradients as a function of its names. Made by `value_and_grad`."""

    _options: tuple[str, ...] = ("seed", "out")

    def __init__(self, expression: str, wrt: tuple[str, ...] | None, dtype: Any, limits: Limits, dialect: str | None = None) -> None:
        self.expression = given.text_of(expression)
        self.wrt = wrt
        self.dtype = given.precision_of(dtype)
        self.limits = given.limits_of(limits)
        self.dialect = given.dialect_of(dialect)
        self._float = numpy_dtype(FLOAT, self.dtype)
        self._statements: list[Statement] = []
        self._words: set[str] = {*(wrt or ())}
        self._plans: dict[Key, _Compiled] = {}
        for statement in statements(text_lines(expression), None, limits):
            if isinstance(statement, GradcliError):
                raise statement
            if isinstance(statement, Assertion):
                raise UsageError(
                    "a compiled function runs no asserts", span=statement.span, source=statement.source,
                    help="leave it out, or call gradcli.evaluate",
                )  # fmt: skip
            self._statements.append(statement)
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
            if type(value) is _Array and value.dtype is dtype:
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
            names = [name for statement in self._statements for name in (*names_bound_by(statement), *names_imported_by(statement))]
            taken = {*names, *NAMED, *re.findall(r"(\w+)\s*\(", self.expression)}
            free = sorted(self._words - taken)
            shown = f"{at!r}" if isinstance(at, (int, float)) else "..."
            help = f"call it by names: f({free[0] if free else 'x'}={shown})"
            raise InputTypeError("a compiled function takes values by names", help=help)
        given.refuse_unknown(keywords, self._words, self._options, "the function")
        return given.bound(at, keywords, self._words, _by_name)

    def _array(self, name: str, value: Any) -> Any:
        array = given.value_of(name, value, copy=False)
        if array.dtype.kind in "iub":
            return array
        with np.errstate(all="ignore"):  # what is too large for float32 is infinite
            return array.astype(self._float, copy=False)

    def _compiled(self, key: Key, bindings: Mapping[str, Any], seed: Any) -> _Compiled:
        """The plan for values of these shapes, and where the text makes constants of values, for these values."""
        known = self._plans.get(key)
        if known is not None:
            key = (*key, *(bindings[name].tobytes() for name in known.consulted))
        found = self._plans.get(key)
        if found is None:
            if len(self._plans) >= _PLANS:
                self._plans.clear()
            found = self._plans[key] = _Compiled(self, bindings, seed)
            if found.consulted and known is None:
                self._plans[(*key, *(bindings[name].tobytes() for name in found.consulted))] = found
        return found


def _by_name(name: str) -> str:
    """How a name is given a value that is also an option's."""
    return f'f({{"{name}": ...}})'


class Value(Function):
    """An expression as a function of its names. Made by `compile`."""

    _options = ()

    def __call__(self, at: Mapping[str, Any] | None = None, /, **bindings: Any) -> Any:
        """The value. Raises a `GradcliError` for values that the expression has no result for."""
        if "seed" in bindings or "out" in bindings:  # names here, and options there
            at, bindings = self._by_names(at, bindings), {}
        return super().__call__(at, **bindings)[0]


class _Watching(Scope):
    """A scope that notes the names whose values decide what is computed (an axis, a shape, how often to repeat)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.consulted: set[str] = set()

    def evaluate(self, node: Expr) -> Any:
        self.consulted.update(leaf.payload.name for leaf in reachable([node]) if leaf.is_leaf)
        return super().evaluate(node)


class _Compiled:
    """The plan of a function for values of given names, shapes and dtypes."""

    def __init__(self, function: Function, bindings: Mapping[str, Any], seed: Any) -> None:
        limits = function.limits.with_room_for(max((value.size for value in bindings.values()), default=0))
        self.scope = scope = _Watching(limits, function.dtype, needed=True)
        for name, value in bindings.items():
            scope.outside[name] = value
            scope.bind_value(name, value)
        self.query = query = _last_query(Program(scope), function)
        root = query.value
        self.consulted = sorted(scope.consulted & set(bindings))
        options = Options(wrt=function.wrt)
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
        self.whole = any(bindings[name].dtype.kind in "iu" for name in self.names)
        self.dtype = numpy_dtype(FLOAT, function.dtype)
        seeds = [] if seed is None else [scope.graph.leaf("seed", root.shape)]
        order = [scope.leaves[name] for name in self.names] + drawn + seeds
        self.plan = Plan(root, list(wrt.values()), order, function.dtype, seeds[0] if seeds else None)

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
            if array.flags.c_contiguous and not any(np.may_share_memory(array, value) for value in values)
        }
        return [straight.get(name) for name in self.wrt]


def _last_query(program: Program, function: Function) -> Lowered:
    found = None
    program.scope.dialect.asked = function.dialect
    program.foresee(text_lines(function.expression))
    for statement in function._statements:
        try:
            lowered = program.execute(statement)
        except GradcliError as error:
            raise given.helped(locate(error, program.scope, statement), function._options, _by_name) from None
        if isinstance(statement, Query):
            found = lowered
    if found is None:
        raise ParseError("the program has no query")
    return found
