"""Short calls, and what PyTorch 2.13 prints of their results, or which error it raises: recorded
there, each with the seed 0, in `data/printed_by_torch.jsonl`.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
from recorded import read_lines

import gradcli as torch
from gradcli.nn import functional as F


def given() -> dict[str, Any]:
    """What the calls are about."""
    torch.manual_seed(0)
    a = (torch.arange(12.0) * 37 % 11).reshape(3, 4) / 5
    b = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    return {
        "torch": torch,
        "F": F,
        "copy": copy,
        "a": a,
        "b": b,
        "s": torch.tensor(2.0, requires_grad=True),
    }


def printed(text: str) -> list[str]:
    """A result as text; of an error the names of its types."""
    try:
        return [repr(eval(text, given()))]
    except Exception as error:
        return [kind.__name__ for kind in type(error).__mro__]


@pytest.mark.parametrize(
    "case",
    read_lines("printed_by_torch.jsonl"),
    ids=lambda case: f"{case['about']}: {case['text']}",
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_results_print_as_pytorchs_do(case: dict[str, str]) -> None:
    assert case["printed"] in printed(case["text"])


_UNTAKEN = "unexpected keyword argument 'dtype'"


@pytest.mark.parametrize(
    "text",
    [
        "a.exp(dtype=torch.float64)",
        "a.argmin(dtype=torch.float64)",
        "torch.std(a, dtype=torch.float64)",
    ],
)
def test_a_dtype_that_a_function_does_not_take_is_refused(text: str) -> None:
    with pytest.raises(TypeError, match=_UNTAKEN):
        eval(text, given())


@pytest.mark.parametrize(("kind", "mode"), [("int64", "nearest"), ("bool", "bilinear")])
def test_whole_numbers_are_not_interpolated_as_floats(kind: str, mode: str) -> None:
    with pytest.raises(NotImplementedError, match="interpolate takes no tensors of"):
        F.interpolate(torch.ones(1, 1, 2, 2, dtype=getattr(torch, kind)), scale_factor=2, mode=mode)
