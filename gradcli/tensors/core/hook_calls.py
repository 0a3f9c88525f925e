"""What hooks make of gradients on their way, and how gradients arrive at leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gradcli.graph.sweep import Parts
from gradcli.ops.arrays.shapes import sum_to
from gradcli.ops.structure import clone
from gradcli.tensors.core.hooks import Hooks
from gradcli.tensors.core.node import AccumulateGrad, Node, Watch
from gradcli.tensors.core.tensor import Tensor


def _of(hooks: Hooks) -> Iterator[Any]:
    """Hooks one after the other, as they were before the first one."""
    yield from list(hooks.values())


def seen(watch: Watch, cotangent: Any, create_graph: bool) -> Any:
    """The cotangent that hooks make of one, which is kept if its tensor retains its gradient."""
    for hook in _of(watch.hooks):
        given = cotangent if isinstance(cotangent, Tensor) else Tensor(np.asarray(cotangent))
        replaced = hook(given)
        if replaced is not None:
            if not isinstance(replaced, Tensor):
                raise TypeError(f"expected Variable, but hook returned '{type(replaced).__name__}'")
            if replaced.array.shape != given.array.shape:
                raise RuntimeError(
                    f"hook '{getattr(hook, '__name__', 'hook')}' has changed the size of value. It is {replaced.shape}, not {given.shape}"
                )
            cotangent = replaced if create_graph else replaced.array
    tensor = None if watch.retained is None else watch.retained()
    if tensor is not None:
        add_to_grad(tensor, cotangent, create_graph)
    return cotangent


def as_tensor(part: Any) -> Any:
    return part if part is None or isinstance(part, Tensor) else Tensor(np.asarray(part))


def prepared(hooks: Hooks, cotangent: Any, tensors: bool) -> Any:
    """The cotangents of a node's results that hooks before it make of these."""
    several = isinstance(cotangent, Parts)
    given = tuple(map(as_tensor, cotangent if several else (cotangent,)))
    for hook in _of(hooks):
        replaced = hook(given)
        if replaced is not None:
            given = _checked(hook, replaced, given)
    bare = [part if part is None or tensors else part.array for part in given]
    if not several:
        return bare[0]
    made = Parts(bare)
    made.shape, made.dtype = cotangent.shape, cotangent.dtype
    return made


def passed_on(hooks: Hooks, node: Node, parts: Sequence[Any], cotangent: Any, tensors: bool) -> Sequence[Any]:
    """Return what hooks after a node make of what it passes to its operands."""
    fitted = []
    for part, operand in zip(parts, node.operands, strict=True):
        whole = None if part is None or operand is None else as_tensor(part)
        if whole is not None and operand is not None and tuple(whole.shape) != operand.shape:
            whole = sum_to(whole, shape=operand.shape)
        fitted.append(whole)
    given = tuple(fitted)
    outputs = tuple(map(as_tensor, cotangent if isinstance(cotangent, Parts) else (cotangent,)))
    for hook in _of(hooks):
        replaced = hook(given, outputs)
        if replaced is not None:
            given = _checked(hook, replaced, given)
    return [part if part is None or tensors else part.array for part in given]


def _checked(hook: Any, replaced: Any, given: tuple[Any, ...]) -> tuple[Any, ...]:
    parts = (replaced,) if isinstance(replaced, Tensor) else replaced
    if not isinstance(parts, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(replaced).__name__}'")
    name = getattr(hook, "__name__", "hook")
    if len(parts) != len(given):
        raise RuntimeError(f"hook '{name}' has returned an incorrect number of values (got {len(parts)}, but expected {len(given)})")
    for new, old in zip(parts, given, strict=True):
        if new is not None and not isinstance(new, Tensor):
            raise TypeError(f"expected Variable, but hook '{name}' returned '{type(new).__name__}'")
        if new is not None and old is not None and new.shape != old.shape:
            raise RuntimeError(f"hook '{name}' has changed the size of value. It returned {new.shape} for {old.shape}")
    return parts


# -- leaves -----------------------------------------------------------------------------------------------------


def accumulated(node: AccumulateGrad, cotangent: Any, create_graph: bool) -> None:
    watch = node.watch
    if watch is not None and watch.before:
        cotangent = prepared(watch.before, cotangent, create_graph)
    first = node.variable._grad is None
    add_to_grad(node.variable, cotangent, create_graph)
    if watch is None:
        return
    if first:  # who writes to the gradient writes to what hooks see
        cotangent = node.variable._grad
    for hook in _of(watch.accumulated):
        if hook(node.variable) is not None:
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")
    for hook in _of(watch.after):
        hook((), (as_tensor(cotangent),))


def _copied(cotangent: Tensor) -> Tensor:
    """A gradient of one's own, which may be differentiated again."""
    copy: Tensor = clone(cotangent)
    if copy.node is not None:
        copy.node.label = "CopyBackwards"
    return copy


def add_to_grad(variable: Tensor, cotangent: Any, create_graph: bool) -> None:
    """Accumulate: in place once there is a gradient, so that those who hold it see the sum."""
    before = variable._grad
    if create_graph:
        variable._grad = _copied(cotangent) if before is None else before + cotangent
    elif before is None:
        variable._grad = Tensor(np.array(cotangent))
    else:
        before.array += cotangent
        before._version_counter[0] += 1
