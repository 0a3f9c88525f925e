"""Powers, roots, exponentials and logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.constants import LN2, LN10
from gradcli.ops.logic import equal, greater_equal, logical_and, where
from gradcli.ops.spec import Kink, Op, composite, elementwise


def _pow(x: Any, y: Any) -> Any:
    # np.power raises for an integer array with a negative power; every number here is a float.
    return np.power(x, y)


def _pow_reference(m: Any, x: Any, y: Any) -> Any:
    if y == 0:
        return m.one
    if x == 0:
        if y > 0:
            return m.zero
        return m.inf
    return m.power(x, y)


pow_ = elementwise(
    "pow", "x y", _pow, _pow_reference,
    lambda out, x, y: where(equal(y, 0), 0.0, y * x ** (y - 1)),
    lambda out, x, y: where(logical_and(equal(x, 0), greater_equal(y, 0)), 0.0, out * log(x)),
    symbolic=lambda s, x, y: s.Pow(x, y), aliases=("power",), saves=("x", "y", "out"),
    domain="x > 0, or y an integer",
    kinks=(Kink(lambda x, y: x == 0 and y == 0, "0**0", "0 for both (the value is 1)"),),
    doc="x to the power y. The derivative with respect to y needs x > 0 (at x = 0 < y it is 0).",
    examples=("x**3", "2**x"), ulps=1,
)
sqrt = elementwise(
    "sqrt", "x", np.sqrt, lambda m, x: m.sqrt(x), lambda out, x: 1 / (2 * out), saves=("out",),
    domain="x >= 0", doc="The square root; the derivative at 0 is infinite.", examples=("sqrt(x)",),
)
rsqrt = elementwise(
    "rsqrt", "x", lambda x: 1 / np.sqrt(x), lambda m, x: 1 / m.sqrt(x), lambda out, x: -out / (2 * x),
    saves=("x", "out"), domain="x > 0", doc="1 / sqrt(x)", ulps=2,
)
cbrt = elementwise(
    "cbrt", "x", np.cbrt, lambda m, x: m.sign(x) * m.cbrt(abs(x)), lambda out, x: 1 / (3 * out * out),
    symbolic=lambda s, x: s.sign(x) * s.Abs(x) ** s.Rational(1, 3), saves=("out",),
    doc="The real cube root, also of negative numbers; the derivative at 0 is infinite.", ulps=1,
)
exp = elementwise("exp", "x", np.exp, lambda m, x: m.exp(x), lambda out, x: out, saves=("out",), doc="e to the power x.")
exp2 = elementwise(
    "exp2", "x", np.exp2, lambda m, x: m.power(2, x), lambda out, x: out * LN2,
    symbolic=lambda s, x: s.Pow(2, x), saves=("out",), doc="2 to the power x.",
)
expm1 = elementwise(
    "expm1", "x", np.expm1, lambda m, x: m.expm1(x), lambda out, x: exp(x), symbolic=lambda s, x: s.exp(x) - 1,
    saves=("x",), doc="exp(x) - 1, accurate near 0.",
)
log: Op = elementwise(
    "log", "x", np.log, lambda m, x: m.log(x), lambda out, x: 1 / x, aliases=("ln",), saves=("x",), domain="x > 0",
    doc="The natural logarithm.", examples=("log(x)",),
)
log2 = elementwise(
    "log2", "x", np.log2, lambda m, x: m.log(x, 2), lambda out, x: 1 / (x * LN2), saves=("x",), domain="x > 0",
    doc="The logarithm to base 2.",
)
log10 = elementwise(
    "log10", "x", np.log10, lambda m, x: m.log(x, 10), lambda out, x: 1 / (x * LN10), saves=("x",), domain="x > 0",
    doc="The logarithm to base 10.",
)
log1p = elementwise(
    "log1p", "x", np.log1p, lambda m, x: m.log1p(x), lambda out, x: 1 / (1 + x), symbolic=lambda s, x: s.log(1 + x),
    saves=("x",), domain="x > -1", doc="log(1 + x), accurate near 0.",
)
def _xlogy(m: Any, x: Any, y: Any) -> Any:
    return m.zero if x == 0 else x * m.log(y)


def _xlogy_forward(x: Any, y: Any) -> Any:
    from scipy import special

    return special.xlogy(x, y)


xlogy = elementwise(
    "xlogy", "x y", _xlogy_forward, _xlogy,
    lambda out, x, y: where(logical_and(equal(x, 0), greater_equal(0.0, y)), 0.0, log(y)), lambda out, x, y: x / y,
    symbolic=lambda s, x, y: x * s.log(y), saves=("x", "y"), domain="y > 0, or x = 0",
    doc="x * log(y), and 0 where x = 0.", examples=("xlogy(x, x)",), ulps=2,
)
math_log = composite(
    "math_log", "x base?", lambda x, base: log(x) if base is None else log(x) / log(base), public=False,
    doc="math.log: the logarithm to a base, natural without one.",
)
