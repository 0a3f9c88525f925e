"""Modules of torch.nn, torch.distributions and the parts of JAX are what the libraries are: values and gradients as recorded from them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracles.libraries import used, weights
from oracles.texts import TEXTS
from oracles.values import VALUES

import gradcli

DATA = Path(__file__).parent / "data"
# Where a library computes in float32, or by short series, with how much that is.
ROUGH = {"Hardsigmoid": 1e-6, "CELU": 1e-6, "StudentT": 1e-8, "Beta": 1e-8, "Gamma": 1e-6, "Chi2": 1e-6, "Dirichlet": 1e-8,
    "VonMises": 2e-7, "Binomial": 1e-8,
         "NegativeBinomial": 1e-8, "FisherSnedecor": 1e-7, "Poisson": 1e-8}  # fmt: skip
CASES = [(library, text) for library, texts in TEXTS.items() for text in texts]


@cache
def recorded(library: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / f"texts_of_{library}.json").read_text())
    return found


@pytest.mark.parametrize(("library", "text"), [pytest.param(*case, id=case[1]) for case in CASES])
def test_a_text_is_what_the_library_makes_of_it(library: str, text: str) -> None:
    wanted = recorded(library)[text]
    value = np.asarray(wanted["value"], float)
    names = [name for name in used(text) if VALUES[name].dtype.kind == "f"]
    frozen = [name for name in used(text) if name not in names]
    record = gradcli.evaluate(
        text, at={name: VALUES[name] for name in used(text)}, seed=weights(value.shape)[()], check=False, formula=False, freeze=frozen
    )
    within = max((size for word, size in ROUGH.items() if word in text), default=1e-11)
    np.testing.assert_allclose(np.asarray(record.value, float), value, rtol=within, atol=1e-14)
    assert np.shape(record.value) == value.shape
    for name, slope in wanted["gradients"].items():
        found = np.asarray((record.grad or {}).get(name, np.zeros(VALUES[name].shape)))
        np.testing.assert_allclose(found, np.asarray(slope, float), rtol=100 * within, atol=1e-12, err_msg=name)


def test_every_text_was_recorded() -> None:
    missing = [text for library, text in CASES if text not in recorded(library)]
    assert missing == [], "python -m oracles.record_texts torch (and jax) in tests/ records what the libraries make of the texts"
