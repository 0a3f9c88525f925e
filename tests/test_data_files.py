"""Files of numbers: what is read of them, what is refused in which words, and what `--save` writes
comes back as it was.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

PLAIN = ("--no-check", "--no-formula", "--format", "jsonl")


def value_of(call_cli, text, reference, suffix, tmp_path, **options):
    """What gradcli reads of a file with this text, or the lines that it says instead."""
    if text is not None:
        (tmp_path / f"d{suffix}").write_bytes(text if isinstance(text, bytes) else text.encode())
    done = call_cli("eval", *PLAIN, "x", f"x=@{reference}", **options)
    return json.loads(done.stdout)["value"] if done.returncode == 0 else done.stderr.splitlines()


def test_arrays_that_are_damaged(call_cli, tmp_path):
    np.save(tmp_path / "cut.npy", np.arange(10.0))
    (tmp_path / "cut.npy").write_bytes((tmp_path / "cut.npy").read_bytes()[:-20])
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    cut, objects = (
        value_of(call_cli, None, f"{name}.npy", "", tmp_path) for name in ("cut", "objects")
    )
    assert cut == [
        "error[input]: cannot read 'cut.npy': it ends before the array does, as a file that was "
        "cut off"
    ]
    assert objects == [
        "error[input]: cannot read 'objects.npy': it holds Python objects, not numbers"
    ]


# -- what is written
# ------------------------------------------------------------------------------------------------


def test_an_archive_takes_several_names(call_cli, tmp_path):
    arguments = [word for name in ("x", "file", "value") for word in ("--save", f"{name}=g.npz")]
    assert call_cli("eval", *PLAIN, "sum(x*file)", "x=1,2", "file=3", *arguments).returncode == 0
    with np.load(tmp_path / "g.npz") as archive:
        assert {name: archive[name].tolist() for name in archive} == {
            "x": [3, 3],
            "file": 3,
            "value": 9,
        }


@pytest.mark.skipif(
    not hasattr(os, "posix_fallocate"),
    reason="large results are computed into their files where there is room kept",
)
@pytest.mark.parametrize(
    ("signal_number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=str,
)
def test_no_part_of_a_file_stays_after_an_interrupt(cli_environment, tmp_path, signal_number, code):
    np.save(tmp_path / "x.npy", np.zeros(2_000_000))
    text = "sum(" + " + ".join(f"sin(x*{k})" for k in range(400)) + ")"
    before = signal.signal(
        signal_number, signal.SIG_DFL
    )  # the tests may run where it is ignored, as under nohup
    run = subprocess.Popen(
        [sys.executable, "-m", "gradcli", "eval", "--no-check", text, "x=@x.npy", "--save", "x=g.npy"], cwd=tmp_path, env=cli_environment,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    signal.signal(signal_number, before)
    until = time.monotonic() + 60
    while len(list(tmp_path.iterdir())) == 1 and time.monotonic() < until and run.poll() is None:
        time.sleep(0.01)
    assert run.poll() is None
    assert len(list(tmp_path.iterdir())) == 2, "no file was begun beside the target"
    run.send_signal(signal_number)
    run.communicate(timeout=60)
    assert (run.returncode, [path.name for path in tmp_path.iterdir()]) == (code, ["x.npy"])
