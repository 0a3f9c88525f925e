"""Functions of several numbers in balls, by FLINT's algorithms, each of which bounds its own error.

They have the names of mpmath's and take what those take, in that order; their values at poles and infinities are mpmath's, too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import flint
import numpy as np
from flint import acb, acb_mat, arb, arb_mat, arb_series

from gradcli.reference.ball import INF, MINUS_INF, NAN, as_arb, made

# -- The regularized incomplete gamma and beta functions in balls, with their derivatives by
# parameters.
#
# A derivative is a mean over points on a small circle around the parameter, in the complex plane
# (Cauchy's formula). The points are few: what they miss are higher terms of the Taylor series,
# which Cauchy's estimate on a wider circle bounds.


_POINTS = 8
_WIDE = 2.0**-8  # the radius of the wider circle, at most
_SPARE = 40  # bits
_FAR = 2_000  # arguments from which on FLINT's lower gamma function takes for ever
_LARGEST = 5_000.0  # parameters by which derivatives are taken


def _gamma_upper(a: acb, x: arb) -> acb:
    return acb(x).gamma_upper(a, 1)


def _gamma_lower(a: acb, x: arb) -> acb:
    return 1 - _gamma_upper(a, x) if x > _FAR else acb(x).gamma_lower(a, 1)


def _beta_lower(a: acb, b: acb, x: arb) -> acb:
    return acb(x).beta_lower(a, b, 1)


_INCOMPLETE: dict[str, Callable[..., acb]] = {"gammaincc": _gamma_upper, "gammainc": _gamma_lower, "betainc": _beta_lower}


def by_parameters(name: str, orders: Sequence[int], *given: arb) -> arb:
    """The derivative by its parameters, of these orders, of the incomplete function of that name; parameters are positive.

    It is not finite where parameters are so large that FLINT loses all digits.
    """
    *point, x = given
    function, order = _INCOMPLETE[name], sum(orders)
    if not order:
        return function(*map(acb, point), x).real
    if name == "gammainc" and x > 1:
        return -by_parameters("gammaincc", orders, *given)
    sizes = list(map(float, point))
    if max(sizes) > _LARGEST:
        return arb(0, math.inf)
    wide = arb(min(_WIDE, *(size / 4 for size in sizes)))
    bits = flint.ctx.prec // _POINTS + _SPARE // _POINTS  # by which the narrow circle is narrower
    around = [acb(a + arb(0, wide), arb(0, wide)) if n else acb(a) for a, n in zip(point, orders, strict=True)]
    missed = 4 * abs(function(*around, x)) * arb(2) ** (-bits * _POINTS) / wide**order
    with flint.ctx.workprec(flint.ctx.prec + order * (bits - math.floor(math.log2(wide))) + _SPARE):
        narrow, total = wide * arb(2) ** -bits, acb(0)
        roots = [acb(0, 2 * arb.pi() * k / _POINTS).exp() for k in range(_POINTS)]
        circles = [range(_POINTS if n else 1) for n in orders]
        for turns in itertools.product(*circles):
            where = [acb(a) + narrow * roots[k] if n else acb(a) for a, n, k in zip(point, orders, turns, strict=True)]
            total += function(*where, x) * roots[-sum(n * k for n, k in zip(orders, turns, strict=True)) % _POINTS]
        mean = total.real / math.prod(map(len, circles)) / narrow**order
    return (mean + arb(0, missed.upper())) * math.prod(map(math.factorial, orders))


Enclosing = Callable[..., arb]

_HUGE = arb(2) ** 18


def _bessel(method: Callable[[arb, arb], arb], at_zero: arb | None = None, grows: bool = False) -> Enclosing:
    """A Bessel function of an order and a number: what it is at zero, if that is infinite, and whether it is at infinity."""

    def enclosed(order: arb, x: arb) -> arb:
        if at_zero is not None and x.is_zero():
            return at_zero
        found = method(x, order)
        return INF if grows and not found.is_finite() and x > _HUGE else found

    return enclosed


def _whole(x: arb) -> int:
    found = x.unique_fmpz()
    if found is None:
        raise ValueError("not a whole number")
    return int(found)


def _lambertw(x: arb, branch: arb | None = None) -> arb:
    """Real on two branches: from -1/e on, and between that and 0."""
    which = 0 if branch is None else _whole(branch)
    if x == INF and not which:
        return INF
    if which not in (0, -1) or not x.is_finite() or x < -(arb(-1).exp()) or (which and x > 0):
        return NAN
    return MINUS_INF if which and x.is_zero() else x.lambertw(which)


def _expint(order: arb, x: arb) -> arb:
    if x.is_zero():
        return 1 / (order - 1) if order > 1 else INF
    return NAN if x < 0 and not (order.is_integer() and order <= 0) else x.expint(order)


def _zeta(x: arb, q: arb | None = None, order: arb | None = None) -> arb:
    """Hurwitz's zeta function, or its derivative by x of some order: a coefficient of a Taylor series."""
    n = 0 if order is None else _whole(order)
    start = arb(1) if q is None else q
    if n:
        return arb_series([x, 1], prec=n + 1).zeta(start)[n] * arb(n).fac()
    if x == INF and start == 1:
        return arb(1)
    return NAN if x == 1 else x.zeta() if start == 1 else x.zeta(start)


