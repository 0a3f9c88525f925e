"""``gradcheck`` and ``gradgradcheck``: what they see through, and the mistakes that they find."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradcli as torch
from gradcli.autograd import gradcheck, gradgradcheck
from gradcli.check.gradcheck import GradcheckError


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
    return torch.autograd.functional.hessian(lambda a: (3 * a * a.exp()).sum(), x, create_graph=True)


@pytest.mark.parametrize("check", [gradcheck, gradgradcheck])
@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (of_a_hessian, [(2, 2)]), (through_views, [(4, 4), (2, 2)]), (lambda x: torch.matmul(x, x).tanh(), [(3, 3)]),
        (lambda x, y: torch.autograd.grad((x**3 * y).sum(), x, create_graph=True)[0], [(3,), (3,)]),
    ],
)  # fmt: skip
def test_traces_go_through_backward_passes_and_writes(check: Any, function: Any, shapes: Any) -> None:
    """Exactly, and so in a few calls: differences would take hundreds."""
    run, calls = counted(function)
    assert check(run, tuple([leaf(*shape) for shape in shapes]))
    assert calls[0] < 10


class Doubled(torch.autograd.Function):
    """2x, with mistakes on demand."""

    @staticmethod
    def forward(ctx: Any, x: Any, backward: Any, jvp: Any) -> Any:
        ctx.rules = backward, jvp
        return x * 2

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> Any:
        return ctx.rules[0](cotangent), None, None

    @staticmethod
    def jvp(ctx: Any, tangent: Any, *_: Any) -> Any:
        return ctx.rules[1](tangent)


def test_seeds_with_zeros() -> None:
    """A product with a seed moves by the seed where that is zero, too."""
    seed = torch.tensor([1.0, 0.0], dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x, v: torch.autograd.functional.vjp(lambda x: x * x, x, v, create_graph=True)[1], (leaf(2), seed))


def test_functions_of_tensors_under_other_names() -> None:
    """What is moved is the tensor itself, by which a function may know it."""
    x = leaf(2)
    assert gradcheck(lambda _: (x**3).detach() * 0 + x**3, x)
    with pytest.raises(GradcheckError):
        gradcheck(lambda _: Doubled.apply(x, wrong, right), x)
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
        (lambda x: Doubled.apply(x, wrong, right), {}, "Jacobian mismatch for output 0 with respect to input 0"),
        (lambda x: Doubled.apply(x, right, wrong), {"check_forward_ad": True}, "Jacobian computed with forward mode mismatch for output 0"),
        (lambda x: Doubled.apply(x, wrong, wrong), {"check_forward_ad": True, "check_backward_ad": False}, "forward mode mismatch"),
        (lambda x: Doubled.apply(x, other_each_time, right), {}, "Backward is not reentrant"),
        (lambda x: x.detach() * 2, {}, "Numerical gradient for function expected to be zero"),
        (lambda x: torch.tensor([x[0].item()]), {}, "Numerical gradient for function expected to be zero"),
        (lambda x: x * float(x.detach()[0]), {}, "Jacobian mismatch"),
    ],
)  # fmt: skip
def test_mistakes_are_found(function: Any, options: Any, said: str) -> None:
    with pytest.raises(GradcheckError, match=said):
        gradcheck(function, leaf(2), **options)
    assert not gradcheck(function, leaf(2), raise_exception=False, **options)


def test_what_is_right_passes() -> None:
    assert gradcheck(lambda x: Doubled.apply(x, right, right), leaf(2), check_forward_ad=True)
    assert gradcheck(lambda x: Doubled.apply(x, wrong, right), leaf(2), check_forward_ad=True, check_backward_ad=False)
    assert gradcheck(lambda x: torch.ones(2), leaf(2))
    assert gradcheck(lambda x: (), leaf(2))
    with pytest.raises(AssertionError, match="at least one of check_forward_ad or check_backward_ad"):
        gradcheck(right, leaf(2), check_backward_ad=False)
