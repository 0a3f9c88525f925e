"""Cases in several processes, their outcomes in order; no more work is handed out than a few pieces for each process.

A process may die: memory runs out, a library crashes. What it was at is tried once more in another process; what ends two of them is an
error of its own, and everything else is decided.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain, islice
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from gradcli.cli.decide.cases import Batch, Part, Piece, Work
from gradcli.cli.request import CheckRequest
from gradcli.containment import contained
from gradcli.errors import GradcliError, InternalError
from gradcli.query.cases import name_of, outcome_of
from gradcli.query.names import UsedNames
from gradcli.report.outcomes import Outcome
from gradcli.report.records import Record

# -- Processes that decide pieces of work: each has a pipe of its own, ends with its parent
# whatever ends that, and may die alone.


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
        """Return what it says next. Raises EOFError if it has died."""
        try:
            return self.pipe.recv()
        except OSError:
            raise EOFError from None

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


_AHEAD = 4
_TRIES = 2  # of what a process dies of
_LONG = 1 << 20  # characters of a record that are not read again to say which it was


class Task:
    """A piece, and what has come of it so far."""

    def __init__(self, piece: Piece) -> None:
        self.piece = piece
        self.ready: deque[Outcome] = deque()
        self.names = UsedNames()
        self.done = False
        self.without: set[int | None] = set()  # lines that ended processes
        self._died: Counter[int | None] = Counter()
        self._finished = 0  # outcomes of lines that are done with
        self.begin()

    def begin(self) -> None:
        """It is begun, perhaps once more: what is known already is passed over."""
        self.line: int | None = None
        self._known = self._finished
        self._of_line: list[Outcome] = []

    def take(self, answer: Any) -> None:
        """What a process says of it. Raises GradcliError for what is wrong with the whole run."""
        match answer:
            case int():
                if answer != self.line:
                    self._finish_line()
                self.line = answer
            case Outcome():
                if self._known:
                    self._known -= 1
                else:
                    self._of_line.append(answer)
            case UsedNames():
                self._finish_line()
                self.names, self.done = answer, True
            case GradcliError():
                raise answer

    def _finish_line(self) -> None:
        self._finished += len(self._of_line)
        self.ready.extend(self._of_line)
        self._of_line = []

    def died(self, ending: str, fail_on: tuple[str, ...]) -> None:
        """The process has died of it, or in the middle of it."""
        self._died[self.line] += 1
        if self._died[self.line] < _TRIES:
            return
        self.ready.extend(self._of_line)  # of the same line, which is left out from now on
        self.ready.append(_of_death(self.piece, self.line, ending, fail_on))
        self.done = self.line is None or self.line in self.without
        self.without.add(self.line)
        self.names.unread = True


def _of_death(piece: Piece, line: int | None, ending: str, fail_on: tuple[str, ...]) -> Outcome:
    """The outcome of a piece, or of a line of it, that processes have died of."""
    error = InternalError(
        f"the process that decides this dies of it ({ending})",
        help="if memory runs out, a limit (--limit memory=1G) refuses what is too large before it is begun; else please report it",
    )
    said: dict[str, Any] = {}
    if isinstance(piece, Batch):
        text = dict(piece.lines).get(line or 0, "")
        with suppress(ValueError, RecursionError):
            given = json.loads(text) if len(text) <= _LONG else None
            said = given if isinstance(given, dict) else {}
    expr = said.get("expr")
    record = Record.of_error(error, id=said.get("id"), expr=expr if isinstance(expr, str) else "")
    record.file, record.line = (None if piece.path == "-" else piece.path), line or 1
    record.record_line = isinstance(piece, Batch)
    return outcome_of(record, name_of(record), fail_on=fail_on)


def in_parallel(work: Work, request: CheckRequest, make: Callable[[CheckRequest], Work]) -> Generator[Outcome, None, None]:
    """The outcomes of all pieces, in the order of the pieces; nothing runs any more when it ends, in any way.

    The processes, no more than pieces, begin before anything else is done, while there are no other threads.
    """
    pieces = work.pieces()
    first = list(islice(pieces, work.processes))
    run, in_order = _Run(work, partial(Worker, request, make), max(len(first), 1)), False
    try:
        run.begin()
        yield from run.outcomes(chain(first, pieces))
        in_order = True
    finally:
        run.end(in_order)


class _Run:
    """The processes of a run, and the tasks that they have."""

    def __init__(self, work: Work, start: Callable[[list[Worker]], Worker], processes: int) -> None:
        self.work, self.start, self.processes = work, start, processes
        self.busy: dict[Worker, Task] = {}
        self.idle: list[Worker] = []
        self.waiting: deque[Task] = deque()

    def begin(self) -> None:
        for _ in range(self.processes):
            self.start(self.idle)

    def outcomes(self, pieces: Iterable[Piece]) -> Iterator[Outcome]:
        tasks: deque[Task] = deque()
        left = iter(pieces)
        while True:
            for piece in islice(left, _AHEAD * self.processes - len(tasks)):
                tasks.append(self._begun(piece))
                self._hand_out()
            if not tasks:
                return
            first = tasks[0]
            while first.ready:
                yield first.ready.popleft()
            if first.done:
                self.work.names.merge(tasks.popleft().names)
            else:
                self._listen()

    def _begun(self, piece: Piece) -> Task:
        task = Task(piece)
        if isinstance(piece, Part) and piece.path == "-":  # only this process has the standard input
            task.ready.extend(self.work.outcomes(piece))
            task.done = True
        else:
            self.waiting.append(task)
        return task

    def _hand_out(self) -> None:
        while self.waiting and self.idle:
            worker, task = self.idle.pop(), self.waiting.popleft()
            self.busy[worker] = task
            task.begin()
            worker.ask(task.piece, frozenset(task.without), self.work.budget.left)

    def _listen(self) -> None:
        """Take what the processes say, until one of them does."""
        for worker in heard(list(self.busy)):
            task = self.busy[worker]
            try:
                while not task.done:
                    task.take(worker.answer())
                    if not worker.pipe.poll():
                        break
            except EOFError:
                del self.busy[worker]
                task.died(ending_of(worker.process), self.work.policies.of(task.piece.path).fail_on)
                worker.end()
                if not task.done:
                    self.waiting.appendleft(task)
                self.start(self.idle)
            else:
                if task.done:
                    del self.busy[worker]
                    self.idle.append(worker)
        self._hand_out()

    def end(self, in_order: bool) -> None:
        workers = [*self.idle, *self.busy]
        for worker in workers:
            worker.dismiss() if in_order else worker.interrupt()
        for worker in workers:
            worker.end()
