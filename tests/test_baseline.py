"""Known failures: what a case is known by, and what is said of a baseline that does not fit."""

from __future__ import annotations

import json

import pytest


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
