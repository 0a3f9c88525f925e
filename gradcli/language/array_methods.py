"""Attributes and methods of values that are not mathematics.

They are about sizes, dtypes, copies, devices and conversions.

Code that moves numbers between devices, copies them or lays them out in memory changes nothing
here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, AxisError, ShapeError, TypeMismatchError, UnknownNameError
from gradcli.graph import transforms
from gradcli.graph.nodes import Expr, reachable
from gradcli.language import constructors
from gradcli.language.calls import call, result_of
from gradcli.language.constructors import array, as_is, full, item, ones, zeros
from gradcli.language.library_names import SHARED
from gradcli.language.names import Function, Indices, Thing
from gradcli.language.routines import Routine, routines
from gradcli.language.scope import Builder
from gradcli.language.subscripts import index_of
from gradcli.namespace import ufuncs
from gradcli.ops.arrays import shapes
from gradcli.ops.arrays.joining_and_splitting import mix
from gradcli.ops.arrays.shapes import broadcast_to, getitem, reshape, scatter_add
from gradcli.ops.axes import entry_numbers, numpy_index
from gradcli.ops.calling.prefixes import JAX, NUMPY, TORCH, DType
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.structure import detach
from gradcli.texts import words

# -- JAX's updates: ``x.at[index].set(v)`` is x with other entries there, and x stays as it is.
# Differentiated by x and by v.
#
# Where an index names an entry several times, what is added there is, as in JAX.


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
            return Routine(
                name,
                f"{_PARAMETERS}, -bounds_value|fill_value",
                lambda builder: getitem(self.base, index=self.index),
            )
        if name in _UPDATES:
            return Routine(
                name,
                f"values, {_PARAMETERS}",
                lambda builder, values: self._update(builder.value(values), _UPDATES[name]),
            )
        raise UnknownNameError(
            f"x.at[...] has no method '{name}'",
            help="it has set, add, multiply and get: write x.at[i].set(maximum(x[i], y))",
        )

    def _update(self, values: Expr, update: Callable[[Any, Any], Any] | None) -> Expr:
        """Return the array with values in the place of the entries at the index.

        With ``update``, they are what it makes of the entries and the values.

        Raises ShapeError for an index out of bounds, and for values that do not fit.
        """
        shape = getitem(self.base, index=self.index).shape
        while values.ndim > len(shape) and values.shape[0] == 1:
            values = reshape(values, shape=values.shape[1:])
        try:
            given = broadcast_to(values, shape=shape) if values.shape != shape else values
        except ShapeError:
            raise ShapeError(
                f"values of the shape {values.shape} do not fit entries of the shape {shape}"
            ) from None
        if update is operator.add:
            result: Expr = self.base + scatter_add(given, index=self.index, shape=self.base.shape)
            return result
        places = np.ravel(entry_numbers(self.base.shape)[numpy_index(self.index)])
        if update is not None:
            if np.unique(places).size < places.size:
                raise ShapeError(
                    "an index names an entry twice, of which only add makes one",
                    help="write one update after the other",
                )
            given = update(getitem(self.base, index=self.index), given)
        every = entry_numbers(self.base.shape)
        every.reshape(-1)[places] = entry_numbers((places.size,), every.size)
        put: Expr = mix(self.base, given, every) if places.size else self.base
        return put


# How each of JAX's update methods combines what is there with a new value; None replaces it.
_UPDATES: dict[str, Callable[[Any, Any], Any] | None] = {
    "set": None,
    "add": operator.add,
    "multiply": operator.mul,
    "mul": operator.mul,
}


def _adjoint(builder: Builder, x: Expr) -> Any:
    if x.ndim not in (0, 2):
        raise ShapeError(
            f".H is of matrices, not of an array of {x.ndim} axes",
            help="write x.mH for the last two axes",
        )
    return shapes.transpose(x, axes=None) if x.ndim else x


def _size(builder: Builder, x: Expr) -> Expr:
    return builder.constant(x.size)


def _axes(builder: Builder, x: Expr) -> Expr:
    return builder.constant(x.ndim)


def _extent(builder: Builder, x: Expr, axis: Any = None) -> Any:
    """``x.size()``, which is the shape, and ``x.size(0)``.

    Raises ShapeError for an axis that there is none of.
    """
    if axis is None:
        return Indices(map(builder.constant, x.shape))
    place = builder.integer(axis, "an axis")
    if not -x.ndim <= place < x.ndim:
        raise AxisError(place, x.ndim)
    return builder.constant(x.shape[place])


def _flat(builder: Builder, x: Expr) -> Any:
    return shapes.reshape(x, shape=(-1,))


def _backward(
    builder: Builder,
    x: Expr,
    gradient: Any = None,
    retain_graph: Any = None,
    create_graph: Any = False,
) -> Expr:
    """Pass back x, or its product with a seed.

    Names have the gradients of this number from now on.
    """
    if gradient is not None:
        x = sum_(x * detach(builder.value(gradient)))
    if x.size != 1:
        raise ShapeError(
            f"backward() is for one number, not for an array of shape {x.shape}",
            help="write y.sum().backward()",
        )
    return builder.scope.pass_back(
        x, builder.flag(create_graph if retain_graph is None else retain_graph, "'retain_graph'")
    )


def _gradient(builder: Builder, x: Expr) -> Expr:
    """Return the sum of the gradients by a name.

    They are those of all numbers that were passed back since it was cleared. Raises
    UnknownNameError where none were.
    """
    scope = builder.scope
    named = (scope.names | scope.leaves).items()
    required = scope.requiring or scope.leaves
    name = next((name for name, node in named if node is x and name in required), "")
    found = scope.passed_back[scope.cleared.get(name, 0) :]
    found = [y for y in found if y is None or x in reachable([y])]
    if scope.requiring and not name:
        raise UnknownNameError(
            "it is no name that requires a gradient: PyTorch has None here",
            help="write x.requires_grad_() or grad(y, x)",
        )
    if not name or not found:
        raise UnknownNameError(
            "there is no gradient: nothing was passed back to it", help="write grad(y, x)"
        )
    if None in found:
        raise UnknownNameError("there is no gradient: a backward() before has an error")
    total = reduce(
        operator.add, [transforms.derive("vjp", y, x, None) for y in found if y is not None]
    )
    return builder.constant(scope.evaluate(total))


PROPERTIES: dict[str, Callable[[Builder, Expr], Any]] = {
    "dtype": constructors.dtype_in,
    "device": lambda builder, x: "cpu",
    "data": lambda builder, x: detach(x),
    "real": as_is,
    "imag": lambda builder, x: zeros(builder, x.shape),
    "H": _adjoint,
    "mH": lambda builder, x: shapes.swapaxes(x, axis1=-1, axis2=-2),
    "flat": _flat,
    "at": lambda builder, x: At(x),
    "grad": _gradient,
}


def _to(name: str) -> Callable[[Builder, Any], Any]:
    return lambda builder, x: constructors.convert(builder, x, DType(name), f"{name}()")


def _float_of_pytorch(builder: Builder, x: Expr) -> Any:
    """``x.float()``, ``x.double()``: a float of the program's precision."""
    return constructors.as_float(builder, x, "float", "float()")


