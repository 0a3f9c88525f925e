"""Derivative formulas: what they say, that they read back, and that they evaluate to the engine's
gradient.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import LISTS
from test_evaluations import cases

import gradcli
from gradcli.formulas.printing import formula
from gradcli.language.lowering import Lowering
from gradcli.language.scope import Scope
from gradcli.language.statements import parse_expression
from gradcli.texts import Source

MATRIX = [[2.0, 1.0], [0.5, 3.0]]
VECTOR = [0.5, -1.25]


def value_of(text, at):
    return np.asarray(
        gradcli.evaluate(text, at=at, mode="jacobian", wrt=(), check=False, formula=False).value
    )


@pytest.mark.parametrize(
    "case", [c for c in cases("formulas") if c["about"] == "formulas"], ids=lambda c: c["text"]
)
def test_a_formula_is_worth_the_gradient(case):
    at = case["at"]
    record = gradcli.evaluate(case["text"], at=at, check=False, seed=case["options"].get("seed"))
    for name, printed in record.derivative.items():
        if printed is None:
            continue
        value = value_of(printed, {**at, "seed": record.seed} if "seed" in printed else at)
        if record.derivative_kind == "partial":
            value = _sum_to(record.seed * value, np.shape(record.grad[name]))
        assert np.broadcast_to(value, np.shape(record.grad[name])) == pytest.approx(
            np.asarray(record.grad[name]), rel=1e-9
        )


@pytest.mark.parametrize(
    "case", [c for c in cases("formulas") if "mode" in c["options"]], ids=lambda c: c["text"]
)
def test_a_formula_of_a_matrix_is_worth_it(case):
    record = gradcli.evaluate(
        case["text"], at=case["at"], mode=case["options"]["mode"], check=False
    )
    if record.derivative_kind == "partial" and record.jacobian:
        return  # of each entry, not of the matrix
    numbers = record.derivatives()
    for name, printed in record.formulas().items():
        value = np.broadcast_to(value_of(printed, case["at"]), np.shape(numbers[name]))
        assert value == pytest.approx(np.asarray(numbers[name]), rel=1e-12)


def _sum_to(array, shape):
    array = np.broadcast_to(array, np.broadcast_shapes(array.shape, shape))
    lead = array.ndim - len(shape)
    axes = (*range(lead), *(i + lead for i, n in enumerate(shape) if n == 1))
    return array.sum(axis=axes).reshape(shape)


LEAVES, UNARY, BINARY = (
    st.sampled_from(LISTS[f"formulas: {kind}"]) for kind in ("leaves", "of one", "of two")
)


def texts():
    return st.recursive(
        LEAVES,
        lambda inner: st.one_of(
            st.builds(lambda form, a: form.format(f"({a})"), UNARY, inner),
            st.builds(lambda form, a, b: form.format(f"({a})", f"({b})"), BINARY, inner, inner),
            st.builds(lambda a, b, c: f"({a}) if ({b}) > 0 else ({c})", inner, inner, inner),
        ),
        max_leaves=12,
    )


@settings(max_examples=300, deadline=None, derandomize=True)
@given(texts())
def test_printing_and_parsing_again_gives_the_same_graph(text):
    scope = Scope()
    for name, value in {"x": 1.5, "y": -0.5, "m": MATRIX, "v": VECTOR}.items():
        scope.bind_value(name, value)
    lowering = Lowering(scope)

    def lower(source):
        return lowering.lower_value(parse_expression(Source(source), 10**6), Source(source))

    try:
        node = lower(text)
    except gradcli.GradcliError:
        return  # shapes that do not fit
    printed = formula(node)
    assert printed is not None
    assert lower(printed) is node, printed
