"""Programs on arrays that are cut along an axis: the same results, chunk by chunk, or a refusal
that says what needs all of them.
"""

from __future__ import annotations

import numpy as np
import pytest

import gradcli
from gradcli.ops.cutting import Uncut
from gradcli.query.chunked.runs import Walk, of_chunk, program_of
from gradcli.query.specialized import Spec

RANDOM = np.random.default_rng(0)
X, Y, W = RANDOM.normal(size=(11, 4)), RANDOM.normal(size=11), RANDOM.normal(size=4)
M = RANDOM.normal(size=(4, 3))
GIVEN = {
    "x": X, "y": Y, "w": W, "m": M, "s": np.float64(1.7), "a": np.abs(X) + 0.5, "v": RANDOM.normal(size=11),
}  # fmt: skip


class InMemory(Walk):
    """The stages of a program, computed now."""

    def __init__(self, program, extents, given, seed):
        super().__init__(program, extents, given, seed)
        self.gathered = {}

    def call(self, function, results, *arguments):
        return function(*arguments)

    def slices(self, node):
        return [
            np.take(self.cut[node], range(*ends), axis=self.staged.axis_of(node))
            for ends in self.ends
        ]

    def chunks(self, number, stage, inputs):
        found = [
            of_chunk(self.sent, number, stop - start, inputs[i])
            for i, (start, stop) in enumerate(self.ends)
        ]
        for place, node in enumerate(stage.cut, len(stage.folds)):
            self.gathered[node] = np.concatenate(
                [parts[place] for parts in found], axis=self.staged.axis_of(node)
            )
        return found


def chunk_by_chunk(expression, cut, bounds, seed=None):
    """The value, the gradients and the number of stages, with these names cut along these axes."""
    function = gradcli.value_and_grad(expression)
    given = {name: GIVEN[name] for name in GIVEN if name in function.words}
    length = next(given[name].shape[axis] for name, axis in cut.items())
    values = [
        Spec(name, array.shape, array.dtype.str, cut.get(name)) for name, array in given.items()
    ]
    program = program_of(
        function.settings, values, length, None if seed is None else (seed.shape, None), given
    )
    walk = InMemory(program, np.diff(bounds).tolist(), given, seed)
    walk.go()
    staged = program.stages.staged
    value, *gradients = [
        walk.gathered[node] if node in walk.gathered else walk.common([node])[0]
        for node in staged.results
    ]
    return (
        value,
        dict(zip(program.stages.wrt, gradients, strict=True)),
        sum(bool(stage.outputs) for stage in staged.stages),
    )


ROWS = {"x": 0, "y": 0, "a": 0, "v": 0}
CASES = [  # an expression, and how many times all chunks come together before its last results
    ("mean((x @ w - y)**2)", 1),
    ("mean(log(1 + exp(-y*(x @ w)))) + 0.1*sum(w**2)", 1),
    ("sum(tanh(x @ m)**2)", 1),
    ("sum(x*w + s)", 1),
    ("sum(outer(y, w)**2)", 1),
    ("sum(softmax(x @ m, axis=1)[:, 0])", 1),
    ("sum(cumsum(x, axis=1)**2) + sum(sort(x, axis=1)[:, 0])", 1),
    ("sum(x[:, None, :]**2) + sum(x.reshape(11, 2, 2)**3)", 1),
    ("sum(einsum('ij,jk->ik', x, m)**2)", 1),
    ("sum(where(x > 0, x, s*x)) + sum(stack([y, v], axis=1)**2)", 1),
    ("huber_loss(y, v) + smooth_l1_loss(y, v)", 1),
    ("sum(layer_norm(a, [4]))", 1),
    ("sum(exp(-sum((x - w)**2, axis=1)))", 1),
    ("sum((x.T @ x)**2)", 2),
    ("sum((y @ x)**2) + sum((x.T @ y) * w)", 2),
    ("var(y)", 2),
    ("sum(solve(x.T @ x + eye(4), x.T @ y))", 2),
    ("logsumexp(y)", 4),
    ("sum(softmax(y)*v)", 4),
    ("std(y) + max(y) + norm(v) + min(v)", 3),
    ("corrcoef(y, v)[0, 1]", 4),
    ("sum((x - mean(x, axis=0))**3)", 3),
]


