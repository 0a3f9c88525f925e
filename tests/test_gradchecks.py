"""``gradcheck`` and ``gradgradcheck``: what they see through, and the mistakes that they find."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradcli as torch
from gradcli.autograd import gradcheck, gradgradcheck
from gradcli.functions.gradchecks import GradcheckError


def leaf(*shape: int) -> Any:
    return torch.tensor(np.random.default_rng(0).uniform(0.5, 1.5, shape), requires_grad=True)


def counted(function: Callable[..., Any]) -> tuple[Callable[..., Any], list[int]]:
    """The function, and how often it has been called."""
    calls = [0]

    def run(*arguments: Any) -> Any:
        calls[0] += 1
        return function(*arguments)

    return run, calls


def through_views(root: Any, b: Any) -> Any:
    x = root.clone()
    x.narrow(1, 2, 2).narrow(0, 1, 2).mul_(b)
    x.narrow(1, 0, 2).narrow(0, 1, 2).mul_(b)
    return x


def of_a_hessian(x: Any) -> Any:
    return torch.autograd.functional.hessian(
        lambda a: (3 * a * a.exp()).sum(), x, create_graph=True
    )


@pytest.mark.parametrize("check", [gradcheck, gradgradcheck])
@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (of_a_hessian, [(2, 2)]), (through_views, [(4, 4), (2, 2)]), (lambda x: torch.matmul(x, x).tanh(), [(3, 3)]),
        (lambda x, y: torch.autograd.grad((x**3 * y).sum(), x, create_graph=True)[0], [(3,), (3,)]),
    ],
)  # fmt: skip
def test_traces_go_through_backward_passes_and_writes(
    check: Any, function: Any, shapes: Any
) -> None:
    """Exactly, and so in a few calls: differences would take hundreds."""
    run, calls = counted(function)
    assert check(run, tuple([leaf(*shape) for shape in shapes]))
    assert calls[0] < 20


class Doubled(torch.autograd.Function):
    """2x, with mistakes on demand."""

    @staticmethod
    def forward(ctx: Any, x: Any, backward: Any) -> Any:
        ctx.rule = backward
        return x * 2

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> Any:
        return ctx.rule(cotangent), None


def test_seeds_with_zeros() -> None:
    """A product with a seed moves by the seed where that is zero, too."""
    seed = torch.tensor([1.0, 0.0], dtype=torch.float64, requires_grad=True)
    assert gradcheck(
        lambda x, v: torch.autograd.functional.vjp(lambda x: x * x, x, v, create_graph=True)[1],
        (leaf(2), seed),
    )


def test_functions_of_tensors_under_other_names() -> None:
    """What is moved is the tensor itself, by which a function may know it."""
    x = leaf(2)
    assert gradcheck(lambda _: (x**3).detach() * 0 + x**3, x)
    with pytest.raises(GradcheckError):
        gradcheck(lambda _: Doubled.apply(x, wrong), x)
    assert x.tolist() == leaf(2).tolist()


def right(x: Any) -> Any:
    return x * 2


def wrong(x: Any) -> Any:
    return x * 3


def other_each_time(x: Any) -> Any:
    return x * 2 + torch.rand(()).to(x.dtype)


@pytest.mark.parametrize(
    ("function", "options", "said"),
    [
        (lambda x: Doubled.apply(x, wrong), {}, "Jacobian mismatch for output 0 with respect to "
        "input 0"),
        (lambda x: Doubled.apply(x, other_each_time), {}, "Backward is not reentrant"),
        (lambda x: x.detach() * 2, {}, "Numerical gradient for function expected to be zero"),
        (lambda x: torch.tensor([x[0].item()]), {}, "Numerical gradient for function expected to "
        "be zero"),
        (lambda x: x * float(x.detach()[0]), {}, "Jacobian mismatch"),
    ],
)  # fmt: skip
def test_mistakes_are_found(function: Any, options: Any, said: str) -> None:
    with pytest.raises(GradcheckError, match=said):
        gradcheck(function, leaf(2), **options)
    assert not gradcheck(function, leaf(2), raise_exception=False, **options)


def test_what_is_right_passes() -> None:
    assert gradcheck(lambda x: Doubled.apply(x, right), leaf(2))
    assert gradcheck(lambda x: torch.ones(2), leaf(2))
    assert gradcheck(lambda x: (), leaf(2))


# -- options, with PyTorch's verdicts and sentences, recorded from its version 2.13
# ------------------------------


def drifting(share: float) -> Callable[[Any], Any]:
    """A hook that makes each gradient a little larger than the one before."""
    calls = itertools.count()
    return lambda g: g if g is None else g * (1 + share * next(calls))


def hooked(hook: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The identity, whose gradient a hook makes another one of."""

    def function(x: Any) -> Any:
        y = x.clone()
        y.register_hook(hook)
        return y

    return function


