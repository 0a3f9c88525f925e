"""Cases in several processes, their outcomes in order; no more work is handed out than a few pieces for each process."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from gradcli.query.unused_names import Names
from gradcli.report.outcomes import Outcome

if TYPE_CHECKING:
    from gradcli.cli.cases import CheckJob
    from gradcli.cli.check import CheckRequest

_AHEAD = 4
_PATIENCE = 5.0  # seconds that the threads of a pool get to see that its processes are gone
_job: CheckJob | None = None


def _begin(request: CheckRequest) -> None:
    """What every process does first: it makes the job of its own, and leaves interrupts to the parent."""
    from gradcli.cli.cases import CheckJob

    global _job  # noqa: PLW0603 - one job for each process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _job = CheckJob(request)


def _work(task: Any) -> tuple[list[Outcome], Names]:
    assert _job is not None
    _job.seen = Names()
    return list(_job.outcomes(task)), _job.seen


def in_parallel(job: CheckJob, request: CheckRequest) -> Generator[Outcome, None, None]:
    """The outcomes of all tasks, in the order of the tasks. The processes, no more than tasks, begin at once,
    while there are no other threads."""
    tasks = job.tasks()
    first = list(islice(tasks, job.jobs))
    processes = max(len(first), 1)
    others = set(threading.enumerate())
    pool = ProcessPoolExecutor(processes, initializer=_begin, initargs=(request,))
    pool.submit(int)
    return _in_order(job, chain(first, tasks), pool, set(threading.enumerate()) - others, _AHEAD * processes)


def _in_order(
    job: CheckJob, tasks: Iterable[Any], pool: ProcessPoolExecutor, threads: set[threading.Thread], ahead: int
) -> Generator[Outcome, None, None]:
    waiting: deque[Future[tuple[list[Outcome], Names]]] = deque()

    def first() -> list[Outcome]:
        outcomes, names = waiting.popleft().result()
        job.seen.merge(names)
        return outcomes

    try:
        for task in tasks:
            if task[:2] == ("text", "-"):  # only this process has the standard input
                waiting.append(Future())
                waiting[-1].set_result((list(job.outcomes(task)), Names()))
            else:
                waiting.append(pool.submit(_work, task))
            if len(waiting) >= ahead:
                yield from first()
        while waiting:
            yield from first()
    except BaseException:  # interrupted, or enough is known: nobody waits for what is still being done
        for process in multiprocessing.active_children():
            process.terminate()
        pool.shutdown(wait=False, cancel_futures=True)
        for thread in threads:  # they have to end before the interpreter does, which would wake them
            thread.join(_PATIENCE)
        raise
    pool.shutdown()
