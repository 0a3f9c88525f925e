"""Gradients by code of few bits: right ones are right in each precision, and what is off by more
than rounding explains is found.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from helpers import thinned
from narrow.functions import CASES, Case, arguments

import gradcli as torch
from gradcli import Check
from gradcli.testing import check_gradient

KINDS = ("float32", "float16", "bfloat16")
# of all cases may be undetermined: a step at which the function turns, or a slope of which no digit
# is left
LEFT = 0.04


def dtype(name: str) -> Any:
    return getattr(torch, name).numpy


def checked(case: Case, kind: str, state: int = 0, gradient: Any = None) -> Check:
    return check_gradient(
        case.function, gradient or case.gradient, at=arguments(case, dtype(kind), state), wrt="a0"
    )


def explained(check: Check) -> float:
    """The share of the gradient that rounding explains, as the record says it."""
    found = re.search(r"rounding in \w+ explains (\S+) % of it", check.variables["a0"].reason or "")
    assert found is not None, check.variables["a0"].reason
    return float(found[1]) / 100


@pytest.mark.ci
@pytest.mark.parametrize("kind", KINDS)
def test_right_gradients_are_never_called_wrong(kind: str) -> None:
    verdicts = {name: checked(case, kind).verdict.word for name, case in CASES.items()}
    assert [name for name, word in verdicts.items() if word not in ("agree", "undetermined")] == []
    assert sum(word == "undetermined" for word in verdicts.values()) <= LEFT * len(CASES), verdicts


@pytest.mark.parametrize("name", thinned(CASES))
def test_a_thousandth_is_found_in_float32(name: str) -> None:
    case = CASES[name]
    check = checked(
        case, "float32", gradient=lambda *given: case.gradient(*given) * np.float32(1.001)
    )
    assert check.verdict.word == "mismatch"
    assert explained(check) < 1e-4


@pytest.mark.ci
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CASES)
def test_a_few_times_what_rounding_explains_is_found(name: str, kind: str) -> None:
    case = CASES[name]
    factor = (
        1 + 3 * explained(checked(case, kind)) + 2 * float(torch.finfo(getattr(torch, kind)).eps)
    )
    check = checked(
        case,
        kind,
        gradient=lambda *given: np.asarray(case.gradient(*given).astype(float) * factor).astype(
            dtype(kind)
        ),
    )
    assert check.verdict.word in ("mismatch", "undetermined")
    if check.verdict.word == "undetermined":
        reason = check.variables["a0"].reason or ""
        assert reason.endswith(("nothing can be told", "which float16 does not hold"))


# Mistakes of people, by the case: what their gradients are.
MISTAKES: dict[str, Any] = {
    "tanh": lambda x: 1 - np.tanh(x),
    "softmax": lambda x, v: CASES["softmax"].gradient(x, v) + v / x.dtype.type(x.size),
    "least squares": lambda w, x, y: x.T @ (x @ w - y),
    "cross entropy": lambda x: (
        CASES["cross entropy"].gradient(x) + np.eye(x.size, dtype=x.dtype)[2]
    ),
    "attention": lambda q, k, v: -CASES["attention"].gradient(q, k, v),
    "mean of squares": lambda x: 2 * x,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_found_in_every_precision(name: str, kind: str) -> None:
    check = checked(CASES[name], kind, gradient=MISTAKES[name])
    assert (check.verdict.word, check.variables["a0"].decided_by) == (
        "mismatch",
        "the traced function",
    )


def test_the_record_says_what_rounding_explains() -> None:
    def twice(x: Any) -> Any:
        return (x * x).sum()

    x = np.array([0.5, -1.25, 3.0])
    found = {
        kind: check_gradient(twice, lambda x: 2 * x, at={"x": x.astype(dtype(kind))})
        .variables["x"]
        .reason
        for kind in KINDS
    }
    assert (
        found
        # 1*x + x*1: products and the sum are rounded, with a factor of two for luck, and so is what
        # is handed over
        == {
            "float32": "rounding in float32 explains 1.8e-05 % of it",
            "float16": "rounding in float16 explains 0.15 % of it",
            "bfloat16": "rounding in bfloat16 explains 1.2 % of it",
        }
    )


def test_what_nothing_can_be_told_of_is_undetermined() -> None:
    def steep(x: Any) -> Any:  # the exponent is rounded to whole numbers
        return np.exp(64 * (x + 8) - 512).sum()

    x = np.array([2.0**-9]).astype(dtype("bfloat16"))
    check = check_gradient(steep, lambda x: 64 * np.exp(64 * (x + 8) - 512), at={"x": x})
    assert check.verdict.word == "undetermined"
    assert check.variables["x"].reason is not None
    assert check.variables["x"].reason.endswith("% of it: nothing can be told")


def test_terms_that_cancel_are_what_rounding_is_held_against() -> None:
    def cancelling(x: Any) -> Any:  # whose slope, 5.8, is a difference of numbers around 2981
        return (np.exp(x + 8) - np.exp(8) * (1 + x)).sum()

    x = np.array([2.0**-9]).astype(dtype("bfloat16"))
    for claim, verdict in (
        (lambda x: np.exp(x + 8) - np.exp(8).astype(x.dtype), "agree"),
        (lambda x: np.exp(x + 8), "mismatch"),
    ):
        check = check_gradient(cancelling, claim, at={"x": x})
        assert check.verdict.word == verdict
        assert "its terms cancel: rounding in bfloat16 explains" in (
            check.variables["x"].reason or ""
        )


def test_what_overflows_in_a_format_is_no_mistake() -> None:
    x = np.array([5.0], np.float16)  # 8*x**7 is 625,000
    wrong = check_gradient(lambda x: (x.astype(float) ** 8).sum(), lambda x: 8 * x**7, at={"x": x})
    told = "more than 65504 is met on the way, which float16 does not hold"
    assert (wrong.verdict.word, wrong.variables["x"].reason) == ("undetermined", told)


def test_a_branch_that_rounding_decides_is_not_held_against_anybody() -> None:
    def turned(x: Any) -> Any:
        return np.maximum(
            x * x - x.dtype.type(1.6818), 0
        ).sum()  # 0.00008 above 0, where x*x is rounded to 0.002 below

    x = np.array([1.296875]).astype(dtype("bfloat16"))
    for slope in (0.0, 2.59375):
        check = check_gradient(
            turned, lambda x, slope=slope: np.full(1, slope).astype(x.dtype), at={"x": x}
        )
        assert check.verdict.word in ("agree", "undetermined")


needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")
needs_jax = pytest.mark.skipif(find_spec("jax") is None, reason="JAX is not installed")
FACTORS = [("float32", 1.0, "agree"), ("float32", 1.001, "mismatch"), ("float16", 1.0, "agree"), ("float16", 1.1, "mismatch"),
           ("bfloat16", 1.0, "agree"), ("bfloat16", 1.5, "mismatch")]  # fmt: skip


@needs_torch
@pytest.mark.parametrize(("kind", "factor", "verdict"), FACTORS)
def test_kernels_of_torch_that_compute_in_float32(kind: str, factor: float, verdict: str) -> None:
    import torch as pytorch

    class Norm(pytorch.autograd.Function):  # type: ignore[misc, unused-ignore]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            wide = x.float()
            scale = pytorch.rsqrt(wide.var(-1, keepdim=True, unbiased=False) + 1e-5)
            y = ((wide - wide.mean(-1, keepdim=True)) * scale).to(x.dtype)
            ctx.save_for_backward(y, scale)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            y, scale = (part.float() for part in ctx.saved_tensors)
            wide = g.float()
            found = scale * (
                wide - wide.mean(-1, keepdim=True) - y * (wide * y).mean(-1, keepdim=True)
            )
            return (factor * found).to(g.dtype)

    def function(x: Any, v: Any) -> Any:
        return (Norm.apply(x) * pytorch.linspace(-1, 1, 8).to(x.dtype) * v).sum()

    random = np.random.default_rng(1)
    at = {
        "x": random.standard_normal((3, 8)).astype(dtype(kind)),
        "v": random.standard_normal(8).astype(dtype(kind)),
    }
    check = check_gradient(function, by="torch", wrt="x", at=at)
    assert (check.verdict.word, check.variables["x"].decided_by) == (verdict, "the traced function")


PROGRAM = """
import numpy as np

def loss(x): return (np.tanh(x)**2).sum()
def right(x): return 2*np.tanh(x)*(1 - np.tanh(x)**2)
def wrong(x): return 2*np.tanh(x)
"""
AT = "x=0.5,-0.25,0.75"


@pytest.mark.parametrize("kind", ["float64", *KINDS])
def test_the_command_line_says_in_which_precision(
    kind: str, call_cli: Any, tmp_path: Any, monkeypatch: Any
) -> None:
    (tmp_path / "few_bits.py").write_text(PROGRAM, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    for name, code in (("right", 0), ("wrong", 1)):
        words = (
            "check",
            "--function",
            "few_bits:loss",
            "--gradient",
            f"few_bits:{name}",
            "--at",
            AT,
            "--dtype",
            kind,
        )
        done = call_cli(*words, "--format", "text")
        assert done.returncode == code, done.stdout + done.stderr
        assert (f"rounding in {kind} explains" in done.stdout) == (kind != "float64" and code == 1)
        assert (f"--dtype {kind}" in done.stdout) == (kind != "float64" and code == 1), (
            "the command that repeats it says it, too"
        )
