"""Answers of contestants: kept in a file by the first, compared with it by the others."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from benchmarks.contest import Answer

_KEPT = 1_000_000  # entries of an array that are compared, evenly spread

Parts = dict[str, np.ndarray]


def parts_of(answer: Answer) -> Parts:
    """An answer as NumPy arrays, large ones thinned."""
    return {name: _thinned(np.asarray(part, dtype=float)) for name, part in answer.items()}


def _thinned(array: np.ndarray) -> np.ndarray:
    flat = array.ravel()
    return flat[:: max(1, flat.size // _KEPT)].copy()


def save(path: Path, parts: Parts) -> None:
    np.savez(path, **parts)  # type: ignore[arg-type]


def saved(path: Path) -> Parts:
    """The answer in a file: arrays, or the records that a command printed."""
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            return dict(arrays)
    with path.open(encoding="utf-8") as lines:
        return _of_records([json.loads(line) for line in lines])


def _of_records(records: list[dict[str, object]]) -> Parts:
    if len(records) == 1:
        gradient = records[0]["grad"]
        assert isinstance(gradient, dict)
        return parts_of({"value": records[0]["value"], **gradient})
    values = [record["value"] for record in records]
    slopes = [slope for record in records for _, slope in sorted(record["grad"].items())]  # type: ignore[attr-defined]
    return parts_of({"value": values, "gradients": slopes})


def difference(found: Parts, wanted: Parts) -> float:
    """The largest difference, relative to the entry or to the mean size of its array, whichever is
    larger.
    """
    if found.keys() != wanted.keys() or any(
        found[name].shape != wanted[name].shape for name in wanted
    ):
        return float("inf")
    return max(_largest(found[name], wanted[name]) for name in wanted)


def _largest(found: np.ndarray, wanted: np.ndarray) -> float:
    sizes = np.abs(wanted)
    scale = np.maximum(sizes, np.mean(sizes))
    return float(np.max(np.abs(found - wanted) / np.where(scale == 0, 1, scale), initial=0.0))
