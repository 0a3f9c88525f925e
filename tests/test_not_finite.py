"""What is said where values and derivatives are not finite: at the entries and by the operations
that they have it from.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcli

TRAP = (
    "it multiplies zero by what is not finite. The usual repair masks the input as well: "
    "sqrt(where(x > 0, x, 1))"
)
NOTES: dict[str, Any] = {
    "two faults at one entry": (
        "(torch.sqrt(x)*torch.log(y)).sum() + (x/y).sum()", {"x": [1.0, 0, 4], "y": [1.0, 0, 2]},
        [
            "'torch.log(y)' is -inf at index [1]", "'(torch.sqrt(x)*torch.log(y))' is nan at "
            "index [1]: 0.0*(-inf)",
            "'(x/y)' is nan at index [1]: 0.0/0.0", f"PyTorch gives nan for y[1]: at '(x/y)' {TRAP}",
        ],
        {"x": ((1,), "div at 0.0, 0.0 is not finite"), "y": ((1,), "log at 0.0 is not finite")},
    ),
    "a branch that is not taken": (
        "sum(where(x > 0, log(x), 1) + 1/y)", {"x": [-1.0, 2], "y": [1.0, 0]}, ["'1/y' is inf at "
        "index [1]: 1.0/0.0"],
        {"y": ((1,), "div at 1.0, 0.0 is not finite")},
    ),
    "overflow": ("exp(x) - exp(x)", {"x": 1000.0}, ["'exp(x)' is inf", "'exp(x) - exp(x)' is nan: "
    "inf - inf", f"PyTorch gives nan for x: at 'exp(x)' {TRAP}"], {}),
    "a negative exponent": ("sum(x**y)", {"x": [2.0, 0], "y": [1.0, -1]}, ["'x**y' is inf at "
    "index [1]: 0.0**(-1.0)"], {}),
    "spread": ("sum(x/y)", {"x": [[1.0, 2], [3, 4]], "y": [1.0, 0]}, ["'x/y' is inf at index [0, "
    "1]: 2.0/0.0"],
               {"x": ((0, 1), "div at 2.0, 0.0 is not finite"), "y": ((1,), "div at 2.0, 0.0 is "
               "not finite")}),
    "given": ("sum(x)*0", {"x": [np.inf, 1]}, ["a value that was given is not finite", "'sum(x)*0' is nan: inf*0.0"], {}),
    "a root at its edge": ("sum(sqrt(x))", {"x": [4.0, 0]}, [], {"x": ((1,), "the derivative of "
    "sqrt at 0.0 is not finite")}),
}  # fmt: skip


@pytest.mark.parametrize("case", NOTES)
def test_the_guilty_entries_are_named(case: str) -> None:
    text, values, notes, entries = NOTES[case]
    record = gradcli.evaluate(
        text, at={name: np.array(value, float)[()] for name, value in values.items()}
    )
    assert record.warnings == notes
    assert record.check is not None
    for name, told in entries.items():
        part = record.check.variables[name]
        assert part.worst is not None
        assert (part.worst.index, part.reason) == told


TOO_LARGE = {"log(x/1e200)*1e-5": (1e-200, "inf"), "1/(x/1e200)": (800.0, "-inf")}


@pytest.mark.parametrize("text", TOO_LARGE)
def test_an_adjoint_too_large_for_floats_is_told_as_it_is(text: str) -> None:
    value, said = TOO_LARGE[text]
    check = gradcli.evaluate(text, x=value).check
    if check is None or check.departs is None:
        pytest.fail(f"nothing departs in {text}")
    assert f"is {said}, true " in check.departs.text
    assert "true inf" not in check.departs.text
    assert "too large for floats: made by" in check.departs.text


def cube(wrong: Any) -> Any:
    """x**3 entry by entry, with the backward pass that is given."""

    class Cube(gradcli.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, cotangent: Any) -> Any:
            (x,) = ctx.saved_tensors
            return cotangent * wrong(x)

    return Cube.apply


MESSAGES = {  # the Jacobian of x**3 at [1, 2] is diag(3, 12)
    "everywhere": (
        lambda x: 2 * x**2,
        "output entry [0], input entry [0]: 2.0 where the derivative is 3.0 (exactly)",
    ),
    "in one entry": (
        lambda x: 3 * x**2 + (x > 1.5),
        "output entry [1], input entry [1]: 13.0 where the derivative is 12.0 (exactly)",
    ),
}


@pytest.mark.parametrize("mistake", MESSAGES)
def test_gradcheck_names_an_entry_of_the_jacobian(mistake: str) -> None:
    wrong, message = MESSAGES[mistake]
    x = gradcli.tensor([1.0, 2.0], dtype=gradcli.float64, requires_grad=True)
    with pytest.raises(RuntimeError) as raised:
        gradcli.autograd.gradcheck(cube(wrong), (x,))
    assert str(raised.value) == f"Jacobian mismatch for output 0 with respect to input 0, {message}"


def test_gradcheck_names_an_entry_of_a_scalar_function() -> None:
    x = gradcli.tensor([1.0, 2.0], dtype=gradcli.float64, requires_grad=True)
    with pytest.raises(RuntimeError) as raised:
        gradcli.autograd.gradcheck(
            lambda x: (cube(lambda x: 3 * x**2 + (x > 1.5))(x) * x).sum(), (x,)
        )
    message = (
        "Jacobian mismatch for output 0 with respect to input 0, input entry [1]: 34.0 "
        "where the derivative is 32.0 (exactly)"
    )
    assert str(raised.value) == message


def test_compile_gives_python_functions_back() -> None:
    def f(x: Any) -> Any:
        return x**2

    assert gradcli.compile(f) is f
    assert gradcli.compile(f, fullgraph=True, mode="reduce-overhead") is f
    assert gradcli.compile(mode="default")(f) is f
    assert gradcli.compile("x**2")(x=3.0) == 9.0
    with pytest.raises(TypeError, match="compile has no option 'mdoe'"):
        gradcli.compile(f, mdoe="x")
    with pytest.raises(TypeError, match="compile has no option 'mode'"):
        gradcli.compile("x", mode="x")
    with pytest.raises(gradcli.GradcliError, match="the expression must be text, not int"):
        gradcli.compile(3)
