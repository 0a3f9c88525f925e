"""What PyTorch says of wrong calls is said here first, by an error of its type."""

from __future__ import annotations

import builtins
import json

import pytest
from oracles import sentences

import gradcli as torch
from gradcli.ops.refusals.forms import forms, misfit

RECORDED: dict[str, list[str]] = json.loads(sentences.RECORDED.read_text("utf-8"))


@pytest.mark.parametrize("text", sentences.TEXTS)
def test_errors_are_pytorchs(text: str) -> None:
    kind, said = RECORDED[text]
    error = sentences.raised(torch, text)
    assert error is not None, f"accepted; PyTorch raises {kind}: {said}"
    assert (isinstance(error, getattr(builtins, kind)), sentences.sentence(error)) == (True, said), f"{type(error)}: {error}"


def test_the_record_is_that_of_the_calls() -> None:
    assert list(RECORDED) == sentences.TEXTS


def test_what_to_do_follows_as_a_note() -> None:
    with pytest.raises(TypeError) as caught:
        torch.ones(2).sum(dimm=0)
    assert caught.value.__notes__ == ["help: did you mean 'dim'?"]


def test_arguments_that_fit_a_form_are_not_refused() -> None:
    x = torch.ones(2, 3)
    for key, arguments, keywords in (
        ("sum", (x,), {}), ("sum", (x, (0, 1)), {"keepdim": True}), ("sum", (x,), {"axis": 1}), ("Tensor.view", (2, 3), {}),
        ("Tensor.view", ((2, 3),), {}), ("zeros", (2, 3), {"dtype": torch.float64}),
        ("cat", ([x, x],), {"dim": 1}), ("add", (x, 2), {"alpha": 2}),
        ("F.mse_loss", (x, x), {"reduction": "sum"}), ("clamp", (x, None, 1.0), {}), ("F.conv2d", (x, x, None, (1, 1), "same"), {}),
    ):  # fmt: skip
        assert forms(key)
        assert misfit(key, arguments, keywords) is None, (key, arguments, keywords)
