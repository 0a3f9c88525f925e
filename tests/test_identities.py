"""The identities by which functions are rewritten hold, wherever their conditions do: each is
evaluated on both sides.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import gradcli
from gradcli.check.identities import IDENTITIES, WIDER, Identity, rules

LETTERS = "abcdq"
SCALARS = [
    (*point, 1.1, -0.8)
    for point in [
        (0.3, 0.2, 0.7), (1.7, 1.2, 2.5), (-0.4, 0.3, 1.5), (-0.6, -0.2, 2.0), (2.3, -0.3, 0.4), (-1.9, -1.4, 3.0), (0.6, 1.9, 2.0),
    ]
]  # fmt: skip
VECTORS = [(np.array([0.3, 1.2, 0.1]),) * len(LETTERS)]
MATRICES = [(np.array([[2.0, 0.3], [0.1, 1.5]]),) * len(LETTERS)]


def points(pattern: str) -> list[tuple[object, ...]]:
    return list(
        MATRICES
        if "det(" in pattern
        else VECTORS
        if re.search(r"sum\(|prod\(|softmax\(|@", pattern)
        else SCALARS
    )


def value(text: str, point: tuple[object, ...]) -> np.ndarray:
    named = {
        name: x for name, x in zip(LETTERS, point, strict=True) if re.search(rf"\b{name}\b", text)
    }
    whole = f"sum(({text})*[1, 2, 3])" if np.ndim(point[0]) == 1 else text
    return np.asarray(gradcli.evaluate(whole, check=False, formula=False, at=named).value)


@pytest.mark.parametrize(
    "identity", [*IDENTITIES, *WIDER], ids=lambda identity: f"{identity.pattern} = {identity.equal}"
)
def test_both_sides_are_equal(identity: Identity) -> None:
    told = 0
    for point in points(identity.pattern):
        if identity.condition and not value(f"({identity.condition}) + 0", point):
            continue
        left = value(identity.pattern, point)
        if np.all(np.isfinite(left)):
            told += 1
            assert value(identity.equal, point) == pytest.approx(left, rel=1e-9, abs=1e-12)
    assert told


def test_every_identity_is_read() -> None:
    assert sum(map(len, rules().values())) == len(IDENTITIES)
