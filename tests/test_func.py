"""``torch.func`` and forward mode: every rule on batches and on tangents, and transformations of
transformations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import EVERY, Case
from helpers import lowered
from test_tensor_rules import on_tensors

import gradcli as torch
import gradcli.autograd.forward_ad as fw
from gradcli.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap
from gradcli.graph.nodes import Expr

CASES = list(
    {case.text.split("(")[0]: case for case in reversed(EVERY)}.values()
)  # one of each function
over_cases = pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in CASES])


def examples(case: Case) -> list[Any]:
    """Two examples of each argument: the case's own, and one nearby, where no branch is another."""
    noise = np.random.default_rng(0)
    pairs = [
        (v, v * (1 + 1e-7 * noise.uniform(-1, 1, np.shape(v))))
        for v in (np.asarray(v, float) for v in case.values.values())
    ]
    return [torch.tensor(np.stack(pair)) for pair in pairs]


def assert_batch_is_its_examples(case: Case, root: Expr, function: Callable[..., Any]) -> None:
    """Of values and of gradients: one after the other is the definition."""
    weights = torch.tensor(np.random.default_rng(1).standard_normal(root.shape))
    batch = examples(case)
    together, alone = vmap(function)(*batch), [function(*[x[i] for x in batch]) for i in range(2)]
    for i in range(2):
        assert together[i].numpy() == pytest.approx(alone[i].numpy(), rel=1e-12, abs=1e-12)
    if root.kind != "float":
        return
    slope = grad(
        lambda *given: (function(*given) * weights).sum(), argnums=tuple(range(len(batch)))
    )
    slopes, wanted = vmap(slope)(*batch), [slope(*[x[i] for x in batch]) for i in range(2)]
    for place in range(len(batch)):
        for i in range(2):
            assert slopes[place][i].numpy() == pytest.approx(
                wanted[i][place].numpy(), rel=1e-11, abs=1e-11
            ), list(case.values)[place]


def assert_tangent_is_transpose(case: Case, root: Expr, function: Callable[..., Any]) -> None:
    """<u, J v> by the tangent is <J^T u, v> by the tape."""
    if root.kind != "float":
        return
    random = np.random.default_rng(2)
    xs = tuple([torch.tensor(np.asarray(v, float)) for v in case.values.values()])
    vs = tuple([torch.tensor(random.standard_normal(x.shape)) for x in xs])
    u = torch.tensor(random.standard_normal(root.shape))
    _, moved = jvp(function, xs, vs)
    _, pull = vjp(function, *xs)
    assert moved.shape == u.shape
    ahead, back = (
        (u * moved).sum().item(),
        sum((g * v).sum().item() for g, v in zip(pull(u), vs, strict=True)),
    )
    assert ahead == pytest.approx(back, rel=1e-11, abs=1e-12)


@over_cases
def test_batches_and_tangents(case: Case) -> None:
    scope, root = lowered(case.text, case.values)

    def function(*given: Any) -> Any:
        return on_tensors(scope, root, dict(zip(case.values, given, strict=True)))

    assert_batch_is_its_examples(case, root, function)
    assert_tangent_is_transpose(case, root, function)


# -- transformations of transformations
# -------------------------------------------------------------------------

X = torch.tensor([0.3, -1.2, 0.8], dtype=torch.float64)
W = torch.tensor([[1.0, 2.0, 0.5], [-1.0, 0.3, 2.0]], dtype=torch.float64)


def quartic(x: Any) -> Any:
    """Its second derivatives by hand: 12 x_i^2 on the diagonal and the products of the two others
    off it, of (x_0 x_1 x_2).
    """
    return (x**4).sum() + x.prod()


def second() -> np.ndarray:
    a, b, c = X.tolist()
    return np.array([[12 * a * a, c, b], [c, 12 * b * b, a], [b, a, 12 * c * c]])


