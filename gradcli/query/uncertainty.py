"""How standard deviations of names come into a result: by first order, and what second order would change of it.

Every uncertain name counts, whatever the gradient is asked for: the variance is that of the slopes times what deviates, names being
independent unless covariances are given. Second order is that of normal distributions: half the trace of the Hessian times the
covariance is the bias, half the trace of the square of that is added to the variance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from gradcli.errors import GradcliError, MissingValueError, ShapeError, UsageError, suggestion
from gradcli.graph.interpret import Values, forward
from gradcli.graph.nodes import Expr, reachable
from gradcli.graph.sweep import flowing
from gradcli.language.scope import Scope
from gradcli.query.warnings import hessian, jacobian
from gradcli.report.records import Record
from gradcli.report.uncertainty import Uncertainty

# -- Covariances of names: what is given of them, checked, as one matrix over all entries of all
# uncertain names.


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
    """Return where the entries of each name lie among those of all."""
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


_FEW = 32  # entries of names up to which second order is looked at
_MATTERS = 0.05  # of the standard deviation, from which on a note says so


def propagated(scope: Scope, root: Expr, order: Sequence[Expr], record: Record, given: Given = ()) -> Uncertainty | None:
    """The standard deviation of a query's value; None where no name in it has one.

    given  covariances of names
    """
    leaves = uncertain(scope, order, given)
    if not leaves:
        return None
    covariances = covariance_matrix(scope, leaves, given)
    values = forward([root], scope.values, scope.precision, order)
    slopes: dict[str, np.ndarray] = {}
    with np.errstate(all="ignore"):
        for name, x in leaves.items():
            slopes[name] = np.asarray(jacobian(scope, root, x, values), np.float64).reshape(math.prod(root.shape), -1)
        found = _first_order(root, slopes, covariances, places_of(leaves))
    flows = flowing(order)
    for name, x in leaves.items():
        if x not in flows:
            found.notes.append(f"the uncertainty of {name} is left out: nothing is differentiated where it stands")
    if not root.shape and np.isfinite(found.std) and sum(math.prod(x.shape) for x in leaves.values()) <= _FEW:
        bends = _second_order(scope, root, leaves, covariances, values, found)
        _beside(scope, root, leaves, covariances, slopes, bends, found, float(np.asarray(record.value)))
    return found


def _first_order(root: Expr, slopes: dict[str, np.ndarray], covariances: np.ndarray, places: dict[str, slice]) -> Uncertainty:
    """Slopes times covariances times slopes, for each entry of the result: what each name has in it, and what each pair."""

    def part(a: str, b: str) -> Any:
        block = covariances[places[a], places[b]]
        moved = np.where(block.any(axis=1), slopes[a], 0.0) @ block  # an infinite slope along what is exact has no part in it
        return (np.where(block.any(axis=0), moved * slopes[b], 0.0)).sum(axis=1).reshape(root.shape)[()]

    own = {name: part(name, name) for name in slopes}
    shared = {(a, b): 2 * part(a, b) for a, b in combinations(slopes, 2) if covariances[places[a], places[b]].any()}
    own = dict(sorted(own.items(), key=lambda item: -np.nan_to_num(np.sum(item[1]), nan=np.inf)))
    total = np.sum([*own.values(), *shared.values()], axis=0)
    return Uncertainty(np.sqrt(np.maximum(total, 0.0))[()], own, shared)


def _second_order(
    scope: Scope, root: Expr, leaves: dict[str, Expr], covariances: np.ndarray, values: Values, found: Uncertainty
) -> np.ndarray:
    """Say what the second derivatives change, and give by how much they bend the result a standard deviation aside, for each entry.

    Nothing is said, and nothing bends, where there are none.
    """
    try:
        blocks = hessian(scope, root, leaves, values)
    except GradcliError:
        return np.zeros(len(covariances))
    sizes = {name: math.prod(x.shape) for name, x in leaves.items()}
    whole = np.block([[np.asarray(blocks[a][b], np.float64).reshape(sizes[a], sizes[b]) for b in leaves] for a in leaves])
    whole = np.where(np.outer(np.diag(covariances), np.diag(covariances)) > 0, whole, 0.0)
    scaled = whole @ covariances
    if not np.isfinite(scaled).all():
        return np.zeros(len(covariances))
    bias, more = float(np.trace(scaled)) / 2, float(np.trace(scaled @ scaled)) / 2
    with_it = math.sqrt(float(found.std) ** 2 + more)
    found.second_order = bias, with_it
    if not found.std and with_it:
        found.notes.append(f"first order has no standard deviation here, second order {with_it:.2g}, for normal distributions")
    elif with_it > (1 + _MATTERS) * found.std:
        percent = 100 * (with_it / float(found.std) - 1)
        found.notes.append(f"second order changes the standard deviation by about {percent:.2g} %, for normal distributions")
    if with_it and abs(bias) > _MATTERS * with_it:
        found.notes.append(f"the mean is about {bias:+.2g} off the value, by second order")
    return np.asarray(np.diag(whole) * np.diag(covariances) / 2)


def left_out(scope: Scope, roots: Sequence[Expr], what: str) -> list[str]:
    """Return what is to be said where standard deviations are not asked for: whose they are."""
    names = [node.payload.name for node in reachable(roots) if node in scope.deviations] if scope.deviations else []
    return [f"the standard deviation of {name} has no part in {what}" for name in names]


def _beside(
    scope: Scope,
    root: Expr,
    leaves: dict[str, Expr],
    covariances: np.ndarray,
    slopes: dict[str, np.ndarray],
    bends: np.ndarray,
    found: Uncertainty,
    value: float,
) -> None:
    """Say where the result, one standard deviation aside, is not what its slope says: kinks, ends of the domain."""
    spreads, places = np.sqrt(np.diag(covariances)), places_of(leaves)
    for name, x in leaves.items():
        here = np.asarray(scope.values[x], np.float64)
        spread, bent = spreads[places[name]], bends[places[name]]
        for i in range(here.size):
            ends = []
            for sign in (-1, 1):
                moved = here.copy()
                moved.flat[i] += sign * spread[i]
                try:
                    ends.append(float(forward([root], {**scope.values, x: moved[()]}, scope.precision)[root]))
                except GradcliError:
                    ends.append(math.nan)
            slope = slopes[name][0, i] * spread[i]
            place = f"{name}[{', '.join(map(str, np.unravel_index(i, here.shape)))}]" if here.shape else name
            if not all(map(math.isfinite, ends)):
                found.notes.append(f"within a standard deviation of {place} the result is not finite: first order does not tell of that")
                continue
            odd, even = (ends[1] - ends[0]) / 2 - slope, (ends[1] + ends[0]) / 2 - value - bent[i]
            if max(abs(odd), abs(even)) > 0.2 * max(abs(slope), *(abs(end - value) for end in ends)):
                text = f"{min(ends):.3g} to {max(ends):.3g}, not {value - abs(slope):.3g} to {value + abs(slope):.3g}"
                found.notes.append(f"{place} a standard deviation aside, the result is {text} as by its slope (a kink or strong bend)")
