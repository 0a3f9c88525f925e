"""Tensors that stand for a batch.

A function sees one example, and the memory has all of them along axes in front. All examples are in
one tensor, the physical one, which alone is in the graph. Its first axes are those of the levels
that it is batched along: one for each `vmap` that is under way, in the order in which these were
entered.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.ops.arrays.shapes import broadcast_to, getitem, reshape, stack
from gradcli.ops.structure import clone
from gradcli.tensors.core.modes import Mode, state
from gradcli.tensors.core.node import Node
from gradcli.tensors.core.tensor import Tensor
from gradcli.texts import words


class BatchLevel:
    """Level of one `vmap` that is under way.

    It has the number of examples, and the number of other levels around it.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.depth = len(state.batch_levels)

    def __lt__(self, other: BatchLevel) -> bool:
        """Return whether it was entered before."""
        return self.depth < other.depth


Levels = tuple[BatchLevel, ...]


class NotBatchedError(RuntimeError):
    """Step that cannot be done for all examples at once.

    It asks for entries, or writes to what the examples share.
    """


class Hidden:
    """Facts about a batched tensor's entries that all examples share.

    They are the shape, strides and dtype.
    """

    def __init__(self, array: np.ndarray, lead: int) -> None:
        self.shape: tuple[int, ...] = array.shape[lead:]
        self.strides = array.strides[lead:]
        self.dtype = array.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise NotBatchedError(
            "vmap: It looks like you're calling .item() on a Tensor. It may be something else "
            "that takes its entries out of it or decides "
            "by them. We don't support vmap over that: use torch.where for data-dependent control "
            "flow, or take it out of the function"
        )

    __array__ = __bool__ = __float__ = __int__ = __index__ = __iter__ = __getitem__ = (
        __setitem__
    ) = _refuse

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()


class Batched(Tensor):
    """A tensor as one example sees it."""

    __slots__ = ("levels", "physical")
    levels: Levels
    physical: Tensor

    def __init__(self, physical: Tensor, levels: Levels) -> None:
        self.physical = physical
        self.levels = levels

    @property
    def array(self) -> Any:  # type: ignore[override]  # who writes to it writes to the physical one
        return Hidden(self.physical.array, len(self.levels))

    def leaf_node(self) -> Node:
        return self.physical.leaf_node()

    def detach(self) -> Tensor:
        return Batched(self.physical.detach(), self.levels)

    def __repr__(self) -> str:
        return f"BatchedTensor(lvl={self.levels[-1].depth + 1}, bdim=0, value={self.physical!r})"


def _passed_on(name: str) -> property:
    """Return a property that stands for a field of the physical tensor."""
    return property(
        lambda x: getattr(x.physical, name), lambda x, value: setattr(x.physical, name, value)
    )


for _field in words("node _requires_grad _version_counter _accumulator requires_grad"):
    setattr(Batched, _field, _passed_on(_field))
Batched._view = property(lambda x: None, lambda x, view: None)  # type: ignore[assignment]  # of the physical tensors only
Batched._grad = property(lambda x: rewrap(x.physical._grad, x.levels), lambda x, g: None)  # type: ignore[assignment]


def rewrap(x: Any, levels: Levels) -> Any:
    """Return a physical tensor as one example sees it, and any other value unchanged."""
    return Batched(x, levels) if levels and isinstance(x, Tensor) else x


def physical(x: Any) -> Any:
    """Return the tensor that holds all examples; what is no batch is unchanged."""
    return x.physical if isinstance(x, Batched) else x


def memory_of(x: Tensor) -> np.ndarray:
    """Return the array that holds a tensor's entries, those of all examples."""
    array: np.ndarray = physical(x).array
    return array


def levels_of(operands: Iterable[Any]) -> Levels:
    """Return the levels that some operands are batched along, the outermost first."""
    found = {level for x in operands if isinstance(x, Batched) for level in x.levels}
    return tuple(sorted(found))


def extents(levels: Levels) -> tuple[int, ...]:
    return tuple(level.size for level in levels)


def in_front(x: Any, levels: Levels, rank: int | None = None, *, full: bool = False) -> Any:
    """Return the physical tensor with an axis in front for each of these levels.

    The axis has one entry if x is not batched along its level.

    rank  how many axes there are behind these, at least: others of one entry are put in between
    full  all examples have entries of their own
    """
    own = x.levels if isinstance(x, Batched) else ()
    whole = physical(x)
    shape = whole.shape[len(own) :]
    between = (1,) * max(0, (rank or 0) - len(shape))
    wanted = (*[level.size if level in own else 1 for level in levels], *between, *shape)
    found = whole if wanted == tuple(whole.shape) else reshape(whole, shape=wanted)
    every = (*extents(levels), *wanted[len(levels) :])
    return broadcast_to(found, shape=every) if full and every != wanted else found


