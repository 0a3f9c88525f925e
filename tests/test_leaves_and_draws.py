"""What PyTorch's engine and generator do in an order of their own: when hooks of leaves run, and
which draws are whose.
"""

from __future__ import annotations

from typing import Any

import pytest

import gradcli as torch
import gradcli.autograd.forward_ad as fw
from gradcli.nn import functional


def test_a_leaf_has_its_turn_when_its_gradient_is_complete() -> None:
    x, w, b = (torch.rand(2, requires_grad=True) for _ in range(3))
    log: list[str] = []
    for name, leaf in (("x", x), ("w", w), ("b", b)):
        leaf.register_hook(lambda _, name=name: log.append(name))
        leaf.register_post_accumulate_grad_hook(lambda _, name=name: log.append(f"{name}+"))
    y = x * w
    z = y + b
    for name, tensor in (("y", y), ("z", z)):
        tensor.register_hook(lambda _, name=name: log.append(name))
    (z.sin() * w * b).sum().backward()
    assert log == ["z", "b", "b+", "y", "x", "x+", "w", "w+"]  # recorded from PyTorch 2.13


def test_memory_is_shared_by_views_and_not_by_copies() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    assert x.data_ptr() == x.view(-1).data_ptr() != x.clone().data_ptr()
    assert x[1].data_ptr() - x.data_ptr() == 3 * x.element_size()
    assert x.as_strided_((3, 2), (1, 3)).tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]


def test_what_is_detached_in_place_does_not_move() -> None:
    with fw.dual_level():
        dual = fw.make_dual(torch.ones(2), torch.ones(2)).clone()
        dual.detach_()
        assert fw.unpack_dual(dual * 2).tangent is None


def test_jvps_of_users_need_not_be_views() -> None:
    class Part(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x[:2]

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t[:2].clone().view(2) * 3

    with fw.dual_level():
        x = fw.make_dual(torch.ones(4), torch.arange(4.0))
        for given in (x, x.view(4)):
            tangent = fw.unpack_dual(Part.apply(given) * 2).tangent
            assert tangent is not None
            assert tangent.tolist() == [0.0, 6.0]


def test_what_is_unpacked_does_not_move() -> None:
    x = torch.tensor(3.0, requires_grad=True)
    with fw.dual_level():
        primal, tangent = fw.unpack_dual(fw.make_dual(x, torch.tensor(1.0)) ** 2)
        assert tangent is not None
        assert fw.unpack_dual(primal * 2).tangent is None
        again = fw.unpack_dual(fw.make_dual(primal, torch.tensor(5.0)) * x).tangent
        assert again is not None
        with pytest.raises(RuntimeError, match="already have a forward gradient"):
            fw.make_dual(fw.make_dual(x, torch.tensor(1.0)) * 2, torch.tensor(1.0))
    assert (
        again.item(),
        torch.autograd.grad(primal, x)[0].item(),
        torch.autograd.grad(tangent, x)[0].item(),
    ) == (15.0, 6.0, 2.0)


def test_gradients_inside_of_a_dual_level_move() -> None:
    x = torch.tensor(3.0, requires_grad=True)
    with fw.dual_level():
        dual = fw.make_dual(x, torch.tensor(1.0))
        (slope,) = torch.autograd.grad(dual**3, dual)
        tangent = fw.unpack_dual(slope).tangent
    assert tangent is not None
    assert tangent.item() == 18.0
    assert (
        torch.func.jvp(
            lambda x: torch.autograd.grad(x**3, x)[0], (x.detach(),), (torch.tensor(1.0),)
        )[1].item()
        == 18.0
    )


def test_softsign_is_straight_where_it_bends() -> None:
    """Its second derivative at 0 is the mean of both sides, as PyTorch has it."""
    x = torch.tensor([0.0, -0.0, 1.0, -1.0], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(functional.softsign(x).sum(), x, create_graph=True)
    assert slope.tolist() == [1.0, 1.0, 0.25, 0.25]
    assert torch.autograd.grad(slope.sum(), x)[0].tolist() == [0.0, 0.0, -0.25, 0.25]
