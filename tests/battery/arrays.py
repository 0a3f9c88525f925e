"""Arrays: long sums, one wrong entry of thousands, losses, softmax, norms, products with zeros,
seeds, float32.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from mpmath import mp
from scipy.linalg import expm
from scipy.special import expit

from battery.rows import WRONG, Row

RANDOM = np.random.default_rng(2024)


def some(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape).round(4)


def one_off(right: Any, place: Any, factor: float = 1 + 5e-4) -> np.ndarray:
    """The same with one entry off by 0.05 %."""
    found = np.array(right, float)
    found[place] = found[place] * factor
    return found


def array(title: str, program: str, at: Mapping[str, Any], right: Mapping[str, Any], wrong: Mapping[str, Mapping[str, Any]] | None = None,
          verdicts: tuple[str, ...] = ("agree",), slightly: float | None = 5e-6, twice: bool = True, **options: Any) -> list[Row]:  # fmt: skip
    """A right gradient, the ways in which it is often wrong, and the given ones."""
    name, truth = next(iter(right.items()))
    truth = np.asarray(truth, float)
    claims: dict[str, Mapping[str, Any]] = {}
    if slightly:
        place = np.unravel_index(int(np.argmax(np.abs(truth))), truth.shape)
        claims[f"one entry off by {slightly:g}"] = {name: one_off(truth, place, 1 + slightly)}
    if twice:
        claims["twice"] = {name: 2 * truth}
    claims.update(wrong or {})
    return [Row(f"{title}: right", program, at, right, tuple(verdicts), **options)] + [
        Row(f"{title}: {mistake}", program, at, {**right, **claim}, WRONG, **options)
        for mistake, claim in claims.items()
    ]


def rows_of(file: str, names: Mapping[str, Any]) -> list[Row]:
    """The rows of a table, whose arrays are formulas of these names, NumPy and SciPy."""
    functions = {**vars(np), **vars(np.linalg), "expit": expit, "expm": expm, **names}

    def made(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: made(part) for name, part in value.items()}
        return eval(value, functions) if isinstance(value, str) else value

    lines = (Path(__file__).parent / file).read_text(encoding="utf-8").splitlines()
    return [
        row
        for line in map(json.loads, lines)
        for row in array(**{k: made(v) if k in ARRAYS else v for k, v in line.items()})
    ]


ARRAYS = {"at", "right", "wrong", "seed"}


def exactly(formula: Any, *arrays: Any) -> np.ndarray:
    """An entrywise formula at fifty digits."""
    with mp.workdps(50):
        flat = [
            float(formula(*[mp.mpf(float(v)) for v in entry]))
            for entry in zip(*map(np.ravel, arrays), strict=True)
        ]
    return np.reshape(flat, np.shape(arrays[0]))


LONG, ENTRIES = np.linspace(-3, 3, 2000), some(3000)
POSITIVE = np.abs(ENTRIES) + 0.1
STEPS = some(40)
TAIL = 2 * np.cumsum(np.cumsum(STEPS)[::-1])[::-1]

TINY = 1e-12 * some(30)
SMALL, LARGE = some(3), some(3)

LOGITS, LABELS, TARGETS = some(4, 3), np.array([0, 2, 1, 1]), np.array([1.0, 0.0, 1.0, 1.0, 0.0])
SOFT = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
ONE_HOT = np.eye(3)[LABELS]
GIVEN, WANTED = some(5), some(5)
OFF = GIVEN - WANTED
X53, W3, B = some(5, 3), some(3), 0.3

X6, V6 = some(6), some(6)
S6 = np.exp(X6 - X6.max()) / np.exp(X6 - X6.max()).sum()
N6 = np.sqrt(X6 @ X6)
some(3, 4)  # the numbers that follow are those of the draws after it
W23 = some(2, 3)
ROWS = rows_of("arrays.jsonl", globals())
