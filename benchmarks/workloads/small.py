"""T1: an expression of two entries, value and gradient again and again, as the inner loop of an
optimizer would.
"""

from __future__ import annotations

from typing import Any

from benchmarks.contest import Goal, InProcess, Run, Setting, Workload

_TEXT = "sum(3*a**3 - b**2)"


def _point() -> tuple[Any, Any]:
    import numpy as np

    return np.array([2.0, 3.0]), np.array([6.0, 4.0])


def compiled() -> Run:
    import gradcli

    a, b = _point()
    f = gradcli.value_and_grad(_TEXT, wrt=("a", "b"))

    def run() -> dict[str, Any]:
        value, gradients = f(a=a, b=b)
        return {"value": value, **gradients}

    return run


def eager() -> Run:
    import gradcli

    return _tensors(gradcli)


def pytorch(threads: int) -> Run:
    import torch

    torch.set_num_threads(threads)
    return _tensors(torch)


def _tensors(torch: Any) -> Run:
    a, b = (
        torch.tensor(array.tolist(), dtype=torch.float64, requires_grad=True) for array in _point()
    )

    def run() -> dict[str, Any]:
        a.grad = b.grad = None
        value = (3 * a**3 - b**2).sum()
        value.backward()
        return {"value": value.detach(), "a": a.grad, "b": b.grad}

    return run


def by_hand() -> Run:
    a, b = _point()

    def run() -> dict[str, Any]:
        return {"value": (3 * a**3 - b**2).sum(), "a": 9 * a**2, "b": -2 * b}

    return run


def jax_jit() -> Run:
    import jax

    return _jax(jax.jit)


def jax_plain() -> Run:
    return _jax(lambda function: function)


def _jax(transformed: Any) -> Run:
    import jax

    jax.config.update("jax_enable_x64", True)
    a, b = (jax.numpy.asarray(array) for array in _point())
    f = transformed(jax.value_and_grad(lambda a, b: (3 * a**3 - b**2).sum(), argnums=(0, 1)))

    def run() -> dict[str, Any]:
        value, gradients = jax.block_until_ready(f(a, b))
        return {"value": value, "a": gradients[0], "b": gradients[1]}

    return run


def casadi() -> Run:
    import casadi

    a, b = casadi.SX.sym("a", 2), casadi.SX.sym("b", 2)
    value = casadi.sum1(3 * a**3 - b**2)
    f = casadi.Function("f", [a, b], [value, casadi.gradient(value, a), casadi.gradient(value, b)])
    point = _point()

    def run() -> dict[str, Any]:
        value, slope_a, slope_b = f(*point)
        return {"value": float(value), "a": slope_a.full(), "b": slope_b.full()}

    return run


def mygrad() -> Run:
    import mygrad

    a, b = (mygrad.tensor(array) for array in _point())

    def run() -> dict[str, Any]:
        value = mygrad.sum(3 * a**3 - b**2)
        value.backward()
        return {"value": value.data, "a": a.grad, "b": b.grad}

    return run


def hips_autograd() -> Run:
    import autograd

    a, b = _point()
    f = autograd.value_and_grad(lambda pair: (3 * pair[0] ** 3 - pair[1] ** 2).sum())

    def run() -> dict[str, Any]:
        value, (slope_a, slope_b) = f((a, b))
        return {"value": value, "a": slope_a, "b": slope_b}

    return run


def workloads(setting: Setting) -> list[Workload]:
    threads = setting.threads
    contestants = (
        InProcess(name="gradcli compiled", build=compiled, cores=threads),
        InProcess(name="gradcli eager", build=eager, cores=threads),
        InProcess(name="NumPy by hand", build=by_hand, cores=threads),
        InProcess(name="JAX jit", build=jax_jit, needs=("jax",), cores=threads),
        InProcess(name="CasADi", build=casadi, needs=("casadi",), cores=threads),
        InProcess(
            name="PyTorch", build=pytorch, arguments=(threads,), needs=("torch",), cores=threads
        ),
        InProcess(name="MyGrad", build=mygrad, needs=("mygrad",), cores=threads),
        InProcess(name="autograd", build=hips_autograd, needs=("autograd",), cores=threads),
        InProcess(name="JAX without jit", build=jax_plain, needs=("jax",), cores=threads),
    )
    goals = (
        Goal("gradcli compiled", 1.5, "NumPy by hand"),
        Goal("gradcli compiled", 1 / 3, "JAX jit"),
        Goal("gradcli eager", 1, "PyTorch"),
    )
    return [
        Workload("T1", f"value and gradient of {_TEXT}, 2 entries, repeated", contestants, goals)
    ]
