"""What the page of an explanation is made of, as data: the explanation's own dictionary, and what beside it is to be read."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from gradcli.inert import well_formed
from gradcli.report.data import number
from gradcli.report.explanation import LARGEST, Explanation, summary
from gradcli.report.lines import Line

MOST_NODES = 2_500  # up to which each is on the page; of more there is a summary
_MOST_NUMBERS = 200_000  # on a page, so that it stays below a few megabytes
_ROWS, _COLUMNS = 24, 32  # of the picture of a large array


def page_data(explanation: Explanation, digits: int) -> dict[str, Any]:
    """An explanation for the page: ``page`` holds what `to_dict` does not have."""
    is_whole = len(explanation.nodes) <= MOST_NODES
    data = (explanation if is_whole else _without_nodes(explanation)).to_dict()
    data.pop("meta", None)
    page: dict[str, Any] = {"nodes": len(explanation.nodes), "contributions": len(explanation.backward), "whole": is_whole}
    page["error"] = None if explanation.error is None else well_formed(explanation.error_text()).rstrip("\n")
    page |= {"verdict": None, "notes": []} if explanation.error is not None else _facts(explanation, digits)
    page["leaves"] = {each.name: summary(each.value) for each in explanation.nodes if each.op == "leaf" and each.name is not None}
    page["counts"] = Counter(each.op for each in explanation.nodes).most_common()
    if is_whole:
        page["operations"] = {each.op: well_formed(each.operation) for each in explanation.nodes if each.operation}
        page["spellings"] = {
            str(each.id): well_formed(each.spelling) for each in explanation.nodes if each.spelling is not None and each.operands
        }
        _fit(explanation, data)
        page["pictures"] = _pictures(explanation)
    return data | {"page": page}


def _without_nodes(explanation: Explanation) -> Explanation:
    gradients = {name: replace(each, paths=[]) for name, each in explanation.gradients.items()}
    return replace(explanation, nodes=[], backward=[], gradients=gradients)


def _facts(explanation: Explanation, digits: int) -> dict[str, Any]:
    """The verdict and the notes, in the words of every sheet."""
    lines = [line for line in explanation.record.lines(digits) if isinstance(line, Line)]
    verdict = next(({"word": line.kind, "text": line.text} for line in lines if line.label == "check"), None)
    notes = [line.text for line in lines if line.label == "note" and line.text not in explanation.record.warnings]
    return {"verdict": verdict, "notes": [well_formed(note) for note in notes]}


def _fit(explanation: Explanation, data: dict[str, Any]) -> None:
    """Sum up the largest arrays where all of them together are too many numbers for a page."""
    sizes = sorted(_size(each.value) for each in explanation.nodes)
    sizes = [size for size in sizes if size <= LARGEST]
    most, total = LARGEST, 0
    for size in sizes:
        total += 4 * size  # value, adjoint, and about two contributions
        if total > _MOST_NUMBERS:
            most = max(1, size - 1)
            break
    if most == LARGEST:
        return
    for node, own in zip(explanation.nodes, data["nodes"], strict=True):
        own["value"], own["adjoint"] = _held(node.value, own["value"], most), _held(node.adjoint, own["adjoint"], most)
    for each, own in zip(explanation.backward, data["backward"], strict=True):
        own["contribution"], own["local"] = _held(each.passed, own["contribution"], most), _held(each.local, own["local"], most)


def _size(value: Any) -> int:
    return max(map(_size, value), default=0) if isinstance(value, tuple) else int(np.size(value)) if value is not None else 0


def _held(value: Any, written: Any, most: int) -> Any:
    return summary(value, most) if most < _size(value) else written


def _pictures(explanation: Explanation) -> dict[str, dict[str, Any]]:
    """Of arrays too large to be written out: what their heat maps show."""
    found: dict[str, dict[str, Any]] = {}
    for node in explanation.nodes:
        if isinstance(node.value, tuple) or _size(node.value) <= LARGEST:
            continue
        parts = {"value": node.value, "adjoint": node.adjoint}
        found[str(node.id)] = {name: _picture(np.asarray(array)) for name, array in parts.items() if _size(array) > LARGEST}
    return found


def _picture(array: np.ndarray) -> dict[str, Any]:
    """Means of blocks of an array as a matrix of its last axis by all others."""
    matrix = array.reshape(-1, array.shape[-1]) if array.ndim > 1 else array.reshape(1, -1)
    if matrix.shape[0] == 1:
        matrix = _folded(matrix[0])
    rows, columns = _edges(matrix.shape[0], _ROWS), _edges(matrix.shape[1], _COLUMNS)
    with np.errstate(all="ignore"):
        sums = np.add.reduceat(np.add.reduceat(matrix.astype(float), rows[:-1], axis=0), columns[:-1], axis=1)
        means = sums / np.outer(np.diff(rows), np.diff(columns))
    return {
        "means": [[number(float(f"{mean:.6g}")) for mean in row] for row in means.tolist()],
        "block": int(np.diff(rows).max() * np.diff(columns).max()),
    }


def _folded(vector: np.ndarray) -> np.ndarray:
    """A long vector in rows; what does not fill the last row is left out of the picture."""
    columns = max(1, vector.size // _ROWS)
    return vector[: vector.size // columns * columns].reshape(-1, columns)


def _edges(size: int, most: int) -> np.ndarray:
    return np.unique(np.linspace(0, size, min(size, most) + 1).astype(int))
