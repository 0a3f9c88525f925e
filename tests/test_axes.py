"""How operations move entries: what declarations say is what is computed, the way back is its
transpose, and a wrong rule is found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from checking import judged, operand, planted

from gradcli.ops.arrays.shapes import StaticArray
from gradcli.ops.axes import move_entries
from gradcli.ops.extended import LONG_DOUBLE
from gradcli.ops.registry import find

X = np.random.default_rng(0).standard_normal((200, 200))
PLACES = np.array([[0, -1, 2], [2, 2, 1]])
STRIDES = {"size": (2, 3), "stride": (3, 2), "offset": 1, "source": (4, 1)}
USES: list[tuple[str, Sequence[tuple[int, ...]], dict[str, Any]]] = [
    ("reshape", [(2, 6)], {"shape": (3, -1)}),
    ("broadcast_to", [(3, 1)], {"shape": (2, 3, 4)}),
    ("sum", [(2, 3, 4)], {"axis": (0, -1), "keepdims": True}),
    ("transpose", [(2, 3, 4)], {"axes": (1, -1, 0)}),
    ("getitem", [(3, 4)], {"index": (None, (None, None, -2), 1)}),
    ("getitem", [(3, 4)], {"index": (StaticArray(PLACES), StaticArray(np.array([1, 3, 1])))}),
    ("scatter_add", [(2, 4)], {"index": ((0, 3, 2),), "shape": (3, 4)}),
    ("scatter_add", [(3, 4)], {"index": (StaticArray(np.array([1, 1, 0])),), "shape": (2, 4)}),
    ("stack", [(2, 3), (2, 3)], {"axis": -1}),
    ("concatenate", [(2, 3), (2, 1)], {"axis": 1}),
    ("flip", [(2, 3)], {"axis": (0, 1)}),
    ("roll", [(2, 3)], {"shift": (1, -1), "axis": (0, 1)}),
    ("tril", [(3, 4)], {"k": -1}),
    ("triu", [(4,)], {"k": 1}),
    ("overwrite", [(3, 4), (4,)], {"index": ((0, 2, None),)}),
    ("as_strided", [(3, 4)], STRIDES),
    ("as_strided_scatter", [(3, 4), (2, 3)], STRIDES),
]
IDS = [f"{name}-{i}" for i, (name, _, _) in enumerate(USES)]


def long_doubles(shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    random = np.random.default_rng(3)
    return [random.standard_normal(shape).astype(LONG_DOUBLE) for shape in shapes]


def held(name: str, arrays: list[Any], static: dict[str, Any], *indices: Any) -> None:
    """The value is that of the forward pass, and a cotangent times a result what comes back of it
    times the operands.
    """
    op = find(name)
    value, back = move_entries(op, [*arrays, *indices], static)
    expected = op.forward(*arrays, *indices, **static)
    assert np.shape(value) == np.shape(expected)
    assert np.allclose(value, expected, rtol=1e-17, atol=1e-17)
    cotangent = np.random.default_rng(4).standard_normal(np.shape(value))
    parts = back(cotangent.astype(LONG_DOUBLE))
    assert [np.shape(part) for part in parts[: len(arrays)]] == [x.shape for x in arrays]
    together = sum((part * x).sum() for part, x in zip(parts, arrays, strict=False))
    assert abs((cotangent * value).sum() - together) < 1e-16


@pytest.mark.parametrize(("name", "shapes", "static"), USES, ids=IDS)
def test_the_way_back_is_the_transpose(
    name: str, shapes: Sequence[tuple[int, ...]], static: dict[str, Any]
) -> None:
    held(name, long_doubles(shapes), static)


def test_the_way_back_from_entries_along_an_axis() -> None:
    held("take_along", long_doubles([(3, 5)]), {"axis": 0}, PLACES)
    held("add_along", long_doubles([(2, 3)]), {"axis": 0, "shape": (3, 4)}, PLACES)


PROGRAMS = {
    "reshape": "sum(sin(reshape(x, (100, 400)))*reshape(x, (100, 400))[0])",
    "broadcast_to": "sum(sin(x)*broadcast_to(x[0]**2, (200, 200)))",
    "sum": "sum(sin(sum(x, 0))*x)",
    "transpose": "sum(sin(x.T)*x)",
    "getitem": "sum(sin(x[3:, ::2]))",
    "stack": "sum(sin(stack([x, x*2], axis=1))**2)",
    "concatenate": "sum(sin(concatenate([x, x*3], axis=1))**2)",
    "flip": "sum(sin(flip(x, 0))*x)",
    "roll": "sum(sin(roll(x, 3, 1))*x)",
    "tril": "sum(sin(tril(x))*x)",
    "triu": "sum(sin(triu(x, 2))*x)",
    "take_along": "sum(sin(sort(x, 1))*x)",
}


def _beside(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Cotangents that come back one place beside their own."""

    return operand(0, lambda part: part + 1e-3 * find("roll")(part, shift=1, axis=None))(rule)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_wrong_rule_is_found_in_large_arrays(name: str) -> None:
    assert judged(PROGRAMS[name], {"x": X}).verdict.word == "agree"
    with planted(name, vjp=_beside):
        assert judged(PROGRAMS[name], {"x": X}).verdict.word == "mismatch"
