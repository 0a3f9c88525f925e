"""Queries of one template, long sums, bindings: the records of the ordinary way, to the bit or to
rounding.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest
from helpers import thinned
from hypothesis import given, settings
from hypothesis import strategies as st

import gradcli
from gradcli.errors import LimitError, Source
from gradcli.language.run import Program
from gradcli.language.scope import Scope
from gradcli.limits import DEFAULT, Limits
from gradcli.query import templates
from gradcli.query.evaluate import Script, records
from gradcli.query.names import UsedNames
from gradcli.query.options import LONG, Options
from gradcli.query.templates import CompilationCache, pieces
from gradcli.report.records import Record

BARE = Options(check=False, formula=False)
VALUES = {
    "x": 0.7,
    "y": -1.3,
    "a": 2,
    "n": 3,
    "s": np.float64(0.9),
    "v": np.array([1.0, 2.0]),
    "flag": True,
}


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A template is worth compiling as soon as it is known."""
    monkeypatch.setattr(templates, "_OFTEN_READ", 1)


def run(
    lines: Iterable[str], options: Options = BARE, limits: Limits = DEFAULT, **settings: Any
) -> tuple[list[Record], int]:
    """The records of a program, and how many of them were not made in the ordinary way."""
    cache = CompilationCache(limits, settings.get("precision", "float64"))
    taken = []
    in_scope = cache.in_scope

    def noted(*arguments: Any) -> Record | None:
        record = in_scope(*arguments)
        taken.append(record is not None)
        return record

    cache.in_scope = noted  # type: ignore[method-assign]
    return list(records(Script(_program(limits, **settings), lines, "file"), options, cache)), sum(
        taken
    )


def ordinary(
    lines: Iterable[str], options: Options = BARE, limits: Limits = DEFAULT, **settings: Any
) -> list[Record]:
    return list(records(Script(_program(limits, **settings), lines, "file"), options, None))


def _program(limits: Limits, **settings: Any) -> Program:
    scope = Scope(limits, **settings)
    for name, value in VALUES.items():
        scope.bind_value(name, value)
    return Program(scope)


def dicts(found: Iterable[Record]) -> list[str]:
    return [json.dumps(record.to_dict()) for record in found]


OF_ONE_TEMPLATE = [
    ("3*x**2 - 6*y", "4*x**2 - 7.25*y", "5e-3*y**2 - .5*x"),
    ("exp(-2*x)*sin(3*y)", "exp(-1.5*y)*sin(0.25*x)", "exp(-9*x)*sin(1*a)"),
    ("  x/(1 + x**2)", "x/(4 + x**2)  ", "y/(3 + y**2)\n"),
    ("log(1 + exp(x))", "log(2 + exp(y))", "log(3.5 + exp(a))"),
    ("tanh(2*x) + sigmoid(y)", "tanh(3*x) + sigmoid(y)", "tanh(4*x) + sigmoid(a)"),
    ("-x**2 + --y", "-y**2 + --x", "-a**2 + --x"),
    ("pi*x**2", "pi*y**2", "pi*a**2"),
    ("(x + 1)*(2 - y)", "(y + 2)*(3 - x)", "(y + 2.5)*(30 - a)"),
    ("x**2.5 + x**y", "x**2.5 + x**y", "a**2.5 + a**y"),
    ("sqrt(x**2 + 1e-8)", "sqrt(x**2 + 2E+3)", "sqrt(y**2 + 2.e3)"),
    ("atan2(x, y)*2", "atan2(y, x)*3", "atan2(s, x)*4"),
    ("abs(x - 1) + relu(3*y)", "abs(x - 2) + relu(4*s)", "abs(a - 2) + relu(1*y)"),
    ("gamma(x + 1)/lgamma(3)", "gamma(x + 2)/lgamma(3)", "gamma(a + 2)/lgamma(3)"),
    ("100000000000000000001*x", "100000000000000000002*x", "3*y"),
    ("x^2", "y^2", "s^2"),
    ("(x\n + 1)*2", "(x\n + 3)*4", "(y\n + 3)*4"),
    # what is equal is one node
    ("sin(3*y)*cos(3*y)", "sin(4*y)*cos(4*y)", "sin(3.5*s)*cos(3.50*s)"),
    ("0.7*x*y + 0.7*x*s", "0.3*x*y + 0.3*x*s", "0.7*y*x + 0.7*y*s"),
    ("2*x**2 + x*2", "2*y**2 + y*2", "2*s**2 + s*2"),
    ("atan2(s, 0.3*y)*x + 0.3*y*x", "atan2(s, 0.3*x)*y + 0.3*x*y", "atan2(x, 0.3*y)*s + 0.3*y*s"),
    ("-0*x", "-0*y", "-0*s"),
    ("x*0 + 1*y", "y*0 + 2*x", "s*0 + 2*x"),
]  # fmt: skip


