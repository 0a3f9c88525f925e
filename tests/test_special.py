"""Elementwise functions where a derivative is a choice, and the ways in which libraries call them.

Numbers in the first table were measured with PyTorch 2.13 in float64.
"""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest

import gradcli
from gradcli.ops.registry import registry

inf, nan = float("inf"), float("nan")
LONG = np.longdouble


def evaluated(text: str, **values: Any) -> Any:
    return gradcli.evaluate(
        text, at=values, wrt=list(values), seed=None, check=False, formula=False
    )


# The same number however it is called.
SYNONYMS = [
    (
        "torch.polygamma(2, x)",
        "torch.polygamma(x, 2)",
        "x.polygamma(2)",
        "torch.special.polygamma(n=2, input=x)",
    ),
    ("torch.polygamma(0, x)", "digamma(x)", "scipy.special.psi(x)", "torch.special.psi(x)"),
    (
        "torch.clamp(x, min=1)",
        "np.clip(x, 1, None)",
        "x.clamp_min(1)",
        "torch.clip(x, 1)",
        "np.clip(x, a_min=1, a_max=None)",
    ),
    ("torch.round(x, decimals=1)", "np.round(x, 1)", "x.round(1)", "np.around(x, decimals=1)"),
    ("torch.special.expit(x)", "sigmoid(x)", "scipy.special.expit(x)"),
    (
        "torch.mvlgamma(x, p=2)",
        "scipy.special.multigammaln(x, 2)",
        "torch.special.multigammaln(x, 2)",
        "x.mvlgamma(2)",
    ),
    ("torch.special.zeta(x, 1)", "zeta(x)", "scipy.special.zeta(x)"),
    (
        "scipy.special.jv(1, x)",
        "scipy.special.jn(1, x)",
        "besselj(1, x)",
        "scipy.special.j1(x)",
        "torch.special.bessel_j1(x)",
    ),
    ("scipy.special.iv(0, x)", "torch.special.modified_bessel_i0(x)", "np.i0(x)", "torch.i0(x)"),
    ("scipy.special.sici(x)[0]", "Si(x)"),
    ("sin(x)/x", "torch.special.spherical_bessel_j0(x)", "sinc(x/pi)"),
    ("scipy.special.perm(x, 2)", "x*(x - 1)"),
    ("scipy.special.expi(x)", "Ei(x)", "li(exp(x))"),
    ("scipy.special.exp1(x)", "expn(1, x)", "E1(x)"),
    (
        "scipy.special.binom(x, 2)",
        "binomial(x, 2)",
        "scipy.special.comb(x, 2, exact=False)",
        "x*(x - 1)/2",
    ),
    ("scipy.special.factorial(x)", "math.gamma(x + 1)", "factorial(x)"),
    ("torch.lerp(x, 3, 0.25)", "torch.lerp(input=x, end=3, weight=0.25)", "0.75*x + 0.75"),
    ("np.float_power(x, 3)", "torch.float_power(x, exponent=3)", "x**3"),
    (
        "torch.gt(x, 1)*x",
        "torch.ge(x, 1)*x",
        "np.greater(x, 1)*x",
        "torch.ne(x, 1)*x",
        "x*(1 - torch.lt(x, 1))",
    ),
    ("torch.ldexp(x, 3)", "np.ldexp(x, 3)", "8*x"),
    ("torch.add(x, 2, alpha=3)", "x.add(2, alpha=3)", "x.sub(-6)", "x + 6"),
    ("torch.nan_to_num(x)", "np.nan_to_num(x, copy=True, nan=0.0)", "x.nan_to_num()", "x.real"),
]


@pytest.mark.parametrize("texts", SYNONYMS, ids=lambda texts: texts[0])
def test_ways_to_call(texts: tuple[str, ...]) -> None:
    first, *others = (evaluated(text, x=2.75) for text in texts)
    for other in others:
        assert other.value == pytest.approx(first.value, rel=1e-14)
        assert other.grad["x"] == pytest.approx(first.grad["x"], rel=1e-13)


