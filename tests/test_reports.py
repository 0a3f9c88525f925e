"""Reports of a check: what each kind writes of the same run, and that no text of the user's can
break any of them.
"""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET

import pytest
from format_readers import page_of
from hypothesis import given
from hypothesis import strategies as st
from recorded import read_json
from report_cases import CASES, CI_VARIABLES, MODEL, RUN, case, unknown, written

from gradcli import GradcliError, InputError, Verdict
from gradcli.data import encode
from gradcli.query.baseline import Identities
from gradcli.report import machine_reports
from gradcli.report.describing import block, fingerprint, message
from gradcli.report.outcomes import (
    BAD,
    ERROR,
    FAILED,
    KINDS,
    PASSED,
    STATUSES,
)
from gradcli.report.rules import RULES

SARIF = read_json("sarif-2.1.0.json")


@pytest.fixture(autouse=True)
def _no_ci(monkeypatch, tmp_path):
    for name in CI_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


LINE = "3 failed, 1 error, 1 xpassed, 1 passed, 1 skipped, 1 xfailed in 0.42 s"

TEXT = f"""\
mismatch: x[1] claimed 3.0, true 4.0
  --> my models/model.grad:5:1
5 | sum(x**2
6 |   + |y|)
  = 1 of 2 entries
  = without the factor
  = [[2, 2],
  =  [2, 2]]

assert is false: left is 2.0, right is 3.0
  --> <command line>:1:1
1 | assert x == 3

undefined: 0 * inf
  --> cases.jsonl:7 (q7)
1 | relu(x)

error[unknown-name]: unknown function 'sqr'
  --> my models/model.grad:3:10
3 | 3*a**3 - sqr(b)
  |          ^^^
  = help: did you mean 'sqrt'?

expected to fail (was wrong), but passes
  --> cases.jsonl:9
1 | abs(y)

{LINE}
"""

VERBOSE = """\
passed   my models/model.grad:1:1  x**2  agree
error    my models/model.grad:3:10  3*a**3 - sqr(b)
failed   cases.jsonl:7 (q7)  relu(x)  undefined
failed   my models/model.grad:5:1  sum(x**2 + |y|)  mismatch
xfailed  cases.jsonl:8  abs(x)  a <kink>
xpassed  cases.jsonl:9  abs(y)  was wrong
skipped  cases.jsonl:10  inv(A)  slow
failed   <command line>:1:1  assert x == 3

"""

JUNIT = """\
<?xml version="1.0" encoding="utf-8"?>
<testsuites name="gradcli check" errors="1" failures="4" tests="8" time="0.420">
<testsuite name="gradcli" errors="1" failures="4" skipped="2" tests="8" time="0.420" timestamp="" hostname="">
<testcase classname="my models.model.grad" name="line 1" file="my models/model.grad" line="1" time="0.250"/>
<testcase classname="my models.model.grad" name="line 3" file="my models/model.grad" line="3" time="0.000">\
<error message="error[unknown-name]: unknown function 'sqr'" type="error-unknown-name">error[unknown-name]: unknown function 'sqr'
  --&gt; my models/model.grad:3:10
3 | 3*a**3 - sqr(b)
  |          ^^^
  = help: did you mean 'sqrt'?</error></testcase>
<testcase classname="cases.jsonl" name="q7" file="cases.jsonl" line="7" time="0.000">\
<failure message="undefined: 0 * inf" type="undefined">undefined: 0 * inf
  --&gt; cases.jsonl:7 (q7)
1 | relu(x)</failure></testcase>
<testcase classname="my models.model.grad" name="line 5" file="my models/model.grad" line="5" time="0.000">\
<failure message="mismatch: x[1] claimed 3.0, true 4.0" type="mismatch">mismatch: x[1] claimed 3.0, true 4.0
  --&gt; my models/model.grad:5:1
5 | sum(x**2
6 |   + |y|)
  = 1 of 2 entries
  = without the factor
  = [[2, 2],
  =  [2, 2]]</failure></testcase>
<testcase classname="cases.jsonl" name="8" file="cases.jsonl" line="8" time="0.000">\
<skipped type="pytest.xfail" message="a &lt;kink&gt;">cases.jsonl:8: a &lt;kink&gt;</skipped></testcase>
<testcase classname="cases.jsonl" name="9" file="cases.jsonl" line="9" time="0.000">\
<failure message="expected to fail (was wrong), but passes" type="xpass">expected to fail (was wrong), but passes
  --&gt; cases.jsonl:9
1 | abs(y)</failure></testcase>
<testcase classname="cases.jsonl" name="10" file="cases.jsonl" line="10" time="0.000">\
<skipped type="pytest.skip" message="slow">cases.jsonl:10: slow</skipped></testcase>
<testcase classname="&lt;command line&gt;" name="assert" time="0.000">\
<failure message="assert is false: left is 2.0, right is 3.0" type="assert">assert is false: left is 2.0, right is 3.0
  --&gt; &lt;command line&gt;:1:1
1 | assert x == 3</failure></testcase>
</testsuite>
</testsuites>
"""

