"""Attributes and methods of values that code is full of beside mathematics: sizes, dtypes, copies, devices, conversions.

What a program writes to move numbers between devices, to copy them or to lay them out in memory changes nothing here.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError, TypeMismatchError, UnknownNameError
from gradcli.graph.nodes import Expr
from gradcli.language import conversions
from gradcli.language.calls import call, result_of
from gradcli.language.coercion import index_of
from gradcli.language.constructors import array, full, item, ones, zeros
from gradcli.language.index_makers import nonzero, nonzero_rows
from gradcli.language.names import Thing
from gradcli.language.scope import Builder, Routine, routines
from gradcli.ops.arrays import shapes
from gradcli.ops.arrays.joining_and_splitting import mixed
from gradcli.ops.arrays.shapes import StaticArray, broadcast_to, getitem, reshape, scatter_add
from gradcli.ops.axes import numbered, numpy_index
from gradcli.ops.calling.prefixes import NUMPY, TORCH, DType
from gradcli.ops.elementwise import bounds
from gradcli.ops.structure import detach

# -- JAX's updates: ``x.at[index].set(v)`` is x with other entries there, and x stays as it is.
# Differentiated by x and by v.
#
# Where an index names an entry several times, the updates follow one another, as in JAX.


_PARAMETERS = "-indices_are_sorted, -unique_indices, -bounds_mode|mode"


class At(Thing):
    """``x.at``."""

    written = "x.at"

    def __init__(self, base: Expr) -> None:
        self.base, self.parts = base, (base,)

    def subscript(self, builder: Builder, items: list[Any]) -> Any:
        return Entries(self.base, index_of(builder, items))


class Entries(Thing):
    """``x.at[index]``."""

    written = "x.at[...]"

    def __init__(self, base: Expr, index: tuple[Any, ...]) -> None:
        self.base, self.index, self.parts = base, index, (base,)

    def attribute(self, builder: Builder, name: str) -> Any:
        if name == "get":
            return Routine(name, f"{_PARAMETERS}, -bounds_value|fill_value", lambda builder: getitem(self.base, index=self.index))
        if name == "set":
            return Routine(name, f"values, {_PARAMETERS}", self._set)
        if name == "add":
            return Routine(name, f"values, {_PARAMETERS}", self._add)
        combine = _combination(name)
        if combine is not None:
            return Routine(name, f"values, {_PARAMETERS}", self._combined(combine))
        if name == "apply":
            raise TypeMismatchError("a function cannot be handed to apply", help="write x.at[0].set(sin(x[0]))")
        raise UnknownNameError(
            f"x.at[...] has no method '{name}'", help="it has set, add, subtract, multiply, divide, power, min, max and get"
        )

    def _places(self) -> np.ndarray:
        """The places, among all entries, of those at the index. Raises ShapeError for an index out of bounds."""
        getitem(self.base, index=self.index)
        places = numbered(tuple(self.base.shape))
        chosen: np.ndarray = np.asarray(places[numpy_index(self.index)])
        return chosen

    def _fitting(self, builder: Builder, values: Any, shape: tuple[int, ...]) -> Expr:
        given = builder.value(values)
        while len(given.shape) > len(shape) and given.shape[0] == 1:
            given = reshape(given, shape=given.shape[1:])
        try:
            fitted: Expr = broadcast_to(given, shape=shape) if given.shape != shape else given
        except ShapeError:
            raise ShapeError(f"values of the shape {given.shape} do not fit entries of the shape {shape}") from None
        return fitted

    def _set(self, builder: Builder, values: Any) -> Expr:
        return self._put(builder, self.base, self._places(), values)

    def _put(self, builder: Builder, x: Expr, places: np.ndarray, values: Any) -> Expr:
        given = self._fitting(builder, values, places.shape)
        every = numbered(tuple(x.shape))
        every.reshape(-1)[places.reshape(-1)] = numbered((places.size,), every.size)
        made: Expr = mixed(x, given, every) if places.size else x
        return made

    def _add(self, builder: Builder, values: Any) -> Expr:
        given = self._fitting(builder, values, self._places().shape)
        made: Expr = self.base + scatter_add(given, index=self.index, shape=tuple(self.base.shape))
        return made

    def _combined(self, combine: Callable[[Any, Any], Any]) -> Callable[..., Expr]:
        """What is there with something done to it: one update of each entry after the other, where an index names it several times."""

        def body(builder: Builder, values: Any) -> Expr:
            places = self._places()
            given = reshape(self._fitting(builder, values, places.shape), shape=(-1,))
            flat, result = places.reshape(-1), self.base
            for chosen in _rounds(flat):
                new = getitem(given, index=(StaticArray(chosen),))
                old = getitem(reshape(result, shape=(-1,)), index=(StaticArray(flat[chosen]),))
                result = self._put(builder, result, flat[chosen], combine(old, new))
            return result

        return body


def _combination(name: str) -> Callable[[Any, Any], Any] | None:
    """Return what a method does with what is there and a new value."""
    match name:
        case "subtract":
            return operator.sub
        case "multiply" | "mul":
            return operator.mul
        case "divide" | "div":
            return operator.truediv
        case "power" | "pow":
            return operator.pow
        case "min":
            return bounds.minimum
        case "max":
            return bounds.maximum
    return None


def _rounds(places: np.ndarray) -> list[np.ndarray]:
    """Which updates can be made at once: the first of each place, then the second, and so on."""
    left, found = np.arange(places.size), []
    while left.size:
        _, first = np.unique(places[left], return_index=True)
        found.append(left[np.sort(first)])
        left = np.delete(left, first)
    return found


_BYTES = {"float64": 8, "float32": 4, "bool": 1, "int64": 8}


def _size(builder: Builder, x: Expr) -> Expr:
    return builder.graph.constant(math.prod(x.shape))


def _axes(builder: Builder, x: Expr) -> Expr:
    return builder.graph.constant(x.ndim)


def _item_size(builder: Builder, x: Expr) -> Expr:
    return builder.graph.constant(_BYTES[conversions.dtype_in(builder, x).name])


def _bytes(builder: Builder, x: Expr) -> Expr:
    return builder.graph.constant(math.prod(x.shape) * _BYTES[conversions.dtype_in(builder, x).name])


def _itself(builder: Builder, x: Expr) -> Expr:
    return x


def _without_gradient(builder: Builder, x: Expr) -> Any:
    return detach(x)


def _imaginary(builder: Builder, x: Expr) -> Any:
    return zeros(builder, x.shape)


def _adjoint(builder: Builder, x: Expr) -> Any:
    if x.ndim not in (0, 2):
        raise ShapeError(f".H is of matrices, not of an array of {x.ndim} axes", help="write x.mH for the last two axes")
    return shapes.transpose(x, axes=None) if x.ndim else x


def _flat(builder: Builder, x: Expr) -> Any:
    return shapes.reshape(x, shape=(-1,))


PROPERTIES: dict[str, Callable[[Builder, Expr], Any]] = {
    "dtype": conversions.dtype_in,
    "device": lambda builder, x: "cpu",
    "data": _without_gradient,
    "real": _itself,
    "imag": _imaginary,
    "H": _adjoint,
    "mH": lambda builder, x: shapes.swapaxes(x, axis1=-1, axis2=-2),
    "flat": _flat,
    "A1": _flat,
    "nbytes": _bytes,
    "itemsize": _item_size,
    "at": lambda builder, x: At(x),
}


def _to(name: str) -> Callable[[Builder, Any], Any]:
    return lambda builder, x: conversions.converted(builder, x, DType(name), f"{name}()")


def _float_of_pytorch(builder: Builder, x: Expr) -> Any:
    """``x.float()``, ``x.double()``: a float of the program's precision."""
    return conversions.as_float(builder, x, "float", "float()")


