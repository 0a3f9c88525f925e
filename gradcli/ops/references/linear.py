"""References of products of arrays, and of vectors in space."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.references import of
from gradcli.ops.references.entries import Array, common, entries, number, reduced, total
from gradcli.ops.references.products import contracted, dot, matmul, outer
from gradcli.ops.references.shapes import objects

for _name, _product in (("torch_mm", matmul), ("torch_mv", matmul), ("torch_bmm", matmul), ("torch_dot", dot), ("torch_vdot", dot)):

    @of(_name)
    def ranked(m: Any, x: Any, y: Any, product: Any = _product) -> Any:
        return product(m, x, y)


@of("vdot")
def vdot(m: Any, x: Any, y: Any) -> Any:
    return number(total(m, [v * w for v, w in zip(entries(x), entries(y), strict=True)]))


@of("vecdot")
def vecdot(m: Any, x: Any, y: Any, axis: int) -> Any:
    return reduced(objects(objects(x) * objects(y)), axis, False, lambda row: total(m, row))


@of("inner")
def inner(m: Any, x: Any, y: Any) -> Any:
    if not np.ndim(x) or not np.ndim(y):
        return objects(x) * objects(y)
    left, right = [("x", i) for i in range(np.ndim(x) - 1)], [("y", i) for i in range(np.ndim(y) - 1)]
    return contracted(m, [x, y], [[*left, "over"], [*right, "over"]], [*left, *right])


def _over(x: Any, y: Any, axes: Any) -> tuple[list[int], list[int]]:
    if isinstance(axes, int):
        return list(range(np.ndim(x) - axes, np.ndim(x))), list(range(axes))
    pairs = [list(a) if isinstance(a, (tuple, list)) else [a] for a in axes]
    return [a % np.ndim(x) for a in pairs[0]], [a % np.ndim(y) for a in pairs[1]]


for _name in ("tensordot", "torch_tensordot"):

    @of(_name)
    def tensordot(m: Any, x: Any, y: Any, axes: Any) -> Any:
        """The sum of products over pairs of axes; one entry along an axis goes with any number of them."""
        first, second = _over(x, y, axes)
        left: list[Any] = [("x", a) for a in range(np.ndim(x))]
        right: list[Any] = [("y", a) for a in range(np.ndim(y))]
        for i, (a, b) in enumerate(zip(first, second, strict=True)):
            left[a] = right[b] = ("over", i)
        return contracted(m, [x, y], [left, right], [name for name in (*left, *right) if name[0] != "over"])


@of("kron")
def kron(m: Any, x: Any, y: Any) -> Any:
    return np.kron(objects(x), objects(y))


@of("chain_matmul", "multi_dot")
def chain_matmul(m: Any, *matrices: Any) -> Any:
    product = matrices[0]
    for factor in matrices[1:]:
        product = matmul(m, product, factor)
    return product


@of("matvec")
def matvec(m: Any, x: Any, y: Any) -> Any:
    return matmul(m, x, objects(y)[..., None])[..., 0]


@of("vecmat")
def vecmat(m: Any, x: Any, y: Any) -> Any:
    return matmul(m, objects(x)[..., None, :], y)[..., 0, :]


for _name, _product in (
    ("addmm", matmul), ("addmv", matmul), ("baddbmm", matmul), ("addr", outer),
    ("addbmm", lambda m, x, y: reduced(matmul(m, x, y), 0, False, lambda row: total(m, row))),
):  # fmt: skip

    @of(_name)
    def fused(m: Any, x: Any, first: Any, second: Any, beta: Any, alpha: Any, product: Any = _product) -> Any:
        made = product(m, first, second) * (m.one * alpha)
        return made if beta == 0 else made + objects(x) * (m.one * beta)


def _cross(m: Any, x: Any, y: Any) -> Array:
    """The vector product along the last axis, by the signs of permutations; a vector of the plane has 0 as its third entry."""
    signs = {(0, 1, 2): 1, (1, 2, 0): 1, (2, 0, 1): 1, (0, 2, 1): -1, (2, 1, 0): -1, (1, 0, 2): -1}
    lead = common(np.shape(x)[:-1], np.shape(y)[:-1])
    found = np.full((*lead, 3), m.zero, dtype=object)
    first, second = (np.broadcast_to(objects(v), (*lead, np.shape(v)[-1])) for v in (x, y))
    for (i, j, k), sign in signs.items():
        if j < first.shape[-1] and k < second.shape[-1]:
            found[..., i] = found[..., i] + sign * first[..., j] * second[..., k]
    return found


@of("cross")
def cross(m: Any, x: Any, y: Any, axisa: int, axisb: int, axisc: int, axis: int | None) -> Any:
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis, axis, axis)
    left, right = np.moveaxis(objects(x), axisa, -1), np.moveaxis(objects(y), axisb, -1)
    found = _cross(m, left, right)
    return found[..., 2] if left.shape[-1] == right.shape[-1] == 2 else np.moveaxis(found, -1, axisc)


@of("torch_cross", "linalg_cross")
def torch_cross(m: Any, x: Any, y: Any, axis: int | None) -> Any:
    place = np.shape(x).index(3) if axis is None else axis
    return np.moveaxis(_cross(m, np.moveaxis(objects(x), place, -1), np.moveaxis(objects(y), place, -1)), -1, place)


def turned(x: Any) -> Array:
    return np.swapaxes(objects(x), -1, -2)
