"""What is said where values and derivatives are not finite: at the entries and by the operations
that they have it from.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from not_finite import faults, sample
from test_evaluations import cases

import gradcli

TOO_LARGE = {"log(x/1e200)*1e-5": (1e-200, "inf"), "1/(x/1e200)": (800.0, "-inf")}


@pytest.mark.parametrize("text", TOO_LARGE)
def test_an_adjoint_too_large_for_floats_is_told_as_it_is(text: str) -> None:
    value, said = TOO_LARGE[text]
    check = gradcli.evaluate(text, x=value).check
    if check is None or check.departs is None:
        pytest.fail(f"nothing departs in {text}")
    assert f"is {said}, true " in check.departs.text
    assert "true inf" not in check.departs.text
    assert "too large for floats: made by" in check.departs.text


SHARE = 1000  # one case in so many; `python tests/not_finite.py` tries all


@pytest.mark.ci
def test_a_sample_of_the_catalogue() -> None:
    found = {str(case): said for case in sample(SHARE) if (said := faults(case))}
    assert found == {}


@pytest.mark.parametrize("case", cases("not_finite"), ids=lambda c: c["text"])
def test_what_is_said_has_no_fault(case: dict[str, Any]) -> None:
    if case["about"] == "not finite arguments":
        at = {name: np.asarray(x, float)[()] for name, x in case["at"].items()}
        assert faults((case["text"], at)) == []


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
