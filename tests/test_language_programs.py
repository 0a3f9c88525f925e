"""Programs: bindings, const, functions, derivatives inside expressions, asserts, and what a query
differentiates.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from gradcli.language.run import Program
from gradcli.language.scope import Scope
from gradcli.query.evaluate import Script, records
from gradcli.query.options import Options

SIN, COS, EXP = math.sin(0.7), math.cos(0.7), math.exp(0.7)


def case(text: str, expected: object, id: str | None = None, **bindings: object) -> object:
    return pytest.param(text, expected, bindings, id=id or text)


DERIVATIVES = [
    case("grad(x**3, x)", 12, x=2), case("grad(grad(x**3, x), x)", 12, x=2), case("grad(grad(grad(x**3, x), x), x)", 6, x=2),
    case("grad(grad(grad(grad(x**3, x), x), x), x)", 0, x=2), case("y = x**3; grad(y, x)", 12, "of a bound name", x=2),
    case("grad(3*x**3, x, seed=v)", [12 * 9, 3 * 9], "with a seed", x=[2, 1], v=[3, 3]),
    case("grad(x**2, x, [1, 10])", [4, 60], x=[2, 3]),
    case("vjp(x**2, x, [1, 10])", [4, 60], x=[2, 3]), case("jvp(x**2, x, [1, 10])", [4, 60], x=[2, 3]),
    case("jvp(w @ x, x, [1, 0])", [1, 3], w=[[1, 2], [3, 4]], x=[5, 6]),
    case("vjp(w @ x, x, [1, 0])", [1, 2], w=[[1, 2], [3, 4]], x=[5, 6]),
    case("jacobian(w @ x, x)", [[1, 2], [3, 4]], w=[[1, 2], [3, 4]], x=[5, 6]),
    case("jacobian(x**2, x)", [[4, 0], [0, 6]], x=[2, 3]),
    case("hessian(x[0]**2*x[1], x)", [[6, 4], [4, 0]], x=[2, 3]), case("hessian(sum(x**3), x)", [[12, 0], [0, 18]], x=[2, 3]),
    case("hvp(x[0]**2*x[1], x, [1, 0])", [6, 4], x=[2, 3]), case("grad(x*y, x) + grad(x*y, y)", 5, x=2, y=3),
    case("grad(sin(x), x)**2 + sin(x)**2", 1, x=0.7), case("z = x**2; y = z + x**2; grad(y, z)", 1, "a named intermediate", x=3),
    case("z = x**2; grad(z**2, x)", 108, "through an intermediate", x=3), case("grad(detach(x)*x, "
    "x)", 3, x=3),
    case("grad(x, x)", 1, x=3), case("grad(y**2, x)", 0, x=3, y=2),
    case("sum(jacobian(sin(x), x))", math.cos(1) + math.cos(2), x=[1, 2]),
    case("grad(sum(grad(sum(x**3), x)**2), x)", [2 * 12 * 12, 2 * 27 * 18], "gradient of a "
    "gradient's norm", x=[2, 3]),
    case("hessian(grad(x**5, x), x)", 60 * 4, x=2), case("jacobian(jacobian(x**3, x), x)", 12, x=2),
    case("grad(" * 6 + "exp(2*x)" + ", x)" * 6, 64 * math.exp(1.4), "sixth derivative", x=0.7),
    case("vjp(x, x, v)", [3, 4], x=[1, 2], v=[3, 4]),
]  # fmt: skip

FUNCTIONS = [
    case("f(x) = x**3; f(2)", 8), case("f(x) = x**3; f'(2)", 12), case("f(x) = x**3; f''(2)", 12), case("f(x) = x**3; f'''(2)", 6),
    case("f(x) = x**3\nf'(f(x))", 3 * 64, x=2), case("f(a, b) = a*b + 1; f(3, 4)", 13),
    case("f(x) = a*x; f(2)", 10, "a free name", a=5),
    case("f(x) = x**2; f(x + 1)", 16, x=3), case("f(x) = x**2; g(x) = f(x) + 1; g'(x)", 6, x=3),
    case("f(x) = sin(x); f'(y)**2 + f(y)**2", 1, y=0.3),
    case("f(x) = x**2; grad(f(x), x)", 6, x=3), case("f(x) = x**3; f'([1, 2])", [3, 12], "a prime "
    "works entry by entry"),
    case("f(x) = x @ x; f'([1, 2])", [2, 4], "a prime of a scalar function"),
    case("sin(x) = x + 1; sin(2)", 3, "a definition takes the name"),
    case("f(x) = (\n x + 1\n)\nf(1)", 2, "a definition over lines"), case("f(x) = x**2 + y; f'(3)", 6, y=1),
    case("f(x) = x**2; f (3)", 9, "a space before the bracket"),
    case("h(x) = x if x > 0 else -x; h'(-2)", -1, "a prime of a condition"),
]  # fmt: skip

BINDINGS = [
    case("a = 2; a + 1", 3), case("a = 2\nb = a + 1\na*b", 6), case("a = 2; a = 3; a", 3),
    case("a = 2; b = a + 1; a = 10; b", 3, "order matters"),
    case("a = 2  # a comment; a = 3\na", 2, "a comment"), case("# nothing\n\n;;a = 1;\na", 1, "empty statements"),
    case("const k = 3; k*x", 6, x=2),
    case("x = 5; x", 2, "a binding from outside wins", x=2), case("x = [1, 2]; y = x.sum(); y**2", 9), case("a=2;a**2", 4),
    case("a = (1 +\n 2)\na", 3, "an open bracket goes on"), case("n = 3; zeros(n).shape[0]", 3), case("x = 1e3; x", 1000),
    case("s = [4, 5]; s[1]", 5), case("t=True; 1 if t else 2", 1),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected", "bindings"), [*DERIVATIVES, *FUNCTIONS, *BINDINGS])
def test_value(evaluate_last, text, expected, bindings):
    value = evaluate_last(text, **bindings).value
    assert np.shape(value) == np.shape(expected)
    np.testing.assert_allclose(value, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a*x", {"a": 0.7, "x": 2}, id="every name"),
        pytest.param("x", {"x": 1}, id="only what it depends on"),
        pytest.param(
            "const a = 5; a*x", {"a": 0.7, "x": 2}, id="a binding from outside is a leaf again"
        ),
        pytest.param("const k = 3; k*x", {"x": 3}, id="const"),
        pytest.param("const k = 3*x; k*x", {"x": 2.1}, id="const of an expression is a detach"),
        pytest.param("k = 3; k*x", {"k": 0.7, "x": 3}, id="a whole number is float64"),
        pytest.param("k = 3.0; k*x", {"k": 0.7, "x": 3}, id="a float"),
        pytest.param(
            "k = 1 + 2; k*x", {"k": 0.7, "x": 3}, id="a value that mentions no name is a leaf"
        ),
        pytest.param("z = 3*x; z**2", {"x": 18 * 0.7}, id="an intermediate is a node"),
        pytest.param(
            "n = 2; x**n",
            {"x": 1.4, "n": 0.49 * math.log(0.7)},
            id="a whole exponent is a variable",
        ),
        pytest.param(
            "n = 2.5; x**n",
            {"x": 2.5 * 0.7**1.5, "n": 0.7**2.5 * math.log(0.7)},
            id="a broken exponent is a variable",
        ),
        pytest.param(
            "n = 2; n*x**n",
            {"x": 2.8, "n": 0.49 + 2 * 0.49 * math.log(0.7)},
            id="also elsewhere: a variable",
        ),
        pytest.param(
            "v = [1, 2, 4]; i = 2; x*v[i]", {"v": [0, 0, 0.7], "x": 4}, id="an index is a constant"
        ),
        pytest.param("n = 3; sum(x*ones(n))", {"x": 3}, id="a shape is a constant"),
        pytest.param(
            "m = [True, False]; sum(where(m, x, 2*x))", {"x": 3}, id="a mask is a constant"
        ),
        pytest.param("detach(x)*x", {"x": 0.7}, id="detach"),
        pytest.param("x + y0*detach(y0)", {"x": 1, "y0": 3}, id="detach of a leaf"),
        pytest.param("f(t) = a*t; f(x)", {"a": 0.7, "x": 2}, id="through a function"),
        pytest.param("grad(a*x**2, x)", {"a": 1.4, "x": 4}, id="of a derivative"),
        pytest.param("f(t) = t**3; f'(x)", {"x": 6 * 0.7}, id="of a prime"),
        pytest.param("sin(x)", {"x": COS}, id="sin"),
        pytest.param("exp(x)*sin(x)", {"x": EXP * (SIN + COS)}, id="product"),
        pytest.param("x = 9; a*x", {"a": 0.7, "x": 2}, id="replaced from outside"),
        pytest.param("b = 1; b = 2; b*x", {"b": 0.7, "x": 2}, id="the later binding"),
    ],
)
def test_default_variables(evaluate_last, text, expected):
    grad = evaluate_last(text, x=0.7, a=2, y0=3.0).grad
    assert sorted(grad) == sorted(expected)
    for name, gradient in expected.items():
        np.testing.assert_allclose(grad[name], gradient, rtol=1e-14)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({"wrt": ("b", "a")}, {"b": -6.0, "a": 6.0}, id="wrt orders"),
        pytest.param({"wrt": ("a",)}, {"a": 6.0}, id="wrt narrows"),
        pytest.param({"wrt": ("c",)}, {"c": 0.0}, id="wrt widens with zeros"),
        pytest.param({"freeze": ("a",)}, {"b": -6.0}, id="freeze"),
        pytest.param({"wrt": ("a", "b"), "freeze": ("a",)}, {"b": -6.0}, id="both"),
    ],
)
def test_choice_of_variables(evaluate_last, options, expected):
    record = evaluate_last(
        "3*a**2 - b**2", options=Options(check=False, formula=False, **options), a=1, b=3, c=4
    )
    assert [(k, float(v)) for k, v in record.grad.items()] == list(expected.items())


def test_an_exponent_is_differentiated_when_asked_for(evaluate_last):
    record = evaluate_last(
        "x**n", options=Options(check=False, formula=False, wrt=("n",)), x=3, n=2
    )
    assert float(record.grad["n"]) == pytest.approx(9 * math.log(3), rel=1e-15)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        pytest.param("assert 2*3 == 6", True, id="true"),
        pytest.param("assert 2*3 == 7", False, id="false"),
        pytest.param(
            "assert grad(sum(3*a**3 - b**2), a) == 9*a**2", True, id="a claim about a gradient"
        ),
        pytest.param("assert grad(sum(3*a**3 - b**2), b) == 2*b", False, id="a sign"),
        pytest.param(
            "Q = 3*a**3 - b**2; assert grad(Q, a) == 9*a**2", True, id="the documented claim"
        ),
        pytest.param("assert a == [2.1, 3] within 0.2", True, id="within"),
        pytest.param("assert a == [2.1, 3] within 0.05", False, id="not within"),
        pytest.param("assert 0.1 + 0.2 == 0.3", True, id="rounding"),
        pytest.param("assert 1 == 1 + 1e-9", False, id="no tolerance of its own"),
        pytest.param("assert (a - a) == zeros(2)", True, id="arrays"),
        pytest.param("assert sum(a) == 5", True, id="reduction"),
    ],
)
def test_assert(evaluate_last, text, holds):
    record = evaluate_last(text, a=[2, 3], b=[6, 4])
    assert record.asserted.holds is holds
    assert record.failed is not holds


def test_results_come_in_order_and_an_error_takes_its_place(evaluate_all):
    records = evaluate_all("x + 1\nx +\n# comment\nx + 2; y; x + 3\n", x=1)
    found = [
        (r.error.line, r.error.column, r.error.code)
        if r.error
        else (r.line, r.column, float(r.value))
        for r in records
    ]
    assert found == [
        (1, 1, 2.0),
        (2, 3, "syntax"),
        (4, 1, 3.0),
        (4, 8, "missing-value"),
        (4, 11, 4.0),
    ]


def test_default_seed_is_ones(evaluate_last):
    record = evaluate_last("3*a**3 - b**2", a=[2, 3], b=[6, 4])
    assert (record.seed.tolist(), record.seed_given) == ([1, 1], False)
    seeded = evaluate_last(
        "3*a**3 - b**2", options=Options(check=False, formula=False, seed="1,0"), a=[2, 3], b=[6, 4]
    )
    assert (seeded.grad["a"].tolist(), seeded.grad["b"].tolist()) == ([36, 0], [-12, 0])


class Unlisted(dict[Any, Any]):
    """Values of many names, which nobody is to go through for each statement."""

    def __iter__(self) -> Any:
        raise AssertionError("all names were gone through")

    keys = items = values = __iter__  # type: ignore[assignment]


def test_a_statement_costs_nothing_for_names_that_it_does_not_mention():
    program = Program(Scope())
    program.scope.values = Unlisted()
    lines = ["x = 2", "y = 3*x", "z = [1, 2]", "sum(z)*y", "assert y == 6", "jacobian(x*z, x)"]
    found = list(records(Script(program, lines), Options(check=False, formula=False)))
    assert [record.error for record in found] == [None] * 3
    assert [str(record.grad) for record in found[:1]] == [
        "{'x': np.float64(9.0), 'z': array([6., 6.])}"
    ]
