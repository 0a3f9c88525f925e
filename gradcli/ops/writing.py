"""Words that records are written with.

These are references that are found late, shapes by example, functions of SciPy, and axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from gradcli.errors import AxisError, MistypedArgumentError, ShapeError
from gradcli.ops.facts import Function

Shape = tuple[int, ...]


class Late:
    """A function of a module that is imported when it is first called."""

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.__name__ = name

    @cached_property
    def function(self) -> Function:
        function: Function = getattr(import_module(self.module), self.__name__)
        return function

    def __call__(self, *arguments: Any, **static: Any) -> Any:
        return self.function(*arguments, **static)


class Witness(Late):
    """A reference that stands in a file of the room of witnesses, ``gradcli/ops/references``.

    work  of functions of matrices: scalar operations for each entry of the largest array, times the
          rows of the first one
    ends  where it is the end of an iteration, so that in balls it is no enclosure of the true
          value: in words
    """

    def __init__(self, place: str, work: int = 1, ends: str = "") -> None:
        file, _, name = place.partition(".")
        super().__init__(f"gradcli.ops.references.{file}", name)
        self.work = work
        self.ends = ends


witness: Function = Witness  # a reference by file and name: witness("arrays.transpose")


class OfSciPy(Late):
    """A function of scipy.special."""

    def __init__(self, name: str) -> None:
        super().__init__("scipy.special", name)


def shape_by_example(forward: Function) -> Function:
    """Return a shape rule for operations that only move entries.

    The rule runs them on entries of no bytes, which take neither memory nor time.
    """
    nothing = np.dtype([])

    def shape(*shapes: Shape, **static: Any) -> Shape:
        try:
            result = forward(*[np.empty(s, nothing) for s in shapes], **static)
        except (ValueError, IndexError, TypeError) as error:
            raise ShapeError(str(error)) from None
        return np.shape(result)

    return shape


def need_axes(name: str, x: Any, least: int, most: int | None = None) -> None:
    """Raise ShapeError where an array has fewer axes than a function takes, or more."""
    ndim = len(x.shape)
    if ndim < least or (most is not None and ndim > most):
        first = "at least " if most is None else f"{least} to " if least < most else ""
        last = least if most is None else most
        wanted = f"{first}one axis" if last == 1 else f"{first}{last} axes"
        raise ShapeError(
            f"{name} needs an array of {wanted}, not "
            f"{f'of shape {tuple(x.shape)}' if ndim else 'a number'}"
        )


def one_axis(axis: Any, shape: Sequence[Any]) -> int:
    """Return the one axis of a shape that an ``axis`` argument names.

    It is 0 for a number, which has one entry along any axis. Raises MistypedArgumentError for
    several axes.
    """
    if isinstance(axis, (tuple, list)) and len(axis) != 1:
        raise MistypedArgumentError(f"one axis is wanted here, not {axis}")
    return next(iter(axes_of(axis, shape)), 0)


def axes_of(axis: Any, shape: Sequence[Any]) -> tuple[int, ...]:
    """Return the axes of a shape that an ``axis`` argument names, normalized and checked.

    None means all axes. Raises ShapeError for an axis that does not exist.
    """
    ndim = len(shape)
    if axis is None:
        return tuple(range(ndim))
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    if not ndim and axes and all(a in (0, -1) for a in axes):
        return ()  # a number has one entry, along any axis
    result = []
    for a in axes:
        if isinstance(a, bool) or not isinstance(a, (int, np.integer)):
            raise ShapeError(f"an axis is a whole number, not {a!r}")
        if not -ndim <= a < ndim:
            raise AxisError(int(a), ndim)
        result.append(int(a) % ndim)
    if len(set(result)) != len(result):
        raise ShapeError(f"axis {axis} names an axis twice")
    return tuple(result)
