"""Gradients of normalisations in 16 bits:

PyTorch's are right, also where the mean is large, and mistakes are found.

PyTorch goes on with a mean in float32 and keeps it in 16 bits, which its gradients are made of.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from oracles import normalizations

import gradcli as g
from gradcli.testing import check_gradient

RECORDED = json.loads(normalizations.RECORDED.read_text("utf-8"))
WEIGHTS = np.array(RECORDED["weights"])
RESULTS: dict[str, Callable[[Any], Any]] = {
    "weighted": lambda y: (y * WEIGHTS.astype(y.dtype)).sum(),
    "squares": lambda y: (y * y).sum(),
    "sum": lambda y: y.sum(),
}


def _standardized(x: Any, axis: int) -> Any:
    apart = x - x.mean(axis, keepdims=True)
    return apart / np.sqrt((apart * apart).mean(axis, keepdims=True) + 1e-5)


def _exponentials(x: Any) -> Any:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "layer_norm": lambda x: _standardized(x, -1),
    "layer_norm in float32": lambda x: _standardized(x, -1),
    "rms_norm": lambda x: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5),
    "batch_norm": lambda x: _standardized(x, 0),
    "group_norm": lambda x: _standardized(x.reshape(2, 16), -1).reshape(4, 8),
    "instance_norm": lambda x: _standardized(x, -1),
    "normalize": lambda x: x / np.sqrt((x * x).sum(-1, keepdims=True)),
    "softmax": _exponentials,
}


def _word(case: Any, change: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> str:
    """Return the verdict on PyTorch's gradient after a change."""
    dtype = getattr(g, case["dtype"]).numpy
    x, recorded = np.array(case["x"]), np.array(case["gradient"])
    claim = change(recorded, x).astype(dtype)
    check = check_gradient(
        lambda x: RESULTS[case["result"]](FUNCTIONS[case["function"]](x)), lambda x: claim,
        at={"x": x.astype(dtype)},
    )  # fmt: skip
    assert check.variables["x"].decided_by == "the traced function"
    return str(check.verdict.word)


def _called(case: Any) -> str:
    return f"{case['function']} {case['dtype']} {case['mean']} {case['result']}"


CENTRED = ("layer_norm", "batch_norm", "group_norm", "instance_norm")


@pytest.mark.parametrize("case", RECORDED["cases"], ids=_called)
def test_gradients_of_pytorch_are_right(case: Any) -> None:
    """As gradients that somebody wrote, whose sums may round in 16 bits: no digit of x - mean may
    be left then.
    """
    lost = case["mean"] >= 10 and case["result"] == "squares" and case["function"] in CENTRED
    assert _word(case, lambda slope, x: slope) == ("undetermined" if lost else "agree")


MISTAKES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "the sign": lambda slope, x: -slope,
    "a factor": lambda slope, x: 2 * slope,
    "half": lambda slope, x: slope / 2,
    "nothing": lambda slope, x: 0 * slope,
    "transposed": lambda slope, x: slope.reshape(8, 4).T.copy(),
    "a constant": lambda slope, x: slope + np.abs(slope).max(),
}
WEIGHTED = [case for case in RECORDED["cases"] if case["result"] == "weighted"]


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("case", WEIGHTED, ids=_called)
def test_mistakes_are_found_where_nothing_cancels(case: Any, mistake: str) -> None:
    assert _word(case, MISTAKES[mistake]) == "mismatch"


torch = pytest.importorskip("torch")
_F = torch.nn.functional


NUMBERS = torch.randn(4, 8, generator=torch.Generator().manual_seed(2))


OWN = normalizations.functions(_F)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", OWN)
def test_own_gradients_of_pytorch_where_the_mean_is_large(name: str, dtype: str) -> None:
    x = (10 + NUMBERS).to(getattr(torch, dtype))
    for made in (lambda y: y, lambda y: y.pow(2).sum(), lambda y: y.sum()):
        check = check_gradient(lambda x, made=made: made(OWN[name](x)), by="torch", at={"x": x})
        found = check.variables["x"]
        assert (check.verdict.word, found.decided_by) == ("agree", "the traced function"), (
            found.reason
        )


def test_a_result_that_cancels_is_traced() -> None:
    x = (100 + NUMBERS).to(torch.float16)
    check = check_gradient(lambda x: _F.layer_norm(x, x.shape[-1:]).sum(), by="torch", at={"x": x})
    assert (check.verdict.word, check.variables["x"].decided_by) == ("agree", "the traced function")
