"""Arithmetic, rounding and sign, and the written form of numbers.

That form is mantissa and exponent, and the values that are no numbers.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from gradcli.ops import carrying, extended, pytorch
from gradcli.ops.carrying import product, quotient, remaining, steady
from gradcli.ops.constants import PI
from gradcli.ops.elementwise.exponential import exp2
from gradcli.ops.elementwise.logic import Pieces, equal, isfinite, isnan, less, logical_not, where
from gradcli.ops.registry import (
    SAME,
    Choice,
    Function,
    Kink,
    Number,
    Op,
    declare,
    flat,
    function,
    piecewise,
)
from gradcli.ops.text import POWER, SUM, UNARY, Form, number_in_c, product_in_latex

add = piecewise(
    "add", "x y", np.add, lambda m, x, y: x + y,
    lambda out, x, y: 1, lambda out, x, y: 1,
    doc="x + y", dtype="number",
    written="+", latex=Form("{x:sum} + {y:sum}", SUM), algebra="sum",
    c="({0} + {1})",
)
sub = piecewise(
    "sub subtract", "x y", np.subtract, lambda m, x, y: x - y,
    lambda out, x, y: 1, lambda out, x, y: -1,
    doc="x - y", dtype="number",
    refuses=pytorch.no_differences_of_booleans, written="-",
    latex=Form("{x:sum} - {y:term}", SUM), algebra="difference",
    c="({0} - {1})",
)
mul = piecewise(
    "mul multiply", "x y", np.multiply, lambda m, x, y: x * y,
    lambda out, x, y: y, lambda out, x, y: x,
    doc="x * y", saves="x: y; y: x", dtype="number",
    written="*", latex=product_in_latex, algebra="product",
    carries=product,
    c="({0} * {1})",
)


def _inverse(y: Any) -> Any:
    if type(y) in (int, float) and y == 0:  # Python's own division would raise
        return math.copysign(math.inf, y)
    return 1 / y


div = piecewise(
    "div divide true_divide", "x y", np.divide, lambda m, x, y: x / y,
    lambda out, x, y: _inverse(y), lambda out, x, y: -(x / y) / y,
    doc="x / y", saves="x: y; y: x y",
    domain="y is not 0",
    written="/",
    latex=Form(r"\frac{{{x}}}{{{y}}}", POWER),
    algebra="quotient",
    carries=quotient,
    c="({0} / {1})",
)
neg = piecewise(
    "neg negative", "x", np.negative, lambda m, x: -x, lambda out, x: -1,
    doc="-x", ulps=0, dtype="number",
    refuses=pytorch.no_booleans, written="-",
    latex=Form("-{x:term}", UNARY), algebra="negation",
    c="(-{0})",
)
positive = piecewise(
    "positive", "x", np.positive, lambda m, x: x, lambda out, x: 1,
    doc="+x", ulps=0, dtype="number",
    algebra="identity",
    c="({0})",
)


def _chain(cotangent: Any, partial: Any) -> Any:
    dtype = np.asarray(cotangent).dtype
    alike = type(partial) is np.ndarray and partial.dtype is dtype
    product = (
        cotangent * partial
        if alike
        else np.multiply(cotangent, partial, dtype=dtype, casting="same_kind")
    )
    if is_finite(product):
        return product
    return np.where(np.equal(cotangent, 0), np.zeros((), np.result_type(product)), product)[()]


def is_finite(x: Any) -> bool:
    flat = x if x.ndim == 1 else x.ravel("K")
    # A sum of squares is finite only if all entries are, and takes a third of the time.
    return math.isfinite(flat.dot(flat)) or bool(np.isfinite(x).all())


chain = piecewise(
    "chain", "cotangent partial", _chain,
    lambda m, c, p: c * 0 if c == 0 and c * 0 == 0 else c * p,
    lambda out, c, p: p, lambda out, c, p: c,
    symbolic=lambda s, c, p: c * p, public=False,
    saves="cotangent: partial; partial: cotangent",
    written="*", latex=product_in_latex, algebra="chain",
    doc="cotangent * partial, where an exactly zero cotangent gives zero even if the partial is "
    "infinite or NaN: "
    "nothing flows back from a value that the result does not depend on.", backward="Mul",
    carries=product,
    numpy="_chain({0}, {1})",
)


def _flat(
    names: str,
    forward: Function,
    reference: Function | str,
    doc: str,
    place: str,
    where: Function,
    **record: Any,
) -> Op:
    return flat(
        names,
        "x",
        forward,
        reference,
        None,
        doc=doc,
        dtype="number",
        kinks=Kink(where, place, "0, as everywhere", SAME),
        carries=(),
        **record,
    )


def _half_even(m: Any, x: Any) -> Any:
    below = m.floor(x)
    rest = x - below
    if 2 * rest != 1:
        return below if 2 * rest < 1 else below + 1
    return below if m.floor(below / 2) * 2 == below else below + 1


def _integer(x: Any) -> Any:
    return -math.inf < x < math.inf and x == int(x)


sign = _flat(
    "sign sgn", np.sign, "sign", "-1, 0 or 1; the derivative is 0.", "x = 0", lambda x: x == 0,
    algebra="sign",
)
floor = _flat("floor", np.floor, "floor", "The integer below; the derivative is 0.", "integers", _integer,
              refuses=pytorch.no_booleans, latex=r"\left\lfloor {x} \right\rfloor")
ceil = _flat("ceil", np.ceil, lambda m, x: -m.floor(-x), "The integer above; the derivative is 0.", "integers", _integer,
             refuses=pytorch.no_booleans, latex=r"\left\lceil {x} \right\rceil")
trunc = _flat(
    "trunc fix", np.trunc, lambda m, x: m.floor(x) if x > 0 else -m.floor(-x), "The integer "
    "towards 0; the derivative is 0.",
    "integers but 0", lambda x: x != 0 and _integer(x),
    refuses=pytorch.no_booleans,
)
rint = _flat(
    "round rint", np.rint, _half_even, "The nearest integer, halves to even; the derivative is 0.", "halves between integers",
    lambda x: not _integer(x) and _integer(2 * x),
    c="g_rint({0})", refuses=pytorch.no_booleans,
    torch="torch.round({0})",
)

abs_ = piecewise(
    "abs absolute fabs", "x", np.abs, lambda m, x: -x if x < 0 else x, lambda out, x: where(isnan(x), 0.0, sign(x)),
    symbolic="Abs", saves="x", ulps=0,
    dtype="number",
    kinks=Kink(lambda x: x == 0, "x = 0", "0", Choice("1", lambda x: where(less(x, 0), -x, x))),
    latex=r"\left|{x}\right|", algebra="composed", definition=lambda x: x * sign(x),
    refuses=pytorch.no_booleans,
    doc="The absolute value; the derivative at NaN is 0, as in PyTorch. >>> abs(x)",
    carries=steady,
    c="g_fabs({0})",
)


@function(
    forward=np.floor_divide, partials=(None, None), kind="flat", dtype="number", written="//",
    kinks=Kink(lambda x, y: y != 0 and _integer(x / y), "x a multiple of y", "0, as everywhere"), domain="y is not 0",
    refuses=pytorch.no_division_by_zero,
    carries=((), (0.0,)),
)
def floor_divide(x: Any, y: Any) -> Any:
    """x // y; the derivative is 0."""
    return floor(x / y)


