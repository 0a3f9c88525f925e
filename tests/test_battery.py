"""Right gradients are never called wrong, and wrong ones never right: a battery of claims from
independent sources.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from battery import arrays, formulas, functions, matrices
from battery.rows import Row

import gradcli as torch
from gradcli.cli.commands import CheckRequest
from gradcli.cli.decide.cases import Batch, Cases
from gradcli.functions.checking import Question
from gradcli.report.outcomes import Outcome

_REQUEST = {
    "arguments": [], "files": ["battery.jsonl"], "input_format": None, "wrt": None, "freeze": [], "seed": None, "save": [],
    "timeout": None, "output_format": "text", "random_state": 0, "fail_fast": False, "limit": [], "atol": 0.0, "points": 16, "jobs": 1,
    "cache": False, "dialect": None, "quiet": False, "color": "auto",
}  # fmt: skip
ROWS = [*formulas.SCALARS, *formulas.BRANCHES, *arrays.ROWS, *matrices.ROWS, *formulas.FORMULAS]


def listed(value: Any) -> Any:
    return np.asarray(value).tolist() if not isinstance(value, (str, dict)) else value


def outcome(row: Row) -> Outcome:
    """What `gradcli check` makes of a row as a record."""
    expect = {
        "grad": {name: listed(claim) for name, claim in row.claims.items() if name != "value"}
    }
    if "value" in row.claims:
        expect["value"] = listed(row.claims["value"])
    record = {
        "expr": row.program,
        "at": {name: listed(v) for name, v in row.at.items()},
        "expect": expect,
    }
    if row.seed is not None:
        record["seed"] = listed(row.seed)
    if row.wrt is not None:
        record["wrt"] = row.wrt
    cases = Cases(CheckRequest(**_REQUEST, dtype=row.dtype, rtol=row.rtol))  # type: ignore[arg-type]
    (found,) = cases.outcomes(Batch("battery.jsonl", [(1, json.dumps(record))]))
    return found


@pytest.mark.ci
@pytest.mark.parametrize("row", [pytest.param(row, id=row.title) for row in ROWS])
def test_verdict(row: Row) -> None:
    found = outcome(row)
    check = found.record.check
    assert check is not None, found.headline
    own = [
        part.verdict.word
        for part in [*check.variables.values(), *([check.value] if check.value else [])]
    ]
    assert "mismatch" not in own, found.details  # of gradcli itself
    assert found.verdict is not None
    assert found.verdict.word in row.verdicts, found.details
    assert found.bad is not row.is_right


def still_failing(row: functions.Checked) -> tuple[Any, ...]:
    return () if row.xfail is None else (pytest.mark.xfail(strict=True, reason=row.xfail),)


FUNCTIONS = [
    pytest.param(row, id=f"{row.title}-{row.verdicts[0]}", marks=still_failing(row))
    for row in functions.FUNCTIONS
]


@pytest.mark.parametrize("row", FUNCTIONS)
def test_verdict_on_a_python_function(row: functions.Checked) -> None:
    arguments = {f"x{i}": value for i, value in enumerate(row.at)}
    check, _ = Question(arguments, list(arguments), row.rtol).check(row.function, row.gradient)
    assert check.worst.word in row.verdicts, [(v.worst, v.reason) for v in check.variables.values()]


def tensors(arrays: tuple[Any, ...]) -> list[Any]:
    return [torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in arrays]


@pytest.mark.parametrize("row", [pytest.param(row, id=row.title) for row in functions.CUSTOM])
def test_gradcheck_of_a_custom_function(row: functions.Custom) -> None:
    function = functions.applied(row)
    if row.right:
        assert torch.autograd.gradcheck(function, tensors(row.at))
    else:
        with pytest.raises(RuntimeError, match="Jacobian mismatch"):
            torch.autograd.gradcheck(function, tensors(row.at))


@pytest.mark.parametrize(
    ("function", "at"), [pytest.param(*row[1:], id=row[0]) for row in functions.PLAIN]
)
def test_gradcheck_of_a_function_of_tensors(function: Any, at: Any) -> None:
    assert torch.autograd.gradcheck(function, tensors(at))
