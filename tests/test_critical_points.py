"""Limits beside holes and poles, the kinds of critical points, and real roots: what textbooks say."""

from __future__ import annotations

import pytest

import gradcli


def test_limits_of_entries_are_told() -> None:
    record = gradcli.evaluate("sin(3*x)/x", x=[1, 0])
    (limit,) = record.check.limits
    assert (limit.index, limit.of, limit.left) == ((1,), (1,), pytest.approx(3, abs=1e-14))
    assert "the value[1]: limit 3 as x[1] goes to 0" in record.check.advice
    assert record.to_dict()["check"]["limits"][0]["left"] == limit.left
    assert (
        "limit -inf from the left, inf from the right" in gradcli.evaluate("1/x", x=0)._repr_html_()
    )


def test_a_kind_is_of_the_names_asked_for_and_as_text_and_data() -> None:
    record = gradcli.evaluate("x^2 - y^2", x=0, y=0, mode="hessian", wrt="x")
    assert record.check.critical_point.kind == "minimum"
    assert record.to_dict()["check"]["critical_point"]["kind"] == "minimum"
    assert "minimum: the gradient is zero" in record._repr_html_()
