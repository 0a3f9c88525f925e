"""What PyTorch says of matrices that a function is not defined for: no matrices, not square, singular."""

from __future__ import annotations

import numpy as np

from gradcli.errors import LinAlgError
from gradcli.ops.refusals.calls import Call, Said, refuses

# The functions that take square matrices, and what messages call them and their argument.
_SQUARE = {
    **dict.fromkeys(("inv", "inverse", "linalg.inv"), "linalg.inv"), **dict.fromkeys(("det", "linalg.det"), "linalg.det"),
    **dict.fromkeys(("slogdet", "linalg.slogdet"), "linalg.slogdet"), "logdet": "logdet", "linalg.cholesky": "linalg.cholesky",
    **dict.fromkeys(("linalg.eigh", "linalg.eigvalsh"), "linalg.eigh"), "linalg.eig": "linalg.eig", "linalg.eigvals": "linalg.eigvals",
    **dict.fromkeys(("matrix_power", "linalg.matrix_power"), "linalg.matrix_power"), "cholesky": "cholesky",
    **dict.fromkeys(("matrix_exp", "linalg.matrix_exp"), "linalg.matrix_exp"), "linalg.solve": "linalg.solve",
    "cholesky_inverse": "cholesky_inverse", "linalg.solve_triangular": "linalg.solve_triangular",
    "linalg.cholesky_ex": "linalg.cholesky_ex", "linalg.inv_ex": "linalg.inv",
}  # fmt: skip
_ANY = {
    **dict.fromkeys(("qr", "linalg.qr"), "linalg.qr"), **dict.fromkeys(("svd", "linalg.svd", "linalg.svdvals"), "linalg.svd"),
    "linalg.matrix_norm": "linalg.matrix_norm",
}  # fmt: skip


def no_matrix(function: str, argument: str, rank: int) -> str | None:
    return f"{function}: The input tensor {argument} must have at least 2 dimensions." if rank < 2 else None


def not_square(function: str, argument: str, shape: list[int]) -> str | None:
    if shape[-1] == shape[-2]:
        return None
    start = f"{function}: " if function else ""
    return f"{start}{argument} must be batches of square matrices, but they are {shape[-2]} by {shape[-1]} matrices"


def no_float(function: str, kind: str) -> str | None:
    if kind in ("Float", "Double"):
        return None
    if kind in ("Half", "BFloat16"):
        return f"{function}: Low precision dtypes not supported. Got {kind}"
    return f"{function}: Expected a floating point or complex tensor as input. Got {kind}"


def _matrix(c: Call) -> str:
    return "A" if c.has("A") else "self" if c.has("self") else "input"


@refuses(*_SQUARE)
def square(c: Call) -> Said:
    name, function = _matrix(c), _SQUARE[c.key.removeprefix("Tensor.")]
    return no_matrix(function, "A", c.rank(name)) or not_square(function, "A", c.shape(name))


@refuses(*_ANY)
def matrix(c: Call) -> Said:
    function = _ANY[c.key.removeprefix("Tensor.")]
    return no_matrix(function, "A", c.rank(_matrix(c)))


@refuses("inv", "inverse", "linalg.inv", "linalg.qr", "qr", "det", "linalg.det", "slogdet", "linalg.slogdet", "linalg.svd", "svd",
         "linalg.svdvals", "linalg.cholesky", "linalg.solve", "logdet")  # fmt: skip
def floats(c: Call) -> Said:
    function = {**_SQUARE, **_ANY}[c.key.removeprefix("Tensor.")]
    return no_float(function, c.kind(_matrix(c)))


def _batch_element(array: np.ndarray, failing: list[tuple[int, ...]]) -> tuple[str, np.ndarray]:
    """Which of several matrices failed, in front of what is said, and that matrix."""
    place = failing[0]
    if not place:
        return "", array
    return f"(Batch element {int(np.ravel_multi_index(place, array.shape[:-2]))}): ", array[place]


def _where(array: np.ndarray, fails: object) -> list[tuple[int, ...]]:
    assert callable(fails)
    return [place for place in np.ndindex(array.shape[:-2]) if fails(array[place])]


