"""Files that are made to harm whoever reads them: each is an error with its place, soon, and the
next record is untouched.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from made_files import GOOD, archive, array_file, said, saved

from gradcli import GradcliError, Limits
from gradcli.files.arrays import load_array
from gradcli.files.jsonl import parse_record
from gradcli.files.npy import MAGIC, read_within
from gradcli.limits import DEFAULT

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes have names")

CUT = "it ends before the array does, as a file that was cut off"
ODD = "its header is none that NumPy writes"


def clipped(text: str) -> str:
    return text if len(text) <= 400 else f"{text[:200]} … {text[-100:]}"


def claiming(content: bytes, size: int) -> bytes:
    """An archive of one part, which says that it unpacks to this size."""
    directory = content.rindex(b"PK\x01\x02")
    return (
        content[:22]
        + struct.pack("<I", size)
        + content[26 : directory + 24]
        + struct.pack("<I", size)
        + content[directory + 28 :]
    )


def encrypted(content: bytes) -> bytes:
    directory = content.rindex(b"PK\x01\x02")
    return content[:6] + b"\1" + content[7 : directory + 8] + b"\1" + content[directory + 9 :]


FILES: dict[str, tuple[str, bytes, str, list[str]]] = {
    # name of the case: the suffix, what the file holds, the key, the error
    "cut off": (".npy", GOOD[:-1], "", [f"cannot read 'd.npy': {CUT}"]),
    "cut off in the header": (".npy", GOOD[:40], "", [f"cannot read 'd.npy': {CUT}"]),
    "cut off in the version": (".npy", GOOD[:7], "", [f"cannot read 'd.npy': {CUT}"]),
    "a shape that is a lie": (".npy", array_file(said(shape="(1000000000000,)")), "", ["cannot "
    f"read 'd.npy': {CUT}"]),
    "a shape beyond all numbers": (".npy", array_file(said(shape="(" + ("9" * 18 + ", ") * 10 + ")")), "", [f"cannot read 'd.npy': {CUT}"]),
    "a negative extent": (".npy", array_file(said(shape="(-1,)")), "", ["cannot read 'd.npy': "
    f"{ODD}"]),
    "a header that is code": (".npy", array_file("__import__('os').abort()"), "", ["cannot read "
    f"'d.npy': {ODD}"]),
    "a header as long as memory": (".npy", MAGIC + b"\2\0" + b"\xff" * 4, "", ["cannot read "
    f"'d.npy': {ODD}"]),
    "a version to come": (".npy", array_file(said(), version=9), "", [f"cannot read 'd.npy': {ODD}"]),
    "Python objects": (".npy", saved(np.array([{}], object)), "", ["cannot read 'd.npy': it holds "
    "Python objects, not numbers"]),
    "complex numbers": (".npy", saved(np.array([1j])), "", ["'d.npy' holds complex128 data, not "
    "real numbers"]),
    "structures": (".npy", saved(np.zeros(2, [("a", "f8")])), "", ["'d.npy' holds structured "
    "data, not real numbers"]),
    "a type that there is not": (".npy", array_file(said("'<f999999999'")), "", ["cannot read "
    f"'d.npy': {ODD}"]),
    "a part of one array": (".npy", GOOD, ":x", ["'d.npy' is one array; it has no parts", " = "
    "help: write @d.npy"]),
    "an archive named .npy": (".npy", archive({"x.npy": GOOD}), "",
        ["'d.npy' is not an array in NumPy's format: it begins with b'PK\\x03\\x04\\x14\\x00'"]),
    "an array named .npz": (".npz", GOOD, "",
        ["'d.npz' is not a .npz archive: it begins with b'\\x93NUM'", " = help: it is one array; "
        "give it a name that ends in .npy"]),
    "a part that is no array": (".npz", archive({"x": b"hello"}), ":x",
        ["'d.npz:x' is not an array in NumPy's format: it begins with b'hello'"]),
    "a part of objects": (".npz", archive({"x.npy": saved(np.array([{}], object))}), "",
        ["cannot read 'd.npz:x': it holds Python objects, not numbers"]),
    "a part that is cut off": (".npz", archive({"x.npy": GOOD[:-1]}), "", ["cannot read "
    f"'d.npz:x': {CUT}"]),
    "a part that is larger than it says": (".npz", claiming(archive({"x.npy": GOOD}), 150), "",
        ["cannot read 'd.npz': Bad CRC-32 for file 'x.npy'"]),
    "a part that is smaller than it says": (".npz", claiming(archive({"x.npy": array_file(said(shape="(9,)"))}), 500), "",
        [f"cannot read 'd.npz:x': {CUT}"]),
    "a part that was changed": (".npz", archive({"x.npy": GOOD}, zipfile.ZIP_STORED).replace(GOOD[-4:], b"abcd"), "",
        ["cannot read 'd.npz': Bad CRC-32 for file 'x.npy'"]),
    "a part that occurs twice": (".npz", archive({"x.npy": GOOD, "x.npy'": GOOD}), ":x", ["'d.npz' has the key 'x' 2 times"]),
    "a part that is encrypted": (".npz", encrypted(archive({"x.npy": GOOD})), "", ["cannot read "
    "'d.npz:x': it is encrypted"]),
    "an archive of nothing": (".npz", archive({}), "", ["'d.npz' needs a key", " = help: it holds "
    "nothing"]),
    "an archive that is cut off": (".npz", archive({"x.npy": GOOD})[:-30], "",
        ["cannot read 'd.npz': it has no directory at its end, as a file that was cut off"]),
    "a long cell in quotes": (".csv", b'a,b\n1,"' + b"1" * 140_000 + b'"\n', ":a",
        ["'d.csv', line 2: a cell has more than 131,072 characters", " = help: is a quote not "
        "closed?"]),
    "a long cell of no number": (".csv", b"x\n" + b"1" * 140_000 + b"x\n", "",
        ["'d.csv', line 2: a cell has more than 131,072 characters", " = help: is a quote not "
        "closed?"]),
    "a column of many digits": (".csv", b"1\n2\n", ":" + "9" * 5000, ["'d.csv' has no column "
    f"'{'9' * 5000}'",
        " = help: columns are numbered 0 to 0"]),
    "JSON that is deep": (".json", b"[" * 100_000, "", ["cannot read 'd.json': nested too deeply"]),
    "JSON of more axes than there are": (".json", b"[" * 50 + b"1" + b"]" * 50, "", ["an array of "
    "50 axes is over the limit of 32"]),
    "JSON of many digits": (".json", b"[" + b"1" * 5000 + b"]", "", ["cannot read 'd.json': a "
    "whole number has too many digits"]),
    "JSON beyond all floats": (".json", b"[1, Infinity, -1e309]", "", ["cannot read 'd.json': "
    "-1e309 is too large for a float"]),
    "a table beyond all floats": (".csv", b"a,b\ninf,1e309\n", "", ["'d.csv', line 2, column 2: "
    "1e309 is too large for a float"]),
    "a table below all floats": (".csv", b"a,b\n0e-400,1e-400\n", "", ["'d.csv', line 2, column 2: "
    "1e-400 is too small for a float"]),
    "JSON with a name twice": (".json", b'{"x": 1, "x": 2}', ":x", ["cannot read 'd.json': 'x' "
    "occurs twice"]),
    "JSON of rows that differ": (".json", b"[[1, 2], [3]]", "", ["'d.json' is not a number or a "
    "regular array of numbers"]),
    "JSON of a long string": (".json", b'["' + b"a" * 100_000 + b'"' + b", 1" * 1000 + b"]", "",
        ["'d.json' is not a number or a regular array of numbers"]),
    "no text": (".txt", b"1\n\xff\n", "", ["cannot read 'd.txt': it is not UTF-8 text (byte 3)"]),
}  # fmt: skip


def make_special(folder: Path) -> None:
    """What is no file, and a link to itself."""
    (folder / "folder.npy").mkdir()
    os.mkfifo(folder / "pipe.npy")
    (folder / "loop.npy").symlink_to("loop.npy")
    (folder / "zero.csv").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(folder / "socket.npy"))  # whose name may have a hundred bytes


OUT = " = help: put the data in or below that folder"
SPECIAL: dict[str, list[str]] = {
    "folder.npy": ["'folder.npy' is a folder, not a file"],
    "pipe.npy": ["'pipe.npy' is a pipe, not a file"],
    "pipe.npy:x": ["'pipe.npy' is a pipe, not a file"],
    "socket.npy": ["'socket.npy' is a socket, not a file"],
    "loop.npy": ["'loop.npy' is a link that leads back to itself"],
    "zero.csv": ["'@zero.csv' leads out of the folder of the file that names it", OUT],
    "/dev/zero": ["'@/dev/zero' leads out of the folder of the file that names it", OUT],
    "/dev/stdin": ["'@/dev/stdin' leads out of the folder of the file that names it", OUT],
    "/dev/fd/0": ["'@/dev/fd/0' leads out of the folder of the file that names it", OUT],
    "-": ["'@-' is for bindings on the command line", " = help: here, name a file"],
    "gone.npy": ["there is no file 'gone.npy'"],
    "a" * 300 + ".npy:k": [f"cannot read '{'a' * 300}.npy': File name too long"],
    "d.xyz": [
        "cannot tell how to read 'd.xyz'",
        " = help: the formats are .npy, .npz, .csv, .tsv, .txt, .dat, .zarr, .h5, .hdf5, .parquet "
        "and .json",
    ],
}
ON_THE_COMMAND_LINE = {
    "zero.csv": ["'zero.csv' is a device, not a file"],
    "/dev/zero": ["'/dev/zero' is a device, not a file"],
}
UNNAMEABLE = {
    "a\0b.npy": ["no file can have the name 'a\0b.npy'"],
    "": ["no file can have the name ''"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made: Path = tmp_path_factory.mktemp("hostile")
    for i, (suffix, content, _, _) in enumerate(FILES.values()):
        (made / f"d{i}{suffix}").write_bytes(content)
    (made / "d.xyz").write_bytes(b"1\n")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(made)
        make_special(made)
    return made


def references() -> dict[str, list[str]]:
    """What is named, and the lines of the error, wherever it is named."""
    files = {
        f"d{i}{suffix}{key}": [clipped(line.replace("d.", f"d{i}.", 1)) for line in lines]
        for i, (suffix, _, key, lines) in enumerate(FILES.values())
    }
    return {**files, **SPECIAL}


def lines_of(error: dict[str, str]) -> list[str]:
    """The lines of an error in JSON, without its place."""
    assert error["code"] in ("input", "limit")
    return [error["message"], *([f" = help: {error['help']}"] if error["help"] else [])]


def test_they_are_refused_in_records(call_cli, folder):
    wanted = references() | UNNAMEABLE
    good = {"expr": "2*x", "at": {"x": 4}}
    records = [
        record for name in wanted for record in ({"expr": "sum(x)", "at": {"x": f"@{name}"}}, good)
    ]
    text = "".join(json.dumps(record) + "\n" for record in records)
    done = call_cli(
        "eval", "--no-check", "--format", "jsonl", "-i", "jsonl", cwd=folder, stdin=text
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert {
        name: lines_of(record["error"]) for name, record in zip(wanted, found[::2], strict=True)
    } == wanted
    assert [record["value"] for record in found[1::2]] == [8] * len(wanted)
    (folder / "records.jsonl").write_text(text)
    done = call_cli("check", "records.jsonl", "--report", "json=-", cwd=folder)
    found = json.loads(done.stdout)
    assert {
        name: lines_of(record["error"]) for name, record in zip(wanted, found[::2], strict=True)
    } == wanted
    assert {record["outcome"]["status"] for record in found[1::2]} == {"passed"}
    assert done.returncode == 2


@pytest.mark.ci
def test_they_are_refused_in_programs(run_cli, folder):
    wanted = references()
    (folder / "program.grad").write_text(
        "".join(f"x = @{name}\n2*{i}\n" for i, name in enumerate(wanted))
    )
    for command in (
        ["eval", "--no-check", "--format", "jsonl", "-f"],
        ["check", "--report", "json=-"],
    ):
        done = run_cli(*command, "program.grad", cwd=folder)
        found = (
            json.loads(done.stdout)
            if command[0] == "check"
            else [json.loads(line) for line in done.stdout.splitlines()]
        )
        assert {
            name: lines_of(record["error"]) for name, record in zip(wanted, found[::2], strict=True)
        } == wanted
        assert [record["source"]["line"] for record in found] == list(range(1, 2 * len(wanted) + 1))
        assert [record["value"] for record in found[1::2]] == [2 * i for i in range(len(wanted))]


def test_they_are_refused_on_the_command_line(monkeypatch, folder):
    monkeypatch.chdir(folder)
    wanted = references() | ON_THE_COMMAND_LINE | UNNAMEABLE
    for reference, lines in wanted.items():
        if reference in ("-", "/dev/stdin", "/dev/fd/0"):
            continue  # which stand for standard input there
        with pytest.raises(GradcliError) as caught:
            load_array(reference, DEFAULT)
        assert (
            lines_of(
                {
                    "code": caught.value.code,
                    "message": caught.value.message,
                    "help": caught.value.help,
                }
            )
            == lines
        ), reference


def test_an_error_shows_where_the_file_is_named(call_cli, folder):
    (folder / "shown.grad").write_text("a = 3\nx = @pipe.npy\nx + a\na**2\n")
    assert call_cli("eval", "--no-check", "-f", "shown.grad", cwd=folder).stderr.splitlines() == [
        "error[input]: 'pipe.npy' is a pipe, not a file",
        "  --> shown.grad:2:1",
        "2 | x = @pipe.npy",
        "  | ^^^^^^^^^^^^^",
        "error[missing-value]: 'x' has no value: it is set or changed by line 2, which has an error",
        "  --> shown.grad:3:1",
        "3 | x + a",
        "  | ^",
    ]
    done = call_cli("eval", "x", "x=@pipe.npy", cwd=folder)
    assert (done.returncode, done.stderr) == (2, "error[input]: 'pipe.npy' is a pipe, not a file\n")


# -- memory
# ---------------------------------------------------------------------------------------------------------

FEW = Limits(entries=1000)
MB = 1 << 20
ENTRIES = "an array of {:,} entries is over the limit of {:,}"
BOMBS: dict[str, tuple[str, bytes, Limits, str]] = {
    # a file that would unpack to more than there may be: its suffix, content, limits, error
    "an archive": (".npz", archive({"x.npy": saved(np.zeros(4 * MB))}), FEW, ENTRIES.format(4 * MB, 1000)),
    "an archive that says so": (".npz", claiming(archive({"x.npy": array_file(said(shape="(400000000,)"))}), 3_300_000_000), DEFAULT,
        ENTRIES.format(400_000_000, 100_000_000)),
    "an archive that says less": (".npz", claiming(archive({"x.npy": saved(np.zeros(4 * MB))}), 900), DEFAULT,
        "cannot read 'd.npz': Bad CRC-32 for file 'x.npy'"),
    "an archive of a long header": (".npz", archive({"x.npy": MAGIC + b"\2\0" + struct.pack("<I", 40 * MB) + b" " * (40 * MB)}), DEFAULT,
        f"cannot read '@': {ODD}"),
    "an array": (".npy", saved(np.zeros(4 * MB, "i1")), FEW, ENTRIES.format(4 * MB, 1000)),
    "strings": (".json", json.dumps(["a" * 10_000] + [1] * 20_000).encode(), DEFAULT, "'@' is not "
    "a number or a regular array of numbers"),
    "numbers and a string": (".json", json.dumps([1] * 20_000 + ["0" * 10_000 + "x"]).encode(), DEFAULT,
        "'@' is not a number or a regular array of numbers"),
    "rows": (".csv", b"1,2\n" * 501, FEW, ENTRIES.format(1002, 1000)),
    "cells": (".csv", b"1," * 1000 + b"1\n", FEW, ENTRIES.format(1001, 1000)),
    "lists": (".json", b"[" + b"[]," * 20_000 + b"[1]]", DEFAULT, "'@' is not a number or a "
    "regular array of numbers"),
}  # fmt: skip


@pytest.mark.parametrize(("suffix", "content", "limits", "message"), BOMBS.values(), ids=BOMBS)
def test_nothing_larger_than_the_limits_is_made(
    monkeypatch, tmp_path, suffix, content, limits, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"d{suffix}").write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(GradcliError) as caught:
            load_array(f"d{suffix}", limits, Path())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert caught.value.message == message.replace(
        "@", f"d{suffix}" + (":x" if suffix == ".npz" else "")
    )
    assert peak < 4 * MB, f"{peak:,} bytes"


SMALL = Limits(memory=10_000_000)
NO_ROOM: dict[str, tuple[str, bytes, str]] = {
    # a text of which more would be made than there may be: its suffix, content, error
    "lists": (
        ".json",
        b"[" + b"[]," * 200_000 + b"[]]",
        "what 'd.json' holds needs 18.1 MB, over the memory limit of 10 MB",
    ),
    "objects": (
        ".json",
        b"[" + b'{"":0},' * 60_000 + b"1]",
        "what 'd.json' holds needs 12.7 MB, over the memory limit of 10 MB",
    ),
}


@pytest.mark.parametrize(("suffix", "content", "message"), NO_ROOM.values(), ids=NO_ROOM)
def test_no_more_is_made_of_a_text_than_memory_has_room_for(tmp_path, suffix, content, message):
    (tmp_path / f"d{suffix}").write_bytes(content)
    with pytest.raises(GradcliError) as caught:
        load_array(f"d{suffix}", SMALL, tmp_path)
    assert caught.value.message == message
    if suffix == ".json":
        with pytest.raises(GradcliError, match=r"a record needs .* over the memory limit of 10 MB"):
            parse_record(f'{{"expr": "x", "at": {{"x": {content.decode()}}}}}', SMALL, None)


@pytest.mark.parametrize("suffix", [".csv", ".json"])
def test_a_text_is_not_read_if_it_has_no_room(tmp_path, suffix):
    """A sparse file of a terabyte, which takes no room on the disk."""
    (tmp_path / f"d{suffix}").touch()
    os.truncate(tmp_path / f"d{suffix}", 10**12)
    with pytest.raises(GradcliError) as caught:
        load_array(f"d{suffix}", Limits(memory=10**9), tmp_path)
    needs = {".csv": "6 TB", ".json": "4 TB"}[suffix]
    assert (
        caught.value.message == f"reading 'd{suffix}' needs {needs}, over the memory limit of 1 GB"
    )


def test_no_more_is_read_of_a_pipe_than_memory_has_room_for():
    with Path("/dev/zero").open("rb") as endless, pytest.raises(GradcliError) as caught:
        read_within(endless, "standard input", SMALL)
    assert (
        caught.value.message
        == "'standard input' holds more than 5,000,000 bytes, over the memory limit"
    )


def test_a_directory_of_millions_is_not_read(tmp_path):
    (tmp_path / "d.npz").write_bytes(
        b"PK\x03\x04" + b"PK\x05\x06" + struct.pack("<4H2LH", 0, 0, 0, 0, 1 << 31, 0, 0)
    )
    os.truncate(tmp_path / "d.npz", 1 << 32)
    with (tmp_path / "d.npz").open("ab") as file:
        file.write(b"PK\x05\x06" + struct.pack("<4H2LH", 0, 0, 65535, 65535, 1 << 31, 0, 0))
    with pytest.raises(GradcliError) as caught:
        load_array("d.npz", DEFAULT, tmp_path)
    assert (
        caught.value.message
        == "the directory of 'd.npz' has 2,147,483,648 bytes, over the limit of 16,777,216"
    )


def test_a_list_beside_a_long_string_in_a_record():
    record = json.dumps({"expr": "x", "at": {"x": ["a" * 200_000] + [1] * 200_000}})
    tracemalloc.start()
    try:
        with pytest.raises(GradcliError, match="is not a number or a regular array of numbers"):
            parse_record(record, DEFAULT, None)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20 * MB, f"{peak:,} bytes"
