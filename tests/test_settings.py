"""Settings of projects: which file they come from, what they may be, and what is said of those that
are wrong.
"""

from __future__ import annotations

import json

import pytest

from gradcli.errors import UsageError
from gradcli.files.settings import Configuration, Settings, read

VERDICTS = "skipped, agree, kink, ill-conditioned, undefined, undetermined, mismatch"
WRONG = {
    "fail_on = 'kink'": "has no setting 'fail_on'\n = help: did you mean 'fail-on'?",
    "verbose = true": "has no setting 'verbose'\n"
    " = help: it has fail-on, convention, rtol, atol, points, random-state, timeout, jobs, "
    "report, dialect, backend, "
    "threads, budget, baseline, files, functions",
    "backend = 'nativ'": "backend must be one of auto, numpy, native, not 'nativ'\n = help: did "
    "you mean 'native'?",
    "backend = 'gpu'": "backend must be one of auto, numpy, native, not 'gpu'",
    "backend = true": "backend must be one of auto, numpy, native, not True",
    "threads = 0": "threads must be a whole number from 1, not 0",
    'fail-on = ["mismach"]': f"fail-on must be one of {VERDICTS}, not 'mismach'\n = help: did you "
    "mean 'mismatch'?",
    "fail-on = 'mismatch, kinks'": f"fail-on must be one of {VERDICTS}, not 'kinks'\n = help: did "
    "you mean 'kink'?",
    "fail-on = ['none', 'kink']": "fail-on: 'none' stands alone\n = help: write none, or the "
    "verdicts",
    "fail-on = 3": 'fail-on cannot be 3\n = help: write fail-on = ["mismatch"]',
    "convention = 'torh'": "convention must be one of torch, jax, min-norm, not 'torh'\n = help: "
    "did you mean 'torch'?",
    "convention = ''": "convention must be one of torch, jax, min-norm, not ''",
    "convention = ['jax']": "convention must be one of torch, jax, min-norm, not ['jax']",
    "timeout = 0": "timeout must be a number above 0, not 0",
    "timeout = inf": "timeout must be a number above 0, not inf",
    "rtol = '1e-5'": "rtol must be a number from 0, not '1e-5'\n = help: write the number 1e-05",
    "rtol = 'small'": "rtol must be a number from 0, not 'small'",
    "atol = true": "atol must be a number from 0, not True",
    "rtol = nan": "rtol must be a number from 0, not nan",
    "points = -1": "points must be a whole number from 1, not -1",
    "points = '16'": "points must be a whole number from 1, not '16'\n = help: write the number 16",
    "jobs = -2": "jobs must be a whole number from 1, not -2",
    "random-state = 1.0": "random-state must be a whole number from 0, not 1.0",
    "report = 'junit'": "report cannot be 'junit'\n = help: write report = "
    '["junit=gradients.xml"]',
    "budget = 0": "budget must be a number above 0, not 0",
    "files = []": 'files cannot be []\n = help: write files = ["gradients"]',
    "files = ['../a.grad']": "files: '../a.grad' lies outside of the folder of pyproject.toml",
    "baseline = ['a']": "baseline cannot be ['a']\n = help: write baseline = \"known.json\"",
    "baseline = '/b.json'": "baseline: '/b.json' lies outside of the folder of pyproject.toml\n = "
    "help: name it with --baseline",
    "report = 'junit=../out.xml'": "report: '../out.xml' lies outside of the folder of "
    "pyproject.toml\n = help: name it with --report",
}


