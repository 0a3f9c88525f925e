"""Functions of one vector, as solvers call them: the values of some names, one after the other, with all others fixed."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from gradcli.characters import ByName
from gradcli.errors import InputTypeError, ShapeError, UnknownNameError, UsageError, suggestion
from gradcli.ops.calling.inputs import numbers
from gradcli.query import bindings as given
from gradcli.query.placeholders import placeholder


class Layout:
    """Where the values of names lie in a vector.

    shapes  by name; None, for one name at most, is a vector of what is left
    """

    def __init__(self, shapes: Mapping[str, tuple[int, ...] | None]) -> None:
        self.shapes = dict(shapes)
        self._open = [name for name, shape in self.shapes.items() if shape is None]
        self._known = sum(math.prod(shape) for shape in self.shapes.values() if shape is not None)
        self._is_one = list(self.shapes.values()) == [None]
        if len(self._open) > 1:
            first, second = self._open[:2]
            raise UsageError(f"flat: the shapes of '{first}' and '{second}' are not known", help=f"give one: flat(..., {second}=(3,))")

    def split(self, vector: Any) -> dict[str, np.ndarray]:
        """The values by name, views of the vector. Raises InputTypeError for what are no real numbers, ShapeError for another size."""
        array = vector if type(vector) is np.ndarray and vector.dtype.kind == "f" else numbers(vector, "the vector", copy=False)
        if array.ndim != 1 or array.size < self._known or (array.size > self._known and not self._open):
            wanted = f"at least {self._known}" if self._open else f"{self._known}"
            raise ShapeError(f"the vector has the shape {array.shape}: it holds {wanted} entries along one axis, for {self}")
        if self._is_one:
            return dict.fromkeys(self.shapes, array)
        found, begin = {}, 0
        for name, shape in self.shapes.items():
            size = array.size - self._known if shape is None else math.prod(shape)
            part = array[begin : begin + size]
            found[name] = part if shape is None else part.reshape(shape)
            begin += size
        return found

    def join(self, values: Mapping[str, Any]) -> np.ndarray:
        """The vector of values by name."""
        if self._is_one:
            return np.ravel(values[next(iter(self.shapes))])
        return np.concatenate([np.ravel(values[name]) for name in self.shapes])

    def __str__(self) -> str:
        return ", ".join(f"{name} {'(...,)' if shape is None else shape}" for name, shape in self.shapes.items())


class Flat:
    """A function of one vector. Made by ``flat`` of a compiled function, which is called with its parts and what is fixed."""

    def __init__(self, function: Any, layout: Layout, fixed: Mapping[str, Any]) -> None:
        self.function, self.layout, self.fixed = function, layout, dict(fixed)

    def __call__(self, vector: Any, *direction: Any) -> Any:
        """What the function gives, flat.

        vector     the values of the names, one after the other
        direction  of a Hessian-vector product: the vector that the Hessian is multiplied with
        """
        return self.function.of_vector(self.layout, {**self.fixed, **self.layout.split(vector)}, *direction)

    def split(self, vector: Any) -> dict[str, np.ndarray]:
        """A vector, such as a solver's result, as the values of the names."""
        return ByName((name, np.array(part)[()]) for name, part in self.layout.split(vector).items())

    def join(self, values: Mapping[str, Any] | None = None, /, **named: Any) -> np.ndarray:
        """The values of the names as a vector, such as a solver's starting point. Raises ShapeError for other shapes than they have."""
        found = given.bound(values, named, self.layout.shapes, lambda name: f'g.join({{"{name}": ...}})')
        for name, shape in self.layout.shapes.items():
            if name not in found:
                raise UnknownNameError(f"join: no value for '{name}'", help=f"give it one: g.join({name}=...)")
            found[name] = numbers(found[name], f"the value of '{name}'", copy=False)
            if np.shape(found[name]) != shape and not (shape is None and np.ndim(found[name]) == 1):
                raise ShapeError(f"join: the value of '{name}' has the shape {np.shape(found[name])}, and here {shape or 'one axis'}")
        if strange := [name for name in found if name not in self.layout.shapes]:
            raise UnknownNameError(f"join: the vector has no '{strange[0]}'", help=f"it holds {', '.join(self.layout.shapes)}")
        return np.asarray(self.layout.join(found), np.float64)

    def sparsity(self, vector: Any) -> Any:
        """Which entries of the matrix may be other than zero, for vectors of this size: a sparse array of truths."""
        return self.function.pattern_of_vector(self.layout, {**self.fixed, **self.layout.split(vector)})

    def __repr__(self) -> str:
        return f"<{self.function!r} of a vector of {self.layout}>"


def flattened(
    names: tuple[str, ...], values: Mapping[str, Any], words: Collection[str], of_names: Callable[[tuple[str, ...]], Any], dtype: Any
) -> Flat:
    """The flat form of a function.

    names     of the vector's parts, also "a, b"
    values    by name: shapes of parts (or values that have these), and the values of all other names
    words     of the expression
    of_names  the function that gives derivatives by some names
    """
    listed = [part for name in names for part in given.name_of(name).split(",")]
    parts = [name.strip() for name in listed]
    if not parts:
        raise UsageError("flat: no name", help='name what the vector holds: flat("x")')
    known = given.bound(None, dict.fromkeys(parts), words, repr)
    if len(known) < len(parts):
        raise UsageError("flat: a name stands twice")
    bound = given.bound(values.get("at"), {k: v for k, v in values.items() if k != "at"}, words, lambda name: f'at={{"{name}": ...}}')
    for name in (*known, *bound):
        if name not in words:
            close = suggestion(name, sorted(words))
            help = f"did you mean '{close}'?" if close else None
            raise UnknownNameError(f"flat: the expression has no name '{name}'", help=help)
    shapes = {name: None if name not in bound else _shape(name, bound[name], dtype) for name in known}
    fixed = {name: given.value_of(name, value) for name, value in bound.items() if name not in shapes}
    return Flat(of_names(tuple(known)), Layout(shapes), fixed)


def _shape(name: str, spec: Any, dtype: Any) -> tuple[int, ...]:
    """The shape that is said, or that of a value."""
    empty = placeholder(name, spec, dtype)
    if empty is None and isinstance(spec, (int, float)):
        raise InputTypeError(f"flat: the shape of '{name}' must be a tuple, not {spec!r}", help=f"write {name}=({spec},) or {name}=()")
    found: tuple[int, ...] = given.value_of(name, spec).shape if empty is None else empty.shape
    return found