@function(
    "remainder mod", forward=np.remainder,
    partials=(lambda out, x, y: 1, Pieces(lambda out, x, y: equal(floor_divide(x, y), 0), lambda out, x, y: -floor_divide(x, y))),
    kind="piecewise", symbolic=lambda s, x, y: x - y * s.floor(x / y), saves="y: x y", ulps=0, dtype="number",
    kinks=Kink(lambda x, y: y != 0 and _integer(x / y), "x a multiple of y", "1 for x, "
    "-floor(x/y) for y"),
    domain="y is not 0",
    refuses=pytorch.no_division_by_zero,
    written="%",
    carries=remaining,
)
def remainder(x: Any, y: Any) -> Any:
    """x % y, with the sign of y.

    >>> 7.5 % 2
    """
    return x - y * floor(x / y)


@function(
    forward=np.fmod,
    partials=(lambda out, x, y: 1, Pieces(lambda out, x, y: equal(rint((x - out) / y), 0), lambda out, x, y: -rint((x - out) / y))),
    kind="piecewise", saves="y: x y out", ulps=0,
    domain="y is not 0", dtype="number",
    kinks=Kink(lambda x, y: y != 0 and x != 0 and _integer(x / y), "x a multiple of y", "1 for x, "
    "-trunc(x/y) for y"),
    refuses=pytorch.no_division_by_zero,
    carries=remaining,
)
def fmod(x: Any, y: Any) -> Any:
    """The remainder of x / y, with the sign of x."""
    return x - y * trunc(x / y)


