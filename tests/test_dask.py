"""Dask's arrays and clusters: lazy results that are those of the whole; a scheduler and workers as
processes, which may die on the way.
"""

from __future__ import annotations

import json
import os
import pathlib
import shlex
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import numpy as np
import pytest
from conftest import COMMAND, plain_environment

import gradcli

dask = pytest.importorskip("dask", reason="Dask is not installed here")
da = pytest.importorskip("dask.array", reason="Dask's arrays are not installed here")

X = np.random.default_rng(0).normal(size=(1000, 5))
Y = np.sign(X @ [1.0, -2.0, 0.5, 0.0, 1.0])
W = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
LOSS = "mean(log(1 + exp(-y*(x @ w)))) + 0.1*sum(w**2)"

CASES = [
    (LOSS, {"x": X, "y": Y, "w": W}, {"x": (300, 5), "y": 250}),
    (LOSS, {"x": X, "y": Y, "w": W}, {"x": (300, 5)}),
    ("sum(softmax(x)*y)", {"x": X[:, 0], "y": Y}, {"x": 300, "y": 250}),
    ("sum(x**2)", {"x": X}, {"x": (1000, 5)}),
    ("sum(x**2)", {"x": X}, {"x": (1000, 2)}),
    ("sum(x[:, int(k)]**2)", {"x": X, "k": np.array(2)}, {"x": (300, 5)}),
    ("3*s**2", {"s": np.array(2.0)}, {"s": ()}),
]