@pytest.mark.parametrize(
    "transformed",
    [
        hessian(quartic), jacrev(grad(quartic)), jacfwd(grad(quartic)), jacrev(jacrev(quartic)), jacrev(jacfwd(quartic)),
        jacfwd(jacfwd(quartic)), lambda x: vmap(lambda v: jvp(grad(quartic), (x,), (v,))[1])(torch.eye(3, dtype=torch.float64)),
        lambda x: vmap(vjp(grad(quartic), x)[1])(torch.eye(3, dtype=torch.float64))[0],
        lambda x: vmap(linearize(grad(quartic), x)[1])(torch.eye(3, dtype=torch.float64)),
        lambda x: vmap(hessian(quartic))(torch.stack([2 * x, x]))[1],
        lambda x: torch.autograd.functional.hessian(quartic, x),
    ],
)  # fmt: skip
def test_second_derivatives_by_every_way(transformed: Any) -> None:
    found = transformed(X)
    assert found.numpy() == pytest.approx(second(), rel=1e-14)
    assert not found.requires_grad


def pushed(f: Any) -> Any:
    return lambda x: jvp(f, (x,), (torch.ones_like(x),))[1]


def pulled(f: Any) -> Any:
    """By a product that is asked for after the function's value has been released."""

    def derivative(x: Any) -> Any:
        value, products = vjp(f, x)
        return products(torch.ones_like(value))[0]

    return derivative


@pytest.mark.parametrize("third", [grad, jacfwd, pushed, pulled])
@pytest.mark.parametrize("second", [grad, jacfwd, pushed, pulled])
@pytest.mark.parametrize("first", [grad, jacfwd, pushed, pulled])
def test_three_levels_around_what_the_innermost_meets(first: Any, second: Any, third: Any) -> None:
    """d2/dx2 (x d/dy (x y)) = 2, although the innermost function is of the outer variables, whose
    tangents are its results', too.
    """
    x = torch.tensor(3.0)
    found = third(second(lambda x: x * first(lambda y: x * y)(torch.tensor(5.0))))(x)
    assert found.item() == 2
    assert not found.requires_grad


def test_trees_of_arguments_and_results() -> None:
    def function(p: Any, scale: float) -> Any:
        return {"product": (p["w"] @ p["b"][0]) * scale}, p["w"].sum()

    parameters = {"w": W, "b": [X]}
    block, aux = jacrev(function, has_aux=True)(parameters, 3.0)
    assert block["product"]["b"][0].numpy() == pytest.approx(3 * W.numpy())
    assert aux.item() == W.numpy().sum()
    slopes, (value, total) = torch.func.grad_and_value(
        lambda p: (function(p, 2.0)[0]["product"].sum(), p["w"].sum()), has_aux=True
    )(parameters)
    assert slopes["w"].numpy() == pytest.approx(2 * np.tile(X.numpy(), (2, 1)))
    assert (value.item(), total.item()) == pytest.approx(
        (2 * (W.numpy() @ X.numpy()).sum(), W.numpy().sum())
    )


def test_gradients_of_each_example() -> None:
    """Of parameters that all examples share."""
    batch = torch.tensor(np.random.default_rng(0).standard_normal((5, 3)))
    found = vmap(grad(lambda w, x: ((w @ x) ** 2).sum()), in_dims=(None, 0))(W, batch)
    assert found.numpy() == pytest.approx(
        2 * np.einsum("ij,bj,bk->bik", W.numpy(), batch.numpy(), batch.numpy())
    )


@pytest.mark.parametrize(
    ("in_dims", "out_dims", "wanted"),
    [
        (0, 0, lambda a, b: a * b), (1, 0, lambda a, b: (a * b).T), ((0, 1), 1, lambda a, b: (a * b.T).T),
        ((0, None), 0, lambda a, b: a[:, None] * b), ((-1, 0), -1, lambda a, b: a.T * b if a.shape[1] == len(b) else None),
    ],
)  # fmt: skip
def test_axes_of_batches(in_dims: Any, out_dims: Any, wanted: Any) -> None:
    a, b = (
        torch.tensor(np.arange(9.0).reshape(3, 3)),
        torch.tensor(np.arange(9.0, 18.0).reshape(3, 3)),
    )
    found = vmap(torch.mul, in_dims, out_dims)(a, b).numpy()
    expected = wanted(a.numpy(), b.numpy())
    assert found == pytest.approx(expected.T if in_dims == (-1, 0) else expected)


