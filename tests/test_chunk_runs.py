"""``gradcli eval --on here``: results chunk by chunk, files that are whole or not there."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pytest
from checking import partial, planted, times

import gradcli
from gradcli.cli.decide import chunked
from gradcli.files.arrays import load_array
from gradcli.limits import DEFAULT
from gradcli.query.chunked import runs
from gradcli.query.chunked.executors import Here

X = np.random.default_rng(0).normal(size=(1000, 3))
Y = np.sign(X @ [1.0, -2.0, 0.5])
LOSS = "mean(log(1 + exp(-y*(x @ w)))) + 0.1*sum(w**2)"
W = {"w": [0.1, 0.2, 0.3]}
OF_CHUNK = runs.of_chunk


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setattr(Here, "at_once", 4096)  # some forty rows
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y)
    return tmp_path


@pytest.fixture
def here(call_cli):
    """Run a typed `gradcli eval` chunk by chunk."""
    return lambda line: call_cli("eval", *shlex.split(line), "--on", "here")


def record(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_result_is_that_of_the_whole(here, files):
    value, gradients = gradcli.value_and_grad(LOSS)(x=X, y=Y, **W)
    found = record(here(f"'{LOSS}' x=@x.npy y=@y.npy w=0.1,0.2,0.3 --format jsonl"))
    np.testing.assert_allclose(found["value"], value, rtol=1e-14)
    for name, gradient in gradients.items():
        np.testing.assert_allclose(found["grad"][name], gradient, rtol=1e-12)
    (note,) = found["warnings"]
    assert (
        note
        == "computed in 8 chunks; cross-checked on the first 256 of 1,000 entries along the cut: "
        "agree"
    )
    assert found["check"] is None


def test_without_a_check_it_is_said(here, files):
    found = record(here("sum(y)*s y=@y.npy s=2 --wrt s --no-check --format jsonl"))
    assert found["warnings"] == ["computed in 2 chunks; not cross-checked"]


def test_a_wrong_rule_is_found_before_the_work(here, files):
    with planted("tanh", **partial(0, times(1.001))):
        done = here("'sum(tanh(y))' y=@y.npy --save y=g.npy --format jsonl")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["check"]["verdict"] == "mismatch"
    assert (
        found["warnings"][-1]
        == "computed in 2 chunks; cross-checked on the first 1,000 of 1,000 entries along the "
        "cut: mismatch"
    )


def test_what_cannot_be_held_says_why(here, files):
    found = record(here("'sum(y > 0)' y=@y.npy --format jsonl"))
    assert found["warnings"][0].startswith("computed in 2 chunks; ")


@pytest.mark.parametrize("suffix", ["npy", "zarr", "h5", "parquet"])
def test_gradients_go_to_files(here, files, suffix):
    if suffix != "npy":
        pytest.importorskip(
            {"zarr": "zarr", "h5": "h5py", "parquet": "pyarrow"}[suffix],
            reason="not installed here",
        )
    done = here(f"'sum(softmax(y)*y)' y=@y.npy --save y=g.{suffix} --save value=v.npy")
    assert done.returncode == 0, done.stderr
    assert f"the gradient of y is in g.{suffix}" in done.stdout
    _, gradients = gradcli.value_and_grad("sum(softmax(y)*y)")(y=Y)
    found = load_array(str(files / f"g.{suffix}"), DEFAULT)
    np.testing.assert_allclose(found, gradients["y"], rtol=1e-12)
    assert left(files) == sorted(["x.npy", "y.npy", f"g.{suffix}", "v.npy"])


def left(folder):
    return sorted(path.name for path in folder.iterdir())


def test_an_interrupted_run_leaves_no_file(here, files, monkeypatch):
    """Of two stages, in the middle of the second."""
    line = (
        "'sum(softmax(y)*x[:, 0])' x=@x.npy y=@y.npy --threads 1 --no-check "
        "--save x=g.npy --save y=h.npy"
    )
    computed = []

    def computing(*given):
        computed.append(given)
        if len(computed) > 18:
            raise KeyboardInterrupt
        return OF_CHUNK(*given)

    with monkeypatch.context() as patched:
        patched.setattr(runs, "of_chunk", computing)
        assert here(line).returncode == 130
    assert left(files) == ["x.npy", "y.npy"]
    assert here(line).returncode == 0


def test_a_file_that_another_run_writes_is_left_to_it(here, files):
    (files / "h.npy.partial").mkdir()
    line = "'sum(x[:, 0]*y)' x=@x.npy y=@y.npy --save x=g.npy --save y=h.npy"
    done = here(line)
    assert done.returncode == 2
    assert "h.npy.partial' is of another run, which writes that file or was killed" in done.stderr
    assert left(files) == ["h.npy.partial", "x.npy", "y.npy"]
    (files / "h.npy.partial").rmdir()
    assert here(line).returncode == 0


@pytest.mark.parametrize(
    ("count", "memory", "many", "chunks"),
    [
        (1 << 20, "4GiB", 10_000, 1),
        (1 << 23, "4GiB", 10_000, 4),
        (1 << 23, "256MiB", 10_000, 16),
        (1 << 23, "4GiB", 2, 2),
    ],
)
def test_chunks_are_as_large_as_memory_allows(
    here, tmp_path, monkeypatch, count, memory, many, chunks
):
    """16 MB, more where there would be very many, and a 64th of the limit at most."""
    monkeypatch.setattr(chunked, "_MANY", many)
    np.lib.format.open_memmap(tmp_path / "y.npy", "w+", np.float64, (count,))
    done = here(f"'sum(y)*w' y=@y.npy w=2 --wrt w --limit memory={memory} --format jsonl")
    assert f"computed in {chunks} chunk" in done.stdout, done.stderr
