"""Who computes chunks: threads of this process, or the workers of a Dask cluster."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from typing import Any

from gradcli.errors import EvaluationError, GradcliError, InputError, UsageError, first_line
from gradcli.plans.threads import cores

_AHEAD = 2  # chunks for each thread of a cluster that are started before one is done
_RETRIES = 3  # retries of a task, on other workers


class Here:
    """Threads of this process, which compute tasks.

    at_once  bytes of a chunk, so many that computing takes longer than what a task costs beside, if
             memory allows as many
    """

    at_once = 1 << 24

    def __init__(self, hands: int) -> None:
        self.hands = hands
        self.pool = ThreadPoolExecutor(hands)

    def once(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of one call."""
        return function(*arguments)

    def each(self, tasks: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Yield the results of tasks (a function and its arguments) in order.

        No more tasks are begun than there are hands for.
        """
        waiting: deque[Future[Any]] = deque()
        rest = iter(tasks)
        try:
            while True:
                while len(waiting) <= self.hands and (task := next(rest, None)) is not None:
                    waiting.append(self.pool.submit(self.once, *task))
                if not waiting:
                    return
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()

    def everywhere(self, value: Any) -> Any:
        """Return a value that many tasks take, as they take it."""
        return value

    def close(self) -> None:
        """Let go of what computes."""
        self.pool.shutdown(cancel_futures=True)


class Cluster(Here):
    """The workers of a Dask cluster.

    The cluster either runs already, and is given by the address of its scheduler, or is made on
    this machine and ends with the work. A thread waits for each task that is under way.
    """

    at_once = 1 << 26

    def __init__(self, address: str, threads: int | None) -> None:
        try:
            distributed = import_module("distributed")
        except ModuleNotFoundError:
            raise UsageError(
                "--on needs Dask, which is not installed", help="pip install 'gradcli[dask]'"
            ) from None
        self.address = address
        how: dict[str, Any] = {"address": address}
        if address == "local":  # a cluster that the client starts and stops
            how = {"n_workers": threads or cores(), "threads_per_worker": 1}
            how |= {"dashboard_address": None, "silence_logs": 50}
        try:
            self.client = distributed.Client(timeout="10s", set_as_default=False, **how)
        except (OSError, TimeoutError, ValueError) as error:
            raise InputError(f"no scheduler answers at {address}: {first_line(error)}") from None
        self._hold_versions()
        super().__init__(_AHEAD * max(1, sum(self.client.nthreads().values())))

    def _hold_versions(self) -> None:
        """Raise EvaluationError unless all workers have this version of gradcli."""
        ours = import_module("gradcli").__version__
        with self._in_words():
            found = self.client.run(_version)
        if not found:
            raise InputError(
                f"the scheduler at {self.address} has no workers",
                help=f"start some: dask worker {self.address}",
            )
        for worker, theirs in found.items():
            if theirs != ours:
                what = f"gradcli {theirs}" if theirs else "no gradcli"
                raise EvaluationError(
                    f"the worker at {worker} has {what}, and this is gradcli {ours}",
                    help=f"pip install gradcli=={ours} there",
                )

    def once(self, function: Callable[..., Any], *arguments: Any) -> Any:
        with self._in_words():
            return self.client.submit(function, *arguments, pure=False, retries=_RETRIES).result()

    def everywhere(self, value: Any) -> Any:
        with self._in_words():
            # Submitted as a task, so that it is redone if its worker dies.
            return self.client.submit(_itself, value, pure=False)

    @contextlib.contextmanager
    def _in_words(self) -> Iterator[None]:
        """Put what Dask raises into words."""
        try:
            yield
        except (GradcliError, GeneratorExit, KeyboardInterrupt):
            raise
        except Exception as error:
            said = f"{type(error).__name__}: {first_line(error)}"
            raise EvaluationError(f"the cluster at {self.address} failed: {said}") from None

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.client.close(timeout=5)
        super().close()


def _itself(value: Any) -> Any:
    return value


def _version() -> str:
    try:
        return str(import_module("gradcli").__version__)
    except ModuleNotFoundError:
        return ""


def executor_on(place: str, threads: int | None) -> Here:
    """Return the executor that ``here``, ``local`` or the address of a scheduler means.

    Raises UsageError.
    """
    if place == "here":
        return Here(threads or cores())
    if place != "local" and "://" not in place:
        raise UsageError(
            f"--on {place}: there is no such place",
            help="write local, or the address of a scheduler: tcp://HOST:8786",
        )
    return Cluster(place, threads)
