"""What PyTorch refuses is refused here, by an error of the same of Python's types."""

from __future__ import annotations

import builtins
from types import FunctionType, MethodType

import pytest
from oracles import refusals
from recorded import over

import gradcli as torch
from gradcli.tensors.torch.namespace import names

RECORDED = refusals.recorded()
TAKEN = (  # which say what they mean, though PyTorch wants them written otherwise
    "x.clamp(0, x)", "torch.as_tensor(x, torch.float64)", "F.rrelu(x, 0.5, 0.1)", "torch.clamp(x)",
    "F.cross_entropy(x, x > 1)",
)  # fmt: skip
REFUSED_OTHERWISE = {
    "torch.permute_copy(x, 1)": RuntimeError,
    "x.masked_fill(x)": RuntimeError,
    "F.dropout(x, 2, 1)": TypeError,
    "F.gaussian_nll_loss(v, v, -v)": RuntimeError,
}


@pytest.mark.parametrize("text", TAKEN)
def test_arguments_that_pytorch_wants_otherwise(text: str) -> None:
    assert RECORDED[text][0] in ("TypeError", "RuntimeError", "AttributeError", "ValueError")
    assert refusals.raised(torch, text) is None


@pytest.mark.parametrize("text", [text for text in RECORDED if text not in TAKEN])
def test_errors_are_of_the_types_of_pytorch(text: str) -> None:
    """Those about autograd begin with PyTorch's sentence, too."""
    kind, *said = RECORDED[text]
    error = refusals.raised(torch, text)
    if text in REFUSED_OTHERWISE:
        assert isinstance(error, REFUSED_OTHERWISE[text])
        return
    if not kind:
        assert error is None
        return
    assert error is not None, f"accepted; PyTorch raises {kind}"
    assert isinstance(error, getattr(builtins, kind)), (
        f"{type(error).__name__}: {error}; PyTorch raises {kind}"
    )
    assert said in ([], [refusals.sentence(error)])


@over("refused_calls", "tensors", "call", "error", "says")
def test_what_is_said(call: str, error: str, says: str) -> None:
    found = refusals.raised(torch, call)
    assert isinstance(found, getattr(builtins, error)), repr(found)
    assert says in str(found)


# Functions that look at their tensors first: these have too many axes, or are no truth values.
BY_TENSORS = {"ger", "outer", "meshgrid", "where"}


def test_no_function_computes_with_an_argument_that_it_does_not_have() -> None:
    x = torch.ones(2, 2)
    functions = {name: getattr(torch, name) for name in names()}
    methods = {
        f"Tensor.{name}": getattr(torch.Tensor, name)
        for name in dir(torch.Tensor)
        if not name.startswith("_")
    }
    asked = 0
    for name, function in {**functions, **methods}.items():
        if isinstance(function, (FunctionType, MethodType)):
            asked += 1
            of_tensors = (RuntimeError,) * (name.removeprefix("Tensor.") in BY_TENSORS)
            with pytest.raises((TypeError, *of_tensors)):
                function(x, foo=1)
    assert asked > 1200


def test_polygamma_takes_its_order_first() -> None:
    x = torch.tensor([0.5, 1.5], dtype=torch.float64)
    assert torch.polygamma(1, x).tolist() == pytest.approx(
        [4.934802200544679, 0.9348022005446793], rel=1e-12
    )


def test_functions_that_pytorch_has_no_derivative_of_have_theirs() -> None:
    x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    (torch.special.gammainc(torch.ones_like(x), x) + x // 2).sum().backward()
    assert x.grad.tolist() == pytest.approx([0.6065306597126334, 0.1353352832366127], rel=1e-13)
    assert torch.autograd.grad(torch.special.modified_bessel_i0(x).sum(), x)[
        0
    ].tolist() == pytest.approx(torch.special.i1(x).tolist(), rel=1e-13)
