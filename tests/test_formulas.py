"""Derivative formulas: what they say, that they read back, and that they evaluate to the engine's
gradient.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradcli
from gradcli.errors import Source
from gradcli.formulas.printing import formula
from gradcli.language.lowering import Lowering
from gradcli.language.scope import Scope
from gradcli.language.statements import parse_expression

MATRIX = [[2.0, 1.0], [0.5, 3.0]]
VECTOR = [0.5, -1.25]

FORMULAS = [
    ("3*a**3 - b**2", {"a": 2.0, "b": 6.0}, "partial", {"a": "9*a**2", "b": "-2*b"}),
    (
        "sum(3*a**3 - b**2)",
        {"a": [2.0, 3.0], "b": [6.0, 4.0]},
        "gradient",
        {"a": "9*a**2", "b": "-2*b"},
    ),
    ("log(x**2)", {"x": 2.0}, "partial", {"x": "2/x"}),
    ("x**n", {"x": 2.0, "n": 3}, "partial", {"x": "n*x**(n - 1)"}),
    ("x**y", {"x": 2.0, "y": 2.5}, "partial", {"x": "y*x**(y - 1)", "y": "x**y*log(x)"}),
    ("x*y/(x*y)", {"x": 1.5, "y": 2.0}, "partial", {"x": "0", "y": "0"}),
    ("x/3 + 0.5*x**2", {"x": 1.5}, "partial", {"x": "x + 1/3"}),
    ("sqrt(x)", {"x": 2.0}, "partial", {"x": "1/(2*sqrt(x))"}),
    ("abs(x)", {"x": -2.0}, "partial", {"x": "sign(x)"}),
    ("x**2 if x > 0 else -x", {"x": [1.0, -1.0]}, "partial", {"x": "where(x > 0, 2*x, -1)"}),
    (
        "where(x > 0, sqrt(x), 0)",
        {"x": [4.0, -1.0]},
        "partial",
        {"x": "where(x > 0, 1/(2*sqrt(x)), 0)"},
    ),
    (
        "x[0]**2 + 2*x[1]**2*x[2]",
        {"x": [1.0, 2.0, 3.0]},
        "gradient",
        {"x": "[2*x[0], 4*x[1]*x[2], 2*x[1]**2]"},
    ),
    ("norm(x)", {"x": [3.0, 4.0]}, "gradient", {"x": "x/norm(x)"}),
    ("mean(x**2)", {"x": [1.0, 2.0, 3.0, 4.0]}, "gradient", {"x": "x/2"}),
    ("log(det(X))", {"X": MATRIX}, "gradient", {"X": "inv(X).T"}),
    ("trace(A @ X)", {"A": MATRIX, "X": MATRIX}, "gradient", {"A": "X.T", "X": "A.T"}),
    ("inv(X)", {"X": MATRIX}, "gradient", {"X": "-(inv(X).T @ seed @ inv(X).T)"}),
    (
        "x @ w + b",
        {"x": VECTOR, "w": MATRIX, "b": VECTOR},
        "gradient",
        {"x": "w @ seed", "w": "outer(x, seed)", "b": "seed"},
    ),
    (
        "sum((y - w*x)**2)",
        {"y": VECTOR, "w": 2.0, "x": VECTOR},
        "gradient",
        {"w": "-2*sum(x*(y - w*x))"},
    ),
    ("f(x) = x**3\nf'(t)", {"t": 2.0}, "gradient", {"t": "6*t"}),
    ("z = 3*x\nz*x", {"x": 2.0}, "partial", {"x": "6*x"}),
    ("z = 3*x\nsum(z*x)", {"x": [1.0, 2.0]}, "gradient", {"x": "6*x"}),
    ("prod(x)", {"x": [1.0, 2.0]}, "gradient", {"x": None}),
]


def value_of(text, at):
    return np.asarray(
        gradcli.evaluate(text, at=at, mode="jacobian", wrt=(), check=False, formula=False).value
    )


@pytest.mark.parametrize(
    ("text", "at", "kind", "wanted"), FORMULAS, ids=[case[0] for case in FORMULAS]
)
def test_formula(text, at, kind, wanted):
    shape = value_of(text, at).shape
    seed = np.linspace(1, 2, int(np.prod(shape))).reshape(shape) if shape else None
    record = gradcli.evaluate(text, at=at, check=False, seed=seed)
    assert record.derivative_kind == kind
    assert {name: record.derivative[name] for name in wanted} == wanted
    for name, printed in wanted.items():
        if printed is None:
            continue
        value = value_of(printed, {**at, "seed": record.seed} if "seed" in printed else at)
        if kind == "partial":
            value = _sum_to(record.seed * value, np.shape(record.grad[name]))
        assert np.broadcast_to(value, np.shape(record.grad[name])) == pytest.approx(
            np.asarray(record.grad[name]), rel=1e-9
        )


def test_a_constant_is_called_by_its_name():
    record = gradcli.evaluate("g = 3.0\nconst k = 2*g\nk*g", check=False)
    assert record.derivative == {"g": "k"}


def _sum_to(array, shape):
    array = np.broadcast_to(array, np.broadcast_shapes(array.shape, shape))
    lead = array.ndim - len(shape)
    axes = (*range(lead), *(i + lead for i, n in enumerate(shape) if n == 1))
    return array.sum(axis=axes).reshape(shape)


def test_a_formula_never_uses_a_name_that_means_something_else():
    record = gradcli.evaluate("exp(e)*pi", e=2.0, pi=3.0, check=False)
    assert record.derivative == {"e": "pi*exp(e)", "pi": "exp(e)"}
    record = gradcli.evaluate("sin(x) = 2*x\nnp.cos(t)", t=1.0, check=False)
    assert record.derivative == {"t": None}, "sin is the program's own function now"


def test_large_expressions_have_no_formula():
    record = gradcli.evaluate(" + ".join(f"x**{i}" for i in range(2, 120)), x=1.0, check=False)
    assert record.derivative == {"x": None}


LEAVES = st.sampled_from(
    ["x", "y", "2", "3", "0.5", "1e-3", "pi", "m", "v[0]", "v[1:]", "m.T", "[x, y]"]
)
UNARY = st.sampled_from(
    [
        "-{}",
        "sin({})",
        "exp({})",
        "abs({})",
        "sum({})",
        "not ({} > 1)",
        "({})",
        "relu({})",
        "({}).T",
        "({})²",
    ]
)
BINARY = st.sampled_from(
    [
        "{}+{}",
        "{}-{}",
        "{}*{}",
        "{}/{}",
        "({})**2*{}",
        "{}//{}",
        "{}%{}",
        "maximum({},{})",
        "{} < {}",
        "({} > 0) and ({} < 1)",
    ]
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


def test_a_formula_of_a_larger_shape_beside_infinities():
    record = gradcli.evaluate(
        "log1p((a+a)*(a*c))", at={"a": [0.5], "c": [float("inf")]}, seed=[1.0], check=False
    )
    assert record.derivative == {"a": None, "c": "2*a**2/(2*a**2*c + 1)"}


BLOCKS = [
    (
        "x**2*y",
        {"x": 1.0, "y": 2.0},
        "hessian",
        "partial",
        {"x": {"x": "2*y", "y": "2*x"}, "y": {"x": "2*x", "y": "0"}},
    ),
    (
        "sin(x*y)",
        {"x": 1.0, "y": 2.0},
        "jacobian",
        "partial",
        {"x": "y*cos(x*y)", "y": "x*cos(x*y)"},
    ),
    ("x**3", {"x": [1.0, 2.0]}, "jacobian", "partial", {"x": "3*x**2"}),
    (
        "[x**2*y, sin(x)]",
        {"x": 1.0, "y": 2.0},
        "jacobian",
        "jacobian",
        {"x": "[2*x*y, cos(x)]", "y": "[x**2, 0]"},
    ),
    ("[x, y, x*y][2]", {"x": 1.0, "y": 2.0}, "jacobian", "jacobian", {"x": "y", "y": "x"}),
    (
        "x[0]*x[1]*a",
        {"x": [1.0, 2.0], "a": 3.0},
        "hessian",
        "hessian",
        {"a": {"x": "[x[1], x[0]]", "a": "0"}, "x": {"a": "[x[1], x[0]]"}},
    ),
]


@pytest.mark.parametrize(
    ("text", "at", "mode", "kind", "wanted"),
    BLOCKS,
    ids=[f"{case[2]} of {case[0]}" for case in BLOCKS],
)
def test_blocks_of_jacobians_and_hessians(text, at, mode, kind, wanted):
    record = gradcli.evaluate(text, at=at, mode=mode, check=False)
    assert record.derivative_kind == kind
    for name, printed in wanted.items():
        found = record.derivative[name]
        assert (
            found if isinstance(printed, str) else {other: found[other] for other in printed}
        ) == printed
    if kind != "partial" or mode == "hessian":
        numbers = record.derivatives()
        for name, printed in record.formulas().items():
            assert np.broadcast_to(value_of(printed, at), np.shape(numbers[name])) == pytest.approx(
                np.asarray(numbers[name]), rel=1e-12
            )
