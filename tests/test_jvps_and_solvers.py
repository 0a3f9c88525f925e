"""JVPs, adjoints of linear functions, and gradients of what solves an equation: right and wrong
claims, and what does not go together.
"""

from __future__ import annotations

import json
import math
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.signal
from helpers import thinned

from gradcli import Check, GradcliError
from gradcli.functions.implicit import THEOREM, UNITS
from gradcli.functions.tracing.exact import TRACED
from gradcli.testing import GradientError, assert_gradient, check_gradient

X = np.array([0.3, -1.2, 2.0])
M = np.array([[1.0, 2.0, -0.5], [0.5, 3.0, 1.5]])
A = np.array([[0.1, 0.2], [0.3, -0.1]])


def source(check: Check) -> str:
    (part,) = check.variables.values()
    return str(part.decided_by)


# -- JVPs
# ---------------------------------------------------------------------------------------------------------------

JVPS: dict[str, tuple[Any, Any, dict[str, Any], str]] = {
    "of several results": (np.tanh, lambda x, dx: (1 - np.tanh(x) ** 2) * dx, {"x": X}, "agree"),
    "a forgotten chain": (
        lambda x: np.tanh(x) ** 2,
        lambda x, dx: 2 * np.tanh(x) * dx,
        {"x": X},
        "mismatch",
    ),
    "by two arguments": (
        lambda x, y: np.sum(x**2) * y,
        lambda x, y, dx, dy: 2 * (x @ dx) * y + (x @ x) * dy,
        {"x": X, "y": 2.0},
        "agree",
    ),
    "a missing term": (
        lambda x, y: np.sum(x**2) * y,
        lambda x, y, dx, dy: 2 * (x @ dx) * y,
        {"x": X, "y": 2.0},
        "mismatch",
    ),
    "by a structure": (
        lambda p: np.sum(p["w"] ** 2),
        lambda p, dp: 2 * (p["w"] @ dp["w"]),
        {"p": {"w": X, "n": 3}},
        "agree",
    ),
    "through C": (
        lambda x: math.exp(float(x)),
        lambda x, dx: math.exp(x) * dx,
        {"x": 0.5},
        "agree",
    ),
    "through C, and off": (
        lambda x: math.exp(float(x)),
        lambda x, dx: math.exp(x) * dx * 1.00001,
        {"x": 0.5},
        "mismatch",
    ),
    "of several arrays": (
        lambda x: (x**2, np.sum(x)),
        lambda x, dx: (2 * x * dx, dx.sum()),
        {"x": X},
        "agree",
    ),
}


@pytest.mark.parametrize("name", JVPS)
def test_jvps(name: str) -> None:
    function, jvp, at, verdict = JVPS[name]
    check = check_gradient(function, jvp_of=jvp, at=at)
    assert (check.verdict.word, list(check.variables)) == (verdict, ["jvp"])
    assert source(check) == ("differences" if "through C" in name else TRACED)


def test_a_jvp_by_some_arguments_takes_their_tangents_alone() -> None:
    check = check_gradient(
        lambda x, y: np.sum(x * y), jvp_of=lambda x, y, dy: x @ dy, at={"x": X, "y": X + 1}, wrt="y"
    )
    assert check.verdict.word == "agree"


def test_a_jvp_of_another_shape_is_an_error() -> None:
    with pytest.raises(
        GradcliError, match=r"the JVP has the shape \(\), the function's result \(3,\)"
    ):
        check_gradient(np.tanh, jvp_of=lambda x, dx: np.sum(dx), at={"x": X})


def test_a_wrong_jvp_is_told_as_one() -> None:
    with pytest.raises(GradientError) as caught:
        assert_gradient(lambda x: np.sum(x**2), jvp_of=lambda x, dx: x @ dx, at={"x": X})
    first, _, excerpt = str(caught.value).splitlines()[:3]
    assert first.startswith("mismatch: the JVP: computed ")
    assert first.endswith("it is half the derivative")
    assert excerpt.endswith("<lambda> with the JVP <lambda>")


needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")
needs_jax = pytest.mark.skipif(find_spec("jax") is None, reason="JAX is not installed")


@needs_torch
@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "agree"), (1.0001, "mismatch")])
def test_forward_mode_of_torch(factor: float, verdict: str) -> None:
    import torch

    class Exponential(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
        @staticmethod
        def forward(x: Any) -> Any:
            return x.exp()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_forward(output)

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            return factor * tangent * ctx.saved_tensors[0]

    check = check_gradient(
        lambda x: Exponential.apply(x) * x, by="torch", forward=True, at={"x": X}
    )
    assert (check.verdict.word, source(check)) == (verdict, TRACED)


@needs_jax
@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "agree"), (1.0001, "mismatch")])
def test_forward_mode_of_jax(factor: float, verdict: str) -> None:
    import jax
    import jax.numpy as jnp

    @jax.custom_jvp
    def exponential(x: Any) -> Any:
        return jnp.exp(x)

    exponential.defjvp(
        lambda at, tangents: (exponential(*at), factor * tangents[0] * exponential(*at))
    )
    check = check_gradient(lambda x: exponential(x) * x, by="jax", forward=True, at={"x": X})
    assert (check.verdict.word, source(check)) == (verdict, TRACED)


