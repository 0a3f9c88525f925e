"""Patterns of derivatives, read from the graph, and their colours: never too few entries, and where
the structure shows no more.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from cases import Case, over_cases
from helpers import lowered, swept

import gradcli
from gradcli.graph.sparsity import Pattern, of_hessian, of_jacobian, pattern_of, symmetric


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


N = 6
EYE, LOWER = np.eye(N, dtype=bool), np.tril(np.ones((N, N), bool))
ROWS = np.kron(
    np.eye(3, dtype=bool), np.ones((1, 2), bool)
)  # of a matrix of three rows and two columns

# an expression of x, its shape, and what its Jacobian's pattern is, by hand
EXACT: dict[str, tuple[str, tuple[int, ...], np.ndarray]] = {
    "entry by entry": ("exp(x)*sin(x)/(1 + x**2)", (N,), EYE),
    "with a constant": ("x*[1, 2, 3, 4, 5, 6] + 3", (N,), EYE),
    "detached": ("x*detach(sum(x))", (N,), EYE),
    "neighbours": ("x[1:] - x[:-1]**2", (N,), EYE[1:] | EYE[:-1]),
    "in another order": ("flip(x)*2", (N,), EYE[::-1]),
    "rolled": ("roll(x, 1)", (N,), np.roll(EYE, 1, axis=0)),
    "chosen": ("x[[4, 0, 0]]", (N,), EYE[[4, 0, 0]]),
    "chosen along an axis": (
        "take_along_axis(x, array([[1], [0], [1]]), axis=1)",
        (3, 2),
        EYE[[1, 2, 5]],
    ),
    "chosen by a step": ("x[::2]", (N,), EYE[::2]),
    "differences": ("diff(x)", (N,), EYE[1:] | EYE[:-1]),
    "a sum": ("sum(x)", (N,), np.ones((1, N), bool)),
    "sums of rows": ("sum(x, axis=1)", (3, 2), ROWS),
    "norms of rows": ("norm(x, axis=1)", (3, 2), ROWS),
    "the largest of rows": ("max(x, axis=1)", (3, 2), ROWS),
    "logsumexp of rows": ("logsumexp(x, axis=1)", (3, 2), ROWS),
    "softmax of rows": (
        "softmax(x, axis=1)",
        (3, 2),
        np.kron(np.eye(3, dtype=bool), np.ones((2, 2), bool)),
    ),
    "running sums of rows": (
        "cumsum(x, axis=1)",
        (3, 2),
        np.kron(np.eye(3, dtype=bool), np.ones((2, 2), bool)),
    ),
    "transposed": ("x.T", (3, 2), EYE[[0, 2, 4, 1, 3, 5]]),
    "in another shape": ("reshape(x, (2, 3))*2", (3, 2), EYE),
    "joined": ("concatenate((x[:2], x[4:]))", (N,), EYE[[0, 1, 4, 5]]),
    "stacked": ("stack([x[0], x[3]**2, 1])", (N,), np.array([EYE[0], EYE[3], np.zeros(N, bool)])),
    "padded": (
        "pad(x, 1)",
        (N,),
        np.concatenate([np.zeros((1, N), bool), EYE, np.zeros((1, N), bool)]),
    ),
    "rows times a matrix": (
        "x @ [[1, 2], [3, 4]]",
        (3, 2),
        np.kron(np.eye(3, dtype=bool), np.ones((2, 2), bool)),
    ),
    "a matrix times columns": (
        "[[1, 2, 3]] @ x",
        (3, 2),
        np.kron(np.ones((1, 3), bool), np.eye(2, dtype=bool)),
    ),
    "by a condition": ("where(x > 0, x**2, -x)", (N,), EYE),
    "repeated": ("x[0] + x[1:]", (N,), EYE[1:] | EYE[0]),
    "a mean of each row less": (
        "x - mean(x, axis=1, keepdims=True)",
        (3, 2),
        np.kron(np.eye(3, dtype=bool), np.ones((2, 2), bool)),
    ),
    "a derivative inside": ("grad(sum(x**3), x)", (N,), EYE),
    "triangles": ("triu(x)", (2, 3), np.diag([True, True, True, False, True, True])),
    "a diagonal": ("diag(x)", (2, 2), np.eye(4, dtype=bool)[[0, 3]]),
    "batches of inverses": (
        "inv(x)",
        (2, 2, 2),
        np.kron(np.eye(2, dtype=bool), np.ones((4, 4), bool)),
    ),
}


@pytest.mark.parametrize("case", EXACT)
def test_patterns(case: str) -> None:
    text, shape, wanted = EXACT[case]
    np.testing.assert_array_equal(truths(gradcli.jacobian(text).sparsity(x=shape)["x"]), wanted)


HESSIANS: dict[str, tuple[str, np.ndarray]] = {
    "Rosenbrock": (
        "sum(100*(x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)",
        EYE | np.eye(N, k=1, dtype=bool) | np.eye(N, k=-1, dtype=bool),
    ),
    "separable": ("sum(exp(x)) + sum(x)", EYE),
    "an arrow": (
        "sum(x[0]*x[1:]**2)",
        (EYE & ~np.eye(1, N, dtype=bool).T)
        | np.array([[i == 0 or j == 0 for j in range(N)] for i in range(N)]),
    ),
    "linear": ("sum(3*x) + 2", np.zeros((N, N), bool)),
    "dense": ("sum(x)**2", np.ones((N, N), bool)),
    "two groups": (
        "prod(x[:2]) + sum(x[2:])**3",
        np.kron(np.diag([True, False]), np.ones((3, 3), bool)),
    ),
}
HESSIANS["an arrow"][1][0, 0] = False
HESSIANS["two groups"] = (
    HESSIANS["two groups"][0],
    np.array([[(i < 2) == (j < 2) for j in range(N)] for i in range(N)]),
)


@pytest.mark.parametrize("case", HESSIANS)
def test_patterns_of_hessians(case: str) -> None:
    """None of the entries that there are is missing; that a product of two has no diagonal is not
    seen.
    """
    text, wanted = HESSIANS[case]
    found = truths(gradcli.hessian(text).sparsity(x=(N,))["x"]["x"])
    if case == "two groups":
        wanted = wanted & (found | ~np.kron(np.diag([True, False, False]), np.eye(2, dtype=bool)))
    np.testing.assert_array_equal(found, wanted)


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
        back, found = of_jacobian(pattern)
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
        found = of_hessian(pattern)
        half = RANDOM.normal(size=square.shape)
        entries = np.where(square, half + half.T, 0)
        derivatives = (
            entries @ np.equal.outer(found.colors, np.arange(found.number)).astype(float)
        ).T
        np.testing.assert_allclose(
            derivatives[found.color, found.place], entries[pattern.rows, pattern.columns]
        )


NUMBERS = {
    "tridiagonal": ("sum(100*(x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)", 3),
    "an arrow": ("sum(x[0]*x[1:]**2)", 2),
    "separable": ("sum(exp(x))", 1),
    "linear": ("sum(x)", 0),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_ten_thousand_entries(case: str) -> None:
    text, number = NUMBERS[case]
    n = 10_000
    f = gradcli.hessian(text, sparse=True)
    x = np.linspace(0.5, 1.5, n)
    hessian = f(x=x)[2]["x"]["x"]
    assert f"{number} direction{'s' * (number != 1)} for" in f.plan()
    if case == "tridiagonal":
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


def test_a_dense_structure_is_right_too() -> None:
    x = np.linspace(-1, 1, 40)
    s = 1 / np.exp(x).sum() * np.exp(x)
    found = gradcli.jacobian("softmax(x, axis=0)", sparse=True)(x=x)[1]["x"].toarray()
    np.testing.assert_allclose(found, np.diag(s) - np.outer(s, s), atol=1e-15)
    hessian = gradcli.hessian("sum(sin(x))**2")(x=x)[2]["x"]["x"]
    wanted = 2 * np.outer(np.cos(x), np.cos(x)) - 2 * math.fsum(np.sin(x)) * np.diag(np.sin(x))
    np.testing.assert_allclose(hessian, wanted, atol=1e-13)
