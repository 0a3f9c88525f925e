"""Texts, and what `gradcli.evaluate` makes of them: a line of data/evaluations/ each."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_commands import part

import gradcli
from gradcli import GradcliError
from gradcli.language.statements import offers, parse_statements
from gradcli.limits import DEFAULT
from gradcli.texts import Source

FOLDER = Path(__file__).parent / "data" / "evaluations"
OF_ERRORS = {"code", "place", "says", "shown", "message", "help"}
OF_RESULTS = {"value", "grad", "warnings", "verdict", "holds", "json", "close", "same"}


def cases(theme: str = "*") -> list[dict[str, Any]]:
    """Return the lines of a file of data/evaluations/, or of all."""
    return [
        json.loads(line)
        for path in sorted(FOLDER.glob(f"{theme}.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]


def evaluated(case: dict[str, Any]) -> Any:
    options = {"check": "verdict" in case, "formula": False, **case.get("options", {})}
    if options.get("limits"):
        options["limits"] = DEFAULT.raise_to(options["limits"])
    return gradcli.evaluate(case["text"], at=case.get("at", {}), **options)


def assert_close(found: Any, wanted: Any, rtol: float, what: str) -> None:
    """Equal numbers in the same shape; booleans are booleans."""
    wanted = np.asarray(wanted)
    assert (np.asarray(found).dtype == bool) >= (wanted.dtype == bool), what
    np.testing.assert_allclose(
        np.asarray(found, float), wanted.astype(float), rtol, 1e-15, err_msg=what, strict=True
    )


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(c, id=f"{c['about']}: {c['text'][:80]}", marks=[pytest.mark.ci] * ("ci" in c))
        for c in cases()
    ],
)
def test_evaluations(case: dict[str, Any]) -> None:
    """A line of data has

    - what is asked: `text`, the values of its names (`at`), `options` of `evaluate`; `about` says
      what for, `ci` that .ci/run runs it alone;
    - what comes of it, to 15 digits or `rtol`: the `value`, in its shape; the gradients `grad`, of
      exactly these names; its `warnings`, the `verdict`, whether an assert `holds`; what stands at
      paths of its data (`json`; `close`, numbers to `rtol`); another text that is the `same`;
    - or an error: its `code`, the `place` of its first caret and after the last (`1:5-8`), words
      that are shown (`says`), all that is shown (`shown`), the whole `message` and `help`.
    """
    assert case.keys() - {"about", "text", "at", "options", "rtol", "ci"} <= OF_ERRORS | OF_RESULTS
    if case.keys() & OF_ERRORS:
        hold_error(case)
        return
    record = evaluated(case)
    rtol = case.get("rtol", 1e-15)
    if "value" in case:
        assert_close(record.value, case["value"], rtol, "value")
    if "grad" in case:
        assert sorted(record.grad) == sorted(case["grad"])
        for name, wanted in case["grad"].items():
            assert_close(record.grad[name], wanted, rtol, name)
    if "holds" in case:
        assert record.asserted.holds is case["holds"]
    assert case.get("warnings", record.warnings) == record.warnings
    if "same" in case:
        other = evaluated({**case, "text": case["same"]})
        for key in ("value", "grad", "jacobian", "derivative"):
            assert part(record.to_dict(), key) == part(other.to_dict(), key)
    for path, wanted in case.get("json", {}).items():
        assert part(record.to_dict(), path) == wanted, path
    for path, wanted in case.get("close", {}).items():
        assert_close(np.asarray(part(record.to_dict(), path), float), wanted, rtol, path)
    if "verdict" in case:
        assert record.check.worst.word == case["verdict"], record.check


def unreadable(help: str | None) -> str | None:
    """Return a suggestion of an error's help, but for arguments of Python, that cannot be read."""
    for text in offers(help or ""):
        if "={" not in text and any(
            isinstance(s, GradcliError) for s in parse_statements(Source(text), 10_000)
        ):
            return text
    return None


def hold_error(case: dict[str, Any]) -> None:
    with pytest.raises(GradcliError) as caught:
        evaluated(case)
    error, shown = caught.value, caught.value.render()
    assert case.get("code", error.code) == error.code, shown
    for words in case.get("says", []):
        assert words in shown
    assert case.get("shown", shown) == shown
    assert case.get("message", error.message) == error.message
    assert case.get("help", error.help) == error.help
    if "place" in case:
        start, _, end = case["place"].partition("-")
        assert f"<expression>:{start}\n" in shown
        carets = re.findall(r"^ *\| +(\^+)$", shown, re.MULTILINE)
        assert not end or int(start.partition(":")[2]) + len(carets[0]) == int(end)
    if error.source is not None:
        assert (unread := unreadable(error.help)) is None, unread
    assert not error.message[:1].isupper() or error.message.startswith(("None", "A ")), (
        "a message begins in lower case"
    )
    assert not error.message.endswith(".")
