"""JAX's updates: ``x.at[index].set(v)`` is x with other entries there, and x stays as it is. Differentiated by x and by v.

Where an index names an entry several times, the updates follow one another, as in JAX.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.errors import ShapeError, TypeMismatchError, UnknownNameError
from gradcli.graph.nodes import Expr
from gradcli.language.builder import Builder
from gradcli.language.indexing import index_of
from gradcli.language.names import Thing
from gradcli.language.things import Routine
from gradcli.ops.arrays.scattering import mixed, numbered
from gradcli.ops.arrays.shapes import StaticArray, broadcast_to, getitem, numpy_index, reshape, scatter_add
from gradcli.ops.elementwise import exponential

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
    """What a method does with what is there and a new value."""
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
            return exponential.minimum
        case "max":
            return exponential.maximum
    return None


def _rounds(places: np.ndarray) -> list[np.ndarray]:
    """Which updates can be made at once: the first of each place, then the second, and so on."""
    left, found = np.arange(places.size), []
    while left.size:
        _, first = np.unique(places[left], return_index=True)
        found.append(left[np.sort(first)])
        left = np.delete(left, first)
    return found
