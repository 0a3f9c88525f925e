"""What expressions are worth: precedence, spellings, numbers, arrays, indices, conditions."""

from __future__ import annotations

import math

import numpy as np
import pytest

A = np.arange(24.0).reshape(2, 3, 4)
V = np.array([3.0, 1.0, 2.0, 5.0])


def case(text: str, expected: object, id: str | None = None, **bindings: object) -> object:
    return pytest.param(text, expected, bindings, id=id or text)


PRECEDENCE = [
    case("1 + 2*3", 7), case("(1 + 2)*3", 9), case("10 - 4 - 3", 3), case("100/10/2", 5), case("-3**2", -9),
    case("(-3)**2", 9), case("2**3**2", 512), case("2**-1", 0.5), case("-2**-2", -0.25), case("2*-3", -6), case("--3", 3),
    case("+-+3", -3), case("2 - -3", 5), case("7//2", 3), case("-7//2", -4), case("-7 % 3", 2), case("7 % -3", -2),
    case("2*3 % 4", 2), case("10 - 2**2*2", 2), case("-x**2", -9, x=3), case("-x[0]**2", -9, x=[3, 4]),
    case("1 + 2 < 4", True), case("3 > 2 and 1 > 2", False), case("3 > 2 or 1 > 2", True), case("not 1 > 2", True),
    case("not 1 > 2 and 1 > 2", False), case("1 > 2 and 1 > 2 or 2 > 1", True), case("1 if 2 > 1 "
    "else 3", 1),
    case("1 if 2 < 1 else 2 if 3 < 1 else 4", 4), case("1 + 1 if 2 > 1 else 3", 2), case("(1 if 1 "
    "> 2 else 2)*10", 20),
    case("[1, 2] @ [3, 4]*2", 22), case("2*[1, 2] @ [3, 4]", 22), case("x.sum()**2", 49, x=[3, 4]), case("-x.sum()", -7, x=[3, 4]),
    case("2**x[1]", 16, x=[3, 4]), case("1 == 1", True), case("1 != 1", False), case("3 <= 3", True), case("3 >= 4", False),
]  # fmt: skip

SPELLINGS = [
    case("3^2", 9), case("2^3^2", 512), case("2^-1", 0.5), case("-3^2", -9), case("3×4", 12), case("3·4", 12), case("8÷2", 4),
    case("5−2", 3), case("−3**2", -9), case("x²", 9, x=3), case("x³", 27, x=3), case("-x²", -9, x=3), case("2x²", 18, x=3),
    case("(x + 1)²", 16, x=3), case("x¹⁰", 1024, x=2), case("ln(e)", 1), case("log(e)", 1), case("π", math.pi),
    case("cos(pi)", -1), case("ln(x) - log(x)", 0, x=7), case("2**x²", 16, x=2), case("1/x²", 1 / 9, x=3),
]  # fmt: skip

JUXTAPOSITION = [
    case("2x", 6, x=3), case("2(x + 1)", 8, x=3), case("2sin(x)", 2 * math.sin(3), x=3), case("3x^2", 27, x=3),
    case("2x**2 + 3x + 1", 28, x=3), case("-2x", -6, x=3), case("2x + 2(x)", 12, x=3), case("2.5x", 7.5, x=3),
    case("2pi", 2 * math.pi), case("2x*3", 18, x=3), case("1 - 2x", -5, x=3), case("2 x", 6, x=3), case("2x.sum()", 14, x=[3, 4]),
    case("3x[1]", 12, x=[3, 4]),
]  # fmt: skip

NUMBERS = [
    case("2", 2), case("2.5", 2.5), case(".5", 0.5), case("1e-3", 0.001), case("1_000", 1000), case("1E3", 1000), case("2.", 2),
    case("1_000.5", 1000.5), case("1.5e+2", 150), case("0.1 + 0.2", 0.1 + 0.2), case("1e400", math.inf), case("-inf", -math.inf),
    case("nan", math.nan), case("1/3*3", 1), case("0.1 + 0.7", 0.1 + 0.7),
    case("1e", math.e, id="1e is 1 times e"), case("2e + 1", 2 * math.e + 1, id="2e is 2 times e"),
]  # fmt: skip

