"""Decisions in several processes, with their outcomes in order.

No more than a few pieces of work are handed out for each process.

A process may die because memory runs out or a library crashes. Its records are then decided one by
one in another process. A record that ends this process gets an error of its own, and everything
else is decided.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from itertools import chain, islice
from multiprocessing.connection import Connection, wait
from typing import Any

from gradcli.cli.commands import CheckRequest
from gradcli.cli.decide.cases import Batch, Part, Piece, Work
from gradcli.cli.process import ENDING
from gradcli.errors import GradcliError, InternalError, as_gradcli_error
from gradcli.query.cases import name_of, outcome_of
from gradcli.query.programs import UsedNames
from gradcli.report.outcomes import Outcome
from gradcli.report.records import Record

# -- Processes that answer what they are asked: each has a pipe of its own, ends with its parent
# whatever ends that, and may die alone.


_PATIENCE = 2.0  # seconds that a process has to clean up
_LOOK = 1.0  # seconds between looks for processes that died without their pipe telling


class Worker:
    """A process, as its parent sees it; one of those that its run ends.

    answer_all  runs there: it takes the other end of the pipe, and what is given
    """

    def __init__(self, among: list[Any], answer_all: Callable[..., None], *given: Any) -> None:
        self.pipe, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=_serve, args=(answer_all, theirs, *given))
        among.append(self)
        self.process.start()
        theirs.close()

    def ask(self, what: Any) -> None:
        """Ask for an answer; None is the end of all questions."""
        with suppress(OSError):  # it has died, as waiting for its answer will show
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


# -- in the process


def _serve(answer_all: Callable[..., None], pipe: Connection[Any, Any], *given: Any) -> None:
    """Leave interrupts to the parent, end with it, and answer until nobody listens any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in ENDING:
        if number != signal.SIGINT:
            signal.signal(number, _end)  # unwinding ends compilers and removes their files
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(OSError, EOFError):
        try:
            answer_all(pipe, *given)
        except (OSError, EOFError):
            raise
        except Exception as error:
            pipe.send(alone(as_gradcli_error(error)))


def alone(error: GradcliError) -> GradcliError:
    """Remove from an error the frames and errors that it came from, and return it.

    Some libraries teach pickle to take them along, however deep they are.
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
    """Answer pieces: by their outcomes, and the names that were met."""
    work = make(request)
    while (asked := pipe.recv()) is not None:
        piece, seconds = asked
        work.budget.leave(seconds)
        outcomes = [*work.outcomes(piece)]
        pipe.send((outcomes, work.names.take()))


_AHEAD = 4


class Task:
    """A piece, and what has come of it; in several pieces, if a process has died of it."""

    def __init__(self, piece: Piece) -> None:
        self.pieces = deque([piece])  # still to be decided, all of one file
        self.names = UsedNames()
        self.found: list[Outcome] = []

    def take(self, outcomes: list[Outcome], names: UsedNames) -> None:
        """Take what a process says of the first piece."""
        self.pieces.popleft()
        self.found += outcomes
        self.names.merge(names)

    def died(self, ending: str, fail_on: tuple[str, ...]) -> None:
        """Give up the first piece because a process has died of it.

        If it has several records, each of them becomes a piece.
        """
        piece = self.pieces.popleft()
        if isinstance(piece, Batch) and len(piece.lines) > 1:
            rest = [Batch(piece.path, [line]) for line in piece.lines]
            if piece.error is not None:
                rest.append(Batch(piece.path, [], piece.error))
            self.pieces.extend(rest)
        else:
            self.names.unread = True
            self.found.append(_of_death(piece, ending, fail_on))


def _of_death(piece: Piece, ending: str, fail_on: tuple[str, ...]) -> Outcome:
    """Return the outcome of a piece that a process has died of."""
    error = InternalError(
        f"the process that was deciding this died ({ending})",
        help="if memory ran out, --limit memory=1G refuses what is too large before it begins; "
        "otherwise please report it",
    )
    given: Any = {}
    record = Record.of_error(error, expr="")
    record.file = None if piece.path == "-" else piece.path
    if isinstance(piece, Batch) and piece.lines:
        record.record_line, (record.line, text) = True, piece.lines[0]
        with suppress(ValueError, RecursionError):
            given = json.loads(text)
        record.id = given.get("id") if isinstance(given, dict) else None
    elif isinstance(piece, Part) and piece.path is not None:
        record.line = piece.lines.start or 1
    return outcome_of(record, name_of(record), fail_on)


def in_parallel(
    work: Work, request: CheckRequest, make: Callable[[CheckRequest], Work]
) -> Generator[Outcome, None, None]:
    """Yield the outcomes of all pieces, in the order of the pieces.

    Nothing runs any more when it ends, in any way.

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

    def outcomes(self, pieces: Iterator[Piece]) -> Iterator[Outcome]:
        tasks: deque[Task] = deque()
        while True:
            for piece in islice(pieces, _AHEAD * len(self.workers) - len(tasks)):
                tasks.append(Task(piece))
                if isinstance(piece, Part) and piece.path == "-":
                    # Only this process has standard input.
                    tasks[-1].take([*self.work.outcomes(piece)], UsedNames())
                else:
                    self.waiting.append(tasks[-1])
            if not tasks:
                return
            if tasks[0].pieces:
                self._listen()
            else:
                first = tasks.popleft()
                self.work.names.merge(first.names)
                yield from first.found

    def _listen(self) -> None:
        """Hand out waiting tasks, and take answers until a process has answered or died."""
        for worker in self.workers:
            if self.waiting and worker not in self.busy:
                task = self.busy[worker] = self.waiting.popleft()
                worker.ask((task.pieces[0], self.work.budget.time_left))
        ready = wait([worker.pipe for worker in self.busy], _LOOK)
        for worker, task in [*self.busy.items()]:
            if worker.pipe not in ready and worker.process.exitcode is None:
                continue
            del self.busy[worker]
            try:
                answer = worker.answer()
                if isinstance(answer, GradcliError):  # an error of the whole run
                    raise answer
                task.take(*answer)
            except EOFError:
                self.workers.remove(worker)
                task.died(worker.ending(), self.work.file_options.of(task.pieces[0].path).fail_on)
                worker.end()
                self.start()
            if task.pieces:
                self.waiting.appendleft(task)
