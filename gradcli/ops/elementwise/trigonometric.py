"""Trigonometric functions, the reciprocal ones and their inverses."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.constants import DEGREE, RADIAN
from gradcli.ops.elementwise.arithmetic import abs_, chain
from gradcli.ops.elementwise.exponential import log1p, sqrt
from gradcli.ops.elementwise.logic import equal, logical_and, where
from gradcli.ops.registry import Choice, Kink, Op, declare, elementwise, function

sin: Op = elementwise(
    "sin", "x", np.sin, "sin", lambda out, x: cos(x), doc="The sine, x in radians.", ulps=5,
    algebra="circular",
    carries=lambda m, out, x, e: m.minimum(e, 2.0),
)
cos: Op = elementwise(
    "cos", "x", np.cos, "cos", lambda out, x: -sin(x), doc="The cosine.", ulps=5,
    algebra="circular",
    carries=lambda m, out, x, e: m.minimum(e, 2.0),
)
tan: Op = elementwise(
    "tan", "x", np.tan, "tan", lambda out, x: 1 + out**2, saves="out", doc="The tangent.",
    algebra="composed", definition=lambda x: sin(x) / cos(x), domain="x is not pi/2 + k*pi", ulps=5,
)


@function(
    partials=(lambda out, x: out * tan(x),), saves="x out", domain="x is not pi/2 + k*pi", ulps=5,
    algebra="composed",
)
def sec(x: Any) -> Any:
    """The secant, 1/cos(x)."""
    return 1 / cos(x)


def _csc_slope(out: Any, x: Any) -> Any:
    return -out * cot(x)


@function(
    partials=(_csc_slope,), saves="x out", domain="x is not k*pi", ulps=5, algebra="composed",
)
def csc(x: Any) -> Any:
    """The cosecant, 1/sin(x)."""
    return 1 / sin(x)


@function(partials=(lambda out, x: -1 - out**2,), saves="out", domain="x is not k*pi", ulps=6, algebra="composed")
def cot(x: Any) -> Any:
    """The cotangent, 1/tan(x)."""
    return 1 / tan(x)


# The functions of a family by their roles for a sine s and a cosine c: s, c, s/c, c/s, 1/s, 1/c.
# Then the number k such that c**2 is 1 - k*s**2.
FAMILIES: dict[str, tuple[Any, ...]] = {"circular": (sin, cos, tan, cot, csc, sec, 1)}
asin = elementwise(
    "asin arcsin", "x", np.arcsin, "asin", lambda out, x: 1 / sqrt((1 - x) * (1 + x)),
    algebra="inverse", domain="-1 <= x <= 1", doc="The inverse sine; the derivative at -1 and 1 "
    "is infinite.",
    carries=(-1.0, 1.0),
)
acos = elementwise(
    "acos arccos", "x", np.arccos, "acos", lambda out, x: -1 / sqrt((1 - x) * (1 + x)),
    algebra="inverse", domain="-1 <= x <= 1", doc="The inverse cosine; the derivative at -1 and 1 "
    "is infinite.", ulps=3,
    carries=(-1.0, 1.0),
)
atan = elementwise(
    "atan arctan", "x", np.arctan, "atan", lambda out, x: 1 / (1 + x**2),
    doc="The inverse tangent.", ulps=3,
    carries=(),
)


@function(
    "asec arcsec", partials=(lambda out, x: 1 / (abs_(x) * sqrt((x - 1) * (x + 1))),), algebra="inverse", domain="abs(x) >= 1",
)
def asec(x: Any) -> Any:
    """The inverse secant, acos(1/x)."""
    return acos(1 / x)


@function(
    "acsc arccsc", partials=(lambda out, x: -1 / (abs_(x) * sqrt((x - 1) * (x + 1))),), algebra="inverse", domain="abs(x) >= 1",
)
def acsc(x: Any) -> Any:
    """The inverse cosecant, asin(1/x)."""
    return asin(1 / x)


@function("acot arccot", partials=(lambda out, x: -1 / (1 + x**2),), domain="x is not 0")
def acot(x: Any) -> Any:
    """The inverse cotangent, atan(1/x): it jumps at 0."""
    return atan(1 / x)


@function(
    forward=np.hypot, partials=(lambda out, x, y: x / out, lambda out, x, y: y / out),
    saves="x: x out; y: y out", public=False, ulps=3,
    algebra="composed", carries=lambda m, out, x, y, e, f: m.hypot(e, f),
    written="sqrt({x:atom}**2 + {y:atom}**2)", latex=r"\sqrt{{{x:atom}^{{2}} + {y:atom}^{{2}}}}",
    c="g_hypot({0}, {1})",
)
def radius(x: Any, y: Any) -> Any:
    """sqrt(x**2 + y**2) in rules: without overflow, and a square root in formulas."""
    return sqrt(x * x + y * y)


atan2 = elementwise(
    "atan2 arctan2", "y:signed x", np.arctan2, "atan2",
    # At infinity, chain makes the partials 0 where a coordinate divided by the radius is NaN.
    lambda out, y, x: where(logical_and(equal(x, 0), equal(y, 0)), 0.0, chain(1 / radius(x, y), x / radius(x, y))),
    lambda out, y, x: where(logical_and(equal(x, 0), equal(y, 0)), 0.0, chain(1 / radius(x, y), -y / radius(x, y))),
    kinks=(
        Kink(lambda y, x: x == 0 and y == 0, "the origin", "0 for both"),
        Kink(lambda y, x: x < 0 and y == 0, "the branch cut, y = 0 and x < 0", "that beside it"),
    ),
    domain="not the origin", saves="y x",
    doc="The angle of the point (x, y), from -pi to pi. >>> atan2(y, x)",
)


hypot: Op = elementwise(
    "hypot", "x y", np.hypot, lambda m, x, y: m.sqrt(x * x + y * y),
    lambda out, x, y: x / out, lambda out, x, y: y / out, saves="x: x out; y: y out",
    kinks=Kink(lambda x, y: x == 0 and y == 0, "the origin", "NaN for both (0/0)", Choice("1/2 "
    "for both", lambda x, y: where(logical_and(equal(x, 0), equal(y, 0)), (x + y) / 2, hypot(x, y)))),
    doc="sqrt(x**2 + y**2), without overflow. >>> hypot(3*x, 4)", ulps=3,
    carries=lambda m, out, x, y, e, f: m.hypot(e, f),
)


@function("deg2rad radians")
def deg2rad(x: Any) -> Any:
    """Degrees as radians."""
    return x * DEGREE


@function("rad2deg degrees")
def rad2deg(x: Any) -> Any:
    """Radians as degrees."""
    return x * RADIAN


declare("""
    numpy:
        atan2 arctan2 = atan2(y|x1|input, x|x2|other)
