"""Cases of linear algebra.

The functions beside them are textbook algorithms on complex arrays, without conjugation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cases.case import Case, largest, p_norm, size, smallest, solved

RANDOM = np.random.default_rng(11)


def reflected(x: Any, tau: Any, columns: int) -> Any:
    n = len(x)
    product = np.eye(n) + 0j
    for i in range(len(tau)):
        v = np.where(np.arange(n) > i, x[:, i], np.arange(n) == i)
        product = product @ (np.eye(n) - tau[i] * np.outer(v, v))
    return product[:, :columns]


def positive(*shape: int) -> np.ndarray:
    return RANDOM.uniform(0.3, 2.0, shape).round(6)


def some(*shape: int) -> np.ndarray:
    return positive(*shape) * RANDOM.choice([-1.0, 1.0], shape)


def t(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def batched(function: Callable[..., Any]) -> Callable[..., Any]:
    def over(*arrays: Any) -> Any:
        batch = np.broadcast_shapes(*(a.shape[:-2] for a in arrays))
        spread = [np.broadcast_to(a, (*batch, *a.shape[-2:])) for a in arrays]
        found = [function(*(a[i] for a in spread)) for i in np.ndindex(batch)]
        return np.array(found).reshape(*batch, *np.shape(found[0]))

    return over


@batched
def cholesky(x: Any) -> Any:
    x = (x + x.T) / 2
    out = np.zeros_like(x)
    for i in range(len(x)):
        for j in range(i):
            out[i, j] = (x[i, j] - out[i, :j] @ out[j, :j]) / out[j, j]
        out[i, i] = np.sqrt(x[i, i] - out[i, :i] @ out[i, :i])
    return out


def qr(x: Any, place: int) -> Any:
    n = min(x.shape)
    signs = np.sign(np.diagonal(np.linalg.qr(x.real)[1]))
    q = x[:, :n].copy()
    for j in range(n):
        for i in range(j):
            q[:, j] = q[:, j] - q[:, i] * (q[:, i] @ q[:, j])
        q[:, j] = signs[j] * q[:, j] / np.sqrt(q[:, j] @ q[:, j])
    return q if place == 0 else np.triu(q.T @ x)


def lu(x: Any, place: int) -> Any:
    x, p = x.copy(), np.eye(len(x))
    for k in range(min(x.shape)):
        best = k + np.argmax(np.abs(x[k:, k].real))
        x[[k, best]], p[:, [k, best]] = x[[best, k]], p[:, [best, k]]
        x[k + 1 :, k] = x[k + 1 :, k] / x[k, k]
        x[k + 1 :, k + 1 :] -= np.outer(x[k + 1 :, k], x[k, k + 1 :])
    n = min(x.shape)
    return (p, np.tril(x[:, :n], -1) + np.eye(len(x), n), np.triu(x[:n]), x)[place]


def eigh(x: Any, place: int) -> Any:
    """To first order in the imaginary part."""
    x = (x + x.T) / 2
    values, vectors = np.linalg.eigh(x.real)
    turned = vectors.T @ x @ vectors
    if place == 0:
        return np.diagonal(turned)
    gaps = values - values[:, None] + np.eye(len(x))
    return vectors @ (np.eye(len(x)) + np.where(np.eye(len(x)), 0, turned) / gaps)


def svd(x: Any, place: int) -> Any:
    u, _, vh = np.linalg.svd(x.real, full_matrices=False)
    wide = x.shape[0] < x.shape[1]
    tall = x.T if wide else x
    sizes = np.sqrt(eigh(tall.T @ tall, 0)[::-1])
    right = eigh(tall.T @ tall, 1)[:, ::-1]
    right = right * np.sign(((u if wide else vh.T) * right.real).sum(0))
    left = tall @ right / sizes
    return ((right if wide else left), sizes, (left if wide else right).T)[place]


@batched
def pinv(x: Any) -> Any:
    return (
        np.linalg.solve(x.T @ x, x.T) if x.shape[0] >= x.shape[1] else np.linalg.solve(x @ x.T, x).T
    )


def of_rank_one(x: Any) -> Any:
    """The pseudoinverse of the outer product of two vectors."""
    return np.outer(x[1], x[0]) / (x[0] @ x[0]) / (x[1] @ x[1])


@batched
def exponential(x: Any) -> Any:
    term = total = np.eye(len(x)) + 0 * x
    for k in range(1, 40):
        term = term @ x / k
        total = total + term
    return total


def spectral(reduce: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: reduce(svd(x, 1))


def definite(*batch: int, n: int = 3) -> np.ndarray:
    x = RANDOM.uniform(-1, 1, (*batch, n, n))
    return (x @ t(x) + np.eye(n)).round(6)


def symmetric(n: int) -> np.ndarray:
    x = some(n, n)
    return np.diag(np.arange(float(n))) * 2 + (x + x.T) / 4


SPD, SPDS, SYM = definite(), definite(2), symmetric(3)
A, TALL, WIDE = some(3, 3) + 4 * np.eye(3), some(4, 2), some(2, 4)
TRIANGLE = {"x": some(3, 3) + 3 * np.eye(3), "y": some(3, 2)}
INV = np.linalg.inv
CASES = [
    Case("cholesky(x)", cholesky, {"x": SPD}),
    Case("cholesky(x, upper=True)", lambda x: t(cholesky(x)), {"x": SPDS}, "batch"),
    Case("scipy.linalg.cholesky(x)", lambda x: t(cholesky(x)), {"x": SPD}),
    Case("torch.linalg.cholesky_ex(x).L", cholesky, {"x": SPD}),
    Case("cholesky_solve(y, tril(x))", lambda y, x: np.linalg.solve(np.tril(x) @ np.tril(x).T, y), {"y": some(3, 2), "x": A}),
    Case("torch.cholesky_solve(y, triu(x), upper=True)", lambda y, x: np.linalg.solve(np.triu(x).T @ np.triu(x), y),
         {"y": some(3, 1), "x": A}),
    Case("cholesky_inverse(tril(x))", lambda x: INV(np.tril(x) @ np.tril(x).T), {"x": A}),
    Case("solve_triangular(x, y)", lambda x, y: np.linalg.solve(np.triu(x), y), TRIANGLE),
    Case("solve_triangular(x, y, lower=True)", lambda x, y: solved(np.tril(x), y), {"x": TRIANGLE["x"], "y": some(3)}, "vector"),
    Case("solve_triangular(x, y, trans='T', unit_diagonal=True)",
         lambda x, y: np.linalg.solve((np.triu(x, 1) + np.eye(3)).T, y), TRIANGLE),
    Case("torch.linalg.solve_triangular(x, y, upper=False, left=False)", lambda x, y: y @ INV(np.tril(x)),
         {"x": some(2, 1, 3, 3) + 3 * np.eye(3), "y": some(2, 3)}, "batch"),
    Case("torch.triangular_solve(y, x, transpose=True).solution", lambda x, y: np.linalg.solve(np.triu(x).T, y), TRIANGLE),
    Case("torch.triangular_solve(y, x)[1]", lambda x, y: x + 0 * y.sum(), TRIANGLE),
    *[Case(f"qr(x)[{i}]", lambda x, i=i: qr(x, i), {"x": x}) for i in (0, 1) for x in (A, TALL, some(2, 3))],
    Case("qr(x)[0] @ qr(x)[1]", lambda x: x, {"x": TALL}, "both factors"),
    Case("qr(x, mode='r')", lambda x: qr(x, 1), {"x": TALL}),
    Case("torch.qr(x).R", lambda x: qr(x, 1), {"x": A}),
    *[Case(f"lu(x)[{i}]", lambda x, i=i: lu(x, i), {"x": x}) for i in (1, 2) for x in (some(3, 3), TALL, some(2, 3))],
    Case("householder_product(x, y)", lambda x, y: reflected(x, y, 2), {"x": some(3, 2), "y": positive(2)}),
    Case("lu(x)[0] @ lu(x)[1] @ lu(x)[2]", lambda x: x, {"x": TALL}, "all factors"),
    Case("torch.lu(x)[0]", lambda x: lu(x, 3), {"x": some(3, 2)}),
    Case("torch.lu_unpack(x, [2, 3]).L", lambda x: np.tril(x[:, :2], -1) + np.eye(3, 2), {"x": some(3, 2)}),
    Case("torch.linalg.lu_solve(x, [2, 3, 3], y)",
         lambda x, y: np.linalg.solve((np.tril(x, -1) + np.eye(3)) @ np.triu(x), y[[1, 2, 0]]), TRIANGLE),
    Case("torch.lu_solve(y, x, [1, 2, 3])", lambda x, y: np.linalg.solve((np.tril(x, -1) + np.eye(3)) @ np.triu(x), y), TRIANGLE),
    Case("torch.linalg.lu_solve(x, [1, 2, 3], y.T, left=False, adjoint=True)",
         lambda x, y: np.linalg.solve((np.tril(x, -1) + np.eye(3)) @ np.triu(x), y).T, TRIANGLE),
    Case("eigh(x)[0]", lambda x: eigh(x, 0), {"x": SYM}),
    Case("eigh(x)[1]", lambda x: eigh(x, 1), {"x": SYM}),
    Case("eigh(x, UPLO='U')[1]**2", lambda x: eigh(x, 1) ** 2, {"x": symmetric(2)}),
    Case("eigvalsh(x)", batched(lambda x: eigh(x, 0)), {"x": np.array([SYM, symmetric(3)])}, "batch"),
    *[Case(f"svd(x, full_matrices=False)[{i}]", lambda x, i=i: svd(x, i), {"x": x}) for i in range(3) for x in (some(2, 2), TALL, WIDE)],
    Case("svd(x)[1]", lambda x: svd(x, 1), {"x": TALL}),
    Case("torch.svd(x).V**2", lambda x: svd(x, 2).T ** 2, {"x": some(2, 2)}),
    Case("svdvals(x)", batched(lambda x: svd(x, 1)), {"x": some(2, 3, 2)}, "batch"),
    Case("pinv(x)", pinv, {"x": TALL}),
    Case("pinv(x)", pinv, {"x": some(2, 2, 3)}, "batch, wide"),
    Case("pinv(outer(x[0], x[1]))", of_rank_one, {"x": some(2, 3)}, "of rank one"),
    Case("lstsq(x, y)[0]", lambda x, y: pinv(x) @ y, {"x": TALL, "y": some(4)}, "vector"),
    Case("torch.linalg.lstsq(x, y, driver='gelsd').residuals",
         lambda x, y: ((x @ pinv(x) @ y - y) ** 2).sum(0), {"x": TALL, "y": some(4, 2)}),
    Case("torch.linalg.solve(x, y, left=False)", lambda x, y: y @ INV(x), {"x": A, "y": some(2, 3)}),
    Case("torch.linalg.solve(x, y)", lambda x, y: np.linalg.solve(x, y[..., None])[..., 0],
         {"x": np.array([A, A + 1]), "y": some(2, 3)}, "a vector for each matrix"),
    Case("tensorsolve(x, y)", lambda x, y: np.linalg.solve(x.reshape(4, 4), y.ravel()).reshape(4), {"x": some(2, 2, 4), "y": some(2, 2)}),
    Case("tensorsolve(x, y, axes=(0, 2))", lambda x, y: np.linalg.solve(x.transpose(1, 0, 2).reshape(4, 4), y).reshape(2, 2),
         {"x": some(2, 4, 2), "y": some(4)}),
    Case("tensorinv(x, ind=1)", lambda x: INV(x.reshape(4, 4)).reshape(2, 2, 4), {"x": some(4, 2, 2)}),
    Case("logdet(x)", lambda x: np.log(np.linalg.det(x)), {"x": SPDS}),
    Case("torch.linalg.inv_ex(x).inverse", INV, {"x": A}),
    Case("matrix_exp(x)", exponential, {"x": some(3, 3)}),
    Case("matrix_exp(x)", exponential, {"x": np.array([[[0.0, 2.5], [-2.5, 0.0]], [[0.0, 0.0], [0.0, 0.0]]])}, "batch"),
    Case("matrix_power(x, 5)", lambda x: x @ x @ x @ x @ x, {"x": A}),
    Case("matrix_power(x, -2)", lambda x: INV(x) @ INV(x), {"x": A}),
    Case("matrix_power(x, 0)", lambda x: np.eye(3) + 0 * x, {"x": A}),
    Case("multi_dot([x, y, x, y[:, 0]])", lambda x, y: x @ y @ x @ y[:, 0], {"x": some(2, 3), "y": some(3, 2)}),
    Case("vander(x, 4)", lambda x: np.stack([x**3, x**2, x, 1 + 0 * x], -1), {"x": some(3)}),
    Case("torch.linalg.vander(x)", lambda x: np.stack([1 + 0 * x, x], -1), {"x": np.array([[0.0, 2.0], [-1.0, 0.5]])}, "batch, zero"),
    Case("norm(x, 'fro')", lambda x: np.sqrt((x**2).sum()), {"x": TALL}),
    Case("norm(x, 'nuc')", spectral(np.sum), {"x": TALL}),
    Case("norm(x, 2)", spectral(largest), {"x": WIDE}, "spectral"),
    Case("norm(x, -2)", spectral(smallest), {"x": A}),
    Case("norm(x, 1)", lambda x: largest(size(x).sum(0)), {"x": WIDE}),
    Case("norm(x, -inf)", lambda x: smallest(size(x).sum(1)), {"x": WIDE}),
    Case("torch.linalg.norm(x, inf, dim=(2, 0), keepdim=True)", lambda x: largest(size(x).sum(0), 1)[None, :, None],
         {"x": some(2, 3, 2)}),
    Case("torch.linalg.matrix_norm(x, 2, dim=(0, 2))", lambda x: np.array([svd(x[:, i], 1)[0] for i in range(3)]), {"x": some(2, 3, 2)}),
    Case("torch.linalg.vector_norm(x, 3, dim=(0, 2))", lambda x: p_norm(x, 3, (0, 2)), {"x": some(2, 3, 2)}),
    Case("torch.norm(x, 3)", lambda x: p_norm(x, 3), {"x": WIDE}),
    Case("torch.norm(x, 'nuc', dim=(0, 1))", spectral(np.sum), {"x": WIDE}),
    Case("x.norm(1)", lambda x: size(x).sum(), {"x": WIDE}),
    Case("cond(x)", lambda x: svd(x, 1)[0] / svd(x, 1)[-1], {"x": A}),
    Case("cond(x, 'fro')", lambda x: np.sqrt((x**2).sum() * (INV(x) ** 2).sum()), {"x": A}),
    Case("cond(x, inf)", lambda x: largest(size(x).sum(1)) * largest(size(INV(x)).sum(1)), {"x": A}),
]  # fmt: skip
