"""PyTorch's functions on tensors with every keyword of their signatures, beside its recorded
results: used as it uses them, or refused.

Each number in a keyword's place is a tensor that requires grad, too: it takes part in the graph, or
the call is refused.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
from keywords.calls import VALUES
from recorded import read_json

import gradcli as torch

RECORDED: dict[str, Any] = read_json("keywords.json")["torch"]
NAMES = sorted(
    {
        match.group(1)
        for text in RECORDED
        if (match := re.match(r"((?:torch|F)[\w.]*|\(.*?\)\.\w+)\(", text))
    }
)
# Below 1, where PyTorch's zeta is no number, ours is the analytic continuation; the signs of
# singular vectors are NumPy's.
DIFFERENT = ("torch.special.zeta(M, N)", "torch.svd(M", "(M).svd(")
# Where only a device's layout or memory is asked for, of constructors, or a list in the place of a
# tensor: so many calls.
NOT_TAKEN = 30
_NUMBER = re.compile(r", (\w+)=(\d+\.\d+)\)$")


def calls_of(name: str) -> list[str]:
    return [text for text in RECORDED if text.startswith(f"{name}(")]


def run(text: str, **more: Any) -> Any:
    given = {name: torch.tensor(array) for name, array in VALUES.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(
            text, {"torch": torch, "F": torch.nn.functional, "inf": float("inf"), **given, **more}
        )


def plain(result: Any) -> Any:
    if isinstance(result, (tuple, list)):
        return {"parts": [plain(part) for part in result]}
    return np.asarray(result.detach().numpy() if isinstance(result, torch.Tensor) else result)


def same(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, dict) or isinstance(theirs, dict):
        if (
            not isinstance(mine, dict)
            or not isinstance(theirs, dict)
            or len(mine["parts"]) != len(theirs["parts"])
        ):
            return False
        return all(map(same, mine["parts"], theirs["parts"]))
    if theirs is None:
        return True
    wanted = np.asarray(theirs, float)
    if not wanted.size:
        return not mine.size  # a list of nothing has lost its shape
    given = mine.astype(float)
    given = np.where(
        np.abs(given) > 1e308, np.copysign(np.inf, given), given
    )  # as they were recorded
    return mine.shape == wanted.shape and np.allclose(
        given, wanted, rtol=1e-6, atol=1e-9, equal_nan=True
    )


def assert_keywords_are_used(name: str) -> None:
    for text in calls_of(name):
        try:
            result = run(text)
        except (TypeError, RuntimeError, AttributeError, ValueError, IndexError):
            continue
        assert text.startswith(DIFFERENT) or same(plain(result), RECORDED[text]), (
            f"{text}: {result}, not {RECORDED[text]}"
        )


def assert_gradients_of_numbers_are_kept(name: str) -> None:
    for text in calls_of(name):
        found = _NUMBER.search(text)
        if found is None:
            continue
        number = torch.tensor(float(found.group(2)), dtype=torch.float64, requires_grad=True)
        try:
            result = run(text[: found.start(2)] + "number)", number=number)
        except (TypeError, RuntimeError, AttributeError, ValueError):
            continue
        parts = result if isinstance(result, (tuple, list)) else [result]
        taken = any(isinstance(part, torch.Tensor) and part.requires_grad for part in parts)
        assert taken, f"{text}: the gradient by {found.group(1)} is lost"


@pytest.mark.parametrize("name", NAMES)
def test_every_keyword_and_number(name: str) -> None:
    """Whatever is given is used, and keeps its gradient."""
    assert_keywords_are_used(name)
    assert_gradients_of_numbers_are_kept(name)


def test_nearly_all_calls_are_taken() -> None:
    refused = []
    for text in RECORDED:
        try:
            run(text)
        except (TypeError, AttributeError):
            refused.append(text)
    assert len(refused) <= NOT_TAKEN, refused