ARRAYS = [
    case("[1, 2, 3]", [1, 2, 3]), case("[[1, 2], [3, 4]]", [[1, 2], [3, 4]]), case("[1, 2] + 1", [2, 3]), case("[1, 2,]", [1, 2]),
    case("[[1], [2]] + [10, 20]", [[11, 21], [12, 22]]), case("zeros(2, 3)", np.zeros((2, 3))),
    case("ones((2, 2))", np.ones((2, 2))),
    case("full((2,), 7)", [7, 7]), case("eye(2)", np.eye(2)), case("eye(2, 3)", np.eye(2, 3)), case("arange(4)", [0, 1, 2, 3]),
    case("arange(1, 2, 0.25)", [1, 1.25, 1.5, 1.75]), case("arange(-1e150)", []), case("arange(3, "
    "0, -1)", [3, 2, 1]),
    case("linspace(0, 1, 5)", [0, 0.25, 0.5, 0.75, 1]), case("np.geomspace(1, 1000, 4)", [1, 10, 100, 1000]),
    case("np.delete([1, 2, 3], 1)", [1, 3]), case("np.insert([1, 2], 1, [7, 8])", [1, 7, 8, 2]),
    case("np.block([[x, 1], [2, x]])", [[3, 1], [2, 3]], x=3),
    case("[x, 2*x]", [3, 6], x=3), case("[[x, 1], [0, x]] @ [1, 2]", [5, 6], x=3), case("zeros(0)", []), case("sum(zeros(0))", 0),
    case("[]", []), case("([1, 2,\n 3])", [1, 2, 3], id="newlines in brackets"), case("rand(3).shape[0]", 3),
    case("randn(2, 5).shape[1]", 5),
    case("[True, False]", [True, False]), case("len([4, 5, 6])", 3), case("A.shape[1]", 3, A=A), case("A.ndim", 3, A=A),
]  # fmt: skip

INDEXING = [
    case(f"A{text}", eval(f"A{text}"), A=A)
    for text in (
        "[0]", "[-1]", "[1, 2]", "[1, 2, 3]", "[-1, -2, -3]", "[:, 1]", "[0:1]", "[:, ::2]", "[:, "
        "::-1]", "[..., 1]",
        "[0, ..., -1]",
        "[None]", "[:, None, 1]", "[..., None]", "[[1, 0]]", "[:, [0, 2]]", "[[0, 1], [2, 0]]", "[A > 11]", "[A[:, 0, 0] > 5]",
        "[0, 0:0]", "[1][2][3]", "[:, -2:, 1:3]", "[0, [[0, 1], [1, 2]]]", "[:, :, :]", "[...]", "[1:, [2], None]", "[(0, 1, 2)]",
        "[0, 100:]", "[:, [-1]]", "[[True, False]]", "[[], :]", "[:, 2:0:-1, 3]", "[:, [0, 1], "
        "[1, 2]]", "[0][:, [1]]",
        "[[0, 1], :, [1, 2]]",
    )
]  # fmt: skip
INDEXING += [
    case("V[argmax(V)]", 5, V=V), case("V[V > 1.5]", [3, 2, 5], V=V), case("V[i]", 2, V=V, i=2),
    case("V[i:j]", [1, 2], V=V, i=1, j=3),
    case("V[len(V) - 1]", 5, V=V), case("V[::-1][0]", 5, V=V), case("V[arange(0, 4, 2)]", [3, 2], V=V), case("(4, 5)[1]", 5),
    case("V[-i]", 5, V=V, i=1), case("V[2 - 1]", 1, V=V),
]  # fmt: skip

