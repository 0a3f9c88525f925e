"""Cases in several processes, their outcomes in order; no more work is handed out than a few pieces
for each process.

A process may die: memory runs out, a library crashes. What it was at is tried once more in another
process; what ends two of them is an error of its own, and everything else is decided.
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
from itertools import chain, islice
from multiprocessing.connection import Connection, wait
from typing import Any

from gradcli.cli.decide.cases import OF_EXPRESSION, Batch, Part, Piece, Work
from gradcli.cli.request import CheckRequest
from gradcli.containment import as_gradcli_error
from gradcli.errors import GradcliError, InternalError
from gradcli.query.cases import name_of, outcome_of
from gradcli.query.names import UsedNames
from gradcli.report.outcomes import Outcome
from gradcli.report.records import Record

# -- Processes that answer what they are asked: each has a pipe of its own, ends with its parent
# whatever ends that, and may die alone.


_PATIENCE = 2.0  # seconds that a process has to tidy up
_LOOK = 1.0  # seconds after which somebody looks who is left, should a pipe not tell
_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class Worker:
    """A process, as its parent sees it; one of those that its run ends.

    answer_all  runs there: it takes the other end of the pipe, and what is given
    """

    def __init__(self, among: list[Any], answer_all: Callable[..., None], *given: Any) -> None:
        self.pipe, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=_serve, args=(answer_all, theirs, *given))
        with _held_back():
            among.append(self)
            self.process.start()
        theirs.close()

    def ask(self, what: Any) -> None:
        """Ask for an answer; None is the end of all questions."""
        with suppress(OSError):  # it has died, as whoever waits for its answer will see
            self.pipe.send(what)

    def answer(self) -> Any:
        """Return what it says next. Raises EOFError if it has died."""
        try:
            return self.pipe.recv()
        except OSError:
            raise EOFError from None

    def end(self) -> None:
        """Wait for its end, and if it takes long, make it."""
        if self.process.pid is not None:
            self.process.join(_PATIENCE)
            for act in (self.process.terminate, self.process.kill):
                if self.process.exitcode is None:
                    act()
                    self.process.join(_PATIENCE)
        self.pipe.close()

    def ending(self) -> str:
        """Return how it came to its end, having died, in words."""
        self.process.join()
        code = self.process.exitcode or 0
        with suppress(ValueError):
            return signal.Signals(-code if code < 0 else code - 128).name
        return f"exit code {code}"


@contextmanager
def _held_back() -> Iterator[None]:
    """Signals wait while a process is started, which looks after them itself when it has begun."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# -- in the process
# ------------------------------------------------------------------------------------------------------


