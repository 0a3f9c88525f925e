"""Memory for the registers of blocks, kept between calls.

What is given back to the system costs a page fault for each of its pages when it comes again: more than the work on
ten thousand entries.
"""

from __future__ import annotations

import numpy as np

# Sums are added up block by block, so that their last bits depend on the size of blocks. It is the same everywhere, then, for the
# caches of today's processors, rather than that of the cache which happens to be there.
ROOM = 5 * (1 << 20) // 8  # bytes that the registers and views of a block may take, to stay in a second-level cache of 1 MiB
SHARED_ROOM = 5 * (1 << 25) // 8  # the same for the blocks of all threads, in a third-level cache of 32 MiB

_LINE = 64  # bytes of a cache line
_kept: list[np.ndarray] = []  # for the loops that run at once


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
        memory = _aligned(max(size, ROOM))
    return memory if memory.size >= size else _aligned(size)


def give(memory: np.ndarray) -> None:
    """Keep them for another loop."""
    if memory.size + sum([kept.size for kept in _kept]) <= SHARED_ROOM:
        _kept.append(memory)


def _aligned(size: int) -> np.ndarray:
    memory = np.empty(size + _LINE, np.uint8)
    start = -memory.ctypes.data % _LINE
    return memory[start : start + size]