def test_where_there_is_no_rule_examples_go_one_by_one() -> None:
    index = torch.tensor([[0, 2], [1, 1]])
    rows = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert vmap(lambda x, i: x[i])(rows, index).tolist() == [[1, 3], [5, 5]]
    assert vmap(torch.nanmedian)(rows).tolist() == [2, 5]


def test_each_example_has_its_own_new_tensor() -> None:
    def first(x: Any) -> Any:
        y = torch.zeros_like(x)
        y[0] = x[0]
        return y

    assert vmap(first)(torch.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist() == [[1, 0], [3, 0]]


def test_dtypes_are_those_of_an_example() -> None:
    rows = torch.tensor([[0.1, 0.2], [0.3, 0.4]], dtype=torch.float64)
    squares = vmap(lambda x: torch.einsum("i,i->", x, x))(rows)
    assert (squares.dtype, squares.tolist()) == (rows.dtype, (rows * rows).sum(1).tolist())
    label = torch.tensor(1)
    assert vmap(lambda x: torch.nn.functional.nll_loss(x, label))(rows).tolist() == [-0.2, -0.4]
    assert vmap(lambda i: torch.nn.functional.one_hot(i, 2))(torch.tensor([1])).tolist() == [[0, 1]]


def test_gradients_that_are_batched() -> None:
    x = X.clone().requires_grad_()
    rows = torch.eye(3, dtype=torch.float64)
    (found,) = torch.autograd.grad(x**2 * x.sum(), x, rows, is_grads_batched=True)
    assert found.numpy() == pytest.approx(jacrev(lambda x: x**2 * x.sum())(X).numpy(), rel=1e-15)


def test_random_numbers_of_examples() -> None:
    x = torch.zeros(4, 2)
    for draw in (
        lambda x: torch.rand(2),
        torch.bernoulli,
        torch.randn_like,
        lambda x: torch.nn.functional.dropout(x, 0.5),
    ):
        with pytest.raises(
            RuntimeError, match="draw the numbers before, and pass them as an argument"
        ):
            vmap(lambda x, draw=draw: x + draw(x))(x)
    with pytest.raises(TypeError, match="randomness"):
        vmap(lambda x: x, randomness="same")


def test_what_takes_entries_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"vmap over that"):
        vmap(lambda x: x if x.item() > 0 else -x)(X)
    with pytest.raises(RuntimeError, match="inside of a function being transformed"):
        grad(lambda x: x.requires_grad_().sum())(X)
    for taken in (
        lambda x: torch.from_numpy(x.numpy()),
        lambda x: torch.tensor(np.array([x[0], x[1]])),
        lambda x: torch.as_tensor(np.r_[x]),
    ):
        with pytest.raises(
            RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"
        ):
            jvp(taken, (X,), (X,))


# -- dual levels
# ------------------------------------------------------------------------------------------------


def test_dual_tensors() -> None:
    x, v = X.clone().requires_grad_(), torch.tensor([1.0, 0.0, 2.0], dtype=torch.float64)
    with fw.dual_level():
        dual = fw.make_dual(x, v)
        primal, tangent = fw.unpack_dual(dual.sin())
        assert fw.unpack_dual(dual).tangent.tolist() == v.tolist()  # type: ignore[union-attr]
        assert fw.unpack_dual(dual.detach()).tangent is None
    assert tangent is not None
    assert tangent.detach().numpy() == pytest.approx(np.cos(X.numpy()) * v.numpy())
    tangent.sum().backward()
    assert x.grad is not None
    assert x.grad.numpy() == pytest.approx(-np.sin(X.numpy()) * v.numpy())
    assert fw.unpack_dual(dual).tangent is None
    assert "tangent" not in repr(primal)


