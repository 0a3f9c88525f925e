"""T11: one worker of one thread, and two: a gradient over an array past what a chunk holds, and checks."""

from __future__ import annotations

import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.contest import Goal, InProcess, Run, Setting, Workload
from benchmarks.workloads.chains import GRADCLI

_EXPRESSION = "sum(exp(-x**2/2)*sin(3*x) + log(1 + x**2))"
_SPEEDUP = 1.8
_ROWS = 1 << 20  # entries of a chunk


def gradient(workers: int, path: str) -> Run:
    """The value and the sum of the gradient, so that no worker has to send an array."""
    import numpy as np

    import gradcli

    client = _client(workers)
    x = import_module("dask.array").from_array(np.load(path, mmap_mode="r"), chunks=_ROWS)
    f = gradcli.value_and_grad(_EXPRESSION)

    def run() -> dict[str, Any]:
        value, gradients = f(x=x)
        value, total = client.compute([value, gradients["x"].sum()], sync=True)
        return {"value": value, "x": total}

    return run


def checks(workers: int, path: str, folder: str) -> Run:
    """All records of a file, by a cluster that runs already."""
    address = _client(workers).scheduler.address
    command = [*GRADCLI, "check", path, "--quiet", "--no-cache", "--on", address]

    def run() -> dict[str, Any]:
        return {"value": float(subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False).returncode)}

    return run


def _client(workers: int) -> Any:
    distributed = import_module("distributed")
    cluster = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=50)
    return distributed.Client(cluster)


def workloads(setting: Setting) -> list[Workload]:
    import json

    import numpy as np

    entries, records = setting.size(200_000_000, 4_000_000), setting.size(100_000, 200)
    array, file = Path(setting.folder) / "x.npy", Path(setting.folder) / "records.jsonl"
    if not array.exists():
        mapped = np.lib.format.open_memmap(array, "w+", np.float64, (entries,))
        random = np.random.default_rng(11)
        for start in range(0, entries, _ROWS):
            mapped[start : start + _ROWS] = random.standard_normal(min(_ROWS, entries - start))
        mapped.flush()
        lines = ({"expr": "exp(-a*x)*sin(b*x) + x**3", "at": {"a": 0.1 + i % 7, "b": 1 + i % 11, "x": i / records}} for i in range(records))
        file.write_text("\n".join(map(json.dumps, lines)) + "\n", "utf-8")
    everything: dict[str, Any] = {"cores": None, "needs": ("dask", "distributed")}
    one, two = (
        InProcess(name=f"{n} worker{'s' * (n > 1)}", build=gradient, arguments=(n, str(array)), items=entries, **everything) for n in (1, 2)
    )
    first, second = (
        InProcess(
            name=f"{n} worker{'s' * (n > 1)}", build=checks, arguments=(n, str(file), str(setting.folder)), items=records, **everything
        )
        for n in (1, 2)
    )
    return [
        Workload("T11", f"a gradient over {entries:,} entries", (one, two), (Goal(two.name, 1 / _SPEEDUP, one.name),), unit="entry"),
        Workload("T11", f"{records:,} checks", (first, second), (Goal(second.name, 1 / _SPEEDUP, first.name),), unit="check"),
    ]
