"""Programs: results and errors in order, random numbers, what a statement costs. Their values,
gradients and refusals are data (`test_evaluations.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcli import GradcliError
from gradcli.language import calls
from gradcli.language.lowering import Lowering
from gradcli.language.run import Program
from gradcli.language.scope import Scope
from gradcli.ops.calling.prefixes import NUMPY, TORCH
from gradcli.options import Options
from gradcli.query.programs import Script, records


def test_results_come_in_order_and_an_error_takes_its_place(evaluate_all):
    records = evaluate_all("x + 1\nx +\n# comment\nx + 2; y; x + 3\n", x=1)
    found = [
        (*r.error.place()[:2], r.error.code) if r.error else (r.line, r.column, float(r.value))
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


def test_random_numbers_are_reproducible_and_one_stream(evaluate_all):
    first, second = (r.value for r in evaluate_all("rand(3)\nrand(3)"))
    again, _ = (r.value for r in evaluate_all("rand(3)\nrand(3)"))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, second)
    assert ((first >= 0) & (first < 1)).all()


def test_float32(evaluate_last):
    record = evaluate_last("x/3", x=1, dtype="float32")
    assert record.dtype == "float32"
    assert record.value == np.float32(1) / np.float32(3)
    assert record.grad["x"].dtype == np.float32


def test_a_failed_binding_is_named_where_it_is_used(evaluate_all):
    first, second = evaluate_all("q = sqr(2)\nq + 1")
    assert (first.error.code, first.error.place()[0]) == ("unknown-name", 1)
    assert (second.error.code, second.error.place()[0]) == ("missing-value", 2)
    assert "line 1" in second.error.message


@pytest.mark.parametrize("value", [1.5, 3, True, np.eye(2), np.array([True, False])], ids=str)
def test_functions_of_one_array_are_the_operations_that_their_calls_make(value: Any) -> None:
    scope = Scope()
    x = scope.bind_value("x", value)
    lowering = Lowering(scope)
    found = {name: op for name in calls.all_names() if (op := calls.operation(name)) is not None}
    assert {"exp", "abs", "arcsin", "expit"} <= set(found)
    assert not {"sum", "softplus", "max", "atan2", "f", "round", "grad"} & set(found)
    for name, op in found.items():
        library = NUMPY if calls.exists(name, NUMPY) else TORCH
        try:
            node = calls.call(lowering, name, library, [x], {}, bare=True)
        except GradcliError as error:
            with pytest.raises(type(error)):
                scope.graph.apply(op, [x])
        else:
            assert scope.graph.apply(op, [x]) is node, name
