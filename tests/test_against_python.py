"""The parser against Python's, and values and gradients against NumPy's, on random programs that
both can read.

What is compared is made by another program: Python's `ast`, NumPy's arrays, and differences of
NumPy's values (`witness/`). So an index off by one, an axis, an operand, a constant or a seed read
wrongly is seen here, though the verdict, which starts at the same graph, agrees.
"""

from __future__ import annotations

import itertools
import re
from random import Random

import pytest
from helpers import thinned
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from witness import BITS, LINES
from witness.comparison import (
    bits_differ,
    compiled_differs,
    epsilon_differs,
    numbers_differ,
    queries_differ,
    random_program,
    refused,
    tree_differs,
    writes_differ,
)
from witness.numpy_values import Unusable
from witness.programs import values_of

from gradcli import GradcliError

RANDOMS = st.randoms(use_true_random=False)
# What Python reads and the language does not, with what it says instead.
REFUSED = {
    r"'(or|and)' is of conditions": "Python gives one of two numbers",
    r"'not' is of conditions": "Python asks whether a number is 0",
    r"^axis must be a whole number, not None": "sort, cumsum and their like of all entries, in a "
    "row",
    r"^'(sum|min|max)\(\)' of an array of \d axes has two readings": "Python's is over the rows",
    r"^einsum: ('ij' does not name the 1 axes|1 terms in)": "a list is einsum's list of operands, "
    "as in PyTorch",
}


def steady(examples: int) -> settings:
    """The same examples in every run, without a clock."""
    return settings(
        deadline=None, derandomize=True, max_examples=examples, database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )  # fmt: skip


@given(RANDOMS)
@steady(150)
def test_tree_is_that_of_python(random: Random) -> None:
    text = random_program(random, 5, None)
    assert (wrong := tree_differs(text)) is None, wrong


INFIX = ["+", "-", "*", "/", "//", "%", "@", "**", "<", "==", "and", "or"]
SIGNS = ["{}", "-{}", "+{}", "not {}", "--{}"]


@pytest.mark.parametrize("first", thinned(INFIX))
def test_every_pair_of_operators_binds_as_in_python(first: str) -> None:
    read = 0
    for second, *signs in itertools.product(INFIX, SIGNS, SIGNS, SIGNS):
        a, b, c = (
            sign.format(name) for sign, name in zip(signs, ["a", "b.c[0]", "f(2)"], strict=True)
        )
        for text in (
            f"{a} {first} {b} {second} {c}",
            f"{a} if {b} {first} {c} else {a}{second} {b}",
        ):
            try:
                wrong = tree_differs(text)
            except (SyntaxError, TypeError):  # TypeError: a chain of comparisons, which is refused
                continue
            assert wrong is None, wrong
            read += 1
    assert read > 500


SPELLED = [
    "1_000", ".5", "5.", "1e5", "1E+5", "1e-05", "0.", "00.5", "0e0", "1_0.0_1e1_0", "123456789012345678901234567890", "1e300", "None",
    "True", "x[1:2, ::3]", "x[::-1]", "x[:]", "x[:, None]", "x[..., 0]", "x[-1:]", "x[:-1]", "x[a:b:c]", "x[(0, 1)]", "x[0,]",
    "x[[0, 1], :]", "x[x > 0]", "x[1:2][3]", "x[i + 1:2*j]", "f()", "f(a, b,)", "f(a, k=1, m=(0, "
    "1))", "f(axis=-1)", "a.b.c(d).e",
    "(a).T", "-a.T**2", "(a, b)", "(a,)", "()", "[a, b]", "[]", "[[a], [b,]]", "f('ij,jk->ik', a)", "(((a)))", "2**-1", "-2**-2**-x",
    "a if b else c if d else e", "(a if b else c) if d else e", "f(a if b else c, k=d or e)", "x[a if b else c]", "a = b\nc = a*2; c + 1",
    "a = 1\na += b*c\na", "a # b\nc", "f(a,\n  b)\n", "α + β_1",
]  # fmt: skip


@pytest.mark.parametrize("text", SPELLED)
def test_spelling_is_read_as_python_reads_it(text: str) -> None:
    assert (wrong := tree_differs(text)) is None, wrong


@given(RANDOMS, st.integers(0, 7))
@steady(100)
@pytest.mark.ci
def test_value_and_gradient_are_those_of_numpy(random: Random, number: int) -> None:
    text = random_program(random, 4, number)
    try:
        wrong = numbers_differ(text, values_of(number), number)
    except GradcliError as error:
        known = any(re.search(message, error.message) for message in REFUSED)
        wrong = None if known else refused(text, error)
    except Unusable:
        assume(False)
    assert wrong is None, wrong


@pytest.mark.parametrize("text", LINES)
def test_line_is_worth_what_numpy_says(text: str) -> None:
    assert (wrong := numbers_differ(text, values_of(3), 3)) is None, wrong


@pytest.mark.parametrize("text", LINES)
def test_compiled_line_is_worth_what_numpy_says(text: str) -> None:
    assert (wrong := compiled_differs(text, values_of(3), 3)) is None, wrong


def test_queries_of_one_form_are_each_worth_what_numpy_says() -> None:
    assert (wrong := queries_differ()) is None, wrong


@pytest.mark.parametrize("text", BITS)
def test_every_bit_is_that_of_numpy(text: str) -> None:
    values = {
        name: value for name, value in values_of(3).items() if re.search(rf"\b{name}\b", text)
    }
    assert (wrong := bits_differ(text, values)) is None, wrong


def test_small_numbers_are_normalized_as_numpy_says() -> None:
    assert (wrong := epsilon_differs()) is None, wrong


def test_entries_written_into_tensors_are_worth_what_numpy_says() -> None:
    assert (wrong := writes_differ()) is None, wrong


REACHED = {
    "a negative index": r"\[[^\]]*-\d", "a negative step": r"::-\d", "None in an index": r"\[[^\]]*None", "an ellipsis": r"\[\.\.\.",
    "a list of indices": r"\w\[\[", "a mask": r"\w\[\w+ [<>]", "a negative axis": r"axis=-\d", "axes": r"axis=\(",
    "keepdims": "keepdims=True", "a method": r"\)\.\w+\(", ".T": r"\.T", "@": "@", "//": "//", "%": "%", "**": r"\*\*",
    "a condition": " if ", "and": " and ", "not": "not ", "pi": "pi", "e": r"\be\b", "a list": r"[^\w]\[", "bindings": "a0 =",
    "a change in place": "a0 .= ", "a prefix": r"np\.", "a shape": r"\.shape\[",
}  # fmt: skip


@pytest.mark.ci
def test_nearly_all_programs_are_compared_and_all_forms_are_reached() -> None:
    compared = []
    for number in range(300):
        text = random_program(Random(number), 4, 0)
        try:
            wrong = numbers_differ(text, values_of(0), number)
        except (GradcliError, Unusable):
            continue
        assert wrong is None, wrong
        compared.append(text)
    assert len(compared) > 280, f"only {len(compared)} of 300 programs have numbers to compare"
    missing = [
        form
        for form, pattern in REACHED.items()
        if sum(bool(re.search(pattern, text)) for text in compared) < 3
    ]
    assert not missing, f"no random program has {', '.join(missing)}"