TAILS = [
    ("erfcx(x)", 1e10, lambda m, x: m.exp(x * x) * m.erfc(x)),
    ("erfc(x)", 26.0, lambda m, x: m.erfc(x)),
    ("ndtr(x)", -37.0, lambda m, x: m.erfc(-x / m.sqrt(2)) / 2),
    ("i0e(x)", 1e7, lambda m, x: m.besseli(0, x) * m.exp(-x)),
    ("i1e(x)", 1e7, lambda m, x: m.besseli(1, x) * m.exp(-x)),
    ("sinc(x)", 1e-9, lambda m, x: m.sincpi(x)),
    ("sinc(x)", 1e9 + 0.5, lambda m, x: m.sincpi(x)),
    ("jv(3, x)", 1e6, lambda m, x: m.besselj(3, x)),
    ("yv(0.5, x)", 1e5, lambda m, x: m.bessely(m.mpf(1) / 2, x)),
    ("zeta(x)", 1.0001, lambda m, x: m.zeta(x)),
    ("zeta(x)", -2.5, lambda m, x: m.zeta(x)),
    ("zeta(2.5, x)", 1e-3, lambda m, x: m.zeta(m.mpf(5) / 2, x)),
    ("log_ndtr(x)", 9.0, lambda m, x: m.log(m.ncdf(x))),
    ("logit(x)", 0.5000001, lambda m, x: m.log(x / (1 - x))),
    ("airy(x)[0]", -40.0, lambda m, x: m.airyai(x)),
    ("airy(x)[0]", -1e9, lambda m, x: m.airyai(x)),
    ("airy(x)[2]", 3.5, lambda m, x: m.airybi(x)),
    ("airy(x)[2]", -1e6, lambda m, x: m.airybi(x)),
    ("fresnel(x)[0]", 31.7, lambda m, x: m.fresnels(x)),
    ("fresnel(x)[1]", -12345.678, lambda m, x: m.fresnelc(x)),
    ("spence(x)", 1e8, lambda m, x: m.polylog(2, 1 - x)),
    ("spherical_jn(3, x)", 1e-5, lambda m, x: m.sqrt(m.pi / 2 / x) * m.besselj(3.5, x)),
    ("spherical_jn(8, x)", 1e6, lambda m, x: m.sqrt(m.pi / 2 / x) * m.besselj(8.5, x)),
    ("hyp1f1(-2.75, -2.5, x)", 19.5, lambda m, x: m.hyp1f1(-2.75, -2.5, x)),
    ("hyp1f1(0.3, 1.1, x)", -1e20, lambda m, x: m.hyp1f1(0.3, 1.1, x)),
    ("hyp2f1(1, 1.4828, 3.4828, x)", 0.9997, lambda m, x: m.hyp2f1(1, 1.4828, 3.4828, x)),
    ("hyp2f1(6, 6, -4.4776, x)", -1e-4, lambda m, x: m.hyp2f1(6, 6, -4.4776, x)),
    ("hyp2f1(3, 1, 0.5, x)", -1e5, lambda m, x: m.hyp2f1(3, 1, 0.5, x)),
    ("hyp2f1(-1, 2, 1, x)", 0.5, lambda m, x: 1 - 2 * x),
    ("hyp2f1(5, 2, 1, x)", -0.25, lambda m, x: (1 + 4 * x) * (1 - x) ** -6),
    ("hyp2f1(3.5, 3.2, 0.3, x)", -0.03419768884012314, lambda m, x: m.hyp2f1(3.5, 3.2, 0.3, x)),
    ("hyp2f1(-3, 2.5, 1.5, x)", 7.0, lambda m, x: m.hyp2f1(-3, 2.5, 1.5, x)),
]


HURWITZ = [
    *((x, q) for x in (-4.97, -4.575, -4.0, -3.6, -2.355, -2.064, -1.5, -0.4, 0.0, 0.3, 0.95) for q in (1e-3, 0.14, 0.5, 1.3, 3.7, 60.0)),
    (1.05, 0.3), (3.0, 1e-3), (8.0, 0.9999), (-4.999, 7.9), (-4.999, 8.1), (-3.0, 0.5), (-4.575, 0.1399),
]  # fmt: skip
RIEMANN = [
    -0.5,
    -1.0,
    -1.25,
    -2.0000001,
    -3.9999999999999,
    -6.0,
    -12.0000000001,
    -31.7,
    -100.3,
    -152.20180098455603,
    -253.5,
    -260.0,
]


@pytest.mark.parametrize("n", [0, 1, 2])
def test_hurwitz_zeta_is_as_right_as_its_record_says(n: int) -> None:
    """Where it is negative of x, and near its zeros, what is summed cancels: in long double nine
    digits are left at the worst.
    """
    op = registry()["hurwitz_zeta" if n == 0 else "zeta_slope"]
    static = {"n": n} if n else {}
    wrong = []
    for x, q in HURWITZ + [(x, 1.0) for x in RIEMANN if n == 0 or x > -5]:
        with mpmath.workdps(60):
            wanted = (
                mpmath.zeta(mpmath.mpf(x), mpmath.mpf(q), n)
                if q != 1 or n
                else mpmath.zeta(mpmath.mpf(x))
            )
            found = float(op.forward(np.float64(x), np.float64(q), **static))
            off = float(abs(mpmath.mpf(found) - wanted))
        rounds = op.rounding
        own = (
            rounds(np, found, np.float64(x), np.float64(q))
            if callable(rounds)
            else op.ulps * abs(found)
        )
        allowed = 2.0**-53 * float(own)
        wide = np.finfo(LONG).eps < 1e-18
        if not off <= allowed or (wide and q != 1 and off > 1e-9 * abs(wanted) and wanted):
            wrong.append(
                f"{off / abs(wanted) if wanted else off:.3g}, the record says {allowed:.3g}, at "
                f"{x}, {q}: {found!r}"
            )
    assert wrong == []


