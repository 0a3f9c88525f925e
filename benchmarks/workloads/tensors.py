"""T12: what people do with tensors around a gradient: functions of their own, checks of gradients,
Jacobians and Hessians.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from benchmarks.contest import Goal, InProcess, Run, Setting, Workload

_SIDE = 30  # entries of what Jacobians and Hessians are of

Shapes = tuple[tuple[int, ...], ...]
Work = Callable[[Any, list[Any]], Any]  # of a library and its leaves


def _leaves(torch: Any, shapes: Shapes) -> list[Any]:
    import numpy as np

    random = np.random.default_rng(12)
    return [
        torch.tensor(
            random.uniform(0.5, 1.5, shape).tolist(), dtype=torch.float64, requires_grad=True
        )
        for shape in shapes
    ]


def _product(torch: Any) -> Any:
    """x y + z by a rule of one's own."""

    class Product(torch.autograd.Function):  # type: ignore[misc]  # a class that is found while this runs
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any, z: Any) -> Any:
            ctx.save_for_backward(x, y)
            return x * y + z

        @staticmethod
        def backward(ctx: Any, cotangent: Any) -> Any:
            x, y = ctx.saved_tensors
            return cotangent * y, cotangent * x, cotangent

    return Product.apply


def _of_rule(torch: Any, leaves: list[Any]) -> Any:
    apply = _product(torch)

    def run() -> dict[str, Any]:
        for x in leaves:
            x.grad = None
        value = apply(*leaves).sum()
        value.backward()
        return {"value": value.detach(), **{f"x{i}": x.grad for i, x in enumerate(leaves)}}

    return run


def _mixed_in_place(torch: Any, x: Any) -> Any:
    y = x.clone()
    y[0].mul_(x[1])
    y.diagonal().add_(1)
    return y


CHECKED: dict[str, tuple[Callable[..., Any], Shapes]] = {  # of the library, and then of its tensors
    "x @ y": (lambda torch, x, y: x @ y, ((3, 3), (3, 3))),
    "softmax": (lambda torch, x: torch.softmax(x, -1), ((3, 4),)),
    "layer_norm": (lambda torch, x: torch.nn.functional.layer_norm(x, (4,)), ((3, 4),)),
    "a solution": (
        lambda torch, x, y: torch.linalg.solve(x @ x.T + 3 * torch.eye(3, dtype=torch.float64), y),
        ((3, 3), (3,)),
    ),
    "conv1d": (lambda torch, x, w: torch.nn.functional.conv1d(x, w), ((1, 2, 6), (2, 2, 3))),
    "two layers": (lambda torch, x, w, v: ((x @ w).tanh() @ v).sum(), ((4, 3), (3, 5), (5, 2))),
    "writing in place": (_mixed_in_place, ((3, 3),)),
    "a rule of one's own": (lambda torch, x, y, z: _product(torch)(x, y, z), ((3,), (3,), (3,))),
}


def _checking(name: str, check: str) -> tuple[Work, Shapes]:
    function, shapes = CHECKED[name]

    def prepared(torch: Any, leaves: list[Any]) -> Run:
        checked = getattr(torch.autograd, check)

        def run() -> dict[str, Any]:
            return {"value": float(checked(lambda *xs: function(torch, *xs), tuple(leaves)))}

        return run

    return prepared, shapes


def _energy(x: Any, w: Any) -> Any:
    return ((w @ x).tanh() ** 2).sum()


DERIVED: dict[str, Callable[[Any, Any, Any], Any]] = {  # of the library, and of two of its tensors
    "jacobian": lambda torch, x, w: torch.autograd.functional.jacobian(lambda x: (w @ x).tanh(), x),
    "hessian": lambda torch, x, w: torch.autograd.functional.hessian(lambda x: _energy(x, w), x),
    "jacobian, vectorized": lambda torch, x, w: torch.autograd.functional.jacobian(
        lambda x: (w @ x).tanh(), x, vectorize=True
    ),
    "hessian, vectorized": lambda torch, x, w: torch.autograd.functional.hessian(
        lambda x: _energy(x, w), x, vectorize=True
    ),
    "func.jacrev": lambda torch, x, w: torch.func.jacrev(lambda x: (w @ x).tanh())(x),
    "func.jacfwd": lambda torch, x, w: torch.func.jacfwd(lambda x: (w @ x).tanh())(x),
    "func.hessian": lambda torch, x, w: torch.func.hessian(lambda x: _energy(x, w))(x),
}


def _deriving(name: str) -> tuple[Work, Shapes]:
    def prepared(torch: Any, leaves: list[Any]) -> Run:
        x, w = (leaf.detach() for leaf in leaves)
        return lambda: {"value": DERIVED[name](torch, x, w / _SIDE).detach()}

    return prepared, ((_SIDE,), (_SIDE, _SIDE))


def _works() -> dict[str, tuple[Work, Shapes]]:
    """What is measured, by its title."""
    works: dict[str, tuple[Work, Shapes]] = {
        "Function.apply of three tensors, and its backward pass": (_of_rule, ((3,), (3,), (3,)))
    }
    for check in ("gradcheck", "gradgradcheck"):
        works |= {f"{check} of {name}": _checking(name, check) for name in CHECKED}
    return works | {f"{name} of {_SIDE} entries": _deriving(name) for name in DERIVED}


def build(library: str, title: str, threads: int) -> Run:
    torch = import_module(library)
    for room in ("autograd.functional", "func", "nn.functional"):
        import_module(f"{library}.{room}")
    if library == "torch":
        torch.set_num_threads(threads)
    prepared, shapes = _works()[title]
    run: Run = prepared(torch, _leaves(torch, shapes))
    return run


def workloads(setting: Setting) -> list[Workload]:
    threads = setting.threads
    return [
        Workload(
            "T12",
            title,
            (
                InProcess(
                    name="gradcli",
                    build=build,
                    arguments=("gradcli", title, threads),
                    cores=threads,
                    clock=setting.clock,
                ),
                InProcess(
                    name="PyTorch",
                    build=build,
                    arguments=("torch", title, threads),
                    needs=("torch",),
                    cores=threads,
                    clock=setting.clock,
                ),
            ),
            (Goal("gradcli", 1, "PyTorch"),),
        )
        for title in _works()
    ]