""")


# -- Hyperbolic functions, the reciprocal ones and their inverses --------------------------------


sinh: Op = elementwise(
    "sinh", "x", np.sinh, "sinh", lambda out, x: cosh(x),
    doc="The hyperbolic sine.", ulps=3, algebra="hyperbolic",
    carries=(),
)
cosh: Op = elementwise(
    "cosh", "x", np.cosh, "cosh", lambda out, x: sinh(x),
    doc="The hyperbolic cosine.", ulps=3, algebra="hyperbolic",
    carries=(0.0,),
)


def _tanh_slope(out: Any, x: Any) -> Any:
    return sech(x) ** 2


tanh: Op = elementwise(
    "tanh", "x", np.tanh, "tanh", _tanh_slope,
    algebra="composed", definition=lambda x: sinh(x) / cosh(x),
    doc="The hyperbolic tangent. Its derivative is taken as sech(x)**2, which is accurate where 1 "
    "- tanh(x)**2 is 0.",
    carries=(),
)


def _sech(x: Any) -> Any:
    # 2 e^-|x| / (1 + e^-2|x|): no overflow of cosh, and full accuracy in the tails.
    small = np.exp(-np.abs(x))
    return 2 * small / (1 + small * small)


@function(
    forward=_sech, partials=(lambda out, x: -out * tanh(x),), saves="x out", algebra="composed", carries=(0.0,),
)
def sech(x: Any) -> Any:
    """The hyperbolic secant, 1/cosh(x)."""
    return 1 / cosh(x)


def _csch(x: Any) -> Any:
    # 2 e^-|x| / (1 - e^-2|x|) with the sign of x: sinh cannot overflow, and expm1 keeps its
    # accuracy near 0.
    size = np.abs(x)
    return np.copysign(-2 * np.exp(-size) / np.expm1(-2 * size), x)


def _csch_slope(out: Any, x: Any) -> Any:
    return -out * coth(x)


@function(
    forward=_csch, partials=(_csch_slope,), saves="x out", domain="x is not 0", algebra="composed", carries=(0.0,),
)
def csch(x: Any) -> Any:
    """The hyperbolic cosecant, 1/sinh(x)."""
    return 1 / sinh(x)


@function(partials=(lambda out, x: -(csch(x) ** 2),), domain="x is not 0", algebra="composed", carries=(0.0,))
def coth(x: Any) -> Any:
    """The hyperbolic cotangent, 1/tanh(x)."""
    return 1 / tanh(x)


FAMILIES["hyperbolic"] = (sinh, cosh, tanh, coth, csch, sech, -1)
asinh = elementwise(
    "asinh arcsinh", "x", np.arcsinh, "asinh", lambda out, x: 1 / radius(x, 1),
    doc="The inverse hyperbolic sine.", ulps=3,
    carries=(),
)
acosh = elementwise(
    "acosh arccosh", "x", np.arccosh, "acosh", lambda out, x: 1 / (sqrt(x - 1) * sqrt(x + 1)),
    algebra="inverse", domain="x >= 1", doc="The inverse hyperbolic cosine; the derivative at 1 "
    "is infinite.",
    carries=(1.0,),
)
atanh = elementwise(
    "atanh arctanh", "x", np.arctanh, "atanh", lambda out, x: 1 / ((1 - x) * (1 + x)),
    domain="-1 < x < 1", doc="The inverse hyperbolic tangent.", ulps=3,
    carries=(-1.0, 1.0),
)


@function(
    "asech arcsech", partials=(lambda out, x: -1 / (x * sqrt((1 - x) * (1 + x))),), domain="0 < x <= 1", ulps=32,
)
def asech(x: Any) -> Any:
    """The inverse hyperbolic secant, acosh(1/x)."""
    return acosh(1 / x)


@function("acsch arccsch", partials=(lambda out, x: -1 / (abs_(x) * sqrt(1 + x**2)),), domain="x "
"is not 0", carries=(0.0,))
def acsch(x: Any) -> Any:
    """The inverse hyperbolic cosecant, asinh(1/x)."""
    return asinh(1 / x)


@function(
    "acoth arccoth", partials=(lambda out, x: 1 / ((1 - x) * (1 + x)),), domain="abs(x) > 1",
)
def acoth(x: Any) -> Any:
    """The inverse hyperbolic cotangent, atanh(1/x)."""
    return log1p(2 / (x - 1)) / 2