@function(
    forward=np.square, partials=(lambda out, x: 2 * x,), kind="piecewise", saves="x",
    dtype="number", backward="Pow", algebra="square",
    carries=lambda m, out, x, e: e * (2 * m.abs(x) + e),
)
def square(x: Any) -> Any:
    """x**2"""
    return x * x


@function(
    forward=np.reciprocal, partials=(lambda out, x: -out * out,), kind="piecewise", saves="out", domain="x is not 0",
    algebra="reciprocal",
    carries=lambda m, out, x, e: quotient(m, out, 1.0, x, 0.0, e),
    c="(1 / {0})",
)
def reciprocal(x: Any) -> Any:
    """1 / x"""
    return 1 / x


def _scale(y: Any, alpha: float) -> Any:
    return y if alpha == 1 else y * alpha


@function()
def torch_add(x: Any, y: Any, *, alpha: Number = 1) -> Any:
    """torch.add: x + alpha*y."""
    return x + _scale(y, alpha)


@function()
def torch_sub(x: Any, y: Any, *, alpha: Number = 1) -> Any:
    """torch.sub: x - alpha*y."""
    return x - _scale(y, alpha)


@function(torch="x, y|other, *, alpha")
def rsub(x: Any, y: Any, *, alpha: Number = 1) -> Any:
    """y - alpha*x, as in PyTorch."""
    return y - _scale(x, alpha)


@function()
def torch_div(x: Any, y: Any, *, rounding_mode: Literal["floor", "trunc", None] = None) -> Any:
    """torch.div: x / y, or rounded down ('floor') or towards 0 ('trunc')."""
    return (
        div(x, y)
        if rounding_mode is None
        else floor_divide(x, y)
        if rounding_mode == "floor"
        else trunc(div(x, y))
    )


@function(public=False, backward="Round")
def round_decimals(x: Any, *, decimals: int = 0) -> Any:
    """x rounded to decimals, halves to even."""
    unit = 10.0 ** abs(decimals)
    return (
        rint(x)
        if not decimals
        else rint(x * unit) / unit
        if decimals > 0
        else rint(x / unit) * unit
    )


@function()
def frac(x: Any) -> Any:
    """The part of x beyond its integer, towards 0; the derivative is 1."""
    return x - trunc(x)


@function(results="fraction integer")
def modf(x: Any) -> Any:
    """The fraction of x, with its sign, and the integer towards 0.

    >>> modf(x)[0]
    """
    return (x - trunc(x), trunc(x))


@function(results="quotient remainder", domain="y is not 0")
def divmod_(x: Any, y: Any) -> Any:
    """x // y and x % y.

    >>> divmod(x, 3)[1]
    """
    return (floor_divide(x, y), remainder(x, y))


@function(public=False)
def ieee_remainder(x: Any, y: Any) -> Any:
    """math.remainder: what is left of x after the nearest multiple of y."""
    return x - y * rint(x / y)


declare("""
    numpy:
        round around = round_decimals(x, decimals, -out)
    torch:
        round special.round = round_decimals(x, *, decimals)
        add = torch_add(x, y|other, *, alpha)
        sub subtract = torch_sub(x, y|other, *, alpha)
        div divide true_divide = torch_div(x, y|other, *, rounding_mode)
    math:
        remainder = ieee_remainder(x, y)
        fabs = abs(x)
""")


# -- Mixtures of values: interpolation, and sums with a scaled product or quotient ---------------


@function()
def lerp(x: Any, end: Any, weight: Any) -> Any:
    """x + weight*(end - x): from x at weight 0 to end at weight 1.

    >>> lerp(x, y, 0.25)
    """
    return x + weight * (end - x)


def affine(x: Any, scale: Any, shift: Any) -> Any:
    """x*scale + shift, of which any may be left out."""
    scaled = x if scale is None else x * scale
    return scaled if shift is None else scaled + shift


def _times(product: Any, value: Any) -> Any:
    return product if value is None else product * value


@function()
def addcmul(x: Any, tensor1: Any, tensor2: Any, value: Any = None) -> Any:
    """x + value*tensor1*tensor2, value being 1 by default.

    >>> addcmul(x, y, z, value=0.5)
    """
    return x + _times(tensor1 * tensor2, value)


@function(domain="tensor2 is not 0")
def addcdiv(x: Any, tensor1: Any, tensor2: Any, value: Any = None) -> Any:
    """x + value*tensor1/tensor2, value being 1 by default."""
    return x + _times(tensor1 / tensor2, value)


