"""Where programs, records, settings and baselines are read from: files, pipes and terminals where
streams are read, and nothing else.
"""

from __future__ import annotations

import json
import os
import re
import threading
from pathlib import Path

import numpy as np
import pytest
from recorded import over

from gradcli import GradcliError
from gradcli.files.arrays import load_array
from gradcli.files.npy import header_of
from gradcli.files.stores import lines_of
from gradcli.limits import DEFAULT

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes have names")


@pytest.fixture
def folder(monkeypatch, tmp_path) -> Path:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe.grad")
    (tmp_path / "loop.grad").symlink_to("loop.grad")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@over("checked", "no sources", "path", "stream", "message")
def test_what_is_no_source(folder, path, stream, message):
    with pytest.raises(GradcliError) as caught:
        list(lines_of(path, 1000, stream=stream))
    assert (caught.value.code, caught.value.message) == ("input", message)


def test_a_pipe_that_is_named_is_read_as_it_comes(folder):
    def write() -> None:
        with Path("pipe.grad").open("w") as pipe:
            pipe.write("x = 2\nx**2\n")

    writer = threading.Thread(target=write)
    writer.start()
    assert list(lines_of("pipe.grad", 1000, stream=True)) == ["x = 2\n", "x**2\n"]
    writer.join()
    assert list(lines_of(os.devnull, 1000, stream=True)) == []


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_pipe_in_a_folder_is_an_error_of_its_own(run_cli, folder, jobs):
    (folder / "folder" / "b.grad").write_text("2 + 2\n")
    os.mkfifo(folder / "folder" / "a.grad")
    os.mkfifo(folder / "folder" / "c.jsonl")
    done = run_cli("check", "folder", "-j", jobs)
    assert done.returncode == 2
    assert "error[input]: 'folder/a.grad' is a pipe, not a file" in done.stdout
    assert "error[input]: 'folder/c.jsonl' is a pipe, not a file" in done.stdout
    assert "2 error, 1 passed" in done.stdout


def test_what_a_shell_hands_over(run_cli, tmp_path):
    """As `-f <(command)` and `x=@<(command)`: data that such a program names are looked for in the
    current folder.
    """
    np.save(tmp_path / "y.npy", np.array([10.0, 20.0]))
    program, data = os.pipe(), os.pipe()
    for pipe, text in ((program, b"y = @y.npy\nsum(x*y)\n"), (data, b"a b\n1 2\n3 4\n")):
        os.write(pipe[1], text)
        os.close(pipe[1])
    arguments = ("-f", f"/dev/fd/{program[0]}", f"x=@/dev/fd/{data[0]}:b")
    done = run_cli(
        "eval", "--no-check", "--format", "jsonl", *arguments, pass_fds=(program[0], data[0])
    )
    os.close(program[0])
    os.close(data[0])
    assert json.loads(done.stdout)["value"] == 100


@pytest.mark.parametrize("name", ["-", "/dev/stdin", "/dev/fd/0"])
def test_names_of_standard_input(call_cli, name):
    done = call_cli(
        "eval", "--no-check", "--format", "jsonl", "sum(x)", f"x=@{name}", stdin="1 2\n"
    )
    assert json.loads(done.stdout)["value"] == 3


@over("checked", "files", "options", "line")
def test_files_of_a_check(call_cli, folder, options, line):
    (folder / "large.toml").write_text("#" * 1_100_000)
    (folder / "deep.toml").write_text("a = " + "[" * 100_000)
    assert call_cli("check", "-e", "x", "x=2", *options).stderr.splitlines()[0] == line


def test_settings_of_long_lines_are_read(call_cli, folder):
    """Points in strings are no parts of keys."""
    listed = ", ".join(f"'a.b.c=={i}.0.1'" for i in range(500))
    (folder / "own.toml").write_text(
        f"[project]\ndependencies = [{listed}]\n[tool.gradcli]\nfail-on = ['kink']\n"
    )
    assert call_cli("check", "-e", "abs(x)", "x=0", "--config", "own.toml").returncode == 1


# -- files that change while they are read
# ----------------------------------------------------------------------------


def swapped(monkeypatch, change) -> None:
    """Let a file change after it was looked at, and before it is opened."""
    look = os.stat

    def then_change(path, **options):
        status = look(path, **options)
        change()
        return status

    monkeypatch.setattr("gradcli.files.npy.os.stat", then_change)


def test_a_file_that_becomes_a_pipe(monkeypatch, folder):
    Path("x.csv").write_text("1\n")
    swapped(monkeypatch, lambda: os.replace("pipe.grad", "x.csv"))
    with pytest.raises(GradcliError, match=re.escape("'x.csv' is a pipe, not a file")):
        load_array("x.csv", DEFAULT)


def test_a_file_that_vanishes(monkeypatch, folder):
    Path("x.csv").write_text("1\n")
    swapped(monkeypatch, lambda: os.unlink("x.csv"))
    with pytest.raises(GradcliError, match=re.escape("there is no file 'x.csv'")):
        load_array("x.csv", DEFAULT)


def test_a_file_that_shrinks(monkeypatch, folder):
    np.save("x.npy", np.zeros(100_000))

    def then_shrink(stream, name, size):
        header = header_of(stream, name, size)
        os.truncate("x.npy", 50_000)
        return header

    monkeypatch.setattr("gradcli.files.npy.header_of", then_shrink)
    with pytest.raises(
        GradcliError,
        match=re.escape(
            "cannot read 'x.npy': it ends before the array does, as a file that was cut off"
        ),
    ):
        load_array("x.npy", DEFAULT)


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="who may read everything")
def test_a_file_that_may_not_be_read(folder):
    Path("x.csv").write_text("1\n")
    os.chmod("x.csv", 0)
    with pytest.raises(GradcliError, match=re.escape("cannot read 'x.csv': Permission denied")):
        load_array("x.csv", DEFAULT)