GITHUB = """\
::error file=my models/model.grad,line=5,endLine=6,title=gradcli%3A mismatch::mismatch: x[1] claimed 3.0, true 4.0%0A1 of 2 entries%0A\
without the factor%0A[[2, 2],%0A [2, 2]]%0Ain sum(x**2 + |y|)
::error title=gradcli%3A assert::<command line>:1:1: assert is false: left is 2.0, right is 3.0%0Ain assert x == 3
::error file=cases.jsonl,line=7,title=gradcli%3A undefined (q7)::undefined: 0 * inf%0Ain relu(x) (q7)
::error file=my models/model.grad,line=3,col=10,endColumn=13,title=gradcli%3A error-unknown-name::\
error[unknown-name]: unknown function 'sqr'%0Ain 3*a**3 - sqr(b)
::error file=cases.jsonl,line=9,title=gradcli%3A xpass::expected to fail (was wrong), but passes%0Ain abs(y)
"""

SHORT = f"""\
### gradcli check: 5 of 8 cases failed

{LINE}

Verdicts: 1 mismatch, 1 undefined, 1 kink, 2 agree
"""

MARKDOWN = f"""\
{SHORT}
| finding | id | place | expression | reason |
| --- | --- | --- | --- | --- |
| mismatch |  | `my models/model.grad:5:1` | `sum(x**2 + \\|y\\|)` | `x[1] claimed 3.0, true 4.0` |
| assert |  | `<command line>:1:1` | `assert x == 3` | `left is 2.0, right is 3.0` |
| undefined | `q7` | `cases.jsonl:7` | `relu(x)` | `0 * inf` |
| error-unknown-name |  | `my models/model.grad:3:10` | `3*a**3 - sqr(b)` | `unknown function 'sqr'` |
| xpass |  | `cases.jsonl:9` | `abs(y)` | `expected to fail (was wrong), but passes` |

<details><summary>In full</summary>

{"".join(f"```text{chr(10)}{part}{chr(10)}```{chr(10) * 2}" for part in TEXT.split(chr(10) * 2)[:-1])}</details>
"""


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("text", TEXT), ("junit", JUNIT), ("github", GITHUB), ("markdown", MARKDOWN)],
)
def test_whole_report(kind, expected):
    assert re.sub('(timestamp|hostname)="[^"]*"', r'\1=""', written(kind, RUN)) == expected


def test_verbose_text_names_every_case():
    assert written("text", RUN, verbose=True) == VERBOSE + TEXT


