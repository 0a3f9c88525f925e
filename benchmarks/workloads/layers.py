"""T3: two dense layers and their loss, where matrix products take the time."""

from __future__ import annotations

from typing import Any

from benchmarks.contest import Goal, InProcess, Run, Setting, Workload

_TEXT = "binary_cross_entropy_with_logits(relu(x @ w1 + b1) @ w2 + b2, y)"
_SIZES = (256, 784, 512, 10)
_QUICK = (16, 20, 12, 3)
_NAMES = ("x", "w1", "b1", "w2", "b2", "y")
_WRT = ("w1", "b1", "w2", "b2")

Sizes = tuple[int, int, int, int]


def _data(sizes: Sizes) -> dict[str, Any]:
    import numpy as np

    random = np.random.default_rng(3)
    batch, inputs, hidden, outputs = sizes
    return {
        "x": random.standard_normal((batch, inputs)),
        "w1": random.standard_normal((inputs, hidden)) / inputs**0.5,
        "b1": random.standard_normal(hidden),
        "w2": random.standard_normal((hidden, outputs)) / hidden**0.5,
        "b2": random.standard_normal(outputs),
        "y": random.integers(0, 2, (batch, outputs)).astype(float),
    }


def compiled(sizes: Sizes) -> Run:
    import gradcli

    data = _data(sizes)
    f = gradcli.value_and_grad(_TEXT, wrt=_WRT)

    def run() -> dict[str, Any]:
        value, gradients = f(**data)
        return {"value": value, **gradients}

    return run


def eager(sizes: Sizes) -> Run:
    import gradcli

    return _tensors(gradcli, sizes)


def pytorch(sizes: Sizes, threads: int) -> Run:
    import torch

    torch.set_num_threads(threads)
    return _tensors(torch, sizes)


def _tensors(torch: Any, sizes: Sizes) -> Run:
    data = {name: torch.from_numpy(array) for name, array in _data(sizes).items()}
    x, w1, b1, w2, b2, y = (data[name].requires_grad_(name in _WRT) for name in _NAMES)
    loss = torch.nn.functional.binary_cross_entropy_with_logits

    def run() -> dict[str, Any]:
        for name in _WRT:
            data[name].grad = None
        value = loss(torch.relu(x @ w1 + b1) @ w2 + b2, y)
        value.backward()
        return {"value": value.detach(), **{name: data[name].grad for name in _WRT}}

    return run


def _loss(np: Any, weights: tuple[Any, ...], x: Any, y: Any) -> Any:
    """The network in any library that has NumPy's names."""
    w1, b1, w2, b2 = weights
    z = np.maximum(x @ w1 + b1, 0) @ w2 + b2
    return np.mean(np.maximum(z, 0) - z * y + np.log1p(np.exp(-np.abs(z))))


def _weights(data: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(data[name] for name in _WRT)


def jax_jit(sizes: Sizes) -> Run:
    import jax

    jax.config.update("jax_enable_x64", True)
    data = {name: jax.numpy.asarray(array) for name, array in _data(sizes).items()}
    f = jax.jit(jax.value_and_grad(lambda weights, x, y: _loss(jax.numpy, weights, x, y)))

    def run() -> dict[str, Any]:
        value, gradients = jax.block_until_ready(f(_weights(data), data["x"], data["y"]))
        return {"value": value, **dict(zip(_WRT, gradients, strict=True))}

    return run


def hips_autograd(sizes: Sizes) -> Run:
    import autograd
    import autograd.numpy

    data = _data(sizes)
    f = autograd.value_and_grad(
        lambda weights: _loss(autograd.numpy, weights, data["x"], data["y"])
    )

    def run() -> dict[str, Any]:
        value, gradients = f(_weights(data))
        return {"value": value, **dict(zip(_WRT, gradients, strict=True))}

    return run


def by_hand(sizes: Sizes) -> Run:
    import numpy as np

    data = _data(sizes)
    x, w1, b1, w2, b2, y = (data[name] for name in _NAMES)

    def run() -> dict[str, Any]:
        hidden = np.maximum(x @ w1 + b1, 0)
        z = hidden @ w2 + b2
        decay = np.exp(-np.abs(z))
        value = np.mean(np.maximum(z, 0) - z * y + np.log1p(decay))
        dz = (np.where(z >= 0, 1, decay) / (1 + decay) - y) / z.size
        dh = (dz @ w2.T) * (hidden > 0)
        return {
            "value": value,
            "w1": x.T @ dh,
            "b1": dh.sum(0),
            "w2": hidden.T @ dz,
            "b2": dz.sum(0),
        }

    return run


def workloads(setting: Setting) -> list[Workload]:
    sizes, threads = _QUICK if setting.quick else _SIZES, setting.threads
    contestants = (
        InProcess(name="gradcli compiled", build=compiled, arguments=(sizes,), cores=threads),
        InProcess(name="gradcli eager", build=eager, arguments=(sizes,), cores=threads),
        InProcess(
            name="PyTorch",
            build=pytorch,
            arguments=(sizes, threads),
            needs=("torch",),
            cores=threads,
        ),
        InProcess(name="JAX jit", build=jax_jit, arguments=(sizes,), needs=("jax",), cores=threads),
        InProcess(
            name="autograd",
            build=hips_autograd,
            arguments=(sizes,),
            needs=("autograd",),
            cores=threads,
        ),
        InProcess(name="NumPy by hand", build=by_hand, arguments=(sizes,), cores=threads),
    )
    title = f"{_TEXT}, {'×'.join(map(str, sizes))}"
    return [Workload("T3", title, contestants, (Goal("gradcli compiled", 1.1, "PyTorch"),))]
