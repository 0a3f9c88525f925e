"""Memory for the registers of blocks, kept between calls.

What is given back to the system costs a page fault for each of its pages when it comes again: more than the work on
ten thousand entries.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

_LINE = 64  # bytes of a cache line
_kept: list[np.ndarray] = []  # for the loops that run at once


@cache
def room(level: int = 2) -> int:
    """Bytes that the registers and views of a block may take, to stay in a cache of this level: beyond, all is ten times slower."""
    try:
        said = Path(f"/sys/devices/system/cpu/cpu0/cache/index{level}/size").read_text("ascii").strip()
        size = int(said.removesuffix("K")) << 10
    except (OSError, ValueError):
        size = 1 << 19  # no Linux, or one that does not say
    return 5 * size // 8


def places(sizes: list[int]) -> list[int]:
    """Where registers of these sizes in bytes begin, and where the last one ends.

    They begin in cache lines of their own, at different distances from the start of a page: what is stored in one is not
    taken for what is loaded from another.
    """
    begins = [0]
    for size in sizes:
        begins.append(-(-(begins[-1] + size) // _LINE) * _LINE + 3 * _LINE)
    return begins


def take(size: int) -> np.ndarray:
    """Bytes for the registers of one loop, aligned to cache lines."""
    try:
        memory = _kept.pop()
    except IndexError:
        memory = _aligned(max(size, room()))
    return memory if memory.size >= size else _aligned(size)


def give(memory: np.ndarray) -> None:
    """Keep them for another loop."""
    if memory.size + sum([kept.size for kept in _kept]) <= max(4 * room(), room(3)):
        _kept.append(memory)


def _aligned(size: int) -> np.ndarray:
    memory = np.empty(size + _LINE, np.uint8)
    start = -memory.ctypes.data % _LINE
    return memory[start : start + size]
