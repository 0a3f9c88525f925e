"""The pytest plugin: ``*.grad`` files as tests."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from conftest import plain_environment
from helpers import thinned

MODEL = """\
f(t) = t**2*k
k = 2.0
f(x0)             # sampled
x = 3
f(x)
assert f(x) == 17
grad(f(x), x) + sqr(x)
assert x == 4     # xfail: known
assert x == 3     # xfail: not so
exp(big)          # skip: too big
f(x)
v = @data.npy
sum(v**2)
w = @../secret.npy
v[::2]
1 +
rand(2)*x
exp(z)/(1 + exp(z)) + (x -
   3)
z = 800.0
exp(z)/(1 + exp(z))
y = x @ x @ x
"""

OUTCOMES = {
    "f(x0)": "passed", "f(x)": "passed", "assert f(x) == 17": "failed", "grad(f(x), x) + sqr(x)": "failed",
    "assert x == 4": "skipped", "assert x == 3": "failed", "exp(big)": "skipped", "f(x) (2)": "passed", "sum(v**2)": "passed",
    "v[::2]": "failed", "line 16": "failed", "rand(2)*x": "passed", "exp(z)/(1 + exp(z)) + (x - 3)": "passed",
    "exp(z)/(1 + exp(z))": "failed",
}  # fmt: skip


@cache
def runs():
    """A process that runs pytest for every line that it reads."""
    return subprocess.Popen(
        [sys.executable, Path(__file__).with_name("pytest_runs.py")],
        env=plain_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def run(folder, *arguments, **variables):
    """A run of pytest, without hypothesis' plugin, which no file here needs."""
    plain = ["-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-W", "ignore:Module already"]
    arguments = [*plain, *arguments]
    environment = plain_environment() | {"GRADCLI_CACHE_DIR": str(folder / "verdicts")} | variables
    with tempfile.TemporaryDirectory() as outside:
        streams = [Path(outside, name) for name in ("out", "err")]
        request = [str(folder), arguments, environment, *map(str, streams)]
        print(json.dumps(request), file=runs().stdin, flush=True)
        code = int(runs().stdout.readline())
        shown = [path.read_text("utf-8") for path in streams]
    return subprocess.CompletedProcess(arguments, code, *shown)


