"""Cases on the workers of a Dask cluster, their outcomes in order: pieces of work, each decided on one worker.

Records whose verdicts are remembered here go nowhere; what workers find is remembered here. What a worker dies of is tried on others; what
ends several of them is an error of its own, and everything else is decided.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from typing import Any

from gradcli.check.recalling import NotRecalled, handed_on, only_recalled
from gradcli.cli.decide.parallel import of_death
from gradcli.cli.decide.pieces import Batch, Piece, Whole, Work
from gradcli.cli.decide.work import work_of
from gradcli.cli.request import CheckRequest
from gradcli.containment import contained
from gradcli.errors import EvaluationError, GradcliError
from gradcli.query.chunked.executors import Cluster, Task
from gradcli.query.unused_names import UsedNames
from gradcli.report.outcomes import Outcome
from gradcli.storage.cache import VERDICTS

_BATCH = 64  # records that a worker takes at once: they take far longer than it takes to hand them over
_MISSES = 64  # records in a row that are not remembered: it is not sought for others

Found = tuple[list[Outcome], UsedNames, list[tuple[str, bytes]]]  # outcomes, the names that were met, and verdicts to be remembered
_here = threading.local()
_moving = threading.Lock()


def on_cluster(work: Work, request: CheckRequest, cluster: Cluster) -> Generator[Outcome, None, None]:
    """The outcomes of all pieces, in the order of the pieces."""
    work.processes = max(2, cluster.hands)
    asked = _Asked(work, request)
    with cluster:
        for number, found in cluster.each(asked, died=True):
            asked.answer(number, found)
            yield from asked.in_order()
        yield from asked.in_order()


class _Asked:
    """The tasks of a run, and what is known of their pieces."""

    def __init__(self, work: Work, request: CheckRequest) -> None:
        self.work, self.request, self.remembering = work, request, work.policies.of(None).options.remembering
        self.pieces = _joined(work.pieces())
        self.misses = 0
        self.begun: dict[int, _Begun] = {}  # pieces by their place in the order
        self.following, self.numbers = 0, 0
        self.tasks: dict[int, tuple[int, Piece]] = {}  # under way: of which place, and what of it
        self.again: deque[tuple[int, Piece]] = deque()  # what is to be tried alone

    def __iter__(self) -> Iterator[Task]:
        return self

    def __next__(self) -> Task:
        while not self.again:
            piece = next(self.pieces)
            place = len(self.begun) + self.following
            begun = self.begun[place] = _Begun(piece)
            if isinstance(piece, Whole) and piece.path == "-":  # only this process has the standard input
                begun.answer(piece, list(self.work.outcomes(piece)))
            else:
                rest = self._recalled(begun)
                if rest is not None:
                    self.again.append((place, rest))
        place, piece = self.again.popleft()
        self.numbers += 1
        self.tasks[self.numbers] = place, piece
        return self.numbers, decided, (self.request, os.getcwd(), piece, self.work.budget.left)

    def _recalled(self, begun: _Begun) -> Piece | None:
        """What is left of a piece when the records that are remembered have been answered."""
        piece = begun.piece
        if not isinstance(piece, Batch) or not self.remembering or self.misses > _MISSES:
            return piece
        left = []
        for line in piece.lines:
            alone = Batch(piece.path, [line])
            try:
                with only_recalled():
                    begun.answer(alone, list(self.work.outcomes(alone)))
                self.misses = 0
            except NotRecalled:
                left.append(line)
                self.misses += 1
        return Batch(piece.path, left) if left else None

    def answer(self, number: int, found: Any) -> None:
        """What a worker found, or what it died of. Raises what is wrong with the whole run."""
        place, piece = self.tasks.pop(number)
        if isinstance(found, EvaluationError) and isinstance(piece, Batch) and len(piece.lines) > 1:
            self.again.extend((place, Batch(piece.path, [line])) for line in piece.lines)
        elif isinstance(found, EvaluationError):
            line = piece.lines[0][0] if isinstance(piece, Batch) else None
            self.begun[place].answer(piece, [of_death(piece, line, "several workers ended", self.work.policies.of(piece.path).fail_on)])
            self.work.names.unread = True
        elif isinstance(found, GradcliError):
            raise found
        else:
            outcomes, names, verdicts = found
            self.begun[place].answer(piece, outcomes)
            self.work.names.merge(names)
            for key, content in verdicts if self.remembering else ():
                VERDICTS.keep(key, content)

    def in_order(self) -> Iterator[Outcome]:
        """The outcomes of the pieces that are done, up to the first that is not."""
        while self.following in self.begun and self.begun[self.following].is_done:
            yield from self.begun.pop(self.following).outcomes()
            self.following += 1


class _Begun:
    """A piece, and the outcomes of its lines, as far as they are known: all of what has no records is one line."""

    def __init__(self, piece: Piece) -> None:
        self.piece = piece
        self.lines = _lines(piece)
        self.known: dict[int, Sequence[Outcome]] = {}

    def answer(self, piece: Piece, outcomes: list[Outcome]) -> None:
        """The outcomes of a part of the piece."""
        lines = _lines(piece)
        single = len(lines) == len(outcomes)  # unless reading went wrong on the way
        for i, line in enumerate(lines):
            self.known[line] = [outcomes[i]] if single else outcomes if i == 0 else []

    @property
    def is_done(self) -> bool:
        return len(self.known) == len(self.lines)

    def outcomes(self) -> Iterator[Outcome]:
        for line in self.lines:
            yield from self.known[line]


def _lines(piece: Piece) -> list[int]:
    return [number for number, _ in piece.lines] if isinstance(piece, Batch) else [0]


def _joined(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Batches of a file that follow each other made larger."""
    held: Batch | None = None
    for piece in pieces:
        if held is not None and isinstance(piece, Batch) and piece.path == held.path and len(held.lines) < _BATCH:
            held = Batch(held.path, [*held.lines, *piece.lines])
            continue
        if held is not None:
            yield held
        held = piece if isinstance(piece, Batch) else None
        if held is None:
            yield piece
    if held is not None:
        yield held


def decided(request: CheckRequest, folder: str, piece: Piece, seconds: float | None) -> Found | GradcliError:
    """What is found of a piece on a worker; or what is wrong with the whole run."""
    try:
        _move_to(folder)
        work = _work_of(request)
        work.budget.leave(seconds)
        with handed_on() as verdicts:
            return list(work.outcomes(piece)), work.names.take(), verdicts
    except Exception as error:
        return contained(error)


def _move_to(folder: str) -> None:
    """Paths are those of whoever asks. Raises EvaluationError."""
    with _moving:
        if os.getcwd() != folder:
            try:
                os.chdir(folder)
            except OSError as error:
                help = "check files where workers have them, too"
                raise EvaluationError(f"a worker has no folder '{folder}': {error.strerror}", help=help) from None


def _work_of(request: CheckRequest) -> Any:
    """The work as this thread has read it; a request that is asked again is not read again."""
    told = repr(request)
    if getattr(_here, "told", None) != told:
        _here.told, _here.work = told, work_of(request)
    return _here.work
