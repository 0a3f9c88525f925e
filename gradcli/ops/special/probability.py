"""Probabilities: the normal distribution, log-odds, entropy."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.calling.prefixes import NUMPY, SCIPY, TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.constants import SQRT_2, SQRT_2_BY_PI, SQRT_TWO_PI
from gradcli.ops.domains import of
from gradcli.ops.elementwise import extended
from gradcli.ops.elementwise.bounds import clip, minimum
from gradcli.ops.elementwise.exponential import exp_square, log
from gradcli.ops.elementwise.logic import greater, isnan, less, where
from gradcli.ops.registry import composite, elementwise
from gradcli.ops.special.error_functions import erfcx
from gradcli.ops.writing import scipy_special


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


ndtr = elementwise(
    "ndtr", "x", _ndtr, lambda m, x: m.erfc(-x / m.sqrt(2)) / 2, lambda out, x: exp_square(x, c=-0.5) / SQRT_TWO_PI,
    saves=("x",), doc="The probability that a standard normal variable is below x, accurate in the tail.", ulps=11,
    between=(),
    c="g_ndtr({0})",
    numpy="special.ndtr({0})",
    moderate=True,
)
log_ndtr = elementwise(
    "log_ndtr", "x", _log_ndtr, _log_ndtr_reference,
    # beyond 1 without the overflow of erfcx
    lambda out, x: where(
        greater(x, 1), exp_square(x, c=-0.5) / (SQRT_TWO_PI * ndtr(x)), 1 / erfcx(-minimum(x, 1) / SQRT_2) * SQRT_2_BY_PI
    ),
    symbolic=lambda s, x: s.log(s.erfc(-x / s.sqrt(2), evaluate=False) / 2), saves=("x",), backward="SpecialLogNdtr", ulps=12,
    doc="The logarithm of ndtr, without underflow.",
    between=(),
    c="g_log_ndtr({0})",
    numpy="special.log_ndtr({0})",
)


def _ndtri(m: Any, x: Any) -> Any:
    with m.workprec(m.prec + (max(0, -m.mag(x)) if x else 0)):
        value = m.sqrt(2) * m.erfinv(2 * x - 1)
    return +value


ndtri = elementwise(
    "ndtri", "x", scipy_special("ndtri"), _ndtri, lambda out, x: exp_square(out, c=0.5) * SQRT_TWO_PI,
    symbolic=lambda s, x: s.sqrt(2) * s.erfinv(2 * x - 1), saves=("out",), domain=of(x="[0, 1]"), backward="SpecialNdtri",
    doc="The inverse of ndtr: the quantile of the standard normal distribution.", ulps=4,
    between=(0.0, 1.0),
    numpy="special.ndtri({0})",
)
logit = elementwise(
    "logit", "x", scipy_special("logit"), lambda m, x: m.log(x / (1 - x)),
    lambda out, x: where(isnan(out), out, 1 / (x * (1 - x))), saves=("x", "out"), domain=of(x="[0, 1]"), ulps=4,
    doc="The inverse of sigmoid, log(x/(1 - x)); infinite at 0 and 1, and so is its derivative.",
    between=(0.0, 1.0),
    c="g_logit({0})",
    numpy="special.logit({0})",
)
torch_logit = composite(
    "torch_logit", "x", lambda x, eps: logit(x if eps is None else clip(x, eps, 1 - eps)), static={"eps": None}, public=False,
    doc="logit of x limited to the range from eps to 1 - eps.",
)


def _entr_reference(m: Any, x: Any) -> Any:
    return m.zero if x == 0 else m.ninf if x < 0 else -x * m.log(x)


entr = elementwise(
    "entr", "x", scipy_special("entr"), _entr_reference, lambda out, x: where(less(x, 0), float("nan"), -log(x) - 1),
    symbolic=lambda s, x: -x * s.log(x), saves=("x",), domain=of(x="[0, inf)"), backward="SpecialEntr",
    extended=extended.ENTROPY,
    doc="-x*log(x), and 0 at x = 0, where the derivative is infinite.", ulps=3,
    between=(0.0, 0.36787944117144233),
    c="g_entr({0})",
    numpy="special.entr({0})",
)

for _library in (NUMPY, SCIPY, TORCH):
    declare(_library, logit=signature("torch_logit", "x, eps"))
