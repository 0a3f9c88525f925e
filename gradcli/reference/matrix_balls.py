"""Functions of whole matrices in balls: FLINT's, whose errors are bounded better than those of as many single steps.

Each takes and gives arrays of scalars, and has no value (None) where it cannot be certain: at singular matrices, and where eigenvalues
are not apart.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from flint import acb_mat, arb, arb_mat

from gradcli.reference.ball import as_arb, made

Array = np.ndarray
Found = tuple[Array, ...] | None


def _matrix(x: Array) -> arb_mat:
    return arb_mat(x.shape[0], x.shape[1], [as_arb(v) for v in x.ravel()])


def _scalars(values: list[arb], shape: tuple[int, ...]) -> Array:
    out = np.empty(len(values), dtype=object)
    out[:] = [made(v) for v in values]
    return out.reshape(shape)


def _array(x: arb_mat) -> Array:
    return _scalars(x.entries(), (x.nrows(), x.ncols()))


def _matmul(x: Array, y: Array) -> Found:
    return (_array(_matrix(x) * _matrix(y)),)


def _solve(x: Array, y: Array) -> Found:
    try:
        return (_array(_matrix(x).solve(_matrix(y))),)
    except ZeroDivisionError:
        return None


def _det(x: Array) -> Found:
    value = _matrix(x).det()
    return None if value.contains(0) else (_scalars([value], ()),)


def _exp(x: Array) -> Found:
    return (_array(_matrix(x).exp()),)


def _eigh(x: Array) -> Found:
    """The eigenvalues of a symmetric matrix in ascending order, and its eigenvectors of length 1, each of any sign.

    Eigenvalues that are apart are real and have one eigenvector but for a factor: with a 1 in its largest place it is real, too.
    """
    try:
        values, vectors = acb_mat(_matrix(x)).eig(right=True)
    except ValueError:
        return None
    order = sorted(range(len(values)), key=lambda i: float(values[i].real.mid()))
    found = [values[i].real for i in order]
    if not all(low < high for low, high in itertools.pairwise(found)):
        return None
    columns = []
    for i in order:
        column = [vectors[j, i] for j in range(len(order))]
        largest = max(column, key=lambda v: float(v.abs_lower()))
        if largest.contains(0):
            return None
        real = [(v / largest).real for v in column]
        length = sum((v * v for v in real), arb(0)).sqrt()
        columns.append(_scalars([v / length for v in real], (len(order),)))
    return _scalars(found, (len(order),)), np.stack(columns, axis=-1)


FUNCTIONS: dict[str, Callable[..., Found]] = {
    "product": _matmul,
    "solution": _solve,
    "determinant": _det,
    "exponential": _exp,
    "eigensystem": _eigh,
}


def enclosed(name: str, arrays: tuple[Array, ...]) -> Found:
    """A function's values; None where there are none, or where an entry is not finite."""
    if any(not x.size or not all(as_arb(v).is_finite() for v in x.ravel()) for x in arrays):
        return None
    found = FUNCTIONS[name](*arrays)
    return None if found is None or not all(v.ball.is_finite() for x in found for v in x.ravel()) else found
