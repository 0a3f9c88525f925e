"""Texts of the libraries' own, held against what is recorded of them (record_texts.py)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import gradcli
from oracles.libraries import used, weights
from oracles.values import VALUES

DATA = Path(__file__).parent.parent / "data"
# Where a library computes in float32, or by short series, with how much that is.
ROUGH = {
    "Hardsigmoid": 1e-6, "CELU": 1e-6, "StudentT": 1e-8, "Beta": 1e-8, "Gamma": 1e-6, "Chi2": 1e-6, "Dirichlet": 1e-8, "VonMises": 2e-7,
    "Binomial": 1e-8, "NegativeBinomial": 1e-8, "Poisson": 1e-8,
}  # fmt: skip


@cache
def recorded(library: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / f"texts_of_{library}.json").read_text())
    return found


def text_faults(library: str, text: str) -> Iterator[str]:
    """What is wrong with the value of a text, with its shape and with its gradients.

    Raises what gradcli raises.
    """
    wanted = recorded(library)[text]
    value = np.asarray(wanted["value"], float)
    frozen = [name for name in used(text) if VALUES[name].dtype.kind != "f"]
    at = {name: VALUES[name] for name in used(text)}
    record = gradcli.evaluate(
        text, at=at, seed=weights(value.shape)[()], check=False, formula=False, freeze=frozen
    )
    within = max((size for word, size in ROUGH.items() if word in text), default=1e-11)
    found = np.asarray(record.value, float)
    if found.shape != value.shape or not np.allclose(
        found, value, rtol=within, atol=1e-14, equal_nan=True
    ):
        yield f"{text} is {found.tolist()}, not {value.tolist()}"
    for name, slope in wanted["gradients"].items():
        found = np.asarray((record.grad or {}).get(name, np.zeros(VALUES[name].shape)))
        if not np.allclose(
            found, np.asarray(slope, float), rtol=100 * within, atol=1e-12, equal_nan=True
        ):
            yield f"the gradient of {text} by {name} is {found.tolist()}, not {slope}"
