"""Records what PyTorch makes of the calls of the catalogue: ``python -m oracles.record`` in tests/.

Needs PyTorch; the tests need what is recorded (data/oracles.json.gz). Values and gradients are of its
own functions in float64.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Collection
from typing import Any

import numpy as np
from recorded import write

from oracles.catalogue import calls_of, catalogue, question
from oracles.libraries import DATA, TORCH, spelled, used, weights
from oracles.values import VALUES


class Pool:
    """Arrays, each kept once."""

    def __init__(self) -> None:
        self.kept: dict[str, int] = {}

    def place(self, array: np.ndarray) -> int:
        flat = [_number(v) for v in array.astype(float).ravel().tolist()]
        text = json.dumps([list(array.shape), flat], separators=(",", ":"))
        return self.kept.setdefault(text, len(self.kept))


def _number(value: float) -> float | int:
    short = float(f"{value:.16g}")
    return (
        int(short) if short.is_integer() and abs(short) < 1e15 and str(short) != "-0.0" else short
    )


def answered(torch: Any, text: str, pool: Pool) -> Any:
    """The answer with the gradients by all arrays, or by each that PyTorch differentiates
    by alone.
    """
    try:
        return _answered(torch, text, pool, used(text))
    except (RuntimeError, NotImplementedError):
        several, parts, gradients = _answered(torch, text, pool, ())
    for name in used(text):
        try:
            _, _, more = _answered(torch, text, pool, (name,))
        except (RuntimeError, NotImplementedError):
            continue
        gradients = [{**old, **new} for old, new in zip(gradients, more, strict=True)]
    return several, parts, gradients


def _answered(torch: Any, text: str, pool: Pool, wrt: Collection[str]) -> Any:
    """Whether PyTorch gives several parts, these and their gradients, by their places in the pool.

    Raises whatever PyTorch raises.
    """
    given = {name: torch.tensor(VALUES[name]) for name in used(text)}
    leaves = {name: given[name].requires_grad_() for name in wrt if given[name].is_floating_point()}
    # what changes its tensor in place may not do so to a leaf
    moved = {name: value.clone() if name in leaves else value for name, value in given.items()}
    result = eval(
        text,
        {
            "torch": torch,
            "F": torch.nn.functional,
            "inf": float("inf"),
            "nan": float("nan"),
            **moved,
        },
    )
    parts = list(result) if isinstance(result, (tuple, list)) else [result]
    tensors = [
        part if isinstance(part, torch.Tensor) else torch.tensor(part)
        for part in parts
        if part is not None
    ]
    if not tensors or any(t.is_complex() for t in tensors):
        raise LookupError(text)
    several = isinstance(result, (tuple, list))
    return (
        several,
        [pool.place(t.numpy(force=True)) for t in tensors],
        [_gradients(torch, t, leaves, pool) for t in tensors],
    )


def _gradients(torch: Any, part: Any, leaves: dict[str, Any], pool: Pool) -> dict[str, int]:
    if not (part.is_floating_point() and part.requires_grad):
        return {}
    seed = torch.tensor(weights(tuple(part.shape)))
    try:
        slopes = torch.autograd.grad(
            part, list(leaves.values()), seed, retain_graph=True, allow_unused=True
        )
    except (RuntimeError, NotImplementedError):
        return {}
    return {
        name: pool.place(slope.numpy(force=True))
        for name, slope in zip(leaves, slopes, strict=True)
        if slope is not None
    }


def names_of(module: Any) -> str:
    return " ".join(
        sorted(
            name
            for name in dir(module)
            if re.match(r"[A-Za-z]", name) and callable(getattr(module, name, None))
        )
    )


def _row(name: str, rows: dict[str, dict[str, list[str]]]) -> str:
    """The calls of a function: what PyTorch gives, under the places that give it."""
    calls = {
        text: {" ".join(places): json.loads(given) for given, places in groups.items()}
        for text, groups in rows.items()
    }
    return f"{json.dumps(name)}:{json.dumps(calls, separators=(',', ':'))}"


def main() -> None:
    import torch

    torch.set_default_dtype(torch.float64)
    warnings.simplefilter("ignore")
    modules = dict(
        zip(
            TORCH,
            (torch, torch.nn.functional, torch.linalg, torch.special, torch.Tensor),
            strict=True,
        )
    )
    pool = Pool()
    found: dict[str, dict[str, dict[str, list[str]]]] = {}
    for name in catalogue():
        for place, module in modules.items():
            for arguments in calls_of(name, place):
                if not callable(getattr(module, name, None)):
                    continue
                try:
                    given = answered(torch, spelled(place, name, arguments), pool)
                except Exception:
                    continue
                groups = found.setdefault(name, {}).setdefault(arguments, {})
                groups.setdefault(json.dumps(given, separators=(",", ":")), []).append(place)
    lines = [
        f'"versions": {json.dumps({"torch": torch.__version__})}',
        f'"asked": {json.dumps({name: question(name) for name in catalogue()})}',
        f'"names": {json.dumps({place: names_of(module) for place, module in modules.items()})}',
        '"calls": {\n' + ",\n".join(_row(name, rows) for name, rows in found.items()) + "\n}",
        '"values": [\n' + ",\n".join(pool.kept) + "\n]",
    ]
    write(DATA, "{" + ",\n".join(lines) + "}\n")


if __name__ == "__main__":
    main()
