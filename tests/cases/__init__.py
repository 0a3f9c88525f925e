"""Programs with what is right for them, one file a family, one line a case: its `text`, the values
of its names `at` a point, its `value`, and the gradient `grad` of the sum of the value's entries,
each times its `seeds`.

What is right comes from the same mathematics written in NumPy, on complex numbers, differentiated
by complex steps; `line_of` makes a line of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest


class Case(NamedTuple):
    text: str
    values: dict[str, Any]
    value: Any
    grad: dict[str, Any]
    reason: str

    @property
    def name(self) -> str:
        """The name of a test of this case."""
        return f"{self.text} {[np.shape(v) for v in self.values.values()]} {self.reason}".strip()


def seeds(like: Any) -> np.ndarray:
    """Return the weight of each entry of a value: cos(1), cos(2), ... in C order."""
    return np.cos(1.0 + np.arange(np.size(like))).reshape(np.shape(like))


def line_of(text: str, function: Callable[..., Any], at: dict[str, Any], about: str = "") -> str:
    """Return the line of a case, from a function of complex arrays in the order of ``at``."""
    from helpers import complex_step

    value = np.real(function(*[np.asarray(v) for v in at.values()]))
    grad = complex_step(function, at, seeds(value))
    arrays = {name: np.asarray(v).tolist() for name, v in {"value": value, **grad}.items()}
    row = {"text": text, "about": about, "at": at, "value": arrays.pop("value"), "grad": arrays}
    return json.dumps({key: part for key, part in row.items() if part != ""})


def _read(line: str) -> Case:
    row = json.loads(line)
    at, grad = (
        {name: np.array(v, float) for name, v in row[key].items()} for key in ("at", "grad")
    )
    return Case(row["text"], at, np.array(row["value"], float), grad, row.get("about", ""))


EVERY = [
    _read(line)
    for path in sorted(Path(__file__).parent.glob("*.jsonl"))
    for line in path.read_text("utf-8").splitlines()
]
over_cases = pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in EVERY])