def _serve(answer_all: Callable[..., None], pipe: Connection[Any, Any], *given: Any) -> None:
    """Leave interrupts to the parent, end with it, and answer until nobody listens any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in _SIGNALS:
        if number != signal.SIGINT:
            signal.signal(number, _end)  # which unwinds, so that compilers end and their files go
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(OSError, EOFError):
        try:
            answer_all(pipe, *given)
        except (OSError, EOFError):
            raise
        except Exception as error:
            pipe.send(alone(as_gradcli_error(error)))


def alone(error: GradcliError) -> GradcliError:
    """An error without the frames and errors that it came from, which some libraries teach pickle
    to take along, however deep they are.
    """
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


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


def _decide_pieces(
    pipe: Connection[Any, Any], request: CheckRequest, make: Callable[[CheckRequest], Work]
) -> None:
    """Answer pieces: the number of a line before it is decided, outcomes, and at the end the names
    that were met.
    """
    work = make(request)
    work.begin = pipe.send
    while (asked := pipe.recv()) is not None:
        piece, without, seconds = asked
        work.budget.leave(seconds)
        for outcome in work.outcomes(piece, without):
            pipe.send(outcome)
        pipe.send(work.names.take())


_AHEAD = 4
_TRIES = 2  # of what a process dies of
_LONG = 1 << 20  # characters of a record that are not read again to say which it was


class Task:
    """A piece, and what has come of it, by its lines."""

    def __init__(self, piece: Piece) -> None:
        self.piece = piece
        self.names = UsedNames()
        self.done = False
        self.line = 0  # that is being decided; none at first
        self.found: list[tuple[int, Outcome]] = []
        self.dead: dict[int, Outcome] = {}  # of lines that have ended processes, which are left out
        self._deaths: Counter[int] = Counter()

    def outcomes(self) -> list[Outcome]:
        """Return the outcomes of a piece that is done, in order."""
        return [
            outcome
            for _, outcome in sorted([*self.found, *self.dead.items()], key=lambda pair: pair[0])
        ]

    def take(self, answer: Any) -> None:
        """Take what a process says of it.

        Raises GradcliError for what is wrong with the whole run.
        """
        match answer:
            case int():
                self.line = answer
            case Outcome():
                self.found.append((self.line, answer))
            case UsedNames():
                self.names, self.done = answer, True
            case GradcliError():
                raise answer

    def died(self, ending: str, fail_on: tuple[str, ...]) -> None:
        """Begin once more, for the process has died of it, or in the middle of it: without a line
        that has ended two.
        """
        self._deaths[self.line] += 1
        if self._deaths[self.line] >= _TRIES:
            self.done = self.line == 0 or self.line in self.dead
            self.dead[self.line] = _of_death(self.piece, self.line, ending, fail_on)
            self.names.unread = True
        self.found, self.line = [], 0


def _of_death(piece: Piece, line: int, ending: str, fail_on: tuple[str, ...]) -> Outcome:
    """Return the outcome of a piece, or of a line of it, that processes have died of."""
    error = InternalError(
        f"the process that decides this dies of it ({ending})",
        help="if memory runs out, a limit (--limit memory=1G) refuses what is too large before it "
        "is begun; else please report it",
    )
    said: dict[str, Any] = {}
    if isinstance(piece, Batch):
        text = dict(piece.lines).get(line, "")
        with suppress(ValueError, RecursionError):
            given = json.loads(text) if len(text) <= _LONG else None
            said = given if isinstance(given, dict) else {}
    expr = said.get("expr")
    record = Record.of_error(error, id=said.get("id"), expr=expr if isinstance(expr, str) else "")
    record.file, record.line = (
        (None if piece.path == "-" else piece.path),
        1 if line in (0, OF_EXPRESSION) else line,
    )
    record.record_line = line not in (0, OF_EXPRESSION)
    return outcome_of(record, name_of(record), fail_on=fail_on)


def in_parallel(
    work: Work, request: CheckRequest, make: Callable[[CheckRequest], Work]
) -> Generator[Outcome, None, None]:
    """The outcomes of all pieces, in the order of the pieces; nothing runs any more when it ends,
    in any way.

    The processes, no more than pieces, begin before anything else is done, while there are no other
    threads.
    """
    pieces = work.pieces()
    first = list(islice(pieces, work.processes))
    run = _Run(work, request, make)
    try:
        for _ in range(max(len(first), 1)):
            run.start()
        yield from run.outcomes(chain(first, pieces))
        for worker in run.workers:
            worker.ask(None)
    except BaseException:
        for worker in run.workers:
            if worker.process.pid is not None:
                worker.process.terminate()
        raise
    finally:
        for worker in run.workers:
            worker.end()


class _Run:
    """The processes of a run, and the tasks that they have."""

    def __init__(self, work: Work, *given: Any) -> None:
        self.work, self.given = work, given
        self.workers: list[Worker] = []
        self.busy: dict[Worker, Task] = {}
        self.waiting: deque[Task] = deque()

    def start(self) -> None:
        Worker(self.workers, _decide_pieces, *self.given)

    def outcomes(self, pieces: Iterable[Piece]) -> Iterator[Outcome]:
        tasks: deque[Task] = deque()
        left = iter(pieces)
        while True:
            for piece in islice(left, _AHEAD * len(self.workers) - len(tasks)):
                tasks.append(self._begin(piece))
                self._hand_out()
            if not tasks:
                return
            if tasks[0].done:
                first = tasks.popleft()
                self.work.names.merge(first.names)
                yield from first.outcomes()
            else:
                self._listen()

    def _begin(self, piece: Piece) -> Task:
        task = Task(piece)
        if (
            isinstance(piece, Part) and piece.path == "-"
        ):  # only this process has the standard input
            task.found = [(0, outcome) for outcome in self.work.outcomes(piece)]
            task.done = True
        else:
            self.waiting.append(task)
        return task

    def _hand_out(self) -> None:
        for worker in self.workers:
            if self.waiting and worker not in self.busy:
                task = self.busy[worker] = self.waiting.popleft()
                worker.ask((task.piece, frozenset(task.dead), self.work.budget.time_left))

    def _listen(self) -> None:
        """Take what the processes say, until one of them does, or has died."""
        ready = wait([worker.pipe for worker in self.busy], _LOOK)
        for worker, task in [*self.busy.items()]:
            if worker.pipe not in ready and worker.process.exitcode is None:
                continue
            try:
                while not task.done:
                    task.take(worker.answer())
                    if not worker.pipe.poll():
                        break
            except EOFError:
                self.workers.remove(worker)
                task.died(worker.ending(), self.work.file_options.of(task.piece.path).fail_on)
                worker.end()
                if not task.done:
                    self.waiting.appendleft(task)
                self.start()
                del self.busy[worker]
            if task.done:
                self.busy.pop(worker, None)
        self._hand_out()
