"""NaN, infinities and both zeros given to all functions: every call ends, says what is so, and in
words of ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from not_finite import faults, sample

import gradcli
from gradcli.report.verdicts import Verdict

SHARE = 1000  # one case in so many; `python tests/not_finite.py` tries all


@pytest.mark.ci
def test_a_sample_of_the_catalogue() -> None:
    found = {str(case): said for case in sample(SHARE) if (said := faults(case))}
    assert found == {}


# The value and the verdict, and an entry of a gradient: a limit where the function has one, else
# undefined.
CALLS: dict[str, tuple[dict[str, Any], float, Verdict]] = {
    "zeta(2.0, q)": ({"q": np.nan}, np.nan, Verdict.UNDEFINED),
    "zeta(2.0, q) ": ({"q": np.inf}, 0.0, Verdict.UNDEFINED),
    "zeta(2.0, q)  ": ({"q": -np.inf}, np.nan, Verdict.UNDEFINED),
    "zeta(s, 2.0)": ({"s": np.inf}, 0.0, Verdict.UNDEFINED),
    "hurwitz_zeta(x, q)": ({"x": 0.0, "q": 0.0}, np.nan, Verdict.UNDEFINED),
    "ellipk(m)": ({"m": np.nan}, np.nan, Verdict.UNDEFINED),
    "ellipe(m)": ({"m": np.nan}, np.nan, Verdict.UNDEFINED),
    "gammainc(a, x)": ({"a": np.nan, "x": 1.0}, np.nan, Verdict.UNDEFINED),
    "gammaincc(a, x)": ({"a": 1.0, "x": np.nan}, np.nan, Verdict.UNDEFINED),
    "betainc(a, b, x)": ({"a": 1.0, "b": np.nan, "x": 0.5}, np.nan, Verdict.UNDEFINED),
    "scipy.stats.t.cdf(x, a, m, scale=s)": (
        dict.fromkeys("xams", np.inf),
        np.nan,
        Verdict.UNDEFINED,
    ),
    "copysign(x, y)": ({"x": np.inf, "y": 0.75}, np.inf, Verdict.UNDEFINED),
    "torch.median(x)": ({"x": np.array([-np.inf, -np.inf, -np.inf])}, -np.inf, Verdict.UNDEFINED),
    "max(x)": ({"x": np.array([np.inf, np.inf, 1.0])}, np.inf, Verdict.UNDEFINED),
    "grad(torch.yn(True, m), y)": ({"m": np.inf, "y": 1.0}, 0.0, Verdict.AGREE),
    "exp(x)": ({"x": -np.inf}, 0.0, Verdict.AGREE),
    "erf(x)": ({"x": np.inf}, 1.0, Verdict.AGREE),
    "polygamma(1, x)": ({"x": np.inf}, 0.0, Verdict.AGREE),
    "mean(x)": ({"x": np.zeros(0)}, np.nan, Verdict.UNDEFINED),
    "torch.std(x)": ({"x": np.array([3.0])}, np.nan, Verdict.UNDEFINED),
    "scipy.stats.uniform.mean(m, scale=s)": ({"m": 0.0, "s": 2.0}, 1.0, Verdict.AGREE),
}


@pytest.mark.parametrize("text", CALLS)
def test_value_and_verdict(text: str) -> None:
    at, value, verdict = CALLS[text]
    record = gradcli.evaluate(text, at=at)
    assert float(record.value) == pytest.approx(value, nan_ok=True)
    assert record.check is not None
    assert record.check.verdict is verdict
    assert faults((text, at)) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["explain", "3*x", "x=2", "y=5", "--wrt", "x,y", "--why", "y"],
            "y has gradient 0: 3*x does not contain y",
        ),
        (
            ["eval", "torch.geomspace(2, G, 3)*x", "G=[True,False]", "x=1"],
            "geomspace needs two ends of one sign, neither of them 0",
        ),
        (["eval", "jv(inf, x)", "x=1"], "jv: the order must be finite, not inf"),
    ],
)
def test_what_had_no_answer(words: list[str], said: str, call_cli: Any) -> None:
    done = call_cli(*words)
    assert done.returncode in (0, 2)
    assert said in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("expression", "at"),
    [("jax.numpy.sqrt(x)", "x=5e-324"), ("jax.scipy.special.entr(x)", "x=0,1")],
)
def test_a_framework_s_gradient_beside_what_is_not_finite(
    expression: str, at: str, call_cli: Any, tmp_path: Any
) -> None:
    pytest.importorskip("jax")
    (tmp_path / "beside_zero.py").write_text(
        f"import jax\ndef f(x): return jax.numpy.sum({expression})\n"
    )
    done = call_cli("check", "--function", "beside_zero:f", "--by", "jax", "--at", at, cwd=tmp_path)
    assert not {"Warning", "ZeroDivisionError", "Traceback"} & set(
        (done.stdout + done.stderr).replace(":", " ").split()
    )
