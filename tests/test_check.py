"""The command line of ``gradcli check``: what is decided, how it is reported, and how it ends."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import tracemalloc
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from gradcli.cli.exit_codes import run_guarded
from gradcli.cli.main import app

MODULE = """
import numpy as np

def loss(w, x, y):
    return float(np.sum((w*x - y)**2))

def by_w(w, x, y):
    return 2*(w*x - y)*x

def by_y_and_w(w, x, y):
    return -2*(w*x - y), 2*(w*x - y)*x

def by_name(w, x, y):
    return {"w": 2*(w*x - y)*x, "y": -2*(w*x - y)}
"""

FUNCTIONS = """
import numpy as np

def loss(w, x):
    return np.sum((w * x) ** 2)

def loss_grad(w, x):
    return 2 * w * x**2, 2 * x * w**2

def wrong_grad(w, x):
    return w * x**2, 2 * x * w**2

def raising(w, x):
    raise RuntimeError("no such luck")

constant = 3
"""


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path_factory):
    """Verdicts are remembered for these tests only."""
    monkeypatch.setenv("GRADCLI_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "verdicts"))


@pytest.fixture
def check(call_cli):
    """Run gradcli check and give its exit code and the records that it prints."""

    def run(*arguments, **options):
        done = call_cli("check", "--format", "jsonl", *arguments, **options)
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]

    return run


@pytest.fixture
def files(tmp_path):
    """Write files into the folder that commands run in."""

    def write(**texts):
        for name, text in texts.items():
            path = tmp_path / name.replace("__", ".")
            path.write_text(
                text
                if isinstance(text, str)
                else "".join(json.dumps(record) + "\n" for record in text),
                "utf-8",
            )
        return tmp_path

    return write


def statuses(records):
    return [record["outcome"]["status"] for record in records]


QUADRATIC = ["-e", "3*a**3 - b**2", "a=2,3", "b=6,4"]


def test_claims_from_files(check, tmp_path):
    np.save(tmp_path / "right.npy", np.array([2.0, 4.0]))
    np.save(tmp_path / "half.npy", np.array([1.0, 2.0], np.float32))
    (tmp_path / "right.json").write_text("[2, 4]")
    (tmp_path / "table.csv").write_text("dx,other\n2.0,1\n4.0,1\n")
    np.save(tmp_path / "x.npy", np.array([1.0, 2.0]))
    for name, code in (
        ("right.npy", 0),
        ("right.json", 0),
        ("table.csv:dx", 0),
        ("table.csv:other", 1),
        ("half.npy", 1),
    ):
        assert check("-e", "sum(x**2)", "x=@x.npy", "--grad", f"x=@{name}")[0] == code
    done = check("-e", "sum(x**2)", "x=@x.npy", "--grad", "x=@half.npy")[1][0]
    assert "half the derivative" in done["outcome"]["details"][0]


def test_names_without_values_are_sampled(check):
    code, (record,) = check("-e", "log(x)/sqrt(1 - x**2)", "--points", "32", "--random-state", "3")
    assert (code, record["check"]["verdict"]) == (0, "agree")
    code, (record,) = check("-e", "log(-abs(x) - 1)")
    assert (code, record["check"]["verdict"]) == (1, "undetermined")
    assert "give values to x" in record["outcome"]["details"][0]


DIFFERENCES = {
    "a term too many": ("3*a**3 - b**2", {"a": [2, 3], "b": 6}, "9*a**2 + a", "a"),
    "names without values": ("3*a**3 - b**2", {}, "9*a**2 + a", "a"),
    "a wrong sign": ("x**2*sin(x)", {"x": 2}, "2*x*sin(x) - x**2*cos(x)", "-2*x**2*cos(x)"),
    "a missing term": ("log(x)/x**3", {"x": 2}, "1/x**4", "3*log(x)/x**4"),
    "a constant": ("sum(x*y)", {"x": [1, 2], "y": [3, 4]}, "y + 1", "1"),
    "a missing 1/n": ("mean(x**2)", {"x": [1, 2]}, "2*x", "x"),
    "a missing minus": (
        "exp(-x**2/2)/sqrt(2*pi)",
        {"x": 1},
        "x*exp(-x**2/2)/sqrt(2*pi)",
        "x*exp(-x**2/2)*sqrt(2)/sqrt(pi)",
    ),
    "matrices": (
        "sum((w @ x)**2)",
        {"x": [1, 2], "w": [[1, 2], [3, 4]]},
        "(w @ x) @ w",
        "-(w @ x @ w)",
    ),
    "wrong elsewhere only": ("x**2", {"x": 2.5}, "2.5 + x", "2.5 - x"),
    "too long": (
        "sin(x)**3*exp(x)",
        {"x": 1},
        "sin(x*log(2 + x))*cos(3 + exp(x))*tanh(x**5 - 3)*erf(sqrt(1 + x**2))",
        None,
    ),
    "not finite": ("sqrt(x)", {"x": 4}, "inf*x", None),
}


@pytest.mark.parametrize(
    ("expr", "at", "claim", "difference"), DIFFERENCES.values(), ids=DIFFERENCES
)
def test_what_is_wrong_in_a_formula(check, files, expr, at, claim, difference):
    name = next(iter(at), None) or ("a" if "a" in claim else "x")
    files(cases__jsonl=[{"expr": expr, "at": at, "expect": {"grad": {name: claim}}}])
    _, (record,) = check("cases.jsonl")
    found = next(c for c in record["check"]["claims"] if c["verdict"] == "mismatch")
    assert found.get("difference") == difference


def test_the_difference_of_seeded_claims_and_asserts(check):
    _, (record,) = check(*QUADRATIC, "--seed", "1,2", "--grad", "a=9*a**2")
    assert record["check"]["claims"][0]["difference"] == "9*a**2*(1 - seed)"
    _, (record,) = check("-", stdin="assert grad(x**3, x) == 3*x**2 + x\n")
    assert record["check"]["claims"][0]["difference"] == "x"


@pytest.mark.parametrize(
    "kind", ["text", "json", "jsonl", "junit", "github", "gitlab", "sarif", "markdown"]
)
def test_every_report_has_the_difference(call_cli, kind):
    done = call_cli("check", "-e", "x**3", "x=2", "--grad", "x=3*x**2 + x", "--format", kind)
    assert "difference: x" in done.stdout


MASKS = {
    "numbers": (["-e", "sum(x**2)", "x=1,2,3", "--grad", "x=2,5,6"], "x", [False, True, False]),
    "all right": (["-e", "sum(x**2)", "x=1,2,3", "--grad", "x=2,4,6"], "x", [False, False, False]),
    "no claim": (["-e", "sum(x**2)", "x=1,2,3"], "x", [False, False, False]),
    "a formula": (["-e", "sum(x**3)", "x=0,2,0", "--grad", "x=3*x"], "x", [False, True, False]),
    "a shape": (["-e", "sum(x**2)", "x=1,2", "--grad", "x=2"], "x", [True, True]),
    "the gradient itself": (["-e", "log(1 + exp(x))", "x=1,800"], "x", [False, True]),
    "the value": (["-e", "x**2", "x=1,2", "--grad", "value=1,5"], "value", [False, True]),
    "a matrix": (
        ["-e", "sum(w**2)", "w=[[1,2],[3,4]]", "--grad", "w=[[2,4],[6,9]]"],
        "w",
        [[False, False], [False, True]],
    ),
    "a number": (["-e", "x**2", "x=3", "--grad", "x=5"], "x", True),
    "the last query": (
        ["-e", "y = 2*x; y; sum(y**2)", "x=3,1", "--grad", "x=24,9"],
        "x",
        [False, True],
    ),
}


@pytest.mark.parametrize(("arguments", "name", "mask"), MASKS.values(), ids=MASKS)
def test_the_mask_of_wrong_entries(call_cli, tmp_path, arguments, name, mask):
    done = call_cli("check", *arguments, "--save", f"{name}=wrong.npy")
    assert done.returncode == int(np.any(mask))
    saved = np.load(tmp_path / "wrong.npy")
    assert saved.dtype == bool
    assert saved.tolist() == mask


def test_the_mask_of_many_entries(call_cli, tmp_path):
    x = np.linspace(1, 2, 300_000)
    claim = np.cos(x)
    claim[4711] *= 1.001
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "claim.npy", claim)
    call_cli(
        "check", "-e", "sum(sin(x))", "x=@x.npy", "--grad", "x=@claim.npy", "--save", "x=wrong.npy"
    )
    assert np.flatnonzero(np.load(tmp_path / "wrong.npy")).tolist() == [4711]


MASKLESS = {
    "of another name": ["-e", "x**2", "x=3", "--save", "y=wrong.npy"],
    "without -e": ["model.grad", "--save", "x=wrong.npy"],
    "where nothing can be written": ["-e", "x**2", "x=3", "--save", "x=missing/wrong.npy"],
    "of what has an error": ["-e", "sqr(x)", "x=3", "--save", "x=wrong.npy"],
}


@pytest.mark.parametrize("arguments", MASKLESS.values(), ids=MASKLESS)
def test_no_mask(call_cli, files, tmp_path, arguments):
    files(model__grad="x**2\n")
    assert call_cli("check", *arguments).returncode == 2
    assert not (tmp_path / "wrong.npy").exists()


def test_a_value_that_comes_later_is_that_of_what_was_made_of_the_name(call_cli):
    done = call_cli(
        "check", "-", "--format", "json", stdin="y = x**2\ny\nx = 3\ny*x\nassert y == 9\n"
    )
    assert done.returncode == 0, done.stdout
    anywhere, here, _ = json.loads(done.stdout)
    assert (anywhere["value"] == 9, here["value"]) == (False, 27)


@pytest.mark.parametrize(
    "text",
    ["np.arange(1, 3, a)*x", "assert x**2 >= 0 for x in 0..a", "assert sin(x) == x within a"],
)
def test_a_name_that_decides_what_is_computed_needs_a_value(call_cli, text):
    done = call_cli("check", "-e", text)
    assert done.returncode == 2
    assert "no value for 'a', which decides what is computed" in done.stdout


def test_a_number_that_cannot_stand_for_a_name_is_said_to_be_tried(call_cli):
    done = call_cli(
        "check", "-", stdin="X = stack([ones(3), v], axis=1)\nassert sum(X) == 3 + sum(v)\n"
    )
    assert done.returncode == 2
    assert "no value is given for v: numbers were tried" in done.stdout
    assert "'X' has no value: its binding on line 1 has an error" in done.stdout


def test_a_binding_that_waited_is_replaced_by_one_with_a_value(check):
    _, records = check("-", stdin="y = x**2\ny\ny = 3.0\ny**2\n")
    assert [sorted(record["grad"]) for record in records] == [["x"], ["y"]]


# -- what is read


def test_files_standard_input_and_an_expression(check, files):
    files(
        one__grad="f(t) = 3*t\nf(x)\n",
        two__grad="f(x)\n",
        cases__jsonl=[{"id": "q", "expr": "x**2"}],
    )
    code, records = check(
        "one.grad", "two.grad", "-f", "cases.jsonl", "-", "x=5", "-e", "x**3", stdin="x*2\n"
    )
    assert code == 2
    found = [
        (r["source"]["file"], r["id"], r["value"] if r["error"] is None else r["error"]["code"])
        for r in records
    ]
    assert found == [
        ("cases.jsonl", "q", 25), ("one.grad", None, 15), ("two.grad", None, "unknown-name"), (None, None, 10), (None, None, 125),
    ]  # fmt: skip


@pytest.mark.parametrize("file", ["model.grad", "-"])
def test_an_expression_sees_the_names_of_the_file_beside_it(check, files, file):
    files(model__grad="f(t) = k*t**2\nk = 2.0\nf(1)\n")
    code, records = check(
        file, "-e", "f(x)", "x=3", "--grad", "x=2*k*x", stdin="f(t) = k*t**2\nk = 2.0\nf(1)\n"
    )
    assert (code, [r["value"] for r in records]) == (0, [2, 18])
    assert [len(r["check"]["claims"]) for r in records if "claims" in r["check"]] in ([1], [0, 1])


def test_records_by_option(check):
    code, (record,) = check("-i", "jsonl", "-", stdin='{"expr": "x**2", "at": {"x": 3}}\n')
    assert (code, record["grad"]) == (0, {"x": 6})


def test_bindings_wrt_and_freeze(check, files):
    files(model__grad="a*b*c\n")
    assert [
        list(r["grad"]) for r in check("model.grad", "a=1", "b=2", "c=3", "--wrt", "c,a")[1]
    ] == [["c", "a"]]
    assert [
        list(r["grad"]) for r in check("model.grad", "a=1", "b=2", "c=3", "--freeze", "b")[1]
    ] == [["a", "c"]]


def test_data_files_stay_below_the_folder(check, files, tmp_path):
    np.save(tmp_path / "x.npy", np.array([1.0, 2.0]))
    (tmp_path / "inner").mkdir()
    np.save(tmp_path / "inner" / "x.npy", np.array([3.0]))
    (tmp_path / "inner" / "model.grad").write_text("x = @x.npy\nsum(x**2)\ny = @../x.npy\n")
    code, records = check("inner/model.grad")
    assert (code, [r["error"] and r["error"]["code"] for r in records]) == (2, [None, "input"])


def test_cases_of_one_line_have_names_of_their_own(check):
    _, records = check("-", "x=2", stdin="1\nx; x**2\n")
    assert len({r["outcome"]["name"] for r in records}) == 3


def test_a_report_never_overwrites_what_is_checked(call_cli, files):
    folder = files(cases__jsonl=[{"expr": "1"}])
    done = call_cli("check", "cases.jsonl", "--report", f"jsonl={folder}/cases.jsonl")
    assert (done.returncode, "being checked" in done.stderr) == (2, True)
    assert (folder / "cases.jsonl").read_text() == '{"expr": "1"}\n'


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["none.grad"], "there is no file 'none.grad'"),
        (["none.jsonl"], "there is no file 'none.jsonl'"),
    ],
)
def test_what_cannot_be_read_is_an_error_among_the_outcomes(check, files, arguments, text):
    files(good__grad="x**2\n")
    code, records = check(*arguments, "good.grad")
    assert (code, statuses(records)) == (2, ["error", "passed"])
    assert text in records[0]["error"]["message"]


def test_folders(check, call_cli, files):
    folder = files(b__grad="2\n", a__jsonl=[{"expr": "1"}], note__txt="not a program")
    for place in ("in/deep", ".hidden", "empty"):
        (folder / place).mkdir(parents=True)
        (folder / place / "c.grad").write_text("3\n")
    (folder / "empty" / "c.grad").unlink()
    (folder / "in" / "loop").symlink_to(folder)
    (folder / "other").symlink_to("in/deep")
    code, records = check(".", "in", "b.grad")
    shown = ["a.jsonl", "b.grad", "in/deep/c.grad"]
    assert (code, [record["source"]["file"] for record in records]) == (0, shown)
    assert [record["source"]["file"] for record in check(".hidden")[1]] == [".hidden/c.grad"]
    done = call_cli("check", "empty")
    assert done.returncode == 2
    assert (
        done.stderr
        == "error[usage]: there is no .grad or .jsonl file in 'empty'\n = help: --allow-empty "
        "makes that fine\n"
    )
    assert call_cli("check", "empty", "--allow-empty").returncode == 0


def test_the_hook_of_pre_commit_takes_files_without_cases(call_cli, files):
    hooks = Path(__file__).parents[1] / ".pre-commit-hooks.yaml"
    if not hooks.exists():
        pytest.skip("the hook stands in a checkout only")
    entry = re.findall("^  entry: gradcli (.*)$", hooks.read_text(), re.M)[
        0
    ]  # tests/test_ci_files.py has the other
    files(model__grad="# nothing yet\n")
    assert call_cli(*entry.split(), "model.grad").returncode == 0


# -- how it ends


def test_fail_fast(check):
    program = "x\nassert x == 3\nsqr(x)\nx**2\n"
    assert statuses(check("-", "x=2", stdin=program)[1]) == ["passed", "failed", "error", "passed"]
    code, records = check("-", "x=2", "--fail-fast", stdin=program)
    assert (code, statuses(records)) == (1, ["passed", "failed"])


def test_settings(call_cli, files):
    folder = files(
        pyproject__toml='[tool.gradcli]\nfail-on = ["kink"]\nrtol = 1e-2\npoints = 4\ntimeout = '
        "30\njobs = 1\n"
    )
    (folder / "inner").mkdir()
    assert call_cli("check", "-e", "abs(x)", "x=0.0").returncode == 1
    assert call_cli("check", "-e", "abs(x)", "x=0.0", "--fail-on", "mismatch").returncode == 0
    assert (
        call_cli(
            "check", "-e", "x**2", "x=2", "--grad", "x=4.01", "--fail-on", "mismatch"
        ).returncode
        == 0
    )
    assert (
        call_cli(
            "check",
            "-e",
            "x**2",
            "x=2",
            "--grad",
            "x=4.01",
            "--fail-on",
            "mismatch",
            "--rtol",
            "1e-6",
        ).returncode
        == 1
    )


# -- reports


def test_reports_of_every_kind_at_once(call_cli, files, tmp_path):
    files(
        cases__jsonl=[
            {"id": "good", "expr": "x**2", "at": {"x": 3}},
            {"id": "bad", "expr": "assert 1 == 2"},
        ]
    )
    kinds = {"text": "txt", "json": "json", "jsonl": "jsonl", "junit": "xml", "github": "gh", "gitlab": "gl", "sarif": "sarif",
             "markdown": "md"}  # fmt: skip
    reports = [word for kind, end in kinds.items() for word in ("--report", f"{kind}=out.{end}")]
    done = call_cli("check", "cases.jsonl", *reports)
    assert (done.returncode, done.stderr) == (1, "")
    assert re.search(r"^1 failed, 1 passed in [\d.]+ s$", done.stdout, re.MULTILINE)
    text = {kind: (tmp_path / f"out.{end}").read_text("utf-8") for kind, end in kinds.items()}
    assert text["text"].split(" in ")[0] == done.stdout.split(" in ")[0]
    assert (
        statuses(json.loads(text["json"]))
        == statuses(map(json.loads, text["jsonl"].splitlines()))
        == ["passed", "failed"]
    )
    (suite,) = ET.fromstring(text["junit"])
    assert (suite.get("tests"), suite.get("failures"), [c.get("name") for c in suite]) == (
        "2",
        "1",
        ["good", "bad"],
    )
    assert text["github"].startswith("::error file=cases.jsonl,line=2")
    assert [
        (f["location"]["path"], f["location"]["lines"]["begin"]) for f in json.loads(text["gitlab"])
    ] == [("cases.jsonl", 2)]
    assert [r["ruleId"] for r in json.loads(text["sarif"])["runs"][0]["results"]] == ["assert"]
    assert "cases.jsonl" in text["markdown"]


def test_a_report_on_standard_output_takes_the_place_of_the_text(call_cli):
    done = call_cli("check", "-e", "assert 1 == 2", "--report", "github=-")
    assert [line[:7] for line in done.stdout.splitlines()] == ["::error"]
    done = call_cli("check", "-e", "assert 1 == 2", "--report", "github=-", "--report", "text=-")
    assert done.stdout.startswith("::error")
    assert done.stdout.splitlines()[-1].startswith("1 failed")


def test_verbose_names_what_passes(call_cli):
    done = call_cli("check", "-", "x=2", "-v", stdin="x**2\nx**3  # skip: no\n")
    assert done.stdout.splitlines()[:2] == [
        "passed   <command line>:1:1  x**2  agree",
        "skipped  <command line>:2:1  x**3  no",
    ]


def test_standard_output_that_knows_ascii_only(run_cli, cli_environment):
    environment = {**cli_environment, "PYTHONIOENCODING": "ascii"}
    done = run_cli("check", "-e", "assert α == 3", "α=2", env=environment)
    assert (done.returncode, "assert \\u03b1 == 3" in done.stdout) == (1, True)


# -- known failures and expectations


LINES = [
    (b'\xef\xbb\xbf{"expr": "x**2",\t"at": {"x": 3}}  \r\n',
     b'\xef\xbb\xbf{"expr": "x**2",\t"at": {"x": 3}, "expect": {"value": 9.0, "grad": {"x": '
     b'6.0}}}  \r\n'),
    (b"\n", None),
    (b"not JSON \xff\n", None),
    (b'{"expr":"sqr(x)"}\n', None),
    (b'{"expr":"x","at":{"x":2},"skip":"no"}\n', None),
    (b'{"expr":"x**2","at":{"x":1.50},"expect":{"grad":{"x":"2*x"}},"meta":{"n":1.10}}\n', None),
    (b'{"expr":"x**2","at":{"x":1.50},"expect" : {"value" : 2, '
    b'"grad":{"x":"2*x"}},"meta":{"n":1.10}}\n',
     b'{"expr":"x**2","at":{"x":1.50},"expect" : {"value": 2.25, "grad": {"x": '
     b'"2*x"}},"meta":{"n":1.10}}\n'),
    (b'{"expr":"x*y","at":{"x":2,"y":3},"expect":{"grad":{"y":7}}}\n',
     b'{"expr":"x*y","at":{"x":2,"y":3},"expect":{"grad": {"y": 2.0}}}\n'),
    ('{"expr":"x","at":{"x":2},"meta":{"n":"\u2028Größe"},"expect":null}\n'.encode(),
     '{"expr":"x","at":{"x":2},"meta":{"n":"\u2028Größe"},"expect":{"value": 2.0, "grad": {"x": '
     '1.0}}}\n'.encode()),
    # what is known to be wrong is no expectation
    (b'{"expr":"exp(x)/(1+exp(x))","at":{"x":800}}\n', None),
    (b'{"expr":"x","at":{"x":"inf"}}', b'{"expr":"x","at":{"x":"inf"}, "expect": {"value": "inf", '
    b'"grad": {"x": 1.0}}}'),
]  # fmt: skip


def test_update_writes_expectations_and_leaves_every_other_byte(call_cli, tmp_path):
    path = tmp_path / "cases.jsonl"
    path.write_bytes(b"".join(before for before, _ in LINES))
    path.chmod(0o640)
    (tmp_path / "link.jsonl").symlink_to(path)
    done = call_cli("check", "--update", "link.jsonl")
    assert path.read_bytes().splitlines(keepends=True) == [
        before if after is None else after for before, after in LINES
    ]
    assert "5 of 10 records have new expectations" in done.stderr
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cases.jsonl", "link.jsonl"]
    written = path.stat().st_mtime_ns
    assert "0 of 10" in call_cli("check", "--update", "cases.jsonl").stderr
    assert path.stat().st_mtime_ns == written


def test_after_an_update_the_expectations_hold(call_cli, files):
    files(cases__jsonl=[{"expr": "sum(x**2)", "at": {"x": [1, 2]}, "expect": {"value": 4}}])
    assert call_cli("check", "cases.jsonl").returncode == 1
    assert call_cli("check", "cases.jsonl", "--update").returncode == 0
    assert call_cli("check", "cases.jsonl").returncode == 0


@pytest.mark.parametrize(
    "arguments", [["cases.jsonl"], ["cases.jsonl", "--baseline", "known.json"]]
)
def test_update_is_refused_under_ci(call_cli, files, monkeypatch, arguments):
    folder = files(cases__jsonl=[{"expr": "x", "at": {"x": 2}}])
    monkeypatch.setenv("CI", "true")
    done = call_cli("check", "--update", *arguments)
    assert (done.returncode, "refused under CI" in done.stderr) == (2, True)
    assert (folder / "cases.jsonl").read_text() == '{"expr": "x", "at": {"x": 2}}\n'
    assert [p.name for p in folder.iterdir()] == ["cases.jsonl"]


def test_an_update_that_fails_leaves_the_file(call_cli, files, monkeypatch):
    folder = files(cases__jsonl=[{"expr": "x", "at": {"x": 2}}])

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    done = call_cli("check", "--update", "--no-cache", "cases.jsonl")
    assert (done.returncode, "cannot write" in done.stderr) == (2, True)
    assert [(p.name, p.read_text()) for p in folder.iterdir()] == [
        ("cases.jsonl", '{"expr": "x", "at": {"x": 2}}\n')
    ]


# -- Python functions


@pytest.mark.parametrize(
    ("gradient", "code", "fragment"),
    [("loss_grad", 0, "1 passed"), ("wrong_grad", 1, "half the derivative|mismatch: d/dw"), ("raising", 2, "no such luck"),
     ("constant", 2, "no function")],
)  # fmt: skip
def test_functions(run_cli, files, gradient, code, fragment):
    files(mine__py=FUNCTIONS)
    at = ["--at", "w=1.5,2", "--at", "x=randn(2)"]
    done = run_cli(
        "check", "--function", "mine:loss", "--gradient", f"mine:{gradient}", *at, "-j", "2"
    )
    assert done.returncode == code
    assert re.search(fragment, done.stdout + done.stderr)


AT = ["--at", "w=1.,2", "--at", "x=3.,1", "--at", "y=1.,1"]
BY = {
    "one array": ("by_w", ["--wrt", "w"], 0, ""),
    "arrays in the order of wrt": ("by_y_and_w", ["--wrt", "y,w"], 0, ""),
    "in another order": ("by_y_and_w", ["--wrt", "w,y"], 1, "mismatch: d/d"),
    "by name": ("by_name", ["--wrt", "w,y"], 0, ""),
    "what is not frozen": ("by_name", ["--freeze", "x"], 0, ""),
    "a name too many": (
        "by_name",
        ["--wrt", "w"],
        2,
        "the gradient has 'y', which it is not by; it must have w\n",
    ),
    "a name too few": ("by_name", [], 2, "the gradient lacks 'x'; it must have w, x, y\n"),
    "too many arrays": (
        "by_y_and_w",
        ["--wrt", "w"],
        2,
        "the gradient must return one array, not 2\n",
    ),
    "too few arrays": (
        "by_w",
        [],
        2,
        "the gradient must return 3 arrays, one for each argument, not 1\n",
    ),
    "no such argument": (
        "by_w",
        ["--wrt", "v"],
        2,
        "error[usage]: --wrt: --at has no 'v'\n = help: the arguments are w, x, y\n",
    ),
    "nothing left": (
        "by_w",
        ["--freeze", "w,x,y"],
        2,
        "error[usage]: --freeze leaves nothing to differentiate with respect to\n",
    ),
}


@pytest.mark.parametrize(("gradient", "options", "code", "text"), BY.values(), ids=BY)
def test_what_a_gradient_is_by(call_cli, files, gradient, options, code, text):
    files(mine__py=MODULE)
    done = call_cli(
        "check", "--function", "mine:loss", "--gradient", f"mine:{gradient}", *AT, *options
    )
    assert done.returncode == code
    assert text in done.stdout + done.stderr


ENDLESS = """
import os, time

