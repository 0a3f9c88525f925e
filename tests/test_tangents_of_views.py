"""The tangent of a view is that view of its base's tangent: under every transformation, whichever
began to move first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from recorded import over

import gradcli as torch
import gradcli.autograd.forward_ad as fw
from gradcli.func import grad, hessian, jacfwd, jacrev, jvp, vmap

X = torch.tensor(np.arange(12.0).reshape(3, 4) + 1)


def one_hot(by_numpy: str) -> np.ndarray:
    """The Jacobian of a view: which entry each of its entries is."""
    places = eval(by_numpy, {"np": np, "x": np.arange(12).reshape(3, 4)})
    return np.asarray(np.eye(12)[places].reshape(*places.shape, 3, 4))


@over("regions", "views", "text", "by_numpy")
def test_jacobians_of_views(text: str, by_numpy: str) -> None:
    """In forward mode all unit vectors share one primal, whose entries stand in memory once."""
    wanted, view = one_hot(by_numpy), eval(f"lambda x: {text}")
    for taken in (jacfwd, jacrev):
        assert taken(view)(X).numpy() == pytest.approx(wanted)
        assert taken(lambda x: view((x.t() * 1).t()))(X).numpy() == pytest.approx(
            wanted
        )  # laid out in another order
    rows = wanted.reshape(-1, 12)
    assert hessian(lambda x: (view(x) ** 2).sum())(X).numpy().reshape(12, 12) == pytest.approx(
        2 * rows.T @ rows
    )


def written(x: Any) -> tuple[Any, ...]:
    """Views of a base that begins to move after they were taken: itself, by another view, and as a
    whole.
    """
    base = (
        torch.zeros(2, 3, dtype=torch.float64) + x * 0
        if x.ndim > 1
        else torch.zeros(2, 3, dtype=torch.float64)
    )
    row, corner, across = base[0], base[0][1:], base.t()[2]
    base.copy_(x)
    row.mul_(3.0)
    return base, row, corner, across


BASE = np.array([[3.0, 6.0, 9.0], [4.0, 5.0, 6.0]])  # of 1, ..., 6, whose first row is tripled
WRITTEN = (BASE, BASE[0], BASE[0, 1:], BASE[:, 2])


def by_dual_level(t: Any) -> Any:
    with fw.dual_level():
        return [fw.unpack_dual(part).tangent for part in written(fw.make_dual(t, t))]


def by_example(t: Any) -> Any:
    pair = torch.stack([t * 0, t])
    return [part[1] for part in vmap(lambda x, v: jvp(written, (x,), (v,)))(pair, pair)[1]]


@pytest.mark.parametrize(
    "tangents",
    [
        lambda t: jvp(written, (t,), (t,))[1],
        by_dual_level,
        by_example,
        lambda t: jvp(lambda x: jvp(written, (x,), (x,))[1], (t,), (t,))[1],
        lambda t: jvp(lambda x: [p[0] for p in vmap(written)(x[None])], (t,), (t,))[1],
        lambda t: jvp(grad(lambda z: (written(z)[0] ** 2).sum()), (t,), (t,))[1] / 2,
    ],
    ids=["jvp", "dual level", "vmap of jvp", "jvp of jvp", "jvp of vmap", "jvp of grad"],
)
def test_views_that_are_older_than_the_motion(tangents: Any) -> None:
    found = tangents(torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=torch.float64))
    if isinstance(
        found, torch.Tensor
    ):  # of the sum of the squares: a row that is tripled is so twice
        assert found.numpy() == pytest.approx(BASE * [[3], [1]])
        return
    for part, wanted in zip(found, WRITTEN, strict=True):
        assert part.numpy() == pytest.approx(wanted)


def test_tangents_follow_what_is_written_through_views() -> None:
    tangent = torch.arange(6.0).reshape(3, 2).t()
    with fw.dual_level():
        x = fw.make_dual(torch.ones(2, 3), tangent)
        kept, diagonal, across = (
            fw.unpack_dual(x[0]).tangent,
            x.diagonal(),
            x.as_strided((2,), (3,), 1),
        )
        diagonal.mul_(10.0)
        assert kept.tolist() == [0.0, 2.0, 4.0]  # of another view, taken before
        assert fw.unpack_dual(x).tangent.tolist() == [[0.0, 2.0, 4.0], [1.0, 30.0, 5.0]]
        assert fw.unpack_dual(across).tangent.tolist() == [2.0, 30.0]
    assert tangent.tolist() == [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]


@over("regions", "rearranged", "text", "wanted")
def test_what_is_rearranged_in_place_moves_so(text: str, wanted: Any) -> None:
    t = torch.arange(6.0).reshape(2, 3)

    def function(x: Any) -> Any:
        x = x.clone()
        assert eval(text, {"x": x}) is x
        return x

    value, tangent = jvp(function, (t + 1,), (t,))
    assert tangent.tolist() == wanted
    assert (value - 1).tolist() == wanted
    assert vmap(function)(torch.stack([t, t + 1]))[1].tolist() == (tangent + 1).tolist()
    assert (
        jacfwd(function)(t).reshape(-1, 6).matmul(t.reshape(-1)).tolist()
        == tangent.reshape(-1).tolist()
    )


# -- where all columns of a Jacobian cannot be computed at once
# ---------------------------------------------------


def filled(x: Any) -> Any:
    result = torch.zeros(3, dtype=torch.float64)
    result[0] = x[0] * x[1]
    result[1:] = x
    return result


def branching(x: Any) -> Any:
    return x**3 * x[0] if x.sum() > 0 else x


POINT = torch.tensor([1.0, 2.0], dtype=torch.float64)
FILLED = [[2.0, 1.0], [1.0, 0.0], [0.0, 1.0]]


def test_jacobians_of_functions_that_write_to_new_tensors() -> None:
    """The value is the same for all columns, so that it may decide what is done, and be
    written to.
    """
    assert jacfwd(filled)(POINT).tolist() == jacrev(filled)(POINT).tolist() == FILLED
    assert hessian(lambda x: (filled(x) ** 2).sum())(POINT).tolist() == [
        [10.0, 8.0],
        [8.0, 4.0],
    ]  # of x^2 y^2 + x^2 + y^2
    assert jacfwd(branching)(POINT).tolist() == [[4.0, 0.0], [8.0, 12.0]]
    assert hessian(lambda x: branching(x).sum())(POINT).tolist() == [
        [12.0, 12.0],
        [12.0, 12.0],
    ]  # of x^4 + x y^3
    assert jacfwd(lambda x: x * x.sum().item())(POINT).tolist() == [[3.0, 0.0], [0.0, 3.0]]
    columns, aux = jacfwd(lambda x: (branching(x), x.sum()), has_aux=True)(POINT)
    assert (columns.tolist(), aux.item()) == ([[4.0, 0.0], [8.0, 12.0]], 3.0)


def test_what_a_function_writes_it_writes_once() -> None:
    """Columns that are computed one after the other see what the first one saw, and leave what one
    of them leaves.
    """

    def function(x: Any, y: Any, turned: Any) -> Any:
        y.mul_(2.0)
        turned.t_()
        kept = torch.zeros(2)
        kept.copy_(y * x)  # which is another number for each column
        return kept * x * turned[0, 0]

    x, y, turned = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0]), torch.tensor([[1.0, 2.0]])
    assert jacfwd(function)(x, y, turned).tolist() == [[4.0, 0.0], [0.0, 24.0]]  # of 2 y x^2
    assert (y.tolist(), turned.tolist()) == ([2.0, 6.0], [[1.0], [2.0]])
    base = torch.tensor([[1.0, 3.0]])
    assert hessian(lambda x, y: (y.sub_(x.sum()) * 0 + x**2).sum())(x, base[0]).tolist() == [
        [2.0, 0.0],
        [0.0, 2.0],
    ]
    assert base.tolist() == [[-2.0, 0.0]]
    total = torch.zeros(2)
    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
        jacfwd(lambda x: total.add_(x) * x)(x)
    assert jacfwd(jacfwd(lambda x: filled(x).sum()))(POINT).tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_columns_have_graphs_of_their_own() -> None:
    """What one column keeps for the backward pass is not written to by the next."""

    def function(x: Any) -> Any:
        inner = torch.zeros(2, dtype=torch.float64)
        inner.copy_(x * x)
        inner.sin_()
        return (inner * inner).sum()

    at = POINT.numpy() ** 2  # of sin(x^2)^2, twice
    wanted = np.diag(2 * np.sin(2 * at) + 8 * at * np.cos(2 * at))
    for second in (
        jacrev(jacfwd(function)),
        jacfwd(jacrev(function)),
        jacfwd(jacfwd(function)),
        jacrev(jacrev(function)),
    ):
        assert second(POINT).numpy() == pytest.approx(wanted)


def test_what_examples_share_is_not_written_to() -> None:
    def function(x: Any, w: Any) -> Any:
        x[0] = w
        return (x**2).sum()

    with pytest.raises(
        RuntimeError,
        match="more than one element of the written-to tensor refers to a single memory location",
    ):
        vmap(lambda w: jvp(lambda x: function(x, w), (torch.ones(3),), (torch.ones(3) * w,)))(
            torch.arange(2.0)
        )