def test_gitlab_report():
    issues = json.loads(written("gitlab", RUN))
    assert [(i["check_name"], i["severity"], i["location"]) for i in issues] == [
        ("gradcli/error-unknown-name", "major", {"path": MODEL, "lines": {"begin": 3}}),
        ("gradcli/undefined", "major", {"path": CASES, "lines": {"begin": 7}}),
        ("gradcli/mismatch", "critical", {"path": MODEL, "lines": {"begin": 5}}),
        ("gradcli/xpass", "minor", {"path": CASES, "lines": {"begin": 9}}),
        ("gradcli/assert", "critical", {"path": "<command line>", "lines": {"begin": 1}}),
    ]
    assert issues[1]["description"] == "undefined: 0 * inf, in relu(x) (q7)"
    assert issues[2]["description"] == "mismatch: x[1] claimed 3.0, true 4.0, in sum(x**2 + |y|)"
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)


def valid_sarif(text):
    """The run of a SARIF log that the official schema accepts."""
    from jsonschema import Draft4Validator

    log = json.loads(text)
    Draft4Validator(SARIF).validate(log)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    return run


def test_sarif_report():
    run = valid_sarif(written("sarif", RUN))
    places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    root = {"uriBaseId": "%SRCROOT%"}
    assert [(r["ruleId"], r["level"], p["artifactLocation"], p["region"]) for r, p in zip(run["results"], places, strict=True)] == [
        ("mismatch", "error", {"uri": "my%20models/model.grad", **root}, {"startLine": 5, "startColumn": 1, "endLine": 6, "endColumn": 9}),
        ("assert", "error", {"uri": "%3Ccommand%20line%3E", **root}, {"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 14}),
        ("undefined", "error", {"uri": "cases.jsonl", **root}, {"startLine": 7}),
        ("error-unknown-name", "error", {"uri": "my%20models/model.grad", **root},
         {"startLine": 3, "startColumn": 10, "endLine": 3, "endColumn": 13}),
        ("xpass", "error", {"uri": "cases.jsonl", **root}, {"startLine": 9}),
        ("kink", "note", {"uri": "cases.jsonl", **root}, {"startLine": 8}),
    ]  # fmt: skip
    assert [r["suppressions"] for r in run["results"]] == [[]] * 5 + [
        [{"kind": "inSource", "justification": "a <kink>"}]
    ]
    assert run["results"][2]["message"] == {"text": "undefined: 0 * inf\nin relu(x) (q7)"}
    assert run["tool"]["driver"]["name"] == "gradcli"
    assert run["columnKind"] == "unicodeCodePoints"
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]


def test_json_reports():
    lines = [json.loads(line) for line in written("jsonl", RUN).splitlines()]
    assert json.loads(written("json", RUN)) == lines
    assert [line["outcome"]["status"] for line in lines] == [outcome.status for outcome in RUN]
    assert [line["expr"] for line in lines] == [outcome.record.expr for outcome in RUN]
    assert lines[3]["outcome"] == {
        "name": "line 5",
        "status": "failed",
        "reason": None,
        "details": RUN[3].details,
    }
    assert {**lines[0], "outcome": None} == {**json.loads(RUN[0].record.to_json()), "outcome": None}


def test_an_array_is_written_as_json_writes_it():
    text = written("json", RUN)
    assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"


EMPTY = {
    "text": "nothing to check in 0.42 s\n", "json": "[]\n", "jsonl": "", "gitlab": "[]\n", "github": "",
    "markdown": "### gradcli check\n\nnothing to check in 0.42 s\n",
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_to_check(kind):
    text = written(kind, [])
    if kind == "sarif":
        assert valid_sarif(text)["results"] == []
    elif kind == "junit":
        assert ET.fromstring(text)[0].get("tests") == "0"
    else:
        assert text == EMPTY[kind]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("outcomes", [[], RUN], ids=["at once", "after some cases"])
def test_an_interrupted_run_says_so(kind, outcomes):
    text = written(kind, outcomes, interrupted=True)
    if kind == "gitlab":
        assert isinstance(json.loads(text), list)  # an issue is about a case
    else:
        assert "interrupted" in text
    if kind == "sarif":
        assert not valid_sarif(text)["invocations"][0]["executionSuccessful"]
    if kind == "junit":
        suite = ET.fromstring(text)[0]
        assert int(suite.get("tests")) == len(suite) == len(outcomes) + 1


# -- text of any kind
# ------------------------------------------------------------------------------------------------


# -- the parts
# -------------------------------------------------------------------------------------------------------


def test_every_finding_has_a_rule():
    def codes(error):
        return {error.code}.union(*map(codes, error.__subclasses__()))

    assert set(RULES) == {v.word for v in Verdict} | {"assert", "xpass", "none"} | {
        f"error-{name}" for name in codes(GradcliError)
    }
    assert {rule.severity for rule in RULES.values()} <= {
        "info",
        "minor",
        "major",
        "critical",
        "blocker",
    }


def failures(count):
    return [
        case(f"x*{i}", FAILED, Verdict.UNDEFINED, file="a.grad", line=i + 1) for i in range(count)
    ]


def test_long_reports_are_cut_and_say_so(monkeypatch):
    last = case("worst", FAILED, Verdict.MISMATCH, file="a.grad", line=5000)
    text = written("text", [*failures(1200), last])
    assert text.startswith("mismatch")
    assert text.count("undefined") == 999
    assert text.endswith("\nand 201 more, none of them graver\n\n1201 failed in 0.42 s\n")
    _, (_, *rows), rest = page_of(written("markdown", [*failures(60), last]))
    assert rows[0] == ["mismatch", "`a.grad:5000:1`", "`worst`", ""]
    assert len(rows) == 50
    assert rest.startswith(
        "\nand 11 more\n\n<details><summary>In full</summary>\n\n```text\nmismatch\n"
    )
    assert rest.count("```text\n") == 50
    lines = written("github", [*failures(60), last]).splitlines()
    assert len(lines) == 10
    assert "in worst" in lines[0]
    assert lines[9] == "::error title=gradcli check::and 52 more: 61 failed in 0.42 s"
    assert len(written("github", failures(9)).splitlines()) == 9
    monkeypatch.setattr(machine_reports.SarifReport, "MOST", 3)
    run = valid_sarif(written("sarif", [*failures(5), last]))
    assert [result["ruleId"] for result in run["results"]] == ["mismatch", "undefined", "undefined"]
    assert run["invocations"][0]["toolExecutionNotifications"] == [
        {"level": "warning", "message": {"text": "3 more results are left out"}}
    ]


def test_long_expressions_are_clipped():
    record = {"file": "a.grad", "line": 9}
    long = case(
        "+".join(["x"] * 10**5),
        FAILED,
        Verdict.MISMATCH,
        details=["y" * 10**5, "z" * 10**5],
        **record,
    )
    tall = case(
        "\n".join(["x +"] * 100 + ["x"]),
        FAILED,
        Verdict.MISMATCH,
        details=["it", *["z"] * 100],
        **record,
    )
    assert all(len(line) <= 1010 for line in block(long).split("\n"))
    assert len(message(long)) <= 3500
    lines = block(tall).split("\n")
    assert lines[:2] == ["mismatch: it", "   --> a.grad:9:1"]
    assert lines[2:4] == [" 9 | x +", "10 | x +"]
    assert lines[9:12] == ["16 | x +", "   | …", "   = z"]
    assert lines[-1] == "   = and 80 more lines"


BLOCKS = {
    "an error in a claim": (
        case("x**2", ERROR, file="a", line=7, error=unknown("sqr(x)", "sqr", "<claim of x>", 1)),
        "error[unknown-name]: unknown function 'sqr'\n  --> a:7:1\n7 | x**2\n  --> <claim of "
        "x>:1:1\n1 | sqr(x)\n  | ^^^",
    ),
    "an error without a place": (
        case(
            "",
            ERROR,
            file="a",
            line=7,
            record_line=True,
            error=InputError("'expr' must be a string", help="write it"),
        ),
        "error[input]: 'expr' must be a string\n --> a:7\n = help: write it",
    ),
}


@pytest.mark.parametrize(("outcome", "text"), BLOCKS.values(), ids=BLOCKS)
def test_block(outcome, text):
    assert block(outcome) == text


def test_names_of_cases_are_told_apart():
    named = ["q", "q", "", "", "q"]
    text = written(
        "junit",
        [
            case(status=PASSED, name=name, file="a.jsonl", line=i + 1)
            for i, name in enumerate(named)
        ],
    )
    assert [c.get("name") for c in ET.fromstring(text)[0]] == [
        "q",
        "q (2)",
        "line 3",
        "line 4",
        "q (3)",
    ]


def test_a_file_elsewhere_has_a_whole_address():
    (result,) = valid_sarif(written("sarif", [case(file="/other place/ü\udcff.grad")]))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {
        "uri": "file:///other%20place/%C3%BC%FF.grad"
    }


def test_fingerprints_follow_the_finding_and_not_its_line():
    def prints(*outcomes):
        identities = Identities(None)
        for outcome in outcomes:
            outcome.identity = identities.of(outcome)
        return [fingerprint(outcome) for outcome in outcomes]

    def at(line, expr="x", file="a.grad", verdict=Verdict.MISMATCH):
        return case(expr, FAILED, verdict, file=file, line=line, details=[f"seen at {line}"])

    known = prints(at(1), at(2), at(3, "y"), at(4, file="b.grad"), at(5, verdict=Verdict.UNDEFINED))
    assert len(set(known)) == 5
    assert prints(at(11), at(20, "y"), at(12)) == [known[0], known[2], known[1]]
    assert prints(at(1, file="./a.grad")) == known[:1]


def test_the_step_summary_is_appended(monkeypatch, tmp_path):
    file = tmp_path / "summary.md"
    file.write_text("before\n", "utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(file))
    assert written("github", RUN) == GITHUB
    assert file.read_text("utf-8") == "before\n" + MARKDOWN


@pytest.mark.parametrize(
    ("room", "expected"),
    [(2500, MARKDOWN), (500, f"{SHORT}\nand 5 more\n"), (30, "")],
    ids=["all", "a line", "none"],
)
def test_the_step_summary_keeps_to_github_s_limit(monkeypatch, tmp_path, room, expected):
    file = tmp_path / "summary.md"
    file.write_bytes(b"x" * ((1 << 20) - room))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(file))
    lines = written("github", RUN).splitlines()
    assert file.read_text("utf-8").lstrip("x") == expected
    assert (lines[-1] == "::warning title=gradcli check::the step's summary is full") == (
        not expected
    )


def test_a_step_summary_that_cannot_be_written(monkeypatch, tmp_path):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    lines = written("github", RUN).splitlines()
    assert lines[-1].startswith("::warning title=gradcli check::cannot write the step's summary: ")


def test_expected_failures_and_skips_are_not_reported_as_failures():
    quiet = [
        case(status=status, verdict=Verdict.MISMATCH) for status in STATUSES if status not in BAD
    ]
    assert written("text", quiet) == "1 passed, 1 skipped, 1 xfailed in 0.42 s\n"
    assert written("github", quiet) == ""
    assert json.loads(written("gitlab", quiet)) == []
    suite = ET.fromstring(written("junit", quiet))[0]
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == [
        "3",
        "0",
        "0",
        "2",
    ]


# -- JSON in one line
# -------------------------------------------------------------------------------------------------


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), inner, max_size=4),
    max_leaves=12,
))  # fmt: skip
def test_json_in_one_line_reads_back_as_what_was_written(value):
    line = encode(value)
    assert json.loads(line) == value
    assert repr(json.loads(line)) == repr(value)  # -0.0 and 2.0 are others than 0.0 and 2
    assert "\n" not in line
