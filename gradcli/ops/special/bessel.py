"""Bessel functions of a real argument; their order is a number known beforehand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gradcli.errors import ArgumentError
from gradcli.ops.elementwise.arithmetic import abs_, sign
from gradcli.ops.elementwise.logic import equal, where
from gradcli.ops.registry import Kink, OfSciPy, Op, declare, elementwise, function, is_number
from gradcli.ops.special.integrals import hypergeometric


def _bessel(name: str, word: str, slope: Callable[[Op, Any, float], Any], doc: str, **record: Any) -> Op:
    def partial(out: Any, x: Any, v: float) -> Any:
        return slope(op, x, v)

    def of_one_order(x: Any, v: float) -> Any:
        if not is_number(v):
            raise ArgumentError(f"{name}: the order must be a number, not an array", help=f"stack [{name}(0, x), {name}(1, x)]")
        if not math.isfinite(v):
            raise ArgumentError(f"{name}: the order must be finite, not {v}")
        return forward(v, x)

    forward = OfSciPy(name)
    op = elementwise(
        f"{name} {word}", "x", of_one_order, lambda m, x, v: getattr(m, word)(v, x), partial, static={"v": 0},
        doc=f"{doc} In a program the order comes first: {name}(1, x). >>> {name}(1, x)",
        written=f"{name}({{v}}, {{x}})", latex=rf"{name[0].upper()}_{{{{{{v}}}}}}\left({{x}}\right)",
        numpy=lambda shapes, v: f"special.{name}({v!r}, {{0}})", **record,
    )  # fmt: skip
    return op


def _falling(op: Op, x: Any, v: float) -> Any:
    return -op(x, v=1) if v == 0 else (op(x, v=v - 1) - op(x, v=v + 1)) / 2


def _out_of_phase(m: Any, out: Any, x: Any, v: float) -> Any:
    """The rounding of functions that oscillate, of whose phase SciPy loses the digits of so large an x."""
    return 1500 * m.abs(out) + m.where(m.greater(m.abs(x), 1e15), m.sqrt(m.abs(x)), 0.0)


jv = _bessel(
    "jv", "besselj", _falling, "The Bessel function of the first kind and of order v.", ulps=1500, rounding=_out_of_phase,
    carries=lambda m, out, x, e, v: e * 1.0 if v == int(v) else None,
    domain="x >= 0, or v an integer",
)
yv = _bessel(
    "yv", "bessely", _falling, "The Bessel function of the second kind and of order v.", ulps=1500, rounding=_out_of_phase,
    domain="x > 0",
)
iv = _bessel(
    "iv", "besseli",
    lambda op, x, v: op(x, v=1) if v == 0 else (op(x, v=v - 1) + op(x, v=v + 1)) / 2,
    "The modified Bessel function of the first kind and of order v.", domain="x >= 0, or v an integer", ulps=16,
    carries=(0.0,),
    torch=lambda shapes, v: "_bessel_i2({0})" if v == 2 else "",
)
kv = _bessel(
    "kv", "besselk",
    lambda op, x, v: -op(x, v=1) if v == 0 else -(op(x, v=v - 1) + op(x, v=v + 1)) / 2,
    "The modified Bessel function of the second kind and of order v.", domain="x > 0", ulps=40,
    carries=(0.0,),
)


@function("j0 bessel_j0")
def j0(x: Any) -> Any:
    """The Bessel function jv(0, x)."""
    return jv(x, v=0)


@function("j1 bessel_j1")
def j1(x: Any) -> Any:
    """The Bessel function jv(1, x)."""
    return jv(x, v=1)


@function("y0 bessel_y0", domain="x > 0")
def y0(x: Any) -> Any:
    """The Bessel function yv(0, x)."""
    return yv(x, v=0)


@function("y1 bessel_y1", domain="x > 0")
def y1(x: Any) -> Any:
    """The Bessel function yv(1, x)."""
    return yv(x, v=1)


@function("k0 modified_bessel_k0", domain="x > 0")
def k0(x: Any) -> Any:
    """kv(0, x)."""
    return kv(x, v=0)


@function("k1 modified_bessel_k1", domain="x > 0")
def k1(x: Any) -> Any:
    """kv(1, x)."""
    return kv(x, v=1)


def _i0_slope(out: Any, x: Any) -> Any:
    return i1(x)


@function(
    "i0 modified_bessel_i0", forward=OfSciPy("i0"), partials=(_i0_slope,), ulps=6, latex=r"I_{{0}}\left({x}\right)",
    carries=(0.0,),
)  # fmt: skip
def i0(x: Any) -> Any:
    """The modified Bessel function iv(0, x)."""
    return iv(x, v=0)


@function(
    "i1 modified_bessel_i1", forward=OfSciPy("i1"), partials=(lambda out, x: (i0(x) + iv(x, v=2)) / 2,), ulps=16,
    latex=r"I_{{1}}\left({x}\right)", backward="SpecialI1", carries=(),
)  # fmt: skip
def i1(x: Any) -> Any:
    """The modified Bessel function iv(1, x)."""
    return iv(x, v=1)


def _i0e_slope_slope(out: Any, x: Any, n: int) -> Any:
    return -(2 * n + 1) / (n + 1) * i0e_slope(x, n=n + 1)


@function(
    partials=(_i0e_slope_slope,), public=False, ulps=100,
    symbolic=lambda s, x, n: s.diff(s.exp(-x) * s.besseli(0, x), x, n) * (-1) ** n * s.factorial(n) / s.rf(s.Rational(1, 2), n) / 2**n,
    written={(1,): "(i0e({x}) - i1e({x}))"},
    latex={(1,): r"\left(\operatorname{{i0e}}\left({x}\right) - \operatorname{{i1e}}\left({x}\right)\right)"},
    carries=(),
    torch=lambda shapes, n: "(special.i0e({0}) - special.i1e({0}))" if n == 1 else "",
)
def i0e_slope(x: Any, *, n: int = 1) -> Any:
    """The n-th derivative of exp(-x)*i0(x) but for its factor: nothing cancels at large x."""
    return hypergeometric(-2 * x, above=(n + 0.5,), below=(n + 1.0,))


i0e = elementwise(
    "i0e", "x", OfSciPy("i0e"), lambda m, x: m.besseli(0, x) * m.exp(-abs(x)),
    lambda out, x: -sign(x) * i0e_slope(abs_(x), n=1), symbolic=lambda s, x: s.besseli(0, x) * s.exp(-s.Abs(x)),
    kinks=Kink(lambda x: x == 0, "x = 0", "0"), doc="exp(-abs(x))*i0(x), without overflow.", backward="SpecialI0E", ulps=12,
    carries=(0.0,),
)
i1e = elementwise(
    "i1e", "x", OfSciPy("i1e"), lambda m, x: m.besseli(1, x) * m.exp(-abs(x)),
    lambda out, x: where(equal(x, 0), 0.5, i0e_slope(abs_(x), n=1) - out / x), backward="SpecialI1E",
    symbolic=lambda s, x: s.besseli(1, x) * s.exp(-s.Abs(x)), saves="x out", doc="exp(-abs(x))*i1(x), without overflow.", ulps=16,
    carries=(-1.5451371173815606, 1.5451371173815606),
)

declare("""
    numpy:
        jv jn besselj = jv(v, x|z)
        yv yn bessely = yv(v, x|z)
        iv besseli = iv(v, x|z)
        kv kn besselk = kv(v, x|z)
""")
