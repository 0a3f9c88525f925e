"""Every rule against NumPy: the same mathematics written in NumPy, differentiated by complex steps.

A case is a program and the same function of complex NumPy arrays. From it follow the value, the gradient, the
transpose identity <u, J v> = <J^T u, v>, and a Hessian that is symmetric and the derivative of the gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath
import numpy as np
import pytest
from helpers import applied, complex_step, differences, exact, lowered, number, swept

import gradcli.evaluation
from gradcli.engine import transforms
from gradcli.engine.evaluate import forward
from gradcli.ops.spec import Op, registry

RANDOM = np.random.default_rng(20)


def some(*shape: int) -> np.ndarray:
    """Entries well away from 0 and from each other."""
    return (RANDOM.uniform(0.3, 2.0, shape) * RANDOM.choice([-1.0, 1.0], shape)).round(6)


def positive(*shape: int) -> np.ndarray:
    return RANDOM.uniform(0.3, 2.0, shape).round(6)


class Case(NamedTuple):
    text: str
    function: Callable[..., Any]
    values: dict[str, Any]
    reason: str = ""  # told in the test's name


def size(x: Any) -> Any:
    """abs() for complex steps."""
    return np.where(np.real(x) < 0, -x, x)


def chosen(pick: Callable[..., Any]) -> Callable[..., Any]:
    """max and min by real parts; along one axis or all."""

    def function(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
        if axis is None:
            return x.ravel()[pick(x.real)]
        out = np.take_along_axis(x, np.expand_dims(pick(x.real, axis=axis), axis), axis)
        return out if keepdims else out.squeeze(axis)

    return function


largest, smallest = chosen(np.argmax), chosen(np.argmin)


def lse(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.log(np.exp(x).sum(axis=axis, keepdims=keepdims))


def variance(x: Any, ddof: int, axis: Any = None, keepdims: bool = False) -> Any:
    total = ((x - x.mean(axis=axis, keepdims=True)) ** 2).sum(axis=axis, keepdims=keepdims)
    return total / (x.size / np.sum(total * 0 + 1).real - ddof)


def p_norm(x: Any, p: float, axis: Any = None) -> Any:
    return (size(x) ** p).sum(axis=axis) ** (1 / p)


def between(x: Any, low: Any, high: Any) -> Any:
    raised = np.where(np.real(x) < np.real(low), low, x)
    return np.where(np.real(raised) > np.real(high), high, raised)


def bce(x: Any, y: Any, w: Any = 1.0, p: Any = 1.0) -> Any:
    return w * (p * y * np.log(1 + np.exp(-x)) + (1 - y) * np.log(1 + np.exp(x)))


def solved(a: Any, b: Any) -> Any:
    return np.linalg.solve(a, b[..., None])[..., 0] if b.ndim == 1 else np.linalg.solve(a, b)


ROW = np.array([0.7, 0.0, -1.3, 2.0])
ZEROS = np.array([[0.5, 0.0, 2.0], [0.0, -1.5, 0.0]])
THINNED = some(2, 3, 2) * (some(2, 3, 2) > -0.8)
SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])
A3, A4 = some(3, 3) + 3 * np.eye(3), some(4, 4) + 3 * np.eye(4)
BATCH = some(2, 3, 3) + 3 * np.eye(3)
X = {"x": some(2, 3)}
CUBE = {"x": some(2, 3, 2)}
LOGITS = {"x": some(2, 3), "y": positive(2, 3) / 2}
WEIGHTS = {**LOGITS, "w": positive(3), "p": positive(2, 1)}
BCE = "binary_cross_entropy_with_logits"

CASES = [
    Case("sum(x)", np.sum, X),
    Case("sum(x, axis=0)", lambda x: x.sum(0), X),
    Case("sum(x, axis=(0, 2), keepdims=True)", lambda x: x.sum((0, 2), keepdims=True), CUBE),
    Case("sum(x, axis=-1)", lambda x: x.sum(-1), CUBE),
    Case("mean(x)", np.mean, X),
    Case("mean(x, axis=(0, -1))", lambda x: x.mean((0, 2)), CUBE),
    Case("var(x)", lambda x: variance(x, 0), X),
    Case("var(x, ddof=1, axis=1)", lambda x: variance(x, 1, 1), CUBE),
    Case("std(x, ddof=2, axis=(0, 2), keepdims=True)", lambda x: np.sqrt(variance(x, 2, (0, 2), True)), CUBE),
    Case("std(x)", lambda x: np.sqrt(variance(x, 0)), X),
    Case("torch.std(x, dim=1)", lambda x: np.sqrt(variance(x, 1, 1)), X),
    Case("prod(x)", np.prod, X),
    Case("prod(x)", np.prod, {"x": ROW}, "one zero"),
    Case("prod(x)", np.prod, {"x": np.array([0.0, 3.0, 0.0, 2.0])}, "two zeros"),
    Case("prod(x, axis=1)", lambda x: x.prod(1), {"x": ZEROS}, "zeros"),
    Case("prod(x, axis=(0, 1))", lambda x: x.prod((0, 1)), CUBE),
    Case("prod(x, axis=(0, 2), keepdims=True)", lambda x: x.prod((0, 2), keepdims=True), {"x": THINNED}, "zeros"),
    Case("prod(x, axis=(2, 0))", lambda x: x.prod((2, 0)), CUBE, "axes not in order"),
    Case("cumprod(x)", np.cumprod, {"x": ROW}, "one zero"),
    Case("cumprod(x, axis=0)", lambda x: np.cumprod(x, 0), {"x": ZEROS}, "zeros"),
    Case("cumprod(x, axis=-1)", lambda x: np.cumprod(x, -1), {"x": ZEROS}, "zeros"),
    Case("cumprod(x, axis=1)", lambda x: np.cumprod(x, 1), CUBE),
    Case("cumprod(x)", np.cumprod, X, "flattened"),
    Case("cumsum(x)", np.cumsum, X, "flattened"),
    Case("cumsum(x, axis=0)", lambda x: np.cumsum(x, 0), X),
    Case("cumsum(x, axis=-2)", lambda x: np.cumsum(x, -2), CUBE),
    Case("max(x)", largest, X),
    Case("max(x, axis=0)", lambda x: largest(x, 0), X),
    Case("min(x, axis=1, keepdims=True)", lambda x: smallest(x, 1, True), X),
    Case("torch.max(x, dim=1)[0]", lambda x: largest(x, 1), X),
    Case("torch.min(x, dim=0, keepdim=True)[0]", lambda x: smallest(x, 0, True), X),
    Case("logsumexp(x)", lse, X),
    Case("logsumexp(x, axis=(0, 1), keepdims=True)", lambda x: lse(x, (0, 1), True), CUBE),
    Case("softmax(x)", lambda x: np.exp(x - lse(x)), X, "all axes"),
    Case("softmax(x, axis=0)", lambda x: np.exp(x - lse(x, 0, True)), X),
    Case("log_softmax(x, axis=-1)", lambda x: x - lse(x, -1, True), X),
    Case("norm(x)", lambda x: np.sqrt((x**2).sum()), X, "Frobenius"),
    Case("norm(x, axis=0)", lambda x: np.sqrt((x**2).sum(0)), X),
    Case("norm(x, 1, axis=1)", lambda x: size(x).sum(1), X),
    Case("norm(x, 3)", lambda x: p_norm(x, 3), {"x": some(4)}),
    Case("norm(x, ord=2.5, axis=0, keepdims=True)", lambda x: p_norm(x, 2.5, 0)[None], X),
    Case("norm(x, inf, axis=0)", lambda x: largest(size(x), 0), X),
    Case("norm(x, -inf)", lambda x: smallest(size(x)), {"x": some(4)}),
    Case("norm(x, 0.5)", lambda x: p_norm(x, 0.5), {"x": some(3)}),
    Case("x @ y", np.matmul, {"x": some(3), "y": some(3)}, "vectors"),
    Case("einsum('ij,jk->ik', x, y)", lambda x, y: np.einsum("ij,jk->ik", x, y), {"x": some(2, 3), "y": some(3, 2)}),
    Case("einsum('ii', x)", lambda x: np.einsum("ii", x), {"x": some(3, 3)}, "a trace"),
    Case("einsum('iij->ji', x)", lambda x: np.einsum("iij->ji", x), {"x": some(3, 3, 2)}, "a diagonal"),
    Case("einsum('...i,ij->...', x, y)", lambda x, y: np.einsum("...i,ij->...", x, y), {"x": some(2, 3), "y": some(3, 2)}),
    Case("einsum('i,j', x, y)", lambda x, y: np.einsum("i,j", x, y), {"x": some(2), "y": some(3)}, "implicit"),
    Case("x @ y", np.matmul, {"x": some(3), "y": some(3, 2)}),
    Case("x @ y", np.matmul, {"x": some(2, 3), "y": some(3)}),
    Case("x @ y", np.matmul, {"x": some(2, 3), "y": some(3, 2)}),
    Case("x @ y", np.matmul, {"x": some(2, 1, 2, 3), "y": some(2, 3, 2)}, "batches broadcast"),
    Case("x @ y", np.matmul, {"x": some(2, 2, 3), "y": some(3)}, "batch times vector"),
    Case("x @ y", np.matmul, {"x": some(3), "y": some(2, 3, 2)}, "vector times batch"),
    Case("x @ x", lambda x: x @ x, {"x": some(2, 2)}, "both operands"),
    Case("x.T @ x", lambda x: x.T @ x, X),
    Case("dot(x, y)", np.dot, {"x": some(3), "y": some(3)}),
    Case("dot(x, y)", np.dot, {"x": some(2, 3), "y": some(3, 2)}),
    Case("dot(x, y)", np.dot, {"x": some(2, 3), "y": some(2, 3, 2)}, "third axis"),
    Case("dot(x, y)", np.dot, {"x": some(2, 2, 3), "y": some(3)}),
    Case("dot(x, y)", np.dot, {"x": np.array(1.5), "y": some(2, 3)}, "a number"),
    Case("outer(x, y)", np.outer, {"x": some(2), "y": some(3)}),
    Case("outer(x, y)", np.outer, {"x": some(2, 2), "y": some(3)}, "flattened"),
    Case("trace(x)", np.trace, {"x": some(3, 2)}),
    Case("trace(x, offset=1)", lambda x: np.trace(x, 1), {"x": some(3, 4)}),
    Case("trace(x, offset=-2)", lambda x: np.trace(x, -2), {"x": some(3, 4)}),
    Case("trace(x, offset=1)", lambda x: np.trace(x, 1), {"x": some(3, 3, 2)}, "three axes"),
    Case("det(x)", np.linalg.det, {"x": A4}),
    Case("det(x)", lambda x: x[0, 0] * x[1, 1] - x[0, 1] * x[1, 0], {"x": SINGULAR}, "singular"),
    Case("det(x)", np.linalg.det, {"x": BATCH}, "batch"),
    Case("inv(x)", np.linalg.inv, {"x": A3}),
    Case("inv(x)", np.linalg.inv, {"x": BATCH}, "batch"),
    Case("solve(x, y)", solved, {"x": A3, "y": some(3)}, "vector"),
    Case("solve(x, y)", solved, {"x": A3, "y": some(3, 2)}, "matrix"),
    Case("solve(x, y)", solved, {"x": BATCH, "y": some(2, 3, 1)}, "batch"),
    Case("solve(x, y)", solved, {"x": BATCH, "y": some(3, 2)}, "batch against one"),
    Case("solve(x, y)", solved, {"x": A3, "y": some(2, 3, 2)}, "one against batch"),
    Case("solve(x, y)", lambda x, y: np.linalg.solve(x, y[:, None])[..., 0], {"x": BATCH, "y": some(3)}, "batch, vector"),
    Case("slogdet(x)[1]", lambda x: np.log(size(np.linalg.det(x))), {"x": A3}),
    Case("slogdet(x)[1]", lambda x: np.log(size(np.linalg.det(x))), {"x": BATCH[:, ::-1]}, "negative determinants"),
    Case("adjugate(x)", lambda x: np.linalg.det(x) * np.linalg.inv(x), {"x": A3}),
    Case("adjugate(x)", lambda x: np.linalg.det(x)[:, None, None] * np.linalg.inv(x), {"x": BATCH}, "batch"),
    Case("x[1]", lambda x: x[1], X),
    Case("x[:, ::-2]", lambda x: x[:, ::-2], X),
    Case("x[..., None, 1:]", lambda x: x[..., None, 1:], X),
    Case("x[[0, 1, 0, 0]]", lambda x: x[[0, 1, 0, 0]], X, "duplicates"),
    Case("x[[0, 1, 0], [2, 0, 2]]", lambda x: x[[0, 1, 0], [2, 0, 2]], X, "duplicates"),
    Case("x[:, [1, 1]]", lambda x: x[:, [1, 1]], X),
    Case("x[[0, 1], :, [1, 0]]", lambda x: x[[0, 1], :, [1, 0]], CUBE, "indices apart"),
    Case("x[x > 0]", lambda x: x[x.real > 0], X, "mask"),
    Case("x[[True, False], 1:]", lambda x: x[[True, False], 1:], X, "mask and slice"),
    Case("x[-1, -1]", lambda x: x[-1, -1], X),
    Case("concatenate([x, y])", lambda x, y: np.concatenate([x, y]), {"x": some(2), "y": some(3)}),
    Case("concatenate([x, y, x], axis=1)", lambda x, y: np.concatenate([x, y, x], 1), {"x": some(2, 3), "y": some(2, 1)}),
    Case("concatenate([x, y], axis=-1)", lambda x, y: np.concatenate([x, y], -1), {"x": some(2, 3), "y": some(2, 1)}),
    Case("stack([x, y, x], axis=1)", lambda x, y: np.stack([x, y, x], 1), {"x": some(2, 3), "y": some(2, 3)}),
    Case("stack([x, y], axis=-1)", lambda x, y: np.stack([x, y], -1), {"x": some(3), "y": some(3)}),
    Case("[x*y, [1, y]]", lambda x, y: np.stack([x * y, np.stack([1 + 0 * y, y])]), {"x": some(2), "y": np.array(0.5)}),
    Case("reshape(x, (3, -1))", lambda x: x.reshape(3, -1), X),
    Case("ravel(x)", np.ravel, CUBE),
    Case("x.T", np.transpose, CUBE),
    Case("transpose(x, (1, 2, 0))", lambda x: x.transpose(1, 2, 0), CUBE),
    Case("transpose(x, (-1, 0, 1))", lambda x: x.transpose(2, 0, 1), CUBE, "negative axes"),
    Case("swapaxes(x, 0, -1)", lambda x: np.swapaxes(x, 0, 2), CUBE),
    Case("broadcast_to(x, (2, 3, 2))", lambda x: np.broadcast_to(x, (2, 3, 2)), {"x": some(3, 1)}),
    Case("sum_to_size(x, (1, 2))", lambda x: x.sum((0, 1))[None], CUBE),
    Case("flip(x)", np.flip, X),
    Case("flip(x, axis=1)", lambda x: np.flip(x, 1), CUBE),
    Case("squeeze(expand_dims(x, 1))", lambda x: x, X),
    Case("where(x > y, x, y*y)", lambda x, y: np.where(x.real > y.real, x, y * y), {"x": some(2, 3), "y": some(3)}),
    Case("x*(x > y) + (x < 1)", lambda x, y: x * (x.real > y.real) + (x.real < 1), {"x": some(2, 3), "y": some(3)}),
    Case("clip(x, low, high)", between, {"x": some(2, 3), "low": some(3) - 1, "high": some(2, 1) + 1}, "array bounds"),
    Case("clip(x, low, high)", between, {"x": some(3), "low": positive(3) + 1, "high": positive(3) - 1}, "low above high"),
    Case("clip(x, None, high)", lambda x, high: between(x, -np.inf, high), {"x": some(2, 3), "high": some(3)}),
    Case("maximum(x, y)*minimum(x, y)", np.multiply, {"x": some(2, 3), "y": some(3)}),
    Case("alias", np.multiply, {"x": some(3), "y": some(3)}),
    Case(f"{BCE}(x, y)", lambda x, y: bce(x, y).mean(), LOGITS),
    Case(f"{BCE}(x, y, reduction='sum')", lambda x, y: bce(x, y).sum(), LOGITS),
    Case(f"{BCE}(x, y, reduction='none')", bce, LOGITS),
    Case(f"{BCE}(x, y, weight=w)", lambda x, y, w: bce(x, y, w).mean(), {**LOGITS, "w": positive(3)}),
    Case(f"{BCE}(x, y, pos_weight=p)", lambda x, y, p: bce(x, y, 1.0, p).mean(), {**LOGITS, "p": positive(3)}),
    *[Case(f"{BCE}(x, y, weight=w, pos_weight=p, reduction='{r}')", lambda x, y, w, p, f=f: f(bce(x, y, w, p)), WEIGHTS)
      for r, f in (("mean", np.mean), ("sum", np.sum), ("none", lambda v: v))],
    Case("softplus(x)*sigmoid(x)", lambda x: np.log(1 + np.exp(x)) / (1 + np.exp(-x)), X),
]  # fmt: skip
CASES = [c._replace(text="z = x; z*y") if c.text == "alias" else c for c in CASES]

over_cases = pytest.mark.parametrize(
    "case", [pytest.param(c, id=f"{c.text} {[np.shape(v) for v in c.values.values()]} {c.reason}".strip()) for c in CASES]
)


def direction(like: Any) -> np.ndarray:
    return np.random.default_rng(np.size(like)).standard_normal(np.shape(like))


@over_cases
def test_value_and_gradient_are_those_of_numpy(case: Case) -> None:
    scope, root = lowered(case.text, case.values)
    wanted = np.real(case.function(*case.values.values()))
    assert number(scope, root) == pytest.approx(wanted, rel=1e-12, abs=1e-13)
    assert np.shape(wanted) == root.shape
    seed = direction(wanted)
    slopes = complex_step(case.function, case.values, seed)
    found = swept(scope, root, seed, list(case.values))
    for name, slope in slopes.items():
        assert found[name].shape == slope.shape
        assert found[name] == pytest.approx(slope, rel=1e-10, abs=1e-11), name


@over_cases
def test_transpose_identity(case: Case) -> None:
    """<u, J v> by forward mode is <J^T u, v> by reverse mode, and both are what complex steps say."""
    scope, root = lowered(case.text, case.values)
    u = direction(np.empty(root.shape))
    moved = {name: direction(value) for name, value in case.values.items()}
    pushed = transforms.jvp(root, {scope.names[n]: scope.graph.constant(v) for n, v in moved.items()})
    assert pushed.shape == root.shape
    pulled = transforms.vjp(root, [scope.names[n] for n in moved], scope.graph.constant(u))
    assert [p.shape for p in pulled] == [scope.names[n].shape for n in moved]
    ahead = np.sum(u * number(scope, pushed))
    back = sum(np.sum(number(scope, p) * v) for p, v in zip(pulled, moved.values(), strict=True))
    exactly = sum(np.sum(slope * moved[n]) for n, slope in complex_step(case.function, case.values, u).items())
    assert ahead == pytest.approx(back, rel=1e-10, abs=1e-11)
    assert back == pytest.approx(exactly, rel=1e-10, abs=1e-11)


@over_cases
def test_second_order(case: Case) -> None:
    """The Hessian of sum(u * y * y): symmetric, and the derivative of the gradient of each name by each."""
    scope, root = lowered(case.text, case.values)
    u = direction(np.empty(root.shape))
    flat = transforms.reshape(root * root * scope.graph.constant(u), shape=(-1,))
    scalar = gradcli.ops.reductions.sum_(flat, axis=None, keepdims=False)
    leaves = {name: scope.names[name] for name in case.values}
    gradients = dict(zip(leaves, transforms.vjp(scalar, list(leaves.values()), scope.graph.constant(1.0)), strict=True))

    for name, slope in gradients.items():
        for other, leaf in leaves.items():
            block = number(scope, transforms.jacobian(slope, leaf))
            mirror = number(scope, transforms.jacobian(gradients[other], leaves[name]))
            rows = block.reshape(int(np.prod(slope.shape)), -1)
            assert rows == pytest.approx(mirror.reshape(rows.shape[1], -1).T, rel=1e-9, abs=1e-10), (name, other)

            def gradient(at: np.ndarray, name: str = name, other: str = other) -> np.ndarray:
                values = {**case.values, other: at}
                y = np.real(case.function(*values.values()))
                return complex_step(case.function, values, 2 * u * y)[name]

            wanted = differences(gradient, case.values[other]).reshape(rows.shape)
            assert rows == pytest.approx(wanted, rel=2e-7, abs=2e-7 * max(1.0, np.abs(rows).max(initial=0))), (name, other)


ONE_BY_ONE = [
    op for op in registry().values() if op.elementwise and op.partials and any(op.partials) and op.result == "float" and op.public
]


@pytest.mark.parametrize("op", ONE_BY_ONE, ids=lambda op: op.name)
def test_elementwise_gradient_and_hessian(op: Op) -> None:
    """First and second derivatives by the sweep against differences of the multi-precision forward."""
    points = [tuple(np.roll([0.37, 1.83, -0.61, 2.9, 0.83], -k)[: len(op.operands)]) for k in range(5)]
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
                    assert table[seconds[i][j]] == pytest.approx(float(second), rel=1e-10, abs=1e-13), (op, at, name, names[j])
    assert compared


def unit(i: int, n: int, j: int | None = None) -> tuple[int, ...]:
    orders = [0] * n
    orders[i] += 1
    if j is not None:
        orders[j] += 1
    return tuple(orders)


STRUCTURAL = {op.name for op in registry().values() if op.kind == "structural" and op.public and op.result != "int"}


def test_every_structural_operation_has_a_case() -> None:
    used: set[str] = set()
    for case in CASES:
        scope, root = lowered(case.text, case.values)
        seed = scope.graph.constant(np.ones(root.shape)) if root.shape else scope.graph.constant(1.0)
        pulled = transforms.vjp(root, [scope.names[n] for n in case.values], seed)
        used |= {node.op.name for node in transforms.reachable([root, *pulled]) if node.op is not None}
    assert {*STRUCTURAL} - used - {"detach"} == set()


def test_detach_stops_the_gradient() -> None:
    scope, root = lowered("sum(x*detach(x))", {"x": [1.0, 2.0]})
    assert swept(scope, root, 1.0, ["x"])["x"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(("mode", "wanted"), [("jacobian", 12.0), ("hessian", 12.0)])
def test_number_by_number_in_every_mode(mode: str, wanted: float) -> None:
    record = gradcli.evaluate("x**3", x=2.0, mode=mode, check=False, formula=False)
    found = record.jacobian["x"] if mode == "jacobian" else record.hessian["x"]["x"]
    assert np.shape(found) == ()
    assert found == wanted
