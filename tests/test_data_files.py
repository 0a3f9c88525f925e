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


TABLES = {
    "tabs": (".tsv", "a\tb c\n1\t2\n3\t4\n", "d.tsv:b c", [2, 4]),
    "tabs in a .csv": (".csv", "a\tb\n1\t2\n", "d.csv", [[1, 2]]),
    "blanks": (".txt", " 1  2\n 3  4\n", "d.txt", [[1, 2], [3, 4]]),
    "a vector": (".dat", "1.5\n-2e3\n+.5\n", "d.dat", [1.5, -2000, 0.5]),
    "comments": (".dat", "# made by hand\n\n1 2 # first\n# more\n3 4\n", "d.dat:1", [2, 4]),
    "a heading in a comment": (".txt", "# t x\n1 2\n3 4\n", "d.txt:x", [2, 4]),
    "a comment that is no heading": (".txt", "# three words here\n1 2\n", "d.txt", [[1, 2]]),
    "commas in a .txt": (".txt", "t, x\n1, 2\n3, 4\n", "d.txt:x", [2, 4]),
    "tabs in a .txt with blanks in the heading": (
        ".txt",
        "mass kg\tlen m\n1\t2\n",
        "d.txt:len m",
        [2],
    ),
    "semicolons": (".csv", "a;b\n1;2\n", "d.csv:b", [2]),
    "decimal commas": (".csv", "a;b\n1,5;2\n-0,25;1,234\n", "d.csv", [[1.5, 2], [-0.25, 1.234]]),
    "decimal commas between blanks": (".txt", "a b\n1,5 2\n", "d.txt:a", [1.5]),
    "quoted decimal commas": (".csv", 'a,b\n"1,5",2\n', "d.csv", [[1.5, 2]]),
    "a semicolon in a quoted heading": (".csv", '"a;b",c\n1,2\n', "d.csv:c", [2]),
    "an empty cell": (".csv", "a,b\n1,\n,2\n", "d.csv", [[1, "nan"], ["nan", 2]]),
    "text in a column that is not asked for": (
        ".csv",
        "day,x\nMonday,1\nTuesday,2\n",
        "d.csv:x",
        [1, 2],
    ),
    "a heading of years": (".csv", "country,2001,2002\nA,3,4\n", "d.csv:2002", [4]),
    "words for numbers": (".csv", "x\nNaN\n-inf\nInfinity\n", "d.csv", ["nan", "-inf", "inf"]),
    "a byte order mark and CRLF": (".csv", "\ufeffa,b\r\n1,2\r\n", "d.csv:a", [1]),
    "capitals": (".CSV", "a,b\n1,2\n", "d.CSV:a", [1]),
}


@pytest.mark.parametrize(("suffix", "text", "reference", "value"), TABLES.values(), ids=TABLES)
def test_tables(call_cli, tmp_path, suffix, text, reference, value):
    assert value_of(call_cli, text, reference, suffix, tmp_path) == value


