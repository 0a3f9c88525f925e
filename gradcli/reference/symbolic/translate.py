"""Operations as sympy functions, their derivatives by sympy, and sympy expressions as multi-precision programs.

The only package that imports sympy. Expressions are built from records and from the program's own graph, never
from text, with symbols of our own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np
import sympy

from gradcli.ops.extended import LONG_DOUBLE
from gradcli.ops.registry import find
from gradcli.ops.spec import Op
from gradcli.reference.algebra import Unsupported, real

OTHERS = {
    sympy.sec: sympy.cos, sympy.csc: sympy.sin, sympy.cot: sympy.tan,
    sympy.sech: sympy.cosh, sympy.csch: sympy.sinh, sympy.coth: sympy.tanh,
    sympy.asec: sympy.acos, sympy.acsc: sympy.asin, sympy.acot: sympy.atan,
    sympy.asech: sympy.acosh, sympy.acsch: sympy.asinh, sympy.acoth: sympy.atanh,
}  # fmt: skip


class OfSympy(ABC):
    """A context of our own, which has sympy's functions and powers of what it computes with, and mpmath's names for the rest."""

    NoConvergence: tuple[()] = ()
    mpc: tuple[()] = ()
    others: Mapping[Any, Any] = OTHERS  # the functions by which sympy writes some

    def call(self, function: Any, *arguments: Any) -> Any:
        """A function of sympy's, or one that a record has made."""
        other = self.others.get(function)
        return self.own(function, *arguments) if other is None else _rewritten(function, other).run(self, arguments)[0]

    @abstractmethod
    def own(self, function: Any, *arguments: Any) -> Any:
        """A function that is not written by others."""

    @abstractmethod
    def pow(self, base: Any, exponent: Any) -> Any: ...

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
        self._on_arrays: Steps | None = None

    @cached_property
    def _program(self) -> Steps:
        return Steps([self.expression], self.symbols)

    def partial(self, place: int) -> Smooth:
        if place not in self._partials:
            self._partials[place] = Smooth(sympy.diff(self.expression, self.symbols[place]), self.symbols)
        return self._partials[place]

    def on_arrays(self, of: Smooth, out: Any, arrays: Sequence[Any]) -> list[Any]:
        """This slope of a function, whose value is ``out``, and the size of the terms that it is computed of, in long double."""
        if self._on_arrays is None:
            self._on_arrays = Steps([self.expression, magnitude(self.expression)], (*self.symbols, of.expression))
        values, m = [*arrays, out], _LONG_ARRAYS
        for function, places in self._on_arrays.steps:
            values.append(function(m, *[values[p] for p in places]))
        shape = np.broadcast_shapes(*(np.shape(array) for array in arrays))
        return [np.broadcast_to(values[p], shape) for p in self._on_arrays.results]

    def value(self, m: Any, arguments: tuple[Any, ...]) -> Any:
        return self._program.run(m, arguments)[0]


def smooth_function(op: Op, count: int, static: Mapping[str, Any]) -> Smooth:
    """An elementwise operation as a sympy function of ``count`` real variables."""
    return _smooth_function(op, count, tuple(sorted(static.items())))


@cache
def _smooth_function(op: Op, count: int, static: tuple[tuple[str, Any], ...]) -> Smooth:
    symbols = tuple(sympy.Dummy(f"v{i}", real=True) for i in range(count))
    return Smooth((op.symbolic or op.reference)(sympy, *symbols, **dict(static)), symbols)


_IN_MPMATH = {sympy.ceiling: "ceil", sympy.Abs: "fabs"}  # of functions that are not sympy's name in small letters there


def _in_mpmath(function: Any) -> str | None:
    """Return what mpmath calls a function of sympy, if it has it."""
    import mpmath

    name = _IN_MPMATH.get(function) or function.__name__.lower()
    return name if function.__module__.startswith("sympy.") and callable(getattr(mpmath.mp, name, None)) else None


class Steps:
    """Sympy expressions as a straight line of multi-precision steps, shared parts computed once."""

    def __init__(self, roots: list[Any], symbols: tuple[Any, ...]) -> None:
        self.steps: list[tuple[Callable[..., Any], tuple[int, ...]]] = []
        self.inputs = len(symbols)
        self._places: dict[Any, int] = {symbol: i for i, symbol in enumerate(symbols)}
        self.results = [self._compile(root) for root in roots]

    def _compile(self, root: Any) -> int:
        stack = [(root, False)]
        while stack:
            node, ready = stack.pop()
            if node in self._places:
                continue
            if ready:
                self._places[node] = self.inputs + len(self.steps)
                self.steps.append((_step(node), tuple(self._places[a] for a in _arguments(node))))
            else:
                stack.append((node, True))
                stack.extend((argument, False) for argument in _arguments(node))
        return self._places[root]

    def run(self, m: Any, arguments: tuple[Any, ...]) -> list[Any]:
        """The values of the roots in an mpmath context; NaN where a step has no real value."""
        values = list(arguments)
        for function, places in self.steps:
            values.append(real(m, function, *[values[p] for p in places]))
        return [values[p] for p in self.results]


