"""Names of pasted code that stand for several results, conversions that stop gradients, and names
that are out of the language.
"""

from __future__ import annotations

import numpy as np
import pytest
from recorded import over

import gradcli
from gradcli import GradcliError

STOPS = (
    "'{}' stops gradients here, as in PyTorch; in NumPy's code, which '# dialect: numpy' "
    "says, it does not"
)


@over("pasted", "taken out", "program", "written", "grad")
def test_where_nothing_says_whose_code_it_is_a_number_taken_out_of_the_graph_says_so(
    program: str, written: str | None, grad: list[int]
) -> None:
    record = gradcli.evaluate(program, at={"x": [2.0, 4.0]}, check=False)
    assert [w for w in record.warnings if "stops gradients here" in w] == (
        [] if written is None else [STOPS.format(written)]
    )
    assert record.grad is not None
    np.testing.assert_array_equal(record.grad["x"], grad)


@over("pasted", "several results", "program", "value", "grad")
def test_a_name_stands_for_several_results(program: str, value: float, grad: list[float]) -> None:
    record = gradcli.evaluate(program, at={"x": [2.0, 4.0]}, check=False)
    assert float(np.asarray(record.value)) == value
    assert record.grad is not None
    np.testing.assert_array_equal(record.grad["x"], grad)


@over("pasted", "names out of the language", "program", "text")
def test_what_is_said_of_names_that_are_out_of_the_language(program: str, text: str) -> None:
    with pytest.raises(GradcliError) as caught:
        gradcli.evaluate(program, at={"x": [2.0, 4.0]})
    assert str(caught.value) == text
