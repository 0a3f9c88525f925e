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
from checking import judged, said

import gradcli
from gradcli.errors import GradcliError
from gradcli.ops.registry import find
from gradcli.reference.algebra import Numbers
from gradcli.reference.tape import exact_array

inf, nan = math.inf, math.nan
ONES, ZEROS, EYE = [[1.0, 1.0], [1.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]
UNEVEN, LOWER = [[2.0, 5.0], [1.0, 3.0]], [[2.0, 0.0], [1.0, 4.0]]
SINGULAR, NEGATIVE = [[1.0, 2.0], [2.0, 4.0]], [[0.0, 1.0], [1.0, 0.0]]
SYMMETRIC = [[2.0, -1.0, 0.5], [-1.0, 1.0, 3.0], [0.5, 3.0, -2.0]]


def record(text: str, x: Any, **values: Any) -> Any:
    return gradcli.evaluate(
        f"{'np.' if 'np.' in text else 'torch.' if 'torch.' in text else ''}sum({text})",
        x=x,
        check=False,
        formula=False,
        **values,
    )


CONVENTIONS = [
    ("one triangle is read, the gradient is symmetric", "eigvalsh(x)[1]", UNEVEN, 3.618033988749895,
     [[0.2763932022500209, 0.4472135954999578], [0.4472135954999578, 0.7236067977499788]]),
    ("the upper triangle", "eigvalsh(x, UPLO='U')[1]", UNEVEN, 7.524937810560445,
     [[0.45024814048950046, 0.49751859510499447], [0.49751859510499447, 0.5497518595104993]]),
    ("the lower triangle", "cholesky(x)[1]", UNEVEN, 0.7071067811865475 + 1.5811388300841898,
     [[-0.09771975379242738, 0.19543950758485482], [0.19543950758485482, 0.31622776601683794]]),
    ("a factor's other triangle", "cholesky_inverse(x)[0]", LOWER, 0.234375, [[-0.25, -0.00390625], [0.0, 0.0078125]]),
    ("a factor's other triangle", "cholesky_solve([[1], [2]], x)[1]", LOWER, 0.09375, [[0.015625, -0.0390625], [-0.03125, -0.046875]]),
    ("rank held fixed", "torch.linalg.pinv(x, rtol=0.5)", [[1.0, 0.3], [0.0, 0.4]], 1.3554782797639247,
     [[-1.5291564097903627, 0.11507743613223065], [0.7559717623958339, 0.34788724796691933]]),
    ("no rank at all", "torch.linalg.pinv(x, atol=10)", [[1.0, 0.3], [0.0, 0.4]], 0.0, ZEROS),
    ("dependent columns", "torch.linalg.lstsq(x, [[1], [2], [4]])[0]", [[1.0, 1.0], [1.0, 1.0], [2.0, 2.0]], 1.8333333333333333,
     [[-2 / 9, -2 / 9], [-5 / 36, -5 / 36], [-5 / 18, -5 / 18]]),
    ("equal singular values share", "norm(x, 2)", EYE, 1.0, [[0.5, 0.0], [0.0, 0.5]]),
    ("no singular values", "norm(x, 'nuc')", ZEROS, 0.0, EYE),
    ("equal rows share", "norm(x, inf)", ONES, 2.0, [[0.5, 0.5], [0.5, 0.5]]),
    ("Frobenius at 0", "norm(x)", ZEROS, 0.0, ZEROS),
    ("equal eigenvalues, one of them", "eigvalsh(x)[0]", EYE, 1.0, [[1.0, 0.0], [0.0, 0.0]]),
    ("equal eigenvalues, their vectors", "eigh(x)[1]", EYE, 2.0, [[nan, nan], [nan, nan]]),
    ("equal singular values, their vectors", "svd(x)[0]", EYE, 2.0, [[nan, nan], [nan, nan]]),
    ("a negative determinant", "logdet(x)", NEGATIVE, nan, ZEROS),
    ("no determinant", "logdet(x)", SINGULAR, -inf, [[inf, -inf], [-inf, inf]]),
    ("no determinant", "slogdet(x)[1]", SINGULAR, -inf, [[inf, -inf], [-inf, inf]]),
    ("a singular matrix (PyTorch: 0)", "det(x)", SINGULAR, 0.0, [[4.0, -2.0], [-2.0, 1.0]]),
    ("a last pivot of 0 (PyTorch: NaN)", "lu(x)[2]", SINGULAR, 6.0, [[-2.0, 1.0], [2.0, 0.5]]),
    ("no power", "matrix_power(x, 0)", SINGULAR, 2.0, ZEROS),
    ("a division by zero", "solve_triangular(x, [1, 1])", [[1.0, 2.0], [0.0, 0.0]], nan, [[inf, -inf], [0.0, inf]]),
    ("no inverse", "torch.linalg.inv_ex(x).inverse[0]", SINGULAR, nan, [[nan, nan], [nan, nan]]),
    ("no inverse", "cond(x, 'fro')", ZEROS, inf, ZEROS),
]  # fmt: skip


@pytest.mark.parametrize(
    ("title", "text", "x", "value", "gradient"),
    CONVENTIONS,
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_conventions(title: str, text: str, x: Any, value: float, gradient: Any) -> None:
    found = record(text, x)
    assert found.value == pytest.approx(value, rel=1e-13, abs=1e-14, nan_ok=True)
    assert found.grad["x"] == pytest.approx(np.array(gradient), rel=1e-12, abs=1e-14, nan_ok=True)


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


EMPTY = [
    ("det(x)", (0, 0), 1.0), ("det(x)", (2, 0, 0), [1.0, 1.0]), ("inv(x)", (0, 0), np.zeros((0, 0))),
    ("matrix_exp(x)", (2, 0, 0), np.zeros((2, 0, 0))), ("cholesky(x)", (0, 3, 3), np.zeros((0, 3, 3))),
    ("qr(x)[1]", (0, 3), np.zeros((0, 3))), ("svd(x)[0]", (2, 0), np.eye(2)), ("svdvals(x)", (2, 0, 3), np.zeros((2, 0))),
    ("lu(x)[0]", (3, 0), np.eye(3)), ("pinv(x)", (0, 3), np.zeros((3, 0))), ("norm(x, 2)", (0, 3), 0.0), ("norm(x, inf)", (0, 3), 0.0),
    ("norm(x, 'nuc', axis=(1, 2))", (2, 0, 3), [0.0, 0.0]), ("cond(x)", (0, 0), 0.0), ("slogdet(x)[1]", (0, 0), 0.0),
    ("torch.linalg.solve_triangular(x, x, upper=True)", (0, 0), np.zeros((0, 0))), ("eigvalsh(x)", (0, 0), np.zeros(0)),
    ("torch.cholesky_solve(x, x)", (2, 0, 0), np.zeros((2, 0, 0))), ("torch.linalg.lu_factor(x).LU", (0, 2), np.zeros((0, 2))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "shape", "value"), EMPTY)
def test_matrices_without_entries(text: str, shape: tuple[int, ...], value: Any) -> None:
    found = gradcli.evaluate(text, x=np.zeros(shape), seed=np.ones(np.shape(value)), formula=False)
    assert np.array_equal(found.value, value)
    assert found.grad["x"].shape == shape
    assert found.check.verdict.word == "agree", said(found.check)


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
PRODUCT = TALL[:, :1] @ TALL[:3, 1:].T
VERDICTS = [
    ("sum(cholesky(x @ x.T)**2)", SQUARE, "agree"), ("sum(qr(x)[0] * [1, 2])", TALL, "agree"), ("sum(lu(x)[1])", TALL, "agree"),
    ("sum(eigh(x + x.T)[1] * [1, 2, 3])", SQUARE, "agree"), ("torch.sum(torch.linalg.svd(x).U)", TALL, "agree"),
    ("sum(svd(x.T)[2])", TALL, "agree"), ("sum(pinv(x))", TALL, "agree"), ("sum(pinv(x))", PRODUCT, "agree"),
    ("torch.sum(torch.linalg.pinv(x, rtol=1.0))", TALL, "agree"), ("norm(x, 'nuc')", TALL, "agree"), ("cond(x)", SQUARE, "agree"),
    ("sum(matrix_exp(x))", SQUARE, "agree"), ("torch.sum(torch.linalg.lstsq(x, x[:, 0]).solution)", TALL, "agree"),
    ("sum(grad(sum(matrix_exp(x)), x))", SQUARE[:2, :2], "agree"), ("sum(grad(norm(x, 2), x)**2)", TALL, "agree"),
    ("sum(cholesky_inverse(tril(x)))", SQUARE, "agree"),
    ("torch.sum(torch.lu_solve(x, x, [2, 3, 3]))", SQUARE, "agree"), ("sum(eigvalsh(x))", EYE, "agree"), ("norm(x, 'nuc')", ONES, "kink"),
    ("norm(x, 2)", EYE, "kink"), ("sum(eigh(x)[1])", EYE, "undefined"), ("sum(svd(x)[0])", EYE, "undefined"),
    ("sum(qr(x)[1])", SINGULAR, "kink"), ("sum(lu(x)[2])", [[0.0, 1.0], [0.0, 1.0]], "undefined"),
    ("logdet(x)", SINGULAR, "undefined"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "x", "verdict"), VERDICTS, ids=lambda v: v if isinstance(v, str) else ""
)
def test_verdicts(text: str, x: Any, verdict: str) -> None:
    check = judged(text, {"x": x})
    assert check.verdict.word == verdict, said(check)


REFUSED = [
    ("inv(x)", SINGULAR, "the matrix is singular"), ("solve(x, [1, 2])", SINGULAR, "no single "
    "solution"),
    ("cholesky(x)", NEGATIVE, "not positive definite"), ("eigvalsh(x)", [[1.0, nan], [nan, 1.0]], "not finite"),
    ("norm(x, 2)", [[inf, 1.0], [1.0, 1.0]], "not finite"), ("pinv(x)", [[nan]], "not finite"),
    ("lu(x)[1]", [[nan, 1.0]], "not finite"),
    ("det(x)", TALL, "square"), ("cholesky(x)", TALL, "square"), ("eigh(x)[0]", [1.0, 2.0], "square"),
    ("qr(x)[0]", [1.0], "needs a matrix"),
    ("eigvalsh(x, UPLO='M')", EYE, "UPLO must be"), ("qr(x, mode='raw')", EYE, "mode must be"), ("norm(x, 3)", EYE, "'nuc'"),
    ("norm(x, 'fro')", [1.0, 2.0], "a vector has no norm"), ("norm(x, 2)", [[[1.0]]], "needs an "
    "axis"),
    ("norm(x, 1, axis=(0, 1, 2))", [[[1.0]]], "one or two axes"), ("torch.norm(x, p='max')", EYE, "has no norm"),
    ("torch.linalg.solve_triangular(x, x)", EYE, "'upper'"), ("solve_triangular(x, x, trans=3)", EYE, "trans must be"),
    ("torch.linalg.solve(x, [1, 2], left=False)", EYE, "left=False"), ("solve(x, [1, 2, 3])", EYE, "do not fit"),
    ("torch.linalg.lstsq(x, x, driver='qr')[0]", EYE, "driver must be"), ("matrix_power(x, 0.5)", EYE, "whole number"),
    ("multi_dot([x])", EYE, "at least two"), ("multi_dot([x, x])", TALL, "do not fit"),
    ("tensorinv(x, ind=0)", EYE, "at least 1"),
    ("tensorinv(x)", [[[1.0, 2.0]]], "cannot reshape"), ("tensorsolve(x, x)", TALL, "cannot "
    "reshape"),
    ("torch.lu_unpack(x, [3, 1])[0]", EYE, "a pivot must be"),
    ("np.linalg.qr(x, mode='complete')[0][0, 3]", TALL, "not differentiable"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "x", "message"), REFUSED)
def test_refusals(text: str, x: Any, message: str) -> None:
    with pytest.raises(GradcliError, match=message):
        record(text, x)


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
