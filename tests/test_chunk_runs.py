"""``gradcli eval --on here``: results chunk by chunk, files that are whole or not there."""

from __future__ import annotations

import json

import numpy as np
import pytest
from checking import partial, planted, times

import gradcli
from gradcli.cli.decide import chunked
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


def record(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_result_is_that_of_the_whole(call_cli, files):
    value, gradients = gradcli.value_and_grad(LOSS)(x=X, y=Y, **W)
    found = record(
        call_cli(
            "eval",
            LOSS,
            "x=@x.npy",
            "y=@y.npy",
            "w=0.1,0.2,0.3",
            "--on",
            "here",
            "--format",
            "jsonl",
        )
    )
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


def test_without_a_check_it_is_said(call_cli, files):
    found = record(
        call_cli(
            "eval",
            "sum(y)*s",
            "y=@y.npy",
            "s=2",
            "--wrt",
            "s",
            "--on",
            "here",
            "--no-check",
            "--format",
            "jsonl",
        )
    )
    assert found["warnings"] == ["computed in 2 chunks; not cross-checked"]


def test_a_wrong_rule_is_found_before_the_work(call_cli, files):
    with planted("tanh", **partial(0, times(1.001))):
        done = call_cli(
            "eval",
            "sum(tanh(y))",
            "y=@y.npy",
            "--on",
            "here",
            "--save",
            "y=g.npy",
            "--format",
            "jsonl",
        )
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["check"]["verdict"] == "mismatch"
    assert (
        found["warnings"][-1]
        == "computed in 2 chunks; cross-checked on the first 1,000 of 1,000 entries along the "
        "cut: mismatch"
    )


def test_chunks_that_come_together_wrongly_are_found(call_cli, files, monkeypatch):
    monkeypatch.setattr(runs, "fold_parts", lambda names, parts: parts[0])
    done = call_cli(
        "eval", "sum(y**2)*s", "y=@y.npy", "s=2", "--wrt", "s", "--on", "here", "--format", "jsonl"
    )
    assert done.returncode == 1
    assert "the value of the first 1,000 entries is another in chunks than at once" in done.stdout


def test_what_cannot_be_held_says_why(call_cli, files):
    found = record(call_cli("eval", "sum(y > 0)", "y=@y.npy", "--on", "here", "--format", "jsonl"))
    assert found["warnings"][0].startswith("computed in 2 chunks; ")


@pytest.mark.parametrize("suffix", ["npy", "zarr", "h5", "parquet"])
def test_gradients_go_to_files(call_cli, files, suffix):
    if suffix != "npy":
        pytest.importorskip(
            {"zarr": "zarr", "h5": "h5py", "parquet": "pyarrow"}[suffix],
            reason="not installed here",
        )
    done = call_cli(
        "eval",
        "sum(softmax(y)*y)",
        "y=@y.npy",
        "--on",
        "here",
        "--save",
        f"y=g.{suffix}",
        "--save",
        "value=v.npy",
    )
    assert done.returncode == 0, done.stderr
    assert f"the gradient of y is in g.{suffix}" in done.stdout
    _, gradients = gradcli.value_and_grad("sum(softmax(y)*y)")(y=Y)
    np.testing.assert_allclose(_loaded(files / f"g.{suffix}"), gradients["y"], rtol=1e-12)
    assert sorted(path.name for path in files.iterdir()) == sorted(
        ["x.npy", "y.npy", f"g.{suffix}", "v.npy"]
    )


def _loaded(path):
    from gradcli.files.arrays import load_array
    from gradcli.limits import DEFAULT

    return load_array(str(path), DEFAULT)


def test_an_interrupted_run_leaves_no_file(call_cli, files, monkeypatch):
    """Of two stages, in the middle of the second."""
    arguments = (
        "eval",
        "sum(softmax(y)*x[:, 0])",
        "x=@x.npy",
        "y=@y.npy",
        "--on",
        "here",
        "--threads",
        "1",
        "--no-check",
    )
    saved = ("--save", "x=g.npy", "--save", "y=h.npy")
    computed = []

    def computing(*given):
        computed.append(given)
        if len(computed) > 18:
            raise KeyboardInterrupt
        return OF_CHUNK(*given)

    with monkeypatch.context() as patched:
        patched.setattr(runs, "of_chunk", computing)
        assert call_cli(*arguments, *saved).returncode == 130
    assert sorted(path.name for path in files.iterdir()) == ["x.npy", "y.npy"]
    assert call_cli(*arguments, *saved).returncode == 0


def test_a_file_that_another_run_writes_is_left_to_it(call_cli, files):
    (files / "h.npy.partial").mkdir()
    arguments = (
        "eval",
        "sum(x[:, 0]*y)",
        "x=@x.npy",
        "y=@y.npy",
        "--on",
        "here",
        "--save",
        "x=g.npy",
        "--save",
        "y=h.npy",
    )
    done = call_cli(*arguments)
    assert done.returncode == 2
    assert "h.npy.partial' is of another run, which writes that file or was killed" in done.stderr
    assert sorted(path.name for path in files.iterdir()) == ["h.npy.partial", "x.npy", "y.npy"]
    (files / "h.npy.partial").rmdir()
    assert call_cli(*arguments).returncode == 0


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
    call_cli, tmp_path, monkeypatch, count, memory, many, chunks
):
    """16 MB, more where there would be very many, and a 64th of the limit at most."""
    monkeypatch.setattr(chunked, "_MANY", many)
    np.lib.format.open_memmap(tmp_path / "y.npy", "w+", np.float64, (count,))
    done = call_cli(
        "eval",
        "sum(y)*w",
        "y=@y.npy",
        "w=2",
        "--on",
        "here",
        "--wrt",
        "w",
        "--limit",
        f"memory={memory}",
        "--format",
        "jsonl",
    )
    assert f"computed in {chunks} chunk" in done.stdout, done.stderr


REFUSED = [
    (
        ["sum(cumsum(y))", "y=@y.npy", "--on", "here"],
        "this cannot be computed chunk by chunk: cumsum goes along the axis that is cut",
    ),
    (
        ["sum(y)", "y=@y.npy", "--on", "here", "--jacobian"],
        "--on and --jacobian exclude each other",
    ),
    (
        ["sum(y)", "y=@y.npy", "--on", "here", "--backend", "numpy"],
        "--on and --backend exclude each other",
    ),
    (
        ["w*sum(y)", "y=@y.npy", "w=2±0.1", "--on", "here"],
        "'w' is uncertain, and what is computed chunk by chunk is exact",
    ),
    (["sum(y)", "y=2", "--on", "here"], "there is no array to go through chunk by chunk"),
    (["sum(y)", "y=@y.npy", "--on", "nowhere"], "--on nowhere: there is no such place"),
    (
        ["y**2", "y=@y.npy", "--on", "here"],
        "the value has the shape (1000,); only a scalar has a gradient without a seed",
    ),
    (["sum(y)", "y=@z.npy", "--on", "here"], "there is no file 'z.npy'"),
    (
        ["sum(y)", "y=@y.npy", "--on", "here", "--save", "z=g.npy"],
        "--save z: the result has no gradient of 'z'",
    ),
    (
        ["sum(y)", "y=@y.npy", "--on", "here", "--save", "y=g.csv"],
        "--save y=g.csv: this is not written chunk by chunk",
    ),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED, ids=[case[1] for case in REFUSED])
def test_what_is_not_done_chunk_by_chunk_is_said(call_cli, files, arguments, message):
    done = call_cli("eval", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert sorted(path.name for path in files.iterdir()) == ["x.npy", "y.npy"]
