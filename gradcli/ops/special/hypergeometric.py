"""Hypergeometric functions of given parameters, Spence's function, and spherical Bessel functions."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError
from gradcli.ops.elementwise.exponential import log
from gradcli.ops.registry import OfSciPy, Op, declare, elementwise, function, is_number
from gradcli.ops.special.gamma import in_sympy, next_order
from gradcli.ops.text import ATOM, SUM, TERM, Piece

_FAR = 1e18
_SIZES = (30, 4)  # largest half-integer parameters for which SciPy is accurate: 1F1, 2F1
_LARGEST = 100  # size of parameters above which sums do not end


def _factor(above: Any, below: Any, n: int) -> Any:
    """Return the n-th derivative divided by the function whose parameters are larger by n."""
    return math.prod(a + k for a in above for k in range(n)) / math.prod(
        below[0] + k for k in range(n)
    )


def _hypergeometric(x: Any, above: tuple[float, ...], below: tuple[float], n: int = 0) -> Any:
    """Return the n-th derivative.

    It is SciPy's function, or mpmath's, with parameters that are larger by n.
    """
    from scipy import special

    if n:
        factor = _factor(above, below, n)
        larger = tuple(a + n for a in above)
        return factor * _hypergeometric(x, larger, (below[0] + n,)) if factor else 0.0 * x
    # SciPy is accurate for small half-integers, and where it adds up positive terms.
    gauss = len(above) == 2
    parameters = (*above, *below)
    if all(0 < p <= _SIZES[gauss] and p % 0.5 == 0 for p in parameters):
        low, high = (-800.0, 1.0) if gauss else (-_FAR, 1000.0)
    else:
        low, high = 0.0, 0.9 if all(0 < p <= 4 for p in parameters) else -1.0
    inside = np.greater_equal(x, low) & np.less_equal(x, high)
    near = getattr(special, f"hyp{len(above)}f1")(*parameters, np.where(inside, x, 0.0))
    if inside.all():
        return near
    return np.where(inside, near, _by_mpmath(np.where(inside, np.nan, x), above, below))[()]


def _by_mpmath(x: Any, above: tuple[float, ...], below: tuple[float]) -> Any:
    """Compute the values entry by entry with mpmath.

    Where parameters are no small halves, SciPy may have no right digit, or never end.
    """
    from mpmath import hyper, libmp, workprec

    never = len(above) == 2 and all(a > 0 or a % 1 for a in above)  # no value beyond 1

    def at(x: float) -> float:
        if not math.isfinite(x) or (x > 1 and never):
            return math.nan
        with workprec(60):
            try:
                return float(hyper(above, below, x, zeroprec=1100))
            except ValueError:  # thousands of digits have cancelled
                return 0.0
            except (libmp.NoConvergence, TypeError, ZeroDivisionError):
                return math.nan

    return np.vectorize(at, otypes=[np.result_type(x, np.float32)])(x)[()]


def _hypergeometric_reference(
    m: Any, x: Any, above: tuple[float, ...], below: tuple[float], n: int = 0
) -> Any:
    """Or its n-th derivative."""
    if len(above) == 2 and x > 1 and not any(a in range(-_LARGEST, 1) for a in above):
        return m.nan
    top, bottom = ([m.mpf(a) for a in parameters] for parameters in (above, below))
    factor = math.prod(m.rf(a, n) for a in top) / m.rf(*bottom, n)
    return factor * getattr(m, f"hyp{len(top)}f1")(*[a + n for a in (*top, *bottom)], x)


def _in_sympy(s: Any, x: Any, above: tuple[float, ...], below: tuple[float], n: int = 0) -> Any:
    return in_sympy(
        "hypergeometric",
        lambda m, x, n: _hypergeometric_reference(m, x, above, below, n),
        next_order(),
    )(s, x, n=n)


def _written(name: str, x: Any, above: Any, below: Any, n: int) -> tuple[str, int]:
    """In decimals, as which the parameters were given."""
    above, below = ([Fraction(str(p)) for p in parameters] for parameters in (above, below))
    factor = Fraction(_factor(above, below, n))
    groups = ("; " if "_" in name else ", ").join(
        ", ".join(repr(float(p + n)).removesuffix(".0") for p in group) for group in (above, below)
    )
    text = name.format(len(above), groups, x)
    top, bottom = factor.numerator, factor.denominator
    if factor == 1:
        return text, ATOM
    if "_" in name:
        return (rf"\frac{{{top}}}{{{bottom}}} {text}" if bottom > 1 else f"{top} {text}"), TERM
    text = f"{top}*{text}" if top != 1 else text
    return f"{text}/{bottom}" if bottom > 1 else text, SUM if top < 0 else TERM


hypergeometric: Op = elementwise(
    "hypergeometric", "x", _hypergeometric, _hypergeometric_reference,
    lambda out, x, above, below, n: hypergeometric(x, above=above, below=below, n=n + 1),
    symbolic=_in_sympy, static={"above": (2.0,), "below": (3.0,), "n": 0}, public=False, ulps=2000,
    doc="The generalized hypergeometric function of one or two parameters above and one below, or its n-th derivative.",
    written=partial(_written, "hyp{}f1({}, {})"), latex=partial(_written, r"{{}}_{{{}}}F_{{1}}\left({}; {}\right)"),
    numpy=lambda shapes, above, below, n: Piece(_written("special.hyp{}f1({}, {})", "{0}", above, below, n)).at(ATOM),
)


@function(
    forward=OfSciPy("exprel"), partials=(lambda out, x: hypergeometric(x, above=(2.0,), below=(3.0,)) / 2,), ulps=200, carries=(),
)
def exprel(x: Any) -> Any:
    """(exp(x) - 1)/x, and 1 at 0."""
    return hypergeometric(x, above=(1.0,), below=(2.0,))


def _of_numbers(name: str, x: Any, **parameters: Any) -> Any:
    """Return a function of these parameters, which are numbers.

    Raises ArgumentError for a parameter that is not a number or is too large, and for a pole of the
    function.
    """
    for word, value in parameters.items():
        if not is_number(value) or not abs(value) <= _LARGEST:
            raise ArgumentError(
                f"{name}: {word} must be a number of at most {_LARGEST} in size",
                help="parameters are numbers, and derivatives are by x",
            )
    if value <= 0 and value % 1 == 0:
        raise ArgumentError(f"{name}: {word} = {value:g} is a pole", help=f"give another {word}")
    *above, below = map(float, parameters.values())
    return hypergeometric(x, above=tuple(above), below=(below,))


@function()
def hyp1f1(x: Any, *, a: float, b: float) -> Any:
    """Kummer's function, the confluent hypergeometric function of the numbers a and b.

    >>> hyp1f1(1.5, 2.5, x)
    """
    return _of_numbers("hyp1f1", x, a=a, b=b)


@function(domain="x < 1")
def hyp2f1(x: Any, *, a: float, b: float, c: float) -> Any:
    """Gauss's hypergeometric function of the numbers a, b and c.

    >>> hyp2f1(1.5, 0.5, 2.5, x)
    """
    return _of_numbers("hyp2f1", x, a=a, b=b, c=c)


def _spence_reference(m: Any, x: Any) -> Any:
    return m.polylog(2, 1 - x) if x >= 0 else m.nan


spence = elementwise(
    "spence", "x", OfSciPy("spence"), _spence_reference,
    lambda out, x: -1 / exprel(log(x)),
    domain="x >= 0", ulps=60, latex=r"\operatorname{{Li}}_{{2}}\left(1 - {x:term}\right)",
    doc="Spence's function, the integral of log(t)/(1 - t) from 1 to x: the dilogarithm of 1 - x.",
    symbolic=in_sympy("spence", _spence_reference, lambda s, function, values, orders: s.log(values[0]) / (1 - values[0])),
)


def _spherical(x: Any, n: int) -> Any:
    from scipy import special

    if n > 20 * _LARGEST:  # derivatives need higher orders than users may ask for
        raise ArgumentError(f"spherical_jn: the order must be at most {10 * _LARGEST}")
    first = np.asarray(x) ** n / float(special.factorial2(2 * n + 1))  # first term of the series
    return np.where(np.less(np.abs(x), 1e-8), first, special.spherical_jn(n, x))[()]


def _spherical_reference(m: Any, x: Any, n: int) -> Any:
    if x == 0:
        return m.mpf(int(n == 0))
    size = abs(x)
    sign = -1 if x < 0 and n % 2 else 1
    return sign * m.sqrt(m.pi / (2 * size)) * m.besselj(m.mpf(2 * n + 1) / 2, size)


spherical_jn: Op = elementwise(
    "spherical_jn", "x", _spherical, _spherical_reference,
    lambda out, x, n: (n * spherical_jn(x, n=n - 1) - (n + 1) * spherical_jn(x, n=n + 1)) / (2 * n + 1)
    if n else -spherical_jn(x, n=1), static={"n": 0}, ulps=2000,
    rounding=lambda m, out, x, n: 2000 * m.abs(out) + m.where(m.greater(m.abs(x), n), 20 * (n + 1) / m.maximum(m.abs(x), 1.0), 0.0),
    written="spherical_jn({n}, {x})", latex=r"j_{{{n}}}\left({x}\right)",
    symbolic=in_sympy("spherical_jn", _spherical_reference, lambda s, function, values, orders:
        orders[0] / values[0] * function(*values, *orders) - function(*values, orders[0] + 1)),
    doc="The spherical Bessel function of the first kind and of order n. In a program the order comes first. >>> spherical_jn(1, x)",
    numpy="special.spherical_jn({n}, {0})",
)

declare("""
    numpy:
        hyp1f1(a, b, x|z)
        hyp2f1(a, b, c, x|z)
        spence(x|z)
        spherical_jn(n, x|z, -derivative)
""")
