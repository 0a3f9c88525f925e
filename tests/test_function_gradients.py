"""Gradients of functions in Python: what traces, what the frameworks say, structures, seeds,
points, and functions that misbehave.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib.util import find_spec
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.special
from recorded import read_lines

from gradcli import Check, GradcliError
from gradcli.functions.checking import Question
from gradcli.functions.points import smallest
from gradcli.functions.testing import Options
from gradcli.functions.tracing.exact import TRACED
from gradcli.testing import GradientError, assert_gradient, check_gradient, gradient_test

X, W = np.array([0.3, -1.2, 2.0]), np.array([0.5, 0.25, -1.0])
M = np.array([[1.0, 2.0, -0.5], [0.5, 3.0, 1.5]])
SPD = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])


class Case(NamedTuple):
    """A function of NumPy's, its gradient by hand, and its arguments; whether it traces."""

    function: Callable[..., Any]
    gradient: Callable[..., Any]
    at: dict[str, Any]
    wrt: list[str] | None = None
    traces: bool = True


def branch(x: Any) -> Any:
    return np.sum(x**2) if x[0] > 0 else np.sum(x)


def written_into(x: Any) -> Any:
    x[0] = 3 * x[1]
    return np.sum(x**2)


def loop(x: Any) -> Any:
    y = x
    for _ in range(5):
        y = np.sin(y) + x
    return np.sum(y)


def loop_slope(x: Any) -> Any:
    y, d = x, 1.0
    for _ in range(5):
        y, d = np.sin(y) + x, np.cos(y) * d + 1
    return d


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max())
    return e / e.sum()


def log_density(A: Any) -> Any:
    return 2 * np.sum(np.log(np.diag(np.linalg.cholesky(A))))


def partners(m: Any) -> Any:
    """Which entry of the raveled matrix each one is multiplied with by its reversed transpose."""
    places = np.arange(6).reshape(2, 3).T.reshape(6)[::-1]
    found = np.zeros(6)
    found[places] = m.ravel()
    return found


RIGHT = {
    "NumPy's methods": Case(lambda x: x.std() * x.size, lambda x: (x - x.mean()) / x.std(), {"x": X}),
    "methods of axes": Case(
        lambda m: (m.T.reshape(6)[::-1] * m.ravel()).sum(), lambda m: (m.T.reshape(6)[::-1] + partners(m)).reshape(2, 3), {"m": M}
    ),
    "a branch": Case(branch, lambda x: 2 * x, {"x": X}),
    "a loop": Case(loop, loop_slope, {"x": X}),
    "an argument written into": Case(written_into, lambda x: np.array([0.0, 18 * x[1] + 2 * x[1], 2 * x[2]]), {"x": X}),
    "a label that indexes": Case(
        lambda w, y: -np.log(softmax(w)[y]), lambda w, y: softmax(w) - np.eye(3)[y], {"w": W, "y": 2}, ["w"]
    ),
    "one triangle is read": Case(log_density, np.linalg.inv, {"A": SPD}),
    "a dictionary": Case(
        lambda p: np.sum(p["w"] ** 2) * p["b"], lambda p: {"w": 2 * p["w"] * p["b"], "b": np.sum(p["w"] ** 2)}, {"p": {"w": X, "b": 1.5}}
    ),
    "nested lists": Case(lambda p: np.sum(p[0][1] * p[1]), lambda p: [[0.0 * p[0][0], p[1]], p[0][1]], {"p": [[X, W], np.ones(3)]}),
    "an argument without use": Case(lambda x, y: np.sum(x), lambda x, y: {"x": np.ones(3), "y": 0.0}, {"x": X, "y": 2.0}),
    "float()": Case(lambda x: math.exp(float(x)), math.exp, {"x": 0.7}, traces=False),
    "C code": Case(lambda x: scipy.special.logsumexp(np.asarray(x)), lambda x: softmax(np.asarray(x)), {"x": X}, traces=False),
    "written into a new array": Case(
        lambda x: np.sum([x[i] ** 2 for i in range(3)]), lambda x: 2 * x, {"x": X}, traces=False
    ),
}  # fmt: skip


def checked(case: Case, gradient: Callable[..., Any]) -> Check:
    return Question(case.at, case.wrt or list(case.at)).check(case.function, gradient)[0]


@pytest.mark.parametrize("case", RIGHT.values(), ids=RIGHT)
def test_right_gradients_agree(case: Case) -> None:
    check = checked(case, case.gradient)
    assert check.verdict.word == "agree", check
    if case.traces:
        assert {part.decided_by for part in check.variables.values()} == {TRACED}, (
            "exactly, not by differences"
        )