def test_tangents_of_what_is_overwritten() -> None:
    with fw.dual_level():
        dual = fw.make_dual(X.clone(), torch.ones(3, dtype=torch.float64))
        base = torch.zeros(2, 3, dtype=torch.float64)
        row = base[1]
        row.copy_(dual * 3)
        base[0, 0] = dual[1]
        base.mul_(2)
        tangent = fw.unpack_dual(base).tangent
    assert tangent is not None
    assert tangent.tolist() == [[2, 0, 0], [6, 6, 6]]


VIEWS: dict[str, Callable[[Any], Any]] = {
    "diagonal": lambda y: y.diagonal(), "select": lambda y: y.select(0, 1), "T": lambda y: y.T, "view": lambda y: y.view(-1),
    "narrow": lambda y: y.narrow(1, 1, 2), "unfold": lambda y: y.unfold(0, 2, 2), "permute": lambda y: y.permute(1, 0),
    "index": lambda y: y[1:, ::2], "entry": lambda y: y[1, 2], "of a view": lambda y: y.T.diagonal(1), "movedim": lambda y: y.movedim(0, 1),
    "flatten": lambda y: y.flatten(), "squeeze": lambda y: y[:1].squeeze(0), "reshape": lambda y: y.T.reshape(3, 3, 1),
}  # fmt: skip


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_what_is_written_through_views(view: Callable[[Any], Any]) -> None:
    """In batches and in forward mode; of a quadratic, differences over whole numbers are exact
    derivatives.
    """

    def function(x: Any) -> Any:
        y = x * 1
        seen = view(y)
        y.mul_(2)
        seen.mul_(3)
        view(y).add_(x.sum())
        y[2] = x[0, 1]
        return y * y

    def into_still(x: Any) -> Any:
        still = torch.zeros(3, 3, dtype=torch.float64)
        view(still).copy_(view(x * 2))
        still[2] = x[0, 1]
        return still * still

    batch = torch.arange(18.0, dtype=torch.float64).view(2, 3, 3)
    steps = torch.eye(9, dtype=torch.float64).view(9, 3, 3)

    def derivative(function: Any, x: Any) -> Any:
        return (
            torch.stack([(function(x + e) - function(x - e)) / 2 for e in steps])
            .permute(1, 2, 0)
            .reshape(3, 3, 3, 3)
        )

    wanted = torch.stack([derivative(function, x) for x in batch])
    assert torch.equal(vmap(function)(batch), torch.stack([function(x) for x in batch]))
    for x, rows in zip(batch, wanted, strict=True):
        assert torch.equal(jacfwd(function)(x), rows)
        moving = torch.stack(
            [jvp(into_still, (x,), (e,))[1] for e in steps]
        )  # of its own, none is a batch
        assert torch.equal(moving.permute(1, 2, 0).reshape(3, 3, 3, 3), derivative(into_still, x))
    assert torch.equal(vmap(jacfwd(function))(batch), wanted)
    assert torch.equal(vmap(jacrev(function))(batch), wanted)


def test_the_memory_of_all_examples_is_refused() -> None:
    with pytest.raises(RuntimeError, match="as_strided is of the memory of all examples"):
        vmap(lambda x: x.as_strided((2,), (2,), 1))(torch.arange(8.0).view(2, 4))


def test_who_writes_to_a_tensor_leaves_the_tangents_of_others() -> None:
    tangent = torch.tensor([1.0, 2.0])
    with fw.dual_level():
        dual = fw.make_dual(torch.tensor([3.0, 4.0]), tangent)
        same = dual * 1
        same.zero_()
        assert fw.unpack_dual(same).tangent.tolist() == [0, 0]  # type: ignore[union-attr]  # it moves
        assert fw.unpack_dual(dual).tangent.tolist() == [1, 2]  # type: ignore[union-attr]
    assert tangent.tolist() == [1, 2]


