"""The fast path of applying an operation gives what the slow one gives: value, node, and what the node keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcli as torch
from gradcli.ops.registry import registry
from gradcli.tensors.core.node import AccumulateGrad, Node, Shaped
from gradcli.tensors.dispatch.apply import fast_path, slow_path

FAST = [op for op in registry().values() if fast_path(op) is not None]
DOUBLE = torch.float64


def leaf(*shape: int, dtype: Any = DOUBLE, requires_grad: bool = True) -> Any:
    entries = np.linspace(0.2, 0.7, int(np.prod(shape))).reshape(shape) + (np.eye(*shape) if len(shape) == 2 else 0.0)
    return torch.tensor(entries, dtype=dtype, requires_grad=requires_grad)


def computed() -> Any:
    return leaf(2, 2) * 1.25


def view() -> Any:
    return (leaf(2, 3) * 1.25)[:, 1:]


OPERANDS = {
    "leaf": lambda: leaf(2, 2),
    "constant": lambda: leaf(2, 2, requires_grad=False),
    "computed": computed,
    "view": view,
    "number": leaf,
    "one entry": lambda: leaf(1),
    "empty": lambda: leaf(0, 2),
    "float32": lambda: leaf(2, 2, dtype=torch.float32),
    "whole": lambda: torch.tensor([[1, 2], [3, 4]]),
    "int": lambda: 2,
    "float": lambda: 1.5,
    "bool": lambda: True,
    "array": lambda: np.ones((2, 2)),
}
PAIRS = [
    *[(x, y) for x in ("leaf", "constant", "computed", "view", "number") for y in ("leaf", "computed", "int", "float")],
    ("int", "leaf"), ("float", "computed"), ("int", "number"), ("float32", "float32"), ("float32", "leaf"), ("float32", "int"),
    ("whole", "whole"), ("whole", "leaf"), ("leaf", "bool"), ("leaf", "array"), ("one entry", "leaf"),
    ("empty", "empty"), ("empty", "leaf"),
]  # fmt: skip
CASES = [
    *[(op, (name,)) for op in FAST if len(op.operands) == 1 for name in OPERANDS],
    *[(op, pair) for op in FAST if len(op.operands) == 2 for pair in PAIRS],
]


def told(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    if isinstance(value, Shaped):
        return "shape", value.shape, value.dtype
    return type(value), value if isinstance(value, (int, float)) else repr(value)


def description(tensor: Any, operands: Any) -> Any:
    """All that can be seen of a result, with its operands by their places."""
    node = tensor.node
    said = [told(tensor.array), tensor.requires_grad, tensor._version, tensor._base is None]
    if node is not None:
        counters = [tensor._version_counter, *[getattr(operand, "_version_counter", None) for operand in operands]]
        sources = [operand.gradient_node() if hasattr(operand, "gradient_node") else None for operand in operands]
        said += [
            node.label, node.op, node.shape, node.dtype, dict(node.static), [told(value) for value in node.saved],
            [None if source is None else sources.index(source) for source in node.operands],
            node.versions and sorted((place, version, counter is counters[place]) for counter, version, place in node.versions),
        ]  # fmt: skip
    return said


def outcome(path: Any, op: Any, operands: Any) -> Any:
    try:
        result = path(op, operands, dict(op.static))
    except Exception as error:
        return type(error), str(error)
    return description(result, operands)


def fast(op: Any, operands: Any, static: Any) -> Any:
    tensor = fast_path(op)(operands, static)
    return slow_path(op, operands, static) if tensor is None else tensor


@pytest.mark.parametrize(("op", "names"), CASES, ids=[f"{op.name} of {', '.join(names)}" for op, names in CASES])
def test_both_paths_give_the_same(op: Any, names: tuple[str, ...]) -> None:
    operands = tuple(OPERANDS[name]() for name in names)
    assert outcome(fast, op, operands) == outcome(slow_path, op, operands)


def test_the_usual_takes_the_fast_path() -> None:
    for op in (registry()["mul"], registry()["pow"], registry()["matmul"]):
        assert fast_path(op)((leaf(2, 2), computed()), {}) is not None
    assert fast_path(registry()["mul"])((leaf(2, 2), 3), {}) is not None
    assert fast_path(registry()["exp"])((view(),), {}) is not None
    assert fast_path(registry()["sum"])((leaf(2, 2),), {"axis": None, "keepdims": False}) is not None


def test_what_watches_takes_the_slow_path() -> None:
    x, mul = leaf(2, 2), fast_path(registry()["mul"])
    with torch.inference_mode():
        assert mul((x, 2.0), {}) is None
        assert (x * 2.0).is_inference()
    with torch.autograd.set_detect_anomaly(True):
        assert mul((x, 2.0), {}) is None
    with torch.no_grad():
        assert mul((x, 2.0), {}).node is None
    assert mul((x, 2.0), {}).node is not None


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
