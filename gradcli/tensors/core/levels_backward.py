"""Vector-Jacobian products of tensors that are batched or move: products of those that are neither."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.ops.arrays.shapes import transpose
from gradcli.tensors.core.batched import Batched, in_front, levels_of, rewrapped
from gradcli.tensors.core.levels import moving_by, tangent_of
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.tensor import Tensor

Products = Callable[..., list[Tensor | None]]  # of ys, xs and seeds, and of whether the graph is kept, and made (core/backward.py)


def of_batch(
    products: Products, ys: Sequence[Tensor], xs: Sequence[Tensor], seeds: Sequence[Any], retain: bool, create_graph: bool
) -> list[Tensor | None]:
    """Of batched tensors: the graph is that of the physical ones. Seeds that are batched along further levels stay so."""
    further = tuple(level for level in levels_of(seeds) if level not in levels_of(ys))
    given = []
    for y, seed in zip(ys, seeds, strict=True):
        own = levels_of([y])
        every = levels_of([y, Batched(Tensor(np.zeros([level.size for level in further])), further)]) if further else own
        whole = in_front(seed if isinstance(seed, Tensor) else Tensor(seed), every, full=True)
        order = [every.index(level) for level in (*further, *own)]
        given.append(rewrapped(_permuted(whole, order), further))
    for x in xs:
        if not set(levels_of(ys)) <= set(levels_of([x])):
            raise RuntimeError(
                "vmap: the gradient by a tensor that all examples share would be summed over them; take it by torch.func.grad, which gives "
                "each example its own"
            )
    bare = [[t.physical if isinstance(t, Batched) else t for t in tensors] for tensors in (ys, xs)]
    found = products(bare[0], bare[1], given, retain, create_graph)
    results: list[Tensor | None] = []
    for x, part in zip(xs, found, strict=True):
        own = levels_of([x])
        if not isinstance(part, Batched):
            results.append(rewrapped(part, own))
            continue
        every = tuple(sorted((*further, *own), key=lambda level: level.depth))
        stands = (*further, *own)
        results.append(rewrapped(_permuted(part.physical, [stands.index(level) for level in every]), every))
    return results


def _permuted(x: Any, order: Sequence[int]) -> Any:
    """The first axes in an order."""
    return x if list(order) == sorted(order) else transpose(x, axes=(*order, *range(len(order), x.ndim)))


def of_moving(
    products: Products, ys: Sequence[Tensor], xs: Sequence[Tensor], seeds: Sequence[Any], retain: bool, create_graph: bool, place: int
) -> list[Tensor | None]:
    """Of tensors that move: v J moves by v' J, and as J does, which is what the product with the y' is.

    The second derivative is the same in either order, so that no graph of tangents has to be kept: y' has one of its own.
    """
    level = state.forward_levels[place]
    before = state.change(forward_levels=state.forward_levels[:place])
    try:
        vs = [seed if isinstance(seed, Tensor) else Tensor(seed) for seed in seeds]
        found = products(ys, xs, vs, True, create_graph)
        pairs = [(y, t) for y, v in zip(ys, vs, strict=True) if (t := tangent_of(v, level)) is not None]
        pairs += [(t, v) for y, v in zip(ys, vs, strict=True) if (t := tangent_of(y, level)) is not None and t.requires_grad]
        moved = products([y for y, _ in pairs], xs, [v for _, v in pairs], retain, create_graph) if pairs else [None] * len(xs)
    finally:
        state.change(**before)
    results: list[Tensor | None] = []
    for x, product, tangent in zip(xs, found, moved, strict=True):
        part = product
        if part is None and tangent is not None:
            part = Tensor(np.zeros(x.array.shape, x.array.dtype))
        if part is not None and tangent is not None:
            part = moving_by(part, level, tangent)
        results.append(part)
    return results