@pytest.mark.parametrize("lines", OF_ONE_TEMPLATE, ids=lambda lines: lines[0].strip())
def test_queries_of_one_form_have_the_bits_of_the_ordinary_way(lines: tuple[str, ...]) -> None:
    found, taken = run(lines)
    assert dicts(found) == dicts(ordinary(lines))
    assert all(record.error is None for record in found)
    assert taken == 2  # the first one only shows what template there is


OTHERWISE = [
    ("2x + 1", "3x + 1", "4x + 1"),  # two words for one product
    ("2(x + 1)", "3(x + 1)", "4(x + 1)"),
    ("x²", "y²", "s²"),
    ("x # 1", "x # 2", "x # 3"),
    ("x # +", "y # +", "y # -"),
    ("3*x*y + 3.0*x*y", "4*x*y + 4*x*y", "4*x*y + 4.0*x*y", "5*x*y + 5*x*y"),
    ("celu(x, 0)", "celu(y, 0)", "celu(s, 0)", "x*2", "x*3"),  # which has no value
    ("hardtanh(x, 2)", "hardtanh(y, 2)", "hardtanh(s, 2)"),
    ("exp10(x)", "exp10(y)", "exp10(a)", "exp10(2*a + 1)", "exp10(3*n + 1)"),
    ("polygamma(x)", "polygamma(y)", "polygamma(a)"),
    ("or = 3", "x*y", "y*x", "x*or"),
    ("b = 2", "xb = 2", "x**(2s)", "x**(0s)", "x**(0xb)", "x**(0b)"),
    ("_5 = 0.3", "x**(2s)", "x**(2x)", "x**(2_5)"),
    ("-2*x", "-3*x", "-0*x", "x*-0", "x*-1", "-(0)*x", "-(1)*x", "y--0/x", "y--1/x"),
    ("x*2 # !!!", "y*3 # !!!", "s*4 # !!!"),
    ("x; 2*y", "y; 3*x", "s; 4*x"),
    ("x > 1", "x > 2", "y > 3"),
    ("x if y > 1 else 2", "x if y > 2 else 3", "y if x > 2 else 3"),
    ("sum(v*2)", "sum(v*3)", "sum(v*4)"),
    ("v[0]*x", "v[1]*x", "v[1]*y"),
    ("x*flag", "y*flag", "s*flag"),
    ("x**a", "y**a", "x**n"),
    ("(x - 3)**a", "(y - 3)**a", "(s - 3)**n"),  # exponents of negative bases
    ("x*floor(y)", "y*floor(x)", "s*floor(a)"),
    ("x**(a + 1)", "y**(a + 2)", "s**(n + 2)"),
    ("round(x, 1)", "round(y, 2)", "round(s, 3)"),
    ("round(x, n)", "round(y, a)", "round(s, n)"),
    ("log(x - 1)", "log(x - 2)", "log(x - 0.1)"),  # NaN and its explanation, and then a number
    ("1/(x - 0.7)", "1/(x - 0.7)", "2/(x - 0.6)"),
    ("sqrt(x - 0.7)", "sqrt(x - 0.7)", "sqrt(x - 0.2)"),
    ("q*2", "q*3", "x*4"),  # no value
    ("2 + 3", "3 + 4", "5*6"),  # no name
    ("x and y", "x or y", "x and x"),
    ("x * or", "x * y", "x * s", "x * or"),
    ("1_000*x", "2_000*x", "1__0*x"),
    ("x..5", "x...5", "x....5"),
    ("f(x) = 2*x", "f(x) + 1", "f(y) + 2", "f(y) + 3"),
    ("sin(x)*2", "sin(x)*3", "sin(x)*4", "sin(z) = z**2", "sin(x)*5", "sin(y)*6"),
    ("e*x", "e*y", "e = 3", "e*x", "e*y"),
    ("e = nothing", "e*x", "e*y", "e*s"),
    ("b = x**2", "b*2", "b*3", "b*4"),
    ("const c = 2.5", "c*x", "c*y", "c*c"),
    ("x*2", "x*3", "x = 5.5", "x*4", "x = v", "x*5"),
    ("rand(3)*x", "rand(2)*x", "rand(2)*x"),
    ("grad(x**2, x)", "grad(y**2, y)", "grad(s**2, s)"),
    ("full(a, x)", "full(n, x)", "full(n, y)"),
    ("leaky_relu(y, 0.1)", "leaky_relu(y, 0.2)", "leaky_relu(x, 0.2)"),
    ("leaky_relu(y, x)", "leaky_relu(y, s)", "leaky_relu(y, x)"),
    ("clip(x, 0, 1)", "clip(y, 0, 1)", "clip(a, 0, 1)"),
    ("max(x, y)", "max(y, s)", "max(a, n)"),
    ("1e999*x", "1e998*x", "1e997*x"),
    ("x/1e999", "y/1e999", "x/1e998"),
    ("softmax(x, 0)", "softmax(y, 0)"),
    ("x'", "y'", "x.T", "y.T"),
    ("[x, 1]", "[y, 2]", "(x, 3)"),
    ("assert x == 0.7", "assert y == 0.7", "assert x == 0.7"),
    ("abs(-x", "abs(-y", "abs(-s"),
    (")x(", ")y(", ")x("),
    ("", " ", "+", "-", "()", "()"),
]  # fmt: skip


