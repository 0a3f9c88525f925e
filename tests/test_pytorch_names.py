"""Functions and methods of PyTorch's that are about tensors, each call beside what PyTorch 2.13
printed of it.
"""

from __future__ import annotations

import re

import pytest
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