class Cube(torch.autograd.Function):
    """x**3, whose derivatives are the user's."""

    @staticmethod
    def forward(x: Any) -> Any:
        return x**3

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 3 * x**2 * cotangent

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 3 * x**2 * tangent


def test_functions_of_users() -> None:
    assert jvp(Cube.apply, (X,), (torch.ones_like(X),))[1].numpy() == pytest.approx(
        3 * X.numpy() ** 2
    )
    assert vmap(grad(Cube.apply))(X).numpy() == pytest.approx(3 * X.numpy() ** 2)
    assert jacrev(Cube.apply)(X).numpy() == pytest.approx(np.diag(3 * X.numpy() ** 2))
    assert jacfwd(Cube.apply)(X).numpy() == pytest.approx(np.diag(3 * X.numpy() ** 2))
    assert grad(grad(Cube.apply))(X[0]).item() == pytest.approx(6 * X[0].item())


class Total(torch.autograd.Function):
    """The sum of a list of tensors, of which the first has a gradient."""

    @staticmethod
    def forward(ctx: Any, first: Any, others: Any) -> Any:
        return first + sum(others)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * g, None


def test_functions_of_users_without_a_context_of_their_own_take_examples() -> None:
    x = torch.arange(3.0)
    assert vmap(lambda x: Total.apply(x, [x, torch.tensor(1.0)]))(x).tolist() == [1.0, 3.0, 5.0]
    assert vmap(grad(lambda x: Total.apply(x, [x.detach()])))(x).tolist() == [2.0, 2.0, 2.0]
    inner = vmap(vmap(Total.apply, in_dims=(0, None)), in_dims=(0, None))
    assert inner(torch.ones(2, 3), [torch.tensor(1.0)]).tolist() == [[2.0] * 3] * 2


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "adds": lambda b, x: b.add_(x),
    "sets": lambda b, x: b.__setitem__(0, 5.0),
    "copies": lambda b, x: b.copy_(x),
    "zeroes": lambda b, x: b.zero_(),
    "through a view": lambda b, x: b[:2].add_(1),
    "without a graph": lambda b, x: torch.no_grad()(b.add_)(1),
}


@pytest.mark.parametrize("transformed", [
    lambda f, x: grad(f)(x), vjp, lambda f, x: jvp(f, (x,), (x,)), lambda f, x: jacrev(f)(x),
    lambda f, x: grad(lambda y: grad(f)(y).sum())(x),
], ids=["grad", "vjp", "jvp", "jacrev", "grad of grad"])  # fmt: skip
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_what_a_function_has_captured_is_not_written_to(
    transformed: Callable[..., Any], write: Callable[[Any, Any], Any]
) -> None:
    """What it has made may be, and what vmap's functions have captured."""
    captured, x = torch.ones(3), torch.tensor([1.0, 2.0, 3.0])

    def function(x: Any) -> Any:
        write(captured, x)
        return (captured * x).sum()

    with pytest.raises(
        RuntimeError, match="in-place operation that would mutate a captured Tensor"
    ):
        transformed(function, x)
    assert captured.tolist() == [1.0, 1.0, 1.0]

    def own(x: Any) -> Any:
        write(made := torch.ones(3), x)
        return (made * x * x).sum()

    transformed(own, x)


def test_vmap_writes_to_what_is_captured() -> None:
    captured = torch.ones(3)
    assert vmap(lambda x: (captured.zero_(), (captured + x).sum())[1])(
        torch.ones(2, 3)
    ).tolist() == [3.0, 3.0]


def test_jvp_writes_to_its_inputs() -> None:
    """By x's double, which was there before, and its tangent."""
    x = torch.tensor([1.0, 2.0])
    value, moved = jvp(lambda x: x.mul_(2).sum(), (x.clone(),), (torch.ones(2),))
    assert (value.item(), moved.item()) == (6.0, 4.0)