def test_a_jvp_that_keeps_its_first_answer_is_wrong() -> None:
    kept: list[Any] = []

    def jvp(x: Any, dx: Any) -> Any:
        kept.append(2 * x)
        return kept[0] @ dx

    assert (
        check_gradient(lambda x: np.sum(x**2), jvp_of=jvp, at={"x": X}).verdict.word == "mismatch"
    )


# -- adjoints
# -------------------------------------------------------------------------------------------------------------


def convolved(x: Any, kernel: Any) -> Any:
    return scipy.signal.convolve(np.asarray(x), kernel)


ADJOINTS: dict[str, tuple[Any, Any, dict[str, Any], Any, str, str]] = {
    "a matrix": (lambda x: M @ x, lambda y: M.T @ y, {"x": X}, None, "agree", TRACED),
    "off by a hundred-thousandth": (lambda x: M @ x, lambda y: M.T @ y * 1.00001, {"x": X}, None, "mismatch", TRACED),
    "C code": (convolved, lambda y, k: scipy.signal.correlate(y, k, "valid"), {"x": np.arange(5.0), "k": X}, "x", "agree", UNITS),
    "a kernel that is not reversed": (
        convolved, lambda y, k: scipy.signal.convolve(y, k, "valid"), {"x": np.arange(5.0), "k": X}, "x", "mismatch", UNITS
    ),
    "differences": (np.diff, lambda y: -np.diff(np.concatenate([[0.0], y, [0.0]])), {"x": X}, None, "agree", TRACED),
    "differences without their ends": (np.diff, lambda y: np.concatenate([y, [0.0]]), {"x": X}, None, "mismatch", TRACED),
}  # fmt: skip


@pytest.mark.parametrize(
    ("function", "adjoint", "at", "wrt", "verdict", "by"), ADJOINTS.values(), ids=ADJOINTS
)
def test_adjoints(
    function: Any, adjoint: Any, at: dict[str, Any], wrt: Any, verdict: str, by: str
) -> None:
    check = check_gradient(function, adjoint=adjoint, at=at, wrt=wrt)
    assert (check.verdict.word, source(check)) == (verdict, by)


@pytest.mark.parametrize(
    "function", [lambda x: M @ x + 1, lambda x: x**2 + x], ids=["shifted", "squared"]
)
def test_what_is_not_linear_has_no_adjoint(function: Any) -> None:
    with pytest.raises(
        GradcliError, match=r"the function is not linear: A\(2.5\*x - 1.25\*y\) is off"
    ):
        check_gradient(function, adjoint=lambda y: y, at={"x": X})


# -- solvers
# ----------------------------------------------------------------------------------------------------------------


def newton(t: Any) -> Any:
    x = np.ones_like(t)
    for _ in range(40):
        x = (x + t / x) / 2
    return x


def root(a: Any) -> Any:
    return scipy.optimize.root(lambda x: x**3 + x - a @ x - a[:, 0], np.zeros(2), tol=1e-13).x


def root_gradient(a: Any, seed: Any) -> Any:
    x = root(a)
    multipliers = np.linalg.solve((np.diag(3 * x**2 + 1) - a).T, seed)
    found = np.outer(multipliers, x)
    found[:, 0] += multipliers
    return found


def cosine(t: Any) -> float:
    return float(scipy.optimize.fixed_point(lambda x: np.cos(x) * t, 0.5, xtol=1e-13))


def cosine_slope(t: Any) -> float:
    return math.cos(cosine(t)) / (1 + t * math.sin(cosine(t)))


def cubic(x: Any, a: Any) -> Any:
    return x**3 + x - a @ x - a[:, 0]


