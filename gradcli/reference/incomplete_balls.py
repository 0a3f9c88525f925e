"""The regularized incomplete gamma and beta functions in balls, with their derivatives by parameters.

A parameter becomes a Taylor series in a small step, in which a hypergeometric series of positive terms is summed: the coefficients are the
derivatives, and Cauchy's estimate on a circle of steps bounds what the terms left out add to each. Where that sum is long, the integral by
which the function is defined is computed instead, whose integrand is analytic: FLINT's quadrature bounds its own error (F. Johansson,
"Numerical integration in arbitrary-precision ball arithmetic", ICMS 2018), and the tail is bounded here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import flint
from flint import acb, arb, arb_mat, arb_series

_FAR = 2_000  # arguments and parameters from which on integrals are computed
_STEEP = 0.01  # the distance from 1 below which a geometric series is long
_MOST = 100_000  # terms of a series: what is left then is still bounded
_CIRCLE = arb(0.5)  # the radius of the steps on which terms are bounded
_INF = arb(float("inf"))


def gamma_by_parameter(n: int, a: arb, x: arb, upper: bool) -> arb:
    """The n-th derivative by a of Q(a, x) (``upper``) or P(a, x); both numbers are positive and finite."""
    if n == 0 and not x > _FAR:
        return x.gamma_upper(a, 1) if upper else x.gamma_lower(a, 1)
    if x > _FAR and not a > x + x / 5:
        found, complement = (_upper_integral(n, a, x) if n else x.gamma_upper(a, 1)), not upper
    else:
        found, complement = _lower_gamma(n, a, x), upper
    return found if not complement else -found if n else 1 - found


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
                if rest < arb(2) ** -(flint.ctx.prec + 8) or k + 8 >= _MOST:
                    break
        errors = [arb(0, (rest / _CIRCLE**i).abs_upper()) for i in range(n + 1)]
        return total + series(*errors)


def _lower_gamma(n: int, a: arb, x: arb) -> arb:
    """x**a e**-x/gamma(a + 1) * (1 + x/(a + 1) + x**2/((a + 1)(a + 2)) + ...)."""
    with _order(n) as series:
        step = series(a, 1)
        total = _summed(n, lambda k: x / (step + (k + 1)), lambda k: x / (a + (k + 1) - _CIRCLE), arb(0))
        front = (step * x.log() - x - (step + 1).lgamma()).exp()
        return (front * total)[n] * arb(n).fac()


def _integral(integrand: Callable[[acb, bool], acb], tail: Callable[[arb], arb], start: arb) -> arb:
    """From 0 to infinity of what is about 1 where it is largest: by quadrature up to where the tail is small, of which there is a bound."""
    bits = flint.ctx.prec
    goal = arb(2) ** -bits
    end = start.mid()
    while not tail(end) < goal and end < start * 2**40:
        end = end * 2
    found = acb.integral(integrand, 0, end, rel_tol=goal, abs_tol=goal, deg_limit=4 * bits, eval_limit=100_000).real
    return found + arb(0, tail(end).abs_upper())


def _upper_integral(n: int, a: arb, x: arb) -> arb:
    """By the integrals of log(t)**j t**(a - 1) e**-t from x on, for each j up to n, over gamma(a) as a series in a."""
    peak = (a - 1 - x).mid() if a - 1 > x else arb(0)
    shift = (a - 1) * (1 + peak / x).log() - peak
    with _order(n) as series:
        moments = series(*[_upper_moment(j, a, x, shift, peak) / arb(j).fac() for j in range(n + 1)])
        front = ((a - 1) * x.log() - x + shift - series(a, 1).lgamma()).exp()
        return (moments * front)[n] * arb(n).fac()


def _upper_moment(j: int, a: arb, x: arb, shift: arb, peak: arb) -> arb:
    """The integral of log(x + u)**j exp((a - 1) log(1 + u/x) - u - shift).

    For a > 1 the logarithm of that is concave, as x > 1: from where it falls, it is below an exponential. For a <= 1 the same holds
    without the second factor, which is below 1.
    """
    excess = a - 1 if a > 1 else arb(0)

    def integrand(u: acb, analytic: bool) -> acb:
        size = ((a - 1) * (1 + u / x).log(analytic=analytic) - u - shift).exp()
        return size * (x + u).log(analytic=analytic) ** j if j else size

    def tail(u: arb) -> arb:
        logarithm = (x + u).log()
        rate = 1 - excess / (x + u) - j / ((x + u) * logarithm)
        value = (excess * (1 + u / x).log() - u - shift).exp() * logarithm**j
        return value / rate if rate > 0 else _INF

    return _integral(integrand, tail, peak + flint.ctx.prec + (flint.ctx.prec * abs(a)).sqrt())


def beta_by_parameters(orders: Sequence[int], a: arb, b: arb, x: arb) -> arb:
    """The derivative by a and b, of these orders, of the regularized incomplete beta function; a, b > 0 and 0 < x < 1."""
    n, k = orders
    if x * (a + b) <= a:
        return _lower_beta(n, k, a, b, x)
    found = _lower_beta(k, n, b, a, 1 - x)
    return -found if n or k else 1 - found


def _lower_beta(n: int, k: int, a: arb, b: arb, x: arb) -> arb:
    if not (a + b > _FAR or 1 - x < _STEEP):
        return _mixed(n, k, lambda slope: _beta_along(n + k, a, b, x, slope))
    if not (n or k) and (found := x.beta_lower(a, b, 1)).rel_accuracy_bits() > flint.ctx.prec // 2:
        return found
    return _beta_integral(n, k, a, b, x)


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


def _beta_integral(n: int, k: int, a: arb, b: arb, x: arb) -> arb:
    """By the integrals of log(t)**i log(1 - t)**j t**(a - 1) (1 - t)**(b - 1) from 0 to x, times derivatives of 1/B(a, b)."""
    shift = (b - 1) * (1 - x).log() if b > 1 else arb(0)
    scale = (a * x.log() + shift + (a + b).lgamma() - a.lgamma() - b.lgamma()).exp()
    total = arb(0)
    for i in range(n + 1):
        for j in range(k + 1):
            front = _mixed(n - i, k - j, lambda slope, order=n - i + k - j: _inverse_beta(order, a, b, slope))  # type: ignore[misc]
            total += arb(n).bin(i) * arb(k).bin(j) * front * _beta_moment(i, j, a, b, x, shift)
    return total * scale


def _inverse_beta(order: int, a: arb, b: arb, slope: int) -> arb:
    """A coefficient of 1/B(a, b) along a step, over 1/B(a, b)."""
    with _order(order) as series:
        first, second = series(a, 1), series(b, slope)
        logarithm = (first + second).lgamma() - first.lgamma() - second.lgamma()
        return (logarithm - logarithm[0]).exp()[order]


def _beta_moment(i: int, j: int, a: arb, b: arb, x: arb, shift: arb) -> arb:
    """With t = x e**-u, the integral of (log(x) - u)**i log(1 - t)**j exp(-a u + (b - 1) log(1 - t) - shift); x is below the mean.

    For b > 1 the exponent is concave. For b <= 1 the power of 1 - t falls. So does log(1 - t), in size.
    """
    logarithm = x.log()

    def integrand(u: acb, analytic: bool) -> acb:
        other = (1 - (-u).exp() * x).log(analytic=analytic)
        value = (-a * u + (b - 1) * other - shift).exp()
        return value * (logarithm - u) ** i * other**j

    def tail(u: arb) -> arb:
        inner = x * (-u).exp()
        other = (1 - inner).log()
        rate = a - (i / (u - logarithm) if i else 0) - ((b - 1) * inner / (1 - inner) if b > 1 else 0)
        value = (u - logarithm) ** i * abs(other) ** j * (-a * u + (b - 1) * other - shift).exp()
        return value / rate if rate > 0 else _INF

    return _integral(integrand, tail, (flint.ctx.prec + 40) / a)
