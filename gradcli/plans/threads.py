"""Sharing the blocks of a loop among threads: NumPy lets go of the interpreter's lock while it works on a block."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from itertools import chain
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

import numpy as np

Lists = tuple[list[Any], ...]
Blocks = Callable[[int, int, int], Lists]  # of blocks from a row, up to a row, of so many rows each: what they add to each list

_MOST = 8  # threads that find the lock free often enough, when NumPy's work on a block takes some ten times longer than its call


def in_turn(blocks: Blocks, rows: int, step: int) -> list[list[Any]]:
    """Run a loop over rows, and give its lists."""
    whole = rows - rows % step
    return _joined([blocks(0, whole, step)] if whole else [], blocks, whole, rows)


def together(blocks: Blocks, rows: int, step: int, threads: int | None = None) -> list[list[Any]]:
    """The same by several threads, with the same lists, however many they are. Nothing runs any more when it ends, in any way.

    threads   how many at most, this one among them; None for as many as there are cores
    """
    whole = rows - rows % step
    shared = _Shared(blocks, whole, step)
    offer = [shared]  # what a thread finds that comes late, and what lives on in a queue that is never worked off: nothing
    problems: list[BaseException] = []
    try:
        _call_helpers(offer, threads)
        shared.work()
    except BaseException as error:
        problems.append(error)
    while True:  # whatever interrupts: helpers write into arrays of the call
        try:
            offer.clear()
            shared.wait()
            break
        except BaseException as error:
            problems.append(error)
    problems += shared.errors
    if problems:
        try:
            raise problems[0]
        finally:
            problems.clear()  # its traceback has this frame, which would keep the call's arrays alive
    return _joined(shared.found, blocks, whole, rows)


class _Shared:
    """The blocks of a loop, taken one by one by whoever is free."""

    def __init__(self, blocks: Blocks, whole: int, step: int) -> None:
        begins = range(0, whole, step)
        self.blocks, self.step = blocks, step
        self.found: list[Lists] = [()] * len(begins)
        self.turns = deque(enumerate(begins))
        self.errors: list[BaseException] = []
        self.helping: list[Any] = []  # a lock of each helper, which it holds while it does

    def work(self) -> None:
        while self.turns:
            try:
                turn, begin = self.turns.popleft()
            except IndexError:
                return  # another thread was faster
            self.found[turn] = self.blocks(begin, begin + self.step, self.step)

    def help(self) -> None:
        doing = Lock()
        with np.errstate(all="ignore"), doing:
            self.helping.append(doing)  # before it takes a turn: who waits clears the turns first
            try:
                self.work()
            except BaseException as error:
                self.turns.clear()
                self.errors.append(error)
            finally:
                self.helping.remove(doing)

    def wait(self) -> None:
        """Begin no other block, and wait for those that are under way."""
        self.turns.clear()
        while self.helping:
            with suppress(IndexError):  # it has done in the meantime
                self.helping[0].acquire()  # nobody else waits for it, so it need not be released again


class _Pool:
    """Threads that take offers of work from a queue, one after the other.

    The queue is one of C, in which no interrupt can leave a lock behind, as it may in Python's own executors.
    """

    def __init__(self) -> None:
        self.offers: SimpleQueue[list[_Shared]] = SimpleQueue()
        self.threads = 0

    def submit(self, offer: list[_Shared], threads: int) -> None:
        """Offer work to one of so many threads. Raises RuntimeError if the system gives no more."""
        while self.threads < threads:
            self.threads += 1
            try:
                Thread(target=_serve, args=(self.offers,), name=f"gradcli_{self.threads}", daemon=True).start()
            except RuntimeError:
                self.threads -= 1
                raise
        self.offers.put(offer)


def _serve(offers: SimpleQueue[list[_Shared]]) -> None:
    while True:
        _help(offers.get())  # nothing of an offer lives on here while the next one is waited for


def _call_helpers(offer: list[_Shared], threads: int | None) -> None:
    helpers = (_threads() if threads is None else min(threads, _MOST)) - 1
    with suppress(RuntimeError):  # fewer threads are no fault
        for _ in range(helpers):
            _pool().submit(offer, helpers)


def _help(offer: list[_Shared]) -> None:
    for shared in tuple(offer):
        shared.help()


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
def _pool() -> _Pool:
    return _Pool()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not live on in a forked process
