"""Hostile input: deep, long, broken or enormous.

A clear error or a right answer, soon, and never a traceback.
"""

from __future__ import annotations

import json
import math
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers import thinned
from recorded import LISTS

import gradcli
from gradcli import LimitError

DEEP = 50_000  # more than the stack of C holds of the smallest frames
SOME = 10_000  # as deep as matters, where the road is the same
NESTED = 5_000  # levels of brackets that there may be
LINES = 2_500  # one walk to the end for each would be a thousand times as many calls
# calls for each character, at the most: twice what is needed, and a hundredth of what one walk for
# each would take
FEW = 300
JSONL = ("--no-check", "--format", "jsonl")


def counted(function, *arguments, **keywords):
    """A result, and how many calls of functions it took: work is counted, not timed, for a machine
    may be busy.
    """
    calls = 0

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        result = function(*arguments, **keywords)
    finally:
        sys.setprofile(before)
    return result, calls


def iterated_sine() -> float:
    value = 2.0
    for _ in range(NESTED):
        value = math.sin(value)
    return value


@pytest.mark.parametrize(
    ("text", "value", "gradient"),
    thinned([
        pytest.param("(" * NESTED + "x" + ")" * NESTED, 2, 1, id="brackets"),
        pytest.param("-" * DEEP + "x", 2, 1, id="minus"),
        pytest.param("-+" * SOME + "x", 2, 1, id="minus and plus"),
        pytest.param("not " * SOME + "(x > 0)", 1, None, id="not"),
        pytest.param("sin(" * NESTED + "x" + ")" * NESTED, iterated_sine(), None, id="function "
        "calls"),
        pytest.param("1 if x < 0 else " * SOME + "x", 2, 1, id="conditions"),
        pytest.param("(1, " * NESTED + "x" + ")[1]" * NESTED, 2, 1, id="tuples"),
        pytest.param("x" + ".T" * SOME, 2, 1, id="attributes"),
        pytest.param("f(t) = t + 1; " + "f(" * NESTED + "x" + ")" * NESTED, NESTED + 2, 1, id="user functions"),
        pytest.param("x + " * DEEP + "x", 2 * (DEEP + 1), DEEP + 1, id="a long sum"),
        pytest.param("x/2*" * SOME + "1", 1, SOME / 2, id="a long product"),
        pytest.param("sum([" + "x," * SOME + "])", 2 * SOME, SOME, id="a long list"),
        pytest.param("a0 = x; " + "".join(f"a{i} = a{i - 1} + 1; " for i in range(1, 5001)) + "a5000", 5002, 1, id="bindings"),
        pytest.param("\n".join(["f0(t) = t", *(f"f{i + 1}(t) = f{i}(t) + 1" for i in range(2000)),
        "f2000(x)"]), 2002, 1, id="a chain of functions"),
        pytest.param("\n".join(["f0(t) = t", *(f"f{i + 1}(t) = f{i}(t) + f{i}(t)" for i in range(60)),
        "f60(x)"]), 2.0**61, 2.0**60, id="doubling functions"),
        pytest.param("y0 = x; " + "".join(f"y{i + 1} = y{i} + y{i}; " for i in range(60)) + "y60", 2.0**61, 2.0**60, id="double"),
    ]),
)  # fmt: skip
def test_deep_and_long(evaluate_last, text, value, gradient):
    record, calls = counted(evaluate_last, text, x=2.0)
    assert float(record.value) == pytest.approx(value, rel=1e-12)
    if gradient is not None:
        assert float(record.grad["x"]) == pytest.approx(gradient, rel=1e-12)
    assert calls < FEW * (100 + len(text))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param("[" * DEEP + "1" + "]" * DEEP, "limit", id="lists"),
        pytest.param("(" * DEEP, "limit", id="open brackets"),
        pytest.param("[" * DEEP, "limit", id="open lists"),
        pytest.param("sin(" * DEEP, "limit", id="open calls"),
        pytest.param(")" * DEEP, "syntax", id="closing brackets"),
        pytest.param("-" * DEEP, "syntax", id="only minus"),
        pytest.param("x" * DEEP, "missing-value", id="a long name"),
        pytest.param("1" + "0" * DEEP + "x y", "syntax", id="a long number"),
        pytest.param("'" * DEEP, "syntax", id="quotes"),
        pytest.param("x" + "," * DEEP, "syntax", id="commas"),
        pytest.param("f(t) = f(t); f(1)", "argument", id="recursion"),
        pytest.param("f(t) = g(t); g(t) = f(t); f(1)", "argument", id="mutual recursion"),
        pytest.param("zeros(1" + ", 1" * 40 + ")", "limit", id="too many axes"),
        pytest.param("zeros(10)[10**30]", "limit", id="an index of 31 digits"),
        pytest.param(f"torch.autograd.grad(y,{' ' * DEEP}!", "syntax", id="pasted and unfinished"),
    ],
)
def test_refused_soon(fails, text, code):
    failure, calls = counted(fails, text, x=2.0)
    assert failure.code == code, failure.render()[:300]
    length = len(failure.render())
    assert length < 2000, "a long line is shown around the caret only"
    assert calls < FEW * (100 + len(text))


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9**9",
        "9^9^9^9",
        "-9**9**9**9",
        "10**400",
        "f(t) = t**t; f(f(f(9)))",
        "2**(2**(2**(2**10)))",
    ],
)
def test_huge_powers_are_infinite_at_once(evaluate_last, text):
    record, calls = counted(evaluate_last, text)
    assert math.isinf(record.value)
    assert record.warnings
    assert calls < FEW * 100


