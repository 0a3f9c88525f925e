"""Textbook notation: what has one reading has that meaning, what has two is refused with both, and
suggestions can be read.
"""

from __future__ import annotations

import math
from random import Random

import pytest
from helpers import thinned
from recorded import read_table
from textbook_refusals import REFUSED
from textbook_texts import READ

import gradcli
from gradcli import AmbiguousError, GradcliError, LimitError
from gradcli.language.spelling import rewritten
from gradcli.language.statements import offers, parse_statements
from gradcli.language.syntax import Query
from gradcli.texts import Source

AT = read_table("textbook_values.json")
_MEANING = {
    **{
        name: getattr(math, name)
        for name in dir(math)
        if name[0] != "_" and name not in ("e", "pi")
    },
    "math": math,
    **AT,
}


def value(text: str) -> gradcli.Record:
    return gradcli.evaluate(text, at=AT, check=False, formula=False)


@pytest.mark.parametrize(("text", "meaning"), READ.items(), ids=READ)
def test_what_has_one_reading_means_that(text, meaning):
    wanted = eval(meaning, {"abs": abs, "max": max}, _MEANING)  # the table's own text
    record = value(text)
    assert float(record.value) == pytest.approx(wanted, rel=1e-12, abs=1e-13), (
        f"{text} was read as {record.read_as}"
    )


@pytest.mark.parametrize("text", [text for text in READ if ";" not in text])
def test_how_it_was_read_can_be_read(text):
    record = value(text)
    if record.read_as is not None:
        again = value(record.read_as)
        assert float(again.value) == pytest.approx(float(record.value), rel=1e-15)
        assert again.read_as is None, "the language's own spelling implies nothing"


@pytest.mark.parametrize("text", REFUSED)
def test_what_has_two_readings_is_refused_with_both(text):
    with pytest.raises(AmbiguousError) as caught:
        value(text)
    readings = offers(caught.value.help)
    assert readings, caught.value.render()
    for reading in readings:
        for statement in parse_statements(Source(reading), 10_000):
            assert not isinstance(statement, GradcliError), (
                f"{text}: the suggestion {reading!r} cannot be read"
            )


# -- names decide
# -------------------------------------------------------------------------------------------------------------


def test_a_compiled_function_reads_a_name_as_it_is_called():
    f = gradcli.value_and_grad("x(x + 1) + y(2)")
    assert f(x=3.0, y=5.0)[0] == 22.0
    assert float(f(x=3.0, y=5.0)[1]["y"]) == 2.0


def test_records_of_one_form_keep_their_readings(evaluate_all):
    """Texts that differ in words alone: a product, a function without brackets, a mask, a call."""
    lines = [
        "a x + 0",
        "ln x + 0",
        "a x + 0",
        "ln x + 0",
        "a x + 0",
        "ln x + 0",
        "a(x) + 0",
        "exp(x) + 0",
        "a(x) + 0",
        "exp(x) + 0",
    ] * 3
    found = evaluate_all("a = 3; x = 2\n" + "\n".join(lines))
    wanted = [{"a": 6.0, "l": math.log(2), "e": math.exp(2)}[line[0]] for line in lines]
    assert [float(record.value) for record in found] == pytest.approx(wanted)


def test_a_bound_function_is_refused_however_often_it_was_met(evaluate_all):
    found = evaluate_all("x = 2\n" + "gamma(x) + 1\n" * 8 + "gamma = 3\n" + "gamma(x) + 1\n")
    assert [record.error is None for record in found] == [True] * 8 + [False]


NOTES = {
    "x^1/2": "x^1/2 is x/2: write x^(1/2) for the root",
    "e = 3; 2e2x": "2e2 is a number here; with e: 2*e*2*x",
    "E x": "E is the number e here, as in sympy; a binding gives it another value",
}


@pytest.mark.parametrize(("text", "note"), NOTES.items(), ids=NOTES)
def test_notes(text, note):
    assert note in value(text).warnings


def test_no_note_without_a_reason():
    assert not any("number here" in warning for warning in value("2e2x").warnings)


# -- suggestions can be read
# ------------------------------------------------------------------------------------------------------


def test_whatever_is_read_is_printed_as_it_was_read():
    """Random texts of the notation: read or refused with suggestions that are input, and printed as
    what is read back the same.
    """
    random, words = Random(24), read_table("textbook_words.json")
    read = 0
    for _ in range(4_000):
        text = "".join(random.choice(words) for _ in range(random.randint(1, 9)))
        for statement in parse_statements(Source(text), 10_000):
            if isinstance(statement, AmbiguousError):
                for suggestion in offers(statement.help or ""):
                    assert not any(
                        isinstance(s, GradcliError)
                        for s in parse_statements(Source(suggestion), 10_000)
                    ), (
                        text,
                        statement.help,
                    )
            elif isinstance(statement, Query):
                read += 1
                shown = rewritten(statement.expression, ())
                (again,) = parse_statements(Source(shown), 10_000)
                assert isinstance(again, Query), (text, shown)
                assert rewritten(again.expression, ()) == shown, text
    assert read > 500


LONG = {
    "products": "x " * 20_000, "functions": "sin x " * 10_000, "bars and names": "x|y|" * 10_000, "roots": "√" * 20_000 + "x",
    "powers": "x^" * 20_000 + "2", "signs": "-" * 20_000 + "x y", "squares": "sin^2 x " * 10_000, "degrees": "x" + "°" * 20_000,
    "negations": "not " * 20_000 + "x", "choices": "1 if x else " * 20_000 + "2", "sums": "x + " * 20_000 + "x",
}  # fmt: skip
DEEP = {
    "functions": ("ln ", "x", ""), "bars": ("|", "x", "|"), "calls": ("x(", "x", ")"), "groups": ("(", "x", ")"),
    "indices": ("x[", "0", "]"), "every rule": ("a or b and not c < d | e & f + g*-h^(", "x", " "
    "if y else z)"),
}  # fmt: skip


@pytest.mark.parametrize(
    "text", thinned(pytest.param(text, id=name) for name, text in LONG.items())
)
def test_no_length_is_too_much(text):
    (statement,) = parse_statements(Source(text), 10_000_000)
    assert isinstance(statement, Query)
    assert rewritten(statement.expression, ())


@pytest.mark.parametrize(
    ("opening", "inner", "closing"),
    thinned(pytest.param(*case, id=name) for name, case in DEEP.items()),
)
def test_depth_is_limited(opening, inner, closing):
    (read,) = parse_statements(Source(opening * 5_000 + inner + closing * 5_000), 10_000_000)
    assert isinstance(read, Query)
    assert rewritten(read.expression, ())
    refused, *_ = parse_statements(Source(opening * 5_001 + inner + closing * 5_001), 10_000_000)
    assert isinstance(refused, LimitError)
    assert "5,000 levels" in refused.message


def test_an_assert_says_how_it_was_read(evaluate_all):
    (record,) = evaluate_all("x = 3\nassert 2x sin x == 2*x*sin(x) and |x| > 0")
    assert record.value is True
    assert record.read_as == "assert 2*x*sin(x) == 2*x*sin(x) and abs(x) > 0"


# Without values: names that stand alone or are listed.
