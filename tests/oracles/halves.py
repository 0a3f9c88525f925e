"""Floats of 16 bits in PyTorch: values and gradients of one function each, ``python -m
oracles.halves`` in tests/ asks for them.

Needs PyTorch; the tests need what is recorded (data/halves.json). Functions are those that PyTorch
has one loop of: it computes in float32 and rounds once, as we do. Numbers are recorded as they are,
for floats of 16 bits have few digits.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from oracles.libraries import used, weights
from oracles.values import VALUES

RECORDED = Path(__file__).parent.parent / "data" / "halves.json"
DTYPES = ("float16", "bfloat16")

CALLS = tuple(json.loads(RECORDED.read_text("utf-8")))


def answer(torch: Any, text: str, kind: str) -> Any:
    """What a call gives of arrays in a dtype: of each part its dtype, its entries and its
    gradients; or the kind of error.
    """
    given = {name: torch.tensor(VALUES[name]) for name in used(text)}
    given = {
        name: x.to(getattr(torch, kind)) if x.is_floating_point() else x
        for name, x in given.items()
    }
    leaves = {name: x.requires_grad_() for name, x in given.items() if x.is_floating_point()}
    try:
        result = eval(text, {"torch": torch, "F": torch.nn.functional, **given})
    except (RuntimeError, TypeError, ValueError) as error:
        return (
            "NotImplementedError"
            if isinstance(error, NotImplementedError)
            else type(error).__name__
        )
    parts = result if isinstance(result, (tuple, list)) else (result,)
    return [
        _part(torch, part if isinstance(part, torch.Tensor) else torch.tensor(part), leaves)
        for part in parts
    ]


def _part(torch: Any, part: Any, leaves: dict[str, Any]) -> Any:
    name = str(part.dtype).removeprefix("torch.")
    entries = part.detach().reshape(-1).tolist()
    if not part.requires_grad:
        return [name, entries, {}]
    seed = torch.tensor(weights(tuple(part.shape))).to(part.dtype)
    slopes = torch.autograd.grad(
        part, list(leaves.values()), seed, retain_graph=True, allow_unused=True
    )
    return [
        name,
        entries,
        {n: x.reshape(-1).tolist() for n, x in zip(leaves, slopes, strict=True) if x is not None},
    ]


def main() -> None:
    import torch

    rows = [
        f"{json.dumps(text)}: {json.dumps([answer(torch, text, kind) for kind in DTYPES])}"
        for text in CALLS
    ]
    RECORDED.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
