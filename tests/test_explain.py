"""Explanations: nodes, adjoints and contributions are the engine's own and PyTorch's; paths add up;
forms say what the data says.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from retained import RECORDED

import gradcli
from gradcli import ExplainedNode, Explanation
from gradcli.report.explanation import summary

RETAINED = json.loads(RECORDED.read_text("utf-8"))


def explain(text: str, at: dict[str, Any] | None = None) -> Explanation:
    """The explanation of the last query."""
    values = {name: np.asarray(value, float) for name, value in (at or {}).items()}
    return gradcli.explain(text, at=values, check=False)


def by_text(explanation: Explanation) -> dict[str, ExplainedNode]:
    return {node.text: node for node in explanation.nodes if node.text is not None}


def total(parts: list[Any], like: Any) -> tuple[np.ndarray, np.ndarray]:
    """The sum of arrays, and that of their magnitudes."""
    start = np.zeros(np.shape(like))
    return sum(map(np.asarray, parts), start), sum((np.abs(part) for part in parts), start)


def assert_adds_up(explanation: Explanation) -> None:
    """Contributions to a node add up to its adjoint, and paths to gradients, to rounding."""
    arrived: dict[int, list[Any]] = {}
    for each in explanation.backward:
        arrived.setdefault(each.operand, []).append(each.passed)
    sums = [
        (node.label, node.adjoint, arrived.get(node.id, []))
        for node in explanation.nodes
        if node.id != explanation.result
    ]
    sums = [
        (label, adjoint, parts)
        for label, adjoint, parts in sums
        if adjoint is not None and not isinstance(adjoint, tuple)
    ]
    for name, gradient in explanation.gradients.items():
        if not gradient.left_out:
            sums.append(
                (
                    f"gradient of {name}",
                    gradient.value,
                    [path.contribution for path in gradient.paths],
                )
            )
    for label, whole, parts in sums:
        found, magnitude = total(parts, whole)
        with np.errstate(all="ignore"):
            off = np.abs(found - whole)
            fine = (
                (off <= 4 * np.finfo(float).eps * magnitude)
                | (found == whole)
                | (np.isnan(found) & np.isnan(whole))
            )
        assert np.all(fine), (
            f"{label}: the parts are {off} away from the whole, their magnitudes {magnitude}"
        )


# -- numbers
# ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", RETAINED, ids=lambda case: case["text"])
def test_values_and_adjoints_are_those_that_pytorch_retains(case):
    explanation = explain(case["text"], case["at"])
    nodes = by_text(explanation)
    wanted: dict[str, list[Any]] = {}
    for part in case[
        "parts"
    ]:  # equal parts of a text are one node of ours, and several of PyTorch's
        wanted.setdefault(case["text"][slice(*part["span"])], []).append(part)
    for text, parts in wanted.items():
        node = nodes[text]
        assert np.allclose(node.value, parts[0]["value"], rtol=1e-9, atol=0, equal_nan=True), text
        adjoints = [
            part["adjoint"]
            for part in (parts[:1] if node.op == "leaf" else parts)
            if part["adjoint"] is not None
        ]
        assert (node.adjoint is None) == (not adjoints), text
        if adjoints:
            assert np.allclose(
                node.adjoint, np.sum(adjoints, axis=0), rtol=1e-9, atol=1e-14, equal_nan=True
            ), text


@pytest.mark.parametrize("case", RETAINED, ids=lambda case: case["text"])
def test_contributions_and_paths_add_up(case):
    assert_adds_up(explain(case["text"], case["at"]))


_ATOMS = ("x", "y", "2", "v")
_FORMS = (
    "({a}) + ({b})",
    "({a})*({b})",
    "sin({a})",
    "({a}) - ({b})",
    "tanh({a})",
    "({a})/(2 + ({b})**2)",
    "sum({a})",
    "relu({a})",
)
_EXPRESSIONS = st.recursive(
    st.sampled_from(_ATOMS), lambda inner: st.builds(lambda form, a, b: form.format(a=a, b=b), st.sampled_from(_FORMS), inner, inner),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(_EXPRESSIONS)
def test_any_expression_adds_up(text):
    explanation = explain(text, {"x": 0.75, "y": -1.5, "v": [0.5, 2.0]})
    assert explanation.error is None
    assert_adds_up(explanation)
    for node in explanation.nodes:
        assert node.text is None or node.span is None or text[slice(*node.span)] == node.text


# -- nodes
# --------------------------------------------------------------------------------------------------------------------


def test_inside_of_a_function_nodes_have_no_text():
    explanation = explain("F.cross_entropy(z, 0)*2", {"z": [1.0, 2.0, 0.5]})
    (root,) = [node for node in explanation.nodes if node.function is not None]
    assert (root.function, root.text, root.inside) == (
        "cross_entropy",
        "F.cross_entropy(z, 0)",
        None,
    )
    inner = [node for node in explanation.nodes if node.inside is not None]
    assert inner
    assert all((node.inside, node.text, node.span) == (root.id, None, None) for node in inner)


# -- forms
# --------------------------------------------------------------------------------------------------------------------


def test_large_arrays_are_summarized():
    found = summary(np.array([3.0, -4.0, np.inf] * 400))
    assert found == {
        "shape": [1200],
        "min": -4.0,
        "max": 3.0,
        "norm": pytest.approx(100.0),
        "nonfinite": 400,
    }
    assert summary(np.arange(3)) == [0, 1, 2]


def test_long_expressions_are_bounded():
    """A sum of thousands of terms: each node's text has all terms before it, and each path all
    sums.
    """
    text = " + ".join(f"{i}*x" for i in range(1, 4001))
    explanation = explain(text, {"x": 1.0})
    assert len(explanation.nodes) == 12_000
    assert sum(len(node.text or "") for node in explanation.nodes) < 3_000_000
    gradient = explanation.gradients["x"]
    assert len(gradient.paths) + gradient.left_out == 4000
    assert gradient.value == pytest.approx(4000 * 4001 / 2)
