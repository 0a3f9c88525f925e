"""Linear algebra: conventions that PyTorch has set, signs, hard inputs, refusals, and the
references themselves.

Numbers written out are PyTorch's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

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


VECTORS = [
    ("torch.linalg.eigh(x).eigenvectors", SYMMETRIC,
     [[0.15767834447959497, 0.8595163667120236, -0.4861781104043418], [0.5305983615162431, 0.3414825005056672, 0.7757931944820573],
      [-0.8328282646731273, 0.380291095350074, 0.40221358052530787]]),
    ("torch.linalg.eigh(x, UPLO='U')[1][:, 0]", SYMMETRIC, [-0.1576783444795949, -0.530598361516243, 0.8328282646731273]),
    ("torch.linalg.svd(x).U", [[1.0, 2.0, 0.0], [3.0, -1.0, 1.0], [0.0, 1.0, 4.0], [2.0, 2.0, -1.0]],
     [[-0.18391319739645026, 0.42163702135578357, 0.45094946834750976, -0.7648808633001187],
      [-0.3977812839092477, 0.4216370213557843, -0.8019052945663605, -0.1447071903540763],
      [-0.8973424057912985, -0.31622776601683794, 0.2452778468457771, 0.18605210188381263],
      [-0.05217847030730027, 0.7378647873726216, 0.3056652636303914, 0.5995012171811742]]),
    ("torch.svd(x, some=False).V.T[[0, 1]]", [[1.0, 2.0, 0.0, -1.0, 3.0], [2.0, 0.0, 1.0, 1.0, -2.0]],
     [[-0.04721359549995818, 0.3999999999999998, -0.12360679774997903, -0.3236067977499789, 0.8472135954999579],
      [0.8472135954999579, 0.40000000000000024, 0.32360679774997886, 0.12360679774997874, -0.04721359549995752]]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "x", "wanted"), VECTORS)
def test_vectors_are_those_of_pytorch_but_for_their_signs(text: str, x: Any, wanted: Any) -> None:
    found = gradcli.evaluate(
        text, x=x, seed=np.ones(np.shape(wanted)), check=False, formula=False
    ).value
    assert np.abs(found) == pytest.approx(np.abs(wanted), abs=1e-13)


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


SCALES = [
    ("slogdet(x)[1]", 1e-200, 3 * math.log(1e-200)),
    ("norm(x, 2)", 1e300, 1e300), ("norm(x, 'nuc')", 1e-300, 3e-300), ("cond(x)", 1e-200, 1.0),
    ("pinv(x)", 1e-150, 3e150), ("qr(x)[1]", 1e-200, 3e-200), ("cholesky(x)", 1e-200, 3e-100), ("eigvalsh(x)", 1e200, 3e200),
    ("matrix_exp(x)", 700.0, 3 * math.exp(700)), ("matrix_exp(x)", -800.0, 0.0), ("lu(x)[2]", 1e250, 3e250),
]  # fmt: skip


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
