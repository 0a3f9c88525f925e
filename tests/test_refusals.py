"""What PyTorch refuses is refused here, by an error of the same of Python's types."""

from __future__ import annotations

import builtins
import json

import pytest
from oracles import refusals

import gradcli as torch

RECORDED: dict[str, list[str]] = json.loads(refusals.RECORDED.read_text("utf-8"))

# Where we differ, and why.
DIFFERENT = {
    "F.cross_entropy(x, torch.tensor([0.0, 1.0]))": "labels may be floats that are whole numbers",
    "F.binary_cross_entropy(v + 5, v)": "values are not looked at",
    "torch.clamp(x)": "is x",
    "torch.pow(2, 3)": "a tensor of numbers",
    "torch.logsumexp(x)": "of all entries, as in NumPy and SciPy",
    "torch.prod(x, (0, 1))": "over several axes, as in NumPy",
    "torch.linalg.vector_norm(x, 'a')": "RuntimeError, not TypeError",
}


@pytest.mark.parametrize("text", [text for text in refusals.TEXTS if text not in DIFFERENT])
def test_errors_are_of_the_types_of_pytorch(text: str) -> None:
    wanted, said = RECORDED[text]
    error = refusals.raised(torch, text)
    if not wanted:
        assert error is None
        return
    assert error is not None, f"accepted; PyTorch raises {wanted}: {said}"
    assert isinstance(error, getattr(builtins, wanted)), f"{type(error).__name__}: {error}; PyTorch raises {wanted}: {said}"


def test_the_record_is_that_of_the_calls() -> None:
    assert list(RECORDED) == refusals.TEXTS
    assert set(DIFFERENT) <= set(RECORDED)


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