def scaled(part: Any) -> Any:
    """A claim with every number off by two in a thousand, and zeros off by that."""
    if isinstance(part, dict):
        return {name: scaled(inner) for name, inner in part.items()}
    if isinstance(part, (list, tuple)):
        return type(part)(scaled(inner) for inner in part)
    return np.asarray(part) * 1.002 + 0.002


@pytest.mark.parametrize("case", RIGHT.values(), ids=RIGHT)
def test_wrong_gradients_are_mismatches(case: Case) -> None:
    check = checked(case, lambda *arguments: scaled(case.gradient(*arguments)))
    assert check.verdict.word == "mismatch"


def test_what_a_branch_was_decided_by_is_told() -> None:
    check = checked(RIGHT["a branch"], RIGHT["a branch"].gradient)
    assert check.reason is not None
    assert check.reason.startswith(
        "decided at the tested values: `x[0] > 0` at test_function_gradients.py:"
    )


def test_a_symmetric_claim_about_a_general_function_is_no_excuse() -> None:
    lower = Case(lambda A: np.sum(A * A), lambda A: 2 * (np.tril(A) + np.tril(A, -1)), {"A": SPD})
    assert checked(lower, lower.gradient).verdict.word == "mismatch"
    half = Case(log_density, lambda A: np.tril(np.linalg.inv(A)), {"A": SPD})
    assert checked(half, half.gradient).verdict.word == "mismatch"


def cosine(x: Any, y: Any) -> Any:
    return np.sum(x * y) / (np.sqrt(np.sum(x**2)) * np.sqrt(np.sum(y**2)))


def cosine_slopes(x: Any, y: Any) -> Any:
    a, b, dot = np.sqrt(np.sum(x**2)), np.sqrt(np.sum(y**2)), np.sum(x * y)
    return y / (a * b) - dot * x / (a**3 * b), x / (a * b) - dot * y / (b**3 * a)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("off", "verdicts"), [(0.0, ("agree", "undetermined")), (1e-4, ("mismatch",))]
)
def test_terms_that_cancel_leave_their_rounding(
    dtype: Any, off: float, verdicts: tuple[str, ...]
) -> None:
    """The angle between two numbers is zero whatever they are: the slope is the rounding of 25 -
    25, where it is not exactly nothing.
    """
    x, y = np.array([0.1], dtype), np.array([0.4], dtype)
    assert np.any(cosine_slopes(x, y)[0]) or dtype == np.float32
    check = check_gradient(
        cosine,
        lambda x, y: (cosine_slopes(x, y)[0] + dtype(off), cosine_slopes(x, y)[1]),
        at={"x": x, "y": y},
    )
    assert check.verdict.word in (verdicts if dtype == np.float32 else verdicts[:1])


# -- several results
# ----------------------------------------------------------------------------------------------------


def tanh_slopes(x: Any) -> Any:
    return 1 - np.tanh(x) ** 2


@pytest.mark.parametrize(
    ("gradient", "verdict"),
    [
        (lambda x, seed: tanh_slopes(x) * seed, "agree"),
        (lambda x: np.diag(tanh_slopes(x)), "agree"),
        (lambda x, seed: tanh_slopes(x), "mismatch"),
        (lambda x: np.diag(tanh_slopes(x)) + np.eye(3, k=1) * 1e-3, "mismatch"),
    ],
    ids=[
        "a product",
        "a Jacobian",
        "a product without its seed",
        "a Jacobian off beside its diagonal",
    ],
)
def test_functions_of_several_results(gradient: Any, verdict: str) -> None:
    check, value = Question({"x": X}, ["x"]).check(np.tanh, gradient)
    assert check.verdict.word == verdict
    assert value.tolist() == np.tanh(X).tolist()


def test_a_seed_is_the_one_that_is_given() -> None:
    wanted = Question({"x": X}, ["x"], seed=[1.0, 0.0, 2.0])
    assert (
        wanted.check(np.tanh, lambda x, seed: tanh_slopes(x) * np.array([1.0, 0.0, 2.0]))[
            0
        ].verdict.word
        == "agree"
    )
    with pytest.raises(GradcliError, match=r"the seed has the shape \(2,\), the result \(3,\)"):
        Question({"x": X}, ["x"], seed=[1.0, 0.0]).check(np.tanh, lambda x, seed: x)


# -- what cannot be decided about
# -----------------------------------------------------------------------------------------

