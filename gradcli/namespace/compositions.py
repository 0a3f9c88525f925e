"""Functions of NumPy and SciPy made of operations, on carriers of any kind.

Carriers are nodes of a program, and tensors. Anything that has a derivative keeps it: the ends of a
range are operands, and only the number of its values is decided beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from string import ascii_letters
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError
from gradcli.ops.arrays.joining_and_splitting import concatenate
from gradcli.ops.arrays.shapes import StaticArray, broadcast_to, getitem, reshape
from gradcli.ops.elementwise.arithmetic import abs_, sign
from gradcli.ops.elementwise.exponential import exp, log
from gradcli.ops.elementwise.logic import where
from gradcli.ops.registry import record_named

# -- Evenly spaced numbers, along a new first axis ------------------------------------------------


def line(start: Any, stop: Any, count: int, endpoint: bool) -> tuple[Any, Any]:
    """Return evenly spaced numbers from start to stop, and their distance.

    Both ends are exactly as given.
    """
    parts = count - 1 if endpoint else count
    step = (stop - start) / parts if parts > 0 else (stop - start) * math.nan
    places = np.arange(count).reshape(-1, *(1,) * step.ndim)
    if parts <= 0:
        return broadcast_to(start, shape=(count, *step.shape)), step
    numbers = start + places * step
    return (where(places == parts, stop, numbers) if endpoint else numbers), step


def ratios(start: Any, stop: Any, count: int, endpoint: bool) -> Any:
    """Numbers of constant ratio from start to stop, both of one sign."""
    numbers = sign(start) * exp(line(log(abs_(start)), log(abs_(stop)), count, endpoint)[0])
    places = np.arange(count).reshape(-1, *(1,) * (numbers.ndim - 1))
    numbers = where(places == 0, start, numbers)
    return where(places == count - 1, stop, numbers) if endpoint and count > 1 else numbers


# -- What only moves entries ---------------------------------------------------------------------


def moving(
    function: Callable[..., Any], value: Callable[[Any], Any], at: int = 0
) -> Callable[..., Any]:
    """Make a function on carriers from a function of NumPy that only moves entries.

    NumPy's function is applied to the entries' places, by which the entries are then taken.
    ``value`` makes a carrier of a given array. ``at`` is the argument that has the entries: an
    array, or nested lists of arrays.
    """

    def run(*given: Any, **named: Any) -> Any:
        leaves: list[Any] = []
        count = 0

        def places(part: Any) -> Any:
            nonlocal count
            if isinstance(part, (list, tuple)):
                return type(part)(map(places, part))
            leaf = value(part)
            leaves.append(reshape(leaf, shape=(-1,)))
            count += math.prod(leaf.shape)
            return np.arange(count - math.prod(leaf.shape), count).reshape(leaf.shape)

        def take(found: Any) -> Any:
            if isinstance(found, (list, tuple)):
                return type(found)(map(take, found))
            return reshape(
                getitem(entries, index=(StaticArray(np.ravel(found)),)), shape=np.shape(found)
            )

        of_places = places(given[at])
        entries = leaves[0] if len(leaves) == 1 else concatenate(*leaves, axis=0)
        return take(function(*given[:at], of_places, *given[at + 1 :], **named))

    return run


# -- Sums of products ----------------------------------------------------------------------------


def letter_operands(
    arguments: Sequence[Any], number: Callable[[Any], int]
) -> tuple[str, list[Any]]:
    """Return einsum's subscripts and operands of ``a, [0, 1], b, [1, 2], [0, 2]``.

    ``number`` converts a label to a whole number. Raises ArgumentError for labels that are not
    whole numbers.
    """
    pairs = len(arguments) // 2 * 2
    terms = ",".join(_letters(labels, number) for labels in arguments[1:pairs:2])
    result = f"->{_letters(arguments[-1], number)}" if len(arguments) % 2 else ""
    return terms + result, list(arguments[:pairs:2])


def _letters(labels: Any, number: Callable[[Any], int]) -> str:
    if not isinstance(labels, (list, tuple)):
        raise ArgumentError(
            "einsum's labels are lists of whole numbers", help="write einsum('ij,jk->ik', a, b)"
        )
    places = [label if label is ... else number(label) for label in labels]
    for place in places:
        if place is not ... and not 0 <= place < len(ascii_letters):
            raise ArgumentError(
                f"a label of einsum is from 0 to {len(ascii_letters) - 1}, not {place}"
            )
    return "".join("..." if place is ... else ascii_letters[place] for place in places)


# -- Equations with a factor of their matrix -----------------------------------------------------


def cho_factor(x: Any, lower: bool) -> tuple[Any, bool]:
    """Return a Cholesky factor, and whether it is the lower one, for cho_solve.

    This is scipy.linalg.cho_factor.
    """
    # SciPy leaves the other triangle as it was.
    rest = record_named("triu")(x, k=1) if lower else record_named("tril")(x, k=-1)
    return record_named("cholesky")(x, upper=not lower) + rest, lower


def cho_solve(factor: Any, lower: bool, y: Any) -> Any:
    """scipy.linalg.cho_solve: the solution with the matrix that has this factor."""
    column = reshape(y, shape=(*y.shape, 1)) if y.ndim == 1 else y
    found = record_named("cholesky_solve")(
        column, record_named("tril" if lower else "triu")(factor, k=0), upper=not lower
    )
    return reshape(found, shape=y.shape) if y.ndim == 1 else found
