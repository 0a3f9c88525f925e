"""T11: one worker of one thread, and two: gradients over an array of many chunks, in memory and in
a file, and checks.
"""

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
_ROWS, _FEATURES = 1_250_000, 20
_LOSSES = {
    "logistic regression": "mean(log(1 + exp(-y*(x @ w)))) + 0.1*sum(w**2)",
    "elementwise": "sum(exp(-w*x**2/2)*sin(3*x) + log(1 + x**2)) + 0*sum(y)",
}
_CHECK = ("check", "records.jsonl", "--quiet", "--no-cache")


def in_memory(loss: str, workers: int, folder: str, rows: int) -> Run:
    """A gradient by ``w``, the chunks being in the workers' memory, as in every step but the first
    of an optimization.
    """

    import gradcli

    dask, da = (import_module(name) for name in ("dask", "dask.array"))
    client = import_module("distributed").Client(_address(workers, folder))
    atexit.register(client.close)
    random = da.random.default_rng(11)
    x = random.standard_normal((rows, _FEATURES), chunks=(_ROWS, _FEATURES))
    y = da.sign(random.standard_normal(rows, chunks=_ROWS))
    x, y = dask.persist(x, y)
    client.gather(client.compute([x.sum(), y.sum()]))  # drawn by now
    of, w = gradcli.value_and_grad(loss, wrt="w"), np.linspace(-1, 1, _FEATURES)

    def run() -> dict[str, Any]:
        value, gradients = dask.compute(*_parts(of(x=x, y=y, w=w)), scheduler=client)
        return {"value": float(value), "w": gradients}

    return run


def _parts(found: tuple[Any, dict[str, Any]]) -> tuple[Any, Any]:
    value, gradients = found
    return value, gradients["w"]


def command(workers: int, arguments: tuple[str, ...], folder: str) -> Run:
    """A command on a cluster that runs already; all of its answer is told by its exit code."""
    whole = [*GRADCLI, *arguments, "--on", _address(workers, folder)]

    def run() -> dict[str, Any]:
        return {
            "value": float(
                subprocess.run(whole, cwd=folder, stdout=subprocess.DEVNULL, check=False).returncode
            )
        }

    return run


def _address(workers: int, folder: str) -> str:
    """The address of a scheduler with workers of one thread each, processes that end with
    this one.
    """
    file = str(Path(folder) / f"scheduler-{os.getpid()}.json")
    shared = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    dask = [sys.executable, "-m", "dask"]
    scheduler = [
        *dask,
        "scheduler",
        "--port",
        "0",
        "--host",
        "127.0.0.1",
        "--no-dashboard",
        "--scheduler-file",
        file,
    ]
    worker = [
        *dask,
        "worker",
        "--nthreads",
        "1",
        "--no-nanny",
        "--no-dashboard",
        "--scheduler-file",
        file,
    ]
    for command in (scheduler, *[worker] * workers):
        process = subprocess.Popen(command, **shared)  # type: ignore[call-overload]
        atexit.register(process.kill)
    while not os.path.exists(file):
        time.sleep(0.05)
    with import_module("distributed").Client(scheduler_file=file) as client:
        client.wait_for_workers(workers, timeout=120)
        return str(client.scheduler.address)


def _written(setting: Setting, rows: int, records: int) -> None:
    """The files of the commands."""
    random = np.random.default_rng(11)
    x = np.lib.format.open_memmap(setting.folder / "x.npy", "w+", np.float64, (rows, _FEATURES))
    for start in range(0, rows, _ROWS):
        x[start : start + _ROWS] = random.standard_normal((min(_ROWS, rows - start), _FEATURES))
    np.save(setting.folder / "y.npy", random.choice([-1.0, 1.0], rows))
    np.save(setting.folder / "w.npy", np.linspace(-1, 1, _FEATURES))
    lines = (
        {
            "expr": "exp(-a*x)*sin(b*x) + x**3",
            "at": {"a": 0.1 + i % 7, "b": 1 + i % 11, "x": i / records},
        }
        for i in range(records)
    )
    setting.file("records.jsonl", list(map(json.dumps, lines)))


def workloads(setting: Setting) -> list[Workload]:
    rows, records = setting.size(10_000_000, 100_000), setting.size(100_000, 200)
    _written(setting, rows, records)
    folder, entries = str(setting.folder), rows * _FEATURES
    found = [
        _contest(
            f"{kind}, {entries:,} entries in memory",
            entries,
            "entry",
            in_memory,
            lambda n, loss=loss: (loss, n, folder, rows),
        )
        for kind, loss in _LOSSES.items()
    ]
    for kind, loss in _LOSSES.items():
        command_line = (
            "eval",
            loss,
            "x=@x.npy",
            "y=@y.npy",
            "w=@w.npy",
            "--wrt",
            "w",
            "--no-check",
        )
        title = f"{kind}, {entries:,} entries in a file, the whole command"
        found.append(
            _contest(
                title, entries, "entry", command, lambda n, line=command_line: (n, line, folder)
            )
        )
    return [
        *found,
        _contest(
            f"{records:,} checks, the whole command",
            records,
            "check",
            command,
            lambda n: (n, _CHECK, folder),
        ),
    ]


def _contest(title: str, items: int, unit: str, build: Any, arguments: Any) -> Workload:
    one, two = (
        InProcess(
            name=f"{n} worker{'s' * (n > 1)}", build=build, arguments=arguments(n), items=items, cores=None, needs=("distributed",),
            question=title,
        )
        for n in (1, 2)
    )  # fmt: skip
    return Workload("T11", title, (one, two), (Goal(two.name, 1 / _SPEEDUP, one.name),), unit=unit)
