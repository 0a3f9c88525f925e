"""What results are multiplied with before they are added up: a gradient is that of one number."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.functions.calls import by_names
from gradcli.ops.calling.inputs import numbers

Seeds = list[np.ndarray]  # one for each array of a result
DIRECTIONS = 2  # along which a function of several results is held, where nobody gives a seed


def seeds_for(value: Sequence[np.ndarray], given: Any, state: int) -> list[Seeds]:
    """The seeds to hold a gradient along: the given one; 1 for a number; else random ones. Raises ShapeError for one of another shape."""
    if given is not None:
        seed = numbers(given, "the seed").astype(float)
        if len(value) != 1 or seed.shape != value[0].shape:
            shapes = ", ".join(str(part.shape) for part in value)
            raise ShapeError(f"the seed has the shape {seed.shape}, the result {shapes}")
        return [[seed]]
    if len(value) == 1 and value[0].size == 1:
        return [[np.ones(value[0].shape)]]
    random = np.random.default_rng(state)
    return [[random.standard_normal(part.shape) for part in value] for _ in range(DIRECTIONS)]


def product(gradient: Callable[..., Any], given: Mapping[str, Any], seeds: Seeds, scalar: bool) -> Any:
    """Return what a gradient that somebody wrote says for a seed, of which it gets a copy.

    That of a function of several results takes the seed after the arguments, as a vector-Jacobian product does. One that takes no more
    than the arguments gives the Jacobian, or for a result that is one number the gradient.
    """
    arguments, called = list(given.values()), by_names(gradient, list(given))
    if _takes_another(gradient, list(given)):
        own = tuple([seed.copy() for seed in seeds])
        return called(*arguments, own[0] if len(own) == 1 else own)
    found = called(*arguments)
    if not scalar and len(seeds) == 1 and np.shape(found) == seeds[0].shape != () and len(arguments) == 1 and np.ndim(arguments[0]):
        raise ShapeError(
            f"a gradient of shape {np.shape(found)} is no Jacobian of a result of that shape",
            help="of a function entry by entry, let the gradient take the seed and return seed times it, or sum the function",
        )
    return found if scalar else _contracted(found, seeds)


def _takes_another(function: Callable[..., Any], names: Sequence[str]) -> bool:
    """Return whether a function has to be called with one more argument than these."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of C
        return False
    needed = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and (p.default is p.empty or p.name in names)]
    return len(needed) == len(names) + 1


def _contracted(jacobian: Any, seeds: Seeds) -> Any:
    """A seed times a Jacobian, or times each of a structure of them, whose first axes are the result's."""
    if isinstance(jacobian, dict):
        return {name: _contracted(part, seeds) for name, part in jacobian.items()}
    if isinstance(jacobian, tuple):
        return tuple(_contracted(part, seeds) for part in jacobian)
    if len(seeds) != 1:
        raise ArgumentError(
            f"the function has {len(seeds)} results, and the gradient takes no vectors for them",
            help="let the gradient take the tuple of their vectors as its last argument",
        )
    array, (seed,) = numbers(jacobian, "the Jacobian", copy=False), seeds
    if array.shape[: seed.ndim] != seed.shape:
        raise ShapeError(
            f"a Jacobian of shape {array.shape} does not begin with the result's shape {seed.shape}",
            help="let the gradient take the seed as its last argument, or give the Jacobian",
        )
    return np.tensordot(seed, array, axes=seed.ndim)
