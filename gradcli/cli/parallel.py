"""Cases in several processes, their outcomes in order; no more work is handed out than a few pieces for each process."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from typing import TYPE_CHECKING, Any

from gradcli.report.outcomes import Outcome

if TYPE_CHECKING:
    from gradcli.cli.check import CheckJob, CheckRequest

_AHEAD = 4
_job: CheckJob | None = None


def _begin(request: CheckRequest) -> None:
    """What every process does first: it makes the job of its own, and leaves interrupts to the parent."""
    from gradcli.cli.check import CheckJob

    global _job  # noqa: PLW0603 - one job for each process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _job = CheckJob(request)


def _work(task: Any) -> list[Outcome]:
    assert _job is not None
    return list(_job.outcomes(task))


def in_parallel(job: CheckJob, request: CheckRequest) -> Iterator[Outcome]:
    """The outcomes of all tasks, in the order of the tasks."""
    waiting: deque[Future[list[Outcome]]] = deque()
    with ProcessPoolExecutor(request.jobs, initializer=_begin, initargs=(request,)) as pool:
        try:
            for task in job.tasks():
                waiting.append(pool.submit(_work, task))
                if len(waiting) >= _AHEAD * request.jobs:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