def _zero_pivot(matrix: np.ndarray) -> int:
    """The first pivot that is zero in LU with partial pivoting, counted from 1; 0 if there is none."""
    u = np.array(matrix)
    for k in range(len(u)):
        p = k + int(np.argmax(np.abs(u[k:, k])))
        if u[p, k] == 0:
            return k + 1
        u[[k, p]] = u[[p, k]]
        u[k + 1 :] -= np.outer(u[k + 1 :, k] / u[k, k], u[k])
    return 0


@refuses("inv", "inverse", "linalg.inv")
def singular(c: Call) -> Said:
    array = c[_matrix(c)].array
    where, matrix = _batch_element(array, _where(array, _zero_pivot))
    return LinAlgError(
        f"linalg.inv: {where}The diagonal element {_zero_pivot(matrix)} is zero, the inversion could not be completed because the input "
        "matrix is singular."
    )


@refuses("matrix_power", "linalg.matrix_power")
def negative_power(c: Call) -> Said:
    return singular(c) if c["n"] < 0 else None


@refuses("linalg.solve")
def solve(c: Call) -> Said:
    a, b = c.shape("A"), c.shape("B")
    if c.kind("A") != c.kind("B"):
        kinds = f"found A of type {c.kind('A')} and B of type {c.kind('B')} instead"
        return f"linalg.solve: Expected A and B to have the same dtype, but {kinds}"
    right = [*b, 1] if len(b) == 1 or (len(a) - 1 == len(b) and a[:-1] == b) else b
    left = c.get("left", True)
    if right[-2 if left else -1] != a[-1]:
        equation = "AX = B" if left else "XA = B"
        return (
            f"linalg.solve: Incompatible shapes of A and B for the equation {equation} ({a[-2]}x{a[-1]} and {right[-2]}x{right[-1]})"
        )
    array = c["A"].array
    where, _ = _batch_element(array, _where(array, _zero_pivot))
    return LinAlgError(f"torch.linalg.solve: {where}The solver failed because the input matrix is singular.")


def _bad_minor(matrix: np.ndarray) -> int:
    """The order of the first leading minor that is not positive; 0 if all are."""
    for order in range(1, len(matrix) + 1):
        lower = np.tril(matrix[:order, :order])
        try:
            np.linalg.cholesky(lower + np.tril(lower, -1).T)
        except np.linalg.LinAlgError:
            return order
    return 0


@refuses("linalg.cholesky", "cholesky")
def indefinite(c: Call) -> Said:
    array = c[_matrix(c)].array
    where, matrix = _batch_element(array, _where(array, _bad_minor))
    function = _SQUARE[c.key.removeprefix("Tensor.")]
    return LinAlgError(
        f"{function}: {where}The factorization could not be completed because the input is not positive-definite (the leading minor of "
        f"order {_bad_minor(matrix)} is not positive-definite)."
    )


@refuses("linalg.eigh", "linalg.eigvalsh")
def triangle(c: Call) -> Said:
    uplo = c.get("UPLO", "L")
    if uplo.upper() not in ("L", "U"):
        return f"Expected UPLO argument to be 'L' or 'U', but got {uplo}"
    kind = c.kind(_matrix(c))
    return None if kind in ("Float", "Double") else NotImplementedError(f"\"linalg_eigh_cpu\" not implemented for '{kind}'")


@refuses("linalg.qr")
def qr_mode(c: Call) -> Said:
    mode = c.get("mode", "reduced")
    if mode in ("reduced", "r", "complete"):
        return None
    return f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"


@refuses("pinv", "pinverse", "linalg.pinv")
def pinv(c: Call) -> Said:
    name = _matrix(c)
    if c.rank(name) >= 2:
        return None
    kinds = "float, double, cfloat or cdouble types"
    return f"linalg.pinv({c.kind(name)}{{{c.shape(name)}}}): expected a tensor with 2 or more dimensions of {kinds}"


@refuses("linalg.lstsq")
def lstsq(c: Call) -> Said:
    rows, right = c.shape(), c.shape("b" if c.has("b") else "B")
    if len(rows) < 2:
        return "torch.linalg.lstsq: input must have at least 2 dimensions"
    if not right:
        return "torch.linalg.lstsq: other must have at least 1 dimension"
    if len(right) >= len(rows) and rows[-2] != right[-2]:
        return "torch.linalg.lstsq: input.size(-2) should match other.size(-2)"
    return None


