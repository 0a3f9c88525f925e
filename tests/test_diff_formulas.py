"""Derivatives as formulas are those of the books: each is held against one written by hand, in
multi-precision numbers.
"""

from __future__ import annotations

import random
import time
from functools import reduce
from itertools import permutations
from operator import getitem
from typing import Any

import pytest
import sympy
from helpers import thinned
from recorded import read_lines

import gradcli

# Expressions with their derivatives as a textbook has them, in sympy's words.
BOOK = read_lines("derivatives_of_books.jsonl")

OURS = {
    "e": sympy.E, "pi": sympy.pi, "gamma": sympy.gamma, "digamma": sympy.digamma, "erf": sympy.erf,
    "log2": lambda x: sympy.log(x) / sympy.log(2), "log10": lambda x: sympy.log(x) / sympy.log(10),
    "where": lambda condition, x, y: sympy.Piecewise((x, condition), (y, True)),
}  # fmt: skip


def same(printed: str, wanted: str) -> None:
    """Both have the same values in 30 digits, wherever the book's derivative is real."""
    ours, book = (sympy.sympify(text.replace("^", "**"), locals=OURS) for text in (printed, wanted))
    names = sorted(ours.free_symbols | book.free_symbols, key=str)
    compared = 0
    chance = random.Random(5)
    for _ in range(40):
        point = {name: sympy.Float(repr(chance.uniform(-2, 6)), 40) for name in names}
        x, y = (sympy.N(side.subs(point), 40) for side in (ours, book))
        if not (x.is_real and y.is_real):
            continue
        compared += 1
        assert abs(x - y) <= 1e-25 * (1 + abs(y)), (
            f"{printed} is {x} at {point}, the book's {wanted} is {y}"
        )
    assert compared >= 2, f"{printed} and {wanted} are nowhere real together"


FIRST = [case for case in BOOK if case.keys() == {"text", "derivative"}]
OTHERS = [case for case in BOOK if case not in FIRST]


@pytest.mark.parametrize("case", [*thinned(FIRST, every=6), *OTHERS], ids=lambda case: case["text"])
def test_derivatives_of_books(case: dict[str, Any]) -> None:
    """By the names that are listed, of an order: each mixed one in any order of its names."""
    record = gradcli.differentiate(case["text"], *case.get("names", ()), order=case.get("order", 1))
    wanted = case["derivative"]
    assert record.derivative is not None
    if "order" not in case:
        assert list(record.derivative) == list(wanted)
    for names, book in wanted.items():
        found = {reduce(getitem, order, record.derivative) for order in permutations(names.split())}
        (formula,) = found
        same(formula.replace("beta", "b"), book)
    assert record.verdict == ("agree" if wanted else None)


def test_names_with_values_are_constants() -> None:
    record = gradcli.differentiate("a*sum(w*x^2)", at={"a": 3.0, "w": [1.0, 2.0, 4.0]})
    assert record.derivative is not None
    assert list(record.derivative) == ["x"]
    printed = gradcli.evaluate(
        record.derivative["x"], at={"a": 3.0, "w": [1.0, 2.0, 4.0], "x": 0.5}
    )
    assert printed.value == 2 * 3 * 7 * 0.5
    assert record.verdict == "agree"


def test_entries_of_arrays_have_one_formula() -> None:
    record = gradcli.differentiate("w*x^2", "x", "w", at={"w": [1.0, 2.0, 4.0]})
    assert record.derivative == {"x": "2*w*x", "w": "x**2"}
    assert record.verdict == "agree"


def test_formulas_take_milliseconds() -> None:
    cases = [case for case in FIRST if case["derivative"]]
    gradcli.differentiate("sin(x)*exp(x)", check=False)
    started = time.process_time()
    for case in cases:
        gradcli.differentiate(case["text"], check=False)
    count = sum(len(case["derivative"]) for case in cases)
    assert (time.process_time() - started) / count < 0.05, (
        "a formula takes more than 50 ms on average"
    )
