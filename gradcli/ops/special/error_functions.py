"""The error function, its complements, scaled forms and inverses."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.constants import HALF_SQRT_PI, TWO_BY_SQRT_PI
from gradcli.ops.domains import of
from gradcli.ops.elementwise.exponential import exp_square
from gradcli.ops.registry import elementwise
from gradcli.ops.spec import Op
from gradcli.ops.writing import scipy_special

erf = elementwise(
    "erf", "x", scipy_special("erf"), lambda m, x: m.erf(x), lambda out, x: exp_square(x, c=-1.0) * TWO_BY_SQRT_PI, saves=("x",),
    doc="The error function.", examples=("erf(x/sqrt(2))",), ulps=4,
    between=(),
    c="g_erf({0})",
    numpy="special.erf({0})",
    moderate=True,
)


def _erfc(x: Any) -> Any:
    from scipy import special

    return np.where(np.less(x, 0.5), special.erfc(x), exp_square(x, c=-1.0) * special.erfcx(np.maximum(x, 0)))[()]


erfc = elementwise(
    "erfc", "x", _erfc, lambda m, x: m.erfc(x), lambda out, x: -exp_square(x, c=-1.0) * TWO_BY_SQRT_PI, saves=("x",),
    doc="The complementary error function, 1 - erf(x), accurate in the tail.", ulps=12,
    between=(),
    c="g_erfc({0})",
    numpy="special.erfc({0})",
    moderate=True,
)


def _erfi(x: Any) -> Any:
    from scipy import special

    half = exp_square(x, c=0.5)  # the whole may overflow where the product does not
    return np.where(np.isinf(x), x, half * special.dawsn(np.clip(x, -30.0, 30.0)) * float(TWO_BY_SQRT_PI) * half)[()]


erfi = elementwise(
    "erfi", "x", _erfi, lambda m, x: m.erfi(x), lambda out, x: exp_square(x, c=1.0) * TWO_BY_SQRT_PI, saves=("x",),
    doc="The imaginary error function, -i*erf(i*x).", ulps=160,
    between=(),
    numpy="special.erfi({0})",
    torch="",
    jax="",
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
    symbolic=_erfcx_symbolic, static={"n": 1}, saves=("x",), public=False, ulps=500,
    written={(1,): "(1/sqrt(pi) - {x:atom}*erfcx({x}))"},
    latex={(1,): r"\left(\frac{{1}}{{\sqrt{{\pi}}}} - {x:atom} \operatorname{{erfcx}}\left({x}\right)\right)"},
    doc="exp(x**2) times the n-th repeated integral of erfc from x to infinity. Its derivatives never cancel.",
    between=(),
    numpy=lambda shapes, n: "_erfcx_integral({0})" if n == 1 else "",
    jax="",
)
erfcx = elementwise(
    "erfcx", "x", scipy_special("erfcx"), lambda m, x: m.exp(x * x) * m.erfc(x), lambda out, x: -2 * erfcx_integral(x, n=1),
    saves=("x",), doc="exp(x**2)*erfc(x), without underflow.", backward="SpecialErfcx", ulps=600, scalar="g_erfcx({0})",
    between=(),
    numpy="special.erfcx({0})",
    jax="_erfcx({0})",
)
erfinv = elementwise(
    "erfinv", "x", scipy_special("erfinv"), lambda m, x: m.erfinv(x), lambda out, x: exp_square(out, c=1.0) * HALF_SQRT_PI,
    saves=("out",), domain=of(x="[-1, 1]"), doc="The inverse of erf; infinite at -1 and 1, and so is its derivative.", ulps=4,
    between=(-1.0, 1.0),
    numpy="special.erfinv({0})",
)

def _erfcinv(m: Any, x: Any) -> Any:
    with m.workprec(m.prec + (max(0, -m.mag(x)) if x else 0)):
        value = m.erfinv(1 - x)
    return +value


erfcinv = elementwise(
    "erfcinv", "x", scipy_special("erfcinv"), _erfcinv, lambda out, x: -exp_square(out, c=1.0) * HALF_SQRT_PI,
    symbolic=lambda s, x: s.erfinv(1 - x), saves=("out",), domain=of(x="[0, 2]"),
    doc="The inverse of erfc, accurate near 0.", ulps=8,
    between=(0.0, 2.0),
    numpy="special.erfcinv({0})",
    torch="(-0.7071067811865476 * special.ndtri({0:atom} / 2.0))",
    jax="(-0.7071067811865476 * special.ndtri({0:atom} / 2.0))",
)
