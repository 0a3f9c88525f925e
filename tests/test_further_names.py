"""Names of PyTorch's outside of the catalogue give what PyTorch gives; what is left out says why."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from oracles import further_names

import gradcli as torch
import gradcli.nn.init
from gradcli.errors import EvaluationError

RECORDED: dict[str, Any] = json.loads(further_names.RECORDED.read_text("utf-8"))


def assert_same(found: Any, wanted: Any) -> None:
    if isinstance(wanted, list) and wanted and isinstance(wanted[0], list):
        assert len(found) == len(wanted)
        for part, recorded in zip(found, wanted, strict=True):
            assert_same(part, recorded)
    elif isinstance(wanted, list):
        assert found[0] == wanted[0]
        np.testing.assert_allclose(found[1], wanted[1], rtol=5e-6, atol=2e-7)
    else:
        assert found == wanted


@pytest.mark.parametrize("text", further_names.TEXTS)
def test_values_are_pytorchs(text: str) -> None:
    assert_same(further_names.answer(torch, text), RECORDED[text])


def test_singular_matrices_raise_a_linalg_error() -> None:
    z = torch.zeros(2, 2)
    for run in (torch.linalg.inv, torch.inverse, lambda m: torch.linalg.solve(m, m), lambda m: torch.linalg.cholesky(m - 1), np.linalg.inv):
        with pytest.raises(torch.linalg.LinAlgError) as caught:
            run(z)
        assert isinstance(caught.value, RuntimeError)
        assert isinstance(caught.value, EvaluationError)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("torch.linalg.eig", "complex, and tensors of gradcli hold real ones; torch.linalg.eigh is of symmetric matrices"),
        ("torch.view_as_complex", "its numbers are complex"),
        ("torch.lstm", "a kernel behind torch.nn's recurrent modules"),
        ("torch.lobpcg", "torch.linalg.eigh is exact"),
        ("torch.kl_div", "torch.nn.functional has it, with names for the reductions"),
    ],
)
def test_what_is_left_out_says_why(text: str, why: str) -> None:
    with pytest.raises(AttributeError, match=why):
        eval(text, {"torch": torch})


def test_tensors_are_on_the_cpu() -> None:
    with pytest.raises(RuntimeError, match="Torch not compiled with CUDA enabled"):
        torch.set_default_device("cuda")
    assert gradcli.nn.init.dirac_ is torch.nn.init.dirac_


def test_alpha_dropout_is_differentiated() -> None:
    x = torch.ones(8, dtype=torch.float64, requires_grad=True)
    torch.manual_seed(0)
    y = torch.nn.functional.alpha_dropout(x, 0.5, True)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    kept = y > y.min()
    scale = 1 / np.sqrt((1.7580993408473766**2 * 0.5 + 1) * 0.5)  # Klambauer et al., Self-Normalizing Neural Networks, 2017
    assert 0 < kept.sum() < 8
    np.testing.assert_allclose(gradient.numpy(), np.where(kept.numpy(), scale, 0.0), rtol=1e-15)


def test_counts_follow_the_seed_and_their_distributions() -> None:
    means, trials = torch.full((4000,), 7.0), torch.full((4000,), 30.0)
    for draw, mean, variance in (
        (lambda: torch.poisson(means), 7.0, 7.0),
        (lambda: torch.binomial(trials, torch.tensor(0.6)), 18.0, 7.2),
    ):
        torch.manual_seed(1)
        counts = draw()
        assert abs(counts.mean().item() - mean) < 0.2
        assert abs(counts.var().item() - variance) < 0.8
        torch.manual_seed(1)
        assert (draw() == counts).all()
    assert torch.poisson(torch.tensor([0.0, 0.0])).tolist() == [0, 0]
    assert torch.binomial(torch.tensor([5.0, 0.0]), torch.tensor([1.0, 0.5])).tolist() == [5, 0]
