"""Operations as sympy functions, their derivatives, and expressions as programs.

The derivatives are sympy's; the programs are in multi-precision.

This is the only package that imports sympy. Expressions are built from records and from the
program's own graph, never from text, with symbols of our own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np
import sympy

from gradcli.ops.registry import find
from gradcli.ops.spec import Op
from gradcli.reference.algebra import Unsupported, real


def pairs_of(text: str) -> dict[Any, Any]:
    """Functions of sympy's by those that they are written by, from ``"sec cos, csc sin"``."""
    pairs = (pair.split() for pair in text.split(","))
    return {getattr(sympy, name): getattr(sympy, other) for name, other in pairs}


OTHERS = pairs_of(
    "sec cos, csc sin, cot tan, sech cosh, csch sinh, coth tanh, "
    "asec acos, acsc asin, asech acosh, acsch asinh, acoth atanh"
)


class OfSympy:
    """Context of our own for sympy's functions.

    It has sympy's functions and powers of what it computes with, and mpmath's names for the rest.

    own     applies a function that is not written by others
    others  functions that sympy writes in terms of others
    """

    own: Callable[..., Any]
    pow: Callable[[Any, Any], Any]
    NoConvergence: tuple[()] = ()
    mpc: tuple[()] = ()
    others: Mapping[Any, Any] = OTHERS

    def call(self, function: Any, *arguments: Any) -> Any:
        """Apply a function of sympy's, or one that a record has made."""
        other = self.others.get(function)
        return (
            self.own(function, *arguments)
            if other is None
            else _rewritten(function, other).run(self, arguments)[0]
        )

    def fsum(self, terms: Any) -> Any:
        return sum(terms)

    def fprod(self, factors: Any) -> Any:
        product, *others = factors
        for factor in others:
            product = product * factor
        return product

    def isfinite(self, x: Any) -> bool:
        return True


class Smooth:
    """A smooth scalar function given by a sympy expression; its partials are sympy's."""

    def __init__(self, expression: Any, symbols: tuple[Any, ...]) -> None:
        self.expression, self.symbols = expression, symbols
        self._partials: dict[int, Smooth] = {}
        self._on_arrays: dict[bool, Steps] = {}  # by whether the size of terms is included

    @cached_property
    def text(self) -> str:
        return str(self.expression)

    @cached_property
    def _program(self) -> Steps:
        return Steps.of([self.expression], self.symbols)

    def partial(self, place: int) -> Smooth:
        if place not in self._partials:
            self._partials[place] = Smooth(
                sympy.diff(self.expression, self.symbols[place]), self.symbols
            )
        return self._partials[place]

    def on_arrays(
        self, of: Smooth, out: Any, arrays: Sequence[Any], dtype: Any, sized: bool
    ) -> list[Any]:
        """Compute the slope of a function in a precision of floats, and the size of its terms.

        ``out`` is the function's value. The terms are those that the slope is computed of; their
        size is None where it is the slope's own, and unless it is asked for by ``sized``.
        """
        if sized not in self._on_arrays:
            roots, size = [self.expression], magnitude(self.expression)
            if sized and size != sympy.Abs(self.expression):
                roots.append(size)
            self._on_arrays[sized] = Steps.of(roots, (*self.symbols, of.expression))
        values, m, steps = [*arrays, out], _arrays(dtype), self._on_arrays[sized]
        for function, places in steps.steps:
            values.append(function(m, *[values[p] for p in places]))
        return [*map(values.__getitem__, steps.results), None][:2]

    def value(self, m: Any, arguments: tuple[Any, ...]) -> Any:
        return self._program.run(m, arguments)[0]


