"""``torch.vmap``: a function of one example, applied to many at once.

The file also says what it makes of operations: a batched operand makes an operation one on physical
tensors, with the levels' axes in front.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.ops.arrays.reshaping import movedim
from gradcli.ops.batching import on_batch
from gradcli.ops.spec import Op
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.levels import (
    Batched,
    BatchLevel,
    Levels,
    along_level,
    at_level,
    enter_level,
    extents,
    in_front,
    levels_of,
    one_by_one,
    rewrap,
)
from gradcli.tensors.core.modes import Transforming
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.apply import apply, apply_unbatched


def interpret(op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
    """Return the result of an operation on operands of which some may be batched."""
    batched = any(isinstance(operand, Batched) for operand in operands)
    return (_of_batch if batched else apply_unbatched)(op, operands, static)


def _of_batch(op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
    levels = levels_of(operands)
    if op.elementwise:
        result = apply(op, _side_by_side(operands, levels), static)
    else:
        full = op.core_dims is None  # operations on the last axes may broadcast those in front
        physical = [None if x is None else in_front(_array(x), levels, full=full) for x in operands]
        result = on_batch(op, extents(levels), physical, {**op.static, **static})
        if result is None:
            return one_by_one(lambda *parts: apply(op, parts, static), operands, {})
    if isinstance(result, tuple):
        return tuple(rewrap(part, levels) for part in result)
    return rewrap(result, levels)


def _array(x: Any) -> Any:
    return x if isinstance(x, (Tensor, np.ndarray)) else np.asarray(x)


def _side_by_side(operands: Sequence[Any], levels: Levels) -> list[Any]:
    """Return operands such that their examples broadcast.

    Axes of one entry stand between the levels' axes and those of operands with fewer axes.
    """
    rank = max([x.ndim for x in operands if isinstance(x, (Tensor, np.ndarray))])
    kinds = {x.dtype for x in operands if isinstance(x, Tensor)}
    if len(kinds) > 1:  # the rank of an example decides its dtype, not that of the batch
        operands = _promote(operands)
    return [in_front(x, levels, rank) if isinstance(x, Batched) else x for x in operands]


def _promote(operands: Sequence[Any]) -> list[Any]:
    examples = [
        np.empty((1,) * x.ndim, x.dtype.numpy) if isinstance(x, Tensor) else x for x in operands
    ]
    common = dtypes.result_type([e for e in examples if e is not None])
    floats = common.kind in dtypes.FLOATS
    return [
        x.to(dtypes.of_numpy(common))
        if floats and isinstance(x, Tensor) and x.dtype.is_floating_point
        else x
        for x in operands
    ]


# -- Trees of tensors: lists, tuples, named tuples and dictionaries, nested, and what stands at
# their ends.


class Spec(NamedTuple):
    """Structure of a tree: its kind, its parts' names, and their structures.

    The structure of an end has none of these.
    """

    kind: Any = None
    names: tuple[Any, ...] = ()
    parts: tuple[Any, ...] = ()

    def size(self) -> int:
        """Return how many ends there are."""
        return 1 if self.kind is None else sum(part.size() for part in self.parts)

    def unflatten(self, ends: Iterable[Any]) -> Any:
        """Return the tree with these ends, one after the other."""
        ends = iter(ends)
        if self.kind is None:
            return next(ends)
        parts = [part.unflatten(ends) for part in self.parts]
        if issubclass(self.kind, dict):
            return self.kind(zip(self.names, parts, strict=True))
        return self.kind(*parts) if self.names else self.kind(parts)


_END = Spec()


def flatten(tree: Any) -> tuple[list[Any], Spec]:
    """Return the ends of a tree, from left to right, and its structure."""
    kind: Any = type(tree)
    if isinstance(tree, dict):
        kind = OrderedDict if isinstance(tree, OrderedDict) else dict
        names = tuple(tree)
        parts = [flatten(part) for part in tree.values()]
    elif kind in (list, tuple) or hasattr(kind, "_fields"):
        names = getattr(kind, "_fields", ())
        parts = [flatten(part) for part in tree]
    else:
        return [tree], _END
    return [end for ends, _ in parts for end in ends], Spec(
        kind, names, tuple(spec for _, spec in parts)
    )


def map_ends(function: Callable[..., Any], tree: Any) -> Any:
    """Return the tree with the function applied to each of its ends."""
    ends, spec = flatten(tree)
    return spec.unflatten(map(function, ends))


def broadcast_prefix(prefix: Any, spec: Spec) -> list[Any] | None:
    """Return the ends of a tree, one for each end of another structure.

    The tree's own ends stand for whole parts of that structure. It is None if the two do not fit.
    """
    if spec.kind is None:
        return [prefix]
    _, own = flatten(prefix)
    if own.kind is None:
        return [prefix] * spec.size()
    if (own.kind, len(own.parts)) != (spec.kind, len(spec.parts)) or own.names != spec.names:
        return None
    found = [
        broadcast_prefix(part, inner)
        for part, inner in zip(
            prefix.values() if isinstance(prefix, dict) else prefix, spec.parts, strict=True
        )
    ]
    return (
        None
        if any(part is None for part in found)
        else [end for part in found for end in part or ()]
    )


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0) -> Callable[..., Any]:
    """Return the function of batches that corresponds to a function of examples.

    in_dims   the axis of each argument that has the examples, None for one that they share
    out_dims  the axis of each result to have them
    """
    name = getattr(func, "__name__", repr(func))

    @functools.wraps(func)
    def run(*arguments: Any, **keywords: Any) -> Any:
        size, dims, ends, spec = _inputs(name, in_dims, arguments)
        level = BatchLevel(size)
        with enter_level(level), Transforming():
            given = [
                x if d is None else at_level(move_axis(x, d, 0), level)
                for x, d in zip(ends, dims, strict=True)
            ]
            result = func(*spec.unflatten(given), **keywords)
            outputs, structure = flatten(result)
            listed = isinstance(result, Tensor) and isinstance(out_dims, tuple)
            many = listed and len(out_dims) != 1
            places = (
                None if many else broadcast_prefix(out_dims[0] if listed else out_dims, structure)
            )
            if places is None:
                raise ValueError(
                    f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not "
                    "compatible with the structure of `outputs`."
                )
            return structure.unflatten(
                [_output(name, x, place, level) for x, place in zip(outputs, places, strict=True)]
            )

    return run


def _inputs(
    name: str, in_dims: Any, arguments: tuple[Any, ...]
) -> tuple[int, list[int | None], list[Any], Spec]:
    """Return how many examples there are, and the arguments' ends with their axes.

    The axis of an end is the one that has the examples.
    """
    head = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): "
    ends, spec = flatten(arguments)
    dims = (
        broadcast_prefix(in_dims, spec) if arguments and isinstance(in_dims, (int, tuple)) else None
    )
    if dims is None:
        raise ValueError(f"{head}in_dims is not compatible with the structure of `inputs`.")
    for i, (x, dim) in enumerate(zip(ends, dims, strict=True)):
        if dim is None:
            continue
        if not isinstance(dim, int) or not isinstance(x, Tensor):
            raise ValueError(
                f"{head}Got in_dim={dim} for an input of type {type(x)}: it is an axis of a "
                "Tensor, or None for what all share"
            )
        if not -x.ndim <= dim < x.ndim:
            raise ValueError(
                f"{head}Got in_dim={dim} for some input, but that input is a Tensor of "
                f"dimensionality {x.ndim} so expected in_dim to "
                f"satisfy -{x.ndim} <= in_dim < {x.ndim}."
            )
        dims[i] = dim % x.ndim
    sizes = {x.shape[d] for x, d in zip(ends, dims, strict=True) if d is not None}
    if len(sizes) != 1:
        raise ValueError(
            f"{head}Expected at least one Tensor, and all to have one size in the mapped "
            f"dimension, not {sorted(sizes)}"
        )
    return sizes.pop(), dims, ends, spec


def _output(name: str, x: Any, place: int | None, level: BatchLevel) -> Any:
    if place is None:
        if isinstance(x, Batched) and level in x.levels:
            raise ValueError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"
            )
        return x
    if not isinstance(x, Tensor) or not isinstance(place, int):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, each with an int or None in "
            f"out_dims, got type {type(x)} and {place}"
        )
    if not -x.ndim - 1 <= place <= x.ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-x.ndim - 1}, {x.ndim}], but "
            f"got {place})"
        )
    return move_axis(along_level(x, level), 0, place)


def move_axis(x: Any, source: int, destination: int) -> Any:
    """Return a tensor with an axis moved to another place."""
    return x if source == destination else movedim(x, source=source, destination=destination)
