"""Every rule against NumPy: value and gradient of the cases, the transpose identity
<u, J v> = <J^T u, v>, and a Hessian that is symmetric and the derivative of the gradient.
"""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from cases import EVERY as CASES
from cases import Case, over_cases, seeds
from helpers import applied, differences, exact, lowered, number, swept, thinned

import gradcli.query.evaluate
from gradcli.graph import transforms
from gradcli.graph.interpret import forward
from gradcli.ops.registry import registry
from gradcli.ops.spec import Op


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
    pulled = transforms.vjp(root, [scope.names[n] for n in moved], scope.graph.constant(u))
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
            transforms.vjp(scalar, list(leaves.values()), scope.graph.constant(1.0)),
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


ONE_BY_ONE = [
    op
    for op in registry().values()
    if op.elementwise and op.partials and any(op.partials) and op.result == "float" and op.public
]


@pytest.mark.parametrize(
    "op", thinned((pytest.param(op, id=op.name) for op in ONE_BY_ONE), every=6)
)
def test_elementwise_gradient_and_hessian(op: Op) -> None:
    """First and second derivatives by the sweep against differences of the multi-precision
    forward.
    """
    points = [
        tuple(np.roll([0.37, 1.83, -0.61, 2.9, 0.83], -k)[: len(op.operands)]) for k in range(5)
    ]
    compared = 0

    def function(*operands: Any) -> Any:
        return op.reference(mpmath.mp, *operands, **op.static)

    for point in points:
        at = [float(v) for v in point]
        if exact(op, *at) is None:
            continue
        compared += 1
        scope, root, names = applied(op, *at)
        found = swept(scope, root, 1.0, names)
        leaves = [scope.names[n] for n in names]
        first = transforms.vjp(root, leaves, scope.graph.constant(1.0))
        seconds = [transforms.vjp(slope, leaves, scope.graph.constant(1.0)) for slope in first]
        table = forward([s for row in seconds for s in row], scope.values)
        for i, name in enumerate(names):
            with mpmath.workdps(100):
                try:
                    wanted = mpmath.diff(function, at, unit(i, len(at)))
                    twice = [mpmath.diff(function, at, unit(i, len(at), j)) for j in range(len(at))]
                except (ValueError, mpmath.libmp.ComplexResult, TypeError):
                    continue
                if not isinstance(wanted, mpmath.mpf):
                    continue
            assert found[name] == pytest.approx(float(wanted), rel=1e-12), (op, at, name)
            for j, second in enumerate(twice):
                if isinstance(second, mpmath.mpf):
                    assert table[seconds[i][j]] == pytest.approx(
                        float(second), rel=1e-10, abs=1e-13
                    ), (op, at, name, names[j])
    assert compared


def unit(i: int, n: int, j: int | None = None) -> tuple[int, ...]:
    orders = [0] * n
    orders[i] += 1
    if j is not None:
        orders[j] += 1
    return tuple(orders)


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
        pulled = transforms.vjp(root, [scope.names[n] for n in case.values], seed)
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


@pytest.mark.parametrize(("mode", "wanted"), [("jacobian", 12.0), ("hessian", 12.0)])
def test_number_by_number_in_every_mode(mode: str, wanted: float) -> None:
    record = gradcli.evaluate("x**3", x=2.0, mode=mode, check=False, formula=False)
    found = record.jacobian["x"] if mode == "jacobian" else record.hessian["x"]["x"]
    assert np.shape(found) == ()
    assert found == wanted
