"""Facts of records by which graphs are rewritten (`Op.algebra`), held against NumPy."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from gradcli.ops.registry import find, registry
from gradcli.ops.spec import Op
from gradcli.plans.unrolling import takes_objects

X, Y = (
    np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -0.25]]),
    np.array([[2.0, 1.0], [-1.0, 0.5], [3.0, -2.0]]),
)
STATIC: dict[str, dict[str, Any]] = {
    "reshape": {"shape": (3, 2)}, "broadcast_to": {"shape": (4, 2, 3)}, "getitem": {"index": (1,)},
    "scatter_add": {"index": (1,), "shape": (3, 2, 3)}, "sum": {"axis": 0, "keepdims": True}, "mean": {"axis": None, "keepdims": False},
    "roll": {"shift": 1, "axis": 0}, "as_strided": {"size": (2, 2), "stride": (3, 2), "offset": 0, "source": (3, 1)},
}  # fmt: skip


def operands_of(op: Op) -> list[np.ndarray]:
    if op.variadic:
        return [X, X + 1]
    return [X, Y][: len(op.operands)]


def that(field: str) -> list[Op]:
    return [op for op in registry().values() if getattr(op, field)]


def static_of(op: Op) -> dict[str, Any]:
    return STATIC.get(op.name, dict(op.static))


@pytest.mark.parametrize("op", that("leaves_unchanged"), ids=lambda op: op.name)
def test_what_is_unchanged(op: Op) -> None:
    found = np.asarray(op.forward(X, **static_of(op)))
    np.testing.assert_array_equal(
        found, np.broadcast_to(X, found.shape), err_msg=f"{op.name} changes its operand"
    )
    assert (op.algebra == "repetition") == (found.shape != X.shape), (
        f"whether {op.name} repeats entries"
    )


def test_what_reshapes() -> None:
    op = find("reshape")
    found = op.forward(X, **static_of(op))
    assert found.shape != X.shape
    assert found.ravel().tolist() == X.ravel().tolist(), f"{op.name} changes entries or their order"


@pytest.mark.parametrize(
    "op", [op for op in registry().values() if takes_objects(op)], ids=lambda op: op.name
)
def test_what_runs_on_arrays_of_objects(op: Op) -> None:
    """Fractions, which NumPy knows nothing of; every entry here is one exactly."""
    exact = [np.frompyfunc(Fraction, 1, 1)(x) for x in operands_of(op)]
    found = np.asarray(op.forward(*exact, **static_of(op)), object)
    wanted = np.asarray(op.forward(*operands_of(op), **static_of(op)))
    assert found.shape == wanted.shape
    np.testing.assert_allclose(
        found.astype(float),
        wanted,
        rtol=1e-15,
        err_msg=f"{op.name} of fractions is not {op.name} of floats",
    )


@pytest.mark.parametrize("op", that("adds"), ids=lambda op: op.name)
def test_what_adds_up(op: Op) -> None:
    """A sum of entries has their total; a product of matrices of ones counts the products that each
    entry adds.
    """
    if op.adds == "entries":
        found = np.asarray(op.forward(X, **static_of(op)))
        factor = X.size // found.size if op.name == "mean" else 1
        assert factor * found.sum() == pytest.approx(X.sum(), rel=1e-15), (
            f"{op.name} does not add up all entries once"
        )
    else:
        assert op.adds == "products"
        found = op.forward(np.ones((2, 3)), np.ones((3, 2)), **static_of(op))
        assert found.tolist() == [[3, 3], [3, 3]], f"{op.name} does not add up products"