def expression_of(op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
    """Apply an operation to expressions.

    Reciprocal functions and their inverses have sympy's names for them, too.
    """
    own: Any = getattr(sympy, op.name, None)
    return (
        own(*operands)
        if own in OTHERS
        else (op.symbolic or op.reference)(sympy, *operands, **static)
    )


def smooth_function(op: Op, count: int, static: Mapping[str, Any]) -> Smooth:
    """Return an elementwise operation as a sympy function of ``count`` real variables."""
    return _smooth_function(op, count, tuple(sorted(static.items())))


def symbols_of(count: int) -> tuple[Any, ...]:
    return tuple(sympy.Dummy(f"v{i}", real=True) for i in range(count))


@cache
def _smooth_function(op: Op, count: int, static: tuple[tuple[str, Any], ...]) -> Smooth:
    symbols = symbols_of(count)
    return Smooth(expression_of(op, symbols, dict(static)), symbols)


_IN_MPMATH = {
    sympy.ceiling: "ceil",
    sympy.Abs: "fabs",
}  # sympy functions whose name in mpmath is not sympy's in lower case


class Steps:
    """Sympy expressions as a straight line of multi-precision steps, shared parts computed once.

    data  the number of inputs, the steps as they are described, each with the places of its
          arguments, and the places of the roots
    """

    def __init__(self, data: tuple[int, list[Any], list[int]]) -> None:
        self.data, (self.inputs, steps, self.results) = data, data
        self.steps = [(_function(*said), places) for said, places in steps]

    @classmethod
    def of(cls, roots: list[Any], symbols: tuple[Any, ...]) -> Steps:
        places: dict[Any, int] = {symbol: i for i, symbol in enumerate(symbols)}
        steps: list[Any] = []
        stack = [(root, False) for root in reversed(roots)]
        while stack:
            node, ready = stack.pop()
            if node in places:
                continue
            if ready:
                places[node] = len(symbols) + len(steps)  # two symbols may be the same
                steps.append((_describe(node), [places[a] for a in _arguments(node)]))
            else:
                stack.append((node, True))
                stack.extend((argument, False) for argument in _arguments(node))
        return cls((len(symbols), steps, [places[root] for root in roots]))

    def run(self, m: Any, arguments: tuple[Any, ...]) -> list[Any]:
        """Return the roots' values in an mpmath context, or NaN where a step has no real value."""
        values = list(arguments)
        for function, places in self.steps:
            values.append(real(m, function, *[values[p] for p in places]))
        return [values[p] for p in self.results]


@cache
def program_of(function: Any, count: int) -> Steps:
    """Return the program of a function of ``count`` numbers.

    The function is one of sympy's, or one that a record has made.
    """
    symbols = symbols_of(count)
    return Steps.of([function(*symbols)], symbols)


@cache
def _rewritten(function: Any, other: Any) -> Steps:
    x = sympy.Dummy(real=True)
    return Steps.of([function(x).rewrite(other)], (x,))


def _arguments(node: Any) -> tuple[Any, ...]:
    return (
        () if node.is_Atom or isinstance(node, (sympy.Derivative, sympy.DiracDelta)) else node.args
    )


def _describe(node: Any) -> tuple[Any, ...]:
    """Describe a step by the name of its kind and by its own data.

    The data are numbers, except for functions that a record has made.
    """
    if node.is_Rational:
        return "rational", int(node.p), int(node.q)
    if node.is_Float:
        return "float", *map(int, node._mpf_)
    if isinstance(node, sympy.Derivative) and isinstance(
        node.expr, (sympy.floor, sympy.ceiling, sympy.sign)
    ):
        return ("zero",)
    kind = type(node)
    return (
        ("made", kind)
        if hasattr(kind, "by_mpmath")
        else (str(node) if node.is_Atom else kind.__name__,)
    )


def _function(kind: str, *own: Any) -> Callable[..., Any]:
    """Return the function of a step with this description."""
    if kind == "rational":
        return lambda m: m.mpf(own[0]) / own[1]
    if kind == "float":
        return lambda m: m.make_mpf(own)
    if kind in _FUNCTIONS:
        return _FUNCTIONS[kind]
    function = own[0] if own else getattr(sympy, kind, None)
    if not isinstance(function, type):
        raise Unsupported(kind)
    known = _by_mpmath(function)
    return lambda m, *arguments: (
        m.call(function, *arguments) if isinstance(m, OfSympy) else known(m, *arguments)
    )


def _by_mpmath(function: Any) -> Callable[..., Any]:
    """Return a callable for a function of sympy's, or of a record, in a context of mpmath's."""
    import mpmath

    if function is sympy.polygamma:
        return lambda m, order, x: find("polygamma").reference(m, x, n=int(order))
    if function is sympy.exp:
        return lambda m, x: m.exp(x)
    if hasattr(function, "by_mpmath"):
        return lambda m, *numbers: (
            m.nan if any(m.isnan(x) for x in numbers) else function.by_mpmath(m, *numbers)
        )
    name = _IN_MPMATH.get(function) or function.__name__.lower()
    if not function.__module__.startswith("sympy.") or not hasattr(mpmath.mp, name):
        raise Unsupported(function.__name__)
    return lambda m, *arguments: getattr(m, name)(*arguments)


def _power(m: Any, base: Any, exponent: Any) -> Any:
    if isinstance(m, OfSympy):
        return m.pow(base, exponent)
    if base == 0 and exponent < 0:
        return m.inf
    if isinstance(exponent, m.mpf) and isinstance(base, m.mpf):
        return find("pow").reference(m, base, exponent)
    if exponent == int(exponent) if m.isfinite(exponent) else False:
        return base ** int(exponent)
    return m.power(base, exponent)


def _named(own: str) -> Callable[[Any], Any]:
    """Return what gives a number that a context has under a name."""
    return lambda m: +getattr(m, own)


# The names of sympy's constants, each with its name in the contexts.
_NUMBERS = "pi pi,oo inf,-oo ninf,nan nan,zoo nan,EulerGamma euler,zero zero,DiracDelta zero"
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _named(own) for name, own in map(str.split, _NUMBERS.split(","))},
    "E": lambda m: m.exp(1),
    "Add": lambda m, *terms: m.fsum(terms),
    "Mul": lambda m, *factors: m.fprod(factors),
    "Pow": _power,
}


