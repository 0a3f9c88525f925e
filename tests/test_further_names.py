"""Names of PyTorch's outside of the catalogue give what PyTorch gives; what is left out
says why.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from oracles import further_names
from recorded import LISTS

import gradcli as torch
import gradcli.nn.init
from gradcli import EvaluationError

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
    for run in (
        torch.linalg.inv,
        torch.inverse,
        lambda m: torch.linalg.solve(m, m),
        lambda m: torch.linalg.cholesky(m - 1),
        np.linalg.inv,
    ):
        with pytest.raises(torch.linalg.LinAlgError) as caught:
            run(z)
        assert isinstance(caught.value, RuntimeError)
        assert isinstance(caught.value, EvaluationError)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "torch.linalg.eig",
            "complex, and tensors of gradcli hold real ones; torch.linalg.eigh is of symmetric "
            "matrices",
        ),
        ("torch.view_as_complex", "its numbers are complex"),
        ("torch.lstm", "a kernel behind torch.nn's recurrent modules"),
        ("torch.lobpcg", "torch.linalg.eigh is exact"),
        ("torch.save", "np.save keeps x.detach"),
        ("torch.kl_div", "torch.nn.functional has it, with names for the reductions"),
    ],
)
def test_what_is_left_out_says_why(text: str, why: str) -> None:
    with pytest.raises(AttributeError, match=why):
        eval(text, {"torch": torch})


def test_tensors_are_on_the_cpu() -> None:
    with pytest.raises(RuntimeError, match="tensors of gradcli live on the CPU: there is no cuda"):
        torch.set_default_device("cuda")
    assert gradcli.nn.init.eye_ is torch.nn.init.eye_


# What is drawn, as a tensor of many numbers, with its mean and its standard deviation; NaN where it
# has none.
_DRAWN = LISTS["draws"]


@pytest.mark.parametrize(("text", "mean", "deviation"), _DRAWN)
def test_draws_follow_the_seed_and_their_distributions(
    text: str, mean: float, deviation: float
) -> None:
    def draw() -> Any:
        return eval(
            text, {"torch": torch, "F": torch.nn.functional, "x": torch.empty(8000)}
        ).double()

    torch.manual_seed(1)
    drawn = draw()
    assert abs(drawn.mean().item() - mean) < 0.06 * deviation
    assert drawn.std().item() == pytest.approx(deviation, rel=0.08)
    torch.manual_seed(1)
    assert (draw() == drawn).all()


def test_ends_of_distributions() -> None:
    assert torch.nn.functional.dropout(torch.ones(3), 1.0).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("torch.bernoulli(torch.tensor([2.0]))", RuntimeError),
        ("torch.nn.functional.dropout(torch.ones(2), 1.5)", ValueError),
        ("torch.nn.functional.dropout2d(torch.ones(2), 0.5)", RuntimeError),
        ("torch.ones(2, requires_grad=True).bernoulli_()", RuntimeError),
    ],
)
def test_draws_that_are_refused(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        eval(text, {"torch": torch})
