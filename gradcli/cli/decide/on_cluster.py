"""Cases on the workers of a Dask cluster, their outcomes in order: pieces of work, each decided on one worker.

What a worker dies of is tried on others; what ends several of them is an error of its own, and everything else is decided.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Generator, Iterator
from typing import Any

from gradcli.cli.decide.parallel import of_death
from gradcli.cli.decide.pieces import Piece, Whole, Work
from gradcli.cli.decide.work import work_of
from gradcli.cli.request import CheckRequest
from gradcli.containment import contained
from gradcli.errors import EvaluationError, GradcliError
from gradcli.query.chunked.executors import Cluster, Task
from gradcli.query.unused_names import UsedNames
from gradcli.report.outcomes import Outcome

_here = threading.local()
_moving = threading.Lock()


def on_cluster(work: Work, request: CheckRequest, cluster: Cluster) -> Generator[Outcome, None, None]:
    """The outcomes of all pieces, in the order of the pieces."""
    work.processes = max(2, cluster.hands)
    begun: dict[int, Piece] = {}
    known: dict[int, list[Outcome]] = {}

    def tasks() -> Iterator[Task]:
        for number, piece in enumerate(work.pieces()):
            begun[number] = piece
            if isinstance(piece, Whole) and piece.path == "-":  # only this process has the standard input
                known[number] = list(work.outcomes(piece))
            else:
                yield number, decided, (request, os.getcwd(), piece, work.budget.left)

    following = 0
    with cluster:
        for number, found in cluster.each(tasks(), died=True):
            if isinstance(found, EvaluationError):
                policy = work.policies.of(begun[number].path)
                known[number] = [of_death(begun[number], None, "several workers ended", policy.fail_on)]
                work.names.unread = True
            elif isinstance(found, GradcliError):
                raise found
            else:
                known[number], names = found
                work.names.merge(names)
            while following in known:
                yield from known.pop(following)
                begun.pop(following)
                following += 1
    for number in sorted(known):
        yield from known[number]


def decided(request: CheckRequest, folder: str, piece: Piece, seconds: float | None) -> tuple[list[Outcome], UsedNames] | GradcliError:
    """The outcomes of a piece on a worker, and the names that were met; or what is wrong with the whole run."""
    try:
        _move_to(folder)
        work = _work_of(request)
        work.budget.leave(seconds)
        return list(work.outcomes(piece)), work.names.take()
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
