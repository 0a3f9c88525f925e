"""Values, gradients and verdicts at the points that matter: kinks, edges of domains, extreme numbers,
ties, arrays without entries.

Each line of `data/points.jsonl` is an expression, the values of its names, and what is known of it by
hand or by PyTorch 2.13 in float64:

value, total   the result, or the sum of its entries
grad, hessian  the derivatives of that sum
verdict        that of the check; of its parts in `verdicts`, with words of their reasons in `reason`
kinks          the derivatives from both sides, the convention's choice and its words, the jump
true           the derivative, where the result is wrong
digits_lost    the parts with digits lost
only           where it holds only: in the "sweep", not in graphs, or in the "language", not on tensors
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checking import said
from helpers import thinned

import gradcli as torch
import gradcli.nn.functional as F

Point = dict[str, Any]
LINES = (Path(__file__).parent / "data" / "points.jsonl").read_text(encoding="utf-8")
POINTS: list[Point] = [json.loads(line) for line in LINES.splitlines()]
JUDGED = {"verdict", "verdicts", "kinks"}
IN_GRAPHS = [p for p in POINTS if "grad" in p and "only" not in p and "options" not in p]
COMPILED = {"the truth", "zero times infinity"}


def named(points: list[Point]) -> list[Any]:
    """Points under names such as "abs(x) at 0"."""
    return [
        pytest.param(p, id=f"{p['expr']} at {', '.join(map(str, p['at'].values()))[:60]}")
        for p in points
    ]


def made(value: Any) -> np.ndarray:
    """Numbers of a line, or an array of one number and a shape."""
    return np.full(*value["full"], float) if isinstance(value, dict) else np.asarray(value, float)


def at(point: Point) -> dict[str, Any]:
    return {name: made(value)[()] for name, value in point["at"].items()}


def assert_same(found: Any, wanted: Any, point: Point, tolerance: float = 2e-15) -> None:
    wanted = made(wanted)
    found = np.zeros(wanted.shape) if found is None else np.asarray(found, float)
    rtol, atol = point.get("rtol", tolerance), point.get("atol", 0)
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol, strict=True)


def summed(point: Point) -> str:
    """The sum of an expression, as its library writes it."""
    text = point["expr"]
    prefix = "np." if "np." in text else "torch." if "torch." in text or "F." in text else ""
    return f"{prefix}sum({text})"


def evaluated(point: Point, **options: Any) -> Any:
    options = {"wrt": list(point["at"]), "formula": False, **point.get("options", {}), **options}
    return torch.evaluate(point["expr"], at=at(point), **options)


@pytest.mark.parametrize("point", named([p for p in POINTS if "grad" in p or "value" in p]))
def test_value_and_gradient(point: Point) -> None:
    record = evaluated(point, check=False)
    if "value" in point:
        assert_same(record.value, point["value"], point)
    if "total" in point:
        assert_same(np.sum(record.value), point["total"], point)
    for name, slope in point.get("grad", {}).items():
        assert_same(np.asarray(record.grad[name]), slope, point)


@pytest.mark.parametrize("point", named([p for p in IN_GRAPHS if p["about"] in COMPILED]))
def test_gradient_of_a_compiled_function(point: Point) -> None:
    _, found = torch.value_and_grad(summed(point))(at(point))
    for name, slope in point["grad"].items():
        assert_same(np.asarray(found[name]), slope, point)


@pytest.mark.parametrize("point", named([p for p in POINTS if "hessian" in p]))
def test_second_derivative(point: Point) -> None:
    (row, *_) = evaluated(point, check=False).hessian.values()
    np.testing.assert_allclose(next(iter(row.values())), point["hessian"], rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("point", named(IN_GRAPHS))
def test_gradient_that_the_language_builds(point: Point) -> None:
    for name, slope in point["grad"].items():
        graph = {**point, "expr": f"grad({summed(point)}, {name})"}
        assert_same(evaluated(graph, wrt=[], check=False).value, slope, point, 1e-12)


@pytest.mark.parametrize(
    "point", named([p for p in IN_GRAPHS if "torch." in p["expr"] or "F." in p["expr"]])
)
def test_gradient_on_tensors(point: Point) -> None:
    tensors = {
        name: torch.tensor(value, dtype=torch.float64, requires_grad=True)
        for name, value in at(point).items()
    }
    eval(point["expr"], {"torch": torch, "F": F, "zeros": torch.zeros, **tensors}).sum().backward()
    for name, slope in point["grad"].items():
        found = tensors[name].grad
        assert_same(None if found is None else found.numpy(), slope, point, 1e-12)


@pytest.mark.parametrize(
    "point",
    [
        *thinned(
            named([p for p in POINTS if p.keys() & JUDGED and p["about"] != "agrees"]), every=2
        ),
        *thinned(named([p for p in POINTS if p["about"] == "agrees"])),
    ],
)
def test_verdict(point: Point) -> None:
    check = evaluated(point).check
    parts = {**check.variables, "value": check.value}
    assert check.verdict.word == point.get("verdict", check.verdict.word), said(check)
    for name, verdict in point.get("verdicts", {}).items():
        assert parts[name].verdict.word == verdict, said(check)
    for name, words in point.get("reason", {}).items():
        assert words in parts[name].reason
    for name, true in point.get("true", {}).items():
        assert parts[name].worst.reference == pytest.approx(true, rel=1e-12, abs=1e-15)
    for name in point.get("digits_lost", []):
        assert parts[name].verdict.word == "ill-conditioned"
        assert parts[name].digits < 6
    if "wrong" in point:
        assert check.variables["x"].wrong == point["wrong"]
    for kink in point.get("kinks", []):
        assert_kink(check, at(point), **kink)


def assert_kink(
    check: Any,
    values: dict[str, Any],
    of: str,
    left: float,
    right: float,
    entry: int = 0,
    jump: str = "",
    **choice: Any,
) -> None:
    index = (entry,) if np.ndim(values.get(of, 0.0)) else ()
    (found,) = [kink for kink in check.variables[of].kinks if kink.index == index]
    assert (found.left, found.right) == pytest.approx((left, right), abs=1e-15)
    assert not jump or found.jump == jump
    if choice:
        assert found.chosen == pytest.approx(choice["chosen"], abs=1e-15)
        assert choice["says"] in found.convention
        assert found.convention in check.reason


@pytest.mark.parametrize(
    ("dtype", "slope"), [("float64", 10119.288433897855), ("float32", 2907.2246)]
)
def test_rms_norm_adds_the_epsilon_of_its_precision(dtype: str, slope: float) -> None:
    record = torch.evaluate(
        "F.rms_norm(x, (2,))", x=[1e-4, 2e-4], seed=[1.0, -2.0], dtype=dtype, formula=False
    )
    assert record.grad["x"][0] == pytest.approx(slope, rel=1e-6)
    assert record.check.verdict.word == "agree"


REFUSED = (Path(__file__).parent / "data" / "refused.jsonl").read_text(encoding="utf-8")


@pytest.mark.parametrize("point", named([json.loads(line) for line in REFUSED.splitlines()]))
def test_refused(point: Point) -> None:
    """By the whole message, or by words of it."""
    with pytest.raises(torch.GradcliError) as error:
        evaluated(point, check=False)
    message = error.value.message
    assert message == point["message"] if "message" in point else point["says"] in message
