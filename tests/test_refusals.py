"""What PyTorch refuses is refused here, by an error of the same of Python's types."""

from __future__ import annotations

import builtins
import json
import warnings

import pytest
from oracles import refusals

import gradcli as torch

RECORDED: dict[str, list[str]] = json.loads(refusals.RECORDED.read_text("utf-8"))


@pytest.mark.parametrize("text", refusals.TEXTS)
def test_errors_are_of_the_types_of_pytorch(text: str) -> None:
    wanted, said = RECORDED[text]
    error = refusals.raised(torch, text)
    if not wanted:
        assert error is None
        return
    assert error is not None, f"accepted; PyTorch raises {wanted}: {said}"
    assert isinstance(error, getattr(builtins, wanted)), f"{type(error).__name__}: {error}; PyTorch raises {wanted}: {said}"


# What is said otherwise: with more in it, or of what is not here.
SAID_OTHERWISE = {
    "torch.meshgrid(x, x)", "torch.broadcast_tensors(x, w2)", "torch.nn.functional.nope(x)", "torch.nope(x)", "torch.special.nope(x)",
    "x.numpy(7)", "F.ctc_loss(x, x, v, v)", "F.multi_margin_loss(x, v)", "torch.linalg.lstsq(v, v)", "torch.broadcast_shapes((2,), (3,))",
    "x.new(0.1, 0.9)", "x.new(x > 1)", "F.gaussian_nll_loss(v, v, 2)",
}  # fmt: skip


@pytest.mark.parametrize("text", [text for text in refusals.TEXTS if RECORDED[text][0] and text not in SAID_OTHERWISE])
def test_pytorch_s_sentence_is_the_first(text: str) -> None:
    first, *_ = str(refusals.raised(torch, text)).splitlines() or [""]
    assert first.startswith(RECORDED[text][1])


def test_the_record_is_that_of_the_calls() -> None:
    assert list(RECORDED) == refusals.TEXTS


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("torch.cross(w2, w2)", "no dimension of size 3 in input"),
        ("torch.linalg.cross(w2, w2)", "linalg.cross: inputs dimension -1 must have length 3. Got 4 and 4"),
        (
            "F.embedding(torch.tensor([0.5]), x)",
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got torch.FloatTensor "
            "instead (while checking arguments for embedding)",
        ),
        ("torch.ones(2, dtype='float')", "ones(): argument 'dtype' must be torch.dtype, not str"),
        ("x.masked_select(v)", "masked_select: expected BoolTensor for mask"),
        ("v.masked_fill(v.byte(), 1)", "masked_fill_ only supports boolean masks, but got mask with dtype unsigned char"),
        ("torch.where(v.long(), v, v)", "where expected condition to be a boolean tensor, but got a tensor with dtype Long"),
        ("v.where(v, v)", "where expected condition to be a boolean tensor, but got a tensor with dtype Float"),
        ("x.cumsum(5)", "Dimension out of range (expected to be in range of [-2, 1], but got 5)"),
        ("torch.cat([x, x], 5)", "Dimension out of range (expected to be in range of [-2, 1], but got 5)"),
        ("torch.eye(-1)", "n must be greater or equal to 0, got -1"),
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
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.sum((1,))


def test_bytes_are_a_condition_which_pytorch_warns_of() -> None:
    x, mask = torch.tensor([1.0, 2.0]), torch.tensor([1, 0], dtype=torch.uint8)
    with pytest.warns(UserWarning, match="where received a uint8 condition tensor"):
        assert x.where(mask, 5 * x).tolist() == [1.0, 10.0]
    with pytest.warns(UserWarning, match="where received a uint8 condition tensor"):
        assert torch.where(mask, x, 5 * x).tolist() == [1.0, 10.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("F.softmax(x)", "Implicit dimension choice for softmax has been deprecated. Change the call to include dim=X as an argument."),
        ("F.mse_loss(x, x, size_average=False)", "size_average and reduce args will be deprecated, please use reduction='sum' instead."),
        ("F.l1_loss(x, x, reduce=False)", "size_average and reduce args will be deprecated, please use reduction='none' instead."),
        (
            "F.huber_loss(x, v)",
            "Using a target size (torch.Size([3])) that is different to the input size (torch.Size([2, 3])). This will likely lead to "
            "incorrect results due to broadcasting. Please ensure they have the same size.",
        ),
        (
            "F.kl_div(x, x)",
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides only by the batch "
            "size, and aligns with the KL div math definition.'mean' will be changed to behave the same as 'batchmean' in the next major "
            "release.",
        ),
        (
            "x.std(0, correction=2)",
            "std(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel divided by "
            "output numel).",
        ),
        ("torch.cov(v[:1])", "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations."),
        (
            "torch.tensor(x)",
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
        ),
        (
            "F.upsample(torch.ones(1, 1, 2, 2), scale_factor=2)",
            "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.",
        ),
    ],
)  # fmt: skip
def test_what_pytorch_warns_of(text: str, message: str) -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        eval(text, refusals.names(torch))
    assert [(warning.category, str(warning.message)) for warning in seen] == [(UserWarning, message)]


@pytest.mark.parametrize("text", ["F.softmax(x, 0)", "F.mse_loss(x, x)", "F.kl_div(x, x, reduction='sum')", "x.std(0)", "x.std(0, False)"])
def test_what_pytorch_says_nothing_of(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        eval(text, refusals.names(torch))
        eval(text, refusals.names(torch))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("torch.add(v, 2, v)", [1.5, 0.75, 2.25]),
        ("v.add(2, v)", [1.5, 0.75, 2.25]),
        ("v.sub(2, v)", [-0.5, -0.25, -0.75]),
        ("torch.addcmul(v, 4, v, v)", [1.5, 0.5, 3.0]),
        ("torch.addmm(2, z, 3, s, s)", [[15.0, 15.0], [15.0, 30.0]]),
        ("z.addmm(2, s, s)", [[5.0, 5.0], [5.0, 10.0]]),
    ],
)
def test_numbers_may_come_first_as_they_once_did(text: str, wanted: object) -> None:
    assert eval(text, refusals.names(torch)).tolist() == wanted


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
    with pytest.raises(TypeError, match=r"^expected Tensor as element 1 in argument 0, but got int$"):
        torch.cat([x, 1])
    assert x.sum([0]).shape == (3,)
    with pytest.raises(TypeError):
        x.sum(["0"])