@cache
def program_of(function: Any, count: int) -> Steps:
    """A function of sympy's, or one that a record has made, of so many numbers."""
    symbols = tuple(sympy.Dummy(f"v{i}", real=True) for i in range(count))
    return Steps([function(*symbols)], symbols)


@cache
def _rewritten(function: Any, other: Any) -> Steps:
    x = sympy.Dummy(real=True)
    return Steps([function(x).rewrite(other)], (x,))


def _arguments(node: Any) -> tuple[Any, ...]:
    return () if node.is_Atom or isinstance(node, (sympy.Derivative, sympy.DiracDelta)) else node.args


def _step(node: Any) -> Callable[..., Any]:
    if node.is_Rational:
        p, q = int(node.p), int(node.q)
        return lambda m: m.mpf(p) / q
    if node.is_Float:
        parts = node._mpf_
        return lambda m: m.make_mpf(parts)
    constant = _CONSTANTS.get(node)
    if constant is not None:
        return constant
    if node.is_Add:
        return lambda m, *terms: m.fsum(terms)
    if node.is_Mul:
        return lambda m, *factors: m.fprod(factors)
    if node.is_Pow:
        return _power
    if isinstance(node, sympy.Derivative) and isinstance(node.expr, (sympy.floor, sympy.ceiling, sympy.sign)):
        return lambda m: m.zero
    if isinstance(node, sympy.DiracDelta):
        return lambda m: m.zero
    known = _by_mpmath(node)
    return lambda m, *arguments: m.call(type(node), *arguments) if isinstance(m, OfSympy) else known(m, *arguments)


def _by_mpmath(node: Any) -> Callable[..., Any]:
    """Return what computes a function in a context of mpmath's."""
    if isinstance(node, sympy.polygamma):
        return lambda m, order, x: find("polygamma").reference(m, x, n=int(order))
    if isinstance(node, sympy.exp):
        return lambda m, x: m.exp(x)
    by_mpmath: Callable[..., Any] | None = getattr(type(node), "by_mpmath", None)  # of a function that a record has made
    if by_mpmath is not None:
        known = by_mpmath
        return lambda m, *numbers: m.nan if any(m.isnan(x) for x in numbers) else known(m, *numbers)
    name = _in_mpmath(type(node))
    if name is None:
        raise Unsupported(type(node).__name__)
    return lambda m, *arguments: getattr(m, name)(*arguments)


_CONSTANTS: dict[Any, Callable[[Any], Any]] = {
    sympy.pi: lambda m: +m.pi,
    sympy.E: lambda m: m.exp(1),
    sympy.oo: lambda m: m.inf,
    -sympy.oo: lambda m: m.ninf,
    sympy.nan: lambda m: m.nan,
    sympy.zoo: lambda m: m.nan,
    sympy.EulerGamma: lambda m: +m.euler,
}


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


# -- Functions of sympy on arrays of long doubles --------------------------------------------------


class _LongArrays(OfSympy):
    """NumPy's functions of long doubles. Raises Unsupported for those of which NumPy has no loop."""

    mpf = LONG_DOUBLE
    inf, ninf, nan, zero = (LONG_DOUBLE(x) for x in (np.inf, -np.inf, np.nan, 0))
    pi, euler = LONG_DOUBLE("3.14159265358979323846264338327950288"), LONG_DOUBLE("0.577215664901532860606512090082402431")

    def exp(self, x: Any) -> Any:
        return np.exp(LONG_DOUBLE(x) if isinstance(x, int) else x)

    def make_mpf(self, parts: Any) -> Any:
        return LONG_DOUBLE(str(sympy.Float._new(parts, 100)))

    def own(self, function: Any, *arguments: Any) -> Any:
        loop = getattr(np, function.__name__.lower(), None)
        if not isinstance(loop, np.ufunc):
            raise Unsupported(function.__name__)
        return loop(*arguments)

    def pow(self, base: Any, exponent: Any) -> Any:
        if np.ndim(exponent):
            return np.power(base, exponent)
        if abs(exponent) == 0.5:
            return np.sqrt(base) if exponent > 0 else 1 / np.sqrt(base)
        if exponent == LONG_DOUBLE(1) / 3:
            return np.where(base < 0, np.nan, np.cbrt(base))
        if exponent == int(exponent) and 0 < abs(exponent) <= 4:
            product = self.fprod([base] * abs(int(exponent)))
            return product if exponent > 0 else 1 / product
        return np.power(base, exponent)


_LONG_ARRAYS = _LongArrays()


# -- How large the terms are that an expression is computed of: its rounding error is so many units
# in the last place of that.


def magnitude(expression: Any) -> Any:
    """An expression for the size of an expression's terms, rounding included: of a sum, that of all its terms together.

    A function's own is its value's, and what the rounding of its arguments makes of it.
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
        try:
            slope = node if node.is_Pow else node.fdiff(i + 1)
        except (sympy.function.ArgumentIndexError, AttributeError, TypeError, ValueError):
            continue
        total += sympy.Abs(_substituted(node, argument, slope)) * size
    return total


def _substituted(node: Any, argument: Any, slope: Any) -> Any:
    if not node.is_Pow:
        return slope
    base, exponent = node.args
    return exponent * base ** (exponent - 1) if argument == base else node * sympy.log(base)
