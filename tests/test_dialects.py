"""The dialect of a program: what was written for a library means what it means there, or is
refused.

The programs of ``data/dialects.jsonl`` were run in PyTorch 2.13, JAX 0.10 and NumPy 2.4 with SciPy
1.17: ``data/dialects.json.gz`` has the value of the last line of each, and the gradient of its sum
by the names in ``at``: PyTorch's and JAX's own, and central differences for NumPy's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from recorded import read_json, read_lines

import gradcli
from gradcli import GradcliError

ANSWERS = read_json("dialects.json")
RECORDED = [
    case | ANSWERS[f"{case['in']}: {case['code']}"] for case in read_lines("dialects.jsonl")
]


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: f"{case['in']}: {case['code']}")
def test_a_program_is_what_its_library_makes_of_it(case: dict[str, Any]) -> None:
    seed = np.ones(np.shape(case["value"])) if np.ndim(case["value"]) else None
    record = gradcli.evaluate(case["code"], at=case["at"], seed=seed, check=False, formula=False)
    assert np.shape(record.value) == np.shape(case["value"])
    np.testing.assert_allclose(
        np.asarray(record.value, float), case["value"], rtol=1e-12, atol=1e-12
    )
    tolerance = 1e-7 if case["in"] == "numpy" else 1e-10
    for name, expected in case["grad"].items():
        found = (record.grad or {}).get(
            name, np.zeros(np.shape(expected))
        )  # zeros: nothing differentiable depends on it
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def test_the_table_is_of_all_dialects() -> None:
    count = {
        library: sum(case["in"] == library for case in RECORDED)
        for library in ("torch", "numpy", "jax")
    }
    assert min(count.values()) >= 40
    assert sum(count.values()) >= 250


@pytest.mark.parametrize("asked", ["torch", "numpy", "jax", None])
def test_an_option_decides_where_the_text_does_not(asked: str | None) -> None:
    x = np.array([1.0, 2.0, 3.5])
    value = pytest.approx(x.std(ddof=asked == "torch"), rel=1e-14)
    assert gradcli.evaluate("x.std()", x=x, dialect=asked, check=False).value == value
    assert gradcli.compile("x.std()", dialect=asked)(x=x) == value
    assert gradcli.value_and_grad("x.std()", dialect=asked)(x=x)[0] == value


def test_a_dialect_that_there_is_not() -> None:
    with pytest.raises(GradcliError, match="'dialect' must be one of"):
        gradcli.evaluate("x.std()", x=[1.0, 2.0], dialect="pytorch", check=False)