POINTS = (
    " = help: numbers have decimal points; with commas in them, columns are separated by semicolons"
)
THOUSANDS = " = help: write decimal points, and nothing between thousands"
HEADING = (
    " = help: to read it as one, name a column after a colon, as in @FILE:NAME; as numbers, "
    "correct the cell"
)
REFUSED = {
    "a row of another length": (".csv", "a,b\n1,2\n\n3\n", "d.csv", ["'d.csv', line 4: 1 cell, "
    "where the heading has 2"]),
    "a row of another length without a heading": (".txt", "1 2\n3 4 5\n", "d.txt",
        ["'d.txt', line 2: 3 cells, where the first row has 2", POINTS]),
    "decimal commas between commas": (".csv", "a,b\n1,5,2\n", "d.csv", ["'d.csv', line 2: 3 "
    "cells, where the heading has 2", POINTS]),
    "text": (".csv", "a,b\n1,2\n3,four\n", "d.csv", ["'d.csv', line 3, column 2: 'four' is not a "
    "number"]),
    "a number with a unit": (".dat", "1.5\n2.5m\n", "d.dat", ["'d.dat', line 2, column 1: '2.5m' "
    "is not a number"]),
    "an underscore": (".csv", "1_0\n2\n", "d.csv:x", ["'d.csv' has no column 'x'", " = help: it "
    "has 1_0"]),
    "a first row with a slip": (".csv", "1,2x\n3,4\n", "d.csv",
        ["'d.csv', line 1: '2x' is not a number, and '1' is one: is this row a heading?", HEADING]),
    "a first row with a slip, by number": (".csv", "1,2x\n3,4\n", "d.csv:1",
        ["'d.csv', line 1: '2x' is not a number, and '1' is one: is this row a heading?", HEADING]),
    "a comma with two readings": (".csv", "a;b\n1,500;2\n", "d.csv",
        ["'d.csv', line 2, column 1: '1,500' is 1.500 or 1500", THOUSANDS]),
    "quoted thousands": (".csv", 'a,b\n"1,500",2\n', "d.csv", ["'d.csv', line 2, column 1: "
    "'1,500' is 1.500 or 1500", THOUSANDS]),
    "points and commas": (".csv", "a;b\n1,5;2\n2.5;3\n", "d.csv",
        ["'d.csv', line 2, column 1: '1,5' has a comma, and '2.5' on line 3 a point",
         " = help: write decimal points throughout, and nothing between thousands"]),
    "both in one number": (".csv", "a;b\n1.234,5;2\n", "d.csv",
        ["'d.csv', line 2, column 1: '1.234,5' is not a number", " = help: a number has a point, "
        "never a comma"]),
    "nothing": (".csv", "", "d.csv", ["'d.csv' is empty"]),
    "only comments": (".dat", "# nothing\n", "d.dat", ["'d.dat' has no rows below its comments"]),
    "no such column": (".tsv", "price\tsize\n1\t2\n", "d.tsv:prise", ["'d.tsv' has no column "
    "'prise'", " = help: did you mean 'price'?"]),
    "two columns of a name": (".csv", "a,a\n1,2\n", "d.csv:a", ["'d.csv' has 2 columns 'a'", " = "
    "help: write their numbers, 0 to 1"]),
    "Latin-1": (".csv", b"T in \xb0C\n1\n", "d.csv", ["cannot read 'd.csv': it is not UTF-8 text "
    "(byte 6)"]),
    "another suffix": (".xlsx", "1\n", "d.xlsx",
        ["cannot tell how to read 'd.xlsx'",
         " = help: the formats are .npy, .npz, .csv, .tsv, .txt, .dat, .zarr, .h5, .hdf5, "
         ".parquet and .json"]),
    "garbage for an array": (".npy", "no array at all\n", "d.npy", ["'d.npy' is not an array in "
    "NumPy's format: it begins with b'no arr'"]),
    "nothing for an array": (".npy", "", "d.npy", ["'d.npy' is empty"]),
    "garbage for an archive": (".npz", "no archive\n", "d.npz", ["'d.npz' is not a .npz archive: "
    "it begins with b'no a'"]),
    "JSON of several": (".json", '{"x": [1], "y": 2}', "d.json",
        ["'d.json' needs a key", " = help: write @d.json:KEY with KEY one of x, y"]),
}  # fmt: skip


@pytest.mark.parametrize(("suffix", "text", "reference", "lines"), REFUSED.values(), ids=REFUSED)
def test_tables_that_are_refused(call_cli, tmp_path, suffix, text, reference, lines):
    assert value_of(call_cli, text, reference, suffix, tmp_path) == [
        f"error[input]: {lines[0]}",
        *lines[1:],
    ]


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


def bytes_of(save):
    from io import BytesIO

    stream = BytesIO()
    save(stream)
    return stream.getvalue()


PIPED = {
    "an array": (bytes_of(lambda f: np.save(f, np.array([1.5, 2.0]))), "-", [1.5, 2]),
    "an archive": (bytes_of(lambda f: np.savez(f, a=np.array([1.5]), b=np.array(2.0))), "-:b", 2),
    "JSON": (b' [[1, "nan"]]', "-", [[1, "nan"]]),
    "JSON by key": (b'{"a": [1, 2]}', "-:a", [1, 2]),
    "a table": (b"a,b\r\n1,2\r\n3,4\r\n", "-:b", [2, 4]),
    "columns": (b"1 2\n3 4\n", "-", [[1, 2], [3, 4]]),
}


@pytest.mark.parametrize(("given", "reference", "value"), PIPED.values(), ids=PIPED)
def test_data_from_standard_input(call_cli, tmp_path, given, reference, value):
    assert value_of(call_cli, None, reference, "", tmp_path, stdin=given) == value


def test_two_columns_of_standard_input(call_cli):
    done = call_cli("eval", *PLAIN, "sum(x*y)", "x=@-:0", "y=@-:1", stdin="1 2\n3 4\n")
    assert (done.returncode, json.loads(done.stdout)["value"]) == (0, 14)


def test_standard_input_is_read_for_one_thing(call_cli, tmp_path):
    twice = [
        "error[usage]: standard input is named twice: for programs, and as the data '@-'",
        " = help: put one of them in a file",
    ]
    assert call_cli("eval", "x=@-", stdin="1\n").stderr.splitlines() == twice
    assert call_cli("check", "-", "x=@-", stdin="1\n").stderr.splitlines() == twice
    elsewhere = [
        "error[input]: '@-' is for bindings on the command line",
        " = help: here, name a file",
    ]
    record = '{"expr": "x", "at": {"x": "@-"}}'
    assert call_cli("eval", *PLAIN[:2], "-i", "jsonl", stdin=record).stderr.splitlines() == [
        elsewhere[0],
        " --> <stdin>:1",
        elsewhere[1],
    ]


# -- what is written
# ------------------------------------------------------------------------------------------------

