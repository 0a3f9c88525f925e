"""Gamma functions, the logistic function and sums of exponentials."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.ops import extended
from gradcli.ops.carrying import joined_rounds
from gradcli.ops.constants import LN2
from gradcli.ops.elementwise.exponential import exp, expm1
from gradcli.ops.elementwise.logic import greater, where
from gradcli.ops.elementwise.trigonometric import tanh
from gradcli.ops.registry import Kink, OfSciPy, Op, declare, elementwise, function, piecewise, witness
from gradcli.ops.text import number_in_c

_FAR = -100.0  # beneath, SciPy and mpmath add up as many terms as there are poles on the way, without end


def _polygamma(x: Any, n: int) -> Any:
    from scipy import special

    if not n:
        return special.digamma(x)
    far = (np.asarray(x) < _FAR) & np.isfinite(x)
    found = special.polygamma(n, np.where(far, 1 - x, x))
    return np.where(far, (-1) ** n * found - _cotangent_slope(np.where(far, x, np.nan), n), found)[()] if far.any() else found[()]


def _cotangent_slope(x: Any, n: int) -> Any:
    """The n-th derivative of pi*cot(pi*x), which the reflection formula has."""
    from mpmath import cot, diff, mp, workprec

    def at(x: float) -> float:
        if x != x or x == round(x):
            return math.nan if x != x else math.inf if n % 2 == 0 else -math.inf
        with workprec(200 + 20 * n):
            return float(diff(lambda t: mp.pi * cot(mp.pi * t), x, n))

    return np.vectorize(at, otypes=[np.result_type(x)])(x)


polygamma: Op = elementwise(
    "polygamma",
    "x",
    _polygamma,
    witness("arrays.polygamma"),
    lambda out, x, n: polygamma(x, n=n + 1),
    symbolic=lambda s, x, n: s.polygamma(n, x),
    static={"n": 1},
    domain="x is not 0, -1, -2, ...",
    written="polygamma({n}, {x})",
    latex=r"\psi^{{({n})}}\left({x}\right)",
    doc="The n-th derivative of digamma, called polygamma(n, x) or polygamma(x, n): n is the one that is a whole number. "
    ">>> polygamma(1, x)",
    ulps=16,
    carries=(-math.inf, 0.0),
    numpy=lambda shapes, n: f"special.polygamma({n}, {{0}})",
    torch=lambda shapes, n: f"_polygamma({n}, {{0}}, {float(math.factorial(n))!r})" if n else "torch.special.digamma({0})",
)
digamma = elementwise(
    "digamma psi",
    "x",
    OfSciPy("digamma"),
    "digamma",
    lambda out, x: polygamma(x, n=1),
    domain="x is not 0, -1, -2, ...",
    latex=r"\psi\left({x}\right)",
    doc="The derivative of lgamma.",
    ulps=200,
    carries=(-math.inf, 0.0),
)
gamma = elementwise(
    "gamma",
    "x",
    OfSciPy("gamma"),
    "gamma",
    lambda out, x: out * digamma(x),
    saves="x out",
    domain="x is not 0, -1, -2, ...",
    latex=r"\Gamma\left({x}\right)",
    doc="The gamma function. >>> gamma(x)",
    ulps=10,
    carries=(-math.inf, 0.0, 1.4616321449683622),
)

def _lgamma_reference(m: Any, x: Any) -> Any:
    return m.log(abs(m.gamma(x))) if x < 0 else m.loggamma(x)


lgamma = elementwise(
    "lgamma gammaln loggamma",
    "x",
    OfSciPy("gammaln"),
    _lgamma_reference,
    lambda out, x: digamma(x),
    symbolic=lambda s, x: s.loggamma(x),
    domain="x is not 0, -1, -2, ...",
    doc="The logarithm of the absolute value of gamma(x).",
    ulps=40,
    rounding=lambda m, out, x: 40 * m.abs(out) + 4 * m.abs(x),  # SciPy's, beside zeros
    carries=(-math.inf, 0.0, 1.4616321449683622),
)


def _sigmoid(x: Any) -> Any:
    # e^-|x| never overflows, and the quotient keeps full accuracy in both tails.
    small = np.exp(-np.abs(x))
    return np.where(np.greater_equal(x, 0), 1 / (1 + small), small / (1 + small))[()]


def _sigmoid_slope(out: Any, x: Any) -> Any:
    return out * sigmoid(-x)


@function(
    "sigmoid expit", forward=_sigmoid, partials=(_sigmoid_slope,), saves="x out", carries=(),
    numpy="special.expit({0})", torch="torch.sigmoid({0})",
)  # fmt: skip
def sigmoid(x: Any) -> Any:
    """1/(1 + exp(-x)), accurate in both tails.

    >>> sigmoid(w*x + b)
    """
    return 1 / (1 + exp(-x))


# Functions whose derivative code commonly takes from the result, where digits of it cancel: 1 - y*y of y = tanh(x).
BY_RESULT = (expm1, tanh, sigmoid)


def _larger(m: Any, x: Any, y: Any) -> Any:
    """The larger of two numbers; where enclosures leave it open which it is, a number that holds both."""
    return getattr(m, "maximum", max)(x, y)


logaddexp = elementwise(
    "logaddexp",
    "x y",
    np.logaddexp,
    lambda m, x, y: _larger(m, x, y) + m.log1p(m.exp(-abs(x - y))),
    lambda out, x, y: sigmoid(x - y),
    lambda out, x, y: sigmoid(y - x),
    symbolic=lambda s, x, y: s.log(s.exp(x) + s.exp(y)),
    rounding=joined_rounds,
    doc="log(exp(x) + exp(y)), without overflow.",
    ulps=8,
    carries=((), ()),
)


@function()
def logaddexp2(x: Any, y: Any) -> Any:
    """log2(2**x + 2**y), without overflow."""
    return logaddexp(x * LN2, y * LN2) / LN2


def _softplus(x: Any, beta: float, threshold: float) -> Any:
    scaled = x * beta
    smooth = np.maximum(scaled, 0) + np.log1p(np.exp(-np.abs(scaled)))
    return np.where(np.greater(scaled, threshold), x, smooth / beta)[()]


def _softplus_reference(m: Any, x: Any, beta: float, threshold: float) -> Any:
    return x if x * beta > threshold else m.log1p(m.exp(x * beta)) / beta


def _softplus_partial(out: Any, x: Any, beta: float, threshold: float) -> Any:
    slope = sigmoid(x * beta) if beta != 1 else sigmoid(x)
    return slope if threshold == math.inf else where(greater(x * beta, threshold), 1.0, slope)


def _softplus_of(x: Any, beta: Any, threshold: float) -> Any:
    curve = logaddexp(x * beta, 0.0) / beta
    return curve if threshold == math.inf else where(greater(x * beta, threshold), x, curve)


def _softplus_in_c(beta: float, threshold: float) -> str:
    scale, limit = number_in_c(beta), number_in_c(threshold)
    curve = "g_softplus({0})" if beta == 1 else f"(g_softplus({{0}} * {scale}) / {scale})"
    return curve if threshold == math.inf else f"g_choose({{0}} * {scale} > {limit}, {{0}}, {curve})"


def _softplus_in_numpy(beta: float, threshold: float) -> str:
    return f"_softplus({{0}}, {beta!r})" if threshold == math.inf else f"_softplus({{0}}, {beta!r}, {threshold!r})"


softplus: Op = piecewise(
    "softplus",
    "x beta:number",
    _softplus,
    _softplus_reference,
    _softplus_partial,
    symbolic=lambda s, x, beta, threshold: s.log(1 + s.exp(x * beta)) / beta,
    static={"beta": 1, "threshold": math.inf},
    saves="x",
    ulps=4,
    extended=extended.SOFTPLUS,
    kinks=Kink(lambda x, beta, threshold: x * beta == threshold, "beta*x = threshold", "that of the curve"),
    doc="log(1 + exp(beta*x))/beta, without overflow; x itself where beta*x exceeds threshold (PyTorch's is 20). >>> softplus(x)",
    definition=_softplus_of,
    carries=(),
    c=_softplus_in_c,
    numpy=lambda shapes, beta, threshold: _softplus_in_numpy(float(beta), float(threshold)),
)

declare("""
    numpy:
        polygamma(n@x, x)
    torch:
        polygamma(n@x!, x)
""")