@pytest.mark.ci
@pytest.mark.parametrize(
    ("text", "value", "grad"),
    [
        pytest.param("x" + "**1" * DEEP, 2, {"x": 1}, id="powers"),
        pytest.param("1**" * DEEP + "x", 1, None, id="powers of a variable"),
        pytest.param("2**" * DEEP + "1", "inf", {}, id="a tower"),
    ],
)
def test_deep_powers(run_cli, text, value, grad):
    record = json.loads(run_cli("eval", *JSONL, "x=2.0", "-", stdin=text).stdout)
    assert (record["error"], record["value"]) == (None, value)
    assert grad is None or record["grad"] == grad


@pytest.mark.ci
def test_functions_that_grow_without_end_are_refused(run_cli):
    """Each function calls the one before twice, on its own result: 2**60 operations if nobody stops
    it.
    """
    lines = [
        "f0(t) = sin(t)",
        *(f"f{i + 1}(t) = f{i}(f{i}(t))" for i in range(60)),
        "f60(x)",
        "x + 1",
    ]
    done = run_cli("eval", *JSONL, "-", "x=2", stdin="\n".join(lines), preexec_fn=limited)
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["error"]["code"] == "limit"
    assert second["value"] == 3
    assert done.returncode == 2


def limited() -> None:
    """At most 3 GB for a child, so that a missing limit fails the test and not the machine."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))


ENORMOUS = LISTS["enormous arrays"]


def test_enormous_arrays_are_refused_before_they_are_made(run_cli):
    program = "v = ones(20000)\n" + "\n".join(ENORMOUS) + "\nx + 1\n"
    done = run_cli("eval", *JSONL, "x=2", "-", stdin=program, preexec_fn=limited)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 2
    refused = {r["expr"]: r["error"]["code"] if r["error"] else r["shape"] for r in records[:-1]}
    allowed = {
        "diag(zeros(10**5))": {"limit", "unknown-name"},
        "kron(ones(10**5), ones(10**5))": {"limit", "unknown-name"},
    }
    assert [
        text for text in ENORMOUS if refused.get(text) not in allowed.get(text, {"limit"})
    ] == [], refused
    assert records[-1]["value"] == 3


@pytest.mark.parametrize(
    ("lines", "results"),
    [
        pytest.param(b"x\nx + \xff\nx + 1\n", [2, "syntax", 3], id="not UTF-8"),
        pytest.param(b"x\n# \xff\nx + 1\n", [2, 3], id="not UTF-8 in a comment"),
        pytest.param(b"\x00\x00\x00\n\xff\xfe\nx\n", ["syntax", "syntax", 2], id="binary"),
        pytest.param(b"\xef\xbb\xbfx\nx + 1", [2, 3], id="BOM"),
        pytest.param(b"1" * 10_000_000 + b"\nx\n", ["limit", 2], id="a number of 10 MB"),
        pytest.param(b"x+" * 5_000_000 + b"x\nx\n", ["limit", 2], id="a line of 10 MB"),
    ],
)  # fmt: skip
def test_one_bad_line_never_harms_the_next(call_cli, lines, results):
    done = call_cli("eval", *JSONL, "x=2", "-", stdin=lines)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [r["error"]["code"] if r["error"] else r["value"] for r in records] == results
    assert done.returncode == (2 if any(isinstance(r, str) for r in results) else 0)


@pytest.mark.ci
@pytest.mark.parametrize("line", ["(x", "sin((x", "[x,", "x[", "f(x"])
def test_open_brackets_on_every_line_take_linear_time(evaluate_all, line):
    records, calls = counted(evaluate_all, f"{line}\n" * LINES, x=2.0)
    assert [r.error.place()[0] for r in records] == list(range(1, LINES + 1))
    assert {r.error.code for r in records} == {"syntax"}
    assert calls < FEW * LINES * len(line)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        pytest.param(
            b'{"expr": "x", "at": {"x": ' + b"[" * DEEP + b"1" + b"]" * DEEP + b"}}",
            "input",
            id="deep values",
        ),
        pytest.param(b"[" * DEEP, "input", id="deep JSON"),
        pytest.param(b'{"expr": "x", "at": {"x": [[1, 2], [3]]}}', "input", id="ragged"),
        pytest.param(
            b'{"expr": "x", "at": {"x": "1' + b"0" * DEEP + b'z"}}', "input", id="no number"
        ),
        pytest.param(b'{"expr": ' + b"9" * 5000 + b"}", "input", id="a number of 5000 digits"),
        pytest.param(b'{"expr": "' + b"(" * DEEP + b'"}', "limit", id="deep expression"),
        pytest.param(
            b'{"expr": "zeros(n)", "at": {"n": 1000000000}}', "limit", id="a size from a record"
        ),
        pytest.param(
            b'{"expr": "x", "at": {"x": 1' + b"0" * 400 + b"}}",
            "input",
            id="an integer of 401 digits",
        ),
    ],
)
def test_hostile_records(call_cli, content, code):
    done = call_cli(
        "eval",
        *JSONL,
        "-i",
        "jsonl",
        "-",
        stdin=content + b'\n{"id": 7, "expr": "x", "at": {"x": 2}}\n',
    )
    first, second = (json.loads(line) for line in done.stdout.splitlines())
    assert first["error"]["code"] == code
    assert (second["id"], second["value"]) == (7, 2)
    assert done.returncode == 2


def make_files(folder: Path) -> None:
    (folder / "folder").mkdir()
    (folder / "gone.npy").symlink_to(folder / "nowhere.npy")
    (folder / "gone.grad").symlink_to(folder / "nowhere.grad")
    np.save(folder / "ok.npy", np.arange(1000.0))
    (folder / "cut.npy").write_bytes((folder / "ok.npy").read_bytes()[:200])
    (folder / "junk.npy").write_bytes(b"\x00junk" * 99)
    (folder / "empty.npy").write_bytes(b"")
    (folder / "junk.npz").write_bytes(b"PK\x03\x04junk")
    (folder / "deep.json").write_text("[" * DEEP)
    (folder / "junk.csv").write_bytes(b"a,b\n1,\xff\n")
    np.save(folder / "objects.npy", np.array([{}, None], dtype=object), allow_pickle=True)
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"
    (folder / "huge.npy").write_bytes(
        b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + header.ljust(117) + b"\n"
    )


FILES = LISTS["bad files"]


@pytest.mark.parametrize("name", FILES)
def test_bad_data_files(call_cli, tmp_path, name):
    make_files(tmp_path)
    done = call_cli("eval", "sum(x)", f"x=@{name}", *JSONL)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error[")
    assert name in done.stderr


@pytest.mark.parametrize("name", ["gone.grad", "missing.grad", "folder"])
def test_bad_program_files(call_cli, tmp_path, name):
    make_files(tmp_path)
    (tmp_path / "good.grad").write_text("1 + 1\n")
    done = call_cli("eval", "-f", name, "-f", "good.grad", *JSONL)
    bad, good = (json.loads(line) for line in done.stdout.splitlines())
    assert bad["error"]["code"] == "input"
    assert name in bad["error"]["message"]
    assert good["value"] == 2
    assert done.returncode == 2


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_unreadable_file(call_cli, tmp_path):
    (tmp_path / "secret.grad").write_text("1")
    (tmp_path / "secret.grad").chmod(0)
    done = call_cli("eval", "-f", "secret.grad", *JSONL)
    assert json.loads(done.stdout)["error"]["code"] == "input"
    assert done.returncode == 2


@pytest.mark.parametrize("piece", ["{", r"\frac", r"\sqrt[", r"\left(", "x^{", r"\sqrt"])
def test_latex_that_is_nested_deeply_is_refused(piece):
    with pytest.raises(LimitError):
        gradcli.evaluate("x_{1}" + piece * 1_000, check=False)
