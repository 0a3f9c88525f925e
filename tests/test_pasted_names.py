"""Names of pasted code that stand for several results, conversions that stop gradients, and names
that are out of the language.
"""

from __future__ import annotations

import numpy as np
import pytest

import gradcli
from gradcli.errors import GradcliError

STOPS = (
    "'{}' stops gradients here, as in PyTorch; in NumPy's code, which '# dialect: numpy' "
    "says, it does not"
)


@pytest.mark.parametrize(
    ("program", "written", "grad"),
    [
        ("x.sum().item()*x[1]", ".item()", [0, 6]),
        ("n = x.sum().item(); n*x[1]", ".item()", [0, 6]),
        ("float(x.sum())*x[1]", "float(...)", [0, 6]),
        ("import torch; x.sum().item()*x[1]", None, [0, 6]),
        ("import numpy as np; x.sum().item()*x[1]", None, [4, 10]),
        ("x.float().sum()*x[1]", None, [4, 10]),
        ("n = x.sum().item(); x[1]*x[0]", None, [4, 2]),  # nothing depends on n
    ],
)
def test_where_nothing_says_whose_code_it_is_a_number_taken_out_of_the_graph_says_so(
    program: str, written: str | None, grad: list[int]
) -> None:
    record = gradcli.evaluate(program, at={"x": [2.0, 4.0]}, check=False)
    assert [w for w in record.warnings if "stops gradients here" in w] == (
        [] if written is None else [STOPS.format(written)]
    )
    assert record.grad is not None
    np.testing.assert_array_equal(record.grad["x"], grad)


@pytest.mark.parametrize(
    ("program", "value", "grad"),
    [
        ("y = x.unbind(0); y[0]*y[1]", 8, [4, 2]),
        (
            "y = x.unbind(0); x = y[0]*3; x",
            6,
            [3, 0],
        ),  # what is made of x goes on, though x has a value from outside
        ("a = (x[0], 2*x[1]); b, c = a; b*c", 16, [8, 4]),
        ("shape = (2, 2); sum(x*ones(shape))", 12, [2, 2]),
        ("import torch; r = x.max(dim=0); r.values*r.indices", 4, [0, 1]),
        ("import torch; assert x.shape == (2,); x.prod()", 8, [4, 2]),
        ("from scipy.stats import norm; d = norm(x[0], 1.0); x = x.sum()*d.mean(); x", 12, [8, 2]),
    ],
)
def test_a_name_stands_for_several_results(program: str, value: float, grad: list[float]) -> None:
    record = gradcli.evaluate(program, at={"x": [2.0, 4.0]}, check=False)
    assert float(np.asarray(record.value)) == value
    assert record.grad is not None
    np.testing.assert_array_equal(record.grad["x"], grad)


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (
            "y = x.unbind(0)\ny*2",
            "error[type]: a tuple where a number or an array is wanted\n  --> <expression>:2:1\n2 "
            "| y*2\n  | ^\n"
            "  = help: write [x, y] for an array; a comma is never a decimal point",
        ),
        (
            "p = (2.5, 3)\np[0]",
            "error[type]: a tuple where a number or an array is wanted\n  --> <expression>:1:5\n1 "
            "| p = (2.5, 3)\n  |     ^^^^^^^^\n"
            "  = help: write [x, y] for an array; a comma is never a decimal point",
        ),
        (
            "jax.grad(jnp.sum)(x)",
            "error[unknown-name]: 'jax.grad' is not in the language\n"
            "  --> <expression>:1:1\n1 | jax.grad(jnp.sum)(x)\n  | ^^^^^^^^\n  = help: write "
            "grad(y, x) for the derivative of y by x",
        ),
        (
            "from jax import jit\nx",
            "error[unknown-name]: 'jax.jit' is not in the language\n"
            "  --> <expression>:1:17\n1 | from jax import jit\n  |                 ^^^\n"
            "  = help: leave it out: functions work on all entries at once",
        ),
        (
            "np.fft.fft(x)",
            "error[unknown-name]: 'numpy.fft.fft' is not in the language, which has no complex "
            "numbers\n"
            "  --> <expression>:1:1\n1 | np.fft.fft(x)\n  | ^^^^^^^^^^\n"
            "  = help: write sum(x*cos(w*t)) and sum(x*sin(w*t)) for its two parts",
        ),
        (
            "np.unique(x)",
            "error[unknown-name]: 'numpy.unique' is not in the language\n"
            "  --> <expression>:1:1\n1 | np.unique(x)\n  | ^^^^^^^^^\n  = help: write sort(x)",
        ),
        (
            "np.partition(x, 1)",
            "error[unknown-name]: 'numpy.partition' is not in the language\n"
            "  --> <expression>:1:1\n1 | np.partition(x, 1)\n  | ^^^^^^^^^^^^\n  = help: write "
            "sort(x)",
        ),
    ],
)
def test_what_is_said_of_names_that_are_out_of_the_language(program: str, text: str) -> None:
    with pytest.raises(GradcliError) as caught:
        gradcli.evaluate(program, at={"x": [2.0, 4.0]})
    assert str(caught.value) == text
