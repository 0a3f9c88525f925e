"""Functions and methods of PyTorch's that are about tensors, each call beside what PyTorch 2.13
printed of it.
"""

from __future__ import annotations

import re

import pytest
from oracles import modules
from oracles.pytorch_names import printed, recorded

import gradcli
from gradcli.nn import functional

WANTED = recorded()
OVERLOAD = re.compile(r"(?<=Backward)\d")  # which nodes here have no number for
NUMBER = re.compile(r"-?(?:\d+\.?\d*(?:e[-+]?\d+)?|nan|inf)")


def the_same(found: str, wanted: str) -> bool:
    """Whether texts differ by rounding alone, in the last digits that are printed."""
    found, wanted = OVERLOAD.sub("", found), OVERLOAD.sub("", wanted)
    if NUMBER.sub("#", found) != NUMBER.sub("#", wanted):
        return False
    pairs = zip(NUMBER.findall(found), NUMBER.findall(wanted), strict=True)
    return all(
        a == b or abs(float(a) - float(b)) <= 1e-6 * abs(float(b)) + 2e-4 * ("." in a)
        for a, b in pairs
    )


@pytest.mark.parametrize("line", WANTED)
def test_a_call_gives_what_pytorch_gives(line: str) -> None:
    found, wanted = printed(line, gradcli, functional), WANTED[line]
    if wanted.endswith("!"):
        assert found.endswith("!"), f"PyTorch raises {wanted[:-1]}, and this gives {found}"
        assert wanted[:-1] in found[:-1].split()
    else:
        assert the_same(found, wanted), f"{line}\n  gives   {found}\n  PyTorch {wanted}"


# Parameters that no object of ours keeps, and numbers that say the same.
OTHERWISE = {
    "Hardtanh(min_val=-1.0, max_val=1.0, inplace=False, min_value=None, max_value=None)":
        "Hardtanh(min_val=-1.0, max_val=1.0, inplace=False)",
    "Softplus(beta=1.0, threshold=20.0)": "Softplus(beta=1, threshold=20)",
    "TripletMarginWithDistanceLoss(distance_function=None, margin=1.0, swap=False, "
    "reduction='mean')":
        "TripletMarginWithDistanceLoss(margin=1.0, swap=False, reduction='mean')",
    **{f"ConstantPad{n}d(padding, value)": f"ConstantPad{n}d(padding, value=None)" for n in (1, 2, 3)},
}  # fmt: skip


@pytest.mark.parametrize("line", modules.WRITTEN.read_text("utf-8").split("\n")[:-1])
def test_a_class_is_made_as_pytorch_makes_it(line: str) -> None:
    made = getattr(gradcli.nn, line.partition("(")[0])
    assert made.__name__ + str(made._constructor) == OTHERWISE.get(line, line)


@pytest.mark.parametrize("text", [
    "ReLU()", "MSELoss(reduction='sum')", "MaxPool2d(kernel_size=2)", "Dropout(p=0.2)", "AvgPool2d(kernel_size=2, stride=1)",
    "ConstantPad1d(padding=(2, 2), value=3.5)", "Softmax(dim=1)",
])  # fmt: skip
def test_a_class_says_what_it_was_told(text: str) -> None:
    assert repr(eval(f"gradcli.nn.{text}")) == text