@pytest.mark.parametrize(("expression", "stages"), CASES, ids=[case[0] for case in CASES])
@pytest.mark.parametrize("bounds", [[0, 4, 8, 11], [0, 11], [0, 1, 2, 11]], ids=str)
def test_chunks_come_to_what_the_whole_is(expression, stages, bounds):
    names = [name for name in GIVEN if name in gradcli.value_and_grad(expression).words]
    wanted, gradients = gradcli.value_and_grad(expression)(**{name: GIVEN[name] for name in names})
    value, found, count = chunk_by_chunk(
        expression, {name: axis for name, axis in ROWS.items() if name in names}, bounds
    )
    assert count == stages
    np.testing.assert_allclose(value, wanted, rtol=1e-12, atol=1e-14)
    assert found.keys() == gradients.keys()
    for name, gradient in gradients.items():
        assert np.shape(found[name]) == np.shape(gradient)
        np.testing.assert_allclose(found[name], gradient, rtol=1e-10, atol=1e-13, err_msg=name)


@pytest.mark.parametrize(
    "expression", ["sum(x*y[:, None])", "mean((x @ w - y)**2)", "sum(exp(x) @ w * v)"]
)
def test_what_is_whole_is_taken_slice_by_slice(expression):
    """One name is cut, the others are known everywhere."""
    names = [name for name in GIVEN if name in gradcli.value_and_grad(expression).words]
    _, gradients = gradcli.value_and_grad(expression)(**{name: GIVEN[name] for name in names})
    _, found, _ = chunk_by_chunk(expression, {"x": 0}, [0, 5, 11])
    for name, gradient in gradients.items():
        np.testing.assert_allclose(found[name], gradient, rtol=1e-12)


def test_the_second_axis_may_be_cut():
    _, gradients = gradcli.value_and_grad("sum(tanh(x)**2)")(x=X)
    _, found, _ = chunk_by_chunk("sum(tanh(x)**2)", {"x": 1}, [0, 1, 4])
    np.testing.assert_allclose(found["x"], gradients["x"], rtol=1e-13)


def test_a_seed_is_taken_slice_by_slice():
    seed = np.arange(11.0)
    value, gradients = gradcli.value_and_grad("tanh(x @ w)")(x=X, w=W, seed=seed)
    found, by, _ = chunk_by_chunk("tanh(x @ w)", {"x": 0}, [0, 3, 11], seed)
    np.testing.assert_allclose(found, value, rtol=1e-14)
    np.testing.assert_allclose(by["w"], gradients["w"], rtol=1e-13)


REFUSED = [
    ("sum(cumsum(y)*y)", "cumsum goes along the axis that is cut"),
    ("sum(y[1:]*y[:-1])", "a subscript takes entries along the axis that is cut"),
    ("sum(sort(y)*v)", "argsort goes along the axis that is cut"),
    ("prod(y)", "a subscript takes entries along the axis that is cut"),
    ("sum(x @ x.T)", "matmul meets arrays that are cut along different axes"),
    (
        "sum(y.reshape(1, 11).T @ w.reshape(1, 4)) + det(x.T[:, :4])",
        "a subscript takes entries along the axis that is cut",
    ),
    ("sum(x.reshape(44))", "reshape to (44,) takes the axis apart that is cut"),
    ("sum(flip(y)*v)", "flip goes along the axis that is cut"),
]


@pytest.mark.parametrize(("expression", "reason"), REFUSED, ids=[case[0] for case in REFUSED])
def test_what_needs_all_chunks_says_so(expression, reason):
    names = [name for name in GIVEN if name in gradcli.value_and_grad(expression).words]
    with pytest.raises(Uncut) as raised:
        chunk_by_chunk(
            expression, {name: axis for name, axis in ROWS.items() if name in names}, [0, 4, 11]
        )
    assert str(raised.value) == reason


def test_extents_that_are_alike_by_chance_change_nothing():
    """As many columns as rows: an axis is not taken for the one that is cut."""
    x, w = RANDOM.normal(size=(6, 6)), RANDOM.normal(size=6)
    function = gradcli.value_and_grad("sum(tanh(x @ w)**2) + sum((x.T @ x)*outer(w, w))")
    values = [Spec("x", (6, 6), "<f8", 0), Spec("w", (6,), "<f8", None)]
    assert program_of(function.settings, values, 6, None, {"w": w}).stages.staged.results
    before = {name: GIVEN[name] for name in ("x", "w")}
    GIVEN.update(x=x, w=w)
    try:
        value, found, _ = chunk_by_chunk(function.expression, {"x": 0}, [0, 2, 6])
    finally:
        GIVEN.update(before)
    wanted, gradients = function(x=x, w=w)
    np.testing.assert_allclose(value, wanted, rtol=1e-13)
    for name in ("x", "w"):
        np.testing.assert_allclose(found[name], gradients[name], rtol=1e-12)


def test_programs_of_the_same_text_are_one():
    def made():
        function = gradcli.value_and_grad("sum(x**2)")
        return program_of(function.settings, [Spec("x", (8,), "<f8", 0)], 8, None, {})

    assert made() == made()
    assert made().stages is made().stages