def outcomes(path):
    """The outcome of every testcase of a JUnit file."""
    words = {"failure": "failed", "error": "error", "skipped": "skipped"}
    return {
        case.get("name"): words[case[0].tag] if len(case) else "passed"
        for case in ET.parse(path).iter("testcase")
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    (folder / "models").mkdir()
    (folder / "models" / "model.grad").write_text(MODEL)
    np.save(folder / "models" / "data.npy", np.array([1.0, 2.0]))
    np.save(folder / "secret.npy", np.array([1.0, 2.0]))
    return folder


@pytest.fixture(scope="module")
def whole(folder):
    return run(folder, "-ra", "--junit-xml=whole.xml")


def test_every_query_and_assert_is_an_item(folder, whole):
    assert whole.returncode == 1
    assert outcomes(folder / "whole.xml") == OUTCOMES
    assert {case.get("classname") for case in ET.parse(folder / "whole.xml").iter("testcase")} == {
        "models.model.grad"
    }


def squeezed(text):
    return re.sub(" +", " ", text)


@pytest.mark.parametrize(
    "text",
    [
        "assert is false: right 17.0, left 18.0 (off by 1, relative 0.0556, 2.81e+14 ulp)\n --> "
        "models/model.grad:6:1\n6 | assert f(x)",
        "error[unknown-name]: unknown function 'sqr'\n --> models/model.grad:7:17\n7 | grad(f(x), "
        "x) + sqr(x)\n  |                 ^^^\n",
        "[XPASS(strict)] not so\n",
        "error[input]: '@../secret.npy' leads out of the folder of the file that names it\n  --> "
        "models/model.grad:14:1\n",
        "error[syntax]: the expression ends where a value is expected\n  --> "
        "models/model.grad:16:3\n16 | 1 +\n   |   ^\n",
        "mismatch: d/dz: computed nan",
        "XFAIL models/model.grad::assert x == 4 - known\n",
        "SKIPPED [1] models/model.grad: too big\n",
    ],
)
def test_failures_are_shown_without_a_traceback(whole, text):
    assert squeezed(text) in squeezed(whole.stdout)
    assert "Traceback" not in whole.stdout + whole.stderr
    assert "pytest_plugin.py" not in whole.stdout


@pytest.mark.ci
@pytest.mark.parametrize(
    "name", ["assert x == 4", "f(x) (2)", "v[::2]", "rand(2)*x", "line 16", "exp(z)/(1 + exp(z))"]
)
def test_each_item_gives_the_same_alone(folder, name, tmp_path):
    done = run(folder, f"models/model.grad::{name}", f"--junit-xml={tmp_path}/one.xml")
    found = outcomes(tmp_path / "one.xml")
    assert found[name] == OUTCOMES[name], done.stdout


@pytest.mark.ci
def test_items_are_selected_by_keyword_and_run_in_processes(folder):
    done = run(folder, "-k", "f and not sqr and not assert", "-n", "2", "--junit-xml=some.xml")
    assert outcomes(folder / "some.xml") == {
        name: OUTCOMES[name] for name in ("f(x0)", "f(x)", "f(x) (2)")
    }, done.stdout
    assert done.returncode == 0


@pytest.mark.ci
def test_settings_of_the_project_hold(tmp_path):
    (tmp_path / "k.grad").write_text("x = 0.0\nabs(x)\n")
    assert run(tmp_path).returncode == 0
    (tmp_path / "pyproject.toml").write_text("[tool.gradcli]\nfail-on = ['kink']\n")
    done = run(tmp_path)
    assert (done.returncode, "kink: d/dx" in done.stdout) == (1, True)
    (tmp_path / "pyproject.toml").write_text("[tool.gradcli]\nfail = 1\n")
    done = run(tmp_path)
    assert (done.returncode, "has no setting 'fail'" in done.stderr) == (4, True)


WRONG = {
    'fail-on = ["mismach"]': "fail-on must be one of skipped, agree, kink, ill-conditioned, "
    "undefined, undetermined, mismatch, "
    "not 'mismach'\n = help: did you mean 'mismatch'?",
}


@pytest.mark.ci
@pytest.mark.parametrize(
    ("text", "message"), thinned(pytest.param(*pair, id=pair[0]) for pair in WRONG.items())
)
def test_a_setting_that_is_wrong_fails_the_run(tmp_path, text, message):
    (tmp_path / "m.grad").write_text("x = 800.0\nexp(x)/(1 + exp(x))\n")
    (tmp_path / "test_nothing.py").write_text("def test():\n    pass\n")
    (tmp_path / "pyproject.toml").write_text(f"[tool.gradcli]\n{text}\n")
    done = run(tmp_path, "--continue-on-collection-errors")
    assert (done.returncode, "INTERNALERROR" in done.stdout + done.stderr) == (4, False)
    assert f"ERROR: pyproject.toml: [tool.gradcli] {message}\n" in done.stderr
    done = run(tmp_path, "-n", "2")
    assert done.returncode not in (0, 5)
    assert f"pyproject.toml: [tool.gradcli] {message}\n" in done.stdout
    assert "INTERNALERROR" not in done.stdout + done.stderr


@pytest.mark.ci
def test_each_file_has_the_settings_of_its_own_project(tmp_path):
    for name in ("strict", "lax"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "k.grad").write_text("x = 0.0\nabs(x)\n")
    (tmp_path / "strict" / "pyproject.toml").write_text("[tool.gradcli]\nfail-on = ['kink']\n")
    (tmp_path / "lax" / "pyproject.toml").write_text("[tool.gradcli]\nfail-on = 'none'\n")
    for folder in (tmp_path, tmp_path / "strict"):
        assert "FAILED " in (shown := run(folder, str(tmp_path)).stdout)
        assert "lax/k.grad::" not in shown
    assert "pyproject.toml is empty: no verdict fails here" in shown
    (tmp_path / "own.toml").write_text("[tool.gradcli]\nfail-on = ['mismatch']\n")
    assert run(tmp_path, "--gradcli-config=own.toml").returncode == 0
    assert run(tmp_path, "--gradcli-config=none.toml").returncode == 4


GLOBS = {
    "gradients/*.grad": ["gradients/a.grad"],
    "gradients/**/*.grad": ["gradients/a.grad", "gradients/in/b.grad"],
    "a.grad in/*.grad": ["gradients/a.grad"],
    "**/in/?.grad": ["gradients/in/b.grad"],
    "*.txt": ["notes.txt"],
}


@pytest.mark.parametrize(
    ("globs", "files"), thinned((pytest.param(*pair, id=pair[0]) for pair in GLOBS.items()), 5)
)
def test_what_is_collected(tmp_path, globs, files):
    (tmp_path / "gradients" / "in").mkdir(parents=True)
    for file in ("gradients/a.grad", "gradients/in/b.grad", "other.grad", "notes.txt"):
        (tmp_path / file).write_text("x = 2\nx**2\n")
    done = run(tmp_path, "--collect-only", "-q", "-o", f"gradcli_files={globs}")
    assert [line.partition("::")[0] for line in done.stdout.splitlines() if "::" in line] == files
    assert run(tmp_path, "other.grad", "-o", f"gradcli_files={globs}").returncode == 0


@pytest.mark.ci
def test_hooks_that_ask_every_item_for_its_function(tmp_path):
    (tmp_path / "m.grad").write_text("x = 2\nx**2\n")
    (tmp_path / "conftest.py").write_text(
        "def pytest_collection_modifyitems(items):\n    for item in items:\n"
        "        assert (item.function.__doc__, item.funcargs, item.fixturenames) == (None, {}, "
        "[]), item\n"
    )
    assert run(tmp_path).returncode == 0


RECORDS = [
    '{"id": "right", "expr": "x**2", "at": {"x": 3}, "expect": {"grad": {"x": 6}}}', "",
    '{"id": "wrong", "expr": "x**2", "at": {"x": "@x.npy"}, "expect": {"grad": {"x": 5}}}',
    '{"expr": "x**2", "at": {"x": 3}, "expect": {"value": 8}, "xfail": "known"}', '{"id": '
    '"later", "expr": "x**2", "skip": ""}',
    '{"id": "a::b", "expr": "x**2", "at": {"x": 3}, "xfail": "not so"}', '{"id": "right", "expr": '
    '"x**2", "expects": 3}', "[1]",
]  # fmt: skip
OF_RECORDS = {
    "right": "passed", "wrong": "failed",
    "line 4": "skipped", "later": "skipped", "line 6": "failed", "right (2)": "failed", "line 8": "failed",
}  # fmt: skip
CONFTEST = """\
import pytest


@pytest.fixture(autouse=True)
def elsewhere(request, tmp_path, monkeypatch):
    assert request.node.get_closest_marker("gradcli"), request.node
    monkeypatch.chdir(tmp_path)
    print("prepared", request.node.name)


def pytest_collection_modifyitems(items):
    for item in items:
        assert (item.function.__doc__, item.funcargs, item.get_closest_marker("skip") is None) == (None, {}, item.name != "later")
"""


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    folder = tmp_path_factory.mktemp("records")
    (folder / "cases").mkdir()
    (folder / "cases" / "r.jsonl").write_text("\n".join(RECORDS))
    np.save(folder / "cases" / "x.npy", 3.0)
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "other.jsonl").write_text('{"name": "somebody else\'s"}\n')
    return folder


