"""native: kinds of expressions that people train and fit with, beside PyTorch and JAX, and the
bandwidth of memory that they reach.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from benchmarks.contest import Contestant, Group, InProcess, Run, Setting, Workload
from benchmarks.kinds import KINDS
from benchmarks.kinds.record import Kind

if TYPE_CHECKING:
    from gradcli.options import Backend

OURS, NUMPY, PYTORCH, JAX, MEMORY = "gradcli", "ours, NumPy", "PyTorch", "JAX jit", "copied memory"
_COPIED = 8_000_000  # numbers: 64 MB, more than caches hold


def compiled(key: str, entries: int, threads: int, backend: Backend, cache: str) -> Run:
    os.environ["GRADCLI_CACHE_DIR"] = cache  # an empty one, so that the first call compiles
    import gradcli

    kind = KINDS[key]
    data = kind.arrays(entries)
    f = gradcli.value_and_grad(
        kind.text, wrt=kind.wrt, dtype=kind.dtype, backend=backend, threads=threads
    )

    def run() -> dict[str, Any]:
        value, gradients = f(data)
        return {"value": value, **gradients}

    return run


def pytorch(key: str, entries: int, threads: int) -> Run:
    import torch

    torch.set_num_threads(threads)
    kind = KINDS[key]
    # as_tensor, as a number in an array of no dimensions is a scalar of NumPy's
    data = {
        name: torch.as_tensor(array).requires_grad_(name in kind.wrt)
        for name, array in kind.arrays(entries).items()
    }

    def run() -> dict[str, Any]:
        for name in kind.wrt:
            data[name].grad = None
        value = kind.torch(torch, torch.nn.functional, **data)
        value.backward()
        return {"value": value.detach(), **{name: data[name].grad for name in kind.wrt}}

    return run


def jax_jit(key: str, entries: int) -> Run:
    import jax
    import jax.scipy.special

    jax.config.update("jax_enable_x64", True)
    kind = KINDS[key]
    data = {name: jax.numpy.asarray(array) for name, array in kind.arrays(entries).items()}
    varied, others = (
        {name: array for name, array in data.items() if (name in kind.wrt) == chosen}
        for chosen in (True, False)
    )
    f = jax.jit(
        jax.value_and_grad(lambda varied, others: kind.jax(jax.numpy, jax, **varied, **others))
    )

    def run() -> dict[str, Any]:
        value, gradients = jax.block_until_ready(f(varied, others))
        return {"value": value, **gradients}

    return run


def copied(threads: int) -> Run:
    """How fast memory is read and written: one array copied to another, by so many threads."""
    import numpy as np

    source, target = np.ones(_COPIED), np.zeros(_COPIED)
    parts = [slice(i * _COPIED // threads, (i + 1) * _COPIED // threads) for i in range(threads)]

    def run() -> dict[str, Any]:
        others = [
            threading.Thread(target=np.copyto, args=(target[part], source[part]))
            for part in parts[1:]
        ]
        for other in others:
            other.start()
        np.copyto(target[parts[0]], source[parts[0]])
        for other in others:
            other.join()
        return {}

    return run


def traffic(kind: Kind, entries: int) -> int:
    """Bytes that must move at least: every input read once, every gradient written once."""
    data = kind.arrays(entries)
    return sum(int(array.nbytes) for array in (*data.values(), *(data[name] for name in kind.wrt)))


def _workload(setting: Setting, kind: Kind, threads: int) -> Workload:
    entries = setting.size(4_000_000, 40_000)
    cache = str(setting.folder / f"native {kind.key} {threads}")
    common: dict[str, Any] = {"cores": threads, "clock": setting.clock}
    arguments = (kind.key, entries, threads)
    contestants: list[Contestant] = [
        InProcess(name=name, build=compiled, arguments=(*arguments, backend, cache), **common)
        for name, backend in ((OURS, "auto"), (NUMPY, "numpy"))
    ]
    if setting.peers:
        contestants.append(
            InProcess(name=PYTORCH, build=pytorch, arguments=arguments, needs=("torch",), **common)
        )
        contestants.append(
            InProcess(
                name=JAX, build=jax_jit, arguments=(kind.key, entries), needs=("jax",), **common
            )
        )
    contestants.append(
        InProcess(
            name=MEMORY,
            build=copied,
            arguments=(threads,),
            question=MEMORY,
            items=2 * 8 * _COPIED,
            **common,
        )
    )
    return Workload(
        kind.key, kind.text, contestants, tolerance=kind.tolerance, traffic=traffic(kind, entries)
    )


def groups(setting: Setting) -> list[Group]:
    """The table for each number of threads."""
    kinds = [KINDS[key] for key in setting.picked or KINDS]
    return [
        Group(
            key="native",
            title=f"expressions that people train and fit with, 4 million entries, {threads} "
            f"thread{'s' * (threads > 1)}",
            workloads=[_workload(setting, kind, threads) for kind in kinds],
            ours=OURS,
            peers=(PYTORCH, JAX),
            plain=NUMPY,
            memory=MEMORY,
        )
        for threads in setting.counts
    ]