@refuses("linalg.solve_triangular")
def solve_triangular(c: Call) -> Said:
    a = c.shape("input")
    if c.rank("B") < 2:
        return no_matrix("linalg.solve_triangular", "B", c.rank("B"))
    left = c.get("left", True)
    b = c.shape("B")
    if b[-2 if left else -1] != a[-1]:
        equation = "AX = B" if left else "XA = B"
        return f"linalg.solve_triangular: Incompatible shapes of A and B for the equation {equation} ({a[-2]}x{a[-1]} and {b[-2]}x{b[-1]})"
    return None


@refuses("linalg.lu", "linalg.lu_factor", "lu")
def lu(c: Call) -> Said:
    function, shape = "linalg.lu" if c.key == "linalg.lu" else "torch.lu_factor", c.shape(_matrix(c))
    return f"{function}: Expected tensor with 2 or more dimensions. Got size: {shape} instead" if len(shape) < 2 else None


@refuses("linalg.householder_product", "orgqr")
def householder(c: Call) -> Said:
    if c.rank() < 2:
        return "torch.linalg.householder_product: input must have at least 2 dimensions."
    if c.shape()[-2] < c.shape()[-1]:
        return "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]"
    return None


@refuses("linalg.tensorinv")
def tensorinv(c: Call) -> Said:
    ind, shape = c.get("ind", 2), c.shape()
    if ind <= 0:
        return f"Expected a strictly positive integer for 'ind', but got {ind}"
    after, before = int(np.prod(shape[ind:])), int(np.prod(shape[:ind]))
    requirement = "prod(self.shape[ind:]) == prod(self.shape[:ind])"
    return None if after == before else f"Expected self to satisfy the requirement {requirement}, but got {after} != {before}"


@refuses("linalg.tensorsolve")
def tensorsolve(c: Call) -> Said:
    shape, ndim = c.shape(), c.rank("other")
    after, before = int(np.prod(shape[ndim:])), int(np.prod(shape[:ndim]))
    requirement = "prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim])"
    return None if after == before else f"Expected self to satisfy the requirement {requirement}, but got {after} != {before}"


@refuses("cholesky_solve", "triangular_solve")
def cholesky_solve(c: Call) -> Said:
    a = c.shape("input2" if c.name == "cholesky_solve" else "A")
    return not_square("", "A", a)


@refuses("linalg.matrix_norm", "linalg.norm", "norm")
def matrix_norm(c: Call) -> Said:
    name, order, dim = _matrix(c), c["ord"] if c["ord"] is not None else c["p"], c["dim"]
    if c.key == "linalg.norm" and dim is None and c.rank(name) > 2:
        return "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got 3D.".replace("3D", f"{c.rank(name)}D")
    if no_matrix("", "", c.rank(name)):
        return no_matrix("linalg.matrix_norm", "A", c.rank(name)) if isinstance(order, str) else None
    if dim is not None and len(dim) == 2 and dim[0] % c.rank(name) == dim[1] % c.rank(name):
        return f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})"
    known = ("fro", "nuc") if isinstance(order, str) else (1, 2, float("inf"))
    if order is None or (order if isinstance(order, str) else abs(order)) in known:
        return None
    return f"linalg.matrix_norm: Order {order} not supported."


@refuses("linalg.cond")
def cond(c: Call) -> Said:
    if c.rank() < 2:
        return "linalg.cond: The input tensor must have at least 2 dimensions."
    known = (None, 1, -1, 2, -2, "fro", "nuc", float("inf"), -float("inf"))
    return None if c["p"] in known else f"linalg.cond got an invalid norm type: {c['p']}"


@refuses("vander", "linalg.vander")
def vander(c: Call) -> Said:
    if c.key == "linalg.vander":
        return "N must be greater than 1." if c["N"] is not None and c["N"] <= 1 else None
    return "x must be a one-dimensional tensor." if c.rank("x") != 1 else None


@refuses("linalg.matrix_rank")
def matrix_rank(c: Call) -> Said:
    return "torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions." if c.rank(_matrix(c)) < 2 else None
