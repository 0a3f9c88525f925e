"""Refusals: their code, place and help, and whole rendered errors."""

from __future__ import annotations

import pytest

BINDINGS = {"x": 2.0, "y": 3.0, "a": [1.0, 2.0, 3.0], "M": [[1.0, 2.0], [3.0, 4.0]]}


def case(text: str, code: str, column: int, *fragments: str, id: str | None = None) -> object:
    return pytest.param(text, code, column, fragments, id=id or text)


TWO_READINGS = [
    case("1/2x", "ambiguous", 1, "(1/2)*x", "1/(2*x)"), case("y/2x", "ambiguous", 1, "(y/2)*x", "y/(2*x)"),
    case("1/2(x+1)", "ambiguous", 1, "(1/2)*(", "1/(2*("), case("e**2y", "ambiguous", 1, "(e**2)*y", "e**(2*y)"),
    case("xy", "ambiguous", 1, "x*y"),
    case("3 + xy", "ambiguous", 5, "x*y"), case("x % 2y", "ambiguous", 1, "*y", "(2*y)"), case("(x + y 1)", "ambiguous", 6, "y*1", "y1"),
]  # fmt: skip

SYNTAX = [
    case("0 < x < 1", "syntax", 7, "(0 < x) and (x < 1)"), case("x == 1 == 2", "syntax", 8, "(x "
    "== 1) and (1 == 2)"),
    case("1,5*x", "syntax", 2, "decimal"), case("x + 1,5", "syntax", 6, "decimal"), case("2*(1,5)", "type", 3, "decimal"),
    case("(1 + 2", "syntax", 1, "never closed", "missing ')'"), case("[1, 2", "syntax", 1, "never "
    "closed", "missing ']'"),
    case("sin(x", "syntax", 4, "never closed"), case("1 + 2)", "syntax", 6, "closes nothing"), case("(1, 2]", "syntax", 6),
    case("2*", "syntax", 2), case("x + * y", "syntax", 5, "value"), case("()*2", "type", 1),
    case("2 3", "syntax", 3, "2*3", "[2, 3]"),
    case("x!", "syntax", 2, "factorial(n)"),
    case("x & y", "type", 3, "(x != 0) & (y != 0)"), case("{1, 2}", "syntax", 1, "[1, 2]"),
    case("$x", "syntax", 1),
    case("x if x > 0", "syntax", 3, "else"), case("x else y", "syntax", 3, "if"), case("5 = x", "syntax", 3, "=="),
    case("2x = 3", "syntax", 4),
    case("z = z + 1", "missing-value", 5, "no value for"),
    case("const x", "syntax", 7, "const c = 2"), case("assert x", "syntax", 8, "=="),
    case("f(u, u) = u", "syntax", 1, "twice"), case("x'", "syntax", 2, "x.T"),
    case("1__0", "syntax", 1),
    case("1_", "syntax", 1), case("1.2.3", "syntax", 4), case("a[1:2:3:4]", "syntax", 8), case("lambda z: z", "syntax", 1, "f(z) = z"),
    case("import os", "unknown-name", 8, "the module 'os' is not known here"),
    case("x and", "syntax", 3), case("sum(x, axis=1, axis=2)", "syntax", 16, "twice"),
    case("x\x00y", "syntax", 2, "U+0000", id="NUL"),
    case("'abc'", "syntax", 1, "argument"), case("x + 'abc'", "syntax", 5, "argument"), case("q = "
    "'abc'", "syntax", 5, "argument"),
    case("x + 0..1", "syntax", 6, "range"), case("x..y", "syntax", 2, "range"), case("x[0..2]", "syntax", 4, "x[a:b]"),
    case("'abc", "syntax", 1, "quotes"), case("x.", "syntax", 2),
]  # fmt: skip

