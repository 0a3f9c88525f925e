"""The words of a benchmark: a workload is a table of contestants and the goals that ours must
reach.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

LINEAR = 13  # times the cost that ten times the size may have: a straight line, and some noise

Answer = Mapping[
    str, Any
]  # numbers and arrays of any library, by name: "value", and a gradient for each name
Run = Callable[[], Answer]
Clock = Literal[
    "perf_counter", "process_time"
]  # of the module time: seconds that pass, or those that all threads of the process work


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """One way to do the work.

    needs     packages without which it cannot take part
    question  contestants with the same question must give the same answer
    items     how many things of one kind the work consists of, for the column of costs each
    cores     how many processor cores it may use; None is all
    warming   whether its first run prepares what the others profit from, and is never a sample
    memory    bytes that it will need, where they could be more than there are
    """

    name: str
    needs: Sequence[str] = ()
    question: str = ""
    items: int = 1
    cores: int | None = 1
    warming: bool = False
    memory: int = 0

    def missing(self) -> list[str]:
        return [package for package in self.needs if find_spec(package) is None]


@dataclass(frozen=True, kw_only=True)
class InProcess(Contestant):
    """Work inside of a Python process of its own.

    build  prepares the work (data, compilation by hand), untimed, and returns what is timed
    fresh  whether each sample is the first call in a new process, so that nothing is remembered
    clock  what measures it
    """

    build: Callable[..., Run]
    arguments: tuple[Any, ...] = ()
    fresh: bool = False
    clock: Clock = "perf_counter"


@dataclass(frozen=True, kw_only=True)
class Command(Contestant):
    """Work of a whole process, from its start to its end.

    answers  whether what it prints is an answer in JSON Lines
    """

    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    answers: bool = False


@dataclass(frozen=True)
class Goal:
    """What ours must be: at most ``limit``, or at most ``limit`` times what the contestant ``of``
    takes.
    """

    subject: str
    limit: float
    of: str = ""
    measure: Literal["seconds", "peak"] = "seconds"


@dataclass(frozen=True)
class Workload:
    """One row of the table. Its first contestant is the one that ratios are of."""

    key: str
    title: str
    contestants: Sequence[Contestant]
    goals: Sequence[Goal] = ()
    unit: str = ""  # of a contestant's items
    tolerance: float = 1e-9  # between answers, relative
    traffic: int = 0  # bytes that must be read and written at least


@dataclass(frozen=True, kw_only=True)
class Group:
    """Workloads of one table, a row each, whose contestants have the same names; ``memory`` is the
    one that moves its items in bytes.
    """

    key: str
    title: str
    workloads: Sequence[Workload]
    ours: str
    plain: str
    peers: Sequence[str]
    memory: str
    # what the median of the ratios to the best peer must be at most, and each of them at most 1
    middle: float = 0.5


@dataclass(frozen=True)
class Setting:
    """What workloads are made for: a folder for their files, quick sizes or those of the table, and
    the number of threads.

    counts  numbers of threads of workloads that are measured with several
    picked  keys of the expressions that the table of many has; none is all
    peers   whether that table has contestants that are not ours
    clock   what measures that table
    """

    folder: Path
    quick: bool
    threads: int
    cores: int
    counts: Sequence[int] = (1,)
    picked: Sequence[str] = ()
    peers: bool = True
    clock: Clock = "perf_counter"

    def size(self, full: int, quick: int) -> int:
        return quick if self.quick else full

    def file(self, name: str, lines: Sequence[str]) -> str:
        """The path of a new file of these lines."""
        path = self.folder / name
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return str(path)
