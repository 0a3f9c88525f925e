"""All mistakes that are planted, in the order of the table."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from random import Random

from planting.machinery import machinery
from planting.mistakes import Mistake
from planting.names import names
from planting.records import constants, meanings, slopes, values


def everything() -> Iterator[Mistake]:
    for family in (slopes, values, meanings, constants, names, machinery):
        yield from family()


def sampled(count: int, seed: int) -> list[Mistake]:
    """Some of each kind, and all of the machinery that fit, of what can be tried at once."""
    kinds: dict[str, list[Mistake]] = {}
    for mistake in everything():
        if not mistake.inner:
            kinds.setdefault(mistake.kind, []).append(mistake)
    random = Random(seed)
    for mistakes in kinds.values():
        random.shuffle(mistakes)
    rows = zip_longest(*kinds.values())
    return [mistake for row in rows for mistake in row if mistake is not None][:count]