@pytest.mark.parametrize(
    ("expression", "values", "chunks"),
    CASES,
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_lazy_results_are_those_of_the_whole(expression, values, chunks):
    function = gradcli.value_and_grad(expression)
    wanted, gradients = function(**values)
    lazy = {
        name: da.from_array(array, chunks=chunks[name]) if name in chunks else array
        for name, array in values.items()
    }
    value, found = function(**lazy)
    assert isinstance(value, da.Array)
    assert found.keys() == gradients.keys()
    for name, gradient in gradients.items():
        assert found[name].shape == np.shape(gradient)
    value, found = dask.compute(value, found, scheduler="sync")
    np.testing.assert_allclose(value, wanted, rtol=1e-13)
    for name, gradient in gradients.items():
        np.testing.assert_allclose(found[name], gradient, rtol=1e-11, err_msg=name)


def test_gradients_are_cut_as_their_values_are():
    _, found = gradcli.value_and_grad(LOSS)(
        x=da.from_array(X, chunks=(300, 5)), y=da.from_array(Y, chunks=300), w=W
    )
    assert found["x"].chunks == ((300, 300, 300, 100), (5,))
    assert found["y"].chunks == ((300, 300, 300, 100),)
    assert found["w"].chunks == ((5,),)


def test_a_seed_may_be_lazy():
    value, gradients = gradcli.value_and_grad("tanh(x)")(x=Y, seed=X[:, 0])
    lazy, found = gradcli.value_and_grad("tanh(x)")(
        x=da.from_array(Y, chunks=300), seed=da.from_array(X[:, 0], chunks=400)
    )
    assert np.array_equal(lazy.compute(scheduler="sync"), value)
    np.testing.assert_allclose(found["x"].compute(scheduler="sync"), gradients["x"], rtol=1e-14)


def test_the_same_chunks_give_the_same_bits():
    function = gradcli.value_and_grad(LOSS)
    arrays = {"x": da.from_array(X, chunks=(70, 5)), "y": da.from_array(Y, chunks=70), "w": W}
    found = [
        dask.compute(*function(**arrays)[1].values(), scheduler=scheduler)
        for scheduler in ("sync", "threads", "threads")
    ]
    for other in found[1:]:
        assert all(np.array_equal(one, two) for one, two in zip(found[0], other, strict=True))


def test_a_compiled_value_is_lazy_too():
    assert gradcli.compile("mean(x)")(x=da.from_array(Y, chunks=300)).compute(
        scheduler="sync"
    ) == pytest.approx(Y.mean())


LAZY = da.from_array(Y, chunks=300)
SQUARE = da.from_array(X, chunks=(300, 2))
REFUSED = [
    ("sum(x**2)", {"x": SQUARE}, "'x' is cut along the axes 0, 1, but only one axis can be", "x.rechunk({0: -1}) is not cut along axis 0"),
    (
        "sum(cumprod(x, axis=0))", {"x": da.from_array(X, chunks=(300, 5))},
        "this cannot be computed chunk by chunk: cumprod goes along the axis that is cut",
        "cut another axis, or none: x.rechunk(-1) is one chunk, if memory holds it",
    ),
    (
        "sum(sort(x)*x)", {"x": da.from_array(Y, chunks=300)},
        "this cannot be computed chunk by chunk: argsort goes along the axis that is cut", None,
    ),
    (
        "sum((x[1:] - x[:-1])**2)", {"x": da.from_array(Y, chunks=300)},
        "this cannot be computed chunk by chunk: a subscript takes entries along the axis that is "
        "cut", "cut another axis, or none: x.rechunk(-1) is one chunk, if memory holds it",
    ),
    (
        "sum(x) + sum(w)", {"x": da.from_array(Y, chunks=300), "w": da.from_array(W, chunks=2)},
        "arrays are cut along axes of 5 and 1000 entries: only one axis can be cut", "rechunk(-1) makes one chunk of an array",
    ),
    ("sum(x)", {"x": LAZY[LAZY > 0]}, "'x' has chunks of unknown sizes", "call "
    "x.compute_chunk_sizes() before"),
    ("sum(x)", {"x": da.from_array(Y + 1j, chunks=300)}, "arrays of complex128 are no real numbers", None),
    ("x**2", {"x": da.from_array(Y, chunks=300)}, "the value has the shape (1000,); only a scalar "
    "has a gradient without a seed", None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("expression", "values", "message", "help"), REFUSED, ids=[case[2] for case in REFUSED]
)
def test_what_cannot_be_split_is_refused_with_the_chunks_that_would_do(
    expression, values, message, help
):
    with pytest.raises(gradcli.GradcliError) as raised:
        gradcli.value_and_grad(expression)(**values)
    assert raised.value.message == message
    if help is not None:
        assert raised.value.help == help


def test_jacobians_and_outs_are_refused():
    with pytest.raises(gradcli.GradcliError, match="taken by value_and_grad"):
        gradcli.jacobian("x**2")(x=da.from_array(Y, chunks=300))
    with pytest.raises(gradcli.GradcliError, match="is a Delayed"):
        gradcli.value_and_grad("x**2")(x=dask.delayed(float)(3))


# -- a cluster
# -----------------------------------------------------------------------------------------------------------


class Processes:
    """A scheduler and workers of one thread each, as in production."""

    def __init__(self, folder):
        self.folder, self.started = folder, []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.scheduler = self.start(
            "scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard"
        )
        self.workers = []

    def start(self, *arguments, **more):
        environment = {
            **plain_environment(),
            "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s",
            **more,
        }
        log = (self.folder / f"log{len(self.started)}").open("w")
        command = [sys.executable, "-m", "dask", *arguments]
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def worker(self, **more):
        self.workers.append(self.start(
            "worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(self.folder), **more,
        ))  # fmt: skip

    def wait_for(self, count):
        from distributed import Client

        with Client(self.address, timeout="60s", set_as_default=False) as client:
            client.wait_for_workers(count, timeout=60)

    def kill(self, process):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def end(self):
        for process in self.started:
            self.kill(process)


@contextmanager
def running(folder):
    pytest.importorskip("distributed", reason="Dask's distributed is not installed here")
    folder.mkdir()
    processes = Processes(folder)
    try:
        processes.worker()
        processes.worker()
        processes.wait_for(2)
        yield processes
    finally:
        processes.end()


@pytest.fixture
def cluster(tmp_path):
    """A cluster of whose processes a test may end some."""
    with running(tmp_path / "cluster") as processes:
        yield processes


@pytest.fixture(scope="module")
def lasting_cluster(tmp_path_factory):
    """One that tests leave as they found it."""
    with running(tmp_path_factory.mktemp("lasting") / "cluster") as processes:
        yield processes


def ended(line, place, cwd):
    """Run a typed `gradcli eval` where somebody says."""
    return subprocess.run(
        [*COMMAND, "eval", *shlex.split(line), "--on", place],
        cwd=cwd,
        env=plain_environment(),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.mark.ci
def test_a_cluster_computes_what_only_its_workers_hold(lasting_cluster, tmp_path):
    """And the results are those of one machine, to the bit where the chunks are the same."""
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y)
    address = lasting_cluster.address
    line = f"'{LOSS}' x=@x.npy y=@y.npy w=0.1,0.2,0.3,0.4,0.5 --format jsonl"
    here, there = (ended(line, place, tmp_path) for place in ("here", address))
    assert there.returncode == 0, there.stderr
    assert json.loads(there.stdout)["grad"] == json.loads(here.stdout)["grad"]
    np.save(lasting_cluster.folder / "only.npy", Y)  # a path that means something where workers run
    done = ended("'sum(y**2)' y=@only.npy --format jsonl", address, tmp_path)
    assert json.loads(done.stdout)["value"] == 1000.0
    missing = ended("'sum(y**2)' y=@none.npy", address, tmp_path)
    assert (missing.returncode, "there is no file 'none.npy'" in missing.stderr) == (2, True)


@pytest.mark.ci
def test_a_worker_that_dies_loses_nothing(cluster, tmp_path):
    y = np.random.default_rng(0).normal(size=4_000_000)
    np.save(tmp_path / "y.npy", y)
    process = begun("'sum(exp(-y**2)*sin(y))' y=@y.npy", cluster.address, tmp_path)
    cluster.kill(cluster.workers[0])
    _, said = process.communicate(timeout=240)
    assert process.returncode == 0, said
    np.testing.assert_allclose(
        np.load(tmp_path / "g.npy"),
        np.exp(-(y**2)) * (np.cos(y) - 2 * y * np.sin(y)),
        rtol=1e-10,
        atol=1e-15,
    )


@pytest.mark.ci
def test_a_scheduler_that_is_gone_is_said(cluster, tmp_path):
    np.save(tmp_path / "y.npy", np.random.default_rng(0).normal(size=8_000_000))
    process = begun("'sum(softmax(y)*sin(y))' y=@y.npy", cluster.address, tmp_path)
    cluster.kill(cluster.scheduler)
    _, said = process.communicate(timeout=120)
    if process.returncode == 0:
        pytest.skip("it was done before its scheduler was gone")
    assert process.returncode == 2
    assert f"the cluster at {cluster.address} failed" in said
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("g.")] == []
    gone = ended("'sum(y)' y=@y.npy", cluster.address, tmp_path)
    assert (gone.returncode, f"no scheduler answers at {cluster.address}" in gone.stderr) == (
        2,
        True,
    )


def begun(line, place, folder):
    """Start a typed `gradcli eval` that saves the gradient of y, and wait for its first chunk."""
    saving = ["--save", "y=g.npy", "--limit", "memory=128M"]
    process = subprocess.Popen(
        [*COMMAND, "eval", *shlex.split(line), *saving, "--on", place],
        cwd=folder,
        env=plain_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    path = folder / "g.npy.partial" / "data.npy"
    deadline = time.monotonic() + 120
    while not _holds_numbers(path) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    return process


def _holds_numbers(path):
    with suppress(OSError, ValueError, EOFError):  # a file that is being made, or is empty
        return bool(np.load(path, mmap_mode="r")[::10_000].any())
    return False


@pytest.mark.ci
def test_a_worker_of_another_version_is_refused(lasting_cluster, tmp_path):
    """With both versions."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "sitecustomize.py").write_text(
        "import gradcli\ngradcli.__version__ = '0.0.1'\n"
    )
    lasting_cluster.worker(
        PYTHONPATH=f"{tmp_path / 'other'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    )
    try:
        lasting_cluster.wait_for(3)
        np.save(tmp_path / "y.npy", Y)
        done = ended("'sum(y)' y=@y.npy", lasting_cluster.address, tmp_path)
    finally:
        lasting_cluster.kill(lasting_cluster.workers.pop())
    assert done.returncode == 2
    assert f"has gradcli 0.0.1, and this is gradcli {gradcli.__version__}" in done.stderr


@pytest.mark.ci
def test_the_sample_learns():
    """Logistic regression, with fewer rows."""
    script = pathlib.Path(__file__).parent.parent / "samples" / "cluster" / "logistic_regression.py"
    done = subprocess.run(
        [sys.executable, str(script), "20000"],
        env=plain_environment(),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    losses = [
        float(line.split()[-1]) for line in done.stdout.splitlines() if line.startswith("step")
    ]
    assert losses == sorted(losses, reverse=True)
    assert float(done.stdout.split()[-1]) < 0.2