SAVED = {
    "a vector": ("x**2", "x=0.1,-2,1e300,0", [0.2, -4, 2e300, 0],
        {"csv": "x\n0.2\n-4.0\n2e+300\n0.0\n", "json": "[0.2, -4.0, 2e+300, 0.0]\n"}),
    "a matrix": ("sum(x**2)", "x=[[1, 2], [3, 4]]", [[2, 4], [6, 8]], {"csv": "2.0,4.0\n6.0,8.0\n", "tsv": "2.0\t4.0\n6.0\t8.0\n"}),
    "one row": ("x**2", "x=[[1, 2]]", [[2, 4]], {"csv": "2.0,4.0\n"}),
    "not finite": ("x**2", "x=nan,inf,-inf", ["nan", "inf", "-inf"], {"json": '["nan", "inf", '
    '"-inf"]\n', "csv": "x\nnan\ninf\n-inf\n"}),
    "one entry": ("x**2", "x=[3]", [6], {"csv": "x\n6.0\n"}),
}  # fmt: skip


@pytest.mark.parametrize("suffix", ["npy", "npz", "csv", "tsv", "json"])
@pytest.mark.parametrize(("expr", "binding", "grad", "texts"), SAVED.values(), ids=SAVED)
def test_what_is_saved_is_read_back(call_cli, tmp_path, suffix, expr, binding, grad, texts):
    done = call_cli("eval", *PLAIN, expr, binding, "--save", f"x=g.{suffix}")
    assert (done.returncode, json.loads(done.stdout)["grad"]) == (0, {})
    assert value_of(call_cli, None, f"g.{suffix}", "", tmp_path) == grad
    assert [p.name for p in tmp_path.iterdir()] == [f"g.{suffix}"]
    if suffix in texts:
        assert (tmp_path / f"g.{suffix}").read_text() == texts[suffix]


def test_an_archive_takes_several_names(call_cli, tmp_path):
    arguments = [word for name in ("x", "file", "value") for word in ("--save", f"{name}=g.npz")]
    assert call_cli("eval", *PLAIN, "sum(x*file)", "x=1,2", "file=3", *arguments).returncode == 0
    with np.load(tmp_path / "g.npz") as archive:
        assert {name: archive[name].tolist() for name in archive} == {
            "x": [3, 3],
            "file": 3,
            "value": 9,
        }


def test_other_derivatives_are_saved_by_their_names(call_cli, tmp_path):
    cases = {
        "x": ("x**2", "--jacobian", [[2, 0], [0, 4]]), "x,y": ("sum(x*y**2)", "--hessian", [6, 6]), "jvp": ("x**2", "--jvp=x=1,0", [2, 0]),
    }  # fmt: skip
    for name, (expr, option, wanted) in cases.items():
        done = call_cli(
            "eval",
            *PLAIN,
            expr,
            option,
            "x=1,2",
            *(["y=3"] if "y" in expr else []),
            "--save",
            f"{name}=g.npy",
        )
        assert (done.returncode, np.load(tmp_path / "g.npy").tolist()) == (0, wanted)


HAVE = " = help: the suffixes are .npy, .npz, .csv, .tsv, .json, .zarr, .h5, .hdf5 and .parquet"
UNSAVED = {
    "another suffix": (["x=g.txt"], ["--save x=g.txt: '.txt' is no format that is written", HAVE]),
    "no suffix": (["x=g"], ["--save x=g: a suffix says the format", HAVE]),
    "a file named twice": (["x=g.csv", "value=g.csv"], ["--save x=g.csv: 'g.csv' is named twice", " = help: a .npz file takes several"]),
    "a name that is not there": (["x=g.npy", "z=h.npy"], ["--save z: the result has no gradient "
    "of 'z'", " = help: it has value, x, y"]),
    "too many dimensions": (["x=a.npy", "y=g.csv"],
        ["'y' has 3 dimensions, and a table rows and columns", " = help: write .npy, .npz or .json"]),
}  # fmt: skip


@pytest.mark.parametrize(("targets", "lines"), UNSAVED.values(), ids=UNSAVED)
def test_what_cannot_be_saved(call_cli, tmp_path, targets, lines):
    done = call_cli(
        "eval",
        *PLAIN[:2],
        "x*y",
        "x=2",
        "y=[[[1]]]",
        *(word for target in targets for word in ("--save", target)),
    )
    assert (done.returncode, done.stdout, done.stderr.splitlines()) == (
        2,
        "",
        [f"error[usage]: {lines[0]}", *lines[1:]],
    )
    assert {path.name for path in tmp_path.iterdir()} <= {"a.npy"}  # what was written is whole


def test_a_second_result_does_not_take_the_place_of_the_first(call_cli, tmp_path):
    done = call_cli(
        "eval", *PLAIN[:2], "x=3", "--save", "x=g.json", stdin="assert x == 3\nx**2\nx**3\n"
    )
    assert done.stderr.splitlines() == [
        "error[usage]: --save takes one result, and has that of line 2", " = help: evaluate one "
        "expression to save of it",
    ]  # fmt: skip
    assert (done.returncode, (tmp_path / "g.json").read_text()) == (2, "6.0\n")


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
