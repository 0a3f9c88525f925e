"""Results that cannot be written: an error takes the place of each, in every format and report, and
the others are as they would be.
"""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from test_inert import COMMANDS, FORMATS, FORMULA_FORMATS, shown_by
from test_inert_reports import REPORT_READERS, outcome, reported

from gradcli import Record
from gradcli.cli.write.reports import report_outcome
from gradcli.report.outcomes import ERROR, FAILED, KINDS, Summary, make


class Poison:
    """What cannot be made text, nor an array."""

    def _fail(self, *_, **__):
        raise RecursionError("poison")

    __str__ = __repr__ = __array__ = __len__ = __iter__ = __float__ = __format__ = __bool__ = (
        __getitem__
    ) = _fail


def record(number, **poisoned):
    known = {
        "value": np.float64(number),
        "grad": {"x": np.float64(1.0)},
        "meta": {"a": 1},
        **poisoned,
    }
    return Record(f"x + {number}", number, line=number, record_line=True, **known)


POISONED = {
    "value": {"value": Poison()},
    "gradient": {"grad": {"x": Poison()}},
    "meta": {"meta": Poison()},
}


@pytest.mark.parametrize("poisoned", POISONED.values(), ids=POISONED)
@pytest.mark.parametrize("kind", FORMATS)
def test_a_result_that_cannot_be_written(kind, poisoned):
    if "meta" in poisoned and kind not in ("json", "jsonl"):
        pytest.skip("which has no meta")
    if "grad" in poisoned and kind == "value":
        pytest.skip("which has no gradient")
    middle = record(2, **poisoned)
    out, err = shown_by("eval", kind, [record(1), middle, record(3)])
    alone, _ = shown_by("eval", kind, [record(1), record(3)])
    assert middle.error.code == "internal"
    if kind in ("json", "jsonl"):
        found = (
            json.loads(out)
            if kind == "json"
            else [json.loads(line) for line in out.split("\n")[:-1]]
        )
        before = (
            json.loads(alone)
            if kind == "json"
            else [json.loads(line) for line in alone.split("\n")[:-1]]
        )
        assert [found[0], found[2]] == before
        assert (found[1]["error"]["code"], found[1]["value"], found[1]["expr"]) == (
            "internal",
            None,
            "x + 2",
        )
        assert found[1]["id"] == 2
    else:
        assert [line for line in out.split("\n") if line != "2,2,x + 2,,,,,"] == alone.split("\n")
        assert err.startswith("error[internal]: RecursionError: poison (in ")
        assert "\n --> <stdin>:2\n = help: this is a bug" in err


@pytest.mark.parametrize("kind", [kind for kind in FORMULA_FORMATS if kind != "html"])  # one page
def test_a_formula_that_cannot_be_written(kind):
    middle = COMMANDS["diff"][1]("x", "expr")
    middle.formulas, middle.steps = {("x",): Poison()}, {}
    records = [COMMANDS["diff"][1]("a", "expr"), middle, COMMANDS["diff"][1]("b", "expr")]
    out, err = shown_by("diff", kind, records)
    assert middle.error.code == "internal"
    assert (out + err).count("internal") == 1
    mark = {"json": '"{}"', "jsonl": '"{}"', "latex": "% {},"}.get(kind, "{}\n")
    assert all(mark.format(name) in out for name in "ab")


@pytest.mark.parametrize("kind", KINDS)
def test_a_case_that_cannot_be_reported(kind):
    run = [outcome("x", "expr", FAILED) for _ in range(3)]
    run[1].details = [Poison()]
    stream, summary, written = io.StringIO(), Summary(seconds=0.5), []
    report = make(kind, stream, verbose=True)
    for each in run:
        written.append(report_outcome(report, each))
        summary.add(each)
    report.close(summary)
    assert written == [True, False, True]
    assert "RecursionError: poison" in stream.getvalue()
    expected = [run[0], outcome("x", "expr", ERROR), run[2]]
    REPORT_READERS[kind]("x", "expr", expected, stream.getvalue())
    assert reported(kind, [run[0]]).count("x is wrong") * 2 == stream.getvalue().count("x is wrong")


def test_a_run_goes_on_and_says_so(call_cli, monkeypatch):
    from gradcli.report import records

    original = records.array_text
    monkeypatch.setattr(
        records,
        "array_text",
        lambda array, *rest: 1 / 0 if np.any(np.equal(array, 9.0)) else original(array, *rest),
    )
    done = call_cli("eval", "--no-check", "x=3", stdin="x**2\nx\n")
    assert (done.returncode, done.stdout) == (
        3,
        "x\n  value    3.0  (float64)\n     gradient  derivative\n  x  1.0       1\n",
    )
    assert done.stderr.startswith("error[internal]: ZeroDivisionError: division by zero (in ")


def test_a_check_goes_on_and_says_so(call_cli, monkeypatch, tmp_path):
    from gradcli.report import describing, machine_reports

    (tmp_path / "a.grad").write_text("x = 3\nx**2\nassert x == 4\nassert x == 3\n")
    original = describing.block
    monkeypatch.setattr(
        machine_reports,
        "block",
        lambda outcome: 1 / 0 if outcome.status == FAILED else original(outcome),
    )
    done = call_cli("check", "--no-cache", "--report", "junit=out.xml", "a.grad")
    assert done.returncode == 3
    text = (tmp_path / "out.xml").read_text()
    assert text.count("<testcase") == 3
    assert "ZeroDivisionError: division by zero" in text
    assert "assert is false" in done.stdout
