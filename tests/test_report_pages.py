"""Reports as the pages take them that show them: valid by the schemas that are public, with what a
reviewer looks for.
"""

from __future__ import annotations

import cProfile
import io
import json
import re
import tracemalloc
import xml.etree.ElementTree as ET
from collections import Counter
from importlib import metadata
from pathlib import Path

import pytest
from format_readers import blocks_of, page_of
from jsonschema import Draft4Validator, Draft202012Validator
from recorded import read_json
from report_cases import CI_VARIABLES, RUN, case, summary_of, written
from xml_schema import Schema

from gradcli import Verdict
from gradcli.inert import markdown_block
from gradcli.report.machine_reports import driver
from gradcli.report.outcomes import FAILED, KINDS, PASSED, SKIPPED, XFAILED, make
from gradcli.report.pages import ROOM, MarkdownReport
from gradcli.report.rules import RULES

DATA = Path(__file__).parent / "data"
SARIF = Draft4Validator(read_json("sarif-2.1.0.json"))
JUNIT = Schema(DATA / "junit-10.xsd")
# What docs.gitlab.com/ci/testing/code_quality asks of a tool's report: five fields, the severities,
# relative paths.
CODE_QUALITY = Draft202012Validator(json.loads((DATA / "code_quality.json").read_text("utf-8")))


@pytest.fixture(autouse=True)
def _no_ci(monkeypatch, tmp_path):
    for name in CI_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    driver.cache_clear()
    yield
    driver.cache_clear()


RECORDS = [
    case("x**2", PASSED, Verdict.AGREE, name="square", id="square", file="r.jsonl", line=1, record_line=True),
    case("x**3 - 1", FAILED, Verdict.MISMATCH, name="cube", id="cube", file="r.jsonl", line=2, record_line=True,
         details=["claim of d/dx: claimed 5.0, true 6.0", "1 of 2 entries"], repeat="gradcli "
         "check -e 'x**3 - 1' x=1,2 --grad x=5,12"),
    case("abs(x)", XFAILED, Verdict.KINK, name="[1, 2]", id=[1, 2], file="r.jsonl", line=3, record_line=True, reason="in the baseline"),
    case("det(m)", SKIPPED, name="det", id="det", file="r.jsonl", line=4, record_line=True, reason="slow"),
]  # fmt: skip


# -- JUnit: Jenkins, GitLab
# ----------------------------------------------------------------------------------------------


def problems(text):
    return list(JUNIT.problems(ET.fromstring(text)))


@pytest.mark.parametrize("run", [[], RUN, RECORDS], ids=["nothing", "all kinds", "records"])
@pytest.mark.parametrize("interrupted", [False, True])
def test_junit_is_valid_by_jenkins_schema(monkeypatch, run, interrupted):
    allowed = {
        f"/testsuites/testsuite/testcase: no attribute '{name}' is known"
        for name in ("file", "line")
    }
    assert set(problems(written("junit", run, interrupted=interrupted))) == (
        allowed if run else set()
    )
    monkeypatch.setenv("JENKINS_URL", "https://jenkins.example.org")
    assert problems(written("junit", run, interrupted=interrupted)) == []


def test_junit_says_the_expression_where_the_name_does_not():
    (suite,) = ET.fromstring(written("junit", RECORDS))
    assert [
        (c.get("name"), c.get("file"), c.get("line"), c.findtext("system-out")) for c in suite
    ] == [
        ("square", "r.jsonl", "1", "x**2"),
        ("cube", "r.jsonl", "2", None),
        ("[1, 2]", "r.jsonl", "3", "abs(x)"),
        ("det", "r.jsonl", "4", "det(m)"),
    ]
    assert (
        suite[1]
        .find("failure")
        .text.endswith(
            "--> r.jsonl:2 (cube)\n1 | x**3 - 1\n  = 1 of 2 entries\n  = repeat: gradcli check -e "
            "'x**3 - 1' x=1,2 --grad x=5,12"
        )
    )


