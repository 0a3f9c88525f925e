"""Slices by name: ``slice_copy``, what a slice was one of, and indices of several axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.errors import AxisError
from gradcli.ops.arrays.shapes import getitem
from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.spec import Op
from gradcli.ops.structure import clone, overwrite
from gradcli.tensors.core import storage
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.node import Node, Shaped, node_class
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.apply import apply
from gradcli.tensors.dispatch.checked_calls import all_checked, checked
from gradcli.tensors.dispatch.library_calls import call
from gradcli.tensors.dispatch.regions import region

Bound = int | None


def _index(rank: int, dim: int, start: Bound, end: Bound, step: int) -> tuple[Any, ...]:
    """Entries from start to end along an axis, as an index."""
    if not rank:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    if not -rank <= dim < rank:
        raise AxisError(dim, rank)
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    return (*((None, None, None),) * (dim % rank), (start, end, step), ...)


def _slice_copy(x: Tensor, dim: int = 0, start: Bound = None, end: Bound = None, step: int = 1) -> Tensor:
    part: Tensor = apply(getitem, (x,), {"index": _index(x.ndim, dim, start, end, step)})
    with_node = part.node
    copied: Tensor = apply(clone, (part,), {})
    if copied.node is not None and with_node is not None:
        copied.node, with_node.label = with_node, "SliceBackward0_copy"
    return copied


def _inverse_vjp(wanted: Any, cotangent: Any, out: Any, x: Any, src: Any, index: Any) -> tuple[Any, ...]:
    part = getitem(cotangent, index=index)
    if tuple(part.shape) != tuple(x.shape):
        raise RuntimeError(
            f"Function SliceInverseBackward0 returned an invalid gradient at index 0 - got {list(part.shape)} but expected shape "
            f"compatible with {list(x.shape)}"
        )
    return part if wanted[0] else None, overwrite(cotangent, 0.0, index=index) if wanted[1] else None


def _unregistered(*_: Any, **__: Any) -> Any:
    raise NotImplementedError("slice_inverse is a view, which is made in memory")


_INVERSE = Op("slice_inverse", ("x", "src"), _unregistered, _unregistered, "structural", "", vjp=_inverse_vjp, static={"index": ()})


def _slice_inverse(x: Tensor, src: Tensor, dim: int = 0, start: Bound = None, end: Bound = None, step: int = 1) -> Tensor:
    """x as a view that lies in its memory as src lies in its own one: of a slice, what it was one of."""
    stride, offset = storage.strides(src.array), storage.start(src.array)
    array = storage.placed(x.array, src.array.shape, stride, offset)
    whole = region(x, array, lambda tangent: _slice_inverse(tangent, src, dim, start, end, step), "SliceInverse")
    sources = (x.source(), src.source())
    if state.recording and not state.inference and sources != (None, None):
        index = _index(src.ndim, dim, start, end, step)
        node: Node = node_class("SliceInverseBackward0")(_INVERSE, sources, {"index": index}, array.shape, array.dtype)
        node.saved = [Shaped(array), Shaped(x.array), Shaped(src.array)]
        whole.node, whole._requires_grad = node, True
    return whole


def _index_of(x: Tensor, positions: Any, dims: Any) -> Tensor:
    """The entries at places along axes: ``x.index((0, 2), (1, i))`` is ``x[1, :, i]``."""
    axes = positions if isinstance(positions, (tuple, list)) else (positions,)
    places = dims if isinstance(dims, (tuple, list)) else (dims,)
    if len(axes) != len(places):
        raise AssertionError(f"dimensions don't match: {len(axes)} positions and {len(places)} places")
    chosen: dict[int, Any] = {}
    for axis, place in zip(axes, places, strict=True):
        if isinstance(axis, bool) or not isinstance(axis, int) or not -x.ndim <= axis < x.ndim:
            raise TypeError(f"expected a dimension specifyer but found {axis!r}")
        chosen[axis % x.ndim] = place
    if len(chosen) != len(axes):
        raise TypeError(f"an axis is named twice: {tuple(axes)}")
    found: Tensor = x[tuple(chosen.get(axis, slice(None)) for axis in range(x.ndim))]
    return found


_index_of.__qualname__ = "Tensor.index"


def _split_along(name: str) -> Callable[..., Any]:
    """The method, which takes indices one by one, too."""

    def split(x: Tensor, *given: Any, **named: Any) -> Any:
        one_by_one = len(given) > 1 and all(isinstance(index, int) for index in given)
        return call(name, TORCH, (x, *([list(given)] if one_by_one else given)), named)

    return split


SLICES: dict[str, Callable[..., Any]] = all_checked({"slice_copy": _slice_copy, "slice_inverse": _slice_inverse})
SLICE_METHODS: dict[str, Callable[..., Any]] = all_checked({"slice_inverse": _slice_inverse, "index": _index_of}, "Tensor") | {
    name: checked(_split_along(name), name, "Tensor") for name in ("hsplit", "vsplit", "dsplit")
}  # fmt: skip
