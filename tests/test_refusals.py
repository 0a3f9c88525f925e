"""What PyTorch refuses is refused here, by an error of the same of Python's types."""

from __future__ import annotations

import builtins

import pytest
from oracles import refusals

import gradcli as torch

RECORDED = refusals.recorded()


@pytest.mark.parametrize("text", RECORDED)
def test_errors_are_of_the_types_of_pytorch(text: str) -> None:
    """Those about autograd begin with PyTorch's sentence, too."""
    kind, *said = RECORDED[text]
    error = refusals.raised(torch, text)
    if not kind:
        assert error is None
        return
    assert error is not None, f"accepted; PyTorch raises {kind}"
    assert isinstance(error, getattr(builtins, kind)), f"{type(error).__name__}: {error}; PyTorch raises {kind}"
    assert said in ([], [refusals.sentence(error)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x.sum(dimm=0)", "sum() got an unexpected keyword argument 'dimm'; did you mean 'dim'?"),
        ("torch.sin(x, foo=1)", "sin() got an unexpected keyword argument 'foo'"),
        ("torch.cumsum(x)", "cumsum() misses its argument 'dim'"),
        ("F.mse_loss(x)", "mse_loss() misses its argument 'target'"),
        ("x.cumsum(0, dim=1)", "cumsum() got the argument 'dim' twice, or with others that it does not fit"),
        ("x.exp(1)", "exp() takes at most 0 arguments by position, not 1"),
        ("torch.ones(2, dtype='float')", "ones(): argument 'dtype' must be dtype, not str"),
        ("F.softmax(x.long(), 0)", "softmax takes no tensors of int64; x.float() makes floats of them"),
        ("x.masked_select(v)", "masked_select: the mask must be of booleans, not of float32"),
        ("x.cumsum(5)", "axis 5 is out of bounds for an array of 2 axes"),
    ],
)
def test_what_is_said(text: str, message: str) -> None:
    assert str(refusals.raised(torch, text)) == message


def test_polygamma_takes_its_order_first() -> None:
    x = torch.tensor([0.5, 1.5], dtype=torch.float64)
    assert torch.polygamma(1, x).tolist() == pytest.approx([4.934802200544679, 0.9348022005446793], rel=1e-12)


def test_a_number_has_one_axis() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    assert torch.logsumexp(x, (0,), True).tolist() == 2.0
    assert (x.sum((0,)).tolist(), x.mean(dim=(-1,)).tolist(), x.amax((0,)).tolist()) == (2.0, 2.0, 2.0)
    with pytest.raises(IndexError, match="axis 1 is out of bounds"):
        x.sum((1,))


def test_bytes_are_a_condition() -> None:
    x, mask = torch.tensor([1.0, 2.0]), torch.tensor([1, 0], dtype=torch.uint8)
    assert x.where(mask, 5 * x).tolist() == [1.0, 10.0]
    assert torch.where(mask, x, 5 * x).tolist() == [1.0, 10.0]


def test_derivatives_that_pytorch_does_not_have_are_missed_where_they_are_needed() -> None:
    """By the second operand, the incomplete gamma function has one: x^(a-1) e^-x / gamma(a)."""
    x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    torch.special.gammainc(torch.ones_like(x), x).sum().backward()
    assert x.grad.tolist() == pytest.approx([0.6065306597126334, 0.1353352832366127], rel=1e-13)
    y = x // 2
    assert (type(y.grad_fn).__name__, y.grad_fn.name(), y.requires_grad) == ("NotImplemented", "torch::autograd::NotImplemented", True)
    assert not torch.special.modified_bessel_i0(x).requires_grad


def test_arguments_that_fitted_once_are_asked_again_where_they_are_others() -> None:
    """What is kept are the types of arguments, and a tensor without axes is a number where one with some is none."""
    x = torch.arange(6.0).reshape(2, 3)
    assert [x.sum(torch.tensor(0)).shape, x.sum(torch.tensor(0)).shape] == [(3,), (3,)]
    with pytest.raises(TypeError):
        x.sum(torch.tensor([0]))
    assert torch.cat([x, x]).shape == (4, 3)
    with pytest.raises(TypeError, match="argument 'tensors' must be Tensors, not list"):
        torch.cat([x, 1])
    assert x.sum([0]).shape == (3,)
    with pytest.raises(TypeError):
        x.sum(["0"])
