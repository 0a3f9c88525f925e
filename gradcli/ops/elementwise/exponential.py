"""Powers, roots, exponentials and logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops import extended, pytorch
from gradcli.ops.carrying import error_of_exponential, logarithm, power, root
from gradcli.ops.constants import LN2, LN10
from gradcli.ops.elementwise.logic import (
    Pieces,
    equal,
    greater_equal,
    less_equal,
    logical_and,
    where,
)
from gradcli.ops.extended import Entrywise
from gradcli.ops.registry import Kink, OfSciPy, Op, declare, elementwise, function
from gradcli.ops.text import POWER, Form, number_in_c, power_in_latex

_LONG = 64  # bits of an exponent from which powers are computed by logarithms
_IMMENSE = 2**18  # largest logarithm of a result that is neither infinite nor 0


def _pow_reference(m: Any, x: Any, y: Any) -> Any:
    if y == 0:
        return m.one
    if x == 0:
        if y > 0:
            return m.zero
        return m.inf
    if m.isfinite(x) and m.isfinite(y) and m.mag(y) > _LONG:
        return _immense_power(m, x, y)
    return m.power(x, y)


def _immense_power(m: Any, x: Any, y: Any) -> Any:
    """Compute a power whose exponent is too long for repeated multiplication.

    It is a whole number with so many digits that multiplying would take as many steps.
    """
    size = y * m.log(abs(x))
    sign = -1 if x < 0 and m.isint(y) and int(y) % 2 else 1
    if x < 0 and not m.isint(y):
        return m.nan
    if abs(size) > _IMMENSE:
        return sign * m.inf if size > 0 else m.zero
    return sign * m.exp(size)


def _power_slope(out: Any, x: Any, y: Any) -> Any:
    # Only for arrays: the slope by a node has to be a node that depends on x.
    squared = type(x) is np.ndarray and type(y) is int and y == 2
    slope = y * (x if squared else x ** (y - 1))
    return 0.0 if _is_number(y) and not y else slope


def _is_number(y: Any) -> bool:
    """Return whether an exponent is no value, but a number of the program."""
    return type(y) is int or type(y) is float


def has_exponent(node: Any) -> bool:
    """Return whether a node is a power whose exponent is no constant."""
    return node.op is pow_ and not node.operands[1].is_constant


def _raised(x: Any, y: Any) -> Any:
    """Return x**y, for which long double takes logarithms even of squares."""
    if not np.ndim(y) and y in (1, 2):
        return x if y == 1 else x * x
    return np.power(x, y)


pow_ = elementwise(
    "pow power float_power", "x y", np.power, _pow_reference,
    Pieces(lambda out, x, y: (None if y else True) if _is_number(y) else equal(y, 0), _power_slope),
    Pieces(lambda out, x, y: logical_and(equal(x, 0), greater_equal(y, 0)), lambda out, x, y: out * log(x)),
    symbolic="Pow",
    saves="x: x y; y: x y out", domain="x > 0, or y an integer (y >= 0 at x = 0)",
    kinks=Kink(lambda x, y: y == 0 and x == 0, "0**0", "0 for both (the value is 1)"),
    written="**", latex=power_in_latex, algebra="power",
    doc="x to the power y. The derivative with respect to y needs x > 0 (at x = 0 < y it is 0). "
    ">>> x**3",
    ulps=2,
    dtype="number",
    extended=Entrywise((
        lambda x, y: y * _raised(x, np.where(y == 0, 0.0, y - 1)),
        lambda x, y: np.where((x == 0) & (y >= 0), 0.0, np.power(x, y) * np.log(np.where(x == 0, 1.0, x))),
    ), _raised), refuses=pytorch.no_power,
    carries=power,
)
sqrt = elementwise(
    "sqrt", "x", np.sqrt, "sqrt", lambda out, x: 1 / (2 * out), saves="out", ulps=1,
    domain="x >= 0",
    doc="The square root; the derivative at 0 is infinite. >>> sqrt(x)",
    latex=r"\sqrt{{{x}}}", algebra="composed", definition=lambda x: x**0.5,
    carries=root,
)


@function(
    forward=lambda x: 1 / np.sqrt(x), partials=(lambda out, x: -out / (2 * x),), saves="x out", domain="x > 0", ulps=2, algebra="composed",
    c="(1 / g_sqrt({0}))",
)
def rsqrt(x: Any) -> Any:
    """1 / sqrt(x)"""
    return 1 / sqrt(x)


cbrt = elementwise(
    "cbrt", "x", np.cbrt, lambda m, x: m.sign(x) * m.cbrt(abs(x)), lambda out, x: 1 / (3 * out * out),
    saves="out",
    doc="The real cube root, also of negative numbers; the derivative at 0 is infinite.",
    latex=Form(r"\sqrt[3]{{{x}}}", POWER), carries=(),
)
exp = elementwise(
    "exp", "x", np.exp, "exp", lambda out, x: out, saves="out",
    algebra="exponential", doc="e to the power x.", ulps=3,
    carries=error_of_exponential,
)


@function(forward=np.exp2, partials=(lambda out, x: out * LN2,), saves="out", ulps=3, carries=())
def exp2(x: Any) -> Any:
    """2 to the power x."""
    return 2**x


expm1 = elementwise(
    "expm1", "x", np.expm1, "expm1", lambda out, x: exp(x), symbolic=lambda s, x: s.exp(x) - 1,
    doc="exp(x) - 1, accurate near 0.", ulps=3,
    carries=(),
)
log: Op = elementwise(
    "log ln", "x", np.log, "log", lambda out, x: 1 / x, domain="x > 0",
    algebra="logarithm",
    doc="The natural logarithm. >>> log(x)",
    carries=logarithm,
)


@function(
    forward=np.log2, partials=(lambda out, x: 1 / (x * LN2),), domain="x > 0", ulps=3, carries=(0.0,),
)
def log2(x: Any) -> Any:
    """The logarithm to base 2."""
    return log(x) / LN2


@function(
    forward=np.log10, partials=(lambda out, x: 1 / (x * LN10),), domain="x > 0", ulps=3, carries=(0.0,),
)
def log10(x: Any) -> Any:
    """The logarithm to base 10."""
    return log(x) / LN10


log1p = elementwise(
    "log1p", "x", np.log1p, "log1p", lambda out, x: 1 / (1 + x), symbolic=lambda s, x: s.log(1 + x),
    domain="x > -1", doc="log(1 + x), accurate near 0.", ulps=3,
    carries=(-1.0,),
)


xlogy = elementwise(
    "xlogy", "x y", OfSciPy, lambda m, x, y: m.zero if x == 0 else x * m.log(y),
    lambda out, x, y: where(logical_and(equal(x, 0), less_equal(y, 0)), 0.0, log(y)),
    lambda out, x, y: where(logical_and(equal(x, 0), equal(y, 0)), 0.0, x / y),
    symbolic=lambda s, x, y: x * s.log(y), domain="y > 0, or x = 0",
    kinks=Kink(lambda x, y: x == 0 and y == 0, "x = y = 0", "0 for both (PyTorch has NaN by y)"),
    extended=extended.XLOGY, doc="x * log(y), and 0 where x = 0. >>> xlogy(x, y)", ulps=3,
    carries=((), (0.0,)),
)


@function(
    forward=OfSciPy,
    partials=(
        lambda out, x, y: where(logical_and(equal(x, 0), less_equal(y, -1)), 0.0, log1p(y)),
        lambda out, x, y: where(logical_and(equal(x, 0), equal(y, -1)), 0.0, x / (1 + y)),
    ),
    symbolic=lambda s, x, y: x * s.log(1 + y), domain="y > -1, or x = 0",
    kinks=Kink(lambda x, y: x == 0 and y == -1, "x = 0 and y = -1", "0 for both (PyTorch has NaN "
    "by y)"),
    extended=extended.XLOG1PY,
    carries=((), (-1.0,)),
)
def xlog1py(x: Any, y: Any) -> Any:
    """x * log(1 + y), accurate near y = 0, and 0 where x = 0."""
    return where(equal(x, 0), 0.0, x * log1p(y))


def _exp_square(x: Any, c: float) -> Any:
    # x = high + low, where high has so few bits that high**2 is exact. The rounding error of x**2
    # would grow with x**2.
    x = np.asarray(x)
    unit = 2.0**20 if x.dtype == np.float64 else 2.0**6
    x = np.clip(x, -1000.0, 1000.0)
    high = np.rint(x * unit) / unit
    return (np.exp(c * (high * high)) * np.exp(c * ((x - high) * (x + high))))[()]


@function(
    forward=_exp_square, partials=(lambda out, x, c: 2 * c * (x * out),), saves="x out", public=False,
    written={(-1.0,): "exp(-{x:atom}**2)", (1.0,): "exp({x:atom}**2)", (-0.5,): "exp(-{x:atom}**2/2)", (0.5,): "exp({x:atom}**2/2)"},
    latex={
        (-1.0,): r"\exp\left(-{x:atom}^{{2}}\right)", (1.0,): r"\exp\left({x:atom}^{{2}}\right)",
        (-0.5,): r"\exp\left(-\frac{{{x:atom}^{{2}}}}{{2}}\right)", (0.5,): r"\exp\left(\frac{{{x:atom}^{{2}}}}{{2}}\right)",
    },
    algebra="composed",
    carries=(0.0,),
    c=lambda c: f"g_exp_square({{0}}, {number_in_c(c)})",
    numpy="np.exp({c} * {0:atom} ** 2)",
)
def exp_square(x: Any, *, c: float = -1.0) -> Any:
    """exp(c*x**2) for a power of 2 or its negative as c, accurate in the tails."""
    return exp(c * (x * x))


@function()
def math_log(x: Any, base: Any = None) -> Any:
    """math.log: the logarithm to a base, natural without one."""
    return log(x) if base is None else log(x) / log(base)


declare("""
    numpy:
        exp10 = pow(y|x; x=10.0)
    math:
        log = math_log(x, base)
        pow(x, y)
""")
