"""Matrix identities: trace, determinant, inverse, solutions, quadratic forms; transposed and
swapped claims.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from battery.arrays import array, some
from battery.rows import ROUNDED, Row

A, B, M34, V = some(3, 3) + 3 * np.eye(3), some(3, 3), some(3, 4), some(3)
S = A @ A.T
INV = np.linalg.inv(A)
DET = np.linalg.det(A)
X = np.linalg.solve(A, V)
NEARLY = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-9]])
HILBERT = scipy.linalg.hilbert(4)

TRACES: list[Row] = [
    *array("trace", "trace(A)", {"A": A}, {"A": np.eye(3)}, {"ones": {"A": np.ones((3, 3))}}),
    *array(
        "trace(A B)",
        "trace(A @ B)",
        {"A": A, "B": B},
        {"A": B.T, "B": A.T},
        {"transposed": {"A": B}, "swapped": {"A": A.T, "B": B.T}, "B transposed": {"B": A}},
    ),
    *array(
        "trace(A.T A)",
        "trace(A.T @ A)",
        {"A": A},
        {"A": 2 * A},
        {"transposed": {"A": 2 * A.T}, "half": {"A": A}},
    ),
    *array(
        "trace(A A)", "trace(A @ A)", {"A": A}, {"A": 2 * A.T}, {"not transposed": {"A": 2 * A}}
    ),
    *array(
        "trace of a product of shapes",
        "trace(X @ X.T)",
        {"X": M34},
        {"X": 2 * M34},
        {"transposed": {"X": 2 * M34.T}},
    ),
    *array(
        "quadratic form",
        "v @ A @ v",
        {"v": V, "A": A},
        {"v": (A + A.T) @ V, "A": np.outer(V, V)},
        {"as if symmetric": {"v": 2 * A @ V}, "one side": {"v": A @ V}},
    ),
    *array(
        "bilinear form",
        "u @ A @ v",
        {"A": A, "u": V, "v": B[0]},
        {"A": np.outer(V, B[0])},
        {"transposed": {"A": np.outer(B[0], V)}},
    ),
    *array(
        "Frobenius norm",
        "norm(A)",
        {"A": A},
        {"A": A / np.linalg.norm(A)},
        {"transposed": {"A": A.T / np.linalg.norm(A)}},
    ),
    *array(
        "sum of products",
        "sum(A @ B)",
        {"A": A, "B": B},
        {"A": np.tile(B.sum(axis=1), (3, 1))},
        {
            "other axis": {"A": np.tile(B.sum(axis=0), (3, 1))},
            "transposed": {"A": np.tile(B.sum(axis=1), (3, 1)).T},
        },
    ),
    *array(
        "seeded product",
        "A @ B",
        {"A": A, "B": B},
        {"A": S @ B.T, "B": A.T @ S},
        {"not transposed": {"A": S @ B}, "order": {"A": B.T @ S}},
        seed=S,
    ),
]
DETERMINANTS: list[Row] = [
    *array(
        "det",
        "det(A)",
        {"A": A},
        {"A": DET * INV.T},
        {"transposed": {"A": DET * INV}, "without det": {"A": INV.T}},
    ),
    *array(
        "det of a singular matrix",
        "det(A)",
        {"A": [[1.0, 2.0], [2.0, 4.0]]},
        {"A": [[4.0, -2.0], [-2.0, 1.0]]},
        {"zeros": {"A": np.zeros((2, 2))}, "signs": {"A": [[4.0, 2.0], [2.0, 1.0]]}},
    ),
    *array(
        "nearly singular det",
        "det(A)",
        {"A": NEARLY},
        {"A": [[1.0 + 1e-9, -1.0], [-1.0, 1.0]]},
        {"reversed": {"A": [[1.0, 1.0], [1.0, 1.0]]}},
    ),
    *array(
        "logdet",
        "log(det(A))",
        {"A": S},
        {"A": np.linalg.inv(S)},
        {"det": {"A": np.linalg.det(S) * np.linalg.inv(S)}, "matrix": {"A": S}},
    ),
    *array(
        "slogdet",
        "slogdet(A)[1]",
        {"A": A},
        {"A": INV.T},
        {"transposed": {"A": INV}, "sign": {"A": -INV.T}},
    ),
    *array(
        "logdet of a Gram matrix",
        "log(det(A.T @ A))",
        {"A": A},
        {"A": 2 * INV.T},
        {"half": {"A": INV.T}, "transposed": {"A": 2 * INV}},
    ),
    *array(
        "trace of the logarithm",
        "2*sum(log(diag(cholesky(A))))",
        {"A": S},
        {"A": np.linalg.inv(S)},
        {"half": {"A": np.linalg.inv(S) / 2}},
    ),
]
INVERSES: list[Row] = [
    *array(
        "trace(inv)",
        "trace(inv(A))",
        {"A": A},
        {"A": -(INV @ INV).T},
        {
            "transposed": {"A": -(INV @ INV)},
            "sign": {"A": (INV @ INV).T},
            "entries": {"A": -(INV**2)},
        },
    ),
    *array(
        "sum(inv)",
        "sum(inv(A))",
        {"A": A},
        {"A": -INV.T @ np.ones((3, 3)) @ INV.T},
        {"transposed": {"A": -INV @ np.ones((3, 3)) @ INV}},
    ),
    *array(
        "solve by v",
        "sum(solve(A, v))",
        {"v": V, "A": A},
        {"v": INV.T @ np.ones(3), "A": -np.outer(INV.T @ np.ones(3), X)},
        {
            "not transposed": {"v": INV @ np.ones(3)},
            "A transposed": {"A": -np.outer(X, INV.T @ np.ones(3))},
            "A's sign": {"A": np.outer(INV.T @ np.ones(3), X)},
        },
    ),
    *array(
        "squared solution",
        "sum(solve(A, v)**2)",
        {"v": V, "A": A},
        {"v": 2 * INV.T @ X},
        {"missing 2": {"v": INV.T @ X}},
    ),
    *array(
        "Mahalanobis",
        "v @ solve(A, v)",
        {"v": V, "A": S},
        {
            "v": 2 * np.linalg.solve(S, V),
            "A": -np.outer(np.linalg.solve(S, V), np.linalg.solve(S, V)),
        },
        {"half": {"v": np.linalg.solve(S, V)}},
    ),
    *array(
        "Hilbert system",
        "sum(solve(A, v))",
        {"v": np.ones(4), "A": HILBERT},
        {"v": np.linalg.solve(HILBERT.T, np.ones(4))},
        {"ones": {"v": np.ones(4)}},
        ROUNDED,
    ),
    *array(
        "Hilbert inverse",
        "trace(inv(A))",
        {"A": HILBERT},
        {"A": -(np.linalg.inv(HILBERT) @ np.linalg.inv(HILBERT)).T},
        {"sign": {"A": (np.linalg.inv(HILBERT) @ np.linalg.inv(HILBERT)).T}},
        ROUNDED,
        1e-3,
    ),
    *array(
        "regularized",
        "sum(inv(X @ X.T + 0.5*eye(3)))",
        {"X": M34},
        {
            "X": -2
            * np.linalg.inv(M34 @ M34.T + 0.5 * np.eye(3))
            @ np.ones((3, 3))
            @ np.linalg.inv(M34 @ M34.T + 0.5 * np.eye(3))
            @ M34
        },
        {
            "half": {
                "X": -np.linalg.inv(M34 @ M34.T + 0.5 * np.eye(3))
                @ np.ones((3, 3))
                @ np.linalg.inv(M34 @ M34.T + 0.5 * np.eye(3))
                @ M34
            }
        },
    ),
    *array(
        "matrix power",
        "trace(A @ A @ A)",
        {"A": A},
        {"A": 3 * (A @ A).T},
        {"transposed": {"A": 3 * (A @ A)}, "entries": {"A": 3 * A**2}},
    ),
    *array(
        "outer",
        "sum(outer(v, w)**2)",
        {"v": V, "w": B[1]},
        {"v": 2 * V * (B[1] @ B[1])},
        {"swapped": {"v": 2 * B[1] * (V @ V)}},
    ),
    *array(
        "matrix exponential",
        "trace(expm(A))",
        {"A": B},
        {"A": scipy.linalg.expm(B).T},
        {"transposed": {"A": scipy.linalg.expm(B)}, "entries": {"A": np.exp(B).T}},
    ),
    *array(
        "transposition",
        "sum(A.T * B)",
        {"A": A, "B": B},
        {"A": B.T, "B": A.T},
        {"transposed": {"A": B}},
    ),
    *array(
        "eigenvalues",
        "sum(eigvalsh(A)**2)",
        {"A": S},
        {"A": 2 * S},
        {"trace": {"A": 2 * np.eye(3)}},
    ),
]

ROWS = [*TRACES, *DETERMINANTS, *INVERSES]
