"""Floats of 16 bits: stored as such, computed with in float32 and rounded once, as PyTorch's CPU
does it.
"""

from __future__ import annotations

import copy
import json
import math
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from oracles import halves
from recorded import read_lines

import gradcli as torch

RECORDED = json.loads(halves.RECORDED.read_text("utf-8"))
DIGITS = {
    "float16": (10, -14),
    "bfloat16": (7, -126),
    "float32": (23, -126),
}  # of the significand, and the smallest normal exponent

# Derivatives that PyTorch takes of a result that it has rounded, or in several steps that each
# round: ours are nearer to the truth. So many units of the last place are between them.
FURTHER = {
    "torch.tanh(M)": 31, "torch.sigmoid(M)": 5, "torch.sinc(M)": 12, "torch.rsqrt(P)": 3, "torch.logit(P)": 4, "torch.logaddexp(M, N)": 3,
    "torch.logsumexp(M, 1)": 4, "torch.softmax(M, 1)": 4, "F.layer_norm(T, (4,))": 6, "F.binary_cross_entropy(Q, R)": 2,
}  # fmt: skip


def units(a: float, b: float, kind: str) -> float:
    """How far numbers are apart, in units of the last place of the larger one."""
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.inf
    digits, smallest = DIGITS.get(kind, DIGITS["float32"])
    return abs(a - b) / 2.0 ** (max(math.frexp(max(abs(a), abs(b)))[1] - 1, smallest) - digits)


def farthest(wanted: list[float], got: list[float], kind: str) -> float:
    return max([units(a, b, kind) for a, b in zip(wanted, got, strict=True)], default=0.0)


@pytest.mark.parametrize("kind", halves.DTYPES)
@pytest.mark.parametrize("text", halves.CALLS)
def test_values_and_gradients_are_those_of_pytorch(text: str, kind: str) -> None:
    wanted, got = RECORDED[text][halves.DTYPES.index(kind)], halves.answer(torch, text, kind)
    if isinstance(wanted, str):
        pytest.skip(f"PyTorch has no loop of {kind} for it: {wanted}")
    assert len(wanted) == len(got)
    for (dtype, entries, slopes), (own_dtype, own_entries, own_slopes) in zip(
        wanted, got, strict=True
    ):
        assert (dtype, sorted(slopes)) == (own_dtype, sorted(own_slopes))
        apart = {
            "value": farthest(entries, own_entries, kind),
            **{n: farthest(slopes[n], own_slopes[n], kind) for n in slopes},
        }
        assert max(apart.values()) <= FURTHER.get(text, 1), (
            f"{apart} units of the last place of {kind}"
        )


def gradient(function: Any, x: Any) -> Any:
    x.requires_grad_()
    function(x).backward()
    return x.grad


SAID = read_lines("printed_halves.jsonl")  # as PyTorch 2.13 prints them


@pytest.mark.parametrize(("text", "wanted"), SAID, ids=[text for text, _ in SAID])
def test_what_there_is_of_bfloat16(text: str, wanted: str) -> None:
    names = {
        "torch": torch,
        "pickle": pickle,
        "copy": copy,
        "gradient": gradient,
    }
    assert repr(eval(text, names)) == wanted


def test_numpy_has_no_bfloat16() -> None:
    with pytest.raises(TypeError, match=r"^Got unsupported ScalarType BFloat16$"):
        torch.ones(1).bfloat16().numpy()
    assert torch.ones(1).half().numpy().dtype == np.float16


def test_views_stay_views() -> None:
    x = torch.zeros(2, 3, dtype=torch.bfloat16)
    for view in (x.t(), x[0], x.reshape(3, 2), x.adjoint(), torch.atleast_3d(x), x.unbind(1)[0]):
        view.add_(1)
    assert x.tolist() == [[6.0, 5.0, 5.0], [5.0, 4.0, 4.0]]


def test_numbers_rounded_up_to_one_are_drawn_as_zero() -> None:
    torch.manual_seed(0)
    drawn = torch.rand(200_000, dtype=torch.bfloat16)
    assert (drawn.max().item(), drawn.min().item()) == (0.99609375, 0.0)


def test_a_derivative_of_a_derivative_stays_in_bfloat16() -> None:
    x = torch.tensor([0.5, 2.0]).bfloat16().requires_grad_()
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert (first.dtype, second.dtype, second.tolist()) == (
        torch.bfloat16,
        torch.bfloat16,
        [3.0, 12.0],
    )


def test_what_a_rule_passes_back_is_seen_in_bfloat16() -> None:
    seen: list[Any] = []
    x = torch.ones(2, 2).bfloat16().requires_grad_()
    y = torch.exp(x)
    y.register_hook(seen.append)
    x.register_hook(seen.append)
    (y * torch.ones(2).bfloat16()).sum().backward()
    assert {part.dtype for part in seen} == {torch.bfloat16}
    assert len(seen) == 2


def test_the_library_of_bfloat16_is_loaded_when_it_is_asked_for() -> None:
    program = (
        "import sys, gradcli as torch; torch.ones(2).exp().sum(); before = 'ml_dtypes' in "
        "sys.modules; torch.bfloat16; "
        "torch.ones(1).bfloat16(); print(before, 'ml_dtypes' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["False", "True"]
