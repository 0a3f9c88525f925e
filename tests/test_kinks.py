"""Where a derivative is a choice or infinite, the choice is PyTorch's; where PyTorch is wrong, the
truth.

Each row is a program, the values of its names, and the gradient of the sum of its result, in the
order of the names. The first table was measured with PyTorch 2.13 in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import same

import gradcli

inf, nan = float("inf"), float("nan")
BCE = "torch.nn.functional.binary_cross_entropy_with_logits"

Row = tuple[str, dict[str, Any], tuple[Any, ...]]

PYTORCH: list[Row] = [
    ("abs(x)", {"x": 0.0}, (0.0,)),
    ("abs(x)", {"x": -0.0}, (0.0,)),
    ("abs(x)", {"x": nan}, (0.0,)),
    ("relu(x)", {"x": 0.0}, (0.0,)),
    ("relu(x)", {"x": nan}, (1.0,)),
    ("sign(x)", {"x": 0.0}, (0.0,)),
    ("sign(x)", {"x": 2.0}, (0.0,)),
    ("floor(x)", {"x": 2.0}, (0.0,)),
    ("floor(x)", {"x": 1.5}, (0.0,)),
    ("ceil(x)", {"x": 2.0}, (0.0,)),
    ("trunc(x)", {"x": 1.0}, (0.0,)),
    ("round(x)", {"x": 1.5}, (0.0,)),
    ("torch.remainder(x, y)", {"x": 5.0, "y": 3.0}, (1.0, -1.0)),
    ("torch.remainder(x, y)", {"x": -5.0, "y": 3.0}, (1.0, 2.0)),
    ("torch.remainder(x, y)", {"x": 6.0, "y": 3.0}, (1.0, -2.0)),
    ("torch.remainder(x, y)", {"x": 1.0, "y": 0.1}, (1.0, -9.0)),
    ("torch.fmod(x, y)", {"x": 5.0, "y": 3.0}, (1.0, -1.0)),
    ("torch.fmod(x, y)", {"x": -5.0, "y": 3.0}, (1.0, 1.0)),
    # The larger and the smaller of two
    ("torch.maximum(x, y)", {"x": 1.0, "y": 1.0}, (0.5, 0.5)),
    ("torch.minimum(x, y)", {"x": 1.0, "y": 1.0}, (0.5, 0.5)),
    ("max(x, 0)", {"x": 0.0}, (0.5,)),
    ("max(0, 1 - x)", {"x": 1.0}, (-0.5,)),
    ("torch.maximum(x, y)", {"x": nan, "y": 1.0}, (1.0, 1.0)),
    ("torch.maximum(x, y)", {"x": 1.0, "y": nan}, (1.0, 1.0)),
    ("torch.minimum(x, y)", {"x": nan, "y": 1.0}, (1.0, 1.0)),
    ("torch.maximum(x, y)", {"x": inf, "y": inf}, (0.5, 0.5)),
    ("torch.max(x)", {"x": [2.0, 2.0, 1.0]}, ([0.5, 0.5, 0.0],)),
    ("torch.min(x)", {"x": [1.0, 1.0, 2.0]}, ([0.5, 0.5, 0.0],)),
    ("torch.amax(x, dim=0)", {"x": [2.0, 2.0, 1.0]}, ([0.5, 0.5, 0.0],)),
    ("torch.amax(x, dim=1)", {"x": [[2.0, 2.0], [1.0, 3.0]]}, ([[0.5, 0.5], [0.0, 1.0]],)),
    ("torch.max(x, dim=0)[0]", {"x": [2.0, 2.0, 1.0]}, ([1.0, 0.0, 0.0],)),
    (
        "torch.max(x, dim=1)[0]",
        {"x": [[1.0, 3.0, 3.0], [2.0, 2.0, 0.0]]},
        ([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]],),
    ),
    ("torch.min(x, 0)[0]", {"x": [2.0, 1.0, 1.0]}, ([0.0, 1.0, 0.0],)),
    ("torch.max(x)", {"x": [nan, 1.0]}, ([1.0, 0.0],)),
    ("torch.max(x)", {"x": [nan, nan]}, ([0.5, 0.5],)),
    ("torch.max(x)", {"x": [inf, inf]}, ([0.5, 0.5],)),
    # Clipping
    ("torch.clamp(x, -1, 1)", {"x": 1.0}, (1.0,)),
    ("torch.clamp(x, -1, 1)", {"x": -1.0}, (1.0,)),
    ("torch.clamp(x, -1, 1)", {"x": 1.5}, (0.0,)),
    ("torch.clamp(x, -1, 1)", {"x": nan}, (0.0,)),
    ("torch.clamp(x, low, high)", {"x": 0.0, "low": 0.0, "high": 1.0}, (1.0, 0.0, 0.0)),
    ("torch.clamp(x, low, high)", {"x": -2.0, "low": 0.0, "high": 1.0}, (0.0, 1.0, 0.0)),
    ("torch.clamp(x, low, high)", {"x": 0.5, "low": 2.0, "high": 1.0}, (0.0, 0.0, 1.0)),
    # Roots, powers and logarithms
    ("sqrt(x)", {"x": 0.0}, (inf,)),
    ("sqrt(x)", {"x": -1.0}, (nan,)),
    ("sqrt(x*x)", {"x": 0.0}, (nan,)),
    ("rsqrt(x)", {"x": 0.0}, (-inf,)),
    ("x**0", {"x": 0.0}, (0.0,)),
    ("x**0.0", {"x": 0.0}, (0.0,)),
    ("x**1", {"x": 0.0}, (1.0,)),
    ("x**2", {"x": 0.0}, (0.0,)),
    ("x**-1", {"x": 0.0}, (-inf,)),
    ("x**0.5", {"x": -2.0}, (nan,)),
    ("x**3", {"x": -2.0}, (12.0,)),
    ("x**(1/3)", {"x": 0.0}, (inf,)),
    ("x**y", {"x": 0.0, "y": 0.0}, (0.0, 0.0)),
    ("x**y", {"x": 0.0, "y": 1.0}, (1.0, 0.0)),
    ("x**y", {"x": 0.0, "y": 2.0}, (0.0, 0.0)),
    ("x**y", {"x": 0.0, "y": 0.5}, (inf, 0.0)),
    ("x**y", {"x": 0.0, "y": -1.0}, (-inf, -inf)),
    ("x**y", {"x": -2.0, "y": 3.0}, (12.0, nan)),
    ("x**y", {"x": -2.0, "y": 0.5}, (nan, nan)),
    ("0**y", {"y": 2.0}, (0.0,)),
    ("0**y", {"y": 0.0}, (0.0,)),
    ("(-2)**y", {"y": 3.0}, (nan,)),
    ("1/x", {"x": 0.0}, (-inf,)),
    ("x/x", {"x": 0.0}, (nan,)),
    ("exp(x)", {"x": 1000.0}, (inf,)),
    ("log(x)", {"x": 0.0}, (inf,)),
    ("log(x)", {"x": -1.0}, (-1.0,)),
    ("log1p(x)", {"x": -1.0}, (inf,)),
    (
        "xlogy(x, y)",
        {"x": 0.0, "y": 0.0},
        (0.0, 0.0),
    ),  # PyTorch has NaN by y, although 0*log(y) is 0 for every y
    ("xlogy(x, y)", {"x": 0.0, "y": 1.0}, (0.0, 0.0)),
    ("xlogy(x, y)", {"x": 0.0, "y": -1.0}, (0.0, 0.0)),
    ("xlogy(x, y)", {"x": 0.0, "y": nan}, (nan, nan)),
    ("logaddexp(x, y)", {"x": 1000.0, "y": 0.0}, (1.0, 0.0)),
    ("logaddexp(x, y)", {"x": -inf, "y": -inf}, (nan, nan)),
    # Angles
    ("asin(x)", {"x": 1.0}, (inf,)),
    ("acos(x)", {"x": 1.0}, (-inf,)),
    ("acosh(x)", {"x": 1.0}, (inf,)),
    ("atanh(x)", {"x": 1.0}, (inf,)),
    ("atan2(y, x)", {"y": 0.0, "x": 0.0}, (0.0, 0.0)),
    ("atan2(y, x)", {"y": 0.0, "x": -1.0}, (-1.0, 0.0)),
    ("hypot(x, y)", {"x": 0.0, "y": 0.0}, (nan, nan)),
    ("lgamma(x)", {"x": 0.0}, (-inf,)),
    ("lgamma(x)", {"x": -1.0}, (nan,)),
    # Reductions
    ("torch.linalg.norm(x)", {"x": [0.0, 0.0]}, ([0.0, 0.0],)),
    ("torch.linalg.norm(x, 1)", {"x": [0.0, 2.0]}, ([0.0, 1.0],)),
    ("torch.linalg.norm(x, 3)", {"x": [0.0, 0.0]}, ([0.0, 0.0],)),
    ("torch.linalg.norm(x, 0.5)", {"x": [1.0, 0.0]}, ([1.0, 0.0],)),
    ("torch.linalg.norm(x, 1.5)", {"x": [1.0, 0.0]}, ([1.0, 0.0],)),
    ("torch.linalg.norm(x)", {"x": [1.0, inf]}, ([0.0, nan],)),
    ("torch.linalg.norm(x, torch.inf)", {"x": [2.0, -2.0]}, ([0.5, -0.5],)),
    ("torch.linalg.norm(x, torch.inf)", {"x": [0.0, 0.0]}, ([0.0, 0.0],)),
    ("torch.std(x)", {"x": [2.0, 2.0]}, ([0.0, 0.0],)),
    ("torch.std(x)", {"x": [5.0]}, ([nan],)),
    ("torch.var(x)", {"x": [2.0, 2.0]}, ([0.0, 0.0],)),
    ("prod(x)", {"x": [0.0, 2.0, 3.0]}, ([6.0, 0.0, 0.0],)),
    ("prod(x)", {"x": [0.0, 0.0, 3.0]}, ([0.0, 0.0, 0.0],)),
    ("cumprod(x, axis=0)", {"x": [0.0, 2.0, 3.0]}, ([9.0, 0.0, 0.0],)),
    ("cumprod(x, axis=0)", {"x": [2.0, 0.0, 0.0, 3.0]}, ([1.0, 2.0, 0.0, 0.0],)),
    ("logsumexp(x, axis=0)", {"x": [-inf, 0.0]}, ([0.0, 1.0],)),
    ("logsumexp(x, axis=0)", {"x": [-inf, -inf]}, ([nan, nan],)),
    ("logsumexp(x, axis=0)", {"x": [inf, 0.0]}, ([nan, 0.0],)),
    ("logsumexp(x, axis=0)", {"x": [1000.0, 0.0]}, ([1.0, 0.0],)),
    ("softmax(x, axis=0)*[1, 2]", {"x": [1000.0, 0.0]}, ([0.0, 0.0],)),
    # Activations and losses at the ends of their range
    ("sigmoid(x)", {"x": 1000.0}, (0.0,)),
    ("sigmoid(x)", {"x": -1000.0}, (0.0,)),
    ("tanh(x)", {"x": 1000.0}, (0.0,)),
    ("torch.nn.functional.softplus(x)", {"x": 20.0}, (0.9999999979388464,)),
    ("torch.nn.functional.softplus(x)", {"x": 20.001}, (1.0,)),
    ("torch.nn.functional.softplus(x)", {"x": 1000.0}, (1.0,)),
    (f"{BCE}(x, y)", {"x": [0.0], "y": [1.0]}, ([-0.5], [0.0])),
    (f"{BCE}(x, y)", {"x": [1000.0], "y": [1.0]}, ([0.0], [-1000.0])),
    (f"{BCE}(x, y)", {"x": [1000.0], "y": [0.0]}, ([1.0], [-1000.0])),
    (f"{BCE}(x, y)", {"x": [-1000.0], "y": [1.0]}, ([-1.0], [1000.0])),
    (f"{BCE}(x, y)", {"x": [-1000.0], "y": [0.0]}, ([0.0], [1000.0])),
]

# Where gradcli is right and PyTorch is not, or has another convention (its value in the comment).
BETTER: list[Row] = [
    ("where(x == 0, 1, sin(x)/x)", {"x": 0.0}, (0.0,)),  # NaN: 0 * inf of the branch not taken
    ("where(x > 0, sqrt(x), 0)", {"x": 0.0}, (0.0,)),  # NaN
    ("0*sqrt(x)", {"x": 0.0}, (0.0,)),  # NaN
    ("det(x)", {"x": [[1.0, 2.0], [2.0, 4.0]]}, ([[4.0, -2.0], [-2.0, 1.0]],)),  # zeros
    ("det(x)", {"x": [[0.0, 0.0], [0.0, 0.0]]}, ([[0.0, 0.0], [0.0, 0.0]],)),
    ("det(x)", {"x": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]},
     ([[-3.0, 6.0, -3.0], [6.0, -12.0, 6.0], [-3.0, 6.0, -3.0]],)),  # zeros
    ("det(x)", {"x": [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]}, (np.zeros((3, 3)).tolist(),)),
    ("softplus(x)", {"x": 40.0}, (1 / (1 + np.exp(-40.0)),)),  # threshold 20: 1
    ("softplus(x)", {"x": 25.0}, (0.9999999999861121,)),
    ("softplus(x)", {"x": 1000.0}, (1.0,)),
    ("softplus(x)", {"x": -1000.0}, (0.0,)),
    ("log(sigmoid(x))", {"x": 800.0}, (0.0,)),
]  # fmt: skip


def rows(table: list[Row]) -> list[Any]:
    return [
        pytest.param(*row, id=f"{row[0]} at {', '.join(str(v) for v in row[1].values())}")
        for row in table
    ]


def gradients(text: str, values: dict[str, Any], mode: str) -> list[Any]:
    """By the sweep over numbers, or by the graph of the gradient that the language builds."""
    if mode == "sweep":
        record = gradcli.evaluate(
            f"sum({text})", at=values, wrt=list(values), check=False, formula=False
        )
        assert record.grad is not None
        return [record.grad[name] for name in values]
    texts = [f"grad(sum({text}), {name})" for name in values]
    return [
        gradcli.evaluate(
            t, at=values, wrt=[], seed=np.ones(np.shape(v)), check=False, formula=False
        ).value
        for t, v in zip(texts, values.values(), strict=True)
    ]


@pytest.mark.parametrize("mode", ["sweep", "graph"])
@pytest.mark.parametrize(("text", "values", "wanted"), rows(PYTORCH))
def test_convention_is_that_of_pytorch(
    text: str, values: dict[str, Any], wanted: tuple[Any, ...], mode: str
) -> None:
    found = gradients(text, values, mode)
    assert all(same(f, np.asarray(w)) for f, w in zip(found, wanted, strict=True)), (
        f"{found} is not {wanted}"
    )


@pytest.mark.parametrize("mode", ["sweep", "graph"])
@pytest.mark.parametrize(("text", "values", "wanted"), rows(BETTER))
def test_right_where_pytorch_is_not(
    text: str, values: dict[str, Any], wanted: tuple[Any, ...], mode: str
) -> None:
    found = gradients(text, values, mode)
    close = [
        np.allclose(f, w, rtol=1e-12, atol=1e-13, equal_nan=True)
        for f, w in zip(found, wanted, strict=True)
    ]
    assert all(close), f"{found} is not {wanted}"
    assert [np.shape(f) for f in found] == [np.shape(w) for w in wanted]


def test_gradient_of_softplus_keeps_its_digits_where_the_threshold_would_cut() -> None:
    """1 - softplus'(x) is exp(-x) to first order, and sigmoid(-x) shows every digit of it."""
    record = gradcli.evaluate("softplus(-x)", x=40.0, check=False, formula=False)
    assert record.value == pytest.approx(np.exp(-40.0), rel=1e-14)
    assert record.grad["x"] == pytest.approx(-np.exp(-40.0), rel=1e-14)


def test_ties_among_equal_rows_are_shared_in_second_order_too() -> None:
    """max of x is linear between kinks, so its Hessian is zero even at a tie."""
    record = gradcli.evaluate(
        "max(x)", x=[2.0, 2.0, 1.0], mode="hessian", check=False, formula=False
    )
    assert not np.any(record.hessian["x"]["x"])


def test_hessian_of_det_at_a_singular_matrix() -> None:
    """det of 2 x 2 is bilinear: its Hessian is the same everywhere."""
    record = gradcli.evaluate(
        "det(x)", x=[[1.0, 2.0], [2.0, 4.0]], mode="hessian", check=False, formula=False
    )
    wanted = np.zeros((2, 2, 2, 2))
    wanted[0, 0, 1, 1] = wanted[1, 1, 0, 0] = 1
    wanted[0, 1, 1, 0] = wanted[1, 0, 0, 1] = -1
    assert record.hessian["x"]["x"] == pytest.approx(wanted, abs=1e-12)
