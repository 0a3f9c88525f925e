"""Sharing the blocks of a loop among threads: NumPy lets go of the interpreter's lock while it works on a block."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

Lists = tuple[list[Any], ...]
Blocks = Callable[[int, int, int], Lists]  # of blocks from a row, up to a row, of so many rows each: what they add to each list

_MOST = 8  # threads that find the lock free often enough, when NumPy's work on a block takes some ten times longer than its call


def in_turn(blocks: Blocks, rows: int, step: int) -> list[list[Any]]:
    """Run a loop over rows, and give its lists."""
    whole = rows - rows % step
    return _joined([blocks(0, whole, step)] if whole else [], blocks, whole, rows)


def together(blocks: Blocks, rows: int, step: int) -> list[list[Any]]:
    """The same by several threads, with the same lists, however many they are: whoever is free takes the next block."""
    whole = rows - rows % step
    begins = range(0, whole, step)
    found: list[Lists] = [()] * len(begins)
    turns = deque(enumerate(begins))

    @np.errstate(all="ignore")
    def work() -> None:
        while turns:
            try:
                turn, begin = turns.popleft()
            except IndexError:
                return  # another thread was faster
            found[turn] = blocks(begin, begin + step, step)

    helpers: list[Future[None]] = []
    try:
        with suppress(RuntimeError):  # the system gives no more threads
            for _ in range(_threads() - 1):
                helpers.append(_pool().submit(work))
        work()
    finally:
        turns.clear()  # after an error or an interrupt, nobody begins another turn
        late = [helper for helper in helpers if not helper.cancel()]
        errors = [helper.exception() for helper in late]  # waits: they write into arrays of this call
    for error in errors:
        if error is not None:
            raise error
    return _joined(found, blocks, whole, rows)


def _joined(found: list[Lists], blocks: Blocks, begin: int, rows: int) -> list[list[Any]]:
    """The lists of blocks, and of the rest of the rows, which are too few for another one."""
    if begin < rows:
        found.append(blocks(begin, rows, rows - begin))
    return [list(chain.from_iterable(parts)) for parts in zip(*found, strict=True)]


def _threads() -> int:
    """As many as this process has cores, or as ``OMP_NUM_THREADS`` allows, as for NumPy's products of matrices."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    if said.isdecimal() and int(said):
        return min(int(said), _MOST)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, _MOST)


@cache
def _pool() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(_MOST - 1, thread_name_prefix="gradcli")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not live on in a forked process
