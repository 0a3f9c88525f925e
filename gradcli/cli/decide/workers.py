"""Processes that decide pieces of work: each has a pipe of its own, ends with its parent whatever ends that, and may die alone."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from gradcli.cli.decide.pieces import Piece, Work
from gradcli.cli.request import CheckRequest
from gradcli.containment import contained

_PATIENCE = 2.0  # seconds that a process has to tidy up
_LOOK = 1.0  # seconds after which somebody looks who is left, should a pipe not tell
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Worker:
    """A process, as its parent sees it; one of those that its run ends. What it decides is made there of the request."""

    def __init__(self, request: CheckRequest, make: Callable[[CheckRequest], Work], among: list[Worker]) -> None:
        self.pipe, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=_serve, args=(theirs, request, make))
        with held_back():
            among.append(self)
            self.process.start()
        theirs.close()

    def ask(self, piece: Piece, without: frozenset[int | None], seconds: float | None) -> None:
        """Let it decide a piece, but for what stands in some lines, in the time that is left of the run."""
        with suppress(OSError):  # it has died, as whoever waits for its answer will see
            self.pipe.send((piece, without, seconds))

    def answer(self) -> Any:
        """What it says next. Raises EOFError if it has died."""
        try:
            return self.pipe.recv()
        except OSError:
            raise EOFError from None

    def ending(self) -> str:
        """How a process that has died came to its end, in words."""
        return ending_of(self.process)

    def dismiss(self) -> None:
        """There is nothing left to do."""
        with suppress(OSError):
            self.pipe.send(None)

    def interrupt(self) -> None:
        """Let it leave what it is at."""
        if self.process.pid is not None:
            self.process.terminate()

    def end(self) -> None:
        """Wait for its end, and if it takes long, make it."""
        if self.process.pid is not None:
            self.process.join(_PATIENCE)
            for act in (self.process.terminate, self.process.kill):
                if self.process.exitcode is None:
                    act()
                    self.process.join(_PATIENCE)
        self.pipe.close()


def ending_of(process: BaseProcess) -> str:
    """How a process that has died came to its end, in words."""
    process.join()
    code = process.exitcode or 0
    number = -code if code < 0 else code - 128
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"exit code {code}"


def heard(workers: list[Worker]) -> list[Worker]:
    """Those of them that have something to say, or have died: at least one, after some time."""
    while True:
        ready = wait([worker.pipe for worker in workers], _LOOK)
        found = [worker for worker in workers if worker.pipe in ready or worker.process.exitcode is not None]
        if found:
            return found


@contextmanager
def held_back() -> Iterator[None]:
    """Signals wait while a process is started, which looks after them itself when it has begun."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# -- in the process ------------------------------------------------------------------------------------------------------


def _serve(pipe: Connection[Any, Any], request: CheckRequest, make: Callable[[CheckRequest], Work]) -> None:
    """Read the request, and answer pieces: the number of a line before it is decided, outcomes, and at the end the names that were met."""
    live_with_parent()
    with suppress(OSError, EOFError):  # nobody listens any more
        try:
            _answer_all(pipe, make(request))
        except (OSError, EOFError):
            raise
        except Exception as error:
            pipe.send(contained(error))


def _answer_all(pipe: Connection[Any, Any], work: Work) -> None:
    work.begin = pipe.send
    while (asked := pipe.recv()) is not None:
        piece, without, seconds = asked
        work.budget.leave(seconds)
        for outcome in work.outcomes(piece, without):
            pipe.send(outcome)
        pipe.send(work.names.take())


def live_with_parent() -> None:
    """What every process does first: it leaves interrupts to the parent, and ends with it."""
    _look_after_signals()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _look_after_signals() -> None:
    """Interrupts are the parent's. What else ends the process unwinds it, so that compilers end and their files go."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in _SIGNALS:
        if number != signal.SIGINT:
            signal.signal(number, _end)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)


def _end(number: int, frame: Any) -> None:
    raise SystemExit(128 + number)


def _end_with_parent() -> None:
    """End as soon as there is no parent any more: in order, or else soon."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        signal.raise_signal(signal.SIGTERM)
        threading.Event().wait(_PATIENCE)
    os._exit(1)
