"""Functions of one vector, as solvers call them: the values of some names, one after the other, with all others fixed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from gradcli.characters import ByName
from gradcli.errors import InputTypeError, ShapeError, UnknownNameError, UsageError, suggestion
from gradcli.ops.calling.inputs import numbers
from gradcli.query import bindings as given


class Flat:
    """A function of one vector. Made by ``flat`` of a compiled function, which is called with its parts and what is fixed.

    shapes  of the vector's parts, by name; None, for one name at most, is a vector of what is left
    """

    def __init__(self, function: Any, names: tuple[str, ...], values: Mapping[str, Any]) -> None:
        """``names`` are those of the vector's parts, also "a, b"; ``values`` are shapes of parts (or values that have these), and the
        values of all other names."""
        words, dtype = function.words, function.float_dtype
        parts = [part.strip() for name in names for part in given.name_of(name).split(",")]
        if not parts:
            raise UsageError("flat: no name", help='name what the vector holds: flat("x")')
        known = given.bound(None, dict.fromkeys(parts), words, repr)
        if len(known) < len(parts):
            raise UsageError("flat: a name stands twice")
        keywords = {name: value for name, value in values.items() if name != "at"}
        bound = given.bound(values.get("at"), keywords, words, lambda name: f'at={{"{name}": ...}}')
        for name in (*known, *bound):
            if name not in words:
                close = suggestion(name, sorted(words))
                help = f"did you mean '{close}'?" if close else None
                raise UnknownNameError(f"flat: the expression has no name '{name}'", help=help)
        self.shapes = {name: _shape(name, bound[name], dtype) if name in bound else None for name in known}
        self.fixed = {name: given.value_of(name, value) for name, value in bound.items() if name not in known}
        self.function = function.by(tuple(known))
        self._open = [name for name, shape in self.shapes.items() if shape is None]
        self._size = sum(math.prod(shape) for shape in self.shapes.values() if shape is not None)
        self._is_one = list(self.shapes.values()) == [None]
        if len(self._open) > 1:
            first, second = self._open[:2]
            raise UsageError(f"flat: the shapes of '{first}' and '{second}' are not known", help=f"give one: flat(..., {second}=(3,))")

    def __call__(self, vector: Any, *direction: Any) -> Any:
        """The results of the function, flat.

        vector     the values of the names, one after the other
        direction  of a Hessian-vector product: the vector that the Hessian is multiplied with
        """
        return self.function.of_vector(self, {**self.fixed, **self.parts(vector)}, *direction)

    def parts(self, vector: Any) -> dict[str, np.ndarray]:
        """The values by name, views of the vector. Raises InputTypeError for what are no real numbers, ShapeError for another size."""
        array = vector if type(vector) is np.ndarray and vector.dtype.kind == "f" else numbers(vector, "the vector", copy=False)
        if array.ndim != 1 or array.size < self._size or (array.size > self._size and not self._open):
            wanted = f"at least {self._size}" if self._open else f"{self._size}"
            raise ShapeError(f"the vector has the shape {array.shape}: it holds {wanted} entries along one axis, for {self._layout}")
        if self._is_one:
            return dict.fromkeys(self.shapes, array)
        found, begin = {}, 0
        for name, shape in self.shapes.items():
            size = array.size - self._size if shape is None else math.prod(shape)
            part = array[begin : begin + size]
            found[name] = part if shape is None else part.reshape(shape)
            begin += size
        return found

    def vector(self, values: Mapping[str, Any]) -> np.ndarray:
        """The vector of values by name."""
        if self._is_one:
            return np.ravel(values[next(iter(self.shapes))])
        return np.concatenate([np.ravel(values[name]) for name in self.shapes])

    def split(self, vector: Any) -> dict[str, np.ndarray]:
        """A vector, such as a solver's result, as the values of the names."""
        return ByName((name, np.array(part)[()]) for name, part in self.parts(vector).items())

    def join(self, values: Mapping[str, Any] | None = None, /, **named: Any) -> np.ndarray:
        """The values of the names as a vector, such as a solver's starting point. Raises ShapeError for other shapes than they have."""
        found = given.bound(values, named, self.shapes, lambda name: f'g.join({{"{name}": ...}})')
        for name, shape in self.shapes.items():
            if name not in found:
                raise UnknownNameError(f"join: no value for '{name}'", help=f"give it one: g.join({name}=...)")
            found[name] = numbers(found[name], f"the value of '{name}'", copy=False)
            if np.shape(found[name]) != shape and not (shape is None and np.ndim(found[name]) == 1):
                raise ShapeError(f"join: the value of '{name}' has the shape {np.shape(found[name])}, and here {shape or 'one axis'}")
        if strange := [name for name in found if name not in self.shapes]:
            raise UnknownNameError(f"join: the vector has no '{strange[0]}'", help=f"it holds {', '.join(self.shapes)}")
        return np.asarray(self.vector(found), np.float64)

    def sparsity(self, vector: Any) -> Any:
        """The entries of the matrix that may be other than zero, for vectors of this size: a sparse array of truths."""
        return self.function.call(None, (), {**self.fixed, **self.parts(vector)}, out="pattern")

    @property
    def _layout(self) -> str:
        return ", ".join(f"{name} {'(...,)' if shape is None else shape}" for name, shape in self.shapes.items())

    def __repr__(self) -> str:
        return f"<{self.function!r} of a vector of {self._layout}>"


def placeholder(name: str, spec: Any, of_floats: np.dtype[Any]) -> np.ndarray | None:
    """An array of zeros, which takes no memory, of the shape and dtype that are said; None for what is a value.

    A tuple of whole numbers is a shape, and what has a ``shape`` and a ``dtype`` and no entries says both, as jax.ShapeDtypeStruct
    does; floats are of the one dtype that the function has. Raises InputTypeError for what is no shape.
    """
    shape: Any
    if hasattr(spec, "shape") and hasattr(spec, "dtype"):
        if hasattr(spec, "__array__"):
            return None
        shape, dtype = spec.shape, _dtype_of(name, spec.dtype)
    elif isinstance(spec, tuple):
        shape, dtype = spec, of_floats
    else:
        return None
    if not isinstance(shape, tuple) or not all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n >= 0 for n in shape):
        shown = f"the shape of '{name}' must be whole numbers from 0, not {shape!r}"
        raise InputTypeError(shown, help="for a value, write a number, a list or an array")
    try:
        return np.broadcast_to(np.zeros((), of_floats if dtype.kind == "f" else dtype), shape)
    except ValueError:
        raise InputTypeError(f"the shape of '{name}' is {shape}: there is no array of so many entries or axes") from None


def _dtype_of(name: str, dtype: Any) -> np.dtype[Any]:
    try:
        found: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        raise InputTypeError(f"the dtype of '{name}' must be one of NumPy's, not {dtype!r}") from None
    if found.kind not in "fiub":
        raise InputTypeError(f"the dtype of '{name}' must be real numbers or booleans, not {found}")
    return found


def _shape(name: str, spec: Any, dtype: Any) -> tuple[int, ...]:
    """The shape that is said, or that of a value."""
    empty = placeholder(name, spec, dtype)
    if empty is None and isinstance(spec, (int, float)):
        raise InputTypeError(f"flat: the shape of '{name}' must be a tuple, not {spec!r}", help=f"write {name}=({spec},) or {name}=()")
    found: tuple[int, ...] = given.value_of(name, spec).shape if empty is None else empty.shape
    return found
