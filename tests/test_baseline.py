"""Known failures: what a case is known by, and what is said of a baseline that does not fit."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def against(call_cli, tmp_path):
    """Record the failures of one text, check another one, and give the exit code and the
    statuses.
    """

    def run(before, after, name="m.grad"):
        (tmp_path / name).write_text(before)
        assert call_cli("check", name, "--baseline", "known.json", "--update").returncode == 0
        (tmp_path / name).write_text(after)
        done = call_cli("check", name, "--baseline", "known.json", "--format", "jsonl")
        return done.returncode, [
            json.loads(line)["outcome"]["status"] for line in done.stdout.splitlines()
        ]

    return run


PROGRAMS = {
    "a comment above": ("assert 1 == 2\n", "# new\n\nassert 1 == 2\n", 0, ["xfailed"]),
    "a comment beside": ("assert 1 == 2\n", "assert 1 == 2  # new\n", 0, ["xfailed"]),
    "another one on its line": ("x = 2\nassert x**2 == 5\n", "x = 2\nassert x**3 == 7\n", 1, ["failed"]),
    "an equal one more": ("assert 1 == 2\n", "assert 1 == 2\nassert 1 == 2\n", 1, ["xfailed", "failed"]),
    "one of equal ones fails": ("x = 1\nassert x == 2\nx = 2\nassert x == 2\n", "x = 2\nassert x "
    "== 2\nx = 1\nassert x == 2\n", 1,
                                ["passed", "failed"]),
    "for another reason": ("x = 2\nassert x == 3\n", "x = [1, 2]\nassert x == [1, 2, 3]\nassert x "
    "== 3\n", 2, ["error", "xfailed"]),
    "lines end otherwise": ("assert (1\n  == 2)\n", "assert (1\r\n  == 2)\r\n", 0, ["xfailed"]),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "code", "statuses"), PROGRAMS.values(), ids=PROGRAMS)
def test_cases_of_programs(against, before, after, code, statuses):
    assert against(before, after) == (code, statuses)


KNOWN = {
    "id": "q",
    "expr": "x**2",
    "at": {"x": 3},
    "wrt": ["x"],
    "seed": 1,
    "expect": {"grad": {"x": 5}},
}
RECORDS = {
    "moved": ({"meta": {"note": "new"}}, "xfailed"),
    "another id": ({"id": "r"}, "failed"),
    "another claim": ({"expect": {"grad": {"x": 7}}}, "failed"),
    "other values": ({"at": {"x": 4}}, "failed"),
    "another seed": ({"seed": 2}, "failed"),
    "another wrt": ({"wrt": None}, "failed"),
}


@pytest.mark.parametrize(("change", "status"), RECORDS.values(), ids=RECORDS)
def test_cases_of_records(against, change, status):
    code, statuses = against(
        json.dumps(KNOWN) + "\n", "\n" + json.dumps(KNOWN | change) + "\n", "c.jsonl"
    )
    assert (code, statuses) == (0 if status == "xfailed" else 1, [status])


def test_two_records_of_one_id(against):
    records = [json.dumps(KNOWN | {"expr": expr}) + "\n" for expr in ("x**2", "x**4")]
    assert against(records[0] + '{"id": "q", "expr": "1"}\n', "".join(records), "c.jsonl") == (
        1,
        ["xfailed", "failed"],
    )


@pytest.mark.parametrize("project", ["pyproject.toml", ".git", None])
def test_every_way_to_a_file(call_cli, tmp_path, project):
    (tmp_path / "in").mkdir()
    if project:
        (tmp_path / project).write_text("gitdir: elsewhere" if project == ".git" else "")
    (tmp_path / "m.grad").write_text("assert 1 == 2\n")
    call_cli("check", "m.grad", "--baseline", "known.json", "--update")
    for folder, file in ((".", "./m.grad"), (".", f"{tmp_path}/m.grad"), ("in", "../m.grad")):
        done = call_cli(
            "check", file, "--baseline", f"{tmp_path}/known.json", cwd=tmp_path / folder
        )
        assert (done.returncode, done.stderr) == (0, "")
    assert json.loads((tmp_path / "known.json").read_text()) == {
        "version": 2, "known": [{"file": "m.grad", "text": "assert 1 == 2", "rule": "assert"}],
    }  # fmt: skip


REFUSED = {
    "absent": (None, "there is no baseline 'known.json'"),
    "older": ('{"version": 1, "known": []}', "the baseline 'known.json' is of version 1, not 2"),
    "newer": ('{"version": 99, "known": []}', "the baseline 'known.json' is of version 99, not 2"),
    "of none": ('{"known": []}', "the baseline 'known.json' is of version None, not 2"),
    "a list": ("[]", "cannot read the baseline 'known.json': AttributeError: 'list' object has no "
    "attribute 'get'"),
    "an entry without a rule": ('{"version": 2, "known": [{"file": "a", "text": "b"}]}',
                                "cannot read the baseline 'known.json': KeyError: 'rule'"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_a_baseline_that_cannot_be_used(call_cli, tmp_path, text, message):
    (tmp_path / "my model.grad").write_text("assert 1 == 2\n")
    if text is not None:
        (tmp_path / "known.json").write_text(text)
    arguments = ["my model.grad", "--baseline", "known.json"]
    done = call_cli("check", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    command = "gradcli check --update 'my model.grad' --baseline known.json"
    assert done.stderr == f"error[input]: {message}\n = help: record it anew: {command}\n"
    done = call_cli("check", "--update", *arguments)
    assert (done.returncode, done.stderr) == (0, "known.json: 1 known failure\n")
    assert call_cli("check", *arguments).returncode == 0


def test_entries_that_match_nothing_are_named(call_cli, tmp_path):
    (tmp_path / "m.grad").write_text("assert 1 == 2\nassert 1 == 3\n")
    (tmp_path / "n.grad").write_text("assert 1 == 4\n")
    call_cli("check", "m.grad", "n.grad", "--baseline", "known.json", "--update")
    (tmp_path / "m.grad").write_text("assert 1 == 3\n")
    done = call_cli("check", "m.grad", "--baseline", "known.json")
    head = "note: known.json: {} of 3 entries match no failure any more; --update leaves them out\n"
    assert (done.returncode, done.stderr) == (
        0,
        head.format(1) + "  m.grad: assert 1 == 2 [assert]\n",
    )
    (tmp_path / "n.grad").unlink()
    done = call_cli("check", "m.grad", "--baseline", "known.json")
    assert (
        done.stderr
        == head.format(2) + "  m.grad: assert 1 == 2 [assert]\n  n.grad: assert 1 == 4 [assert]\n"
    )


@pytest.mark.parametrize("kind", ["gitlab", "sarif"])
def test_reports_know_a_finding_by_what_it_says(call_cli, tmp_path, kind):
    def prints(text):
        (tmp_path / "m.grad").write_text(text)
        shown = json.loads(call_cli("check", "m.grad", "--format", kind).stdout)
        found = (
            shown
            if kind == "gitlab"
            else [result["partialFingerprints"] for result in shown["runs"][0]["results"]]
        )
        return [
            next(value for key, value in issue.items() if "inger" in key or "finding" in key)
            for issue in found
        ]

    first = prints("assert 1 == 2\nassert 1 == 3\n")
    assert prints("# new\nassert 1 == 3\nassert 1 == 2\n") == first[::-1]
    assert set(prints("assert 1 == 5\nassert 1 == 2\nassert 1 == 2\n")) > {first[0]}