# -- Functions of sympy on arrays of floats ------------------------------------------------------


class _Arrays(OfSympy):
    """NumPy's functions in one precision.

    Raises Unsupported for those of which NumPy has no loop.
    """

    inf, ninf, nan, zero = np.inf, -np.inf, np.nan, 0.0  # adopt the precision of other operands

    def __init__(self, dtype: Any) -> None:
        self.mpf = dtype
        self.pi, self.euler = (
            dtype("3.14159265358979323846264338327950288"),
            dtype("0.577215664901532860606512090082402431"),
        )

    def exp(self, x: Any) -> Any:
        return np.exp(self.mpf(x) if isinstance(x, int) else x)

    def make_mpf(self, parts: Any) -> Any:
        return self.mpf(str(sympy.Float._new(parts, 100)))

    def own(self, function: Any, *arguments: Any) -> Any:
        loop = getattr(np, function.__name__.lower(), None)
        if not isinstance(loop, np.ufunc):
            raise Unsupported(function.__name__)
        return loop(*arguments)

    def pow(self, base: Any, exponent: Any) -> Any:
        if np.ndim(exponent):
            return np.power(base, exponent)
        if 2 * exponent == int(2 * exponent) and 0 < abs(exponent) <= 4:
            whole, half = divmod(abs(exponent), 1)
            product = self.fprod([base] * int(whole) + ([np.sqrt(base)] if half else []))
            return product if exponent > 0 else 1 / product
        return np.power(base, exponent)


_arrays = cache(_Arrays)


# -- How large the terms are that an expression is computed of: its rounding error is so many units
# in the last place of that.


def magnitude(expression: Any) -> Any:
    """Return an expression for the size of an expression's terms, rounding included.

    For a sum it is the size of all its terms together. A function's own is its value's, plus the
    effect of its arguments' rounding.
    """
    known: dict[Any, Any] = {}
    for node in sympy.postorder_traversal(expression):
        if node not in known:
            known[node] = _of(node, [known[a] for a in node.args])
    return known[expression]


def _of(node: Any, sizes: list[Any]) -> Any:
    if not node.args:
        return sympy.Abs(node)
    if node.is_Add:
        return sympy.Add(*sizes)
    if node.is_Mul:
        return sympy.Mul(*sizes)
    total = sympy.Abs(node)
    for i, (argument, size) in enumerate(zip(node.args, sizes, strict=True)):
        if argument.is_number:
            continue
        x = sympy.Dummy(real=True)
        slope = node.func(*[x if j == i else other for j, other in enumerate(node.args)]).diff(x)
        if not slope.has(sympy.Derivative, sympy.Subs):
            total += sympy.Abs(slope.xreplace({x: argument})) * size
    return total