ERRORS: dict[str, tuple[Any, Any, str]] = {
    "None": (lambda x: None, lambda x: x, "the function returns None"),
    "text": (lambda x: "abc", lambda x: x, "the function must return real numbers"),
    "no gradient": (np.sum, lambda x: None, "the gradient is None"),
    "another shape": (
        np.sum,
        lambda x: np.ones(2),
        r"the gradient of 'x' has the shape \(2,\), its argument \(3,\)",
    ),
    "another name": (np.sum, lambda x: {"y": x}, "the gradient lacks 'x'"),
    "masked entries": (
        np.sum,
        lambda x: np.ma.array(np.ones_like(x), mask=x > 0),
        "the gradient of 'x' has masked entries",
    ),
    "a masked Jacobian": (
        lambda x: M @ x,
        lambda x: np.ma.array(M, mask=M > 0),
        "the Jacobian has masked entries",
    ),
    "several results": (
        lambda x: (np.sum(x), x),
        lambda x: x,
        "the function has 2 results, and the gradient takes no vectors for them",
    ),
    "no function": (None, lambda x: x, "the function must be a function, not NoneType"),
    "a number for a gradient": (np.sum, 3, "the gradient must be a function, not int"),
    "a transposed Jacobian": (
        lambda x: M @ x,
        lambda x: M.T,
        r"a Jacobian of shape \(3, 2\) does not begin with the result's shape \(2,\)",
    ),
}


OPTIONS = [
    pytest.param(row["options"], row["message"], id=row["about"])
    for row in read_lines("options_of_checks.jsonl")
]
MASKED = {"at": {"x": np.ma.array(X, mask=X > 0)}}, "'x' has masked entries"


@pytest.mark.parametrize(("options", "message"), [*OPTIONS, MASKED])
def test_options_are_refused_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(GradcliError, match=message):
        check_gradient(lambda x: np.sum(x**2), lambda x: 2 * x, **{"at": {"x": X}, **options})


@pytest.mark.parametrize("points", [1, 5])
def test_an_interrupt_ends_a_check(points: int) -> None:
    def function(x: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check_gradient(function, lambda x: x, at={"x": "randn(2)"}, points=points)


@pytest.mark.parametrize(("function", "gradient", "message"), ERRORS.values(), ids=ERRORS)
def test_what_functions_may_not_give(function: Any, gradient: Any, message: str) -> None:
    with pytest.raises(GradcliError, match=message):
        check_gradient(function, gradient, at={"x": X})


class Counter:
    """A function whose gradient keeps its first answer."""

    def __init__(self) -> None:
        self.kept: Any = None

    def gradient(self, x: Any) -> Any:
        if self.kept is None:
            self.kept = 2 * x
        return self.kept


class Layer:
    """A layer whose backward uses what its forward has kept, as it may."""

    def forward(self, x: Any) -> Any:
        self.x = np.array(x)
        return np.sum(x**2)

    def backward(self, x: Any) -> Any:
        return 2 * self.x


def test_state_of_a_gradient() -> None:
    assert (
        check_gradient(lambda x: np.sum(x**2), Counter().gradient, at={"x": X}).verdict.word
        == "mismatch"
    ), "stale"
    layer = Layer()
    assert check_gradient(layer.forward, layer.backward, at={"x": X}).verdict.word == "agree"


def quartic(x: Any) -> Any:
    return np.sum(x**4) + x[0] * x[1]


def bilinear(x: Any, y: Any) -> Any:
    return np.sum(x * y**2)


DIAGONAL, MIXED = np.diag(12 * X**2), np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 0]])
SECOND: dict[str, tuple[Any, Any, dict[str, Any], str]] = {
    "a Hessian": (quartic, lambda x: DIAGONAL + MIXED, {"x": X}, "agree"),
    "a missing mixed term": (quartic, lambda x: DIAGONAL, {"x": X}, "mismatch"),
    "blocks in order": (
        bilinear, lambda x, y: ((np.zeros((3, 3)), np.diag(2 * y)), (np.diag(2 * y), np.diag(2 * x))), {"x": X, "y": W}, "agree"
    ),
    "blocks by names": (
        bilinear,
        lambda x, y: {"x": {"x": np.zeros((3, 3)), "y": np.diag(2 * y)}, "y": {"x": np.diag(2 * y), "y": np.diag(x)}},
        {"x": X, "y": W},
        "mismatch",
    ),
    "of a number": (lambda x: x**3, lambda x: 6 * x, {"x": 1.5}, "agree"),
}  # fmt: skip


@pytest.mark.parametrize(("function", "hessian", "at", "verdict"), SECOND.values(), ids=SECOND)
def test_second_derivatives(function: Any, hessian: Any, at: dict[str, Any], verdict: str) -> None:
    assert check_gradient(function, hessian, at=at, order=2).verdict.word == verdict


