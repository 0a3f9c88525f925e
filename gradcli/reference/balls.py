"""Ball arithmetic behind the names of mpmath's context, which evaluates references of scalars.

Functions of several numbers are FLINT's, each of which bounds its own error. They take the
arguments of mpmath's functions, in that order, and their values at poles and infinities are
mpmath's, too.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import flint
import numpy as np
from flint import acb, acb_mat, acb_series, arb, arb_mat

from gradcli.reference.ball import (
    REAL,
    Ball,
    as_arb,
    ball_of,
    check_finite,
    enclosure,
    of_mpmath,
    power,
    quotient,
    sharpen,
    whole,
)
from gradcli.reference.contexts import Undecidable


def _step(x: arb, n: int) -> acb_series:
    """Return the Taylor series x + t to the order n."""
    if n >= flint.ctx.cap:
        raise Undecidable
    return acb_series([x, 1], n + 1)


def _whole(x: arb) -> int:
    found = x.unique_fmpz()
    if found is None:
        raise ValueError("not a whole number")
    return int(found)


def _zeta(x: arb, q: arb | None = None, order: arb | None = None) -> arb:
    """Compute Hurwitz's zeta function, or its derivative by x of some order.

    The derivative is a coefficient of a Taylor series.
    """
    n = 0 if order is None else _whole(order)
    start = arb(1) if q is None else q
    if n:
        return _step(x, n).zeta(start)[n].real * arb(n).fac()
    return x.zeta() if start == 1 else x.zeta(start)


def _psi(order: arb, x: arb) -> arb:
    """Compute the derivative of digamma of some order."""
    n = _whole(order)
    return acb(x).polygamma(n).real if n else x.digamma()


def _sine_quotient(x: arb, order: arb) -> arb:
    """Compute the n-th derivative of sin(x)/x.

    It is the integral of t**n*cos(x*t + n*pi/2) for t from 0 to 1. Therefore its size is at most
    1/(n + 1), and its slope 1/(n + 2), which encloses it around 0, too.
    """
    n = _whole(order)
    u, radius = x.mid(), x.rad()
    step = _step(u, n)
    # Near 0, by a series whose terms hardly cancel.
    quotient = step.sin() / step if abs(u) > 1 else acb_series.hypgeom([], [1.5], -step * step / 4)
    value = quotient[n].real * arb(n).fac()
    return (value + arb(0, radius / (n + 2))).intersection(arb(0, arb(1) / (n + 1)))


def _faddeeva(x: arb, y: arb, order: arb, imaginary: arb) -> arb:
    """Compute the real or imaginary part of a derivative of exp(-z**2)*erfc(-i*z)."""
    if y < 0:
        return arb.nan()
    z, i = acb(x, y), acb(0, 1)
    found = [(-z * z).exp() * (-i * z).erfc()]
    for k in range(_whole(order)):
        constant = 0 if k else 2 * i / arb.pi().sqrt()
        found.append(constant - 2 * z * found[k] - 2 * k * found[k - 1])
    return found[-1].imag if _whole(imaginary) else found[-1].real


def _of_the_last(method: str) -> Callable[..., arb]:
    """Turn a method of the last number into a function.

    It has a double's digits more than the widest argument: FLINT integrates some functions of wide
    balls, and to more digits than these have it takes a second, and is worse.
    """

    def compute(*given: arb) -> arb:
        known = min((1 + abs(x)).rel_accuracy_bits() for x in given)
        with flint.ctx.workprec(min(flint.ctx.prec, max(known, 0) + 53)):
            found: arb = getattr(given[-1], method)(*given[:-1])
        return found

    return compute


_METHODS = """besselj bessel_j
bessely bessel_y
besseli bessel_i
besselk bessel_k
expint expint
polylog polylog
hyp1f1 hypgeom_1f1
hyp2f1 hypgeom_2f1"""
_GUARD = 10  # extra bits of every computation
_FIRST = arb(0)  # the branch that is real from -1/e on
FUNCTIONS: dict[str, Callable[..., arb]] = {
    **{name: _of_the_last(method) for name, method in map(str.split, _METHODS.split("\n"))},
    "sine_quotient": _sine_quotient,
    "lambertw": lambda x, branch=_FIRST: x.lambertw(_whole(branch)),
    "zeta": _zeta,
    "psi": _psi,
    "beta": lambda x, y: x.gamma() * y.gamma() * (x + y).rgamma(),
    "binomial": lambda n, k: (n + 1).gamma() * (k + 1).rgamma() * (n - k + 1).rgamma(),
    "rf": lambda x, n: x.rising(n),
    "airyai": lambda x, n: x.airy_ai(derivative=_whole(n)),
    "airybi": lambda x, n: x.airy_bi(derivative=_whole(n)),
    "atan2": arb.atan2,
    "faddeeva": _faddeeva,
}


def answer(m: Any, name: str, numbers: tuple[Any, ...]) -> Any:
    """Return a value that FLINT knows to all digits, for which mpmath may take seconds."""
    function = REAL[name].method if name in REAL else FUNCTIONS.get(name)
    if function is None:
        return None
    try:
        with flint.ctx.workprec(m.prec + _GUARD):
            found = sharpen(function, [of_mpmath(m.convert(x)._mpf_) for x in numbers])
    except (Undecidable, ArithmeticError, TypeError, ValueError):
        return None
    is_known = found.is_finite() and found.rel_accuracy_bits() >= m.prec
    return m.ldexp(*map(int, found.mid().man_exp())) if is_known else None


def incomplete(name: str, *given: arb) -> arb:
    """Compute the regularized incomplete function of that name."""
    if name == "betainc":
        a, b, x = given
        found = x.beta_lower(a, b, 1)
    else:
        a, x = given
        found = x.gamma_upper(a, 1) if name == "gammaincc" else x.gamma_lower(a, 1)
    if not found.is_finite():
        raise Undecidable
    return found


# -- Functions of whole matrices in balls: FLINT's, whose errors are bounded better than those of
# as many single steps.
#
# Each takes and gives arrays of scalars, and has no value (None) where it cannot be certain: at
# singular matrices, and where eigenvalues are not apart.


Array = np.ndarray


def _matrix(x: Array) -> arb_mat:
    return arb_mat(x.shape[0], x.shape[1], [as_arb(v) for v in x.ravel()])


def _array(values: Any) -> Array:
    """Convert a matrix, a list, or a number to an array of scalars."""
    if isinstance(values, arb_mat):
        return _array(values.entries()).reshape(values.nrows(), values.ncols())
    found = [*map(ball_of, values)] if isinstance(values, list) else ball_of(values)
    return np.array(found, dtype=object)


def _det(x: arb_mat) -> arb:
    """Compute a determinant, or raise ZeroDivisionError if it may be zero."""
    if (found := x.det()).contains(0):
        raise ZeroDivisionError
    return found


def _eigh(x: arb_mat) -> tuple[list[arb], arb_mat]:
    """Return eigenvalues of a symmetric matrix in ascending order, and its eigenvectors.

    Eigenvectors have length 1, and any sign. Eigenvalues that are apart are real and have one
    eigenvector up to a factor: with a 1 in its largest place it is real, too. Raises ValueError for
    others.
    """
    values, vectors = acb_mat(x).eig(right=True)
    order = sorted(range(len(values)), key=lambda i: float(values[i].real.mid()))
    found = [values[i].real for i in order]
    columns = []
    for i in order:
        column = [vectors[j, i] for j in order]
        largest = max(column, key=lambda v: float(v.abs_lower()))
        real = [(vectors[j, i] / largest).real for j in range(len(order))]
        length = sum((v * v for v in real), arb(0)).sqrt()
        columns.append([v / length for v in real])
    if not all(low < high for low, high in itertools.pairwise(found)):
        raise ValueError("eigenvalues that may be equal")
    return found, arb_mat(columns).transpose()


MATRIX_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "product": operator.mul, "solution": arb_mat.solve, "determinant": _det, "exponential": arb_mat.exp, "eigensystem": _eigh,
}  # fmt: skip


# -- The context.


_BITS = math.log2(10)


def _on_scalars(function: Any) -> Callable[..., Ball]:
    """Make a function of real numbers into one on scalars."""

    def on_scalars(*numbers: Any) -> Ball:
        given = [as_arb(x) for x in numbers]
        return ball_of(check_finite(function(*given), given))

    return on_scalars


_LOG = _on_scalars(REAL["log"])
_PLAIN: dict[str, Callable[..., arb]] = {
    "floor": lambda x: whole(x, arb.floor), "ceil": lambda x: whole(x, arb.ceil), "fabs": abs, "maximum": arb.max, "power": power,
}  # fmt: skip


class Balls:
    """A context of mpmath's names on balls.

    uncertified  the operations whose iterations have ended without a bound on what is left
    """

    mpf = Ball
    zero, one = Ball(0), Ball(1)
    inf, ninf, nan = Ball(float("inf")), Ball(float("-inf")), Ball(float("nan"))
    NoConvergence: tuple[()] = ()  # raised by mpmath; here it is `Undecidable`
    mpc = type("Complex", (), {})  # no number here is complex

    def __init__(self, digits: int = 50) -> None:
        self.uncertified: set[str] = set()
        self.dps = digits

    @property
    def dps(self) -> int:
        return self._digits

    @dps.setter
    def dps(self, digits: int) -> None:
        self._digits = digits
        self._bits = math.ceil(digits * _BITS) + _GUARD

    @property
    def prec(self) -> int:
        return self._bits

    @contextmanager
    def working(self, bits: int | None = None) -> Iterator[Balls]:
        """FLINT's precision, which is global, is this context's for a while."""
        before, flint.ctx.prec = flint.ctx.prec, bits or self._bits
        try:
            yield self
        finally:
            flint.ctx.prec = before

    def workprec(self, bits: int) -> Any:
        return self.working(int(bits))

    @property
    def pi(self) -> Ball:
        return ball_of(arb.pi())

    @property
    def euler(self) -> Ball:
        return ball_of(arb.const_euler())

    @staticmethod
    def isfinite(x: Any) -> bool:
        return bool(x.ball.is_finite()) if type(x) is Ball else math.isfinite(x)

    @staticmethod
    def isnan(x: Any) -> bool:
        return bool(x.ball.is_nan()) if type(x) is Ball else math.isnan(x)

    @staticmethod
    def isinf(x: Any) -> bool:
        return bool(abs(as_arb(x)) == arb.pos_inf())

    @staticmethod
    def isint(x: Any) -> bool:
        """Return whether it is a whole number; for one that is not known exactly, certainly."""
        ball = as_arb(x)
        if ball.is_exact():
            return bool(ball.is_integer())
        if ball.contains_integer():
            raise Undecidable
        return False

    def sign(self, x: Any) -> Ball:
        if x == 0:
            return self.zero
        return self.nan if x != x else self.one if x > 0 else -self.one

    @staticmethod
    def mag(x: Any) -> int:
        """Return an exponent of two whose power the number's size does not exceed."""
        upper = as_arb(x).abs_upper()
        if upper.is_zero():
            return -(1 << 60)
        mantissa, exponent = upper.man_exp()
        return int(exponent) + int(mantissa).bit_length()

    @staticmethod
    def fsum(terms: Iterable[Any]) -> Ball:
        return ball_of(sum((as_arb(x) for x in terms), arb(0)))

    @staticmethod
    def fprod(factors: Iterable[Any]) -> Ball:
        return ball_of(math.prod(map(as_arb, factors), start=arb(1)))

    @staticmethod
    def make_mpf(parts: tuple[int, Any, int, int]) -> Ball:
        return ball_of(of_mpmath(parts))

    def log(self, x: Any, base: Any = None) -> Ball:
        found = _LOG(x)
        return found if base is None else ball_of(quotient(found.ball, _LOG(base).ball))

    def by_parameters(self, name: str, orders: tuple[int, ...], *numbers: Any) -> Ball:
        """Compute an incomplete function; its derivatives by parameters have no balls."""
        if any(orders):
            raise NotImplementedError
        return _on_scalars(lambda *given: sharpen(partial(incomplete, name), given))(*numbers)

    @staticmethod
    def matrices(name: str, arrays: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Apply a function of whole matrices.

        Returns None where there is no value, or where an entry is not finite.
        """
        if any(not x.size or not all(as_arb(v).is_finite() for v in x.ravel()) for x in arrays):
            return None
        try:
            found = MATRIX_FUNCTIONS[name](*map(_matrix, arrays))
        except (ZeroDivisionError, ValueError):
            return None
        results = tuple(map(_array, found if isinstance(found, tuple) else (found,)))
        return results if all(v.ball.is_finite() for x in results for v in x.ravel()) else None

    @staticmethod
    def nstr(x: Any, digits: int = 15) -> str:
        """Write the midpoint as decimals."""
        return str(as_arb(x).mid().str(digits, radius=False))

    def __getattr__(self, name: str) -> Any:
        """Return a function that FLINT has."""
        function = REAL.get(name) or _PLAIN.get(name)
        if name in FUNCTIONS:
            function = partial(enclosure, name, FUNCTIONS[name])
        if function is None:
            raise AttributeError(name)
        setattr(self, name, _on_scalars(function))
        return getattr(self, name)
