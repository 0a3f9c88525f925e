"""T2: an elementwise expression over millions of entries; and the same from 10³ to 10⁸ entries."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from benchmarks.contest import LINEAR, Goal, InProcess, Run, Setting, Workload
from benchmarks.machine import has_avx512

if TYPE_CHECKING:
    from gradcli.options import Backend

_TEXT = "sum(exp(-x**2/2)*sin(3*x) + log(1+x**2))"
_BLOCK = 8192


def _data(entries: int) -> Any:
    import numpy as np

    return np.random.default_rng(2).standard_normal(entries)


def _written(np: Any, x: Any) -> Any:
    """The expression in any library that has NumPy's names."""
    return np.sum(np.exp(-(x**2) / 2) * np.sin(3 * x) + np.log(1 + x**2))


def compiled(entries: int) -> Run:
    import gradcli

    x = _data(entries)
    f = gradcli.value_and_grad(_TEXT, wrt=("x",))

    def run() -> dict[str, Any]:
        value, gradients = f(x=x)
        return {"value": value, "x": gradients["x"]}

    return run


def written_for(entries: int, threads: int, backend: Backend) -> Run:
    """As compiled, with plans that are written for one backend alone."""
    import gradcli

    x = _data(entries)
    f = gradcli.value_and_grad(_TEXT, wrt=("x",), backend=backend, threads=threads)

    def run() -> dict[str, Any]:
        value, gradients = f(x=x)
        return {"value": value, "x": gradients["x"]}

    return run


def compiled_into(entries: int) -> Run:
    import numpy as np

    import gradcli

    x = _data(entries)
    f = gradcli.value_and_grad(_TEXT, wrt=("x",))
    gradient = np.empty_like(x)

    def run() -> dict[str, Any]:
        value, _ = f(x=x, out={"x": gradient})
        return {"value": value, "x": gradient}

    return run


def eager(entries: int) -> Run:
    import gradcli

    return _tensors(gradcli, entries)


def pytorch(entries: int, threads: int) -> Run:
    import torch

    torch.set_num_threads(threads)
    return _tensors(torch, entries)


def _tensors(torch: Any, entries: int) -> Run:
    x = torch.from_numpy(_data(entries)).requires_grad_()

    def run() -> dict[str, Any]:
        x.grad = None
        value = _written(torch, x)
        value.backward()
        return {"value": value.detach(), "x": x.grad}

    return run


def jax_jit(entries: int) -> Run:
    import jax

    jax.config.update("jax_enable_x64", True)
    x = jax.numpy.asarray(_data(entries))
    f = jax.jit(jax.value_and_grad(lambda x: _written(jax.numpy, x)))

    def run() -> dict[str, Any]:
        value, gradient = jax.block_until_ready(f(x))
        return {"value": value, "x": gradient}

    return run


def hips_autograd(entries: int) -> Run:
    import autograd
    import autograd.numpy

    x = _data(entries)
    f = autograd.value_and_grad(lambda x: _written(autograd.numpy, x))

    def run() -> dict[str, Any]:
        value, gradient = f(x)
        return {"value": value, "x": gradient}

    return run


def mygrad(entries: int) -> Run:
    import mygrad

    x = mygrad.tensor(_data(entries))

    def run() -> dict[str, Any]:
        value = _written(mygrad, x)
        value.backward()
        return {"value": value.data, "x": x.grad}

    return run


def numexpr_by_hand(entries: int, threads: int) -> Run:
    import numexpr

    numexpr.set_num_threads(threads)
    x = _data(entries)

    def run() -> dict[str, Any]:
        value = numexpr.evaluate("sum(exp(-x*x/2)*sin(3*x) + log(1 + x*x))", {"x": x})
        gradient = numexpr.evaluate(
            "exp(-x*x/2)*(3*cos(3*x) - x*sin(3*x)) + 2*x/(1 + x*x)", {"x": x}
        )
        return {"value": value, "x": gradient}

    return run


def by_hand(entries: int) -> Run:
    return _by_hand(entries, entries)


