"""Functions of whole matrices on the tape: one step for all entries, differentiated in closed form
by functions of whole matrices.

The forms are the judge's own, from the differentials that textbooks state (M. B. Giles, "Collected
matrix derivative results for forward and reverse mode algorithmic differentiation", 2008; of the
exponential, R. Mathias, "A chain rule for matrix functions", 1996).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradcli.reference.algebra import Algebra, Numbers, Step, matrices_of, surely_zero
from gradcli.reference.contexts import Undecidable

Array = np.ndarray


class Cotangents(dict[tuple[int, int], Any]):
    """Cotangents that have been passed back to a step, by result and entry: each passes back its
    own, once, and the first one gathers them.
    """

    def __add__(self, other: Cotangents) -> Cotangents:
        self.update(other)
        return self


class Entry(Step):
    """One entry of a result of a step."""

    def __init__(self, name: str, place: tuple[int, int]) -> None:
        self.name, self.place = name, place

    def pull_back(
        self, tape: Any, node: Any, cotangent: Any, traced: bool
    ) -> Iterator[tuple[int, Any]]:
        yield node.arguments[0].serial, Cotangents({self.place: cotangent})


class Whole(Step):
    """A function of matrices: what it was applied to, and its results.

    ``kind`` is the class of scalars that have a history.
    """

    def __init__(self, name: str, kind: Any, arrays: Sequence[Array]) -> None:
        self.name, self.kind, self.arrays, self.results = name, kind, arrays, list[Array]()

    def pull_back(
        self, tape: Any, node: Any, cotangent: Any, traced: bool
    ) -> Iterator[tuple[int, Any]]:
        algebra: Algebra = tape if traced else Numbers(tape.m, tape.precision)
        arrays, results = list(self.arrays), self.results
        if not traced:
            arrays, results = (
                [Algebra.map(tape.plain, x) for x in several] for several in (arrays, results)
            )
        back = [np.full(x.shape, tape.zero, dtype=object) for x in results]
        for (result, entry), value in cotangent.items():
            back[result].flat[entry] = value
        for array, part in zip(
            self.arrays, PULLS[self.name](algebra, arrays, results, back), strict=True
        ):
            for argument, slope in zip(array.ravel(), part.ravel(), strict=True):
                if type(argument) is self.kind:
                    yield argument.serial, slope


def record_step(
    tape: Any, kind: Any, name: str, arrays: tuple[Array, ...]
) -> tuple[Array, ...] | None:
    """The results of a function of matrices, with the step that made them; None where the context
    has none.

    kind  the class of the tape's scalars, of their tape, value, step and arguments
    """
    arguments = tuple(v for x in arrays for v in x.ravel() if type(v) is kind)
    values = matrices_of(tape.m, name, tuple(Algebra.map(tape.plain, x) for x in arrays))
    if values is None or not arguments:
        return values
    whole = Whole(name, kind, arrays)
    step = kind(tape, tape.zero, whole, arguments)
    for i, x in enumerate(values):
        entries = np.empty(x.size, dtype=object)
        entries[:] = [kind(tape, v, Entry(name, (i, k)), (step,)) for k, v in enumerate(x.ravel())]
        whole.results.append(entries.reshape(x.shape))
    return tuple(whole.results)


def _times(m: Algebra, x: Array, y: Array) -> Array:
    found = m.of_matrices("product", x, y)
    return x @ y if found is None else found[0]


def _enclose(m: Algebra, name: str, *arrays: Array) -> Array:
    """The one result of a function of matrices. Raises Undecidable where none is certain."""
    found = m.of_matrices(name, *arrays)
    if found is None:
        raise Undecidable
    return found[0]


Given = Sequence[Array]


def _matmul(m: Algebra, arrays: Given, results: Given, back: Given) -> Given:
    x, y = arrays
    return _times(m, back[0], y.T), _times(m, x.T, back[0])


def _solve(m: Algebra, arrays: Given, results: Given, back: Given) -> Given:
    by_right = _enclose(m, "solution", arrays[0].T, back[0])
    return -_times(m, by_right, results[0].T), by_right


def _det(m: Algebra, arrays: Given, results: Given, back: Given) -> Given:
    (x,) = arrays
    return (
        _enclose(m, "solution", x.T, np.where(np.eye(len(x)) > 0, m.one, m.zero))
        * (back[0][()] * results[0][()]),
    )


def _exp(m: Algebra, arrays: Given, results: Given, back: Given) -> Given:
    n, turned = len(arrays[0]), arrays[0].T
    block = np.block([[turned, back[0]], [np.full((n, n), m.zero), turned]])
    return (_enclose(m, "exponential", block)[:n, n:],)


def _eigh(m: Algebra, arrays: Given, results: Given, back: Given) -> Given:
    """Pass cotangents back by dl = v.T dx v, and dv[i] the sum of v[j] (v[j].T dx v[i])/(l[i] -
    l[j]) over the other vectors.
    """
    values, vectors = results
    by_values, by_vectors = back
    inner = _times(m, vectors.T, by_vectors)
    for i in range(len(values)):
        for j in range(len(values)):
            slope, gap = inner[j, i], values[i] - values[j]
            if i == j:
                inner[j, i] = by_values[i]
            elif m.plain(slope) is not slope or not surely_zero(
                slope
            ):  # else nothing flows, as to vectors of equal values
                inner[j, i] = slope * m.nan if surely_zero(m.plain(gap)) else slope / gap
    return (_times(m, _times(m, vectors, inner), vectors.T),)


PULLS: dict[str, Callable[[Algebra, Given, Given, Given], Given]] = {
    "product": _matmul, "solution": _solve, "determinant": _det, "exponential": _exp, "eigensystem": _eigh,
}  # fmt: skip