def _type_of(builder: Builder, x: Any, dtype: Any = None) -> Any:
    if dtype is None:
        raise ArgumentError(
            "type() without a dtype is a string, which is no value here",
            help="write x.type(torch.float64)",
        )
    return constructors.astype(builder, x, dtype)


def _entry(builder: Builder, x: Expr, index: Any = ()) -> Any:
    """Return the number at an index, or the only one.

    The caller says whether gradients stop there (reading.py).
    """
    if not index:
        return item(builder, x)
    places = [builder.integer(part) for part in index]
    if len(places) == 1:
        x = _flat(builder, x)
    elif len(places) != x.ndim:
        raise ShapeError(f"item() needs one index, or {x.ndim}")
    return shapes.getitem(x, index=tuple(places))


def _flatten(builder: Builder, x: Any, start_dim: Any = None, end_dim: Any = None) -> Any:
    """PyTorch's ``x.flatten(1)``, and NumPy's ``x.flatten('F')``."""
    if isinstance(start_dim, str):  # an order, as in NumPy
        return result_of(call(builder, "ravel", NUMPY, [x, start_dim], {}))
    given = {
        key: value
        for key, value in (("start_dim", start_dim), ("end_dim", end_dim))
        if value is not None
    }
    return result_of(call(builder, "flatten", TORCH, [x], given))


