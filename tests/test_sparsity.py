"""Patterns of derivatives, read from the graph, and their colours: never too few entries, and where
the structure shows no more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from cases import Case, over_cases
from helpers import lowered, swept
from recorded import over

import gradcli
from gradcli.graph.sparsity import (
    Pattern,
    compress_hessian,
    compress_jacobian,
    pattern_of,
    symmetric,
)


def truths(pattern: Any) -> np.ndarray:
    return np.asarray(pattern.toarray(), bool)


@over_cases
def test_no_entry_is_missing(case: Case) -> None:
    """The Jacobian, one backward sweep a row, has no entry outside of the pattern."""
    f = gradcli.jacobian(case.text, wrt=tuple(case.values), sparse=True)
    patterns = {name: truths(found) for name, found in f.sparsity(case.values).items()}
    scope, root = lowered(case.text, case.values)
    for row, seed in enumerate(np.eye(case.value.size)):
        found = swept(scope, root, seed.reshape(root.shape), list(case.values))
        for name, slopes in found.items():
            depending = abs(slopes.ravel()) > 1e-12 * abs(slopes).max(initial=0)  # not roundings
            assert not (depending & ~patterns[name][row]).any(), (
                f"entry {row} depends on {name} at {np.flatnonzero(depending).tolist()}"
            )


def same(found: Any, wanted: list[str]) -> None:
    """Hold a pattern against one by hand, in which ? is either."""
    signs = np.array([list(row) for row in wanted])
    assert ((truths(found) == (signs == "1")) | (signs == "?")).all(), truths(found).astype(int)


@over("sparsity", "Jacobians", "text", "shape", "wanted")
def test_patterns(text: str, shape: list[int], wanted: list[str]) -> None:
    same(gradcli.jacobian(text).sparsity(x=tuple(shape))["x"], wanted)


@over("sparsity", "Hessians", "text", "wanted")
def test_patterns_of_hessians(text: str, wanted: list[str]) -> None:
    """None of the entries that there are is missing; that a product of two has no diagonal is not
    seen.
    """
    same(gradcli.hessian(text).sparsity(x=(6,))["x"]["x"], wanted)


def test_two_names() -> None:
    patterns = gradcli.jacobian("x[1:]*sum(w) + b").sparsity(x=(3,), w=(2,), b=())
    assert {name: truths(p).astype(int).tolist() for name, p in patterns.items()} == {
        "x": [[0, 1, 0], [0, 0, 1]],
        "w": [[1, 1], [1, 1]],
        "b": [[1], [1]],
    }


# -- colours
# ------------------------------------------------------------------------------------------------------------------

RANDOM = np.random.default_rng(5)
MATRICES = [
    RANDOM.random((RANDOM.integers(1, 15), RANDOM.integers(1, 15))) < density
    for density in (0.05, 0.15, 0.3, 0.6)
    for _ in range(40)
]


def of(matrix: np.ndarray) -> Pattern:
    rows, columns = np.nonzero(matrix)
    return pattern_of(rows, columns, matrix.shape)  # type: ignore[arg-type]


def test_entries_of_jacobians_are_read_from_directions() -> None:
    for matrix in MATRICES:
        pattern = of(matrix)
        back, found = compress_jacobian(pattern)
        entries = np.where(matrix, RANDOM.normal(size=matrix.shape), 0)
        seeds = np.equal.outer(found.colors, np.arange(found.number)).astype(float)
        derivatives = seeds.T @ entries if back else (entries @ seeds).T
        np.testing.assert_allclose(
            derivatives[found.color, found.place], entries[pattern.rows, pattern.columns]
        )
        fullest = min(matrix.sum(axis=1).max(initial=0), matrix.sum(axis=0).max(initial=0))
        assert fullest <= found.number or found.number == min(matrix.shape) or not matrix.any()


def test_entries_of_hessians_are_read_from_directions() -> None:
    for matrix in MATRICES:
        size = min(matrix.shape)
        square = (
            matrix[:size, :size]
            | matrix[:size, :size].T
            | (RANDOM.random(size) < 0.5) * np.eye(size, dtype=bool)
        )
        pattern = symmetric(of(square))
        found = compress_hessian(pattern)
        half = RANDOM.normal(size=square.shape)
        entries = np.where(square, half + half.T, 0)
        derivatives = (
            entries @ np.equal.outer(found.colors, np.arange(found.number)).astype(float)
        ).T
        np.testing.assert_allclose(
            derivatives[found.color, found.place], entries[pattern.rows, pattern.columns]
        )


@over("sparsity", "directions", "text", "number")
def test_ten_thousand_entries(text: str, number: int) -> None:
    n = 10_000
    f = gradcli.hessian(text, sparse=True)
    x = np.linspace(0.5, 1.5, n)
    hessian = f(x=x)[2]["x"]["x"]
    assert f"{number} direction{'s' * (number != 1)} for" in f.plan()
    if number == 3:  # tridiagonal
        diagonal = np.append(1200 * x[:-1] ** 2 - 400 * x[1:] + 2, 0) + np.append(
            0, np.full(n - 1, 200.0)
        )
        np.testing.assert_allclose(hessian.diagonal(), diagonal, rtol=1e-12)
        np.testing.assert_allclose(hessian.diagonal(1), -400 * x[:-1], rtol=1e-12)
        np.testing.assert_array_equal(hessian.diagonal(1), hessian.diagonal(-1))
        assert hessian.nnz == 3 * n - 2


def test_rows_or_columns_whichever_are_fewer() -> None:
    """A dense row takes as many colours of columns as it has entries, and one more row: rows it is,
    and the other way round.
    """
    f, g = (
        gradcli.jacobian(text, sparse=True) for text in ("concatenate((x**2, [sum(x)]))", "x[0]*x")
    )
    x = np.linspace(1, 2, 500)
    assert "2 directions for 1,000 entries" in f.prepare(x=(500,)).plan()
    assert "2 directions for 999 entries" in g.prepare(x=(500,)).plan()
    by_row, by_column = f(x=x)[1]["x"].toarray(), g(x=x)[1]["x"].toarray()
    np.testing.assert_allclose(by_row, np.vstack([np.diag(2 * x), np.ones(500)]))
    wanted = np.diag(np.full(500, x[0]))
    wanted[:, 0] += x
    np.testing.assert_allclose(by_column, wanted)
