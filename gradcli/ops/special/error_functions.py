"""The error function, its complements, scaled forms and inverses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.ops import extended
from gradcli.ops.constants import HALF_SQRT_PI, SQRT_2, SQRT_2_BY_PI, SQRT_TWO_PI, TWO_BY_SQRT_PI
from gradcli.ops.elementwise.bounds import clip, minimum
from gradcli.ops.elementwise.exponential import exp, exp_square, log, xlogy
from gradcli.ops.elementwise.logic import greater, isnan, less, where
from gradcli.ops.registry import OfSciPy, Op, declare, elementwise, function

erf = elementwise(
    "erf", "x", OfSciPy("erf"), "erf", lambda out, x: exp_square(x, c=-1.0) * TWO_BY_SQRT_PI,
    doc="The error function. >>> erf(x/sqrt(2))",
    carries=(),
)


erfc = elementwise(
    "erfc", "x", OfSciPy("erfc"), "erfc", lambda out, x: -exp_square(x, c=-1.0) * TWO_BY_SQRT_PI,
    doc="The complementary error function, 1 - erf(x), accurate in the tail.", ulps=12,
    carries=(),
)


erfi = elementwise(
    "erfi", "x", OfSciPy("erfi"), "erfi", lambda out, x: exp_square(x, c=1.0) * TWO_BY_SQRT_PI,
    doc="The imaginary error function, -i*erf(i*x).", ulps=160,
    carries=(),
)

_TERMS = 200  # of a continued fraction, at its slowest for x = 1


def _erfcx(x: Any, n: int) -> Any:
    from scipy import special

    x = np.asarray(x)
    before, near = np.full(x.shape, float(TWO_BY_SQRT_PI), dtype=x.dtype), special.erfcx(np.minimum(x, 1.0))
    for k in range(1, n + 1):
        before, near = near, before / (2 * k) - x / k * near
    far, ratio = special.erfcx(np.maximum(x, 1.0)), np.zeros_like(x)
    for k in range(_TERMS if n and np.any(x > 1) else 0, 0, -1):
        ratio = 1 / (2 * np.maximum(x, 1.0) + 2 * (k + 1) * ratio)  # of the k-th integral to the one before it
        far = far * ratio if k <= n else far
    return np.where(x > 1, far, near)[()]


def _erfcx_reference(m: Any, x: Any, n: int) -> Any:
    with m.workprec(m.prec + (n + 1) * max(0, 4 * m.mag(x))):
        before, value = 2 / m.sqrt(m.pi), m.exp(x * x) * m.erfc(x)
        for k in range(1, n + 1):
            before, value = value, before / (2 * k) - x / k * value
    return +value


def _erfcx_symbolic(s: Any, x: Any, n: int) -> Any:
    before, value = 2 / s.sqrt(s.pi), s.exp(x * x) * s.erfc(x)
    for k in range(1, n + 1):
        before, value = value, before / (2 * k) - x / k * value
    return value


erfcx_integral: Op = elementwise(
    "erfcx_integral", "x", _erfcx, _erfcx_reference, lambda out, x, n: -2 * (n + 1) * erfcx_integral(x, n=n + 1),
    symbolic=_erfcx_symbolic, static={"n": 1}, public=False, ulps=500,
    written={(1,): "(1/sqrt(pi) - {x:atom}*erfcx({x}))"},
    latex={(1,): r"\left(\frac{{1}}{{\sqrt{{\pi}}}} - {x:atom} \operatorname{{erfcx}}\left({x}\right)\right)"},
    doc="exp(x**2) times the n-th repeated integral of erfc from x to infinity. Its derivatives never cancel.",
    carries=(),
    numpy=lambda shapes, n: "_erfcx_integral({0})" if n == 1 else "",
)


@function(
    forward=OfSciPy("erfcx"), partials=(lambda out, x: -2 * erfcx_integral(x, n=1),), backward="SpecialErfcx", ulps=600,
    carries=(),
)  # fmt: skip
def erfcx(x: Any) -> Any:
    """exp(x**2)*erfc(x), without underflow."""
    return exp(x * x) * erfc(x)


erfinv = elementwise(
    "erfinv", "x", OfSciPy("erfinv"), "erfinv", lambda out, x: exp_square(out, c=1.0) * HALF_SQRT_PI,
    saves="out", domain="-1 <= x <= 1", doc="The inverse of erf; infinite at -1 and 1, and so is its derivative.",
    carries=(-1.0, 1.0),
)


# -- Probabilities: the normal distribution, log-odds, entropy -------------------------------------


def _ndtr(x: Any) -> Any:
    from scipy import special

    tail = exp_square(x, c=-0.5) * special.erfcx(np.maximum(-np.asarray(x), 0) / float(SQRT_2)) / 2
    return np.where(np.less(x, -0.5), tail, special.ndtr(x))[()]


def _log_ndtr_reference(m: Any, x: Any) -> Any:
    tail = m.erfc(abs(x) / m.sqrt(2)) / 2
    return m.log1p(-tail) if x > 0 else m.log(tail)


def _log_ndtr(x: Any) -> Any:
    from scipy import special

    x = np.asarray(x)
    tail = np.log(special.erfcx(np.maximum(-x, 0) / float(SQRT_2)) / 2) - x * x / 2
    return np.where(np.less(x, -1), tail, np.log1p(-_ndtr(-np.maximum(x, -1))))[()]


@function(
    forward=_ndtr, partials=(lambda out, x: exp_square(x, c=-0.5) / SQRT_TWO_PI,), ulps=11, carries=(),
    numpy="special.ndtr({0})",
)  # fmt: skip
def ndtr(x: Any) -> Any:
    """The probability that a standard normal variable is below x, accurate in the tail."""
    return erfc(-x / SQRT_2) / 2


log_ndtr = elementwise(
    "log_ndtr", "x", _log_ndtr, _log_ndtr_reference,
    # beyond 1 without the overflow of erfcx
    lambda out, x: where(
        greater(x, 1), exp_square(x, c=-0.5) / (SQRT_TWO_PI * ndtr(x)), 1 / erfcx(-minimum(x, 1) / SQRT_2) * SQRT_2_BY_PI
    ),
    symbolic=lambda s, x: s.log(s.erfc(-x / s.sqrt(2), evaluate=False) / 2), backward="SpecialLogNdtr", ulps=12,
    doc="The logarithm of ndtr, without underflow.",
    carries=(),
    numpy="special.log_ndtr({0})",
)


def _ndtri(m: Any, x: Any) -> Any:
    with m.workprec(m.prec + (max(0, -m.mag(x)) if x else 0)):
        value = m.sqrt(2) * m.erfinv(2 * x - 1)
    return +value


ndtri = elementwise(
    "ndtri", "x", OfSciPy("ndtri"), _ndtri, lambda out, x: exp_square(out, c=0.5) * SQRT_TWO_PI,
    symbolic=lambda s, x: s.sqrt(2) * s.erfinv(2 * x - 1), saves="out", domain="0 <= x <= 1", backward="SpecialNdtri",
    doc="The inverse of ndtr: the quantile of the standard normal distribution.",
    carries=(0.0, 1.0),
)


@function(domain="0 < x < 2")
def erfcinv(x: Any) -> Any:
    """The inverse of erfc, accurate near 0."""
    return -ndtri(x / 2) / SQRT_2


@function(
    forward=OfSciPy("logit"), partials=(lambda out, x: where(isnan(out), out, 1 / (x * (1 - x))),), saves="x out", domain="0 <= x <= 1",
    carries=(0.0, 1.0),
)  # fmt: skip
def logit(x: Any) -> Any:
    """The inverse of sigmoid, log(x/(1 - x)); infinite at 0 and 1, and so is its derivative."""
    return log(x / (1 - x))


@function()
def torch_logit(x: Any, *, eps: Any = None) -> Any:
    """logit of x limited to the range from eps to 1 - eps."""
    return logit(x if eps is None else clip(x, eps, 1 - eps))


@function(
    forward=OfSciPy("entr"), partials=(lambda out, x: where(less(x, 0), float("nan"), -log(x) - 1),), symbolic=lambda s, x: -x * s.log(x),
    domain="x >= 0", backward="SpecialEntr", extended=extended.ENTROPY, ulps=3, carries=(0.0, 0.36787944117144233),
)  # fmt: skip
def entr(x: Any) -> Any:
    """-x*log(x), and 0 at x = 0, where the derivative is infinite."""
    return where(less(x, 0), -math.inf, -xlogy(x, x))


declare("""
    numpy scipy torch:
        logit = torch_logit(x, eps)
""")
