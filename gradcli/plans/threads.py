"""Sharing the blocks of a loop among threads:

NumPy lets go of the interpreter's lock while it works on a block.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from functools import cache
from itertools import chain
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

import numpy as np

Lists = tuple[list[Any], ...]
Blocks = Callable[
    [int, int, int], Lists
]  # of blocks from a row, up to a row, of so many rows each: what they add to each list

# threads that find the lock free often enough, when NumPy's work on a block takes some ten times
# longer than its call
_MOST = 8


def in_turn(blocks: Blocks, rows: int, step: int) -> list[list[Any]]:
    """Run a loop over rows, and give its lists."""
    whole = rows - rows % step
    return _join([blocks(0, whole, step)] if whole else [], blocks, whole, rows)


def together(blocks: Blocks, rows: int, step: int, threads: int | None = None) -> list[list[Any]]:
    """The same by several threads, with the same lists, however many they are.

    Nothing runs any more when it ends, in any way.

    threads   how many at most, this one among them; None for as many as there are cores
    """
    whole = rows - rows % step
    begins = range(0, whole, step)
    turns = deque(enumerate(begins))
    found: list[Lists] = [()] * len(begins)

    helping: list[Any] = []  # a lock of each helper, which it holds while it does
    problems: list[BaseException] = []

    def work() -> None:
        try:
            with np.errstate(all="ignore"):
                for turn, begin in _rest(turns):
                    found[turn] = blocks(begin, begin + step, step)
        finally:
            turns.clear()  # nobody begins another block where one has failed

    def help_out() -> None:
        own = Lock()
        with own:
            helping.append(own)  # before it takes a turn: who waits clears the turns first
            try:
                work()
            except BaseException as error:
                problems.append(error)
            finally:
                helping.remove(own)

    try:
        with suppress(RuntimeError):  # fewer threads are no fault
            for _ in range((_threads() if threads is None else min(threads, _MOST)) - 1):
                _helpers().put(help_out)
        work()
    except BaseException as error:
        problems.append(error)
    while True:  # whatever interrupts: helpers write into arrays of the call
        try:
            turns.clear()
            while helping:
                with suppress(IndexError):  # it has done in the meantime
                    helping[
                        0
                    ].acquire()  # nobody else waits for it, so it need not be released again
            break
        except BaseException as error:
            problems.append(error)
    if problems:
        try:
            raise problems[0]
        finally:
            # its traceback has this frame, which would keep the call's arrays alive
            problems.clear()
    return _join(found, blocks, whole, rows)


def _rest(turns: deque[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Take turns as long as another thread has not taken the last one."""
    with suppress(IndexError):
        while True:
            yield turns.popleft()


def _join(found: list[Lists], blocks: Blocks, begin: int, rows: int) -> list[list[Any]]:
    """The lists of blocks, and of the rest of the rows, which are too few for another one."""
    if begin < rows:
        found.append(blocks(begin, rows, rows - begin))
    return [list(chain.from_iterable(parts)) for parts in zip(*found, strict=True)]


def cores() -> int:
    """The count of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _threads() -> int:
    """Return as many threads as this process has cores, or as ``OMP_NUM_THREADS`` allows, as for
    NumPy's products of matrices.
    """
    said = os.environ.get("OMP_NUM_THREADS", "")
    if said.isdecimal() and int(said):
        return min(int(said), _MOST)
    return min(cores(), _MOST)


@cache
def _helpers() -> SimpleQueue[Callable[[], None]]:
    """Work of threads that are kept. An interrupt within `put` leaves no lock behind, as
    one within an executor's `submit` may.
    """
    tasks = SimpleQueue[Callable[[], None]]()
    for number in range(_MOST - 1):
        helper = Thread(target=_serve, args=(tasks,), name=f"gradcli_{number}", daemon=True)
        with nullcontext() if not number else suppress(RuntimeError):  # one is enough
            helper.start()
    return tasks


def _serve(tasks: SimpleQueue[Callable[[], None]]) -> None:
    while True:
        tasks.get()()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        after_in_child=_helpers.cache_clear
    )  # threads do not live on in a forked process
