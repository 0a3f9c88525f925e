"""SciPy's LU factors of tensors, whose pivots count from 0, where PyTorch's are LAPACK's, which count from 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.errors import UnreadArgumentError
from gradcli.ops.calling.prefixes import TORCH
from gradcli.tensors.dispatch.library_calls import call
from gradcli.tensors.torch.numpy_calls import plain, tensor_of


def _factors(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    factors, pivots = call("lu_factor", TORCH, (tensor_of(a),), {})
    return factors, pivots - 1


def _solution(lu_and_piv: Any, b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """z with A z = b, or with the transpose of A: b is a vector, or a matrix of as many rows as A has."""
    if trans not in (0, 1, 2):
        raise UnreadArgumentError(f"lu_solve takes trans=0, 1 or 2, not {trans!r}")
    (factors, pivots), right = lu_and_piv, tensor_of(b)
    counted = tensor_of(np.asarray(plain(pivots)) + 1)
    columns = right[:, None] if right.ndim == 1 else right
    found = call("linalg.lu_solve", TORCH, (tensor_of(factors), counted, columns), {"adjoint": trans != 0})
    return found[:, 0] if right.ndim == 1 else found


FACTORS: dict[str, Callable[..., Any]] = {"linalg.lu_factor": _factors, "linalg.lu_solve": _solution}
