"""Standard deviations of names, propagated into a result to first and second order.

Every uncertain name counts, whatever the gradient is asked for. The variance is that of the slopes
times the deviations; names are independent unless covariances are given. Second order assumes
normal distributions: half the trace of the Hessian times the covariance is the bias, and half the
trace of the square of that is added to the variance.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from gradcli.errors import GradcliError, MissingValueError, ShapeError, UsageError, did_you_mean
from gradcli.graph.nodes import Expr, forward, reachable
from gradcli.graph.sweep import useful_nodes
from gradcli.language.scope import Scope
from gradcli.query.derivatives import hessian, jacobian
from gradcli.query.matrices import slices_of
from gradcli.report.deviations import JointCovariance, Uncertainty
from gradcli.report.records import Record
from gradcli.texts import one_line

# Relative to the largest entry: the asymmetry that rounding may leave, and the size it may leave of
# a smallest eigenvalue of 0.
_CLOSE = 1e-9
_ROUNDING = 2.0**-49
_FEW = 32  # most entries of names for which second order is examined
_MOST_RESULTS, _LONGEST = 8, 20  # most numbers with covariances shown; characters of each label
_MATTERS = 0.05  # share of the standard deviation from which on a note is written


def left_out(scope: Scope, roots: Sequence[Expr], what: str) -> list[str]:
    """Return what is to be said where standard deviations are not asked for: whose they are."""
    names = (
        [node.name for node in reachable(roots) if node in scope.deviations]
        if scope.deviations
        else []
    )
    return [
        f"the standard deviation of {name} has no part in {what}; `eval` propagates it to values"
        for name in names
    ]


@np.errstate(all="ignore")
def propagate(
    scope: Scope,
    root: Expr,
    order: Sequence[Expr],
    record: Record,
    given: Sequence[tuple[tuple[str, ...], Any]],
) -> Uncertainty | None:
    """Return the standard deviation of a query's value, or None if no name in it has one.

    ``given`` are covariances of names.
    """
    present = {node.name: node for node in order if node.is_leaf and node.kind == "float"}
    named = {name for names, _ in given for name in names}
    for name in sorted(named - scope.leaves.keys()):
        raise MissingValueError(
            f"--cov names '{name}', which has no value", help=did_you_mean(name, scope.leaves)
        )
    leaves = {
        name: node for name, node in present.items() if node in scope.deviations or name in named
    }
    if not leaves:
        return None
    propagation = Propagation(scope, root, leaves, covariance_matrix(scope, leaves, given))
    found = propagation.first_order()
    found.results = _joint_covariance(propagation, record, given)
    flows = useful_nodes(order)
    for name, x in leaves.items():
        if x not in flows:
            found.notes.append(
                f"the uncertainty of {name} is left out: nothing is differentiated where it stands"
            )
    if propagation.slopes.size <= _FEW:
        bends = np.zeros(len(propagation.covariances))
        if not root.shape and np.isfinite(found.std):
            bends = propagation.second_order(found)
        propagation.compare(found, bends, np.ravel(record.value))
    return found


def _joint_covariance(
    propagation: Propagation, record: Record, given: Sequence[tuple[tuple[str, ...], Any]]
) -> JointCovariance | None:
    """Return the covariances of a result's entries and of earlier ones, while they are few.

    Earlier entries are those of the results before it in its program.
    """
    scope, known = propagation.scope, propagation.scope.uncertain
    if scope.replaced or len(propagation.slopes) + len(known) > _MOST_RESULTS:
        return None
    text = one_line(record.expr, _LONGEST)
    if propagation.root.shape and re.fullmatch(r"[\w.]+(\([^()]*\))?|\[.*\]", text) is None:
        text = f"({text})"
    for index, row in zip(np.ndindex(propagation.root.shape), propagation.slopes, strict=True):
        label = f"{text}{[*index] or ''}"
        known.append((label, {name: row[part] for name, part in propagation.places.items()}))
    leaves = {name: scope.leaves[name] for _, parts in known for name in parts}
    none = {name: np.zeros(x.size) for name, x in leaves.items()}
    slopes = np.array([np.concatenate([*(none | parts).values()]) for _, parts in known])
    covariance = slopes @ covariance_matrix(scope, leaves, given) @ slopes.T
    return JointCovariance([label for label, _ in known], covariance) if len(known) > 1 else None


def covariance_matrix(
    scope: Scope, leaves: Mapping[str, Expr], given: Sequence[tuple[tuple[str, ...], Any]]
) -> np.ndarray:
    """Return the covariances of all entries, with names in the order of ``leaves``.

    Raises UsageError or ShapeError for numbers that are not covariances.
    """
    places = dict(zip(leaves, slices_of(leaves.values()), strict=True))
    spreads = [
        np.ravel(scope.deviations.get(leaf, np.zeros(leaf.shape))) for leaf in leaves.values()
    ]
    deviations = np.concatenate(spreads)
    variances = np.square(deviations)
    if np.isinf(variances).any() or ((variances == 0) & (deviations != 0)).any():
        raise UsageError(
            "the square of a standard deviation is out of the range of floats",
            help="write the values in another unit",
        )
    matrix = np.diag(variances)
    if len({frozenset(names) for names, _ in given}) < len(given):
        raise UsageError("a covariance is given twice")
    for names, covariance in given:
        if any(name not in places for name in names):
            continue
        listed = f"--cov {','.join(names)}"
        value = np.asarray(covariance, np.float64)
        if not np.isfinite(value).all():
            raise UsageError(f"{listed}: a covariance is a finite number")
        entries = np.r_[tuple(places[name] for name in names)]
        if not value.shape:
            if len(names) != 2 or names[0] == names[1] or any(leaves[name].shape for name in names):
                raise UsageError(
                    f"{listed}: one number is the covariance of two names that are numbers",
                    help="arrays take a matrix",
                )
            i, j = entries
            matrix[i, j] = matrix[j, i] = value
            continue
        if value.shape != (len(entries), len(entries)):
            raise ShapeError(
                f"{listed} has the shape {value.shape}, but its names have {len(entries)} entries",
                help="a row for each entry",
            )
        if np.abs(value - value.T).max() > _CLOSE * np.abs(value).max():
            raise UsageError(f"{listed} is not symmetric")
        known, variances = np.diag(matrix)[entries], np.diag(value)
        if not np.isclose(variances, known, rtol=1e-6)[known > 0].all():
            raise UsageError(
                f"{listed} has other variances than the ± of its names",
                help="leave the ± out, or the diagonal right",
            )
        matrix[np.ix_(entries, entries)] = value
    if given and matrix.size and np.linalg.eigvalsh(matrix).min() < -_CLOSE * np.abs(matrix).max():
        raise UsageError("the covariances cannot be: their matrix has a negative eigenvalue")
    return matrix


@dataclass(eq=False)
class Propagation:
    """A query's result as a function of all entries of the names that are not exact.

    slopes  a row for each entry of the result; along what is exact, an infinite one is none
    """

    scope: Scope
    root: Expr
    leaves: dict[str, Expr]
    covariances: np.ndarray

    def __post_init__(self) -> None:
        self.places = dict(zip(self.leaves, slices_of(self.leaves.values()), strict=True))
        self.values = forward([self.root], self.scope.values, self.scope.precision)
        blocks = [jacobian(self.scope, self.root, x, self.values) for x in self.leaves.values()]
        parts = [np.reshape(block, (self.root.size, -1)) for block in blocks]
        self.slopes = np.where(
            np.diag(self.covariances) > 0, np.concatenate(parts, axis=1).astype(np.float64), 0.0
        )

    def first_order(self) -> Uncertainty:
        """Multiply slopes by covariances by slopes, for each entry of the result.

        The result has the share of each name and that of each pair.
        """

        def part(a: str, b: str) -> Any:
            left, right = self.places[a], self.places[b]
            moved = self.slopes[:, left] @ self.covariances[left, right] * self.slopes[:, right]
            return moved.sum(axis=1).reshape(self.root.shape)[()]

        own = {name: part(name, name) for name in self.leaves}
        shared = {
            f"{a},{b}": 2 * part(a, b)
            for a, b in combinations(self.leaves, 2)
            if self.covariances[self.places[a], self.places[b]].any()
        }
        own = dict(
            sorted(own.items(), key=lambda item: -np.nan_to_num(np.sum(item[1]), nan=np.inf))
        )
        parts = np.array([*own.values(), *shared.values()])
        variance = parts.sum(axis=0)
        # what rounding leaves of parts that cancel is nothing
        cancels = variance < _ROUNDING * np.abs(parts).sum(axis=0)
        std = np.sqrt(np.where(cancels, 0.0, variance))[()]
        whole = float(np.sum(np.square(std)))
        alone, together = (
            {
                of: {"variance": each, "share": float(np.sum(each)) / whole if whole else 0.0}
                for of, each in parts.items()
            }
            for parts in (own, shared)
        )
        return Uncertainty(std, alone, together)

    def second_order(self, found: Uncertainty) -> np.ndarray:
        """Record what the second derivatives change, and return how they bend each entry.

        The bend is the shift of the result, by second order, where an entry is one standard
        deviation aside. Nothing is recorded, and nothing bends, where there are no second
        derivatives.
        """
        none = np.zeros(len(self.covariances))
        variances = np.diag(self.covariances)
        try:
            blocks = hessian(self.scope, self.root, self.leaves, self.values)
        except GradcliError:
            return none
        sizes = {name: x.size for name, x in self.leaves.items()}
        whole = np.block(
            [
                [np.reshape(blocks[a][b], (sizes[a], sizes[b])) for b in self.leaves]
                for a in self.leaves
            ]
        ).astype(np.float64)
        whole = np.where(np.outer(variances, variances) > 0, whole, 0.0)
        scaled = whole @ self.covariances
        if not np.isfinite(scaled).all():
            return none
        bias = float(np.trace(scaled)) / 2
        more = float(np.trace(scaled @ scaled)) / 2
        with_it = math.sqrt(float(found.std) ** 2 + more)
        found.second_order = {"bias": bias, "std": with_it}
        if not found.std and with_it:
            found.notes.append(
                f"first order has no standard deviation here, second order {with_it:.2g}, for "
                "normal distributions"
            )
        elif with_it > (1 + _MATTERS) * found.std:
            percent = 100 * (with_it / float(found.std) - 1)
            found.notes.append(
                f"second order changes the standard deviation by about {percent:.2g} %, for "
                "normal distributions"
            )
        if with_it and abs(bias) > _MATTERS * with_it:
            found.notes.append(f"the mean is about {bias:+.2g} off the value, by second order")
        return np.asarray(np.diag(whole) * variances / 2)

    def compare(self, found: Uncertainty, bends: np.ndarray, values: np.ndarray) -> None:
        """Note where the result, one standard deviation aside, is not what its slope predicts.

        Reasons are kinks, strong bends and ends of the domain.
        """
        spreads = np.sqrt(np.diag(self.covariances))
        for name, x in self.leaves.items():
            here = np.asarray(self.scope.values[x], np.float64)
            for i, k in enumerate(range(self.places[name].start, self.places[name].stop)):
                low, high = (self._values(x, here, i, sign * spreads[k]) for sign in (-1, 1))
                place = (
                    f"{name}[{', '.join(map(str, np.unravel_index(i, here.shape)))}]"
                    if here.shape
                    else name
                )
                slopes = self.slopes[:, k] * spreads[k]
                odd = (high - low) / 2 - slopes
                even = (high + low) / 2 - values - bends[k]
                sizes = np.max(np.abs([slopes, low - values, high - values]), axis=0)
                rounding = np.abs(values) + np.abs(self.slopes[:, k] * here.flat[i])
                off = np.maximum(np.abs(odd), np.abs(even)) - _ROUNDING * rounding
                fits = (off <= 0.2 * sizes) & np.isfinite(sizes)  # false for NaN
                for j in np.flatnonzero(~fits)[:1]:
                    found.notes.append(
                        f"linear propagation fails for {place}: a standard deviation aside the "
                        f"result is {low[j]:.3g} and {high[j]:.3g} (a kink, a strong bend "
                        "or the end of the domain)"
                    )

    def _values(self, x: Expr, here: np.ndarray, i: int, step: float) -> np.ndarray:
        """Return the result with one entry moved, or NaN if there is none."""
        moved = here.copy()
        moved.flat[i] += step
        try:
            table = {**self.scope.values, x: moved[()]}
            return np.ravel(forward([self.root], table, self.scope.precision)[self.root])
        except GradcliError:
            return np.full(len(self.slopes), math.nan)
