"""How the work of a check is cut: pieces that are independent of each other, for one process or for several."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple, Protocol

from gradcli.cli.decide.budget import Budget
from gradcli.cli.decide.file_policies import FilePolicies
from gradcli.cli.inputs.positionals import Inputs, is_stream
from gradcli.errors import GradcliError
from gradcli.limits import Limits
from gradcli.query.unused_names import UsedNames
from gradcli.report.outcomes import Outcome

_WORTH_SHARING = 32  # lines of a program
_SHARES = 10  # of a program for each process: the last one to be done keeps others waiting
_BATCH = 16  # records that a process takes at once
OF_EXPRESSION = 0  # in the place of a line's number


class Whole(NamedTuple):
    """A program, and perhaps the command line's expression at its end."""

    path: str
    with_expression: bool = False


class Stretch(NamedTuple):
    """The statements of a program that begin in these lines, or that ``touch`` them.

    ``drawing``: numbers are drawn at random, in the order of the program, so that what stands before them is run, too.
    """

    path: str
    lines: range
    touch: bool = False
    drawing: bool = False


class Batch(NamedTuple):
    """Records with the numbers of their lines."""

    path: str
    lines: list[tuple[int, str]]


class Unread(NamedTuple):
    """The rest of a file of records, which cannot be read."""

    path: str
    error: GradcliError


class Alone(NamedTuple):
    """The command line's expression, in a program of its own."""

    path: None = None


class Called(NamedTuple):
    """A Python function: the command line's, or one of those that a file of settings lists."""

    number: int
    path: str | None = None  # of the settings


Piece = Whole | Stretch | Batch | Unread | Alone | Called


class Work(Protocol):
    """What is decided piece by piece: files and expressions, and Python functions."""

    inputs: Inputs
    policies: FilePolicies
    names: UsedNames  # of what is decided so far
    processes: int  # that share it
    budget: Budget
    begin: Callable[[int], object]  # told of each line before it is decided
    unchanged: int  # files and functions that are left out, as nothing of them has changed

    def pieces(self) -> Iterator[Piece]:
        """The work, cut for so many processes, in order."""

    def outcomes(self, piece: Piece, without: Collection[int | None] = ()) -> Iterator[Outcome]:
        """The outcomes of one piece of work, but for what stands in some of its lines."""

    def remarks(self) -> list[str]:
        """What is to be said when all is done. Raises an error for names in wrt and freeze that nobody has."""


def nobody(line: int) -> None:
    """Whom it does not matter which line is next."""


def most_processes() -> int:
    """More would only wait for each other; Windows cannot wait for more than 61."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, 61)


def pieces(inputs: Inputs, limits: Limits, processes: int) -> Iterator[Piece]:
    """The pieces of all inputs, in order."""
    together = inputs.expression is not None and len(inputs.files) == 1 and not inputs.holds_records(inputs.files[0])
    for path in inputs.files:
        if inputs.holds_records(path):
            yield from _batches(inputs, path, limits, _BATCH if processes > 1 else 1)  # one process answers a slow pipe line by line
        elif together or is_stream(path) or processes == 1:  # a stream is read once
            yield Whole(path, together)
        else:
            yield from _stretches(inputs, path, limits, _SHARES * processes)
    if inputs.expression is not None and not together:
        yield Alone()


def piece_of_line(inputs: Inputs, limits: Limits, number: int) -> Piece:
    """What stands in one line of a file."""
    path = inputs.files[0]
    try:
        if is_stream(path) and not inputs.holds_records(path):
            return Stretch(path, range(number, number + 1), touch=True, drawing=True)
        lines = list(inputs.lines(path, limits))
    except GradcliError as error:
        return Unread(path, error)
    if inputs.holds_records(path):
        return Batch(path, [(number, line) for line in lines[number - 1 : number] if line.strip()])
    return Stretch(path, range(number, number + 1), touch=True, drawing=any("rand" in line for line in lines))


def _stretches(inputs: Inputs, path: str, limits: Limits, shares: int) -> Iterator[Piece]:
    """A program in stretches of lines, whose queries are decided apart; each process runs the bindings before them itself."""
    try:
        lines = list(inputs.lines(path, limits))
    except GradcliError:
        lines = []  # what is wrong is said once, by the one who reads it as a whole
    if len(lines) < _WORTH_SHARING or any("rand" in line for line in lines):  # numbers are drawn in the order of the program
        yield Whole(path)
        return
    size = -(-len(lines) // shares)
    for start in range(1, len(lines) + 1, size):
        yield Stretch(path, range(start, start + size))


def _batches(inputs: Inputs, path: str, limits: Limits, size: int) -> Iterator[Piece]:
    batch: list[tuple[int, str]] = []
    error: GradcliError | None = None
    try:
        for number, line in enumerate(inputs.lines(path, limits), 1):
            if line.strip():
                batch.append((number, line))
            if len(batch) == size:
                yield Batch(path, batch)
                batch = []
    except GradcliError as unreadable:
        error = unreadable
    if batch:
        yield Batch(path, batch)
    if error is not None:
        yield Unread(path, error)