def test_what_has_no_second_derivative_here() -> None:
    with pytest.raises(
        GradcliError, match="second derivatives are checked of functions that can be traced"
    ):
        check_gradient(lambda x: math.exp(float(x)), math.exp, at={"x": 0.5}, order=2)
    with pytest.raises(GradcliError, match="second derivatives are of a number"):
        check_gradient(np.tanh, lambda x: x, at={"x": X}, order=2)
    with pytest.raises(GradcliError, match="by 'x' and 'x' has the shape"):
        check_gradient(quartic, lambda x: x, at={"x": X}, order=2)


# -- frameworks
# -------------------------------------------------------------------------------------------------------------

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")
needs_jax = pytest.mark.skipif(find_spec("jax") is None, reason="JAX is not installed")
needs_autograd = pytest.mark.skipif(
    find_spec("autograd") is None, reason="autograd is not installed"
)


@needs_torch
@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "agree"), (1.0001, "mismatch")])
def test_custom_functions_of_torch(factor: float, verdict: str) -> None:
    import torch

    class Forward:
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x.detach().exp()
            ctx.save_for_backward(y)
            return y

    def softplus(x: Any) -> Any:
        class Exponential(Forward, torch.autograd.Function):  # type: ignore[misc, unused-ignore]
            @staticmethod
            def backward(ctx: Any, seed: Any) -> Any:
                return factor * seed * ctx.saved_tensors[0]

        return torch.nn.functional.softplus(Exponential.apply(x))

    check = check_gradient(softplus, by="torch", at={"x": X})
    assert check.verdict.word == verdict
    assert check.variables["x"].decided_by == TRACED


@needs_torch
def test_a_backward_that_is_right_once() -> None:
    import torch

    class Cube(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, seed: Any) -> Any:
            return seed * 3 * ctx.saved_tensors[0].detach() ** 2

    verdicts = [
        check_gradient(
            lambda x: Cube.apply(x).sum(), by="torch", at={"x": X}, order=order
        ).verdict.word
        for order in (1, 2)
    ]
    assert verdicts == ["agree", "mismatch"]


@needs_jax
@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "agree"), (1.0001, "mismatch")])
def test_custom_rules_of_jax(factor: float, verdict: str) -> None:
    import jax
    import jax.numpy as jnp

    @jax.custom_vjp
    def softplus(x: Any) -> Any:
        return jnp.log1p(jnp.exp(x))

    softplus.defvjp(
        lambda x: (softplus(x), x), lambda x, seed: (factor * seed * jax.nn.sigmoid(x),)
    )
    check = check_gradient(lambda x: jnp.sum(softplus(x)[jnp.array([0, 2])]), by="jax", at={"x": X})
    assert (check.verdict.word, check.variables["x"].decided_by) == (verdict, TRACED)


@needs_jax
def test_a_loop_of_jax_is_followed() -> None:
    import jax
    import jax.numpy as jnp

    @jax.custom_vjp
    def halved(x: Any) -> Any:
        return jax.lax.while_loop(lambda y: jnp.sum(y) > 1.0, lambda y: y / 2, x)

    halved.defvjp(lambda x: (halved(x), None), lambda _, seed: (seed / 4,))
    check = check_gradient(
        lambda x: jnp.sum(halved(x) ** 2), by="jax", at={"x": np.array([1.0, 2.0, 0.5])}
    )
    assert (check.verdict.word, check.variables["x"].decided_by) == ("agree", TRACED)
    assert str(check.reason).startswith(
        "decided at the tested values: `jnp.sum(y) > 1.0` at test_function_gradients.py:"
    )


@needs_jax
def test_the_precision_of_jax_is_left_as_it_was() -> None:
    import jax
    import jax.numpy as jnp

    before = jax.config.jax_enable_x64
    assert check_gradient(lambda x: jnp.sum(x**2), by="jax", at={"x": X}).verdict.word == "agree"
    assert jax.config.jax_enable_x64 == before


@needs_autograd
@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "agree"), (1.0001, "mismatch")])
def test_primitives_of_autograd(factor: float, verdict: str) -> None:
    import autograd.numpy as anp
    from autograd.extend import defvjp, primitive

    @primitive
    def total(x: Any) -> Any:
        return np.log(np.sum(np.exp(x)))

    defvjp(total, lambda out, x: lambda seed: factor * seed * np.exp(x - out))
    check = check_gradient(lambda x: total(x) * anp.sum(x**2), by="autograd", at={"x": X})
    assert (check.verdict.word, check.variables["x"].decided_by) == (verdict, TRACED)


