"""Linear algebra over the last two axes.

The multi-precision references use + - * / only, so that they run on any scalars: Berkowitz's division-free
determinant, which is right at singular matrices, and Gauss-Jordan elimination.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.errors import EvaluationError, ShapeError
from gradcli.ops.products import matmul
from gradcli.ops.reductions import sum_
from gradcli.ops.shapes import reshape, swapaxes
from gradcli.ops.spec import Function, Shape, structural


def _square(shape: Shape, name: str) -> Shape:
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ShapeError(f"{name} needs a square matrix, not an array of shape {shape}")
    return shape


def _t(x: Any) -> Any:
    return swapaxes(x, axis1=-1, axis2=-2)


def _as_matrix(scalar: Any) -> Any:
    return reshape(scalar, shape=(*scalar.shape, 1, 1))


def _batched(function: Callable[..., Any]) -> Function:
    """Lift a function of one matrix of scalars (and of further matrices) over leading axes."""

    def reference(m: Any, *arrays: Any) -> Any:
        arrays = tuple(np.asarray(a, dtype=object) for a in arrays)
        batch = np.broadcast_shapes(*(a.shape[:-2] for a in arrays))
        if not batch:
            return np.asarray(function(m, *arrays), dtype=object)
        spread = [np.broadcast_to(a, (*batch, *a.shape[-2:])) for a in arrays]
        flat = [np.asarray(function(m, *(a[i] for a in spread)), dtype=object) for i in np.ndindex(batch)]
        out = np.empty((len(flat), *flat[0].shape), dtype=object)
        for i, part in enumerate(flat):
            out[i] = part[()]
        return out.reshape(*batch, *flat[0].shape)

    return reference


def berkowitz(m: Any, x: np.ndarray) -> Any:
    """The determinant without a division (S. J. Berkowitz, Information Processing Letters 18, 1984)."""
    n = len(x)
    if n == 0:
        return m.one
    vector = [m.one, -x[0, 0]]
    for r in range(1, n):
        corner, row, column, block = x[r, r], x[r, :r], x[:r, r], x[:r, :r]
        entries = [m.one, -corner]
        power = column
        for _ in range(r):
            entries.append(-(row @ power))
            power = block @ power
        vector = [
            sum((entries[i - j] * vector[j] for j in range(max(0, i - r - 1), min(i, r) + 1)), m.zero) for i in range(r + 2)
        ]
    return vector[-1] if n % 2 == 0 else -vector[-1]


def eliminate(m: Any, x: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """The solution of x @ z = rhs by Gauss-Jordan elimination with row pivoting."""
    n = len(x)
    x, rhs = x.copy(), rhs.copy()
    for i in range(n):
        sizes = [abs(m.plain(v)) for v in x[i:, i]]
        pivot = i + sizes.index(max(sizes))
        if m.plain(x[pivot, i]) == 0:
            raise EvaluationError("the matrix is singular")
        x[[i, pivot]], rhs[[i, pivot]] = x[[pivot, i]], rhs[[pivot, i]]
        rhs[i], x[i] = rhs[i] / x[i, i], x[i] / x[i, i]
        for r in range(n):
            if r != i:
                rhs[r], x[r] = rhs[r] - x[r, i] * rhs[i], x[r] - x[r, i] * x[i]
    return rhs


def _identity(m: Any, n: int) -> np.ndarray:
    out = np.full((n, n), m.zero, dtype=object)
    for i in range(n):
        out[i, i] = m.one
    return out


def _checked(forward: Function) -> Function:
    def run(*arrays: Any) -> Any:
        try:
            return forward(*arrays)
        except np.linalg.LinAlgError:
            raise EvaluationError("the matrix is singular: it has no inverse") from None

    return run


def _inv_vjp(wanted: Any, cotangent: Any, out: Any, x: Any) -> tuple[Any]:
    return (-matmul(matmul(_t(out), cotangent), _t(out)),)


inv = structural(
    "inv", "x", _checked(np.linalg.inv), _batched(lambda m, x: eliminate(m, x, _identity(m, len(x)))), vjp=_inv_vjp,
    shape=lambda x: _square(x, "inv"), saves=("out",), core_dims=(2,), aliases=("inverse",), domain="a regular matrix",
    doc="The inverse of a matrix.", examples=("inv(X.T @ X)",), ulps=64,
)  # fmt: skip


def _adjugate(x: Any) -> Any:
    # From the singular values, so that a singular matrix has its adjugate too.
    if x.shape[-1] == 0 or not np.isfinite(x).all():
        return x * np.nan
    u, s, vt = np.linalg.svd(x)
    rows = s.shape[-1]
    others = np.ones_like(s)
    for i in range(rows):
        others[..., i] = np.prod(np.delete(s, i, axis=-1), axis=-1)
    orientation = np.linalg.det(u) * np.linalg.det(vt)
    product = np.swapaxes(vt, -1, -2) * others[..., None, :] @ np.swapaxes(u, -1, -2)
    return product * np.round(orientation)[..., None, None]


def _adjugate_reference(m: Any, x: Any) -> Any:
    n = len(x)
    out = np.empty((n, n), dtype=object)
    for i in range(n):
        for j in range(n):
            minor = np.delete(np.delete(x, i, axis=0), j, axis=1)
            out[j, i] = berkowitz(m, minor) * (-1) ** (i + j)
    return out


def _adjugate_vjp(wanted: Any, cotangent: Any, out: Any, x: Any) -> tuple[Any]:
    # <c, adj(x)> is the derivative of det in the direction c.T, and second derivatives are symmetric.
    return (_t(adjugate_jvp(x, _t(cotangent))),)


adjugate = structural(
    "adjugate", "x", _adjugate, _batched(_adjugate_reference), vjp=_adjugate_vjp, shape=lambda x: _square(x, "adjugate"),
    saves=("x", "out"), core_dims=(2,), ulps=64,
    doc="The transposed matrix of cofactors: det(x)*inv(x), and defined for singular matrices as well.",
)  # fmt: skip


def _adjugate_jvp(x: Any, h: Any) -> Any:
    # In the basis of the singular vectors x is diagonal, where the derivative has a closed form without a division.
    if x.shape[-1] == 0 or not (np.isfinite(x).all() and np.isfinite(h).all()):
        return x * h * np.nan
    u, s, vt = np.linalg.svd(x)
    g = np.swapaxes(u, -1, -2) @ h @ np.swapaxes(vt, -1, -2)
    n = s.shape[-1]
    out = np.zeros_like(g)
    for i in range(n):
        for j in range(n):
            if i != j:
                others = np.prod(np.delete(s, [i, j], axis=-1), axis=-1)
                out[..., i, j] = -others * g[..., i, j]
                out[..., i, i] += others * g[..., j, j]
    orientation = np.round(np.linalg.det(u) * np.linalg.det(vt))[..., None, None]
    return np.swapaxes(vt, -1, -2) @ out @ np.swapaxes(u, -1, -2) * orientation


def _adjugate_jvp_reference(m: Any, x: Any, h: Any) -> Any:
    n = len(x)
    out = np.full((n, n), m.zero, dtype=object)
    for i in range(n if n > 1 else 0):
        for j in range(n):
            minor, change = (np.delete(np.delete(a, i, axis=0), j, axis=1) for a in (x, h))
            out[j, i] = (_adjugate_reference(m, minor) * change.T).sum() * (-1) ** (i + j)
    return out


def _adjugate_jvp_vjp(wanted: tuple[bool, ...], cotangent: Any, out: Any, x: Any, h: Any) -> tuple[Any, Any]:
    by_x = None
    if wanted[0]:
        # tr(Y h) A - A h Y with Y = inv(x) and A = adj(x), differentiated through both
        y, a = inv(x), adjugate(x)
        inner = _as_matrix(sum_(cotangent * a, axis=(-2, -1)))
        by_y = inner * _t(h) - matmul(_t(matmul(a, h)), cotangent)
        by_a = _as_matrix(sum_(y * _t(h), axis=(-2, -1))) * cotangent - matmul(cotangent, _t(matmul(h, y)))
        by_x = -matmul(matmul(_t(y), by_y), _t(y)) + _t(adjugate_jvp(x, _t(by_a)))
    return by_x, _t(adjugate_jvp(x, _t(cotangent))) if wanted[1] else None


adjugate_jvp = structural(
    "adjugate_jvp", "x h", _adjugate_jvp, _batched(_adjugate_jvp_reference), vjp=_adjugate_jvp_vjp,
    shape=lambda x, h: np.broadcast_shapes(_square(x, "adjugate"), h), saves=("x", "h"), core_dims=(2, 2), public=False, ulps=64,
    doc="The derivative of the adjugate in a direction, at singular matrices too.",
)  # fmt: skip


def _det_vjp(wanted: Any, cotangent: Any, out: Any, x: Any) -> tuple[Any]:
    return (_as_matrix(cotangent) * _t(adjugate(x)),)


det = structural(
    "det", "x", np.linalg.det, _batched(berkowitz), vjp=_det_vjp, shape=lambda x: _square(x, "det")[:-2], saves=("x",),
    core_dims=(2,), doc="The determinant. Its gradient is the cofactor matrix, at singular matrices too "
    "(PyTorch returns zeros there).", examples=("log(det(A))",), ulps=64,
)  # fmt: skip


def _solve_shape(x: Shape, y: Shape) -> Shape:
    _square(x, "solve")
    if len(y) == 1:
        if y[0] != x[-1]:
            raise ShapeError(f"solve: a matrix of shape {x} and a right side of shape {y} do not fit")
        return (*x[:-2], *y)
    if not y or y[-2] != x[-1]:
        raise ShapeError(f"solve: a matrix of shape {x} and a right side of shape {y} do not fit")
    return (*np.broadcast_shapes(x[:-2], y[:-2]), *y[-2:])



def _solve_reference(m: Any, x: Any, y: Any) -> Any:
    if y.ndim == 1:
        return _batched(eliminate)(m, x, y[:, None])[..., 0]
    return _batched(eliminate)(m, x, y)


def _solve(x: Any, y: Any) -> Any:
    return np.linalg.solve(x, y[..., None])[..., 0] if np.ndim(y) == 1 else np.linalg.solve(x, y)


def _solve_vjp(wanted: tuple[bool, ...], cotangent: Any, out: Any, x: Any, y: Any) -> tuple[Any, Any]:
    vector = len(y.shape) == 1
    c = reshape(cotangent, shape=(*cotangent.shape, 1)) if vector else cotangent
    back = solve(_t(x), c)
    result = reshape(out, shape=(*out.shape, 1)) if vector else out
    by_x = -matmul(back, _t(result)) if wanted[0] else None
    return by_x, (reshape(back, shape=cotangent.shape) if vector else back) if wanted[1] else None


solve = structural(
    "solve", "x y", _checked(_solve), _solve_reference, vjp=_solve_vjp, shape=_solve_shape, saves=("x", "out"),
    core_dims=(2, 2), domain="a regular matrix x", doc="The z with x @ z = y.", examples=("solve(A, b)",), ulps=64,
)  # fmt: skip


def _slogdet(x: Any) -> tuple[Any, Any]:
    sign, size = np.linalg.slogdet(x)
    return sign, size


def _slogdet_reference(m: Any, x: Any) -> tuple[Any, Any]:
    value = np.asarray(_batched(berkowitz)(m, x), dtype=object)
    return m.map(lambda v: m.sign(m.plain(v)), value), m.map(lambda v: m.log(m.magnitude(v)), value)


def _slogdet_vjp(wanted: Any, cotangent: tuple[Any, Any], out: Any, x: Any) -> tuple[Any]:
    return (_as_matrix(cotangent[1]) * _t(inv(x)) if cotangent[1] is not None else None,)


slogdet = structural(
    "slogdet", "x", _slogdet, _slogdet_reference, vjp=_slogdet_vjp, outputs=2,
    shape=lambda x: (_square(x, "slogdet")[:-2], x[:-2]), saves=("x",), core_dims=(2,), domain="a regular matrix",
    doc="The sign of the determinant and the logarithm of its size, without overflow: slogdet(A)[1].", ulps=64,
)  # fmt: skip