@pytest.mark.parametrize("lines", OTHERWISE, ids=" | ".join)
def test_whatever_is_met_again_and_again_has_the_records_of_the_ordinary_way(
    lines: tuple[str, ...],
) -> None:
    assert dicts(run(lines)[0]) == dicts(ordinary(lines))


def test_reserved_words_are_no_names_however_they_came_to_be_bound() -> None:
    cache = CompilationCache(DEFAULT, "float64")
    values = {"x": np.array(1.5), "or": np.array(2.0)}
    found = [
        cache.in_record(values, Source(text), BARE, None)
        for text in ("x*x", "x*x", "x*y", "x*or", "x*or")
    ]
    assert [record is not None for record in found] == [False, True, False, False, False]


def test_limits_are_for_the_ordinary_way_to_apply() -> None:
    for nodes in range(6, 12):
        lines = ["sin(x)**2.5*exp(x)"] * 3
        fast, plain = (
            run(lines, limits=Limits(nodes=nodes + len(VALUES)))[0],
            ordinary(lines, limits=Limits(nodes=nodes + len(VALUES))),
        )
        assert dicts(fast) == dicts(plain)


def test_a_part_of_a_binding_changes_no_more_than_the_last_bit() -> None:
    lines = ["b = x*y", "sin(x) + exp(x) + x*y", "sin(x) + exp(x) + x*y"]
    for fast, plain in zip(run(lines)[0], ordinary(lines), strict=True):
        slopes = [np.array(list((record.grad or {}).values())) for record in (fast, plain)]
        np.testing.assert_array_almost_equal_nulp(*slopes, 2)


def test_frozen_names_and_precision_are_heeded() -> None:
    lines = ["x*y**2", "y*x**2", "x*s**2", "x*y**2"]
    for options in (
        Options(check=False, formula=False, freeze=("x",)),
        Options(check=False, formula=False, freeze=("x", "y", "s")),
    ):
        assert dicts(run(lines, options)[0]) == dicts(ordinary(lines, options))
    narrow = ["exp(3*x)", "exp(4*x)", "exp(5*x)"]
    assert dicts(run(narrow, precision="float32")[0]) == dicts(
        ordinary(narrow, precision="float32")
    )


