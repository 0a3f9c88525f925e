"""NumPy scalars take shorter ways than arrays do: to the same bits."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from helpers import thinned

from gradcli.data import plain
from gradcli.graph.sweep import scale_guarded
from gradcli.language.run import Program, statements
from gradcli.language.scope import Scope
from gradcli.language.syntax import Statement
from gradcli.ops.elementwise.arithmetic import chain
from gradcli.ops.elementwise.exponential import pow_
from gradcli.ops.elementwise.logic import where
from gradcli.ops.registry import registry
from gradcli.ops.spec import Op

RANDOM = np.random.default_rng(5)
SPECIAL = [
    0.0, 1.0, 0.5, 2.0, 3.0, 1e-320, 2.3e-308, 1e-155, 1e154, 1.4e154, 1.7e308, 9007199254740993.0, math.inf, math.nan,
]  # fmt: skip
SPREAD = RANDOM.standard_normal(60) * 10.0 ** RANDOM.uniform(-300, 300, 60)
POINTS = [*SPECIAL, *(-x for x in SPECIAL), *RANDOM.standard_normal(60), *SPREAD]
WITH_A_SHORT_WAY = [
    op
    for op in registry().values()
    if op.operator is not None and op.elementwise and op is not pow_
]


def same(found: object, expected: object) -> bool:
    """Of one type, and equal to the sign of zero; NaNs are all alike."""
    if type(found) is not type(expected):
        return False
    bits = np.asarray(found), np.asarray(expected)
    return np.array_equal(*bits, equal_nan=bits[0].dtype.kind == "f") and (
        bool(np.isnan(bits[0])) or bits[0].tobytes() == bits[1].tobytes()
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("op", thinned(pytest.param(op, id=op.name) for op in WITH_A_SHORT_WAY))
def test_operators_give_what_ufuncs_give(op: Op, dtype: type):
    with np.errstate(all="ignore"):
        for values in itertools.product(map(dtype, POINTS), repeat=len(op.operands)):
            assert same(op.operator(*values), op.forward(*values)), (op.name, values)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_powers_of_numbers_are_those_of_c_to_an_ulp_of_those_of_arrays(dtype: type):
    with np.errstate(all="ignore"):
        for x, y in itertools.product(map(dtype, POINTS), repeat=2):
            if y == 0.5 and x <= 0:
                continue  # where NumPy takes the root, of -0.0 and -inf
            found, expected = pow_.operator(x, y), pow_.forward(x, y)
            if np.isfinite(found) and found and np.isfinite(expected) and expected:
                assert abs(found - expected) <= 2 * np.spacing(abs(expected)), (x, y)
            else:
                assert same(found, expected), (x, y)
            if dtype is np.float64 and not math.isnan(x * y):
                try:
                    assert same(float(found), math.pow(x, y)), (x, y)
                except (OverflowError, ValueError):  # where Python raises, C has an infinity or NaN
                    assert not math.isfinite(found), (x, y)


@pytest.mark.parametrize("first", [np.float64, np.float32, float], ids=lambda t: t.__name__)
def test_factors_and_choices_are_those_of_arrays(first: type):
    """``guarded`` and ``where`` on scalars, beside what one-entry arrays give."""
    with np.errstate(all="ignore"):
        for x, y in itertools.product(POINTS[:60], repeat=2):
            a, b = first(x), np.float64(y)
            if first is not float:
                assert same(np.asarray(scale_guarded(a, b)), np.asarray(chain(a, b))), (a, b)
            for condition in (np.True_, np.False_):
                assert same(where(condition, a, b), np.where([condition], a, b)[0]), (a, b)


def test_a_scalar_is_printed_as_an_array_of_one_entry_is():
    for value in POINTS:
        assert [plain(np.float64(value))] == plain(np.array([value]))


def test_a_file_of_queries_takes_the_memory_of_one():
    scope = Scope()
    scope.bind_value("x", np.asarray(2.0))
    program = Program(scope)
    sizes = set()
    for i, statement in enumerate(
        statements(["y = x**2\n", *(f"sin(x*{n}.5) + y\n" for n in range(1, 50))])
    ):
        assert isinstance(statement, Statement)
        program.execute(statement)
        if i:
            sizes.add((len(scope.lowered), scope.graph.mark()))
    assert len(sizes) == 1
    program.end()
    assert scope.graph.mark() == (0, 1), "the leaf is left"


def test_a_result_does_not_depend_on_the_lines_before(evaluate_all, evaluate_last):
    """A sum of three contributions depends on their order in the last digit, and the order on what
    is made first.
    """
    text = "tanh(x*x) + 1*x"
    before = "".join(f"1*x + {i}\nx*x*{i} + tanh(x)\n" for i in range(3))
    assert evaluate_all(before + text, x=1.5)[-1].grad == evaluate_last(text, x=1.5).grad


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("x; y = x + 1; y*2; y*3", [2, 6, 9]),
        ("x*x; y = x*x; x*x + y; grad(x*x + y, y)", [4, 8, 1]),
        ("f(t) = t*t; f(x); y = f(x); f(y) + f(x)", [4, 20]),
        ("x/0; y = x; y + x", [math.inf, 4]),
        ("g(3); y = g(4); x*2; y; z = x*3; z", ["error", "error", 4, "error", 6]),
    ],
)
def test_queries_and_bindings_in_turn(evaluate_all, text, values):
    found = [
        "error" if record.error else float(record.value) for record in evaluate_all(text, x=2.0)
    ]
    assert found == values
