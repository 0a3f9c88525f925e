"""Ranges of numeric options, and the documented limits on untrusted input.

The options that raise the limits are here, too. Every size that an input could use to exhaust the
machine is checked against one of these limits before anything of that size is made. Memory and work
are counted from shapes and parameters, never measured.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from numbers import Integral, Real
from typing import Any, NamedTuple

from gradcli.errors import LimitError, UsageError

MOST_MEMORY = 4_000_000_000  # bytes of a program, on machines with at least twice as much
ITEM = 8  # bytes of one number
_FACTORS: dict[str, int] = {
    letter: 1000**power for power, letter in enumerate(("", "K", "M", "G", "T"))
}
_FACTORS |= {f"{letter}I": 1024**power for power, letter in enumerate("KMGT", 1)}


def machine_memory() -> int | None:
    """Return the bytes of memory of the machine, or those its control group leaves it.

    It is None if they are unknown.
    """
    found = [_memory_of_posix(), *_memory_of_control_group()]
    known = [bytes_ for bytes_ in found if bytes_ > 0]
    return min(known) if known else None


def _memory_of_posix() -> int:
    try:
        return int(os.sysconf("SC_PAGE_SIZE")) * int(os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return 0


def _memory_of_control_group() -> list[int]:
    """Return what a container may take of it, on Linux."""
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as file:
            return [int(file.read())]
    except (OSError, ValueError):  # there is no such group, or it has no maximum
        return []


def default_memory() -> int:
    """Half of the machine's memory, and at most `MOST_MEMORY`."""
    whole = machine_memory()
    return MOST_MEMORY if whole is None else min(MOST_MEMORY, whole // 2)


def size(text: str) -> int:
    """Parse a number as people write sizes: 500M, 4G, 2.5GB, 64Ki, 1e9.

    Raises ValueError for anything else.
    """
    word = text.strip().upper().removesuffix("B")
    digits = word.rstrip("KMGTI")
    factor: int | None = _FACTORS.get(word[len(digits) :])
    if factor is None:
        raise ValueError(text)
    try:
        return int(digits) * factor
    except ValueError:
        number = float(digits) * factor
        if not math.isfinite(number):
            raise ValueError(text) from None
        return int(number)


def size_text(bytes_: int) -> str:
    """Write a number of bytes for people, rounded up: 1.6 GB."""
    for factor, unit in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if bytes_ >= factor:
            tenths = -(-bytes_ * 10 // factor)
            return (
                f"{tenths // 10:,}{f'.{tenths % 10}' if tenths % 10 and tenths < 1000 else ''} "
                f"{unit}"
            )
    return f"{bytes_} bytes"


def _setting_text(number: int) -> str:
    """Write a number as it stands after NAME=, rounded up."""
    return size_text(number).removesuffix(" bytes").removesuffix("B").replace(" ", "").upper()


class Number(NamedTuple):
    """Range of a number: from the least to the most, or above the least."""

    whole: bool = False
    least: float = 0
    most: float = math.inf
    above: bool = False

    def __str__(self) -> str:
        most = "" if math.isinf(self.most) else f" to {self.most:,}"
        return (
            f"a {'whole ' * self.whole}number {'above' if self.above else 'from'} "
            f"{self.least:g}{most}"
        )

    def holds(self, value: Any) -> bool:
        """Return whether a value is such a number."""
        if isinstance(value, bool) or not isinstance(value, Integral if self.whole else Real):
            return False
        try:
            return (
                math.isfinite(value)
                and self.least <= float(value) <= self.most
                and not (self.above and value == self.least)
            )
        except OverflowError:  # an integer too large for a float
            return False


@dataclass(frozen=True, eq=False)
class Limits:
    """Largest sizes that an input may have; ``--limit NAME=SIZE`` sets one of them."""

    length: int = 8_000_000  # characters of one statement
    entries: int = 100_000_000  # entries of one array
    dimensions: int = 32  # axes of one array
    nodes: int = 2_000_000  # nodes of one program's graph
    calls: int = 100_000  # calls of the program's own functions in one statement
    tangents: int = 10_000_000  # entries of one Jacobian or Hessian
    # Nodes that the derivatives of derivatives of an expression go through. Their number grows as
    # powers of the order.
    derivatives: int = 300_000
    # Bytes that a program's values and one statement hold at once.
    memory: int = field(default_factory=default_memory)
    # Scalar operations of one statement, forward and backward, at about a nanosecond each.
    work: int = 20_000_000_000

    def raise_to(self, settings: Iterable[str]) -> Limits:
        """Return these limits with ``NAME=SIZE`` settings applied."""
        names = [f.name for f in fields(self)]
        limits = self
        for setting in settings:
            name, _, number = setting.partition("=")
            name = name.strip()
            try:
                value = size(number)
            except (ValueError, OverflowError):
                value = -1
            if name not in names or value < 1:
                raise UsageError(
                    f"cannot set the limit {setting!r}",
                    help="write NAME=SIZE, such as memory=500M, with NAME one of "
                    f"{', '.join(names)}",
                )
            limits = replace(limits, **{name: value})
        return limits

    def with_room_for(self, entries: int) -> Limits:
        """Return these limits, raised for arrays as large as one that the user has brought."""
        if entries <= self.entries:
            return self
        return replace(
            self, entries=entries, work=max(self.work, self.work // DEFAULT.entries * entries)
        )

    def check_shape(self, shape: tuple[int, ...]) -> int:
        """Return how many entries an array has.

        Raises LimitError for one too large to be spoken of, whether or not it takes memory.
        """
        # one without entries may still have too many empty rows to write
        entries = math.prod(filter(None, shape))
        if entries > self.entries:
            raise LimitError(
                f"an array of {_count(entries)} entries is over the limit of {self.entries:,}",
                help=f"raise it with --limit entries={entries}" if entries < 10**18 else None,
            )
        if len(shape) > self.dimensions:
            raise LimitError(
                f"an array of {len(shape)} axes is over the limit of {self.dimensions}"
            )
        return math.prod(shape)

    def check_array(self, shape: tuple[int, ...]) -> None:
        """Raise LimitError for an array too large to be made."""
        entries = self.check_shape(shape)
        self.check_memory(ITEM * entries, f"an array of {entries:,} entries")

    def check_entries(self, entries: int, what: str) -> None:
        """Raise LimitError for more numbers than a program may hold; ``what`` needs them."""
        self.check_memory(ITEM * entries, what)

    def check_memory(self, bytes_: int, what: str) -> None:
        """Raise LimitError for more bytes than a program may hold; ``what`` needs them."""
        if bytes_ > self.memory:
            needed = size_text(bytes_) if bytes_ < 10**18 else f"{_count(bytes_)} bytes"
            raise _over(
                f"{what} needs {needed}, over the memory limit of {size_text(self.memory)}",
                "memory",
                bytes_,
            )

    def check_derivatives(self, rows: int, columns: int, entries: int | None = None) -> None:
        """Raise LimitError for a Jacobian with more entries than a derivative may have.

        For a sparse Jacobian, ``entries`` is the number of entries that are computed.
        """
        count = rows * columns if entries is None else entries
        if count > self.tangents:
            raise LimitError(
                f"a Jacobian of {rows} x {columns} has {count:,} entries, over the limit of "
                f"{self.tangents:,}",
                help=f"raise it with --limit tangents={count}",
            )

    def check_nodes(self, count: int, what: str) -> None:
        """Raise LimitError if ``what`` is made of more operations than a program may have."""
        if count > self.nodes:
            raise _over(
                f"{what} is made of {_count(count)} operations, over the limit of {self.nodes:,}",
                "nodes",
                2 * count,
            )

    def check_work(self, work: int, what: str) -> None:
        """Raise LimitError if ``what`` takes more scalar operations than a statement may take."""
        if work > self.work:
            raise _over(
                f"{what} takes {_count(work)} scalar operations, over the limit of {self.work:,}",
                "work",
                work,
            )


def _over(said: str, limit: str, needed: int) -> LimitError:
    return LimitError(
        said,
        help=f"raise it with --limit {limit}={_setting_text(needed)}" if needed < 10**15 else None,
    )


def _count(number: int) -> str:
    """Write a count for people; it may have thousands of digits."""
    return f"{number:,}" if number < 10**18 else f"2**{number.bit_length() - 1} or more"


DEFAULT = Limits()