def test_a_form_that_is_met_once_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(templates, "_OFTEN_READ", 3)
    monkeypatch.setattr(
        "gradcli.query.templates.straight_line", lambda *arguments: pytest.fail("compiled")
    )
    lines = [f"y*abs(x)**{i}.5" for i in range(1, 50)]
    assert run(lines)[1] == 0


@pytest.mark.parametrize(
    "text",
    ["(" * 25_000 + "x" + ")" * 25_000, "a" * 100_000 + "(x)", "-(" * 12_500 + "x*x" + ")" * 12_500, "x" + " + (x" * 9_000 + ")" * 9_000],
    ids=["brackets", "a long name", "signs", "sums in sums"],
)  # fmt: skip
def test_whatever_is_long_is_told_apart_at_once(text: str) -> None:
    assert dicts(run([text])[0]) == dicts(ordinary([text]))


def test_a_form_is_compiled_when_it_has_been_met_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(templates, "_OFTEN_READ", 3)
    lines = [f"{i}*x**2 + y" for i in range(3, 13)]
    found, taken = run(lines)
    assert dicts(found) == dicts(ordinary(lines))
    assert taken == 10 - 3


def test_forms_are_not_remembered_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(templates, "_MOST", 3)
    lines = [text for lines in OF_ONE_TEMPLATE * 2 for text in lines]
    found, taken = run(lines)
    assert dicts(found) == dicts(ordinary(lines))
    assert taken > 20


_numbers = st.one_of(
    st.sampled_from(["0", "2", "2.0", "3", "0.5"]),
    st.integers(0, 99).map(str),
    st.floats(0.01, 50).map(lambda x: f"{x:.3g}"),
)
_atoms = st.one_of(st.sampled_from(["x", "y", "s", "a", "pi"]), _numbers)
_texts = st.recursive(
    _atoms,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", " / ", " - "]), inner).map("".join),
        st.tuples(
            st.sampled_from(
                ["sin(", "exp(", "sqrt(", "atan(", "log1p(", "erf(", "(", "-(", "cbrt("]
            ),
            inner,
        ).map(lambda parts: parts[0] + parts[1] + ")"),
        st.tuples(inner, st.sampled_from(["2", "3", "-1", "0.5", "x"])).map(
            lambda parts: f"({parts[0]})**{parts[1]}"
        ),
    ),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(
    text=_texts,
    others=st.lists(st.lists(_numbers, min_size=16, max_size=16), min_size=2, max_size=3),
)
def test_any_expression_with_other_numbers_has_the_records_of_the_ordinary_way(
    text: str, others: list[list[str]]
) -> None:
    between, words = pieces(text)
    lines = [text]
    for numbers in others:
        fresh = iter(numbers)
        own = [next(fresh) if word[0] in "0123456789." else word for word in words]
        lines.append(
            "".join(
                [between[0], *(word + after for word, after in zip(own, between[1:], strict=True))]
            )
        )
    assert dicts(run(lines)[0]) == dicts(ordinary(lines))


# -- single queries
# ---------------------------------------------------------------------------------------------------

SINGLE = [
    "x*y + x*y", "ln(x)*log(x)", "log(x)*sin(log(x))", "-x**2 - -2**-y + -(-3.5)", "+x - +y", "2*x + 2.0*y",
    "x**2 + y**2.0", "(x - 1)**2/(x - 1)", "sin(36)*x/tanh(1.5)", "abs(y)*relu(x)", "exp(exp(s))*a**n", "x/n - n/x", "sqrt(x)**-3",
    "pi*x**2", "x", "-y", "sin(2) + 3*4", "tan(x)/cos(x) + atan(x*y)", "x**y", "x**1*y**1", "sinh(x)*cosh(y) - arcsinh(s)",
]  # fmt: skip


@pytest.mark.parametrize("text", SINGLE)
def test_a_query_of_any_form_has_the_record_of_the_ordinary_way(text: str) -> None:
    assert dicts(run([text] * 3)[0]) == dicts(ordinary([text] * 3))