NAMES = [
    case("sqr(x)", "unknown-name", 1, "unknown function 'sqr'", "did you mean 'sqrt'?"),
    case("x + frobnicate(x)", "unknown-name", 5, "define it before, or write * to multiply"),
    case("f(x)", "unknown-name", 1, "unknown function 'f'"), case("t(2, x)", "argument", 1), case("t²", "missing-value", 1, "t=1"),
    case("cos t", "missing-value", 1, "t=1"), case("∛2x", "ambiguous", 1, "(∛2)*x or ∛(2*x)"), case("∜x", "syntax", 1, "x**(1/4)"),
    case("b*2", "missing-value", 1, "'b'", "b=1"), case("x + b*2", "missing-value", 5),
    case("sinx", "missing-value", 1, "sin(x)"),
    case("a + aa2", "missing-value", 5),
    case("sin", "missing-value", 1, "function"), case("x*sin", "missing-value", 3, "sin(x)"),
    case("f'(2)", "unknown-name", 1, "'f'"),
    case("x.foo", "unknown-name", 1, "'foo'"), case("np.foo(x)", "unknown-name", 1, "np.foo"),
    case("np.sqr(x)", "unknown-name", 1, "did you mean 'sqrt'?"),
    case("__import__('os')", "unknown-name", 1), case("eval('1')", "unknown-name", 1), case("x.__class__", "unknown-name", 1),
    case("open('/etc/passwd')", "unknown-name", 1), case("q = nope*2; q + 1", "missing-value", 13, "line 1"),
    case("np", "type", 1, "np"),
]  # fmt: skip

ARGUMENTS = [
    case("sin(x, y)", "argument", 1, "sin"), case("sin()", "argument", 1),
    case("sum(a, axes=1)", "argument", 1, "'axes'", "did you mean 'axis'?"),
    case("sum(a, axis=3)", "shape", 1, "3"), case("sum(a, axis=0.5)", "argument", 1, "0.5"),
    case("sum(a, axis='0')", "type", 1, "'0'"),
    case("grad(x**2, 2)", "argument", 12, "name"), case("grad(x**2, x + 1)", "argument", 12, "name"),
    case("grad(x)", "argument", 1, "grad(y, x)"),
    case("jvp(x, x)", "argument", 1, "jvp(y, x, v)"), case("f(t) = t; f(1, 2)", "argument", 11, "f(t)"),
    case("zeros(-1)", "argument", 1, "-1"),
    case("zeros(1.5)", "argument", 1, "1.5"), case("f(t) = f(t) + 1; f(2)", "argument", 8, "calls "
    "itself"),
    case("a[::0]", "argument", 5, "0"),
    case("max(x, y, axis=0)", "argument", 1, "axis"), case("arange(0, 1, 0)", "argument", 1, "step"),
    case("f(x, y) = x*y; f'(2)", "argument", 16),
]  # fmt: skip

SHAPES = [
    case("a + [1, 2]", "shape", 1, "(3,)", "(2,)"), case("a @ M", "shape", 1, "(3,)", "(2, 2)"), case("a[5]", "shape", 1, "5"),
    case("a[-4]", "shape", 1, "-4"), case("a[0, 0]", "shape", 1, "indices"), case("a[1.5]", "type", 1, "whole numbers"),
    case("a[x]", "type", 1),
    case("[1, [2, 3]]", "shape", 1), case("inv(a)", "shape", 1, "square"), case("reshape(a, (2, "
    "2))", "shape", 1),
    case("M.T @ a", "shape", 1),
    case("hessian(a, a)", "shape", 1, "scalar"), case("vjp(a**2, a, [1, 2])", "shape", 1, "(2,)", "(3,)"),
    case("(1, 2)", "type", 1, "tuple"),
    case("None", "type", 1), case("inv(M - M)", "evaluation", 1, "singular"), case("a[[0, 1], [0, "
    "1, 2]]", "shape", 1),
    case("x[0]", "shape", 1),
    case("where(a > 1, a, [1, 2])", "shape", 1), case("M[0, 2]", "shape", 1, "2"), case("(1, 2)[2]", "shape", 1),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "code", "column", "fragments"), [*TWO_READINGS, *SYNTAX, *NAMES, *ARGUMENTS, *SHAPES]
)
def test_refusal(fails, text, code, column, fragments):
    failure = fails(text, **BINDINGS)
    shown = failure.error.render()
    assert (failure.code, failure.line, failure.column) == (code, 1, column), shown
    for fragment in fragments:
        assert fragment in shown
    first = failure.message.split(" ")[0]
    assert not first[:1].isupper() or first in ("None", "A"), "a message begins in lower case"
    assert not failure.message.endswith(".")


