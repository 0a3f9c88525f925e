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

import pytest

from gradcli.cli.main import app
from gradcli.cli.process import run_guarded


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


# -- what is read


def test_folders(check, files):
    folder = files(b__grad="2\n", a__jsonl=[{"expr": "1"}], note__txt="not a program")
    for place in ("in/deep", ".hidden"):
        (folder / place).mkdir(parents=True)
        (folder / place / "c.grad").write_text("3\n")
    (folder / "in" / "loop").symlink_to(folder)
    (folder / "other").symlink_to("in/deep")
    code, records = check(".", "in", "b.grad")
    shown = ["a.jsonl", "b.grad", "in/deep/c.grad"]
    assert (code, [record["source"]["file"] for record in records]) == (0, shown)
    assert [record["source"]["file"] for record in check(".hidden")[1]] == [".hidden/c.grad"]


def test_the_hook_of_pre_commit_takes_files_without_cases(call_cli, files):
    hooks = Path(__file__).parents[1] / ".pre-commit-hooks.yaml"
    if not hooks.exists():
        pytest.skip("the hook stands in a checkout only")
    entry = re.findall("^  entry: gradcli (.*)$", hooks.read_text(), re.M)[
        0
    ]  # tests/test_ci_files.py has the other
    files(model__grad="# nothing yet\n")
    assert call_cli(*entry.split(), "model.grad").returncode == 0


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


def test_standard_output_that_knows_ascii_only(run_cli, cli_environment):
    environment = {**cli_environment, "PYTHONIOENCODING": "ascii"}
    done = run_cli("check", "-e", "assert α == 3", "α=2", env=environment)
    assert (done.returncode, "assert \\u03b1 == 3" in done.stdout) == (1, True)


# -- known failures and expectations


LINES = [
    (b'\xef\xbb\xbf{"expr": "x**2",\t"at": {"x": 3}}  \r\n',
     b'\xef\xbb\xbf{"expr": "x**2", "at": {"x": 3}, "expect": {"value": 9.0, "grad": {"x": '
     b'6.0}}}\n'),
    (b"\n", None),
    (b"not JSON \xff\n", None),
    (b'{"expr":"sqr(x)"}\n', None),
    (b'{"expr":"x","at":{"x":2},"skip":"no"}\n', None),
    (b'{"expr":"x**2","at":{"x":1.50},"expect":{"grad":{"x":"2*x"}},"meta":{"n":1.10}}\n', None),
    (b'{"expr":"x**2","at":{"x":1.50},"expect" : {"value" : 2, '
    b'"grad":{"x":"2*x"}},"meta":{"n":1.10}}\n',
     b'{"expr": "x**2", "at": {"x": 1.5}, "expect": {"value": 2.25, "grad": {"x": '
     b'"2*x"}}, "meta": {"n": 1.1}}\n'),
    (b'{"expr":"x*y","at":{"x":2,"y":3},"expect":{"grad":{"y":7}}}\n',
     b'{"expr": "x*y", "at": {"x": 2, "y": 3}, "expect": {"grad": {"y": 2.0}}}\n'),
    ('{"expr":"x","at":{"x":2},"meta":{"n":"\u2028Größe"},"expect":null}\n'.encode(),
     '{"expr": "x", "at": {"x": 2}, "meta": {"n": "\u2028Größe"}, "expect": {"value": 2.0, '
     '"grad": {"x": 1.0}}}\n'.encode()),
    # what is known to be wrong is no expectation
    (b'{"expr":"exp(x)/(1+exp(x))","at":{"x":800}}\n', None),
    (b'{"expr":"x","at":{"x":"inf"}}', b'{"expr": "x", "at": {"x": "inf"}, "expect": {"value": "inf", '
    b'"grad": {"x": 1.0}}}'),
]  # fmt: skip


def test_update_writes_expectations_and_leaves_every_other_line(call_cli, tmp_path):
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


STREAM = ["-i", "jsonl", "-", "--format", "jsonl"]


def start(environment, folder, *arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "gradcli", "check", *arguments], cwd=folder, env=environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupt_leaves_partial_reports(cli_environment, tmp_path, jobs):
    process = start(cli_environment, tmp_path, *STREAM, "-j", jobs, "--report", "junit=out.xml")
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


def test_outcomes_come_one_by_one(cli_environment, tmp_path):
    process = start(cli_environment, tmp_path, *STREAM)
    for value in (1, 2):
        process.stdin.write(b'{"expr": "%d"}\n' % value)
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["value"] == value
    process.communicate(timeout=30)
    assert process.returncode == 0


def test_a_closed_pipe_is_quiet_and_other_reports_are_complete(cli_environment, tmp_path):
    process = start(cli_environment, tmp_path, *STREAM, "--report", "junit=out.xml")
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
        [sys.executable, "-m", "gradcli", "check", *arguments], cwd=folder, env=environment,
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
    assert re.search(r"\d+ checked, \d+ s", shown)
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