def _psi(order: arb, x: arb) -> arb:
    """The derivative of digamma of some order."""
    n = _whole(order)
    if x <= 0 and x.is_integer():
        if n:
            raise ZeroDivisionError
        return NAN
    return acb(x).polygamma(n).real if n else x.digamma()


def _beta(x: arb, y: arb) -> arb:
    """gamma(x)*gamma(y)/gamma(x + y)."""
    if x > 0 and y > 0:
        return (x.lgamma() + y.lgamma() - (x + y).lgamma()).exp() if (x + y).is_finite() else arb(0)
    if x.is_zero() or y.is_zero():
        return INF
    return x.gamma() * y.gamma() * (x + y).rgamma()


def _binomial(n: arb, k: arb) -> arb:
    if n > -1 and k > -1 and n - k > -1:
        return ((n + 1).lgamma() - (k + 1).lgamma() - (n - k + 1).lgamma()).exp()
    return (n + 1).gamma() * (k + 1).rgamma() * (n - k + 1).rgamma()


def _hyp1f1(a: arb, b: arb, x: arb) -> arb:
    found = x.hypgeom_1f1(a, b)
    return INF if not found.is_finite() and x > _HUGE else found


def _hyp2f1(a: arb, b: arb, c: arb, x: arb) -> arb:
    """At 1 by Gauss's formula, or infinite."""
    if x != 1:
        return x.hypgeom_2f1(a, b, c)
    if c > a + b:
        return c.gamma() * (c - a - b).gamma() * (c - a).rgamma() * (c - b).rgamma()
    return INF


def _sine_quotient(x: arb, order: arb) -> arb:
    """The n-th derivative of sin(x)/x: the integral of t**n*cos(x*t + n*pi/2) for t from 0 to 1.

    So its size is at most 1/(n + 1), and its slope 1/(n + 2), which encloses it around 0, too.
    """
    n = _whole(order)
    if not x.is_finite():
        return NAN if x.is_nan() else arb(0)
    u, radius = x.mid(), x.rad()
    if u.is_zero():
        value = (arb(n) / 2).cos_pi() / (n + 1)
    else:
        mantissa, exponent = u.man_exp()
        small = max(0, -(int(exponent) + int(mantissa).bit_length()))
        with flint.ctx.workprec(flint.ctx.prec + (n + 2) * small + 10 * n + 10):
            sine, cosine = u.sin_cos()
            value = sine / u
            for k in range(1, n + 1):
                value = ((cosine, -sine, -cosine, sine)[(k - 1) % 4] - k * value) / u
    return (value + arb(0, radius / (n + 2))).intersection(arb(0, arb(1) / (n + 1)))