@pytest.mark.parametrize(("text", "message"), WRONG.items(), ids=WRONG)
def test_what_is_wrong(monkeypatch, tmp_path, text, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(f"[tool.gradcli]\n{text}\n")
    with pytest.raises(UsageError) as caught:
        Configuration().of("a.grad")
    assert caught.value.render() == f"error[usage]: pyproject.toml: [tool.gradcli] {message}"


STRAYS = {
    "[tool.grad-cli]\nrtol = 1": "c.toml: [tool.grad-cli] is not read\n = help: did you mean "
    "[tool.gradcli]?",
    "[gradcli]\nrtol = 1": "c.toml: [gradcli] is not read\n = help: did you mean [tool.gradcli]?",
    "fail-on = 'kink'": "c.toml: 'fail-on' stands in no table\n = help: write [tool.gradcli] "
    "above it",
    "[tool]\ngradcli = 3": "c.toml: [tool.gradcli] must be a table",
    "[tool.gradcli]\nrtol": "cannot read 'c.toml': Expected '=' after a key in a key/value pair "
    "(at end of document)",
}


@pytest.mark.parametrize(("text", "message"), STRAYS.items(), ids=STRAYS)
def test_settings_that_nobody_would_read(monkeypatch, tmp_path, text, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(UsageError) as caught:
        Configuration("c.toml")
    assert caught.value.render() == f"error[usage]: {message}"


def test_a_file_with_a_bom_and_every_setting(tmp_path):
    path = tmp_path / "pyproject.toml"
    path.write_bytes(
        b"\xef\xbb\xbf[tool.gradcli]\r\nfail-on = 'kink, mismatch'\r\nconvention = 'jax'\r\nrtol "
        b"= 1\r\natol = 0.5\r\npoints = 3\r\n"
        b"random-state = 0\r\ntimeout = 2\r\njobs = 2\r\nreport = ['json=-', "
        b"'junit=out/x.xml']\r\ndialect = 'torch'\r\n"
        b"backend = 'numpy'\r\nthreads = 3\r\nbudget = 9\r\nbaseline = 'known.json'\r\nfiles = "
        b"['a.grad', 'in/*.jsonl']\r\n"
    )
    report = ("json=-", f"junit={tmp_path.resolve() / 'out/x.xml'}")
    root = tmp_path.resolve()
    run = {
        "budget": 9,
        "baseline": str(root / "known.json"),
        "files": (str(root / "a.grad"), str(root / "in/*.jsonl")),
    }
    assert read(path) == Settings(
        ("kink", "mismatch"), "jax", 1, 0.5, 3, 0, 2, 2, report, path, "torch", "numpy", 3, **run
    )


@pytest.mark.parametrize("word", ["[]", "''", "'none'", "['none']"])
def test_no_verdict_at_all(tmp_path, word):
    (tmp_path / "pyproject.toml").write_text(f"[tool.gradcli]\nfail-on = {word}\n")
    assert Configuration().of(str(tmp_path / "a.grad")).fail_on == ()


# -- on the command line


@pytest.fixture
def project(tmp_path):
    """A kink in a strict project, in one without settings below it, and above both."""
    (tmp_path / "strict" / "inner").mkdir(parents=True)
    (tmp_path / "strict" / "pyproject.toml").write_text(
        "[tool.gradcli]\nfail-on = 'kink,mismatch'\nrtol = 0.1\n"
    )
    (tmp_path / "strict" / "inner" / "pyproject.toml").write_text("[tool.other]\n")
    for folder in ("", "strict/", "strict/inner/"):
        (tmp_path / f"{folder}k.grad").write_text("x = 0.\nabs(x)\n")
        (tmp_path / f"{folder}c.jsonl").write_text(
            '{"expr": "x**2", "at": {"x": 2}, "expect": {"grad": {"x": 4.1}}}\n'
        )
    return tmp_path


FILES = {
    "a folder": (
        "['strict']",
        ["strict/c.jsonl", "strict/inner/c.jsonl", "strict/inner/k.grad", "strict/k.grad"],
    ),
    "patterns": (
        "['*.grad', 'strict/**/*.jsonl']",
        ["k.grad", "strict/c.jsonl", "strict/inner/c.jsonl"],
    ),
    "one": ("'k.grad'", ["k.grad"]),
}


@pytest.mark.parametrize(("files", "wanted"), FILES.values(), ids=FILES)
def test_what_is_checked_where_nothing_is_named(call_cli, project, files, wanted):
    (project / "pyproject.toml").write_text(f"[tool.gradcli]\nfiles = {files}\n")
    found = [
        json.loads(line)["source"]["file"]
        for line in call_cli("check", "--format", "jsonl").stdout.splitlines()
    ]
    assert found == wanted
    found = [
        json.loads(line)["source"]["file"]
        for line in call_cli("check", "c.jsonl", "--format", "jsonl").stdout.splitlines()
    ]
    assert found == ["c.jsonl"], "what is named wins"
    assert '"file": null' in call_cli("check", "-e", "x**2", "--format", "jsonl").stdout, (
        "an expression, too"
    )


def test_what_is_not_there_is_said(call_cli, project):
    (project / "pyproject.toml").write_text("[tool.gradcli]\nfiles = ['k.grad', 'b*.grad']\n")
    done = call_cli("check")
    assert (done.returncode, done.stderr) == (
        2,
        "error[usage]: pyproject.toml: [tool.gradcli] files: there is no 'b*.grad'\n",
    )


def test_a_baseline_of_the_project(call_cli, project):
    (project / "pyproject.toml").write_text(
        "[tool.gradcli]\nbaseline = 'known.json'\nfail-on = 'kink'\n"
    )
    done = call_cli("check", "k.grad")
    assert done.returncode == 2
    assert "there is no baseline" in done.stderr
    assert "record it anew: gradcli check --update k.grad" in done.stderr
    assert call_cli("check", "--update", "k.grad").returncode == 0
    assert '"rule": "kink"' in (project / "known.json").read_text()
    assert call_cli("check", "k.grad").returncode == 0
    assert call_cli("check", "k.grad", "--line", "2").returncode == 1, "what a line gives is shown"
    (project / "other.json").write_text('{"version": 2, "known": []}')
    assert call_cli("check", "k.grad", "--baseline", "other.json").returncode == 1


@pytest.mark.parametrize("jobs", [(), ("-j", "2")])
def test_each_file_is_judged_by_its_own_project(call_cli, project, jobs):
    done = call_cli(
        "check", "k.grad", "strict/k.grad", "strict/inner/k.grad", "--format", "jsonl", *jobs
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(r["source"]["file"], r["outcome"]["status"]) for r in found] == [
        ("k.grad", "passed"), ("strict/k.grad", "failed"), ("strict/inner/k.grad", "passed"),
    ]  # fmt: skip
    done = call_cli(
        "check", "c.jsonl", "strict/c.jsonl", "strict/inner/c.jsonl", "--format", "jsonl", *jobs
    )
    assert [json.loads(line)["outcome"]["status"] for line in done.stdout.splitlines()] == [
        "failed",
        "passed",
        "failed",
    ]
    assert call_cli("check", "strict/k.grad", "--fail-on", "mismatch", *jobs).returncode == 0
    assert call_cli("check", "strict/c.jsonl", "--rtol", "1e-6", *jobs).returncode == 1


def test_one_file_of_settings_for_all(call_cli, project):
    (project / "own.toml").write_text("[tool.gradcli]\nfail-on = ['kink']\n")
    assert call_cli("check", "k.grad", "--config", "own.toml").returncode == 1
    assert (
        call_cli(
            "check", "strict/c.jsonl", "--config", "own.toml", "--fail-on", "mismatch"
        ).returncode
        == 1
    )
    (project / "own.toml").write_text("")
    assert call_cli("check", "strict/k.grad", "--config", "own.toml").returncode == 0
    done = call_cli("check", "k.grad", "--config", "none.toml")
    assert (done.returncode, done.stderr) == (2, "error[usage]: there is no file 'none.toml'\n")


def test_the_current_folder_is_for_what_has_no_file(call_cli, project):
    (project / "pyproject.toml").write_text(
        "[tool.gradcli]\nfail-on = ['kink']\nreport = ['jsonl=out.jsonl']\n"
    )
    assert call_cli("check", "-e", "abs(x)", "x=0.").returncode == 1
    assert call_cli("check", "-", stdin="x = 0.\nabs(x)\n").returncode == 1
    assert json.loads((project / "out.jsonl").read_text())["expr"] == "abs(x)"
    assert call_cli("check", "strict/inner/k.grad").returncode == 0
    (project / "pyproject.toml").write_text("[tool.gradcli]\nfail-on = []\nreport = ['junit=-']\n")
    done = call_cli("check", "strict/inner/k.grad")
    assert (done.stderr, done.stdout[:5]) == ("", "<?xml")
    assert call_cli("check", "strict/inner/k.grad", "--format", "github").stdout == ""


@pytest.mark.parametrize("option", ["", "none"])
def test_a_check_that_is_switched_off_says_so(call_cli, project, option):
    note = "is empty: no verdict fails here, only errors and false asserts do\n"
    done = call_cli("check", "strict/k.grad", "--fail-on", option)
    assert (done.returncode, done.stderr) == (0, f"note: --fail-on {note}")
    (project / "strict" / "pyproject.toml").write_text("[tool.gradcli]\nfail-on = []\n")
    done = call_cli("check", "strict/k.grad")
    assert (done.returncode, done.stderr) == (0, f"note: fail-on of strict/pyproject.toml {note}")


def test_what_is_wrong_is_said_before_anything_is_done(call_cli, project):
    (project / "strict" / "pyproject.toml").write_text("[tool.gradcli]\nconvention = 'jaxx'\n")
    done = call_cli("check", "k.grad", "strict/k.grad")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error[usage]: strict/pyproject.toml: [tool.gradcli] convention must be one of torch, "
        "jax, min-norm, not 'jaxx'\n"
        " = help: did you mean 'jax'?\n"
    )
