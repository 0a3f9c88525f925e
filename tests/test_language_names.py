"""Names: methods, library prefixes and where the libraries differ, Greek letters, names that are
also operations.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from gradcli.errors import GradcliError
from gradcli.language import calls
from gradcli.language.lowering import Lowering
from gradcli.language.scope import Scope
from gradcli.ops.calling.prefixes import NUMPY, TORCH

M = [[1.0, 5.0, 2.0], [7.0, 3.0, 4.0]]
S = [[2.0, 0.5], [0.5, 1.0]]
Z = [-30.0, 0.5, 30.0]
FLAT = np.ravel(M)


def case(text: str, expected: object, id: str | None = None, **bindings: object) -> object:
    return pytest.param(text, expected, bindings, id=id or text)


METHODS = [
    case("(inp + 1).pow(2).t()", (np.array(M) + 1).T ** 2, inp=M), case("x.sum(axis=0)", [8, 8, 6], x=M),
    case("x.sum(dim=0)", [8, 8, 6], x=M),
    case("x.sum(0)", [8, 8, 6], x=M), case("x.T", np.transpose(M), x=M), case("x.mT", np.transpose(M), x=M),
    case("x.shape[0]", 2, x=M),
    case("x.ndim", 2, x=M), case("x.size", 6, x=M), case("x.size(1)", 3, x=M), case("x.reshape(3, "
    "2)", np.reshape(M, (3, 2)), x=M),
    case("x.reshape((3, 2))", np.reshape(M, (3, 2)), x=M), case("x.view(-1)", FLAT, x=M), case("x.exp().log()", M, x=M),
    case("x.max()", 7, x=M), case("x.mean().sqrt()", math.sqrt(22 / 6), x=M), case("x.permute(1, "
    "0)", np.transpose(M), x=M),
    case("x.transpose(0, 1)", M, "x.transpose as in NumPy", x=M), case("x.flatten()", FLAT, x=M),
    case("x.unsqueeze(0).shape[0]", 1, x=M),
    case("x.clip(2, 4)", np.clip(M, 2, 4), x=M), case("x.clamp(min=3)", np.maximum(M, 3), x=M), case("x.detach()", M, x=M),
    case("x.dot(y)", 11, x=[1, 2], y=[3, 4]), case("x.matmul(x.T)", np.array(M) @ np.transpose(M), x=M),
    case("x.squeeze()", FLAT, x=[FLAT]),
    case("x.std()", np.std(M), x=M), case("[1, 2].sum()", 3), case("(2).sqrt()", math.sqrt(2)),
    case("x.sum(axis=1, keepdims=True)", [[8], [14]], x=M),
    case("x.sum(dim=1, keepdim=True)", [[8], [14]], x=M), case("x.sigmoid().sum()", 1, x=[-2, 2]), case("x.item()", 4, x=[4]),
]  # fmt: skip

PREFIXES = [
    case("np.sum(x**2, axis=1, keepdims=True)", [[30], [74]], x=M), case("numpy.sin(x)", math.sin(1), x=1), case("np.pi", math.pi),
    case("math.pi", math.pi), case("torch.pi", math.pi), case("torch.inf", math.inf), case("np.e", math.e),
    case("math.sqrt(x)", 2, x=4),
    case("jnp.tanh(x)", math.tanh(1), x=1), case("scipy.special.erf(x)", math.erf(0.3), x=0.3),
    case("torch.special.expit(x)", 0.5, x=0),
    case("np.linalg.norm(x)", math.sqrt(104), x=M), case("np.linalg.inv(x)", np.linalg.inv(S), x=S),
    case("np.linalg.det(x)", 1.75, x=S),
    case("torch.linalg.det(x)", 1.75, x=S), case("torch.matmul(x, y)", np.array(M) @ [1, 2, 3], x=M, y=[1, 2, 3]),
    case("torch.mm(x, x.t())", np.array(M) @ np.transpose(M), x=M), case("F.relu(x)", [0, 2], x=[-1, 2]),
    case("torch.nn.functional.relu(x)", [0, 2], x=[-1, 2]), case("torch.sum(x, dim=0)", [8, 8, 6], x=M),
    case("torch.sum(x, 1, True)", [[8], [14]], x=M), case("np.sum(x, 1)", [8, 14], x=M), case("np.array([1, 2])", [1, 2]),
    case("torch.tensor([1., 2.], dtype=torch.float64)", [1, 2]), case("np.zeros((2, 2), "
    "dtype=np.float64)", np.zeros((2, 2))),
    case("torch.zeros(2, 2)", np.zeros((2, 2))), case("torch.ones_like(x)", np.ones((2, 3)), x=M),
    case("x[np.newaxis].shape[0]", 1, x=M),
    case("np.concatenate([x, x], axis=1)", np.concatenate([M, M], 1), x=M),
    case("torch.cat((x, x), dim=1)", np.concatenate([M, M], 1), x=M),
    case("torch.stack([x, x])", np.stack([M, M]), x=M), case("np.stack((x, y), axis=1)", [[1, 3], [2, 4]], x=[1, 2], y=[3, 4]),
    case("np.einsum('ij,jk->ik', x, y)", np.array(S) @ M, x=S, y=M), case("einsum('ij->j', x)", [8, 8, 6], x=M),
    case("torch.where(x > 0, x, torch.zeros_like(x))", [0, 2], x=[-1, 2]), case("np.arctan2(y, x)", math.atan2(1, -2), y=1, x=-2),
    case("math.atan2(y, x)", math.atan2(1, -2), y=1, x=-2), case("np.power(x, 3)", 8, x=2), case("math.hypot(x, y)", 5, x=3, y=4),
    case("math.log(8, 2)", 3), case("F.softplus(x)", np.logaddexp(0, [-30, 0.5]), x=Z[:2]),
    case("F.softplus(x)[2]", 30, "softplus threshold", x=Z),
    case("np.dot(x, y)", 11, x=[1, 2], y=[3, 4]), case("np.exp(x).sum()", math.e + 1, x=[0, 1]),
    case("F.binary_cross_entropy_with_logits(x, y, reduction='sum')", 2 * math.log(2), x=[0, 0], y=[0, 1]),
    case("torch.nn.functional.binary_cross_entropy_with_logits(torch.matmul(x, w) + b, y)",
         math.log1p(math.exp(-3.5)) / 2 + (2.5 + math.log1p(math.exp(-2.5))) / 2,
         "bce", x=[1, 2], w=[[1, 1], [1, 0.5]], b=[0.5, 0.5], y=[1, 0]),
]  # fmt: skip

# One name, two libraries. The bare name follows NumPy (then SciPy), the torch. name PyTorch.
DIFFERENCES = [
    case("std(x)", np.std(M), x=M), case("np.std(x)", np.std(M), x=M), case("torch.std(x)", np.std(M, ddof=1), x=M),
    case("var(x)", np.var(M), x=M), case("np.var(x, ddof=1)", np.var(M, ddof=1), x=M), case("torch.var(x)", np.var(M, ddof=1), x=M),
    case("torch.var(x, unbiased=False)", np.var(M), x=M), case("torch.var(x, dim=0, "
    "unbiased=False)", np.var(M, axis=0), x=M),
    case("torch.add(x, 2)", np.add(M, 2), x=M), case("torch.add(x, x, alpha=2)", np.multiply(M, 3), x=M),
    case("torch.sub(x, 1)", np.subtract(M, 1), x=M),
    case("torch.var(x, correction=0)", np.var(M), x=M),
    case("x.var()", np.var(M), x=M),
    case("torch.var(x, 1)", np.var(M, axis=1, ddof=1), x=M), case("np.var(x, 1)", np.var(M, axis=1), x=M),
    case("torch.std(x, dim=1, keepdim=True)", np.std(M, axis=1, ddof=1, keepdims=True), x=M),
    case("max(x, axis=1)", [5, 7], x=M), case("np.max(x, 1)", [5, 7], x=M), case("torch.max(x, "
    "1)[0]", [5, 7], x=M),
    case("torch.max(x, dim=1)[1]", [1, 0], x=M), case("torch.max(x, dim=1).values", [5, 7], x=M),
    case("torch.max(x, dim=1).indices", [1, 0], x=M),
    case("torch.min(x, dim=0)[0]", [1, 3, 2], x=M), case("torch.max(x)", 7, x=M), case("torch.amax(x, dim=1)", [5, 7], x=M),
    case("torch.max(x, y)", [2, 3], x=[1, 3], y=2 * np.ones(2)), case("max(x, 3)", [3, 5], x=[1, 5]),
    case("min(x, y)", [1, 2], x=[1, 5], y=[4, 2]),
    case("max(1, 2, 3)", 3), case("min(x)", 1, x=M), case("cumsum(x)", np.cumsum(M), x=M), case("np.cumsum(x)", np.cumsum(M), x=M),
    case("torch.cumsum(x, 1)", np.cumsum(M, 1), x=M), case("cumprod(x)", np.cumprod(M), x=M), case("np.round(x, 1)", 2.2, x=2.25),
    case("np.round(2.5)", 2), case("torch.round(x, decimals=1)", 2.2, x=2.25), case("math.log(x)", 0, x=1),
    case("math.fabs(x)", 2, x=-2),
    case("scipy.special.softmax(x)", np.exp(M) / np.exp(M).sum(), x=M),
    case("F.softmax(x, dim=1)", np.exp(M) / np.exp(M).sum(1, keepdims=True), x=M),
    case("torch.softmax(x, 0)", np.exp(M) / np.exp(M).sum(0), x=M),
    case("scipy.special.log_softmax(x)", FLAT.reshape(2, 3) - np.log(np.exp(FLAT).sum()), x=M),
    case("scipy.special.logsumexp(x)", np.log(np.exp(M).sum()), x=M), case("torch.logsumexp(x, 1)", np.log(np.exp(M).sum(1)), x=M),
    case("torch.transpose(x, 0, 1)", np.transpose(M), x=M), case("np.transpose(x)", np.transpose(M), x=M),
    case("np.transpose(x, (1, 0))", np.transpose(M), x=M), case("torch.add(x, y, alpha=2)", 7, x=1, y=3),
    case("torch.sub(x, y, alpha=2)", -5, x=1, y=3),
    case("torch.div(x, y, rounding_mode='floor')", -4, x=-7, y=2), case("torch.div(x, y, "
    "rounding_mode='trunc')", -3, x=-7, y=2),
    case("np.clip(x, 0, 1)", [0, 0.5, 1], x=[-1, 0.5, 2]), case("torch.clamp(x, max=1)", [-1, 0.5, 1], x=[-1, 0.5, 2]),
    case("expit(0)", 0.5), case("gammaln(5)", math.log(24)), case("xlogy(0, 0)", 0), case("psi(1)", -0.5772156649015329),
    case("torch.prod(x, 1)", [10, 84], x=M), case("np.prod(x)", 840, x=M), case("torch.argmax(x, "
    "dim=1)", [1, 0], x=M),
    case("argmax(x)", 3, x=M),
    case("torch.norm(x)", math.sqrt(104), x=M), case("np.linalg.norm(x, axis=1)", [math.sqrt(30), math.sqrt(74)], x=M),
    case("np.linalg.norm(x, 1)", 6, x=[1, -2, 3]), case("torch.norm(x, p=1)", 6, x=[1, -2, 3]), case("np.ravel(x)", FLAT, x=M),
    case("torch.flatten(x)", FLAT, x=M), case("np.trace(x)", 3, x=S), case("torch.dot(x, x)", 5, x=[1, 2]),
    case("math.remainder(5, 3)", -1), case("math.fmod(-5, 3)", -2), case("np.fmod(-5, 3)", -2), case("np.mod(-5, 3)", 1),
    case("torch.fmod(x, 3)", -2, x=-5),
    case("np.flip(x)", np.flip(M), x=M), case("torch.flip(x, (1,))", np.flip(M, 1), x=M),
]  # fmt: skip

BOUND_NAMES = [
    case("F.T", np.transpose(M), "a bound name wins over a prefix", F=M), case("np + 1", 3, np=2),
    case("e + 1", 6, "e is a variable", e=5),
    case("d + e*x", 7, d=1, e=2, x=3), case("pi*r", 6, "pi is a variable", pi=2, r=3), case("gamma", 3, gamma=3),
    case("gamma*math.gamma(4)", 3 * 6, gamma=3), case("beta + beta(2, 3)", 5 + 1 / 12, beta=5),
    case("lambda*x", 6, **{"lambda": 2, "x": 3}),
    case("sum + sum([1, 2])", 13, sum=10), case("max(max, 2)", 9, max=9), case("α*x", 6, α=2, x=3), case("θ² + Δx", 14, θ=3, Δx=5),
    case("α = 0.5; α*x", 1, "Greek in a program", x=2), case("x_1 + x1", 5, x_1=2, x1=3),
    case("class + for", 3, **{"class": 1, "for": 2}),
    case("grad*2", 6, grad=3), case("T", 4, T=4), case("within + const", 7, within=3, const=4), case("größe", 2, größe=2),
    case("rate²", 9, rate=3), case("xα*2", 6, xα=3),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected", "bindings"), [*METHODS, *PREFIXES, *DIFFERENCES, *BOUND_NAMES]
)
def test_value(evaluate_last, text, expected, bindings):
    value = evaluate_last(text, **bindings).value
    assert np.shape(value) == np.shape(expected)
    np.testing.assert_allclose(np.asarray(value, float), expected, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "torch.max(x, dim=1)[0].sum()", [[0, 1, 0], [1, 0, 0]], id="torch.max with dim"
        ),
        pytest.param("sum(max(x, axis=1))", [[0, 1, 0], [1, 0, 0]], id="max over an axis"),
        pytest.param(
            "max(x, 4).sum()", [[0, 1, 0], [1, 0, 0.5]], id="ties of the larger of two are shared"
        ),
        pytest.param(
            "torch.std(x)", (np.array(M) - np.mean(M)) / (5 * np.std(M, ddof=1)), id="torch.std"
        ),
        pytest.param("std(x)", (np.array(M) - np.mean(M)) / (6 * np.std(M)), id="std"),
        pytest.param("(x + 1).pow(2).t().sum()", 2 * (np.array(M) + 1), id="methods"),
        pytest.param("np.mean(x**2)", np.array(M) / 3, id="np.mean"),
    ],
)
def test_gradient(evaluate_last, text, expected):
    np.testing.assert_allclose(evaluate_last(text, x=M).grad["x"], expected, rtol=1e-13)


@pytest.mark.parametrize(
    "text",
    [
        "np.sin(x)",
        "torch.sin(x)",
        "math.sin(x)",
        "jnp.sin(x)",
        "numpy.sin(x)",
        "x.sin()",
        "torch.sin(input=x)",
        "sin(x)",
    ],
)
def test_one_operation_many_spellings(evaluate_last, text):
    record = evaluate_last(text, x=0.7)
    assert (record.value, record.grad["x"]) == (math.sin(0.7), math.cos(0.7))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        pytest.param("sum([x])", ["x"], id="a called name is no variable"),
        pytest.param("gamma*x", ["gamma", "x"], id="an operation's name where a value stands"),
        pytest.param("e*x", ["e", "x"], id="a constant's name that is bound"),
        pytest.param("x*pi", ["x"], id="a constant"),
    ],
)
def test_which_names_are_variables(evaluate_last, text, names):
    bindings = {"x": 2.0, "gamma": 3.0, "e": 5.0, "sum": 7.0}
    assert sorted(evaluate_last(text, **bindings).grad) == sorted(names)


@pytest.mark.parametrize("value", [1.5, 3, True, np.eye(2), np.array([True, False])], ids=str)
def test_functions_of_one_array_are_the_operations_that_their_calls_make(value: Any) -> None:
    scope = Scope()
    x = scope.bind_value("x", value)
    lowering = Lowering(scope)
    found = {name: op for name in calls.all_names() if (op := calls.operation(name)) is not None}
    assert {"exp", "abs", "arcsin", "expit"} <= set(found)
    assert not {"sum", "softplus", "max", "atan2", "f", "round", "grad"} & set(found)
    for name, op in found.items():
        library = NUMPY if calls.exists(name, NUMPY) else TORCH
        try:
            node = calls.call(lowering, name, library, [x], {}, bare=True)
        except GradcliError as error:
            with pytest.raises(type(error)):
                scope.graph.apply(op, [x])
        else:
            assert scope.graph.apply(op, [x]) is node, name
