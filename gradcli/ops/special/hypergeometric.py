"""Hypergeometric functions of given parameters, Spence's function, and spherical Bessel functions.
"""

from __future__ import annotations

import math
from typing import Any

from gradcli.errors import ArgumentError
from gradcli.ops.elementwise.exponential import log
from gradcli.ops.elementwise.logic import equal, where
from gradcli.ops.registry import OfSciPy, Op, declare, elementwise, function, is_number
from gradcli.ops.special.gamma import in_sympy
from gradcli.ops.special.integrals import hypergeometric


def _spence_reference(m: Any, x: Any) -> Any:
    return m.polylog(2, 1 - x) if x >= 0 else m.nan


def _spence_slope(s: Any, function: Any, values: Any, orders: Any) -> Any:
    return s.log(values[0]) / (1 - values[0])


spence = elementwise(
    "spence", "x", OfSciPy("spence"), _spence_reference,
    lambda out, x: where(equal(x, 1), -1.0, log(x) / (1 - x)),
    domain="x >= 0", ulps=60, doc="Spence's function, the integral of log(t)/(1 - t) from 1 to x: the dilogarithm of 1 - x.",
    latex=r"\operatorname{{Li}}_{{2}}\left(1 - {x:atom}\right)", symbolic=in_sympy("spence", _spence_reference, _spence_slope),
)


# -- Orders and parameters that are numbers known beforehand --------------------------------------


def _number(function: str, **given: Any) -> None:
    for name, value in given.items():
        if not is_number(value) or not math.isfinite(value):
            raise ArgumentError(f"{function}: {name} must be a finite number, not a variable")


def _waves(m: Any, out: Any, x: Any, **orders: float) -> Any:
    """The rounding of what crosses zero again and again, in the size of the waves."""
    return 2000 * m.abs(out) + 1.0 / (1.0 + m.sqrt(m.abs(x)))


def _spherical_forward(x: Any, n: int) -> Any:
    from scipy import special

    return special.spherical_jn(n, x)


def _spherical_reference(m: Any, x: Any, n: int) -> Any:
    if x == 0:
        return m.mpf(int(n == 0))
    sign = -1 if x < 0 and n % 2 else 1
    return sign * m.sqrt(m.pi / (2 * abs(x))) * m.besselj(m.mpf(2 * n + 1) / 2, abs(x))


def _spherical_slope(s: Any, function: Any, values: Any, orders: Any) -> Any:
    (x,), (n,) = values, orders
    return (
        -function(x, 1)
        if n == 0
        else (n * function(x, n - 1) - (n + 1) * function(x, n + 1)) / (2 * n + 1)
    )


spherical_jn: Op = elementwise(
    "spherical_jn", "x", _spherical_forward, _spherical_reference,
    lambda out, x, n: (n * spherical_jn(x, n=n - 1) - (n + 1) * spherical_jn(x, n=n + 1)) / (2 * n + 1)
    if n else -spherical_jn(x, n=1),
    static={"n": 0}, ulps=2000, rounding=_waves, written="spherical_jn({n}, {x})", latex=r"j_{{{n}}}\left({x}\right)",
    symbolic=in_sympy("spherical_jn", _spherical_reference, _spherical_slope),
    doc="The spherical Bessel function of the first kind and of order n. In a program the order comes first. >>> spherical_jn(1, x)",
    numpy=lambda shapes, n: f"special.spherical_jn({n}, {{0}})",
)


@function()
def hyp1f1(x: Any, *, a: float, b: float) -> Any:
    """Kummer's function, the confluent hypergeometric function of the numbers a and b.

    >>> hyp1f1(1.5, 2.5, x)
    """
    _number("hyp1f1", a=a, b=b)
    return hypergeometric(x, above=(float(a),), below=(float(b),))


@function(domain="x < 1")
def hyp2f1(x: Any, *, a: float, b: float, c: float) -> Any:
    """Gauss's hypergeometric function of the numbers a, b and c.

    >>> hyp2f1(1.5, 0.5, 2.5, x)
    """
    _number("hyp2f1", a=a, b=b, c=c)
    return hypergeometric(x, above=(float(a), float(b)), below=(float(c),))


declare("""
    numpy:
        spence(x|z)
        spherical_jn(n, x|z)
        hyp1f1(a, b, x|z)
        hyp2f1(a, b, c, x|z)
""")