def spread(x: Tensor, levels: Sequence[BatchLevel]) -> Any:
    """Return a tensor in which each example has entries of its own."""
    every = levels_of([x])
    every = tuple(sorted({*every, *levels}))
    return rewrap(in_front(x, every, full=True), every)


def own_entries(x: Tensor, levels: Levels) -> Any:
    """Return a tensor in which each example has entries of its own, in their own memory."""
    whole = spread(x, levels)
    return Batched(clone(whole.physical), whole.levels) if isinstance(whole, Batched) else x


def check_no_examples() -> None:
    """Refuse random numbers in a function of examples. Raises RuntimeError."""
    if state.batch_levels:
        raise RuntimeError(
            "vmap: called random operation while in a function of examples: draw the numbers "
            "before, and pass them as an argument"
        )


def at_level(x: Tensor, level: BatchLevel) -> Any:
    """Return a tensor as one example of a level sees it.

    Its first axis has the level's examples.
    """
    own = levels_of([x])
    return rewrap(physical(x), (*own, level))


def along_level(x: Tensor, level: BatchLevel) -> Any:
    """Return the examples of a level, the innermost one, along a first axis."""
    own = tuple(other for other in levels_of([x]) if other is not level)
    return rewrap(in_front(x, (*own, level), full=True), own)


def all_along(x: Any, levels: Levels) -> Any:
    """Return the examples of several levels along the first axes."""
    for level in reversed(levels):
        x = along_level(x, level)
    return x


# -- one example after the other -------------------------------------------------------------------


def one_by_one(
    function: Callable[..., Any], arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> Any:
    """Apply a function to one example after the other, and return the results as one batch.

    The examples are those of the innermost level of its arguments.
    """
    level = levels_in(arguments, keywords)[-1]
    results = [
        function(
            *[example(x, level, i) for x in arguments],
            **{n: example(x, level, i) for n, x in keywords.items()},
        )
        for i in range(level.size)
    ]
    return _together(results, level)


def listed_tensors(argument: Any) -> list[Any]:
    """Return the tensors of nested lists."""
    if isinstance(argument, (list, tuple)):
        return [x for part in argument for x in listed_tensors(part)]
    return [argument] if isinstance(argument, Tensor) else []


def levels_in(arguments: Any, keywords: Mapping[str, Any]) -> Levels:
    """Return the levels that arguments of a call are batched along."""
    return levels_of(listed_tensors((arguments, list(keywords.values()))))


def example(x: Any, level: BatchLevel, i: int) -> Any:
    """One example of what is batched along a level: of tensors, and of lists of them."""
    if isinstance(x, (list, tuple)) and not hasattr(x, "_fields"):
        return type(x)([example(part, level, i) for part in x])
    if not isinstance(x, Batched) or level not in x.levels:
        return x
    place = x.levels.index(level)
    part = getitem(x.physical, index=(*((None, None, None),) * place, i, ...))
    return rewrap(part, tuple(other for other in x.levels if other is not level))


def _together(results: Sequence[Any], level: BatchLevel) -> Any:
    first = results[0]
    if isinstance(first, tuple):
        parts = [_together([r[i] for r in results], level) for i in range(len(first))]
        return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)
    if not isinstance(first, Tensor):
        return first
    inner = tuple(other for other in levels_of(results) if other is not level)
    levels = tuple(sorted((*inner, level)))
    rows = [in_front(r, inner, full=True) for r in results]
    return rewrap(stack(*rows, axis=levels.index(level)), levels)


def by_example(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that asks for entries take one example after the other."""

    @functools.wraps(function)
    def run(*arguments: Any, **keywords: Any) -> Any:
        if state.batch_levels and levels_in(arguments, keywords):
            return one_by_one(function, arguments, keywords)
        return function(*arguments, **keywords)

    return run


def enter_level(level: BatchLevel) -> Mode:
    """Return the mode in which a level is under way.

    Operations are interpreted there (transforms/vectorizing.py).
    """
    return Mode(interpreter=Tensor.interpret, batch_levels=(*state.batch_levels, level))
