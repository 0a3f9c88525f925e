"""Checks at many points.

Arguments are drawn anew in the domain of a function. The smallest and roundest arguments are found
at which its gradient is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from gradcli.check.verdicts import Check, Verdict
from gradcli.errors import GradcliError
from gradcli.functions.arguments import NoValue, is_number
from gradcli.tensors.core.dtypes import as_numbers

Arguments = Mapping[str, Any]
# Returns the verdict at some arguments and the function's value there.
Ask = Callable[[Arguments], tuple[Check, Any]]
_OUTSIDE = 10  # most points outside the domain that are skipped for each point wanted
_MOST = 40  # most cases that are tried
_DECIMALS = (0, 1, 2)


def gravest(
    draw: Callable[[int], Arguments], ask: Ask, points: int
) -> tuple[Arguments, Check, Any]:
    """Return the gravest verdict at several points of the domain, drawn one after the other.

    The first mismatch ends the search. The smallest arguments with such a mismatch are then
    returned.

    A point at which the function raises, or has no finite value, is outside of its domain. Another
    point is then tried, which is made from the draw or drawn anew. Raises NoValue if all points are
    outside. Any other error is raised at once: a gradient that raises where the function does not,
    or that has another shape.
    """
    found: list[tuple[Arguments, Check, Any]] = []
    why, asked = "it has no finite value", 0
    for number in range(points * _OUTSIDE):
        for arguments in _around(draw, number):
            asked += 1
            try:
                check, value = ask(arguments)
            except NoValue as error:
                why = error.message
                continue
            if value is None or np.isfinite(value).all():
                break
        else:
            continue
        if check.verdict is Verdict.MISMATCH:
            return _reduce(arguments, ask)
        found.append((arguments, check, value))
        if len(found) == points:
            break
    if not found:
        raise NoValue(
            f"the function has a value at none of {asked} points that were drawn: {why}",
            help="draw its arguments from its domain: --at 'x=1+rand(5)'",
        )
    return max(found, key=lambda one: one[1].verdict)


def _around(draw: Callable[[int], Arguments], number: int) -> Iterator[Arguments]:
    """Yield a point, and others where a function may be defined that is undefined there.

    The others are made of positive numbers, of small ones, and of those above 1. All might have
    been drawn: no number is outside of the range of the draws.
    """
    drawn = draw(number)
    yield drawn
    others = [draw(number + k) for k in range(1, _DRAWS)]
    random = [
        name
        for name, value in drawn.items()
        if is_number(value) and not np.array_equal(value, others[0][name])
    ]
    ranges = {
        name: (np.min([at[name] for at in others]), np.max([at[name] for at in others]))
        for name in random
    }
    for move in _ELSEWHERE if random else ():
        moved = {name: move(drawn[name]) for name in random}
        if all(
            low <= np.min(moved[name]) and np.max(moved[name]) <= high
            for name, (low, high) in ranges.items()
        ):
            yield {**drawn, **moved}


_DRAWS = 9  # draws, including the point itself; the others give the range
_ELSEWHERE: tuple[Callable[[Any], Any], ...] = (
    abs,
    lambda x: x / 10,
    lambda x: abs(x) / 10,
    lambda x: 1 + abs(x),
)


def _reduce(arguments: Arguments, ask: Ask) -> tuple[Arguments, Check, Any]:
    def wrong(smaller: Arguments) -> bool:
        try:
            return ask(smaller)[0].verdict is Verdict.MISMATCH
        except GradcliError:
            return False

    found = smallest(arguments, wrong)
    return found, *ask(found)


def smallest(arguments: Arguments, wrong: Callable[[Arguments], bool]) -> Arguments:
    """Return the smallest and roundest arguments found at which a gradient is wrong.

    If no smaller ones are found, the given arguments are returned.
    """
    tries = 0
    found = arguments
    better = True
    while better:
        better = False
        for smaller in (*_shorter(found), *_rounder(found)):
            tries += 1
            if tries > _MOST:
                return found
            if wrong(smaller):
                found = smaller
                better = True
                break
    return found


def _shorter(arguments: Arguments) -> Iterator[Arguments]:
    """Arguments of which every axis of a certain length is cut: arrays that go together stay so."""
    lengths = {
        n
        for value in arguments.values()
        if isinstance(value, np.ndarray)
        for n in value.shape
        if n > 1
    }
    for length in sorted(lengths, reverse=True):
        for kept in sorted({1, 2, length // 2} - {0, length}):
            yield {name: cut(value, {length: kept}) for name, value in arguments.items()}


def cut(value: Any, lengths: Mapping[int, int]) -> Any:
    """Return an array whose axes of some lengths have others."""
    return (
        value[tuple(slice(lengths.get(n, n)) for n in value.shape)]
        if isinstance(value, np.ndarray)
        else value
    )


def _rounder(arguments: Arguments) -> Iterator[Arguments]:
    for name, value in arguments.items():
        if is_number(value):
            for decimals in _DECIMALS:
                array = np.asarray(value)
                # Adding 0.0 removes negative zeros.
                rounded = (np.round(array.astype(float), decimals) + 0.0).astype(array.dtype)
                if not np.array_equal(rounded, value):
                    yield {
                        **arguments,
                        name: rounded if isinstance(value, np.ndarray) else float(rounded),
                    }


def text_of(value: Any) -> str:
    """Return a value as the command line takes it."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {text_of(part)}' for key, part in value.items())}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(text_of, value))}]"
    return (
        repr(as_numbers(np.asarray(value)))
        if isinstance(value, (np.ndarray, np.generic))
        else repr(value)
    )