# -- points, and tests
# ------------------------------------------------------------------------------------------------------


def test_the_smallest_failing_case_is_short_and_round() -> None:
    found = smallest(
        {"x": np.array([0.123, 4.567, 8.9]), "n": 3}, lambda at: bool((at["x"] < 5).any())
    )
    assert {"x": found["x"].tolist(), "n": found["n"]} == {"x": [0.0], "n": 3}


def test_points_outside_of_the_domain_are_passed_over() -> None:
    def logarithm(x: Any) -> Any:
        if (np.asarray(x) <= 0).any():
            raise ValueError("a logarithm of nothing")
        return np.sum(np.log(x))

    assert (
        check_gradient(logarithm, lambda x: 1 / x, at={"x": "randn(2)"}, points=5).verdict.word
        == "agree"
    )
    assert (
        check_gradient(logarithm, lambda x: 1 / x, at={"x": "randn(12)"}, points=5).verdict.word
        == "agree"
    ), "all 12 are positive"
    with pytest.raises(
        GradcliError,
        match="a value at none of 30 points that were drawn: ValueError: a logarithm of nothing",
    ):
        check_gradient(logarithm, lambda x: 1 / x, at={"x": "-rand(2) - 1"}, points=3)


def test_a_point_elsewhere_might_have_been_drawn() -> None:
    seen: list[float] = []

    def below_half(x: Any) -> Any:
        seen.extend(np.ravel(np.asarray(x)).tolist() if isinstance(x, np.ndarray) else [])
        return np.sum(np.arcsin(2 * x))

    assert (
        check_gradient(
            below_half, lambda x: 2 / np.sqrt(1 - 4 * x**2), at={"x": "rand(6)"}, points=3
        ).verdict.word
        == "agree"
    )
    assert 0 <= min(seen) <= max(seen) <= 1.01, (
        "the function is asked at numbers such as rand gives"
    )


def test_a_gradient_that_raises_at_some_points_is_not_passed_over() -> None:
    """The function has values there: nothing excuses its gradient."""

    def slope(x: Any) -> Any:
        if x[0] < 0:
            raise ValueError("no rule for what is negative")
        return 2 * x

    with pytest.raises(GradcliError, match="no rule for what is negative"):
        check_gradient(lambda x: np.sum(x**2), slope, at={"x": "randn(2)"}, points=8)


def test_a_failing_assertion_reads_as_the_report_does() -> None:
    assert_gradient(lambda x: np.sum(x**2), lambda x: 2 * x, at={"x": "randn(4)"}, points=4)
    with pytest.raises(GradientError) as caught:
        assert_gradient(log_density, lambda A: 2 * np.linalg.inv(A), at={"A": SPD})
    assert "mismatch: d/dA" in str(caught.value)
    assert "it is twice the derivative" in str(caught.value)
    with pytest.raises(TypeError, match="unexpected keyword argument 'point'"):
        assert_gradient(np.sum, np.ones_like, at={"x": X}, point=3)


def test_options_stand_in_both_signatures() -> None:
    given = {
        name
        for name, parameter in signature(check_gradient).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    assert set(Options.__annotations__) == given


def test_frameworks_are_named_in_the_words_of_python() -> None:
    with pytest.raises(
        GradcliError, match=r"^by must be one of torch, jax, autograd, not 'torhc'$"
    ):
        check_gradient(np.sum, by="torhc", at={"x": X})


@gradient_test(lambda x: 3 * x**2, at={"x": lambda random: random.uniform(1, 2, size=3)}, points=3)
def test_made_of_a_function(x: Any) -> Any:
    return np.sum(x**3)


test_made_of_a_loop_in_c = gradient_test(np.cos, at={"x": 1.0})(np.sin)


def test_a_wrong_gradient_is_told_where_its_function_stands() -> None:
    def loss(x: Any) -> Any:
        return np.sum(x**2)

    with pytest.raises(GradientError) as caught:
        assert_gradient(loss, lambda x: x, at={"x": [1.0]})
    line = loss.__code__.co_firstlineno
    place, excerpt = str(caught.value).splitlines()[1:3]
    assert place.endswith(f"test_function_gradients.py:{line}:1 (loss)")
    assert excerpt == f"{line} | loss with the gradient <lambda>"


def test_the_fixture(check_gradient: Any) -> None:
    check_gradient(lambda x: np.sum(x**2), lambda x: 2 * x, at={"x": [1.0, 2.0]})
    with pytest.raises(AssertionError, match="mismatch"):
        check_gradient(lambda x: np.sum(x**2), lambda x: x, at={"x": [1.0, 2.0]})
