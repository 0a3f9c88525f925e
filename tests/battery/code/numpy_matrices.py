"""Linear algebra in NumPy and SciPy: factorizations, spectra, solutions, functions of matrices."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from battery.code.entries import Entry, about, definite, regular, some

A, B, S = regular(3), some(3, 2, state=1), definite(3)
V, U = some(3, state=2), some(3, state=3)
TALL = some(4, 3, state=5)


def quadratic_form(A, x):
    return x @ A @ x


def log_det(S):
    return np.linalg.slogdet(S)[1]


def log_det_by_factor(S):
    return 2 * np.sum(np.log(np.diag(np.linalg.cholesky(S))))


def solution(A, b):
    return np.sum(np.linalg.solve(A, b) ** 2)


def solution_slope(A, b):
    x = np.linalg.solve(A, b)
    g = np.linalg.solve(A.T, 2 * x)
    return -np.outer(g, x), g


def solution_not_transposed(A, b):
    x = np.linalg.solve(A, b)
    g = np.linalg.solve(A, 2 * x)
    return -np.outer(g, x), g


def solution_outer_transposed(A, b):
    by_A, by_b = solution_slope(A, b)
    return by_A.T, by_b


def determinant(A):
    return np.linalg.det(A)


def multivariate_normal(mean, S, x):
    L = np.linalg.cholesky(S)
    z = scipy.linalg.solve_triangular(L, x - mean, lower=True)
    return -0.5 * z @ z - np.sum(np.log(np.diag(L))) - 0.5 * len(x) * np.log(2 * np.pi)


def multivariate_normal_slope(mean, S, x):
    g = np.linalg.solve(S, x - mean)
    return g, 0.5 * (np.outer(g, g) - np.linalg.inv(S))


def multivariate_normal_half_forgotten(mean, S, x):
    g = np.linalg.solve(S, x - mean)
    return g, np.outer(g, g) - np.linalg.inv(S)


def largest_eigenvalue(M):
    return np.linalg.eigvalsh(M + M.T)[-1]


def largest_eigenvalue_slope(M):
    v = np.linalg.eigh(M + M.T)[1][:, -1]
    return 2 * np.outer(v, v)


def principal_projection(S, x):
    _, vectors = np.linalg.eigh(S + S.T)
    return np.sum((vectors[:, -1] @ x) ** 2)


def principal_projection_slope(S, x):
    values, Q = np.linalg.eigh(S + S.T)
    v = Q[:, -1]
    g = 2 * (v @ x) * x
    inner = sum(
        (Q[:, i] @ g) / (values[-1] - values[i]) * np.outer(Q[:, i], v) for i in range(len(v) - 1)
    )
    return inner + inner.T


def principal_projection_one_sided(S, x):
    values, Q = np.linalg.eigh(S + S.T)
    v = Q[:, -1]
    g = 2 * (v @ x) * x
    return sum(
        (Q[:, i] @ g) / (values[-1] - values[i]) * np.outer(Q[:, i], v) for i in range(len(v) - 1)
    )


def volume_by_qr(M):
    return np.log(np.abs(np.diag(np.linalg.qr(M)[1]))).sum()


def least_squares(A, b):
    x = np.linalg.lstsq(A, b, rcond=None)[0]
    return np.sum((A @ x - b) ** 2)


def least_squares_slope(A, b):
    x = np.linalg.lstsq(A, b, rcond=None)[0]
    r = A @ x - b
    return 2 * np.outer(r, x), -2 * r


def heat_kernel(L, x):
    return scipy.linalg.expm(-0.3 * L) @ x


def heat_kernel_back(L, x, seed):
    block = np.zeros((4, 4))
    block[:2, :2] = block[2:, 2:] = -0.3 * L.T
    block[:2, 2:] = np.outer(seed, x)
    return -0.3 * scipy.linalg.expm(block)[:2, 2:], scipy.linalg.expm(-0.3 * L).T @ seed


def heat_kernel_commuting(L, x, seed):
    """As if the direction commuted with the matrix."""
    E = scipy.linalg.expm(-0.3 * L)
    return -0.3 * E.T @ np.outer(seed, x), E.T @ seed


def lyapunov(A, Q):
    return np.trace(scipy.linalg.solve_continuous_lyapunov(A, Q))


def lyapunov_slope(A, Q):
    X = scipy.linalg.solve_continuous_lyapunov(A, Q)
    Y = scipy.linalg.solve_continuous_lyapunov(A.T, np.eye(len(A)))
    return -2 * Y @ X, Y


ENTRIES: list[Entry] = [
    *about(quadratic_form, {"A": A, "x": V}, lambda A, x: (np.outer(x, x), (A + A.T) @ x), {
        "as if symmetric": lambda A, x: (np.outer(x, x), 2 * A @ x),
    }),
    *about(log_det, {"S": S}, lambda S: np.linalg.inv(S).T, {"of the determinant": lambda S: np.linalg.det(S) * np.linalg.inv(S).T}),
    *about(log_det, {"S": A}, lambda S: np.linalg.inv(S).T, {"not transposed": np.linalg.inv}),
    *about(log_det_by_factor, {"S": S}, np.linalg.inv, {"its factor's": lambda S: np.linalg.inv(np.linalg.cholesky(S)).T}),
    *about(solution, {"A": A, "b": V}, solution_slope, {"not transposed": solution_not_transposed, "its outer product": solution_outer_transposed}),
    *about(determinant, {"A": A}, lambda A: np.linalg.det(A) * np.linalg.inv(A).T, {"the adjugate": lambda A: np.linalg.det(A) * np.linalg.inv(A)}),
    *about(multivariate_normal, {"mean": V, "S": S, "x": U}, multivariate_normal_slope, {"a half": multivariate_normal_half_forgotten}, wrt=["mean", "S"]),
    *about(largest_eigenvalue, {"M": A}, largest_eigenvalue_slope, {"a half": lambda M: largest_eigenvalue_slope(M) / 2}),
    *about(principal_projection, {"S": A, "x": U}, principal_projection_slope, {"of one side": principal_projection_one_sided}, wrt="S"),
    *about(volume_by_qr, {"M": TALL}, lambda M: np.linalg.pinv(M).T, {"of one row": lambda M: np.linalg.pinv(M).T * [[1.0], [0.0], [0.0], [0.0]]}),
    *about(least_squares, {"A": TALL, "b": some(4)}, least_squares_slope, {"its sign": lambda A, b: (least_squares_slope(A, b)[0], 2 * (A @ np.linalg.pinv(A) @ b - b))}),
    *about(heat_kernel, {"L": some(2, 2, state=4), "x": some(2)}, heat_kernel_back, {"as if it commuted": heat_kernel_commuting}),
    *about(lyapunov, {"A": A, "Q": S}, lyapunov_slope, {"a half": lambda A, Q: (lyapunov_slope(A, Q)[0] / 2, lyapunov_slope(A, Q)[1])}),
]  # fmt: skip
