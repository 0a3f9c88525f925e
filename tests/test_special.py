"""Elementwise functions where a derivative is a choice, and the ways in which libraries call them.

Numbers in the first table were measured with PyTorch 2.13 in float64.
"""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from recorded import over, read_table

import gradcli
from gradcli.ops.registry import registry

inf, nan = float("inf"), float("nan")
LONG = np.longdouble


def evaluated(text: str, **values: Any) -> Any:
    return gradcli.evaluate(
        text, at=values, wrt=list(values), seed=None, check=False, formula=False
    )


# The same number however it is called.


@over("special", "synonyms", "texts")
def test_ways_to_call(texts: tuple[str, ...]) -> None:
    first, *others = (evaluated(text, x=2.75) for text in texts)
    for other in others:
        assert other.value == pytest.approx(first.value, rel=1e-14)
        assert other.grad["x"] == pytest.approx(first.grad["x"], rel=1e-13)


HURWITZ, RIEMANN = read_table("hurwitz.json").values()


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


@over("special", "tails", "text", "x", "true")
def test_first_and_second_derivatives_where_formulas_cancel(text: str, x: float, true: str) -> None:
    function = eval(f"lambda x: {true}", {"m": mpmath.mp})
    first = evaluated(text, x=x)
    second = gradcli.evaluate(text, x=x, mode="hessian", check=False, formula=False).hessian["x"][
        "x"
    ]
    with mpmath.workdps(120):
        value, slope, curve = (mpmath.diff(function, mpmath.mpf(x), n) for n in range(3))
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
