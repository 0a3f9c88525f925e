"""Linear algebra: conventions that PyTorch has set, signs, hard inputs, refusals, and the
references themselves.

Numbers written out are PyTorch's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from recorded import LISTS

import gradcli
from gradcli.ops.registry import find
from gradcli.reference.algebra import Numbers
from gradcli.reference.tape import exact_array

SYMMETRIC = [[2.0, -1.0, 0.5], [-1.0, 1.0, 3.0], [0.5, 3.0, -2.0]]


def record(text: str, x: Any, **values: Any) -> Any:
    return gradcli.evaluate(
        f"{'np.' if 'np.' in text else 'torch.' if 'torch.' in text else ''}sum({text})",
        x=x,
        check=False,
        formula=False,
        **values,
    )


@pytest.mark.parametrize("shape", [(3, 3), (5, 5), (4, 3), (2, 5), (2, 4, 3)])
def test_signs_of_vectors_under_numpys_names_are_those_of_numpy(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(3).standard_normal(shape)
    for place, part in enumerate(np.linalg.svd(x)):
        assert record(f"np.linalg.svd(x)[{place}]", x).value == pytest.approx(part.sum())
    if shape[-1] == shape[-2]:
        vectors = gradcli.evaluate(
            "np.linalg.eigh(x)[1]", x=x, seed=np.ones(shape), check=False, formula=False
        ).value
        assert vectors == pytest.approx(np.linalg.eigh(x)[1])


SCALES = LISTS["scaled identities"]


@pytest.mark.parametrize(("text", "scale", "value"), SCALES)
def test_large_and_small_matrices(text: str, scale: float, value: float) -> None:
    found = record(text, scale * np.eye(3))
    assert found.value == pytest.approx(value, rel=1e-12)
    assert np.isfinite(found.grad["x"]).all()


RANDOM = np.random.default_rng(8)
SQUARE, TALL = RANDOM.standard_normal((3, 3)).round(3), RANDOM.standard_normal((4, 2)).round(3)


def _exactly(name: str, x: np.ndarray, **static: Any) -> tuple[Any, Any]:
    """An operation's reference at 50 digits, and its operand."""
    context = mpmath.MPContext()
    context.dps = 50
    op = find(name)
    exact = exact_array(context, x, "float")
    return op.reference(Numbers(context), exact, **{**op.static, **static}), exact


IDENTITIES: list[tuple[str, dict[str, Any], Callable[..., Any], np.ndarray]] = [
    ("cholesky", {}, lambda x, out: out @ out.T - x, SQUARE @ SQUARE.T + np.eye(3)),
    ("qr_of_columns", {}, lambda x, out: out[0] @ out[1] - x, TALL),
    ("lu", {}, lambda x, out: out[0] @ out[1] @ out[2] - x, TALL),
    ("lu", {}, lambda x, out: out[0] @ out[1] @ out[2] - x, TALL.T),
    ("eigh", {}, lambda x, out: (out[1] * out[0]) @ out[1].T - x, np.array(SYMMETRIC)),
    ("svd", {}, lambda x, out: out[0][:, :2] * out[1] @ out[2] - x, TALL),
    ("svd", {}, lambda x, out: out[0] * out[1] @ out[2][:2] - x, TALL.T),
    ("svd", {}, lambda x, out: out[0] @ out[0].T - np.eye(4), TALL),
    ("svd", {}, lambda x, out: out[0] @ out[0].T - np.eye(3), np.outer([1.0, 2.0, 2.0], [3.0, 0.0, 4.0])),
    ("pinv", {}, lambda x, out: out @ x - np.eye(2), TALL),
    ("pinv", {}, lambda x, out: x @ out @ x - x, np.outer([1.0, 2.0, 2.0], [3.0, 0.0, 4.0])),
    ("inv", {}, lambda x, out: out @ x - np.eye(3), SQUARE),
]  # fmt: skip


@pytest.mark.parametrize(("name", "static", "residual", "x"), IDENTITIES)
def test_references_factor_to_all_digits(
    name: str, static: dict[str, Any], residual: Callable[..., Any], x: np.ndarray
) -> None:
    out, exact = _exactly(name, x, **static)
    assert max(abs(v) for v in np.ravel(residual(exact, out))) < 1e-40
    for part, found in zip(
        *(p if isinstance(p, tuple) else (p,) for p in (out, find(name)(x, **static))), strict=True
    ):
        assert np.asarray(part, float) == pytest.approx(found, rel=1e-12, abs=1e-14)


def test_the_reference_of_the_exponential() -> None:
    out, _ = _exactly("matrix_exp", np.array([[0.0, 2.0], [-2.0, 0.0]]))
    with mpmath.workdps(50):
        assert abs(out[0, 0] - mpmath.cos(2)) < 1e-45
        assert abs(out[0, 1] - mpmath.sin(2)) < 1e-45
