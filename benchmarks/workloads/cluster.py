"""T11: one worker of one thread, and two: a gradient over an array past what a chunk holds, and checks."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.contest import Goal, InProcess, Run, Setting, Workload
from benchmarks.workloads.chains import GRADCLI

_SPEEDUP = 1.8
_ROWS, _FEATURES = 1 << 16, 20
_LOSS = "mean(log(1 + exp(-y*(x @ w)))) + 0.1*sum(w**2)"
_EVAL = ("eval", _LOSS, "x=@x.npy", "y=@y.npy", "w=@w.npy", "--wrt", "w")
_CHECK = ("check", "records.jsonl", "--quiet", "--no-cache")


def command(workers: int, arguments: tuple[str, ...], folder: str) -> Run:
    """A command on a cluster that runs already; all of its answer is told by its exit code."""
    whole = [*GRADCLI, *arguments, "--on", _address(workers, folder)]

    def run() -> dict[str, Any]:
        return {"value": float(subprocess.run(whole, cwd=folder, stdout=subprocess.DEVNULL, check=False).returncode)}

    return run


def _address(workers: int, folder: str) -> str:
    """The address of a scheduler with workers of one thread each, processes that end with this one."""
    file = str(Path(folder) / f"scheduler-{os.getpid()}.json")
    shared = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    dask = [sys.executable, "-m", "dask"]
    scheduler = [*dask, "scheduler", "--port", "0", "--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", file]
    worker = [*dask, "worker", "--nthreads", "1", "--no-nanny", "--no-dashboard", "--scheduler-file", file]
    for command in (scheduler, *[worker] * workers):
        process = subprocess.Popen(command, **shared)  # type: ignore[call-overload]
        atexit.register(process.kill)
    while not os.path.exists(file):
        time.sleep(0.05)
    with import_module("distributed").Client(scheduler_file=file) as client:
        client.wait_for_workers(workers, timeout=120)
        return str(client.scheduler.address)


def _written(setting: Setting) -> tuple[int, int]:
    """The files of both workloads, and how many entries and records they hold."""
    rows, records = setting.size(10_000_000, 100_000), setting.size(100_000, 200)
    random = np.random.default_rng(11)
    x = np.lib.format.open_memmap(setting.folder / "x.npy", "w+", np.float64, (rows, _FEATURES))
    for start in range(0, rows, _ROWS):
        x[start : start + _ROWS] = random.standard_normal((min(_ROWS, rows - start), _FEATURES))
    np.save(setting.folder / "y.npy", random.choice([-1.0, 1.0], rows))
    np.save(setting.folder / "w.npy", np.linspace(-1, 1, _FEATURES))
    lines = ({"expr": "exp(-a*x)*sin(b*x) + x**3", "at": {"a": 0.1 + i % 7, "b": 1 + i % 11, "x": i / records}} for i in range(records))
    setting.file("records.jsonl", list(map(json.dumps, lines)))
    return rows * _FEATURES, records


def workloads(setting: Setting) -> list[Workload]:
    entries, records = _written(setting)
    found = []
    for title, arguments, items, unit in (
        (f"a gradient over {entries:,} entries", _EVAL, entries, "entry"),
        (f"{records:,} checks", _CHECK, records, "check"),
    ):
        one, two = (
            InProcess(
                name=f"{n} worker{'s' * (n > 1)}", build=command, arguments=(n, arguments, str(setting.folder)), items=items, cores=None,
                needs=("distributed",), question=title,
            )
            for n in (1, 2)
        )  # fmt: skip
        found.append(Workload("T11", title, (one, two), (Goal(two.name, 1 / _SPEEDUP, one.name),), unit=unit))
    return found
