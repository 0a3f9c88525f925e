"""``gradcli eval --on here``: results chunk by chunk, files that are whole or not there, runs that go on where they were interrupted."""

from __future__ import annotations

import json
import signal
import subprocess
import time

import numpy as np
import pytest
from checking import partial, planted, times
from conftest import COMMAND, plain_environment

import gradcli
from gradcli.cli.decide import chunked
from gradcli.query.chunked import runs
from gradcli.query.chunked.executors import Here
from gradcli.query.chunked.sources import Slice

X = np.random.default_rng(0).normal(size=(1000, 3))
Y = np.sign(X @ [1.0, -2.0, 0.5])
LOSS = "mean(log(1 + exp(-y*(x @ w)))) + 0.1*sum(w**2)"
W = {"w": [0.1, 0.2, 0.3]}
OF_CHUNK = runs._of_chunk


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setattr(Here, "at_once", 4096)  # some forty rows
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y)
    return tmp_path


def record(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_result_is_that_of_the_whole(call_cli, files):
    value, gradients = gradcli.value_and_grad(LOSS)(x=X, y=Y, **W)
    found = record(call_cli("eval", LOSS, "x=@x.npy", "y=@y.npy", "w=0.1,0.2,0.3", "--on", "here", "--format", "jsonl"))
    np.testing.assert_allclose(found["value"], value, rtol=1e-14)
    for name, gradient in gradients.items():
        np.testing.assert_allclose(found["grad"][name], gradient, rtol=1e-12)
    (note,) = found["warnings"]
    assert note == "computed in 8 chunks; cross-checked on the first 256 of 1,000 entries along the cut: agree"
    assert found["check"] is None


def test_without_a_check_it_is_said(call_cli, files):
    found = record(call_cli("eval", "sum(y)*s", "y=@y.npy", "s=2", "--wrt", "s", "--on", "here", "--no-check", "--format", "jsonl"))
    assert found["warnings"] == ["computed in 2 chunks; not cross-checked"]


def test_a_wrong_rule_is_found_before_the_work(call_cli, files):
    with planted("tanh", **partial(0, times(1.001))):
        done = call_cli("eval", "sum(tanh(y))", "y=@y.npy", "--on", "here", "--save", "y=g.npy", "--format", "jsonl")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["check"]["verdict"] == "mismatch"
    assert found["warnings"][-1] == "computed in 2 chunks; cross-checked on the first 1,000 of 1,000 entries along the cut: mismatch"


def test_chunks_that_come_together_wrongly_are_found(call_cli, files, monkeypatch):
    monkeypatch.setattr(runs, "folded_all", lambda names, parts: list(parts[0]) if names else [])
    done = call_cli("eval", "sum(y**2)*s", "y=@y.npy", "s=2", "--wrt", "s", "--on", "here", "--format", "jsonl")
    assert done.returncode == 1
    assert "the value of the first 1,000 entries is another in chunks than at once" in done.stdout


def test_what_cannot_be_held_says_why(call_cli, files):
    found = record(call_cli("eval", "sum(y > 0)", "y=@y.npy", "--on", "here", "--format", "jsonl"))
    assert found["warnings"][0].startswith("computed in 2 chunks; ")


@pytest.mark.parametrize("suffix", ["npy", "zarr", "h5", "parquet"])
def test_gradients_go_to_files(call_cli, files, suffix):
    if suffix != "npy":
        pytest.importorskip({"zarr": "zarr", "h5": "h5py", "parquet": "pyarrow"}[suffix], reason="not installed here")
    done = call_cli("eval", "sum(softmax(y)*y)", "y=@y.npy", "--on", "here", "--save", f"y=g.{suffix}", "--save", "value=v.npy")
    assert done.returncode == 0, done.stderr
    assert f"the gradient of y is in g.{suffix}" in done.stdout
    _, gradients = gradcli.value_and_grad("sum(softmax(y)*y)")(y=Y)
    np.testing.assert_allclose(_loaded(files / f"g.{suffix}"), gradients["y"], rtol=1e-12)
    assert sorted(path.name for path in files.iterdir()) == sorted(["x.npy", "y.npy", f"g.{suffix}", "v.npy"])


def _loaded(path):
    from gradcli.files.arrays import load_array
    from gradcli.limits import DEFAULT

    return load_array(str(path), DEFAULT)


def test_a_run_goes_on_where_it_was_interrupted(call_cli, files, monkeypatch):
    """Of two stages, in the middle of the second; no chunk is computed twice, and the bits are those of one run."""
    arguments = ("eval", "sum(softmax(y)*x[:, 0])", "x=@x.npy", "y=@y.npy", "--on", "here", "--threads", "1", "--no-check")
    saved = ("--save", "x=g.npy", "--save", "y=h.npy")
    assert call_cli(*arguments, "--save", "x=one.npy", "--save", "y=other.npy").returncode == 0
    computed = interrupted_after(monkeypatch, 18)
    assert call_cli(*arguments, *saved).returncode == 130
    assert not (files / "g.npy").exists()
    refused = call_cli(*arguments, *saved)
    assert refused.returncode == 2
    assert "'g.npy.partial' is of a run that was interrupted" in refused.stderr
    later = interrupted_after(monkeypatch, 10_000)
    done = call_cli(*arguments, *saved, "--resume")
    assert done.returncode == 0, done.stderr
    assert later
    assert len({*computed, *later}) == len(computed) + len(later)
    for name, wanted in (("g", "one"), ("h", "other")):
        assert (files / f"{name}.npy").read_bytes() == (files / f"{wanted}.npy").read_bytes()
    assert not list(files.glob("*.partial"))


def interrupted_after(monkeypatch, count):
    """Let so many chunks be computed; gives the list of these."""
    computed = []

    def computing(program, stage, extent, *inputs):
        if len(computed) >= count:
            raise KeyboardInterrupt
        computed.append((stage, next(given.start for given in inputs if isinstance(given, Slice))))
        return OF_CHUNK(program, stage, extent, *inputs)

    monkeypatch.setattr(runs, "_of_chunk", computing)
    return computed


@pytest.mark.parametrize(
    ("count", "memory", "many", "chunks"),
    [(1 << 20, "4GiB", 10_000, 1), (1 << 23, "4GiB", 10_000, 4), (1 << 23, "256MiB", 10_000, 16), (1 << 23, "4GiB", 2, 2)],
)
def test_chunks_are_as_large_as_memory_allows(call_cli, tmp_path, monkeypatch, count, memory, many, chunks):
    """16 MB, more where there would be very many, and a 64th of the limit at most."""
    monkeypatch.setattr(chunked, "_MANY", many)
    np.lib.format.open_memmap(tmp_path / "y.npy", "w+", np.float64, (count,))
    done = call_cli("eval", "sum(y)*w", "y=@y.npy", "w=2", "--on", "here", "--wrt", "w", "--limit", f"memory={memory}", "--format", "jsonl")
    assert f"computed in {chunks} chunk" in done.stdout, done.stderr


def test_another_run_is_not_gone_on_with(call_cli, files, monkeypatch):
    interrupted_after(monkeypatch, 5)
    monkeypatch.setattr(Here, "at_once", 1024)
    assert call_cli("eval", "sum(y**2)", "y=@y.npy", "--on", "here", "--threads", "1", "--save", "y=g.npy").returncode == 130
    interrupted_after(monkeypatch, 10_000)
    done = call_cli("eval", "sum(y**3)", "y=@y.npy", "--resume", "--save", "y=g.npy")
    assert done.returncode == 2
    assert "is of another run" in done.stderr
    np.save(files / "y.npy", Y + 1)
    assert "is of another run" in call_cli("eval", "sum(y**2)", "y=@y.npy", "--resume", "--save", "y=g.npy").stderr


def test_a_process_that_is_killed_loses_nothing(tmp_path):
    """Not even when nobody could tell it."""
    np.save(tmp_path / "y.npy", np.random.default_rng(0).normal(size=8_000_000))
    command = [*COMMAND, "eval", "sum(softmax(y)*sin(y))", "y=@y.npy", "--on", "here", "--threads", "1", "--save", "y=g.npy"]
    process = subprocess.Popen(command, cwd=tmp_path, env=plain_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    journal = tmp_path / "g.npy.partial" / "journal"
    deadline = time.monotonic() + 60
    while not (journal.exists() and journal.stat().st_size > 400) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    if process.returncode == 0:
        pytest.skip("it was done before it could be killed")
    assert not (tmp_path / "g.npy").exists()
    done = subprocess.run([*command, "--resume"], cwd=tmp_path, env=plain_environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    y = np.load(tmp_path / "y.npy")
    soft = np.exp(y - y.max())
    soft /= soft.sum()
    wanted = soft * (np.sin(y) - (soft * np.sin(y)).sum()) + soft * np.cos(y)
    np.testing.assert_allclose(np.load(tmp_path / "g.npy"), wanted, rtol=1e-10, atol=1e-18)


REFUSED = [
    (["sum(cumsum(y))", "y=@y.npy", "--on", "here"], "this cannot be computed chunk by chunk: cumsum goes along the axis that is cut"),
    (["sum(y)", "y=@y.npy", "--on", "here", "--jacobian"], "--jacobian is not for what is computed chunk by chunk"),
    (["sum(y)", "y=@y.npy", "--on", "here", "--backend", "numpy"], "--backend is not for what is computed chunk by chunk"),
    (["w*sum(y)", "y=@y.npy", "w=2±0.1", "--on", "here"], "'w' is uncertain, and what is computed chunk by chunk is exact"),
    (["sum(y)", "y=@y.npy", "--resume"], "--resume goes on with what --save writes"),
    (["sum(y)", "y=2", "--on", "here"], "there is no array to go through chunk by chunk"),
    (["sum(y)", "y=@y.npy", "--on", "nowhere"], "--on nowhere: there is no such place"),
    (["y**2", "y=@y.npy", "--on", "here"], "the value has the shape (1000,); only a scalar has a gradient without a seed"),
    (["sum(y)", "y=@z.npy", "--on", "here"], "there is no file 'z.npy'"),
    (["sum(y)", "y=@y.npy", "--on", "here", "--save", "z=g.npy"], "--save z: the result has no gradient of 'z'"),
    (["sum(y)", "y=@y.npy", "--on", "here", "--save", "y=g.csv"], "--save y=g.csv: this is not written chunk by chunk"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED, ids=[case[1] for case in REFUSED])
def test_what_is_not_done_chunk_by_chunk_is_said(call_cli, files, arguments, message):
    done = call_cli("eval", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert sorted(path.name for path in files.iterdir()) == ["x.npy", "y.npy"]
