"""How operations on tensors run, whatever they compute:

NumPy's warnings, operations inside of others, forms of calls.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from checking import planted

import gradcli as torch
from gradcli.tensors.core.trace import NOT_KEPT

Q = torch.tensor([1.0, 0.0, 1e300], dtype=torch.float64, requires_grad=True)


def test_numpy_neither_warns_nor_raises_and_keeps_its_settings() -> None:
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        before = np.geterr()
        result = (Q / 0 + Q * Q * Q).log().sum()
        with pytest.warns(RuntimeWarning, match="a zero gradient meets"):  # it is our own
            result.backward()
        assert np.geterr() == before
        with pytest.raises(FloatingPointError):
            np.divide(np.ones(1), 0.0)
    assert result.isnan()


def test_a_zero_gradient_that_meets_an_infinite_derivative_is_told() -> None:
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    with pytest.warns(RuntimeWarning, match="SqrtBackward0: a zero gradient meets"):
        (torch.sqrt(x) ** 2).sum().backward()
    with (
        pytest.warns(UserWarning, match="Error detected in SqrtBackward0"),
        pytest.raises(RuntimeError, match="SqrtBackward0: a zero gradient meets"),
        torch.autograd.detect_anomaly(),
    ):
        (torch.sqrt(x) ** 2).sum().backward()


def test_an_operation_may_run_inside_of_another() -> None:
    """As in a finalizer or a debugger."""
    inner: list[Any] = []

    def forward(before: Any) -> Any:
        def run(x: Any) -> Any:
            inner.append((torch.ones(2) * 2).tolist())
            return before(x)

        return run

    with planted("tanh", forward=forward):
        assert torch.tanh(torch.zeros(2)).tolist() == [0.0, 0.0]
    assert inner == [[2.0, 2.0]]


def test_what_is_kept_of_a_result_does_not_change_with_an_operand() -> None:
    """An operation that gives its operand back has a result with memory of its own, and so has what
    backward reads.
    """

    def forward(before: Any) -> Any:
        return lambda x, axis: x

    with planted("softmax", forward=forward):
        x = torch.tensor([0.5, 0.25], requires_grad=True)
        y = x.softmax(0)
        with torch.no_grad():
            x.add_(1.0)
        y[0].backward()
    assert y.tolist() == [0.5, 0.25]
    assert x.grad.tolist() == [0.25, -0.125]


def test_a_rule_that_reads_what_is_not_kept_fails() -> None:
    with pytest.raises(TypeError):
        NOT_KEPT * 2  # type: ignore[operator]
    assert (Q + Q).grad_fn.saved == [NOT_KEPT] * 3
    assert repr(NOT_KEPT) == "NOT_KEPT"


def test_calls_of_a_form_that_is_known_have_the_same_graph() -> None:
    """The first call is recorded step by step; those that follow compute with arrays, and have a
    node for each step, too.
    """
    slopes, seconds = [], []
    for _ in range(3):
        x = torch.tensor([[0.5, 2.0, -1.0]], dtype=torch.float64, requires_grad=True)
        y = torch.nn.functional.layer_norm(x, (3,))
        (slope,) = torch.autograd.grad((y**3).sum(), x, retain_graph=True)
        (again,) = torch.autograd.grad((y**3).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad((again**2).sum(), x)
        assert torch.equal(slope, again)
        slopes.append(slope.tolist())
        seconds.append(second.tolist())
    assert slopes[0] == slopes[1] == slopes[2]
    assert seconds[0] == seconds[1] == seconds[2]
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.sum().backward()
    y = torch.nn.functional.group_norm(x, 1)
    assert y.grad_fn.next_functions[0][0].next_functions  # the steps


@pytest.mark.parametrize(
    ("name", "shape", "channels"),
    [
        ("dropout1d", (40, 2), 1), ("dropout1d", (8, 5, 2), 2), ("dropout2d", (8, 5, 2), 2),
        ("dropout2d", (8, 5, 2, 2), 2), ("dropout3d", (8, 5), 2), ("dropout3d", (40, 2, 2, 2), 1), ("dropout3d", (8, 5, 2, 2, 2), 2),
    ],
)  # fmt: skip
def test_channels_are_dropped_as_a_whole(name: str, shape: tuple[int, ...], channels: int) -> None:
    torch.manual_seed(3)
    found = getattr(torch.nn.functional, name)(torch.ones(shape), 0.5)
    assert found.shape == shape
    rows = [
        row if type(row) is list else [row]
        for row in found.reshape(*shape[:channels], -1).flatten(0, channels - 1).tolist()
    ]
    assert {len(set(row)) for row in rows} == {1}
    assert {row[0] for row in rows} == {0.0, 2.0}