T = np.array([2.0, 3.0])
SOLVERS: dict[str, tuple[Any, Any, dict[str, Any], dict[str, Any], str]] = {
    "a loop": (newton, lambda t: np.diag(0.5 / np.sqrt(t)), {"t": T}, {"implicit": lambda x, t: x**2 - t}, "agree"),
    "a loop, off": (newton, lambda t: np.diag(0.50001 / np.sqrt(t)), {"t": T}, {"implicit": lambda x, t: x**2 - t}, "mismatch"),
    "a solver": (root, root_gradient, {"a": A}, {"implicit": cubic}, "agree"),
    "a matrix that is not transposed": (root, lambda a, s: root_gradient(a, s).T, {"a": A}, {"implicit": cubic}, "mismatch"),
    "one step of the iteration": (
        root, lambda a, s: np.outer(s, root(a)) + np.outer(s, [1.0, 0.0]), {"a": A}, {"implicit": cubic}, "mismatch"
    ),
    "a fixed point": (cosine, cosine_slope, {"t": 0.8}, {"fixed_point": lambda x, t: np.cos(x) * t}, "agree"),
    "its map's partial alone": (cosine, lambda t: math.cos(cosine(t)), {"t": 0.8}, {"fixed_point": lambda x, t: np.cos(x) * t}, "mismatch"),
    "an equation in C": (
        math.sqrt, lambda t: 0.5 / math.sqrt(t), {"t": 2.0}, {"implicit": lambda x, t: math.pow(float(x), 2) - t}, "agree"
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("function", "gradient", "at", "equation", "verdict"),
    thinned(pytest.param(*case, id=name) for name, case in SOLVERS.items()),
)
def test_solvers(
    function: Any, gradient: Any, at: dict[str, Any], equation: dict[str, Any], verdict: str
) -> None:
    check = check_gradient(function, gradient, at=at, **equation)
    assert check.verdict.word == verdict
    assert source(check).startswith(f"{THEOREM}{TRACED}")


def test_what_is_not_solved_is_undetermined_with_the_size_of_its_residual() -> None:
    check = check_gradient(
        lambda t: (t + 1) / 2, lambda t: 0.5, implicit=lambda x, t: x**2 - t, at={"t": 2.0}
    )
    assert check.verdict.word == "undetermined"
    assert (
        check.reason
        == "the equation is not solved: its residual is 0.25, and a Newton step moves the "
        "solution by 0.056 of it"
    )


EQUATIONS: dict[str, tuple[Any, str]] = {
    "of two solutions that are one": (
        lambda x, t: (x - t) ** 2,
        "is singular: the solution is no function of the arguments",
    ),
    "of too many entries": (
        lambda x, t: np.stack([x, t]),
        "the residual has 2 entries, the solution 1: there must be one for each",
    ),
}


@pytest.mark.parametrize(("equation", "message"), EQUATIONS.values(), ids=EQUATIONS)
def test_equations_that_determine_nothing(equation: Any, message: str) -> None:
    with pytest.raises(GradcliError, match=message):
        check_gradient(lambda t: t * 1.0, lambda t: 1.0, implicit=equation, at={"t": 2.0})


# -- what goes together
# -----------------------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({}, "give one of gradient, jvp_of, adjoint and by"),
    "two claims": (
        {"gradient": np.cos, "jvp_of": np.cos},
        "give one of gradient, jvp_of, adjoint and by",
    ),
    "two equations": (
        {"gradient": np.cos, "implicit": np.cos, "fixed_point": np.cos},
        "implicit and fixed_point exclude each other",
    ),
    "a JVP of a solver": (
        {"jvp_of": np.cos, "implicit": np.cos},
        "jvp_of and implicit exclude each other",
    ),
    "an adjoint of second order": (
        {"adjoint": np.cos, "order": 2},
        "adjoint and order exclude each other",
    ),
    "forward without a framework": (
        {"gradient": np.cos, "forward": True},
        "forward goes with by torch or jax",
    ),
    "no function": ({"jvp_of": 3}, "the jvp_of must be a function, not int"),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_go_together_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(GradcliError, match=message):
        check_gradient(np.sin, at={"x": X}, **options)


MODULE = """
import numpy as np
def square(x): return np.sum(x**2)
def halved(x): return x
def half(x, dx): return x @ dx
def root(t): return np.sqrt(t)
def steep(t): return np.diag(0.6 / np.sqrt(t))
def map(x, t): return (x + t / x) / 2
"""
REPEATED = {
    "a gradient": "mine:square --gradient mine:halved --at x=randn(6) --points 3",
    "a JVP": "mine:square --jvp-of mine:half --at x=2,3",
    "a fixed point": "mine:root --gradient mine:steep --fixed-point mine:map --at t=2,3",
}


@pytest.mark.parametrize("words", REPEATED.values(), ids=REPEATED)
def test_a_failing_point_is_repeated_by_its_command(
    call_cli: Any, tmp_path: Path, words: str
) -> None:
    (tmp_path / "mine.py").write_text(MODULE, "utf-8")
    done = call_cli("check", "--function", *words.split())
    assert done.returncode == 1
    (line,) = [line for line in done.stdout.splitlines() if "repeat: " in line]
    again = call_cli(*shlex.split(line.partition("repeat: ")[2])[1:], "--format", "jsonl")
    assert json.loads(again.stdout.splitlines()[0])["check"]["verdict"] == "mismatch"