def loss(w):
    print("called", flush=True)
    return w*w

def loss_grad(w):
    return 2*w

def endless(w):
    while True:
        try:
            time.sleep(100)
        except BaseException:
            pass

def deadly(w):
    os._exit(7)
"""
OUT_OF_TIME = "d/dw: undetermined, the time limit that was given (--timeout) was reached\n"
LIMITED = {
    "in time": ("loss", "loss_grad", "60", 0, "1 passed"),
    "never, and deaf to signals": ("endless", "loss_grad", "0.5", 1, OUT_OF_TIME),
    "a gradient that never returns": ("loss", "endless", "0.5", 1, OUT_OF_TIME),
    "an end of its own": (
        "deadly",
        "loss_grad",
        "60",
        2,
        "the process in which it was called came to its end (exit code 7)\n",
    ),
    "no such function": (
        "missing",
        "loss_grad",
        "60",
        2,
        "error[unknown-name]: 'mine:missing' names nothing: ",
    ),
}


@pytest.mark.ci
@pytest.mark.parametrize(
    ("function", "gradient", "seconds", "code", "text"), LIMITED.values(), ids=LIMITED
)
def test_functions_within_a_time_limit(run_cli, files, function, gradient, seconds, code, text):
    files(mine__py=ENDLESS)
    done = run_cli(
        "check",
        "--function",
        f"mine:{function}",
        "--gradient",
        f"mine:{gradient}",
        "--at",
        "w=2.",
        "--timeout",
        seconds,
    )
    assert (done.returncode, text in done.stdout + done.stderr) == (code, True), (
        done.stdout + done.stderr
    )
    assert "called" not in done.stdout.partition("1 passed")[2], (
        "what a function prints stands before what is said of it"
    )


@pytest.mark.ci
def test_a_time_limit_of_the_settings_is_that_of_functions(run_cli, files):
    files(mine__py=ENDLESS, pyproject__toml="[tool.gradcli]\ntimeout = 0.5\n")
    done = run_cli(
        "check", "--function", "mine:endless", "--gradient", "mine:loss_grad", "--at", "w=2."
    )
    assert (done.returncode, "the time limit" in done.stdout) == (1, True)


# -- processes, pipes and signals


def comparable(records):
    return [
        {**r, "outcome": {k: v for k, v in r["outcome"].items() if k != "seconds"}} for r in records
    ]


@pytest.mark.ci
def test_processes_give_the_same_in_the_same_order(run_cli, files):
    texts = [
        "x**2",
        "sqr(x)",
        "assert x == 3",
        "rand(2)*x",
        "y**2",
        "sin(x)/x  # skip: no",
        "abs(z)",
        "1 +",
    ]
    records = [{"id": i, "expr": texts[i % len(texts)], "at": {"x": i + 1}} for i in range(70)]
    files(cases__jsonl=records, model__grad="x = 3\n" + "\n".join(texts))
    arguments = [
        "check",
        "cases.jsonl",
        "none.jsonl",
        "model.grad",
        "-",
        "-e",
        "t**2 + x",
        "x=2",
        "--format",
        "jsonl",
        "--grad",
        "t=2*t",
    ]
    one, two = (run_cli(*arguments, "-j", n, stdin="x**5\n") for n in ("1", "2"))
    assert (one.returncode, two.returncode, one.stderr, two.stderr) == (2, 2, "", "")
    assert len(one.stdout.splitlines()) == 70 + 1 + len(texts) + 1 + 1
    assert comparable(map(json.loads, one.stdout.splitlines())) == comparable(
        map(json.loads, two.stdout.splitlines())
    )


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_nothing_is_said_of_names_where_a_file_cannot_be_read(call_cli, jobs):
    done = call_cli("check", "none.jsonl", "x=1", "-j", jobs)
    assert (done.returncode, done.stderr) == (2, ""), (
        "the file may have mentioned x, so that no warning is due"
    )


def test_fail_fast_ends_the_processes(run_cli, files):
    files(
        cases__jsonl=[
            {"expr": "assert 1 == 2"},
            *({"expr": f"sum(tanh(x)**{i})", "at": {"x": [1, 2]}} for i in range(300)),
        ]
    )
    done = run_cli("check", "cases.jsonl", "-j", "2", "--fail-fast", "--no-cache")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines()[-1].startswith("1 failed in")


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupt_leaves_partial_reports(cli_environment, tmp_path, jobs):
    arguments = [
        "check",
        "-i",
        "jsonl",
        "-",
        "-j",
        jobs,
        "--format",
        "jsonl",
        "--report",
        "junit=out.xml",
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "gradcli.cli.main", *arguments], cwd=tmp_path, env=cli_environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    process.stdin.write(b'{"expr": "1"}\n' * 200)
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["value"] == 1
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"Traceback" not in errors
    assert json.loads(out.splitlines()[-1])["error"]["code"] == "interrupted"
    (suite,) = ET.parse(tmp_path / "out.xml").getroot()
    assert [c.get("name") for c in suite][-1] == "interrupted"


def start(environment, folder, *arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "gradcli.cli.main", "check", *arguments], cwd=folder, env=environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def test_outcomes_come_one_by_one(cli_environment, tmp_path):
    process = start(cli_environment, tmp_path, "-i", "jsonl", "-", "--format", "jsonl")
    for value in (1, 2):
        process.stdin.write(b'{"expr": "%d"}\n' % value)
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["value"] == value
    process.communicate(timeout=30)
    assert process.returncode == 0


def test_a_closed_pipe_is_quiet_and_other_reports_are_complete(cli_environment, tmp_path):
    process = start(
        cli_environment,
        tmp_path,
        "-i",
        "jsonl",
        "-",
        "--format",
        "jsonl",
        "--report",
        "junit=out.xml",
    )
    process.stdin.write(b'{"expr": "1"}\n')
    process.stdin.flush()
    process.stdout.readline()
    process.stdout.close()
    process.stdin.write(b'{"expr": "2"}\n' * 50)
    process.stdin.close()
    assert process.wait(30) == 0
    assert process.stderr.read() == b""
    process.stderr.close()
    (suite,) = ET.parse(tmp_path / "out.xml").getroot()
    assert suite.get("tests") == "51"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("where", ["stdout", "report"])
def test_full_disk(run_cli, where):
    if where == "stdout":
        with open("/dev/full", "w") as full:
            done = run_cli("check", "-e", "1", stdout=full)
    else:
        done = run_cli("check", "-e", "1", "--report", "json=/dev/full")
    assert (done.returncode, "cannot write" in done.stderr) == (2, True)


def terminal(environment, folder, *arguments, **more):
    """What a check shows on standard error if that is a terminal, its exit code, and its standard
    output.
    """
    outer, inner = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "gradcli.cli.main", "check", *arguments], cwd=folder, env=environment,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=inner, **more,
    )  # fmt: skip
    os.close(inner)
    shown = b""
    try:
        while part := os.read(outer, 1 << 16):
            shown += part
    except OSError:  # the other end is closed
        pass
    out, _ = process.communicate(timeout=60)
    os.close(outer)
    return shown.decode(), process.returncode, out.decode()


PROGRESSING = [{"expr": f"sum(tanh(x)**{i}*y)", "at": {"x": [1, 2], "y": i}} for i in range(150)]


@pytest.mark.ci
@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_progress_on_a_terminal(cli_environment, files, jobs):
    folder = files(cases__jsonl=PROGRESSING)
    environment = {k: v for k, v in cli_environment.items() if k != "NO_COLOR"} | {
        "TERM": "xterm-256color"
    }
    arguments = ["cases.jsonl", "--no-cache", "-j", jobs]
    shown, code, out = terminal(environment, folder, *arguments)
    assert (code, out.split(" in ")[0]) == (0, "150 passed")
    assert re.search(r"\d+ checked, \d+ s  (cases\.jsonl)?", shown)
    assert "\x1b" not in out


@pytest.mark.ci
@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
def test_no_progress_without_a_terminal_that_could_show_it(cli_environment, files):
    folder = files(cases__jsonl=PROGRESSING)
    environment = {k: v for k, v in cli_environment.items() if k != "NO_COLOR"} | {
        "TERM": "xterm-256color"
    }
    for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert terminal(environment | variables, folder, "cases.jsonl")[0] == ""
    begin = time.monotonic()
    shown, *_ = terminal(environment, folder, "-e", "1")
    # over before it would be shown, unless the machine is busy
    assert shown == "" or time.monotonic() - begin > 0.5


@pytest.mark.ci
def test_memory_does_not_grow_with_the_number_of_records(monkeypatch, tmp_path):
    def peak(count):
        (tmp_path / "cases.jsonl").write_text(
            "".join(f'{{"id": "case {i}", "expr": "1"}}\n' for i in range(count))
        )
        monkeypatch.setattr(
            "sys.argv", ["gradcli", "check", "cases.jsonl", "--report", "jsonl=out.jsonl"]
        )
        monkeypatch.setattr("sys.stdout", io.StringIO())
        tracemalloc.start()
        try:
            assert run_guarded(app) == 0
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    monkeypatch.chdir(tmp_path)
    peak(10)
    first = peak(
        2200
    )  # by then Python's own lists of free objects are full: 2,000 tuples of each length
    # Python's dictionary of interned strings may be made larger meanwhile, by megabytes in a
    # process that has run long: not twice in a row. The digests of records, by which equal cases
    # are told apart, are 150 bytes each.
    assert any(peak(4400) < first + 100_000 + 150 * 2200 for _ in range(2))


FORMULAS_AT_EXTREMES = (
    "18/(1 + exp(-0.4329*(x - 1.441)))", "0.09397*exp(-(y - 2.681)**2/(2*20**2))", "27*exp(-0.8146*z)*a", "atan(exp(x))",
    "1/(1 + exp(-x))**2", "exp(-exp(-x))", "exp(-2*t)*sin(3*t)", "x**3/(exp(x) - 1)", "1/cosh(x)", "exp(-x**2)*sin(3*x)",
)  # fmt: skip


@pytest.mark.parametrize("text", FORMULAS_AT_EXTREMES)
def test_underflow_at_points_of_our_choice_is_no_fault(call_cli, text):
    done = call_cli("check", "-e", text, "--format", "json")
    assert done.returncode == 0, done.stdout


@pytest.mark.ci
def test_a_program_is_shared_by_lines(call_cli, tmp_path):
    lines = ["k = 3", "f(x) = k*x**2", "u = x*k  # waits for x"]
    for i in range(60):
        lines += [
            f"f(x) + {i}*sin(y)",
            f"k = {i}" if i % 7 == 0 else f"assert grad(f(2), k) == {4 if i % 5 else 5}; u + {i}",
        ]
    lines += ["x +", "z = )", "z + 1", "sqrt(x)  # skip: not now"]
    (tmp_path / "program.grad").write_text("\n".join(lines) + "\n", encoding="utf-8")
    alone, shared = (
        call_cli(
            "check", str(tmp_path / "program.grad"), "--no-cache", "--format", "jsonl", "-j", jobs
        )
        for jobs in ("1", "2")
    )
    assert alone.returncode == shared.returncode == 2
    assert shared.stdout == alone.stdout
    assert len(alone.stdout.splitlines()) > 100