def by_hand_in_blocks(entries: int) -> Run:
    return _by_hand(entries, _BLOCK)


def _by_hand(entries: int, block: int) -> Run:
    import numpy as np

    x = _data(entries)

    def run() -> dict[str, Any]:
        total, gradient = 0.0, np.empty_like(x)
        for start in range(0, entries, block):
            part = x[start : start + block]
            square = part * part
            bell, sine = np.exp(-square / 2), np.sin(3 * part)
            total += float(np.sum(bell * sine + np.log(1 + square)))
            gradient[start : start + block] = bell * (
                3 * np.cos(3 * part) - part * sine
            ) + 2 * part / (1 + square)
        return {"value": total, "x": gradient}

    return run


def _at(setting: Setting, threads: int) -> Workload:
    entries = setting.size(4_000_000, 40_000)
    common: dict[str, Any] = {"cores": threads, "items": entries}
    contestants = (
        InProcess(name="gradcli compiled", build=compiled, arguments=(entries,), **common),
        InProcess(
            name="gradcli compiled, out=", build=compiled_into, arguments=(entries,), **common
        ),
        InProcess(
            name="gradcli, native code",
            build=written_for,
            arguments=(entries, threads, "native"),
            **common,
        ),
        InProcess(
            name="gradcli, NumPy alone",
            build=written_for,
            arguments=(entries, threads, "numpy"),
            **common,
        ),
        InProcess(name="gradcli eager", build=eager, arguments=(entries,), **common),
        InProcess(
            name="PyTorch", build=pytorch, arguments=(entries, threads), needs=("torch",), **common
        ),
        InProcess(name="JAX jit", build=jax_jit, arguments=(entries,), needs=("jax",), **common),
        InProcess(
            name="autograd",
            build=hips_autograd,
            arguments=(entries,),
            needs=("autograd",),
            **common,
        ),
        InProcess(name="MyGrad", build=mygrad, arguments=(entries,), needs=("mygrad",), **common),
        InProcess(
            name="numexpr by hand",
            build=numexpr_by_hand,
            arguments=(entries, threads),
            needs=("numexpr",),
            **common,
        ),
        InProcess(name="NumPy by hand", build=by_hand, arguments=(entries,), **common),
        InProcess(
            name="NumPy by hand, in blocks", build=by_hand_in_blocks, arguments=(entries,), **common
        ),
    )
    goals = (
        Goal("gradcli, native code", 0.4, "PyTorch"),
        Goal("gradcli, NumPy alone", 0.5 if has_avx512() else 1.0, "PyTorch"),
        Goal(
            "gradcli compiled", 1.1 * 2 * 8 * entries + 64e6, measure="peak"
        ),  # input, gradient, a tenth; and what is imported late
    )
    title = f"{_TEXT} and its gradient, {entries:,} entries, {threads} thread{'s' * (threads > 1)}"
    return Workload("T2", title, contestants, goals, unit="entry")


def _scaling(setting: Setting) -> Workload:
    sizes = [10**power for power in range(3, setting.size(9, 6))]
    ours, peers = [], []
    for size in sizes:
        common: dict[str, Any] = {"question": str(size), "cores": setting.threads, "items": size}
        ours.append(
            InProcess(
                name=f"gradcli, {size:,}",
                build=compiled,
                arguments=(size,),
                memory=4 * 8 * size,
                **common,
            )
        )
        arguments = (size, setting.threads)
        # PyTorch holds every intermediate
        peers.append(
            InProcess(
                name=f"PyTorch, {size:,}",
                build=pytorch,
                arguments=arguments,
                needs=("torch",),
                memory=10 * 8 * size,
                **common,
            )
        )
    goals = [Goal(more.name, LINEAR, less.name) for less, more in pairwise(ours)]
    return Workload(
        "entries",
        f"{_TEXT} and its gradient, by the number of entries",
        (*ours, *peers),
        goals,
        unit="entry",
    )


def workloads(setting: Setting) -> list[Workload]:
    counts = dict.fromkeys((setting.threads, setting.cores))
    return [*(_at(setting, threads) for threads in counts), _scaling(setting)]