def _new(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return what a constructor makes, beside a tensor whose dtype is the program's."""
    return lambda builder, x, shape=(), dtype=None: make(builder, shape, dtype)


def _new_full(builder: Builder, x: Any, shape: Any, value: Expr, dtype: Any = None) -> Any:
    return full(builder, shape, value, dtype)


_PLACED = "-device, -requires_grad, -layout, -pin_memory"

METHODS: dict[str, Routine] = routines({
    "numel nelement": ("x", _size),
    "ndimension dim": ("x", _axes),
    "size": ("x, axis|dim", _extent),
    "contiguous": ("x, -memory_format", as_is),
    "copy": ("x, -memory_order|order", as_is),
    "conj conjugate resolve_conj resolve_neg block_until_ready pin_memory": ("x", as_is),
    "to": ("x, first, second, -non_blocking, -copy, -memory_format, dtype, device, other|tensor", constructors.to),
    "astype": ("x, dtype, -memory_order|order, -casting, -subok, -copy, -device", constructors.astype),
    "type": ("x, dtype, -non_blocking", _type_of),
    "type_as": ("x, other|tensor", constructors.like),
    **{name: ("x, -memory_format", _to(name)) for name in words("long int bool half bfloat16 "
    "short char byte")},
    "float double": ("x, -memory_format", _float_of_pytorch),
    "new_zeros": (f"x, shape|size+, dtype, {_PLACED}", _new(zeros)),
    "new_ones": (f"x, shape|size+, dtype, {_PLACED}", _new(ones)),
    "new_full": (f"x, shape|size, value|fill_value, dtype, {_PLACED}", _new_full),
    "new_tensor": (
        f"x, data, dtype, {_PLACED}",
        lambda builder, x, data, dtype=None: detach(array(builder, data, dtype)),
    ),
    **{name: SHARED[name] for name in ("any", "all")},
    "item": ("x, ***index", _entry),
    "backward": ("x, gradient, retain_graph, create_graph", _backward),
    "flatten": ("x, start_dim|order, end_dim", _flatten),
})  # fmt: skip


# -- Methods of NumPy's functions of two arrays: ``np.add.reduce(x, axis=1)`` --------------------


def is_ufunc(function: Function) -> bool:
    """Return whether a function has methods of its own: NumPy knows."""
    found = (
        getattr(np, function.name, None)
        if function.base is None and function.library in (NUMPY, JAX)
        else None
    )
    return isinstance(found, np.ufunc) and (found.nin, found.nout) == (2, 1)


def method_of_ufunc(function: Function, name: str) -> Routine:
    """``np.add.reduce`` and its kin.

    Raises UnknownNameError for other names, TypeMismatchError for ``at``, which stores.
    """
    if name == "at":
        raise TypeMismatchError(
            "the language has no stores: a value stays as it is",
            help="write y = x.at[0].add(1) for a new one",
        )
    of = function.name

    def reduce(
        builder: Builder, array: Expr, axis: Any = 0, keepdims: Any = False, **more: Any
    ) -> Any:
        """Along the first axis, if no other is given."""
        more["keepdims"] = builder.flag(keepdims, "'keepdims'")
        return ufuncs.reduce(_caller(builder), of, array, builder.static(axis, "an axis"), **more)

    def accumulate(builder: Builder, array: Expr, axis: Any = 0) -> Any:
        return ufuncs.accumulate(_caller(builder), of, array, builder.integer(axis, "an axis"))

    def outer(builder: Builder, a: Expr, b: Expr) -> Any:
        return ufuncs.outer(_caller(builder), of, a, b)

    found: dict[str, tuple[str, Callable[..., Any]]] = {
        "reduce": ("array|x, axis, -dtype, -out, keepdims, initial, where", reduce),
        "accumulate": ("array|x, axis, -dtype, -out", accumulate),
        "outer": ("a, b", outer),
    }
    if name not in found:
        raise UnknownNameError(
            f"'{of}' has no attribute '{name}'", help="it has reduce, accumulate and outer"
        )
    return Routine(f"{of}.{name}", *found[name])


def _caller(builder: Builder) -> ufuncs.Call:
    """Return what applies a function of NumPy's by its name."""
    return lambda name, *operands, **keywords: result_of(
        call(builder, name, NUMPY, list(operands), keywords)
    )
