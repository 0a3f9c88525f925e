"""References of operations on multi-precision scalars and on anything else that has arithmetic.

An `Algebra` is what a record's ``reference`` receives as m when the operation is structural:
functions of scalars, whatever the scalars are. `Numbers` is plain multi-precision arithmetic in
which every operation has a value, if only NaN.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partialmethod
from typing import Any

import numpy as np

from gradcli.errors import GradcliError
from gradcli.ops.operands import Opened
from gradcli.ops.registry import find
from gradcli.ops.spec import Op
from gradcli.reference.deadline import Undecided, in_time, still_in_time


class Unsupported(Exception):
    """A source of truth does not cover this; another has to decide."""


# What a source of truth raises where it has no value.
NO_VALUE = (GradcliError, Unsupported, ValueError, ArithmeticError)
# Binary exponents beyond which a number counts as infinite (or as zero): far outside the floats'
# range, and cheap to compute with.
_LARGEST = 1 << 18
# Power of ten below which what may be zero counts as zero: floats end earlier.
NOTHING = -400
_HUGE = 1e20  # entries beyond make iterations long
_GUARD = 15  # digits that rounding may cost an iteration

Scalar = Any  # a multi-precision number, a boolean, or something with arithmetic of its own


class Algebra:
    """Scalars as references of structural operations need them, and the program's precision.

    overflows   whether a reference keeps what it computes small: not where scalars are functions,
                for which any formula will do
    splits      whether numbers differ that the program's precision does not tell apart: near a
                point, for limits
    scalar      applies an elementwise operation, with its static parameters, to scalars
    """

    scalar: Callable[..., Scalar]
    overflows = True
    splits = False

    def __init__(self, m: Any, precision: str = "float64") -> None:
        self.m, self.precision = m, precision
        self.zero, self.one, self.inf, self.nan = m.zero, m.one, m.inf, m.nan

    def plain(self, x: Scalar) -> Any:
        """Return the value of a scalar without its history."""
        return x

    @staticmethod
    def map(function: Callable[[Scalar], Scalar], array: Any) -> np.ndarray:
        array = np.asarray(array, dtype=object)
        if not array.ndim:
            return np.array(function(array[()]), dtype=object)
        out = np.empty(array.size, dtype=object)
        out[:] = [function(x) for x in in_time(array.ravel())]
        return out.reshape(array.shape)

    def function(self, name: str, *arguments: Scalar, **static: Any) -> Scalar:
        """Any elementwise operation, by its name."""
        op = find(name)
        return self.scalar(op, {**op.static, **static}, *arguments)

    exp, log = partialmethod(function, "exp"), partialmethod(function, "log")
    log1p, sqrt = partialmethod(function, "log1p"), partialmethod(function, "sqrt")
    magnitude = partialmethod(function, "abs")

    def power(self, x: Scalar, y: Scalar) -> Scalar:
        return self.function("pow", x, self.m.mpf(y) if isinstance(y, (int, float)) else y)

    def floor(self, x: Scalar) -> Any:
        return self.m.floor(self.plain(x))

    def sign(self, x: Scalar) -> Any:
        return self.m.sign(self.plain(x))

    def extreme(self, which: str, row: list[Scalar]) -> Scalar:
        """Return the largest ("max") or smallest of some scalars, or NaN if one of them is NaN."""
        for x in row:
            if (value := self.plain(x)) != value:
                return x
        return (max if which == "max" else min)(row, key=self.plain)

    def tied(self, name: str, row: Sequence[Scalar]) -> None:
        """Note that the operation of this name has chosen among equal scalars.

        It is a kink, which a tape notes.
        """

    def of_matrices(self, name: str, *arrays: np.ndarray) -> tuple[np.ndarray, ...] | None:
        """Apply a function of whole matrices, or return None if the context does not have it.

        "product", "solution" (of equations), "determinant", "exponential", "eigensystem" (of a
        symmetric matrix: values and vectors)
        """
        return None

    def note_approximation(self, name: str) -> None:
        """Note that the result of an iteration is not an enclosure.

        The iteration has not ended, but stops where nothing changes any more.
        """
        getattr(self.m, "uncertified", set[str]()).add(name)

    def elementwise(self, op: Op, static: Mapping[str, Any], arrays: Sequence[Any]) -> np.ndarray:
        """Apply an elementwise operation to arrays of scalars, with broadcasting."""
        if all(
            a is None or (isinstance(a, np.ndarray) and not a.ndim) for a in arrays
        ):  # single numbers, of which long programs consist
            return np.array(
                self.scalar(op, static, *[None if a is None else a[()] for a in arrays]),
                dtype=object,
            )
        shape = np.broadcast_shapes(*[np.shape(a) for a in arrays if a is not None])
        rows = [
            itertools.repeat(None)
            if a is None
            else np.broadcast_to(np.asarray(a, dtype=object), shape).ravel()
            for a in arrays
        ]
        out = np.empty(math.prod(shape), dtype=object)
        out[:] = [self.scalar(op, static, *row) for row in in_time(zip(*rows, strict=False))]
        return out.reshape(shape)

    def apply(self, op: Op, static: Mapping[str, Any], arrays: Sequence[Any]) -> Any:
        """Any operation on arrays of scalars."""
        still_in_time()
        if op.elementwise:
            return self.elementwise(op, static, arrays)
        try:
            result = op.reference(self, *arrays, **static)
        except (ArithmeticError, ValueError, LookupError, AttributeError, TypeError) as error:
            said = f": {error}" if isinstance(error, GradcliError) else ""
            raise Unsupported(f"{op.name} of these operands{said}") from None
        if isinstance(result, tuple):
            return tuple(np.asarray(part, dtype=object) for part in result)
        return np.asarray(result, dtype=object)

    def constant(self, known: Any) -> Any:
        """Return what stands for pi and its like in the definition of a function."""
        return np.asarray(known.reference(self.m), dtype=object)

    def open_body(
        self, body: Callable[..., Any], operands: Sequence[Any], static: Mapping[str, Any]
    ) -> Any:
        """Return what the definition of a function makes of arrays of scalars."""
        found = body(*[None if x is None else Opened(self, x) for x in operands], **static)
        return tuple(part.array for part in found) if isinstance(found, tuple) else found.array


def real(m: Any, function: Callable[..., Any], *arguments: Any, **static: Any) -> Any:
    """Return a function's real value.

    It is NaN where the value is complex or has a pole, and infinity for a division by zero.
    """
    try:
        value = function(m, *arguments, **static)
    except ZeroDivisionError:
        numerator = arguments[0] if len(arguments) > 1 else 1
        return m.nan if numerator == 0 or numerator != numerator else m.inf * m.sign(numerator)
    except (ValueError, OverflowError, ArithmeticError):
        return m.nan
    except TypeError:
        if all(m.isfinite(a) for a in arguments if isinstance(a, m.mpf)):
            raise
        return m.nan  # some mpmath functions do not accept infinities
    except getattr(m, "NoConvergence", ()):
        raise Unsupported(
            f"its series does not converge at {', '.join(m.nstr(a, 6) for a in arguments)}"
        ) from None
    return settle(m, value)


def settle(m: Any, value: Any) -> Any:
    """Return a result as a real number of moderate size.

    It is NaN for complex numbers, and zero or infinity far outside the floats.
    """
    if isinstance(value, m.mpc):
        value = value.real if value.imag == 0 else m.nan
    if hasattr(value, "_mpf_") and value and m.isfinite(value) and abs(m.mag(value)) > _LARGEST:
        return m.zero if m.mag(value) < 0 else m.inf * m.sign(value)
    return value


def number(m: Any, op: Op, static: Mapping[str, Any], *arguments: Any) -> Any:
    """Apply an elementwise operation to plain numbers, by its reference."""
    # Not all of mpmath's functions let a NaN through. Operations that choose among operands, or may
    # ignore one, are given the NaN.
    if op.result not in ("bool", "same") and op.algebra != "chain":
        for x in arguments:
            if x is not None and x != x:
                return m.nan
    value = real(m, op.reference, *arguments, **static)
    if value != value and len(arguments) == 1 and hasattr(m, "workdps"):
        with m.workdps(m.dps - 5):  # by which rounding may have left the domain
            near = +arguments[0]
        return real(m, op.reference, near, **static)
    return value


def surely_zero(x: Any) -> bool:
    """Return whether a number is surely zero.

    For an enclosure, that is whether it holds nothing else; for a scalar that varies, whether it is
    zero everywhere.
    """
    known = getattr(x, "is_zero", None)
    return bool(x == 0 if known is None else known)


class Numbers(Algebra):
    """Plain multi-precision scalars."""

    def scalar(self, op: Op, static: Mapping[str, Any], *arguments: Any) -> Any:
        return number(self.m, op, static, *arguments)

    def of_matrices(self, name: str, *arrays: np.ndarray) -> tuple[np.ndarray, ...] | None:
        return matrices_of(self.m, name, arrays)


def matrices_of(m: Any, name: str, arrays: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...] | None:
    """Apply a function of whole matrices of plain scalars.

    The result is an enclosure, or what mpmath computes of a matrix by iterations.
    """
    enclosed = getattr(m, "matrices", None)
    if enclosed is not None:
        found: tuple[np.ndarray, ...] | None = enclosed(name, arrays)
        return found
    function = {"eigensystem": "eigsy", "exponential": "expm"}.get(name)
    if function is None:
        return None
    if function == "expm" and not all(abs(x) < _HUGE for x in arrays[0].flat):
        raise Undecided(f"a matrix exponential of entries that are not all below {_HUGE:g}")
    with m.extradps(_GUARD):
        results = getattr(m, function)(m.matrix(arrays[0].tolist()))
    if name == "exponential":
        return (np.array(results.tolist(), dtype=object),)
    return np.array(list(results[0]), dtype=object), np.array(results[1].tolist(), dtype=object)


class Step:
    """A function of scalars, some of which have a history, under its name."""

    name: str

    def read(self, place: int, arguments: Sequence[Any]) -> Sequence[Any]:
        """Return the arguments that the derivative by one of them depends on."""
        return arguments

    def partial(self, tape: Any, place: int, arguments: Sequence[Any], traced: bool) -> Any:
        """Return the derivative by one argument, of plain numbers or of traced scalars."""
        raise NotImplementedError(f"{self.name} is differentiated as a whole")
