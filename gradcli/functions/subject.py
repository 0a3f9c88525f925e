"""A function at values of its arguments: what it is called with, and what it gives, as floats."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, EvaluationError
from gradcli.functions.arguments import Floats, Make, as_given, floats_in, real, rebuilt

OUTSIDE = (ArithmeticError, ValueError, np.linalg.LinAlgError)  # what functions raise outside of their domain


class NoValue(EvaluationError):
    """A function raises at the values of its arguments: they may be outside of its domain."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A function, its arguments in the order in which it takes them, and the names of those that it is differentiated by.

    make  of numbers what the function takes: NumPy's arrays, or those of a framework
    """

    function: Callable[..., Any]
    arguments: Mapping[str, Any]
    wrt: list[str]
    make: Make = as_given

    @cached_property
    def floats(self) -> Floats:
        """All numbers that it is differentiated by. Raises ArgumentError for an argument that has none."""
        found: Floats = {}
        for name in self.wrt:
            inside = floats_in(name, self.arguments[name])
            if not inside:
                raise ArgumentError(
                    f"'{name}' has no real numbers to differentiate by", help="name the arguments that the gradient is by (wrt)"
                )
            found |= inside
        return found

    def __call__(self, floats: Mapping[str, np.ndarray] | None = None, make: Make | None = None, *, whole: bool = False) -> Any:
        """What it gives at these numbers: those of its arguments, but for those that are given.

        whole  whether it raises where NumPy drops the imaginary part of a number
        """
        numbers = {**self.floats, **(floats or {})}
        make = make or self.make
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            if whole:
                warnings.simplefilter("error", np.exceptions.ComplexWarning)
            return self.function(*(rebuilt(name, value, numbers, make) for name, value in self.arguments.items()))

    def copies(self) -> dict[str, Any]:
        """Return the arguments as the function takes them, for code that may write into them."""
        return {name: rebuilt(name, value, self.floats, self.make) for name, value in self.arguments.items()}

    def numbers(self, floats: Mapping[str, np.ndarray] | None = None) -> list[np.ndarray]:
        """The arrays of its result at these numbers. Raises ArgumentError for a result that is no real numbers."""
        return [_real(part) for part in parts_of(self(floats))]

    @cached_property
    def value(self) -> list[np.ndarray]:
        """The arrays of its result at the values of its arguments."""
        return self.numbers()

    @property
    def is_scalar(self) -> bool:
        return len(self.value) == 1 and self.value[0].size == 1

    def along(self, seeds: Sequence[np.ndarray], floats: Mapping[str, np.ndarray]) -> list[float]:
        """The terms of the result's sum with these weights; not numbers outside of the domain."""
        try:
            found = self.numbers(floats)
            return [term for part, seed in zip(found, seeds, strict=True) for term in np.ravel(part * seed).tolist()]
        except OUTSIDE:
            return [float("nan")]


def parts_of(result: Any) -> list[Any]:
    """The arrays of a result: it is one, or a structure of them."""
    if isinstance(result, Mapping):
        return [part for value in result.values() for part in parts_of(value)]
    if isinstance(result, (list, tuple)):
        return [part for value in result for part in parts_of(value)]
    return [result]


def _real(part: Any) -> np.ndarray:
    if part is None:
        raise ArgumentError("the function returns None", help="return the value whose gradient it is")
    return real(part, "the function must return")
