"""The programs of data/witness_programs.txt, and the arrays that their names stand for."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

RANDOM = np.random.default_rng(31)


def some(*shape: int) -> np.ndarray:
    """Entries of both signs, away from 0 and from each other."""
    return (RANDOM.uniform(0.3, 2.0, shape) * RANDOM.choice([-1.0, 1.0], shape)).round(6)


X, Y, A = some(3, 4), some(3, 4), some(3, 3) + 3 * np.eye(3)
ARRAYS: dict[str, Any] = {
    "X": X, "Y": Y, "Z": some(3, 4), "WEIGHTS": np.abs(some(4)), "P": np.abs(some(5)), "A": A, "B": some(3, 2), "S": A @ A.T,
    "CUBE": some(2, 3, 4), "IMAGE": some(1, 2, 4, 5), "BLOCK": some(1, 2, 3, 4, 5), "STEPS": some(4, 3), "SEQUENCES": some(3, 2, 3),
    "PLANE": some(1, 2, 3), "SPACE": some(1, 3, 4), "SHARES": np.abs(X) / 2.1, "CHANCES": np.abs(Y) / 2.1,
    "HOLES": np.where(np.arange(12).reshape(3, 4) % 5 == 2, math.nan, X),
    "EQUAL": np.array([[1.0, 2.0, 2.0, 1.0, 1.0], [3.0, 3.0, 2.0, 2.0, 1.0]]),
    "GRID": RANDOM.uniform(-1.4, 1.4, (1, 3, 2, 2)).round(6), "GRID3": RANDOM.uniform(-1.4, 1.4, (1, 2, 2, 1, 3)).round(6),
}  # fmt: skip


def programs() -> list[tuple[str, dict[str, Any]]]:
    """Each program with the values of its names."""
    found: list[tuple[str, dict[str, Any]]] = []
    values: dict[str, Any] = {}
    for line in (Path(__file__).parent / "data" / "witness_programs.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            values = {name: ARRAYS[array] for name, array in (pair.split("=") for pair in line.strip("[]").split())}
        elif line and not line.startswith("#"):
            found.append((line, values))
    return found


TEXTS = programs()