NOT_SINGLE = [
    "2x", "x(x + 1)", "sin x", "v*2", "flag*x", "sum(x)", "f(2)", "f'(2)", "x^1/2", "E*x", "x if "
    "y else s", "[x, y]", "x > 1", "log(y)",
    "1/0*x", "sqrt(x - x)", "sqrt(y)", "exp(1000*x)", "missing*2", "sin(x, y)", "max(x, y)", "sigmoid(x)", "sign(x)*y", "floor(x)",
    "x @ y", "np.sin(x)", "x.sin()", "grad(x**2, x)", "round(x)", "or", "sin", "sin*2", "1e999*x", "q(x)", "x; y", "not x", "~x", "|x|",
    "3!", "(x, y)", "'x'", "x**0*y**1",
]  # fmt: skip


@pytest.mark.parametrize("text", NOT_SINGLE)
def test_queries_of_something_else_are_left_to_the_ordinary_way(text: str) -> None:
    lines = ["f(z) = z**2", text, "x*y"]
    assert dicts(run(lines)[0]) == dicts(ordinary(lines))


def test_the_dialect_that_is_asked_for_is_told_whoever_computes() -> None:
    found = []
    for cache in (CompilationCache(DEFAULT, "float64"), None):
        program = _program(DEFAULT)
        program.scope.dialect.asked = "torch"
        found.append(
            [
                record.dialect
                for record in records(Script(program, ["x*y", "y*x", "x*x", "sin(x)"]), BARE, cache)
            ]
        )
    assert found[0] == found[1] == ["torch"] * 4


def test_compilation_heed_the_limit_on_operations() -> None:
    for nodes in range(4, 14):
        limits = Limits(nodes=nodes + len(VALUES))
        assert dicts(run(["sin(x)*cos(y) + 2**x"], limits=limits)[0]) == dicts(
            ordinary(["sin(x)*cos(y) + 2**x"], limits=limits)
        )


def test_names_may_stand_for_the_values_of_a_record() -> None:
    cache = CompilationCache(DEFAULT, "float64")
    values = {"y": np.array(2.5), "x": np.array(3), "v": np.ones(2)}
    assert cache.in_record(values, Source("4*x*y**2"), BARE, 1) is None
    record = cache.in_record(values, Source("3*x*y**2"), BARE, 2)
    assert record is not None
    assert record.grad is not None
    assert record.id == 2
    assert (record.value, list(record.grad.items())) == (56.25, [("y", 45.0), ("x", 18.75)])
    assert cache.in_record(values, Source("3*v*y**2"), BARE, 3) is None
    assert cache.in_record(values, Source("y = 2\n3*x*y**2"), BARE, 3) is None


# -- long sums
# --------------------------------------------------------------------------------------------------------


def long_sum(count: int, *makers: str, joined: str = " + ") -> tuple[str, dict[str, float]]:
    text = joined.join(
        makers[i % len(makers)].format(
            i=i, j=i // len(makers), k=i // len(makers) + 1, c=0.5 + i % 9
        )
        for i in range(count)
    )
    names = {f"x{i}": 0.3 + 0.01 * (i % 37) for i in range(count + 2)}
    return text, names


LONG_SUMS = [
    (1_000, ("100*(x{k} - x{j}**2)**2", "(1 - x{j})**2"), " + "),
    (1_000, ("{c}*exp(-x{j}/{c})*x{k}", "x{j}*x{j}*{c}", "-log(x{j} + {c})"), " - "),
    (600, ("x{j}**{c}", "sin(x0*x{j})"), "+"),  # a template for each exponent
    (900, ("x{j}*{c}", "{c}", "pi*x0"), " - "),
]  # fmt: skip


