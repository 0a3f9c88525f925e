"""Singular values of matrices of low rank, of which a few random directions tell the range: ``torch.svd_lowrank``, ``pca_lowrank``.

The algorithms 4.4 and 5.1 of N. Halko, P. G. Martinsson and J. A. Tropp: "Finding structure with randomness" (SIAM Review 53, 2011).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.ops.calling.dialects import qualified
from gradcli.ops.calling.prefixes import TORCH
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.checked_calls import all_checked
from gradcli.tensors.dispatch.library_calls import call
from gradcli.tensors.torch.creation import randn

_Parts = tuple[Tensor, Tensor, Tensor]


def _linalg(name: str, *given: Any, **named: Any) -> Any:
    return call(qualified(name, f"torch.linalg.{name}", TORCH), TORCH, given, named)


def _basis(A: Any, q: int, niter: int) -> Any:
    """Orthonormal columns whose span is close to that of a matrix: of random sums of its columns, which products with it sharpen."""
    kind = A.dtype if A.dtype.is_floating_point else dtypes.get_default_dtype()
    basis = _linalg("qr", A @ randn(A.shape[-1], q, dtype=kind))[0]
    for _ in range(niter):
        basis = _linalg("qr", A.mT @ basis)[0]
        basis = _linalg("qr", A @ basis)[0]
    return basis


def _svd_lowrank(A: Any, q: int | None = 6, niter: int | None = 2, M: Any = None) -> _Parts:
    """Singular values and vectors of A, or of A - M."""
    columns, turns = 6 if q is None else q, 2 if niter is None else niter
    whole = A if M is None else A - M.broadcast_to(A.shape)
    wide = whole.shape[-2] < whole.shape[-1]
    tall = whole.mT if wide else whole
    basis = _basis(tall, columns, turns)
    u, values, vh = _linalg("svd", basis.mT @ tall, full_matrices=False)
    left, right = basis @ u, vh.mT
    return (right, values, left) if wide else (left, values, right)


def _pca_lowrank(A: Any, q: int | None = None, center: bool = True, niter: int = 2) -> _Parts:
    """Principal directions of rows: of the matrix without the mean of each column."""
    fewest = min(A.shape[-2:])
    if q is not None and not 0 <= q <= fewest:
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={fewest}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return _svd_lowrank(A - A.mean(dim=(-2,), keepdim=True) if center else A, min(6, fewest) if q is None else q, niter)


LOW_RANK: dict[str, Callable[..., _Parts]] = all_checked({"svd_lowrank": _svd_lowrank, "pca_lowrank": _pca_lowrank})
