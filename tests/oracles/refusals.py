"""Calls that PyTorch refuses:

``python -m oracles.refusals`` in tests/ asks PyTorch for the types of its errors.

``data/refusals.json`` has the calls, each with the type ("" for what is no error) and, of those
about autograd, with the first sentence. Needs PyTorch; the tests need what is recorded.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

RECORDED = Path(__file__).parent.parent / "data" / "refusals.json"


def recorded() -> dict[str, list[str]]:
    found: dict[str, list[str]] = json.loads(RECORDED.read_text("utf-8"))
    return found


def names(torch: Any) -> dict[str, Any]:
    return {
        "torch": torch, "F": torch.nn.functional, "x": torch.arange(6.0).reshape(2, 3),
        "v": torch.tensor([0.5, 0.25, 0.75]), "w2": torch.ones(4), "z": torch.zeros(2, 2),
        "s": torch.tensor([[2.0, 1.0], [1.0, 3.0]]), "c": torch.tensor(1.0),
        "g": torch.ones(2, requires_grad=True), "k": torch.tensor(2.0, requires_grad=True),
        "ints": torch.tensor([3, 2]), "truths": torch.tensor([True, False]), "doubles": torch.tensor([1.0, 2.0], dtype=torch.float64),
        "np": np, "autograd": torch.autograd, "AF": torch.autograd.functional, "func": torch.func,
    }  # fmt: skip


def sentence(error: BaseException | None) -> str:
    """The first sentence of an error; what follows says what to do."""
    return "" if error is None else str(error).splitlines()[0].split(". ")[0].rstrip(". ")


def raised(torch: Any, text: str) -> BaseException | None:
    """The error of a call, None if there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            eval(text, names(torch))
        except Exception as error:
            return error
    return None


def main() -> None:
    import torch

    lines = []
    for text, (_, *said) in recorded().items():
        error = raised(torch, text)
        mro = () if error is None else type(error).__mro__
        builtin = next((kind.__name__ for kind in mro if kind.__module__ == "builtins"), "")
        lines.append(
            f"{json.dumps(text)}: {json.dumps([builtin, sentence(error)] if said else [builtin])}"
        )
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