# -- GitLab's Code Quality
# -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("run", [[], RUN, RECORDS], ids=["nothing", "all kinds", "records"])
@pytest.mark.parametrize("interrupted", [False, True])
def test_gitlab_s_issues_are_valid(run, interrupted):
    issues = json.loads(written("gitlab", run, interrupted=interrupted))
    CODE_QUALITY.validate(issues)
    assert set(Counter(issue["fingerprint"] for issue in issues).values()) <= {1}


def test_gitlab_s_issue_of_a_record():
    (issue,) = json.loads(written("gitlab", RECORDS))
    assert (
        issue["description"] == "mismatch: claim of d/dx: claimed 5.0, true 6.0, in x**3 - 1 (cube)"
    )


# -- SARIF: code scanning
# ------------------------------------------------------------------------------------------------


def run_of(outcomes):
    log = json.loads(written("sarif", outcomes))
    SARIF.validate(log)
    return log["runs"][0]


def test_every_rule_explains_itself():
    rules = run_of([])["tool"]["driver"]["rules"]
    assert len({rule["name"] for rule in rules}) == len(rules)
    for rule in rules:
        assert re.fullmatch("([A-Z][a-z]+)+", rule["name"])
        short, full, help = (
            rule["shortDescription"]["text"],
            rule["fullDescription"]["text"],
            rule["help"],
        )
        assert full.startswith(short)
        assert len(full) > len(short) + 20
        assert len(full) <= 1024  # GitHub's limit
        assert help["markdown"] == f"**{short}**\n\n{help['text']}"
        assert help["text"].count("`") % 2 == 0
        assert not re.search(
            r"[<>*_|]|\[.*\]\(", re.sub("`[^`]*`", "", help["text"])
        )  # plain as Markdown
        assert rule["defaultConfiguration"]["level"] in ("note", "warning", "error")
        assert rule["properties"]["precision"] in ("very-high", "high", "medium", "low")
        assert rule["properties"]["problem.severity"] in ("recommendation", "warning", "error")
        assert len(rule["properties"]["tags"]) <= 10


def test_the_tool_says_its_version_its_home_and_its_rules():
    tool = run_of([])["tool"]["driver"]
    assert [rule["id"] for rule in tool.pop("rules")] == list(RULES)
    assert tool == {
        "name": "gradcli",
        "version": metadata.version("gradcli"),
        "informationUri": "https://github.com/gradcli/gradcli",
    }


def test_a_tool_that_is_not_installed(monkeypatch):
    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", absent)
    assert "version" not in run_of([])["tool"]["driver"]


def test_results_of_records():
    run = run_of(RECORDS)
    assert run["originalUriBaseIds"] == {
        "%SRCROOT%": {"description": {"text": "The root of the repository."}}
    }
    rules = run["tool"]["driver"]["rules"]
    place = {"artifactLocation": {"uri": "r.jsonl", "uriBaseId": "%SRCROOT%"}}
    wrong, known = (
        {key: value for key, value in result.items() if key != "partialFingerprints"}
        for result in run["results"]
    )
    assert rules[wrong.pop("ruleIndex")]["id"] == "mismatch"
    assert rules[known.pop("ruleIndex")]["id"] == "kink"
    assert wrong == {
        "ruleId": "mismatch",
        "level": "error",
        "message": {
            "text": "mismatch: claim of d/dx: claimed 5.0, true 6.0\n1 of 2 entries\nin x**3 - 1 "
            "(cube)\n"
            "repeat: gradcli check -e 'x**3 - 1' x=1,2 --grad x=5,12"
        },
        "locations": [
            {
                "physicalLocation": {**place, "region": {"startLine": 2}},
                "logicalLocations": [{"name": "cube", "kind": "object"}],
            }
        ],
        "suppressions": [],
        "properties": {"id": "cube", "expression": "x**3 - 1"},
    }
    assert known["suppressions"] == [{"kind": "external", "justification": "in the baseline"}]
    assert known["properties"] == {"id": "[1, 2]", "expression": "abs(x)"}


