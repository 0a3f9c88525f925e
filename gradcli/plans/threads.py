"""Sharing the chunks of a loop among threads: native code lets go of the interpreter's lock."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import cache
from queue import SimpleQueue
from threading import Event, Thread

_MOST = 8  # most threads


def run_chunks(
    work: Callable[[int, int], None], rows: int, step: int, threads: int | None = None
) -> None:
    """Do a loop over rows, so many in each call, by several threads.

    Nothing runs any more when it ends, in any way.

    threads   how many at most, this one among them; None for as many as there are cores
    """
    turns = deque(range(0, rows, step))
    active: list[Event] = []  # one of each helper, which sets it when it is done
    problems: list[BaseException] = []

    def share() -> None:
        while turns:
            try:
                begin = turns.popleft()
            except IndexError:  # another thread has taken the last one
                return
            work(begin, min(begin + step, rows))

    def help_out() -> None:
        done = Event()
        active.append(done)  # before it takes a turn: the waiting thread clears turns first
        try:
            share()
        except BaseException as error:
            problems.append(error)
            turns.clear()  # nobody begins another chunk where one has failed
        finally:
            done.set()

    try:
        with suppress(RuntimeError):  # fewer threads will do
            most = _threads() if threads is None else min(threads, _MOST)
            for _ in range(min(most, len(turns)) - 1):
                _helpers().put(help_out)
        share()
    except BaseException as error:
        problems.append(error)
    while True:  # whatever interrupts this: helpers write into arrays of the call
        try:
            turns.clear()
            for done in active:
                done.wait()
            break
        except BaseException as error:
            problems.append(error)
    if problems:
        try:
            raise problems[0]
        finally:
            # Its traceback has this frame, which would keep the call's arrays alive.
            problems.clear()


def cores() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _threads() -> int:
    """Return the number of threads: as many as cores, or as ``OMP_NUM_THREADS`` allows.

    NumPy's products of matrices use the same number.
    """
    said = os.environ.get("OMP_NUM_THREADS", "")
    return min(int(said) if said.isdecimal() and int(said) else cores(), _MOST)


@cache
def _helpers() -> SimpleQueue[Callable[[], None]]:
    """Return the queue of tasks for threads that are kept.

    An interrupt within `put` leaves no lock behind; one within an executor's `submit` does.
    """
    tasks: SimpleQueue[Callable[[], None]] = SimpleQueue()
    for number in range(_MOST - 1):
        helper = Thread(target=_serve, args=(tasks,), name=f"gradcli_{number}", daemon=True)
        with nullcontext() if not number else suppress(RuntimeError):  # one helper is enough
            helper.start()
    return tasks


def _serve(tasks: SimpleQueue[Callable[[], None]]) -> None:
    while True:
        tasks.get()()


if hasattr(os, "register_at_fork"):
    # Threads do not survive a fork.
    os.register_at_fork(after_in_child=_helpers.cache_clear)
