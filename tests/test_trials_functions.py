"""Gradients of functions that write into what they are given, meet infinities, sort equal numbers
or keep parameters.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorded import over
from scipy.special import expit

from gradcli.testing import check_gradient

NEEDS_TORCH = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed here")
INF = np.inf


def leaky(x: Any) -> Any:
    return np.where(x > 0, x, 0.1 * x)


def leaky_wrong(x: Any, seed: Any) -> Any:
    seed[x <= 0] = 0
    return seed


def square(x: Any) -> Any:
    return x**2


def in_place(x: Any, seed: Any) -> Any:
    seed *= 2 * x
    return seed


def into_argument(x: Any, seed: Any) -> Any:
    x *= 2
    x *= seed
    return x


BUFFER = np.empty(2)


def into_buffer(x: Any, seed: Any) -> Any:
    BUFFER[:] = 2 * x * seed
    return BUFFER


def square_into_buffer(x: Any) -> Any:
    BUFFER[:] = x**2
    return BUFFER


def two(a: Any, b: Any) -> Any:
    return a * b, a + b


def two_in_place(a: Any, b: Any, seed: Any) -> Any:
    p, q = seed
    pb = p * b
    q += pb
    return q, p * a + (q - pb)


WRITERS: dict[str, tuple[Any, Any, dict[str, Any], str]] = {
    "a wrong one": (leaky, leaky_wrong, {"x": [1.0, -2.0]}, "mismatch"),
    "a right one": (square, in_place, {"x": [1.0, 2.0]}, "agree"),
    "into its argument": (square, into_argument, {"x": [1.0, 2.0]}, "agree"),
    "one buffer for all answers": (square, into_buffer, {"x": [1.0, 2.0]}, "agree"),
    "the function's, too": (square_into_buffer, into_buffer, {"x": [1.0, 2.0]}, "agree"),
    "several results": (two, two_in_place, {"a": [1.0, 2.0], "b": [3.0, 4.0]}, "agree"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_under_test_writes_into_copies(name: str) -> None:
    function, gradient, at, wanted = WRITERS[name]
    assert check_gradient(function, gradient, at=at).verdict.word == wanted


def test_nested_arguments_are_copies() -> None:
    def loss(p: Any, n: Any) -> Any:
        return np.sum(p["w"] ** 2 * n["k"][0])

    def writing(p: Any, n: Any) -> Any:
        n["k"][0] = 0
        return {"w": 0 * p["w"]}

    at = {"p": {"w": np.array([1.0, 2.0])}, "n": {"k": [3.0, 1]}}
    assert check_gradient(loss, writing, at=at, wrt="p").verdict.word == "mismatch"
    assert at["n"]["k"] == [3.0, 1]


def flat_at_one(x: Any) -> Any:
    """Of which a third is rounded, so that the derivative is zero but for that."""
    return (1 / 3 * x[0] ** 3 - x[0]) * x[1] ** 2 * np.exp(-x[1])


def flat_slopes(x: Any) -> Any:
    first, second = (x[0] ** 2 - 1) * x[1] ** 2, (1 / 3 * x[0] ** 3 - x[0]) * (2 * x[1] - x[1] ** 2)
    return np.array([first, second]) * np.exp(-x[1])


@pytest.mark.parametrize(
    "at", [[1.0, 3.0], pytest.param([1.0, 2.0], marks=pytest.mark.ci)], ids=str
)
@pytest.mark.parametrize(("off", "wanted"), [(0.0, "agree"), (1e-9, "mismatch")])
def test_a_claim_of_zero_at_a_stationary_point(at: list[float], off: float, wanted: str) -> None:
    check = check_gradient(
        flat_at_one, lambda x: flat_slopes(x) + np.array([off, 0.0]), at={"x": at}
    )
    assert check.verdict.word == wanted


def between_cuts(eta: Any, cuts: Any) -> Any:
    all_cuts = np.concatenate([[-INF], cuts, [INF]])
    return np.sum(np.log(np.diff(expit(all_cuts - eta))))


def between_cuts_slopes(eta: Any, cuts: Any) -> Any:
    levels = expit(np.concatenate([[-INF], cuts, [INF]]) - eta)
    slopes, steps = levels * (1 - levels), np.diff(levels)
    each = np.diff(slopes) / steps
    return -np.sum(each), slopes[1:-1] / steps[:-1] - slopes[1:-1] / steps[1:]


BESIDE_INFINITY: dict[str, tuple[Any, Any, dict[str, Any], str]] = {
    "cut points": (between_cuts, between_cuts_slopes, {"eta": 0.3, "cuts": [-1.0, 1.0]}, "agree"),
    "cut points, wrong": (between_cuts, lambda e, c: (1.01 * between_cuts_slopes(e, c)[0], between_cuts_slopes(e, c)[1]),
                          {"eta": 0.3, "cuts": [-1.0, 1.0]}, "mismatch"),
    "a quotient": (lambda x: np.sum(1 / (1 + np.exp(INF - x)) + x), np.ones_like, {"x": [0.3]}, "agree"),
    "tanh": (lambda x: np.sum(np.tanh(INF - x) + x**2), lambda x: 2 * x, {"x": [0.3]}, "agree"),
}  # fmt: skip


@pytest.mark.parametrize("name", BESIDE_INFINITY)
def test_a_finite_derivative_beside_an_infinite_constant(name: str) -> None:
    function, gradient, at, wanted = BESIDE_INFINITY[name]
    assert check_gradient(function, gradient, at=at).verdict.word == wanted


def median(x: Any) -> Any:
    return np.median(x)


@over("checked", "ties", "said", "wanted")
def test_subgradients_of_what_sorts_equal_numbers(said: list[float], wanted: str) -> None:
    assert (
        check_gradient(median, lambda x: np.array(said), at={"x": [1.0, 2.0, 2.0]}).verdict.word
        in wanted.split()
    )


FILES = """
import numpy as np
def f(x, y, *, lr=1.0, c): return np.sum(x**2*y)*lr*c
def g(x, y, *, lr=1.0, c): return 2*x*y*lr*c, x**2*lr*c, c*np.sum(x**2*y), lr*np.sum(x**2*y)
def h(x, y, lr, c): return g(x, y, lr=lr, c=c)
def power(x, a=2.0, b=3.0): return a*x**b
def slope(x, *, b=3.0, seed): return seed*2*b*x**(b - 1)
def loss(p, x): return np.sum((p["layers"][0]["w"]*x + p["b"])**2)
def slopes(p, x):
    r = 2*(p["layers"][0]["w"]*x + p["b"])
    return {"layers": [{"w": r*x}], "b": r.sum()}