FUNCTIONS: dict[str, Enclosing] = {
    "sine_quotient": _sine_quotient,
    "besselj": _bessel(arb.bessel_j),
    "bessely": _bessel(arb.bessel_y, MINUS_INF),
    "besseli": _bessel(arb.bessel_i, grows=True),
    "besselk": _bessel(arb.bessel_k, INF),
    "lambertw": _lambertw,
    "expint": _expint,
    "zeta": _zeta,
    "psi": _psi,
    "beta": _beta,
    "binomial": _binomial,
    "rf": lambda x, n: x.rising(n),
    "hyp1f1": _hyp1f1,
    "hyp2f1": _hyp2f1,
    "atan2": arb.atan2,
}


# -- Functions of whole matrices in balls: FLINT's, whose errors are bounded better than those of
# as many single steps.
#
# Each takes and gives arrays of scalars, and has no value (None) where it cannot be certain: at
# singular matrices, and where eigenvalues are not apart.


Array = np.ndarray
Found = tuple[Array, ...] | None


def _matrix(x: Array) -> arb_mat:
    return arb_mat(x.shape[0], x.shape[1], [as_arb(v) for v in x.ravel()])


def _scalars(values: list[arb], shape: tuple[int, ...]) -> Array:
    out = np.empty(len(values), dtype=object)
    out[:] = [made(v) for v in values]
    return out.reshape(shape)


def _array(x: arb_mat) -> Array:
    return _scalars(x.entries(), (x.nrows(), x.ncols()))


def _matmul(x: Array, y: Array) -> Found:
    return (_array(_matrix(x) * _matrix(y)),)


def _solve(x: Array, y: Array) -> Found:
    try:
        return (_array(_matrix(x).solve(_matrix(y))),)
    except ZeroDivisionError:
        return None


def _det(x: Array) -> Found:
    value = _matrix(x).det()
    return None if value.contains(0) else (_scalars([value], ()),)


def _exp(x: Array) -> Found:
    return (_array(_matrix(x).exp()),)


def _eigh(x: Array) -> Found:
    """The eigenvalues of a symmetric matrix in ascending order, and its eigenvectors of length 1, each of any sign.

    Eigenvalues that are apart are real and have one eigenvector but for a factor: with a 1 in its largest place it is real, too.
    """
    try:
        values, vectors = acb_mat(_matrix(x)).eig(right=True)
    except ValueError:
        return None
    order = sorted(range(len(values)), key=lambda i: float(values[i].real.mid()))
    found = [values[i].real for i in order]
    if not all(low < high for low, high in itertools.pairwise(found)):
        return None
    columns = []
    for i in order:
        column = [vectors[j, i] for j in range(len(order))]
        largest = max(column, key=lambda v: float(v.abs_lower()))
        if largest.contains(0):
            return None
        real = [(v / largest).real for v in column]
        length = sum((v * v for v in real), arb(0)).sqrt()
        columns.append(_scalars([v / length for v in real], (len(order),)))
    return _scalars(found, (len(order),)), np.stack(columns, axis=-1)


MATRIX_FUNCTIONS: dict[str, Callable[..., Found]] = {
    "product": _matmul,
    "solution": _solve,
    "determinant": _det,
    "exponential": _exp,
    "eigensystem": _eigh,
}


def enclosed(name: str, arrays: tuple[Array, ...]) -> Found:
    """A function's values; None where there are none, or where an entry is not finite."""
    if any(not x.size or not all(as_arb(v).is_finite() for v in x.ravel()) for x in arrays):
        return None
    found = MATRIX_FUNCTIONS[name](*arrays)
    return None if found is None or not all(v.ball.is_finite() for x in found for v in x.ravel()) else found