@pytest.mark.parametrize(("count", "makers", "joined"), LONG_SUMS, ids=lambda part: str(part)[:40])
@pytest.mark.parametrize("prefix", ["", "-"])
def test_long_sums_agree_with_the_ordinary_way(
    count: int, makers: tuple[str, ...], joined: str, prefix: str
) -> None:
    text, names = long_sum(count, *makers, joined=joined)
    assert len(text) > LONG
    text = prefix + text
    fast = gradcli.evaluate(text, at=names, check=False, formula=False)
    plain = gradcli.evaluate(text, at=names, check=False)  # with a formula, in the ordinary way
    assert fast.grad is not None
    assert plain.grad is not None
    assert (list(fast.grad), fast.expr, fast.line, fast.column) == (
        list(plain.grad),
        plain.expr,
        plain.line,
        plain.column,
    )
    np.testing.assert_allclose(fast.value, plain.value, rtol=1e-14)
    scale = max(abs(slope) for slope in plain.grad.values())
    np.testing.assert_allclose(
        list(fast.grad.values()), list(plain.grad.values()), rtol=1e-13, atol=1e-14 * scale
    )


@pytest.mark.parametrize(
    "around", ["log(-({}))", "sin({}", "({})x1", "-({})/7", "x1*({})*exp(-x2) + x3"]
)
def test_sums_in_brackets_are_left_to_the_ordinary_way(around: str) -> None:
    text, names = long_sum(1_000, "x{j}**2", "(1 - x{j})**2")
    found = []
    for cache in (CompilationCache(DEFAULT, "float64"), None):
        scope = Scope()
        for name, value in names.items():
            scope.bind_value(name, value)
        found.append(
            list(records(Script(Program(scope), ["f(x) = x**2", around.format(text)]), BARE, cache))
        )
    (fast,), (plain,) = found
    if plain.error is None:
        assert fast.warnings == plain.warnings
        np.testing.assert_allclose(fast.value, plain.value, rtol=1e-12)
        np.testing.assert_allclose(
            list((fast.grad or {}).values()), list((plain.grad or {}).values()), rtol=1e-11
        )
    else:
        assert fast.error is not None
        assert fast.error.error.render() == plain.error.error.render()


def test_long_sums_are_evaluated_term_by_term(monkeypatch: pytest.MonkeyPatch) -> None:
    text, names = long_sum(1_000, *LONG_SUMS[0][1])
    monkeypatch.setattr(
        "gradcli.query.evaluate.run_statement", lambda *arguments: pytest.fail("the ordinary way")
    )
    assert len(gradcli.evaluate(text, at=names, check=False, formula=False).grad or ()) == 501


@pytest.mark.parametrize(
    "last",
    [
        "+ x1/(x1 - x1)", "+ missing", "+ (x1", "- x1 > 3", "if x1 > 2 else x3", "; x1", "# () + "
        "x1", "+ v",
    ],
)  # fmt: skip
def test_long_sums_with_something_else_in_them_are_left_to_the_ordinary_way(last: str) -> None:
    text, names = long_sum(1_000, *LONG_SUMS[0][1])
    scope = Scope()
    found = []
    for cache in (CompilationCache(DEFAULT, "float64"), None):
        scope = Scope()
        for name, value in {**names, "n": 3, "v": np.ones(2)}.items():
            scope.bind_value(name, value)
        (record, *_) = records(Script(Program(scope), [f"{text} {last}"]), BARE, cache)
        found.append(record)
    fast, plain = found
    if plain.error is not None:
        assert fast.error is not None
        assert fast.error.error.render() == plain.error.error.render()
    else:
        assert fast.warnings == plain.warnings
        assert list(fast.grad or ()) == list(plain.grad or ())
        np.testing.assert_allclose(fast.value, plain.value, rtol=1e-13)


def test_the_limit_on_operations_holds_for_long_sums() -> None:
    text, names = long_sum(1_000, *LONG_SUMS[0][1])
    with pytest.raises(LimitError, match="more than 1,000 operations"):
        gradcli.evaluate(text, at=names, check=False, formula=False, limits=Limits(nodes=1_000))


# -- many bindings
# ----------------------------------------------------------------------------------------------------

COUNT = 40


def bindings(*more: str, count: int = COUNT) -> list[str]:
    """A program whose bindings are of few forms, and two levels, and some that are of any form,
    before its query.
    """
    lines = [f"p{i} = {0.5 + 0.01 * (i % 7)}\n" for i in range(count + 1)]
    lines += [
        f"t{i} = 100*(p{i + 1} - p{i}**2)**2 + (1 - p{i})**2  # a term\n" for i in range(count)
    ]
    lines += ["# pairs\n", *(f"u{i} = sin(t{i})*c - x*k\n" for i in range(0, count, 2))]
    lines[5:5] = ["c = 3\n", "k = -2.5e-1\n"]
    return [*lines, *more, " + ".join(f"u{i}" for i in range(0, count, 2)) + " - t3"]


