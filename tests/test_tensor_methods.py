"""Methods of tensors, and nodes of leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcli as torch
from gradcli.tensors.core.node import AccumulateGrad, Node

DOUBLE = torch.float64


def leaf(*shape: int, dtype: Any = DOUBLE, requires_grad: bool = True) -> Any:
    entries = np.linspace(0.2, 0.7, int(np.prod(shape))).reshape(shape) + (np.eye(*shape) if len(shape) == 2 else 0.0)
    return torch.tensor(entries, dtype=dtype, requires_grad=requires_grad)


def test_anomalies_are_shown_where_they_were_made() -> None:
    """NaN on the way back; what is not finite forwards is let pass, as in PyTorch."""
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        anomalies = torch.autograd.detect_anomaly()
    with anomalies:
        y = ((leaf(2, 2) * 0.0).log() * 2.0).sum()
    seed = torch.tensor(float("nan"), dtype=y.dtype)
    with (
        anomalies,
        pytest.warns(UserWarning, match=r"Error detected in SumBackward0. Traceback of forward call(.|\n)*\.log\(\)"),
        pytest.raises(RuntimeError, match=r"'SumBackward0' returned nan values in its 0th output. Element \[0, 0\]"),
    ):
        y.backward(seed)


def test_a_leaf_has_one_node_while_a_graph_holds_it() -> None:
    x = leaf(2)
    y, z = x * 2.0, x.exp()
    (first,), (second,) = ([o for o in t.node.operands if o is not None] for t in (y, z))
    assert first is second is x.gradient_node()
    assert isinstance(first, AccumulateGrad)
    assert isinstance(first, Node)
    assert first.variable is x


def test_methods_are_found_on_the_class() -> None:
    x = torch.tensor([0.5, 1.0])
    assert torch.Tensor.exp(x).tolist() == x.exp().tolist()
    assert [*map(torch.Tensor.sum, [x, x])] == [1.5, 1.5]
    assert {"exp", "exp_", "cumsum", "logsumexp"} <= set(dir(x))
    with pytest.raises(AttributeError, match=r"^'Tensor' object has no attribute 'bogus'$"):
        _ = x.bogus


def test_a_subclass_calls_the_method_that_it_overrides() -> None:
    calls = []

    class Own(torch.Tensor):
        def erfcx(self) -> Any:
            calls.append("own")
            return super().erfcx()

    assert Own(np.zeros(2)).erfcx().tolist() == [1.0, 1.0]
    assert calls == ["own"]