def own(
    backward: Callable[..., Any], *, factor: float = 2.0, materialize: bool = False
) -> Callable[..., Any]:
    """2x for each input, with a backward pass that takes gradients that are not there as None."""

    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *xs: Any) -> Any:
            ctx.set_materialize_grads(materialize)
            results = tuple([x * factor for x in xs])
            return results if len(xs) > 1 else results[0]

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            return backward(*cotangents)

    return Own.apply


def refusing(*cotangents: Any) -> Any:
    if None in cotangents:
        raise RuntimeError("there is none")
    return tuple([2 * c for c in cotangents])


def out_of_nothing(cotangent: Any) -> Any:
    return torch.ones(2, dtype=torch.float64) if cotangent is None else 2 * cotangent


def to_numpy(cotangent: Any) -> Any:
    return torch.tensor(2 * cotangent.detach().numpy())


# function, inputs, options, what PyTorch says, None for True
OPTIONS: dict[str, tuple[Any, int, dict[str, Any], str | None]] = {
    "a wrong gradient": (hooked(lambda g: g + 1e-2), 1, {}, "Jacobian mismatch for output 0 with "
    "respect to input 0"),
    "in fast mode": (hooked(lambda g: g + 1e-2), 1, {"fast_mode": True}, "Jacobian mismatch for "
    "output 0 with respect to input 0"),
    "within atol": (hooked(lambda g: g + 1e-2), 1, {"atol": 0.1}, "backward not multiplied by "
    "grad_output"),
    "within atol, fast": (hooked(lambda g: g + 1e-2), 1, {"atol": 0.1, "fast_mode": True}, "backward not multiplied by grad_output"),
    "beyond atol": (hooked(lambda g: g + 1e-2), 1, {"atol": 1e-3}, "Jacobian mismatch for output "
    "0 with respect to input 0"),
    "nearly zero": (hooked(lambda g: g if g is None else g + 1e-12), 1, {"atol": 0.1}, "backward "
    "not multiplied by grad_output"),
    "within rtol": (hooked(lambda g: g if g is None else g * 1.0001), 1, {"rtol": 1e-3}, None),
    "beyond rtol": (hooked(lambda g: g if g is None else g * 1.01), 1, {"rtol": 1e-3}, "Jacobian "
    "mismatch"),
    "untraceable, within rtol": (own(to_numpy, factor=2.001, materialize=True), 1, {"rtol": 1e-2, "eps": 1e-4}, None),
    "untraceable, beyond rtol": (own(to_numpy, factor=2.1, materialize=True), 1, {"rtol": 1e-2, "eps": 1e-4}, "Jacobian mismatch"),
    "no gradient, not asked": (own(refusing), 1, {}, None),
    "out of nothing, not asked": (own(out_of_nothing), 1, {}, None),
    "zeros": (own(refusing, materialize=True), 2, {}, None),
    "each time another": (hooked(drifting(1e-12)), 1, {}, "Backward is not reentrant"),
    "nearly the same": (hooked(drifting(1e-12)), 1, {"nondet_tol": 1e-5}, None),
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
def test_options_are_used(name: str) -> None:
    function, count, options, said = OPTIONS[name]
    inputs = tuple(leaf(2) for _ in range(count))
    if said is None:
        assert gradcheck(function, inputs, **options)
        return
    with pytest.raises(GradcheckError) as raised:
        gradcheck(function, inputs, **options)
    assert str(raised.value).startswith(said)
    assert gradcheck(function, inputs, raise_exception=False, **options) is False


def depending_on_values(x: Any) -> Any:
    return torch.cat([x, x]) if bool((x >= 1).all()) else x


def dtype_depending_on_values(x: Any) -> Any:
    return x.to(torch.float32) if bool((x >= 1).all()) else x


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda x: gradcheck(right, x.detach(), raise_exception=False), ValueError,
         "gradcheck expects at least one input tensor to require gradient, but none of them have "
         "requires_grad=True."),
        (lambda x: gradcheck(right, x.sum().expand(2, 2), raise_exception=False), RuntimeError,
         "The 0th input has a dimension with stride 0"),
        (lambda x: gradcheck(depending_on_values, torch.ones(1, dtype=torch.float64, requires_grad=True)), AssertionError,
         "Expected `func` to return outputs with the same shape when inputs are perturbed"),
        (lambda x: gradcheck(dtype_depending_on_values, torch.ones(1, dtype=torch.float64, requires_grad=True)), AssertionError,
         "Expected `func` to return outputs with the same dtype when inputs are perturbed"),
        (lambda x: gradcheck(right, x, tolerance=1.0), TypeError, "gradcheck() got an unexpected "
        "keyword argument 'tolerance'"),
    ],
)  # fmt: skip
def test_what_cannot_be_checked_is_refused(call: Any, kind: Any, said: str) -> None:
    with pytest.raises(kind) as raised:
        call(leaf(2))
    assert str(raised.value).startswith(said)