def remarks(program: Program) -> list[str]:
    names = UsedNames()
    names.add(program.scope)
    return [*names.remarks({}, BARE, several=True), *sorted(names.had)]


def both(
    lines: list[str],
    options: Options = BARE,
    limits: Limits = DEFAULT,
    caches: Iterable[CompilationCache | None] | None = None,
) -> list[tuple[list[Record], list[str]]]:
    """The records of a program and what is said at its end: with a cache, and in the
    ordinary way.
    """
    found = []
    for cache in (CompilationCache(limits, "float64"), None) if caches is None else caches:
        program = _program(limits)
        found.append(
            (list(records(Script(program, lines, "file"), options, cache)), remarks(program))
        )
    return found


def agree(fast: list[Record], plain: list[Record]) -> None:
    """Two runs have the same records but for rounding."""
    assert len(fast) == len(plain)
    for one, other in zip(fast, plain, strict=True):
        told, expected = (
            (r.error is None, r.warnings, r.line, r.column, r.expr, r.dialect) for r in (one, other)
        )
        assert told == expected
        if one.error is None:
            assert list(one.grad or ()) == list(other.grad or ())
            np.testing.assert_allclose(one.value, other.value, rtol=1e-12)
            np.testing.assert_allclose(
                list((one.grad or {}).values()),
                list((other.grad or {}).values()),
                rtol=1e-9,
                atol=1e-9,
            )


QUERIES = ["t3*u4 + x**2", "u2 - u2", "t7", "p5*p6", "x*y", "c*k", "u8**2 + h1*t9", "z2*w1"]


@pytest.mark.parametrize("query", [None, *QUERIES])
def test_queries_of_many_bindings_have_the_records_of_the_ordinary_way(query: str | None) -> None:
    lines = bindings(
        *(
            f"{name}{i} = {text}\n"
            for i in range(3)
            for name, text in (("h", f"1/{i + 64}"), ("w", f"{i}*pi"), ("z", f"h{i}*x"))
        )
    ) + ([] if query is None else [f"{query}\n"] * 3)
    ((fast, said), (plain, told)) = both(lines)
    agree(fast, plain)
    assert said == told


@pytest.mark.parametrize("freeze", [("c",), ("k", "x"), ("t3",), ("u0", "p1"), ("nothing",)])
def test_frozen_names_of_bindings_are_heeded(freeze: tuple[str, ...]) -> None:
    ((fast, _), (plain, _)) = both(bindings(), Options(check=False, formula=False, freeze=freeze))
    agree(fast, plain)


OF_ANY_FORM = [
    "p3 = 4\n", "t5 = t5*2\n", "a0 = b0\n", "b0 = missing*2\n", "sin = 3\n", "or = 3\n", "a0 = "
    "v*2\n", "a0 = log(-1)*x\n", "a0 = 1e999\n",
    "a0 = 0*x/0\n", "a0 = 2 x\n", "a0 = (1\n", "a0 = \n", "a0 == 3\n", "a0 = x; b0 = y\n", "const "
    "a0 = 3\n", "a0 = x > 1\n",
    "a0 = -0\n", "a0 = +5.\n", "a0 = 1e999\n", "a0 = 9007199254740993\n", "a0 = 3 # dialect: "
    "torch\n", "print = 3\n",
    "# dialect: torch\n", "# dialect: nothing\n", "f(z) = z*2\n", "a0 = f(x)\n", "import numpy as "
    "np\n", "np = 3\n", "pi = 3\n",
    "a0 = sum(v)\n", "a0, b0 = x, y\n", "a0 = x if y > 0 else s\n", "a0 = np.sin(x)\n", "a0 = "
    "x.sin()\n", "a0 = [1, 2]\n",
    "assert x == 0.7\n", "x = 3\n", "a0 += 1\n", "a0 = sqrt(x - x)\n", "a0 = @data.csv\n", "a0 = "
    "||\n", "a0 = x' \n", "a0 = max(x, y)\n",
    "a0 = x**n\n", "a0 = 1_000\n", "a0 = 0x10\n", "a0 = x = 3\n", "\u00e4 = 3\n", "if = 3\n",
]  # fmt: skip