"""


@over("checked", "by name", "words", "code", "told")
def test_arguments_go_by_their_names(
    call_cli: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: str,
    code: int,
    told: str,
) -> None:
    (tmp_path / "named.py").write_text(FILES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "named", raising=False)
    done = call_cli("check", "--no-cache", "--function", *shlex.split(words))
    assert (done.returncode, told in done.stdout + done.stderr) == (code, True), (
        done.stdout + done.stderr
    )


@NEEDS_TORCH
def test_modules_are_held_by_their_parameters() -> None:
    import torch

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, w: Any) -> Any:
            return w.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * g

    class Scaled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(3, 2)
            self.gain = torch.nn.Parameter(torch.tensor(1.5))

        def forward(self, x: Any) -> Any:
            return self.linear(x) * Twice.apply(self.gain)

    model = Scaled()
    before = {name: (p, p.detach().clone()) for name, p in model.named_parameters()}
    at = {"x": np.array([[0.3, -1.2, 2.0]])}
    found = check_gradient(model, by="torch", at=at).variables
    assert {name: part.verdict.word for name, part in found.items()} == {
        "x": "agree", "gain": "mismatch", "linear.weight": "agree", "linear.bias": "agree"
    }  # fmt: skip
    assert check_gradient(model, by="torch", at=at, wrt="linear.weight").verdict.word == "agree"
    assert (
        check_gradient(
            lambda x: model(x).sum(), by="torch", at=at, parameters=model, wrt="gain"
        ).verdict.word
        == "mismatch"
    )
    model.linear.bias.requires_grad_(False)
    assert "linear.bias" not in check_gradient(model, by="torch", at=at).variables
    for name, p in model.named_parameters():
        assert p is before[name][0]
        assert torch.equal(p, before[name][1])