def test_records_are_items_where_a_pattern_names_them(records):
    done = run(
        records,
        "-o",
        "gradcli_files=cases/*.jsonl",
        "--strict-markers",
        "-m",
        "gradcli",
        "--junit-xml=r.xml",
        "--tb=line",
        "-v",
    )
    assert outcomes(records / "r.xml") == OF_RECORDS, done.stdout
    assert done.returncode == 1
    told = (
        "mismatch: claim of d/dx: claimed 5.0, true 6.0 (off by 1, relative 0.167, 1.13e+15 "
        "ulp), it is 0.833333 times the derivative"
    )
    assert f"\ncases/r.jsonl:3: {told}\n" in done.stdout, "the line of --tb=line"
    assert (
        "\ncases/r.jsonl:7: error[unknown-field]: a record has no field 'expects'\n" in done.stdout
    )
    assert "\ncases/r.jsonl:8: error[input]: a record is a JSON object, not [1]\n" in done.stdout
    failures = {
        case.get("name"): case.find("failure")
        for case in ET.parse(records / "r.xml").iter("testcase")
    }
    assert failures["wrong"].get("message") == told
    assert failures["wrong"].text == f"{told}\n  --> cases/r.jsonl:3 (wrong)\n1 | x**2"


@pytest.mark.ci
def test_records_in_processes_and_one_by_one(records):
    some = run(
        records, "cases/r.jsonl::wrong", "cases/r.jsonl::line 4", "-rx", "-n", "2", "--tb=line"
    )
    assert (some.returncode, some.stdout.splitlines()[-1].split(" in ")[0].strip("= ")) == (
        1,
        "1 failed, 1 xfailed",
    ), some.stdout
    assert "\ncases/r.jsonl:3: mismatch: claim of d/dx: claimed 5.0, true 6.0 " in some.stdout
    assert "XFAIL cases/r.jsonl::line 4 - known\n" in some.stdout
    listed = run(
        records,
        "--collect-only",
        "-q",
        "-o",
        "gradcli_files=*.grad cases/**/*.jsonl",
        "-k",
        "right and not 2",
    ).stdout
    assert listed.splitlines()[0] == "cases/r.jsonl::right"
    assert run(records).returncode == 5, "nobody named records"