CONDITIONS = [
    case("x if x > 0 else -x", [1, 2, 3], x=[-1, 2, -3]), case("where(x > 0, x, 0)", [0, 2], x=[-1, 2]),
    case("x > 0 and x < 2", [False, True, False], x=[-1, 1, 3]), case("not x > 0", [True, False], x=[-1, 1]),
    case("sum(x > 0)", 2, x=[-1, 1, 3]), case("x*(x > 0)", [0, 1, 3], x=[-1, 1, 3]),
    case("sqrt(x) if x > 0 else 0", [0, 2], x=[-1, 4]),
    case("1 if x == 0 else sin(x)/x", 1, x=0.0, id="both sides safe"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected", "bindings"),
    [*PRECEDENCE, *SPELLINGS, *JUXTAPOSITION, *NUMBERS, *ARRAYS, *INDEXING, *CONDITIONS],
)
def test_value(evaluate_last, text, expected, bindings):
    record = evaluate_last(text, **bindings)
    expected = np.asarray(expected)
    assert np.shape(record.value) == expected.shape
    np.testing.assert_allclose(
        np.asarray(record.value, float), expected.astype(float), rtol=1e-15, atol=1e-15
    )
    if expected.dtype == bool:
        assert np.asarray(record.value).dtype == bool


@pytest.mark.parametrize(
    ("text", "x", "gradient"),
    [
        pytest.param("x**2", 3, 6, id="power"),
        pytest.param("-x**2", 3, -6, id="minus binds less than power"),
        pytest.param("2**x**2", 1.5, 2**2.25 * math.log(2) * 3, id="right associative"),
        pytest.param("x²", 3, 6, id="superscript"),
        pytest.param("2sin(x)", 1, 2 * math.cos(1), id="juxtaposition"),
        pytest.param("x if x > 0 else -3x", [-2, 5], [-3, 1], id="conditional"),
        pytest.param("sqrt(x) if x > 0 else 0", [0, 4], [0, 0.25], id="branch not taken"),
        pytest.param(
            "1 if x == 0 else sin(x)/x",
            [0.0, 1.0],
            [0, math.cos(1) - math.sin(1)],
            id="branch not taken at 0/0",
        ),
        pytest.param("x[1]*x[-1]", [2, 3, 5], [0, 5, 3], id="index"),
        pytest.param("sum(x[::2]**2)", [2, 3, 5], [4, 0, 10], id="slice"),
        pytest.param("sum(x[[0, 0, 2]])", [2, 3, 5], [2, 0, 1], id="fancy index with repeats"),
        pytest.param("sum(x[x > 2]**2)", [2, 3, 5], [0, 6, 10], id="boolean index"),
        pytest.param("sum([x[0], x[0]*x[1]])", [2, 3], [4, 2], id="array of entries"),
        pytest.param("x[None, :] @ x[:, None]", [2, 3], [4, 6], id="new axes"),
        pytest.param("abs(x)", [-2, 3], [-1, 1], id="abs"),
        pytest.param("x % 3", [-2.5, 7], [1, 1], id="remainder"),
        pytest.param("x*(x > 2)", [1, 3], [0, 1], id="mask is a constant"),
    ],
)
def test_gradient(evaluate_last, text, x, gradient):
    record = evaluate_last(text, x=np.asarray(x))
    np.testing.assert_allclose(record.grad["x"], gradient, rtol=1e-14, atol=1e-15)
    assert np.shape(record.grad["x"]) == np.shape(x)


def test_random_numbers_are_reproducible_and_one_stream(evaluate_all):
    first, second = (r.value for r in evaluate_all("rand(3)\nrand(3)"))
    again, _ = (r.value for r in evaluate_all("rand(3)\nrand(3)"))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, second)
    assert ((first >= 0) & (first < 1)).all()


@pytest.mark.parametrize(
    "text",
    [
        "3*a**3 - b**2",
        "3 a^3 − b²",
        "3·a³ - b^2",
        "3a³ - b²",
        "3(a**3) - b*b",
        "np.subtract(3*a**3, b**2)",
    ],
)
def test_spellings_are_the_same_program(evaluate_last, text):
    record = evaluate_last(text, a=[2, 3], b=[6, 4])
    np.testing.assert_array_equal(record.value, [-12, 65])
    np.testing.assert_array_equal(record.grad["a"], [36, 81])
    np.testing.assert_array_equal(record.grad["b"], [-12, -8])


def test_float32(evaluate_last):
    record = evaluate_last("x/3", x=1, dtype="float32")
    assert record.dtype == "float32"
    assert record.value == np.float32(1) / np.float32(3)
    assert record.grad["x"].dtype == np.float32