def _type_of(builder: Builder, x: Any, dtype: Any = None) -> Any:
    if dtype is None:
        raise ArgumentError("type() without a dtype is a string, which is no value here", help="write x.type(torch.float64)")
    return conversions.astype(builder, x, dtype)


def _entry(builder: Builder, x: Expr, index: Any = ()) -> Any:
    """The number at an index, or the only one; who calls it says whether gradients stop there (reading.py)."""
    if not index:
        return item(builder, x)
    places = [builder.integer(part) for part in index]
    if len(places) == 1:
        x = _flat(builder, x)
    elif len(places) != x.ndim:
        raise ShapeError(f"item() needs one index, or {x.ndim}")
    return shapes.getitem(x, index=tuple(places))


def _flattened(builder: Builder, x: Any, start_dim: Any = None, end_dim: Any = None) -> Any:
    """PyTorch's ``x.flatten(1)``, and NumPy's ``x.flatten('F')``."""
    if isinstance(start_dim, str):
        return result_of(call(builder, "ravel", NUMPY, [x, start_dim], {}))
    given = {key: value for key, value in (("start_dim", start_dim), ("end_dim", end_dim)) if value is not None}
    return result_of(call(builder, "flatten", TORCH, [x], given))


def _of_shape(fill: float) -> Callable[..., Any]:
    made = ones if fill else zeros
    return lambda builder, x, shape=(), dtype=None: made(builder, shape, _no_other(builder, dtype))


