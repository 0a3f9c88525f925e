"""Cases in several processes, their outcomes in order; no more work is handed out than a few pieces for each process."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import chain, islice

from gradcli.cli.decide.cases import cases_of
from gradcli.cli.decide.pieces import Piece, Whole, Work
from gradcli.cli.request import CheckRequest
from gradcli.query.unused_names import UsedNames
from gradcli.report.outcomes import Outcome

_AHEAD = 4
_PATIENCE = 5.0  # seconds that the threads of a pool get to see that its processes are gone
_cases: Work | None = None


def _begin(request: CheckRequest) -> None:
    """What every process does first: it reads the request for itself, and leaves interrupts to the parent."""
    global _cases  # noqa: PLW0603 - one for each process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _cases = cases_of(request)


def _work(piece: Piece) -> tuple[list[Outcome], UsedNames]:
    assert _cases is not None
    return list(_cases.outcomes(piece)), _cases.names.take()


def in_parallel(work: Work, request: CheckRequest) -> Generator[Outcome, None, None]:
    """The outcomes of all pieces, in the order of the pieces. The processes, no more than pieces, begin at once,
    while there are no other threads."""
    pieces = work.pieces()
    first = list(islice(pieces, work.processes))
    processes = max(len(first), 1)
    others = set(threading.enumerate())
    pool = ProcessPoolExecutor(processes, initializer=_begin, initargs=(request,))
    pool.submit(int)
    return _in_order(work, chain(first, pieces), pool, set(threading.enumerate()) - others, _AHEAD * processes)


def _in_order(
    work: Work, pieces: Iterable[Piece], pool: ProcessPoolExecutor, threads: set[threading.Thread], ahead: int
) -> Generator[Outcome, None, None]:
    handed: deque[Future[tuple[list[Outcome], UsedNames]]] = deque()

    def first() -> list[Outcome]:
        outcomes, names = handed.popleft().result()
        work.names.merge(names)
        return outcomes

    try:
        for piece in pieces:
            if isinstance(piece, Whole) and piece.path == "-":  # only this process has the standard input
                handed.append(Future())
                handed[-1].set_result((list(work.outcomes(piece)), UsedNames()))
            else:
                handed.append(pool.submit(_work, piece))
            if len(handed) >= ahead:
                yield from first()
        while handed:
            yield from first()
    except BaseException:  # interrupted, or enough is known: nobody waits for what is still being done
        for process in multiprocessing.active_children():
            process.terminate()
        pool.shutdown(wait=False, cancel_futures=True)
        for thread in threads:  # they have to end before the interpreter does, which would wake them
            thread.join(_PATIENCE)
        raise
    pool.shutdown()
