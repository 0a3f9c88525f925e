"""Reports are data, too: whatever stands in a case, no reader of any kind does anything but read
it; and one place knows how.
"""

from __future__ import annotations

import ast
import io
import json
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
from format_readers import (
    as_seen,
    blocks_of,
    commands_in,
    documented,
    page_of,
    runner_command,
    sarif_text,
    seen_in,
    unseen_in,
)
from helpers import thinned
from hostile_texts import HOSTILE, TEXTS, anything
from hypothesis import given
from hypothesis import strategies as st
from report_cases import CI_VARIABLES

import gradcli
from gradcli import ArgumentError, Check, Claim, Record, Verdict
from gradcli.cli.process import prepare
from gradcli.report.outcomes import (
    BAD,
    ERROR,
    FAILED,
    KINDS,
    SKIPPED,
    XFAILED,
    XPASSED,
    Outcome,
    Summary,
    make,
)
from gradcli.texts import Source, Span

# -- reports of a check
# --------------------------------------------------------------------------------------------------

OUTCOME_PLACES = (
    "id",
    "expr",
    "name",
    "reason",
    "detail",
    "message",
    "help",
    "file",
    "read_as",
    "claim",
    "repeat",
)


@pytest.fixture(scope="module", autouse=True)
def _no_ci(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patched:
        for name in CI_VARIABLES:
            patched.delenv(name, raising=False)
        patched.chdir(tmp_path_factory.mktemp("nowhere"))
        yield


def outcome(text, place, status):
    expr, error = (text if place == "expr" else "x"), None
    if status == ERROR:
        source = Source(expr, text if place == "file" else "a.grad", 2)
        help = text if place == "help" else None
        error = ArgumentError(
            text if place == "message" else "no", span=Span(0, len(expr)), source=source, help=help
        )
    said = [Claim("x", "formula", Verdict.AGREE, reason=text)] if place == "claim" else []
    record = Record(
        expr, text if place == "id" else None, text if place == "file" else "a.grad", 2, 1, error=error,
        check=Check(Verdict.MISMATCH, claims=said),
        read_as=text if place == "read_as" else None, grad={"x": np.float64(1.0)}, value=np.float64(1.0),
    )  # fmt: skip
    details = [text, f"more: {text}"] if place == "detail" else ["x is wrong"]
    repeat = text if place == "repeat" else None
    return Outcome(
        record,
        text if place == "name" else "a",
        status,
        text if place == "reason" else "why",
        0.5,
        details,
        repeat=repeat,
    )


def reported(kind, outcomes, verbose=True):
    stream, summary = io.StringIO(newline=""), Summary(seconds=0.5)
    report = make(kind, stream, verbose=verbose)
    for each in outcomes:
        report.add(each)
        summary.add(each)
    report.close(summary)
    return stream.getvalue()


def one_line(text, limit):
    """Text on one line, as reports show it."""
    line = as_seen(re.sub("[ \t\r\n]+", " ", text).strip(" "))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def read_text_report(text, place, run, out):
    assert not unseen_in(out)
    assert not commands_in(out)
    assert out.split("\n")[-2].endswith("in 0.50 s")


def read_json_report(text, place, run, out):
    assert not unseen_in(out)
    assert not commands_in(out)
    found = (
        [json.loads(line) for line in out.split("\n")[:-1]]
        if out.startswith("{")
        else json.loads(out)
    )
    text = "".join("\ufffd" if 0xD800 <= ord(c) < 0xE000 else c for c in text)
    assert [each["outcome"]["status"] for each in found] == [each.status for each in run]
    for each in found:
        places = {
            "id": each["id"], "expr": each["expr"], "name": each["outcome"]["name"], "reason": each["outcome"]["reason"],
            "detail": [*each["outcome"]["details"], text][0], "file": each["source"]["file"], "read_as": each.get("read_as"),
        }  # fmt: skip
        assert places.get(place, text) == text


def read_junit(text, place, run, out):
    assert not unseen_in(out)
    assert not commands_in(out)
    (suite,) = ET.fromstring(out)
    assert suite.tag == "testsuite"
    assert len(suite) == len(run) == int(suite.get("tests"))
    allowed = {"testcase": {"classname", "name", "file", "line", "time"}, "failure": {"message", "type"}, "error": {"message", "type"},
               "skipped": {"message", "type"}, "system-out": set()}  # fmt: skip
    for case in suite.iter():
        assert case is suite or set(case.keys()) <= allowed[case.tag]
    if place == "name":
        names = [case.get("name") for case in suite]
        assert {re.sub(r" \(\d+\)$", "", name) for name in names} <= {
            one_line(text, 500) or "line 2",
            re.sub(r" \(\d+\)$", "", one_line(text, 500)),
        }
    if place == "file" and text and not text.startswith("<"):
        assert all(
            documented(text.replace("\t", " ")).strip("/.").split("/")[-1]
            in (case.get("file") or "") + text
            for case in suite
        )


def read_github(text, place, run, out):
    assert not unseen_in(out)
    commands = [runner_command(line) for line in out.split("\n")[:-1]]
    bad = [each for each in run if each.status in BAD]
    assert [command.name for command in commands] == ["error"] * len(bad)
    for command in commands:
        assert set(command.properties) <= {"file", "line", "endLine", "col", "endColumn", "title"}
        assert command.properties["title"].startswith("gradcli: ")
        assert not unseen_in(command.data)
        assert not commands_in(command.data)
        assert not unseen_in(command.properties.get("file", ""))


def read_gitlab(text, place, run, out):
    assert not unseen_in(out)
    assert not commands_in(out)
    for issue in json.loads(out):
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert not unseen_in(issue["description"])


def read_sarif(text, place, run, out):
    assert not unseen_in(out)
    assert not commands_in(out)
    (log,) = json.loads(out)["runs"]
    for result in log["results"]:
        assert not unseen_in(sarif_text(result["message"]["text"]))
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"(file:(///)?)?([\w.~/:-]|%[0-9A-F]{2})*", uri, re.ASCII), uri
        assert uri.startswith("file:") or ":" not in uri.split("/")[0]
        if (
            place == "file"
            and text
            and "/" not in text
            and text not in ("  ", "\\")
            and not any(0xD800 <= ord(c) < 0xE000 for c in text)
        ):
            assert unquote(uri) == text