# -- Markdown: summaries of jobs, comments
# -------------------------------------------------------------------------------

LONG = [
    case("+".join(["`x|*<"] * 100), FAILED, Verdict.MISMATCH, name=str(i), id=f"##{i}", file="r.jsonl", line=i + 1, record_line=True,
         details=["é" * 2000] * 3)
    for i in range(200)
]  # fmt: skip


@pytest.mark.parametrize("room", [100, 1000, 3000, 12_000, ROOM])
def test_a_page_has_room(room):
    page = MarkdownReport(Nowhere())
    for outcome in LONG:
        page.add(outcome)
    text = page.text(summary_of(LONG), room)
    assert len(text.encode()) <= room
    if room < 200:
        assert text == ""
        return
    _, table, rest = page_of(text)
    blocks, outside = blocks_of(rest or text)
    rows = len(table[1:])
    assert rows <= 50
    assert f"\nand {200 - rows} more\n" in outside
    assert len(blocks) < rows or rows == len(blocks) == 0
    if blocks:
        assert f"<summary>In full (the first {len(blocks)})</summary>" in outside
    if room == ROOM:
        assert rows > 20
        assert len(blocks) > 0


def test_a_page_has_the_worst_case_as_a_row_and_in_full():
    _, (head, row), rest = page_of(written("markdown", RECORDS))
    assert blocks_of(rest)[0] == [
        "mismatch: claim of d/dx: claimed 5.0, true 6.0\n  --> r.jsonl:2 (cube)\n1 | x**3 - 1\n  "
        "= 1 of 2 entries\n",
        "gradcli check -e 'x**3 - 1' x=1,2 --grad x=5,12\n",
    ]
    assert dict(zip(head, row, strict=True)) == {
        "finding": "mismatch", "id": "`cube`", "place": "`r.jsonl:2`",
        "expression": "`x**3 - 1`", "reason": "`claim of d/dx: claimed 5.0, true 6.0`",
    }  # fmt: skip


def test_a_run_without_failures_is_told_in_a_few_lines():
    run = [RECORDS[0], *RECORDS[2:]]
    assert written("markdown", run) == (
        "### gradcli check: 3 cases, none failed\n\n1 passed, 1 skipped, 1 xfailed in 0.42 "
        "s\n\nVerdicts: 1 kink, 1 agree\n"
    )


def test_a_block_of_code_ends_where_it_ends():
    for text in ("a", "```", "a\n````\nb", "~~~\n```text", "`", ""):
        blocks, outside = blocks_of(f"before\n{markdown_block(text)}after")
        assert (blocks, outside) == ([f"{text}\n"], "before\nafter")


# -- all kinds
# -----------------------------------------------------------------------------------------------------------


class Nowhere(io.StringIO):
    def write(self, text):
        return len(text)


def reported(kind, count):
    """A report of so many cases, half of which failed."""
    report = make(kind, Nowhere())
    passed = case("x**2", PASSED, Verdict.AGREE, file="a.grad")
    for i in range(count // 2):
        report.add(passed)
        report.add(
            case(
                f"x**{i}",
                FAILED,
                Verdict.MISMATCH,
                id=i,
                details=["d" * 500],
                file="a.jsonl",
                line=i + 1,
                record_line=True,
            )
        )
    report.close(summary_of([]))


@pytest.mark.parametrize("kind", list(KINDS))
def test_work_grows_with_the_cases(kind):
    def calls(count):
        profile = cProfile.Profile()
        profile.runcall(reported, kind, count)
        return sum(entry.callcount for entry in profile.getstats())

    calls(10)
    assert calls(1000) < 12 * calls(100)


@pytest.mark.ci
@pytest.mark.parametrize("kind", list(KINDS))
def test_memory_does_not_grow(kind):
    """But for SARIF's: as the worst come first, and 25,000 of them are shown, so many wait."""

    def peak(count):
        tracemalloc.start()
        reported(kind, count)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    peak(10)
    assert peak(4000) < peak(1000) + (1500 * 2500 if kind == "sarif" else 1_500_000)