declare("""
    torch:
        addcmul addcdiv(x, tensor1, tensor2, *, value)
""")


# -- How numbers are written ---------------------------------------------------------------------


copysign = piecewise(
    "copysign", "x y:signed", np.copysign, lambda m, x, y: -x if bool(x < 0) != bool(y < 0) else x,
    lambda out, x, y: where(equal(x, 0), 0.0, out / x), lambda out, x, y: 0.0, saves="x: x out", ulps=0,
    extended=extended.COPYSIGN,
    symbolic=lambda s, x, y: s.Abs(x) * s.sign(y), doc="x with the sign of y; its derivative by y "
    "is 0.",
    kinks=(
        Kink(lambda x, y: x == 0, "x = 0", "0 for both"), Kink(lambda x, y: y == 0, "y = 0", "the "
        "sign that y's zero has, 0 for y"),
    ),
    carries=lambda m, out, x, y, e, f: e + m.where(carrying.sign(m, out, y, f), 2 * m.abs(x), 0.0),
)
signbit = flat(
    "signbit", "x:signed", np.signbit, lambda m, x: x < 0, dtype="bool",
    doc="Whether x has a minus sign.",
    carries=carrying.sign, kinks=Kink(lambda x: x == 0, "x = 0", "0, as everywhere"),
)


@function(
    forward=np.heaviside, partials=(lambda out, x, values: 0.0, lambda out, x, values: where(equal(x, 0), 1.0, 0.0)),
    kind="piecewise", saves="x",
    kinks=Kink(lambda x, values: x == 0, "x = 0", "0 by x, as everywhere"),
    carries=((0.0,), ()),
)
def heaviside(x: Any, values: Any) -> Any:
    """0 for negative x, 1 for positive x, values at 0. The derivative by x is 0."""
    return where(equal(x, 0), values, where(less(x, 0), 0.0, 1.0))


@function(kinks=Kink(lambda x: x == 0, "x = 0", "0, as everywhere"))
def angle(x: Any) -> Any:
    """The angle of a real number: 0, or pi if it is negative. The derivative is 0."""
    return where(isnan(x), x, where(less(x, 0), PI, 0.0))


@function("real conj conjugate conj_physical resolve_conj resolve_neg")
def real(x: Any) -> Any:
    """x itself: all numbers are real."""
    return x


_LARGEST_BFLOAT16 = float.fromhex("0x1.fep127")


def _finite(x: Any) -> Any:
    # NumPy does not know the limits of bfloat16.
    if getattr(x, "dtype", None) is not None and x.dtype.kind == "V":
        return np.nan_to_num(
            x.astype(np.float32), posinf=_LARGEST_BFLOAT16, neginf=-_LARGEST_BFLOAT16
        )
    return np.nan_to_num(x)


def _finite_reference(m: Any, x: Any) -> Any:
    if -math.inf < x < math.inf:
        return x
    largest = float(np.finfo(np.float64).max)
    return m.zero + (largest if x > 0 else -largest if x < 0 else 0.0)


finite = piecewise(
    "finite", "x", _finite, _finite_reference, Pieces(lambda out, x: logical_not(isfinite(x))), symbolic=lambda s, x: x,
    saves="x", ulps=0, dtype="same", extended=extended.NUMBERS, memory="format", public=False, written="nan_to_num({x})",
    doc="x with NaN replaced by 0, and infinities by the largest numbers; the derivative there is "
    "0.", backward="NanToNum",
    carries=steady,
    c=f"g_nan_to_num({{0}}, {number_in_c(0.0)}, g_largest(), -g_largest())",
    numpy="np.nan_to_num({0})",
)


@function(
    numpy="x, -copy, nan, posinf, neginf", torch="x, nan, posinf, neginf", memory="format",
    backward="NanToNum",
)
def nan_to_num(x: Any, *, nan: Number = None, posinf: Number = None, neginf: Number = None) -> Any:
    """x with NaN replaced by 0 and infinities by the largest numbers, or by those given; the derivative there is 0.

    >>> nan_to_num(1/x, posinf=10)
    """
    found = finite(x)
    for replaced, by in (
        (isnan(x), nan),
        (equal(x, math.inf), posinf),
        (equal(x, -math.inf), neginf),
    ):
        found = found if by is None else where(replaced, by, found)
    return found


@function(numpy="x|x1, other|x2")
def ldexp(x: Any, other: Any) -> Any:
    """x * 2**other."""
    return x * exp2(other)


declare("""
    numpy:
        heaviside(x|x1, values|x2)
""")
