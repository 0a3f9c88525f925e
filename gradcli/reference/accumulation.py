"""Reverse mode as the reference does it, on its tape of scalars and on whole arrays in long double: not by the engine's sweep."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

K = TypeVar("K")
A = TypeVar("A")


def accumulate(
    order: Iterable[K],
    adjoints: dict[K, A],
    pull: Callable[[K, A], Iterable[tuple[K, A]]],
    plus: Callable[[A, A], A],
) -> dict[K, A]:
    """The adjoint of everything that the seeds depend on.

    order     what was computed, the last first
    adjoints  the seeds, to which the others are added
    pull      gives what is passed back, and to whom, by something whose adjoint is complete
    """
    for node in order:
        if node in adjoints:
            for operand, part in pull(node, adjoints[node]):
                adjoints[operand] = plus(adjoints[operand], part) if operand in adjoints else part
    return adjoints