@pytest.mark.parametrize(
    ("x", "q"),
    [(-3.6, 0.14), (-4.575, 0.1399), (-4.97, 0.5), (-2.064, 0.001), (-2.0000001, 1.0), (0.5, 0.3)],
)
def test_gradients_of_hurwitz_zeta_are_agreed_on(x: float, q: float) -> None:
    record = gradcli.evaluate("zeta(x, q)", x=x, q=q, formula=False)
    assert record.check.verdict == "agree"
    assert {name: part.verdict.word for name, part in record.check.variables.items()} == {
        "x": "agree",
        "q": "agree",
    }
    with mpmath.workdps(40):
        assert record.grad["x"] == pytest.approx(
            float(mpmath.zeta(mpmath.mpf(x), mpmath.mpf(q), 1)), rel=1e-9
        )


@pytest.mark.parametrize("name", ["jv", "yv", "iv", "kv"])
def test_a_bessel_function_is_of_one_order(name: str) -> None:
    with pytest.raises(
        gradcli.GradcliError, match=f"{name}: the order must be a number, not an array"
    ):
        gradcli.evaluate(f"sum({name}([0, 1], 2.5))", check=False)
    with pytest.raises(
        gradcli.GradcliError, match=f"{name}: the order must be a number, not an array"
    ):
        gradcli.evaluate(f"sum({name}(x, 2.5))", x=[0.0, 1.0], check=False)


@pytest.mark.parametrize(
    ("text", "x", "function"), TAILS, ids=[f"{text} at {x:g}" for text, x, _ in TAILS]
)
def test_first_and_second_derivatives_where_formulas_cancel(
    text: str, x: float, function: Any
) -> None:
    first = evaluated(text, x=x)
    second = gradcli.evaluate(text, x=x, mode="hessian", check=False, formula=False).hessian["x"][
        "x"
    ]
    with mpmath.workdps(120):
        value, slope, curve = (
            mpmath.diff(lambda v: function(mpmath.mp, v), mpmath.mpf(x), n) for n in range(3)
        )
    assert first.value == pytest.approx(float(value), rel=1e-12)
    assert first.grad["x"] == pytest.approx(float(slope), rel=1e-12)
    assert second == pytest.approx(float(curve), rel=1e-11)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
@pytest.mark.parametrize("x", [-100.3, -150.49, -199.999, -1234.501])
def test_polygamma_far_to_the_left_is_reflected(n: int, x: float) -> None:
    found = gradcli.evaluate(f"polygamma({n}, x)", x=x, formula=False)
    assert found.value == pytest.approx(float(mpmath.psi(n, mpmath.mpf(x))), rel=2e-14)
    assert found.check is not None
    assert found.check.verdict.word == "agree"


def test_polygamma_so_far_to_the_left_that_no_sum_ends() -> None:
    x = -1e12 - 0.25
    assert gradcli.evaluate("polygamma(1, x)", x=x, formula=False).value == pytest.approx(
        2 * math.pi**2, rel=1e-11
    )
    assert gradcli.evaluate("polygamma(1, x)", x=-1e20, formula=False).value == math.inf


@pytest.mark.parametrize(
    ("text", "message", "help"),
    [
        ("hyp2f1([1, 2], 1, 2, x)", "hyp2f1: a must be a number of at most 100 in size", "number"),
        ("hyp1f1(1e308, 1, x)", "hyp1f1: a must be a number of at most 100 in", "number"),
        ("hyp1f1(1, -2, x)", "hyp1f1: b = -2 is a pole", "give another b"),
        ("spherical_jn(100000, x)", "the order must be at most 1000", ""),
        ("scipy.special.wofz(x)", "'scipy.special.wofz' is not in the language", "dawsn"),
    ],
)
def test_what_has_no_value_here_is_refused_by_name(text: str, message: str, help: str) -> None:
    with pytest.raises(gradcli.GradcliError, match=message) as caught:
        gradcli.evaluate(text, x=0.5)
    assert help in (caught.value.help or "")


def test_a_spherical_bessel_function_of_a_tiny_number_is_the_first_term_of_its_series() -> None:
    """SciPy's is 0, for the square of the number is."""
    found = gradcli.evaluate("spherical_jn(1, x)", x=3e-300)
    assert (found.value, found.grad["x"]) == pytest.approx((1e-300, 1 / 3), rel=1e-15)
