"""Functions of several numbers in balls, by FLINT's algorithms, each of which bounds its own error.

They have the names of mpmath's and take what those take, in that order; their values at poles and infinities are mpmath's, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import flint
from flint import acb, arb, arb_series

from gradcli.reference.incomplete_balls import beta_by_parameters, gamma_by_parameter
from gradcli.reference.real_functions import INF, MINUS_INF, NAN

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
    if n and x < 0:
        return _psi_by_series(n, x)
    return acb(x).polygamma(n).real if n else x.digamma()


def _psi_by_series(n: int, x: arb) -> arb:
    """From the Taylor series of 1/gamma, which has no poles."""
    series = arb_series([x, 1], prec=n + 3).rgamma()
    return (-series.derivative() / series)[n] * arb(n).fac()


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