@pytest.mark.parametrize("line", thinned(pytest.param(line, id=repr(line)) for line in OF_ANY_FORM))
def test_bindings_of_any_form_have_the_records_of_the_ordinary_way(line: str) -> None:
    lines = [*bindings(line), "t3*x\n", "a0*b0\n"]
    ((fast, said), (plain, told)) = both(lines)
    agree(fast, plain)
    assert said == told
    for one, other in zip(fast, plain, strict=True):
        if one.error is not None:
            assert other.error is not None
            assert one.error.error.render() == other.error.error.render()


@pytest.mark.parametrize(
    "lines",
    [
        # as many levels as bindings
        ["p0 = 0.5\n", *(f"p{i + 1} = p{i}*0.9 + 0.1\n" for i in range(COUNT)), f"p{COUNT}\n"],
        # and forms
        [*(f"p{i} = x**{i} + {'sin(' * (i % 9)}y{')' * (i % 9)}\n" for i in range(COUNT)), "p3 + "
        "p4\n"],
        [*(f"p{i} = {i}\n" for i in range(COUNT)), "p3**p2 + p1\n", "p9 = 3\n", "p9*p2\n"],
        # bindings after queries
        [*(f"p{i} = {i}.5\n" for i in range(COUNT)), "p3*p2\n", "q = p1*2\n", "q*p3\n", "q*p4\n"],
        [*(f"p{i} = {i}.5\n" for i in range(COUNT)), "p3 = = 2\n", "p2*p3\n"],
        # each before the one that it is made of
        [*(f"p{i} = p{i + 1}*2\n" for i in range(COUNT)), "p2*p3\n"],
        # before a number that they are made of
        ["a = 2\n", *(f"p{i} = a*b*{i}\n" for i in range(COUNT)), "b = 3\n", "p2*p3\n"],
        ["a = 2\n", *(f"p{i} = {i}*x/7\n" for i in range(COUNT)), *(f"q{i} = p{i}*a\n" for i in range(COUNT)), "q2*p3*a\n"],
        ["a = 2\n", *(f"p{i} = {i}/7\n" for i in range(COUNT)), "p2*p3*a\n"],
        [f"p{i} = {i}.5\n" for i in range(COUNT)],  # and no query
    ],
    ids=[
        "levels", "forms", "whole numbers", "after queries", "an error", "in no order", "before a "
        "number", "of others", "of numbers",
        "no query",
    ],
)  # fmt: skip
def test_other_programs_of_many_bindings(lines: list[str]) -> None:
    ((fast, said), (plain, told)) = both(lines)
    agree(fast, plain)
    assert said == told


def test_the_limit_on_operations_holds_for_many_bindings() -> None:
    limits = Limits(nodes=300)
    ((fast, _), (plain, _)) = both(bindings(), limits=limits)
    for found in (fast, plain):
        assert found[0].error is not None
        assert found[0].error.error.code == "limit"
        assert found[-1].error is not None


def test_an_expression_beside_a_file_sees_its_bindings() -> None:
    found = []
    for cache in (CompilationCache(DEFAULT, "float64"), None):
        program = _program(DEFAULT)
        first = list(records(Script(program, bindings(), "file"), BARE, cache))
        found.append([*first, *records(Script(program, ["t3*x", "q = 2*t4", "q*t5"]), BARE, cache)])
    agree(*found)


def test_a_stream_is_answered_line_by_line() -> None:
    read: list[str] = []

    def lines() -> Iterator[str]:
        for line in ["a0 = missing\n", "b0 = 2\n", "b0*x\n"]:
            read.append(line)
            yield line

    script = Script(_program(DEFAULT), lines(), stream=True)
    found = records(script, BARE, CompilationCache(DEFAULT, "float64"))
    assert next(found).error is not None
    assert read == ["a0 = missing\n"]