def test_warnings() -> None:
    with pytest.warns(
        UserWarning,
        match="Input #0 requires gradient and is not a double precision floating point or complex",
    ):
        assert gradcheck(right, torch.ones(2, requires_grad=True))


class Squared(torch.autograd.Function):
    """x², whose gradient cannot be differentiated again, for the graph has lost it."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> Any:
        return (2 * cotangent * ctx.saved_tensors[0]).detach()


@pytest.mark.parametrize(
    ("function", "options", "said"),
    [
        (Squared.apply, {}, "Numerical gradient for function expected to be zero"),
        (lambda x: Squared.apply(x) + x, {}, "Jacobian mismatch"),
        (lambda x: Squared.apply(x) * x, {}, "Jacobian mismatch"),
        (lambda x: x**3, {}, None),
        (lambda x: x**3, {"grad_outputs": torch.ones(2, dtype=torch.float64)}, None),
    ],
)  # fmt: skip
def test_second_derivatives(function: Any, options: Any, said: str | None) -> None:
    if said is None:
        assert gradgradcheck(function, leaf(2), **options)
        return
    with pytest.raises(GradcheckError, match=said):
        gradgradcheck(function, leaf(2), **options)


# -- planted mistakes, in functions that whole arrays decide
# ------------------------------------------------------

MISTAKES = {
    "in the last entry": lambda g: (
        g * torch.tensor([1.0, 1.0, 1.0, 1.0 + 1e-9], dtype=torch.float64)
    ),
    "in the first entry": lambda g: (
        g * torch.tensor([1.0 - 1e-9, 1.0, 1.0, 1.0], dtype=torch.float64)
    ),
    "in sign": lambda g: g * torch.tensor([1.0, 1.0, -1.0, 1.0], dtype=torch.float64),
    "in order": lambda g: g.flip(0),
    "by a little everywhere": lambda g: g + 1e-10,
}
FUNCTIONS: dict[str, Any] = {
    "sum of sines": lambda x: x.sin().sum(),
    "softmax": lambda x: torch.softmax(x, 0),
    "normalized": lambda x: (x - x.mean()) / x.std(),
    "solved": lambda x: torch.linalg.solve(
        torch.outer(x, x) + 2 * torch.eye(4, dtype=torch.float64), x
    ),
    "written in place": lambda x: x.clone().mul_(x[0]).exp(),
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_small_mistakes_are_found(name: str, mistake: str) -> None:
    def planted(x: Any) -> Any:
        y = x.clone()
        y.register_hook(lambda g: g if g is None else MISTAKES[mistake](g))
        return FUNCTIONS[name](y)

    assert gradcheck(FUNCTIONS[name], leaf(4))
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        gradcheck(planted, leaf(4))


def cube(wrong: Any) -> Any:
    """x**3 entry by entry, with the backward pass that is given."""

    class Cube(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, cotangent: Any) -> Any:
            (x,) = ctx.saved_tensors
            return cotangent * wrong(x)

    return Cube.apply


MESSAGES = {  # the Jacobian of x**3 at [1, 2] is diag(3, 12)
    "everywhere": (
        lambda x: 2 * x**2,
        "output entry [0], input entry [0]: 2.0 where the derivative is 3.0 (exactly)",
    ),
    "in one entry": (
        lambda x: 3 * x**2 + (x > 1.5),
        "output entry [1], input entry [1]: 13.0 where the derivative is 12.0 (exactly)",
    ),
}


@pytest.mark.parametrize("mistake", MESSAGES)
def test_gradcheck_names_an_entry_of_the_jacobian(mistake: str) -> None:
    wrong, message = MESSAGES[mistake]
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    with pytest.raises(RuntimeError) as raised:
        gradcheck(cube(wrong), (x,))
    assert str(raised.value) == f"Jacobian mismatch for output 0 with respect to input 0, {message}"


def test_gradcheck_names_an_entry_of_a_scalar_function() -> None:
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    with pytest.raises(RuntimeError) as raised:
        gradcheck(lambda x: (cube(lambda x: 3 * x**2 + (x > 1.5))(x) * x).sum(), (x,))
    message = (
        "Jacobian mismatch for output 0 with respect to input 0, input entry [1]: 34.0 "
        "where the derivative is 32.0 (exactly)"
    )
    assert str(raised.value) == message
