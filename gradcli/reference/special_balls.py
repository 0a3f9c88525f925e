"""Functions of several numbers in balls, by FLINT's algorithms, each of which bounds its own error.

They have the names of mpmath's and take what those take, in that order; their values at poles and infinities are mpmath's, too.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import flint
import numpy as np
from flint import acb, acb_mat, arb, arb_mat, arb_series

from gradcli.reference.ball import INF, MINUS_INF, NAN, as_arb, made
from gradcli.reference.contexts import Undecidable

# -- The regularized incomplete gamma and beta functions in balls, with their derivatives by
# parameters.
#
# A parameter becomes a Taylor series in a small step, in which a hypergeometric series of
# positive terms is summed: the coefficients are the derivatives, and Cauchy's estimate on a
# circle of steps bounds what the terms left out add to each.


_FAR = 2_000  # arguments from which on FLINT's function loses its digits
_STEEP = 0.01  # the distance from 1 below which a geometric series is long
_MOST = 100_000  # terms of a series
_NOTHING = arb(2) ** -1100  # below what floats have
_CIRCLE = arb(0.5)  # the radius of the steps on which terms are bounded


def gamma_by_parameter(n: int, a: arb, x: arb, upper: bool) -> arb:
    """The n-th derivative by a of Q(a, x) (``upper``) or P(a, x); both numbers are positive and finite."""
    far_above = x > _FAR and x > a + a / 4
    if n == 0 and (far_above or not x > _FAR):
        return x.gamma_upper(a, 1) if upper else 1 - x.gamma_upper(a, 1) if far_above else x.gamma_lower(a, 1)
    if far_above and (bound := _upper_bound(n, a, x)) < _NOTHING:
        return arb(0, bound)
    found = _lower_gamma(n, a, x)
    return found if not upper else -found if n else 1 - found


def _upper_bound(n: int, a: arb, x: arb) -> arb:
    """Return a bound on the n-th derivative of Q(a, x) by a, by Cauchy's estimate: the integral is below x**a e**-x for x > a."""
    around = acb(a + arb(0, _CIRCLE), arb(0, _CIRCLE))
    size = ((a + _CIRCLE) * x.log() - x).exp() * abs(around.rgamma()) * arb(n).fac() / _CIRCLE**n
    return size.abs_upper()


@contextmanager
def _order(n: int) -> Iterator[Callable[..., arb_series]]:
    """Series to this order, of their coefficients."""
    before, flint.ctx.cap = flint.ctx.cap, n + 1
    try:
        yield lambda *coefficients: arb_series(list(coefficients), prec=n + 1)
    finally:
        flint.ctx.cap = before


def _summed(n: int, ratio: Callable[[int], arb_series], bound: Callable[[int], arb], limit: arb) -> arb_series:
    """1 + ratio(0) + ratio(0) ratio(1) + ... to the order n.

    bound  what the ratio is below for all steps in the circle; from any k on, all of them are below the larger of bound(k) and limit
    """
    with _order(n) as series:
        term = total = series(1)
        size = arb(1)
        for k in range(_MOST):
            term, size = term * ratio(k), size * bound(k)
            total = total + term
            if not k % 8 and (most := bound(k + 1).max(limit)) < 1:
                rest = size * most / (1 - most)
                if rest < arb(2) ** -(flint.ctx.prec + 8):
                    break
        else:
            raise Undecidable
        errors = [arb(0, (rest / _CIRCLE**i).abs_upper()) for i in range(n + 1)]
        return total + series(*errors)


def _lower_gamma(n: int, a: arb, x: arb) -> arb:
    """x**a e**-x/gamma(a + 1) * (1 + x/(a + 1) + x**2/((a + 1)(a + 2)) + ...)."""
    with _order(n) as series:
        step = series(a, 1)
        total = _summed(n, lambda k: x / (step + (k + 1)), lambda k: x / (a + (k + 1) - _CIRCLE), arb(0))
        front = (step * x.log() - x - (step + 1).lgamma()).exp()
        return (front * total)[n] * arb(n).fac()


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
    if not (n or k) and (found := x.beta_lower(a, b, 1)).rel_accuracy_bits() > flint.ctx.prec // 2:
        return found
    return _mixed(n, k, lambda slope: _beta_along(n + k, a, b, x, slope))


def _mixed(n: int, k: int, along: Callable[[int], arb]) -> arb:
    """The derivative n times by one and k times by another number, of the coefficients of order n + k along steps (1, slope).

    Each is a combination of the derivatives of that order; as many slopes as there are derivatives give each of them.
    """
    count = n + k + 1
    powers = arb_mat(count, count, [slope**j for slope in range(count) for j in range(count)])
    return powers.solve(arb_mat(count, 1, [along(slope) for slope in range(count)]))[k, 0] * arb(n).fac() * arb(k).fac()


def _beta_along(order: int, a: arb, b: arb, x: arb, slope: int) -> arb:
    """A coefficient of x**a (1 - x)**b/(a B(a, b)) * 2F1(a + b, 1; a + 1; x), in a step of a and slope times that of b."""
    with _order(order) as series:
        first, second = series(a, 1), series(b, slope)
        both = first + second
        most = a + b + (1 + slope) * _CIRCLE
        total = _summed(
            order, lambda k: x * (both + k) / (first + (k + 1)), lambda k: x * (most + k) / (a + (k + 1) - _CIRCLE), x,
        )  # fmt: skip
        logarithm = first * x.log() + second * (1 - x).log() + both.lgamma() - (first + 1).lgamma() - second.lgamma()
        return (logarithm.exp() * total)[order]


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