def _no_other(builder: Builder, dtype: Any) -> Any:
    return None if isinstance(dtype, DType) and dtype.name == builder.scope.precision else dtype


def _new_full(builder: Builder, x: Any, shape: Any, value: Expr, dtype: Any = None) -> Any:
    return full(builder, shape, value, _no_other(builder, dtype))


def _new_tensor(builder: Builder, x: Any, data: Any, dtype: Any = None) -> Any:
    return detach(array(builder, data, _no_other(builder, dtype)))


_PLACED = "-device, -requires_grad, -layout, -pin_memory"

METHODS: dict[str, Routine] = routines({
    **dict.fromkeys(("numel", "nelement"), ("x", _size)),
    "element_size": ("x", _item_size),
    "ndimension": ("x", _axes),
    **dict.fromkeys(("cuda", "cpu"), ("x, -device, -non_blocking, -memory_format", _itself)),
    **dict.fromkeys(("clone", "contiguous"), ("x, -memory_format", _itself)),
    "copy": ("x, -memory_order|order", _itself),
    **dict.fromkeys(("conj", "conjugate", "resolve_conj", "resolve_neg", "block_until_ready", "pin_memory"), ("x", _itself)),
    "to": ("x, first, second, -non_blocking, -copy, -memory_format, dtype, device, other|tensor", conversions.to),
    "astype": ("x, dtype, -memory_order|order, -casting, -subok, -copy, -device", conversions.astype),
    "type": ("x, dtype, -non_blocking", _type_of),
    "type_as": ("x, other|tensor", conversions.like),
    **{name: ("x, -memory_format", _to(name)) for name in ("long", "int", "bool", "half", "bfloat16", "short", "char", "byte")},
    **dict.fromkeys(("float", "double"), ("x, -memory_format", _float_of_pytorch)),
    "new_zeros": (f"x, shape|size+, dtype, {_PLACED}", _of_shape(0.0)),
    "new_ones": (f"x, shape|size+, dtype, {_PLACED}", _of_shape(1.0)),
    "new_full": (f"x, shape|size, value|fill_value, dtype, {_PLACED}", _new_full),
    "new_tensor": (f"x, data, dtype, {_PLACED}", _new_tensor),
    "any": ("x, axis, -out, keepdims, where", conversions.any_),
    "all": ("x, axis, -out, keepdims, where", conversions.all_),
    "item": ("x, ***index", _entry),
    "flatten": ("x, start_dim|order, end_dim", _flattened),
    "argwhere": ("x", nonzero_rows),
})  # fmt: skip
METHODS["nonzero"] = Routine("nonzero", "x, as_tuple", nonzero, of_pytorch=nonzero_rows)
