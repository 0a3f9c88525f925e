"""Linear equations and determinants in long double: LAPACK's results in doubles, corrected by what they leave over.

What is left over is told in long double, and what it changes in doubles, which doubles the digits that are right. So do the factors
(factors.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.extended import LONG_DOUBLE, Formulas, NotCovered
from gradcli.ops.wholes.products import product, turned

_BETTER, _ENOUGH = 2.0**-6, 2.0**-60  # of the error that doubles leave, and of the result: what may be left in the end


def doubles_of(x: Any) -> Any:
    found = x.astype(np.float64)
    if not np.isfinite(found).all():
        raise NotCovered("a matrix with entries that are not finite")
    return found


def inverse_of(x: Any) -> Any:
    """An inverse in doubles."""
    try:
        return np.linalg.inv(doubles_of(x))
    except np.linalg.LinAlgError:
        raise NotCovered("a singular matrix of so many entries") from None


def refined(found: Any, correction: Callable[[Any], Any]) -> Any:
    """A result in doubles, to which corrections are added until they are no smaller than the last."""
    found, changes = found.astype(LONG_DOUBLE), [np.inf]
    while len(changes) < 3 or changes[-1] < changes[-2] / 2:
        step = correction(found)
        found = found + step
        changes.append(np.abs(step).max(initial=0))
    if not changes[-1] <= _BETTER * changes[1] + _ENOUGH * np.abs(found).max(initial=0):
        raise NotCovered("a matrix of so many entries that is singular to the precision of doubles")
    return found


def solved(x: Any, y: Any) -> Any:
    """The z with x @ z = y (J. H. Wilkinson, 1963)."""
    inverse = inverse_of(x)
    return refined(inverse @ y.astype(np.float64), lambda z: inverse @ (y - product(x, z)).astype(np.float64))


def one_of(x: Any) -> Any:
    return np.broadcast_to(np.eye(x.shape[-1], dtype=LONG_DOUBLE), x.shape)


def _inv_back(c: Any, out: Any, x: Any, **_: Any) -> tuple[Any]:
    return (-product(product(turned(out), c), turned(out)),)


INV = Formulas(lambda x, check_errors: solved(x, one_of(x)), _inv_back)


def _columns(x: Any, y: Any) -> Any:
    return x[..., None] if y.ndim == 1 else x


def _solve(x: Any, y: Any) -> Any:
    return solved(x, _columns(y, y)).reshape(*x.shape[:-2], *y.shape) if y.ndim == 1 else solved(x, y)


def _solve_back(c: Any, out: Any, x: Any, y: Any) -> tuple[Any, Any]:
    back = solved(turned(x), _columns(c, y))
    return -product(back, turned(_columns(out, y))), back[..., 0] if y.ndim == 1 else back


SOLVE = Formulas(_solve, _solve_back)


def _slogdet(x: Any) -> tuple[Any, Any]:
    """The sign, which doubles tell, and the logarithm of the size by the pivots of elimination."""
    from gradcli.ops.wholes.factors import lu

    sign = np.linalg.slogdet(doubles_of(x))[0].astype(LONG_DOUBLE)
    return sign, np.log(np.abs(np.diagonal(lu(x, True)[2], axis1=-2, axis2=-1))).sum(axis=-1)


def _det(x: Any) -> Any:
    sign, size = _slogdet(x)
    return sign * np.exp(size)


def _by_inverse(c: Any, x: Any) -> tuple[Any]:
    return (c[..., None, None] * turned(solved(x, one_of(x))),)


SLOGDET = Formulas(_slogdet, lambda c, out, x: _by_inverse(c[1], x))
DET = Formulas(_det, lambda c, out, x: _by_inverse(c * out, x))


def part(x: Any, upper: bool, strict: bool = False) -> Any:
    """The entries on one side of the diagonal."""
    return np.triu(x, int(strict)) if upper else np.tril(x, -int(strict))


def substituted(x: Any, y: Any, upper: bool, unitriangular: bool = False) -> Any:
    """The z with x @ z = y, of whose other triangle nothing is read."""
    return solved(part(x, upper, unitriangular) + unitriangular * one_of(x), y)


def _triangular_back(c: Any, out: Any, x: Any, y: Any, upper: bool, unitriangular: bool) -> tuple[Any, Any]:
    back = substituted(turned(x), c, not upper, unitriangular)
    return part(-product(back, turned(out)), upper, unitriangular), back


SOLVE_TRIANGULAR = Formulas(substituted, _triangular_back)