def read_markdown(text, place, run, out):
    assert not unseen_in(out)
    assert not commands_in(out)
    before, table, rest = page_of(out)
    bad = [each for each in run if each.status in BAD]
    assert len(table) == len(bad) + bool(bad)
    blocks, outside = blocks_of(rest)
    assert len(blocks) == len(bad) * (1 + (place == "repeat"))
    assert re.fullmatch(r"(\n<details><summary>In full</summary>\n+</details>\n)?", outside)
    assert re.fullmatch(r"### gradcli check: [\w ,]+\n\n[\w ,.]+\n\nVerdicts: [\w ,]+\n+", before)
    for row in table[1:]:
        found = dict(zip(table[0], row, strict=True))
        assert re.fullmatch("[a-z-]+", found.pop("finding"))
        for cell in found.values():
            assert seen_in(cell) or not cell
        if place == "expr":
            assert seen_in(found["expression"]) == one_line(text, 200)
        if place == "id":
            assert seen_in(found.get("id", "")) == one_line(text, 100)


REPORT_READERS = {
    "text": read_text_report, "json": read_json_report, "jsonl": read_json_report, "junit": read_junit, "github": read_github,
    "gitlab": read_gitlab, "sarif": read_sarif, "markdown": read_markdown,
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", thinned(OUTCOME_PLACES))
def test_reports_are_read_back(kind, place):
    for text in HOSTILE.values():
        statuses = (
            (FAILED, XPASSED, XFAILED, SKIPPED)
            if place == "reason"
            else (ERROR,)
            if place in ("message", "help")
            else (FAILED, ERROR)
        )
        run = [outcome(text, place, status) for status in statuses]
        REPORT_READERS[kind](text, place, run, reported(kind, run))


@pytest.mark.parametrize("kind", KINDS)
def test_reports_of_any_text_are_read_back(kind):
    @anything
    @given(
        TEXTS,
        st.sampled_from(OUTCOME_PLACES),
        st.sampled_from((FAILED, ERROR, XPASSED, XFAILED, SKIPPED)),
    )
    def read(text, place, status):
        run = [outcome(text, place, status)]
        REPORT_READERS[kind](text, place, run, reported(kind, run))

    read()


def test_every_kind_has_its_reader():
    assert set(REPORT_READERS) == set(KINDS)


@pytest.mark.parametrize("kind", ["junit", "sarif", "gitlab", "json"])
def test_reports_in_another_encoding(monkeypatch, kind):
    out = io.TextIOWrapper(io.BytesIO(), "latin-1", write_through=True)
    monkeypatch.setattr(sys, "stdout", out)
    prepare(kind)
    out.write(reported(kind, [outcome("é😀", "expr", FAILED)]))
    data = out.buffer.getvalue()
    assert "é😀" in (
        ET.fromstring(data)[0][0][0].text
        if kind == "junit"
        else json.dumps(json.loads(data), ensure_ascii=False)
    )


# -- one place for each format
# ---------------------------------------------------------------------------------------------

ROOT = Path(gradcli.__file__).parent
# What makes text of data, or writes it, and the files that may: besides `inert`, those of the
# streams, of JSON, of rows, of files that are read by gradcli again, and of rich's texts.
MAKERS = {
    # an end of line after a prompt that Ctrl-D left
    "print": {"cli/process.py"},
    "Text": {"cli/write/terminal.py"},
    "write": {"cli/process.py", "report/"},
    "dumps": {"data.py", "report/outcomes.py", "cli/write/expectations.py", "cli/write/saving.py",
              "query/baseline.py", "cli/decide/about.py"},
    "writer": {"report/table.py"},
    "quote": {"inert.py", "cli/repl/"}, "translate": {"inert.py", "notation.py", "report/plot_chart.py"},
    "html": set(),
    "escape": set(),
}  # fmt: skip


def test_nothing_else_makes_text_inert():
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name.partition("/")[0] not in (
            "cli",
            "report",
            "pytest_plugin.py",
            "inert.py",
            "errors.py",
        ):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                called = (
                    node.func.id
                    if isinstance(node.func, ast.Name)
                    else getattr(node.func, "attr", "")
                )
                on = ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""
                if called == "print" and on.endswith(
                    "console"
                ):  # rich's, of texts that `plain` has made
                    continue
                if called == "write" and on not in ("sys.stdout", "sys.stderr", "self.stream"):
                    continue
                allowed = MAKERS.get(called)
                assert allowed is None or any(name.startswith(place) for place in allowed), (
                    f"{name}:{node.lineno} calls {called}"
                )
