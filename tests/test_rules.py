"""Every rule against NumPy: value and gradient of the cases, the transpose identity
<u, J v> = <J^T u, v>, and a Hessian that is symmetric and the derivative of the gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import EVERY as CASES
from cases import Case, over_cases, seeds
from helpers import differences, lowered, number, swept, thinned

import gradcli.query.programs
from gradcli.graph import transforms
from gradcli.graph.sweep import vjp
from gradcli.ops.registry import registry


def direction(like: Any) -> np.ndarray:
    return np.random.default_rng(np.size(like)).standard_normal(np.shape(like))


@over_cases
def test_value_gradient_and_tangent_are_those_of_numpy(case: Case) -> None:
    """<u, J v> by forward mode is <J^T u, v> by reverse mode, and both are what the
    case says.
    """
    scope, root = lowered(case.text, case.values)
    assert number(scope, root) == pytest.approx(case.value, rel=1e-12, abs=1e-13)
    assert case.value.shape == root.shape
    u = seeds(case.value)
    found = swept(scope, root, u, list(case.values))
    for name, slope in case.grad.items():
        assert found[name].shape == slope.shape
        assert found[name] == pytest.approx(slope, rel=1e-10, abs=1e-11), name
    moved = {name: direction(value) for name, value in case.values.items()}
    pushed = transforms.jvp(
        root, {scope.names[n]: scope.graph.constant(v) for n, v in moved.items()}
    )
    assert pushed.shape == root.shape
    pulled = vjp(root, [scope.names[n] for n in moved], scope.graph.constant(u))
    assert [p.shape for p in pulled] == [scope.names[n].shape for n in moved]
    ahead = np.sum(u * number(scope, pushed))
    back = sum(np.sum(number(scope, p) * v) for p, v in zip(pulled, moved.values(), strict=True))
    exactly = sum(np.sum(slope * moved[n]) for n, slope in case.grad.items())
    assert ahead == pytest.approx(back, rel=1e-10, abs=1e-11)
    assert back == pytest.approx(exactly, rel=1e-10, abs=1e-11)


@pytest.mark.parametrize("case", thinned(over_cases.args[1], every=12))
def test_second_order(case: Case) -> None:
    """The Hessian of sum(u * y * y): symmetric, and the derivative of the gradient of each name by
    each.
    """
    scope, root = lowered(case.text, case.values)
    u = direction(np.empty(root.shape))
    flat = transforms.reshape(root * root * scope.graph.constant(u), shape=(-1,))
    scalar = gradcli.ops.reductions.sums.sum_(flat, axis=None, keepdims=False)
    leaves = {name: scope.names[name] for name in case.values}
    gradients = dict(
        zip(
            leaves,
            vjp(scalar, list(leaves.values()), scope.graph.constant(1.0)),
            strict=True,
        )
    )

    for name, slope in gradients.items():
        for other, leaf in leaves.items():
            block = number(scope, transforms.jacobian(slope, leaf))
            mirror = number(scope, transforms.jacobian(gradients[other], leaves[name]))
            rows = block.reshape(int(np.prod(slope.shape)), -1)
            assert rows == pytest.approx(
                mirror.reshape(rows.shape[1], -1).T, rel=1e-9, abs=1e-10
            ), (name, other)

            def free(x: np.ndarray, other: str = other) -> np.ndarray:
                """Of symmetric matrices only one triangle may be read."""
                base = case.values[other]
                mirrored = base.ndim > 1 and np.array_equal(base, np.swapaxes(base, -1, -2))
                return (x + np.swapaxes(x, -1, -2)) / 2 if mirrored else x

            def gradient(at: np.ndarray, name: str = name, other: str = other) -> np.ndarray:
                moved, there = lowered(case.text, {**case.values, other: free(at)})
                return swept(moved, there, 2 * u * number(moved, there), [name])[name]

            wanted = differences(gradient, case.values[other]).reshape(rows.shape)
            rows = free(block).reshape(rows.shape)
            assert rows == pytest.approx(
                wanted, rel=2e-7, abs=2e-7 * max(1.0, np.abs(rows).max(initial=0))
            ), (name, other)


STRUCTURAL = {
    op.name
    for op in registry().values()
    if op.kind == "structural" and op.public and op.result != "int"
}


def test_every_structural_operation_has_a_case() -> None:
    used: set[str] = set()
    for case in CASES:
        scope, root = lowered(case.text, case.values)
        seed = (
            scope.graph.constant(np.ones(root.shape)) if root.shape else scope.graph.constant(1.0)
        )
        pulled = vjp(root, [scope.names[n] for n in case.values], seed)
        used |= {
            node.op.name for node in transforms.reachable([root, *pulled]) if node.op is not None
        }
    missing = sorted({*STRUCTURAL} - used - {"detach"})
    assert not missing, f"no case reaches {', '.join(missing)}: add one to tests/cases/"


@pytest.mark.parametrize(
    "spelling", ["detach(x)", "x.detach()", "stop_gradient(x)", "jax.lax.stop_gradient(x)"]
)
def test_detach_stops_the_gradient(spelling: str) -> None:
    scope, root = lowered(f"sum(x*{spelling})", {"x": [1.0, 2.0]})
    assert swept(scope, root, 1.0, ["x"])["x"].tolist() == [1.0, 2.0]