@pytest.mark.parametrize(
    ("text", "column", "end"),
    [
        pytest.param("3*a**3 - sqr(b)", 10, 13, id="a name"),
        pytest.param("1 + b123*2", 5, 9, id="a name without a value"),
        pytest.param("1 - 2*a @ M", 5, 12, id="an operation"),
        pytest.param("1 + 0 < x < 1", 11, 12, id="an operator"),
        pytest.param("1 +\t$", 5, 6, id="after a tab"),
        pytest.param("[1,\n sqr(x)]", 2, 5, id="on a second line"),
    ],
)
def test_span(fails, text, column, end):
    failure = fails(text, **BINDINGS)
    assert (failure.line, failure.column, failure.end_column) == (1 + text.count("\n"), column, end)


RENDERED = {
    "unknown function": (
        "1\n2\n3*a**3 - sqr(y)",
        """\
error[unknown-name]: unknown function 'sqr'
  --> model.grad:3:10
3 | 3*a**3 - sqr(y)
  |          ^^^
  = help: did you mean 'sqrt'?""",
    ),
    "no value": (
        "x*b",
        """\
error[missing-value]: no value for 'b'
  --> model.grad:1:3
1 | x*b
  |   ^
  = help: give it one: b=1""",
    ),
    "two readings of a slash": (
        "1/2x",
        """\
error[ambiguous]: '1/2x' has two readings
  --> model.grad:1:1
1 | 1/2x
  | ^^^^
  = help: write (1/2)*x or 1/(2*x)""",
    ),
    "a bracket after an exponent": (
        "2 + y^x(x+1)",
        """\
error[ambiguous]: 'y^x(' has two readings
  --> model.grad:1:5
1 | 2 + y^x(x+1)
  |     ^^^^
  = help: write (y^x)*(x+1) or y^(x*(x+1))""",
    ),
    "an open bracket": (
        "x\n" * 9 + "2*(x + 1",
        """\
error[syntax]: '(' is never closed
   --> model.grad:10:3
10 | 2*(x + 1
   |   ^
   = help: add the missing ')'""",
    ),
    "a decimal comma": (
        "1,5*x",
        """\
error[syntax]: a comma is never a decimal point
  --> model.grad:1:2
1 | 1,5*x
  |  ^
  = help: write 1.5*x, or [1, 5*x] for an array""",
    ),
    "a chain": (
        "0 < x < 1",
        """\
error[syntax]: a chain of comparisons is not read
  --> model.grad:1:7
1 | 0 < x < 1
  |       ^
  = help: write (0 < x) and (x < 1)""",
    ),
    "shapes": (
        "x + a*[1, 2]",
        """\
error[shape]: shapes (3,) and (2,) do not broadcast together
  --> model.grad:1:5
1 | x + a*[1, 2]
  |     ^^^^^^^^""",
    ),
    "no derivative by a number": (
        "grad(x**2, 2)",
        """\
error[argument]: the second argument of grad must be a name
  --> model.grad:1:12
1 | grad(x**2, 2)
  |            ^
  = help: write grad(y, x), with x a bound name""",
    ),
    "bars": (
        "|x|y|x|",
        """\
error[ambiguous]: '|x|y|x|' has two readings
  --> model.grad:1:1
1 | |x|y|x|
  | ^^^^^^^
  = help: write |x|*y*|x| or |x*|y|*x|""",
    ),
    "a binding that mentions itself": (
        "q = 1\nz = z + q",
        """\
error[missing-value]: no value for 'z'
  --> model.grad:2:5
2 | z = z + q
  |     ^
  = help: give it one: z=1""",
    ),
    "wide characters": (
        "'漢字' + x",
        """\
error[syntax]: a string can only be an argument of a function
  --> model.grad:1:1
1 | '漢字' + x
  | ^^^^^^""",
    ),
    "a control character": (
        "x + \x1b[31m",
        """\
error[syntax]: unexpected character U+001B
  --> model.grad:1:5
1 | x + \\x1b[31m
  |     ^^^^""",
    ),
}


@pytest.mark.parametrize(("text", "expected"), RENDERED.values(), ids=RENDERED)
def test_rendered(fails, text, expected):
    shown = fails(text, file="model.grad", **BINDINGS).error.render()
    assert shown == expected


def test_a_failed_binding_is_named_where_it_is_used(evaluate_all):
    first, second = evaluate_all("q = sqr(2)\nq + 1")
    assert (first.error.code, first.error.line) == ("unknown-name", 1)
    assert (second.error.code, second.error.line) == ("missing-value", 2)
    assert "line 1" in second.error.message


def test_markup_is_shown_as_it_is(fails):
    assert "[bold]:smile:" in fails("x + '[bold]:smile:'", **BINDINGS).error.render()
