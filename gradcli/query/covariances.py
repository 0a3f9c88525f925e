"""Covariances of names: what is given of them, checked, as one matrix over all entries of all uncertain names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from gradcli.errors import MissingValueError, ShapeError, UsageError, suggestion
from gradcli.graph.nodes import Expr
from gradcli.language.scope import Scope

Given = Sequence[tuple[tuple[str, ...], Any]]  # names, and their covariance: a number of two, or a matrix over the entries of all

_CLOSE = 1e-9  # of the largest entry: what rounding leaves of symmetry, and of a smallest eigenvalue of 0


def uncertain(scope: Scope, order: Sequence[Expr], given: Given) -> dict[str, Expr]:
    """The names of a result that are not exact. Raises MissingValueError for a covariance of a name that the program does not have."""
    present = {node.payload.name: node for node in order if node.is_leaf and node.kind == "float"}
    named = {name for names, _ in given for name in names}
    for name in sorted(named - scope.leaves.keys()):
        close = suggestion(name, list(scope.leaves))
        raise MissingValueError(f"--cov names '{name}', which has no value", help=f"did you mean '{close}'?" if close else None)
    return {name: node for name, node in present.items() if node in scope.deviations or name in named}


def places_of(leaves: Mapping[str, Expr]) -> dict[str, slice]:
    """Where the entries of each name lie among those of all."""
    ends = np.cumsum([0, *(math.prod(leaf.shape) for leaf in leaves.values())]).tolist()
    return {name: slice(*pair) for name, pair in zip(leaves, pairwise(ends), strict=True)}


def covariance_matrix(scope: Scope, leaves: Mapping[str, Expr], given: Given) -> np.ndarray:
    """The covariances of all entries, names in the order of ``leaves``. Raises UsageError or ShapeError for what is no covariance."""
    places = places_of(leaves)
    end = sum(math.prod(leaf.shape) for leaf in leaves.values())
    matrix = np.zeros((end, end))
    for name, leaf in leaves.items():
        own = places[name]
        matrix[own, own] = np.diag(np.square(np.ravel(scope.deviations.get(leaf, np.zeros(leaf.shape)))))
    for names, value in given:
        if all(name in places for name in names):
            _put(scope, leaves, places, matrix, names, np.asarray(value, np.float64))
    _refuse_indefinite(matrix, given)
    return matrix


def _put(
    scope: Scope, leaves: Mapping[str, Expr], places: Mapping[str, slice], matrix: np.ndarray, names: tuple[str, ...], value: np.ndarray
) -> None:
    listed = ",".join(names)
    if not np.isfinite(value).all():
        raise UsageError(f"--cov {listed}: a covariance is a finite number")
    if not value.shape:
        _put_pair(scope, leaves, places, matrix, names, float(value))
        return
    entries = np.concatenate([np.arange(places[name].start, places[name].stop) for name in names])
    if value.shape != (len(entries), len(entries)):
        raise ShapeError(f"--cov {listed} has the shape {value.shape}, and the names {len(entries)} entries", help="a row for each entry")
    if np.abs(value - value.T).max() > _CLOSE * np.abs(value).max():
        raise UsageError(f"--cov {listed} is not symmetric")
    variances = dict(zip(entries.tolist(), np.diag(value).tolist(), strict=True))
    for name in names:
        own = [variances[entry] for entry in range(places[name].start, places[name].stop)]
        if leaves[name] in scope.deviations and not np.allclose(own, np.square(np.ravel(scope.deviations[leaves[name]])), rtol=1e-6):
            raise UsageError(f"--cov {listed} has other variances of '{name}' than its ±", help="leave the ± out, or the diagonal right")
    matrix[np.ix_(entries, entries)] = value


def _put_pair(
    scope: Scope, leaves: Mapping[str, Expr], places: Mapping[str, slice], matrix: np.ndarray, names: tuple[str, ...], value: float
) -> None:
    """One number: the covariance of two names that are numbers, each with a standard deviation."""
    listed = ",".join(names)
    if len(names) != 2 or names[0] == names[1] or any(leaves[name].shape for name in names):
        raise UsageError(f"--cov {listed}: one number is the covariance of two names that are numbers", help="arrays take a matrix")
    for name in names:
        if leaves[name] not in scope.deviations:
            raise UsageError(f"--cov {listed}: '{name}' has no standard deviation", help=f"write {name}=...±...")
    largest = math.prod(float(scope.deviations[leaves[name]]) for name in names)
    if abs(value) > largest * (1 + _CLOSE):
        raise UsageError(f"--cov {listed}={value:g} is more than the product of the standard deviations, {largest:g}")
    first, second = (places[name].start for name in names)
    matrix[first, second] = matrix[second, first] = value


def _refuse_indefinite(matrix: np.ndarray, given: Given) -> None:
    if given and matrix.size and np.linalg.eigvalsh(matrix).min() < -_CLOSE * np.abs(matrix).max():
        raise UsageError("the covariances cannot be: their matrix has a negative eigenvalue")
