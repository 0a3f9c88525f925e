"""All mistakes that are planted, in the order of the table."""

from __future__ import annotations

from collections.abc import Iterator

from planting.machinery import machinery
from planting.mistakes import Mistake
from planting.names import names
from planting.records import constants, meanings, slopes, values


def everything() -> Iterator[Mistake]:
    for family in (slopes, values, meanings, constants, names, machinery):
        yield from family()
