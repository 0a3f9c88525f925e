"""Functions of several numbers in balls, by FLINT's algorithms, each of which bounds its own error.

They have the names of mpmath's and take what those take, in that order; their values at poles and infinities are mpmath's, too.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import flint
import numpy as np
from flint import acb, acb_mat, acb_series, arb, arb_mat, arb_series

from gradcli.reference.ball import as_arb, made
from gradcli.reference.contexts import Undecidable

# -- The regularized incomplete gamma and beta functions in balls, with their derivatives by
# parameters.
#
# A parameter becomes a Taylor series in a small step: the coefficients of a hypergeometric series
# of positive terms are the derivatives, and FLINT bounds what the terms left out add to each.


_STEEP = 0.01  # the distance from 1 below which a geometric series is long
_TERMS = (-1, 4_000, 16_000, 64_000)  # of a series: as many as FLINT takes by itself, or more


def gamma_by_parameter(n: int, a: arb, x: arb, upper: bool) -> arb:
    """The n-th derivative by a of Q(a, x) (``upper``) or P(a, x); both numbers are positive and finite."""
    if not n and _is_narrow(found := x.gamma_upper(a, 1) if upper else x.gamma_lower(a, 1)):
        return found
    step = acb_series([a, 1], n + 1)
    logarithm = step * acb(x).log() - x - (step + 1).lgamma()
    found = _coefficient(n, logarithm, [1], [step + 1], x) * arb(n).fac()
    return found if not upper else -found if n else 1 - found


def _is_narrow(found: arb) -> bool:
    return bool(found.is_finite() and found.rel_accuracy_bits() > flint.ctx.prec // 2)


def _coefficient(n: int, logarithm: acb_series, above: list[Any], below: list[Any], x: arb) -> arb:
    """The coefficient of order n of exp(logarithm) times a hypergeometric series. Raises Undecidable for a series that is too long."""
    found = arb(0, arb.pos_inf())
    for terms in _TERMS:
        more: arb = (logarithm.exp() * acb_series.hypgeom(above, below, acb_series([x]), terms))[n].real
        if found.is_finite() and not more.rad() < found.rad() / 2:
            break
        found = more
        if _is_narrow(found):
            break
    if not found.is_finite():
        raise Undecidable
    return found


def beta_by_parameters(orders: Sequence[int], a: arb, b: arb, x: arb) -> arb:
    """The derivative by a and b, of these orders, of the regularized incomplete beta function; a, b > 0 and 0 < x < 1.

    From the side below the mean, but that the series is not one near 1.
    """
    n, k = orders
    if 1 - x >= _STEEP and (x < _STEEP or x * (a + b) <= a):
        return _lower_beta(n, k, a, b, x)
    found = _lower_beta(k, n, b, a, 1 - x)
    return -found if n or k else 1 - found


def _lower_beta(n: int, k: int, a: arb, b: arb, x: arb) -> arb:
    """Each coefficient of order n + k along steps (1, slope) combines all derivatives of that order: as many slopes give each of them."""
    if not (n or k) and _is_narrow(found := x.beta_lower(a, b, 1)):
        return found
    count = n + k + 1
    powers = arb_mat(count, count, [slope**j for slope in range(count) for j in range(count)])
    along = arb_mat(count, 1, [_beta_along(n + k, a, b, x, slope) for slope in range(count)])
    return powers.solve(along)[k, 0] * arb(n).fac() * arb(k).fac()


def _beta_along(order: int, a: arb, b: arb, x: arb, slope: int) -> arb:
    """A coefficient of x**a (1 - x)**b/(a B(a, b)) * 2F1(a + b, 1; a + 1; x), in a step of a and slope times that of b."""
    first, second = acb_series([a, 1], order + 1), acb_series([b, slope], order + 1)
    both = first + second
    logarithm = first * acb(x).log() + second * acb(1 - x).log() + both.lgamma() - (first + 1).lgamma() - second.lgamma()
    return _coefficient(order, logarithm, [both, 1], [first + 1], x)


def _whole(x: arb) -> int:
    found = x.unique_fmpz()
    if found is None:
        raise ValueError("not a whole number")
    return int(found)


def _zeta(x: arb, q: arb | None = None, order: arb | None = None) -> arb:
    """Hurwitz's zeta function, or its derivative by x of some order: a coefficient of a Taylor series."""
    n = 0 if order is None else _whole(order)
    start = arb(1) if q is None else q
    if n:
        return arb_series([x, 1], prec=n + 1).zeta(start)[n] * arb(n).fac()
    return x.zeta() if start == 1 else x.zeta(start)


def _psi(order: arb, x: arb) -> arb:
    """The derivative of digamma of some order."""
    n = _whole(order)
    return acb(x).polygamma(n).real if n else x.digamma()


def _beta(x: arb, y: arb) -> arb:
    """gamma(x)*gamma(y)/gamma(x + y)."""
    return (x.lgamma() + y.lgamma() - (x + y).lgamma()).exp() if x > 0 and y > 0 else x.gamma() * y.gamma() * (x + y).rgamma()


def _binomial(n: arb, k: arb) -> arb:
    if n > -1 and k > -1 and n - k > -1:
        return ((n + 1).lgamma() - (k + 1).lgamma() - (n - k + 1).lgamma()).exp()
    return (n + 1).gamma() * (k + 1).rgamma() * (n - k + 1).rgamma()


def _sine_quotient(x: arb, order: arb) -> arb:
    """The n-th derivative of sin(x)/x: the integral of t**n*cos(x*t + n*pi/2) for t from 0 to 1.

    So its size is at most 1/(n + 1), and its slope 1/(n + 2), which encloses it around 0, too.
    """
    n = _whole(order)
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


_FIRST = arb(0)  # the branch of what is real from -1/e on
FUNCTIONS: dict[str, Callable[..., arb]] = {
    "sine_quotient": _sine_quotient,
    "besselj": lambda order, x: x.bessel_j(order),
    "bessely": lambda order, x: x.bessel_y(order),
    "besseli": lambda order, x: x.bessel_i(order),
    "besselk": lambda order, x: x.bessel_k(order),
    "lambertw": lambda x, branch=_FIRST: x.lambertw(_whole(branch)),
    "expint": lambda order, x: x.expint(order),
    "zeta": _zeta,
    "psi": _psi,
    "beta": _beta,
    "binomial": _binomial,
    "rf": lambda x, n: x.rising(n),
    "hyp1f1": lambda a, b, x: x.hypgeom_1f1(a, b),
    "hyp2f1": lambda a, b, c, x: x.hypgeom_2f1(a, b, c),
    "atan2": arb.atan2,
}


def by_parameters(name: str, orders: Sequence[int], *given: arb) -> arb:
    """The derivative by its parameters, of these orders, of the incomplete function of that name."""
    if name == "betainc":
        return beta_by_parameters(orders, *given)
    a, x = given
    return gamma_by_parameter(orders[0], a, x, upper=name == "gammaincc")


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
