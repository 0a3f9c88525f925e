"""Hyperbolic functions, the reciprocal ones and their inverses."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.carrying import bent
from gradcli.ops.domains import EVERYWHERE, at, of
from gradcli.ops.elementwise.arithmetic import abs_
from gradcli.ops.elementwise.exponential import sqrt
from gradcli.ops.elementwise.trigonometric import radius
from gradcli.ops.registry import elementwise
from gradcli.ops.spec import Op

sinh: Op = elementwise(
    "sinh", "x", np.sinh, lambda m, x: m.sinh(x), lambda out, x: cosh(x), saves=("x",), sign=r"\sinh", math="sinh",

    called="hyperbolic sine",
    doc="The hyperbolic sine.", ulps=3, parity="odd", squared=lambda x: cosh(x) ** 2 - 1, doubled=lambda x: 2 * sinh(x) * cosh(x),
    quotients=lambda: (sinh, cosh, tanh, coth, csch, sech), bare="asinh({})",
    between=(),
    c="g_sinh({0})",
)
cosh: Op = elementwise(
    "cosh", "x", np.cosh, lambda m, x: m.cosh(x), lambda out, x: sinh(x), saves=("x",), sign=r"\cosh", math="cosh",
    called="hyperbolic cosine", doc="The hyperbolic cosine.", ulps=3, parity="even", squared=lambda x: 1 + sinh(x) ** 2,
    doubled=lambda x: cosh(x) ** 2 + sinh(x) ** 2, quotients=lambda: (sinh, cosh, tanh, coth, csch, sech), bare="acosh({})",
    between=(0.0,),
    c="g_cosh({0})",
)
tanh: Op = elementwise(
    "tanh", "x", np.tanh, lambda m, x: m.tanh(x), lambda out, x: sech(x) ** 2, saves=("x",), ulps=4,
    sign=r"\tanh", math="tanh", parity="odd", means=lambda x: sinh(x) / cosh(x),

    called="hyperbolic tangent",
    doc="The hyperbolic tangent. Its derivative is taken as sech(x)**2, which is accurate where 1 - tanh(x)**2 is 0.", bare="atanh({})",
    carries=bent, by_result=True,
    c="g_tanh({0})",
    moderate=True,
)  # fmt: skip


def _sech(x: Any) -> Any:
    # 2 e^-|x| / (1 + e^-2|x|): no overflow of cosh, and full accuracy in the tails.
    small = np.exp(-np.abs(x))
    return 2 * small / (1 + small * small)


sech: Op = elementwise(
    "sech", "x", _sech, lambda m, x: m.sech(x), lambda out, x: -out * tanh(x), saves=("x", "out"),
    doc="The hyperbolic secant, 1/cosh(x).", ulps=4, decays=True,
    parity="even", means=lambda x: 1 / cosh(x), bare="asech({})",
    between=(0.0,),
    c="g_sech({0})",
    numpy="_sech({0})",
    moderate=True,
)


def _csch(x: Any) -> Any:
    # 2 e^-|x| / (1 - e^-2|x|), the sign of x: no overflow of sinh, whose own accuracy near 0 is kept by expm1.
    size = np.abs(x)
    return np.copysign(-2 * np.exp(-size) / np.expm1(-2 * size), x)


csch: Op = elementwise(
    "csch", "x", _csch, lambda m, x: m.csch(x), lambda out, x: -out * coth(x), saves=("x", "out"),
    domain=EVERYWHERE - at(x=0), doc="The hyperbolic cosecant, 1/sinh(x).", ulps=4, decays=True,
    parity="odd", means=lambda x: 1 / sinh(x), bare="acsch({})",
    between=(0.0,),
    c="g_csch({0})",
    numpy="_csch({0})",
)
coth: Op = elementwise(
    "coth", "x", lambda x: 1 / np.tanh(x), lambda m, x: m.coth(x), lambda out, x: -(csch(x) ** 2), saves=("x",),
    domain=EVERYWHERE - at(x=0), sign=r"\coth", doc="The hyperbolic cotangent, 1/tanh(x).", ulps=4,
    parity="odd", means=lambda x: cosh(x) / sinh(x), bare="acoth({})",
    between=(0.0,),
    c="g_coth({0})",
    numpy="(1.0 / np.tanh({0}))",
)
asinh = elementwise(
    "asinh", "x", np.arcsinh, lambda m, x: m.asinh(x), lambda out, x: 1 / radius(x, 1), aliases=("arcsinh",),
    saves=("x",), math="asinh", doc="The inverse hyperbolic sine.", ulps=3, parity="odd", bare="sinh({})",
    between=(),
    c="g_asinh({0})",
    moderate=True,
)
acosh = elementwise(
    "acosh", "x", np.arccosh, lambda m, x: m.acosh(x), lambda out, x: 1 / (sqrt(x - 1) * sqrt(x + 1)), aliases=("arccosh",),
    saves=("x",), inverse=True, domain=of(x="[1, inf)"), doc="The inverse hyperbolic cosine; the derivative at 1 is infinite.", ulps=4,
    math="acosh", bare="cosh({})",
    between=(1.0,),
    c="g_acosh({0})",
)
atanh = elementwise(
    "atanh", "x", np.arctanh, lambda m, x: m.atanh(x), lambda out, x: 1 / ((1 - x) * (1 + x)), aliases=("arctanh",),
    saves=("x",), domain=of(x="(-1, 1)"), math="atanh", doc="The inverse hyperbolic tangent.", ulps=3, bare="tanh({})",
    between=(-1.0, 1.0),
    c="g_atanh({0})",
)
asech = elementwise(
    "asech", "x", lambda x: np.log1p((1 - x + np.sqrt((1 - x) * (1 + x))) / x), lambda m, x: m.asech(x),
    lambda out, x: -1 / (x * sqrt((1 - x) * (1 + x))), aliases=("arcsech",), saves=("x",), domain=of(x="(0, 1]"),
    doc="The inverse hyperbolic secant, acosh(1/x), accurate near 1.", ulps=4, bare="sech({})",
    between=(0.0, 1.0),
    c="g_asech({0})",
    numpy="_asech({0})",
)
acsch = elementwise(
    "acsch", "x", lambda x: np.arcsinh(1 / x), lambda m, x: m.acsch(x),
    lambda out, x: -1 / (abs_(x) * sqrt(1 + x**2)), aliases=("arccsch",), saves=("x",), domain=EVERYWHERE - at(x=0),
    doc="The inverse hyperbolic cosecant, asinh(1/x).", ulps=4, bare="csch({})",
    between=(0.0,),
    c="g_asinh(1 / {0})",
    numpy="np.arcsinh(1.0 / {0:atom})",
)
acoth = elementwise(
    "acoth", "x", lambda x: np.copysign(np.log1p(2 / (np.abs(x) - 1)) / 2, x), lambda m, x: m.acoth(x),
    lambda out, x: 1 / ((1 - x) * (1 + x)),
    aliases=("arccoth",), saves=("x",),
    domain=of(x="(-inf, -1)") | of(x="(1, inf)"), doc="The inverse hyperbolic cotangent, atanh(1/x).", ulps=4, bare="coth({})",
    between=(0.0,),
    c="g_acoth({0})",
    numpy="_acoth({0})",
)