@pytest.mark.ci
def test_a_known_failure_of_the_baseline(tmp_path):
    (tmp_path / "m.grad").write_text("x = 2\nassert x == 3\nassert x == 3\nassert x == 4\n")
    (tmp_path / "pyproject.toml").write_text("[tool.gradcli]\nbaseline = 'known.json'\n")
    case = {"file": "m.grad", "text": "assert x == 3"}
    known = [case | {"number": 2, "rule": "assert"}, case | {"rule": "undefined"}]
    (tmp_path / "known.json").write_text(json.dumps({"version": 2, "known": known}))
    done = run(tmp_path, "--junit-xml=known.xml", "-rx")
    assert outcomes(tmp_path / "known.xml") == {
        "assert x == 3": "failed",
        "assert x == 3 (2)": "skipped",
        "assert x == 4": "failed",
    }
    # as old versions of pytest have it, and new ones
    assert re.search(
        r"XFAIL m\.grad::assert x == 3 \(2\) - (reason: )?in the baseline", done.stdout
    )
    (tmp_path / "known.json").unlink()
    done = run(tmp_path)
    assert (done.returncode, "there is no baseline" in done.stdout) == (2, True)


def test_nothing_heavy_is_imported_without_such_a_file(tmp_path):
    (tmp_path / "test_nothing.py").write_text(
        "import sys\n\n\ndef test():\n    assert 'gradcli.pytest_plugin' in sys.modules\n"
        "    found = {m.split('.')[0] for m in sys.modules} & {'numpy', 'scipy', 'sympy', "
        "'mpmath', 'rich', 'typer'}\n"
        "    assert not found\n    assert not [m for m in sys.modules if "
        "m.startswith(('gradcli.ops', 'gradcli.language'))]\n"
    )

    def cold(*options):
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:hypothesispytest",
            *options,
        ]
        return subprocess.run(
            command,
            cwd=tmp_path,
            env=plain_environment(),
            capture_output=True,
            text=True,
            check=False,
        )

    done = cold("-p", "no:zarr")  # other people's plugins, which import what they like
    assert done.returncode == 0, done.stdout
    done = cold("-p", "no:gradcli", "-p", "no:zarr")
    assert done.returncode == 1


@pytest.mark.ci
def test_reasons_and_names_are_data(tmp_path):
    (tmp_path / "a.grad").write_text(
        "x = 2\nx**2 # skip: \x1b[31mred ##[group]\nx*3 # xfail: \u202erev\nx + 0*x # ##[error]x\n",
        "utf-8",
    )
    said = run(tmp_path, "-v", "-rsX").stdout
    assert "SKIPPED [1] a.grad: \\x1b[31mred #\\x23[group]\n" in said
    assert "[XPASS(strict)] \\u202erev\n" in said
    assert "\x1b" not in said
    assert "##[" not in said
