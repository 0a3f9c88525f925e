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
from recorded import read_lines

import gradcli
from gradcli import LimitError, Limits, Record
from gradcli.language.run import Program
from gradcli.language.scope import Scope
from gradcli.limits import DEFAULT
from gradcli.options import LONG, Options
from gradcli.query import templates
from gradcli.query.programs import Script, UsedNames, records
from gradcli.query.templates import CompilationCache, pieces
from gradcli.texts import Source

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


CASES = read_lines("streams.jsonl")
STREAMS = [case for case in CASES if "lines" in case]
OF_ANY_FORM = [case["binding"] for case in CASES if "binding" in case]


@pytest.mark.parametrize(
    "case", STREAMS, ids=lambda case: f"{case['about']}: {' | '.join(case['lines'])}"
)
def test_streams_have_the_records_of_the_ordinary_way(case: dict[str, Any]) -> None:
    """To the bit. Of one template, the first query only shows what template there is."""
    found, taken = run(case["lines"])
    assert dicts(found) == dicts(ordinary(case["lines"]))
    if "compiled" in case:
        assert all(record.error is None for record in found)
        assert taken == case["compiled"]


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
    lines = [text for case in STREAMS * 2 if "compiled" in case for text in case["lines"]]
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
        assert fast.error.render() == plain.error.render()


def test_long_sums_are_evaluated_term_by_term(monkeypatch: pytest.MonkeyPatch) -> None:
    text, names = long_sum(1_000, *LONG_SUMS[0][1])
    monkeypatch.setattr(
        "gradcli.query.programs.run_statement", lambda *arguments: pytest.fail("the ordinary way")
    )
    assert len(gradcli.evaluate(text, at=names, check=False, formula=False).grad or ()) == 501


@pytest.mark.parametrize(
    "last",
    [
        pytest.param("+ x1/(x1 - x1)", marks=pytest.mark.ci), "+ missing", "+ (x1", "- x1 > 3", "if x1 > 2 else x3", "; x1", "# () + "
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
        assert fast.error.render() == plain.error.render()
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


@pytest.mark.parametrize("line", thinned(pytest.param(line, id=repr(line)) for line in OF_ANY_FORM))
def test_bindings_of_any_form_have_the_records_of_the_ordinary_way(line: str) -> None:
    lines = [*bindings(line), "t3*x\n", "a0*b0\n"]
    ((fast, said), (plain, told)) = both(lines)
    agree(fast, plain)
    assert said == told
    for one, other in zip(fast, plain, strict=True):
        if one.error is not None:
            assert other.error is not None
            assert one.error.render() == other.error.render()


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
        assert found[0].error.code == "limit"
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
