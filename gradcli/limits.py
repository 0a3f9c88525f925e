"""The documented limits on untrusted input, with the options that raise them.

Every size that an input could use to exhaust the machine is checked against one of these numbers before
anything of that size is made.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from gradcli.errors import LimitError, UsageError


@dataclass(frozen=True, eq=False)
class Limits:
    """How large an input may be; ``--limit NAME=NUMBER`` raises one of them."""

    length: int = 8_000_000  # characters of one statement
    entries: int = 100_000_000  # entries of one array
    dimensions: int = 32  # axes of one array
    nodes: int = 2_000_000  # nodes of one program's graph
    calls: int = 100_000  # calls of the program's own functions in one statement
    tangents: int = 10_000_000  # entries of one Jacobian or Hessian
    derivatives: int = 300_000  # nodes that derivatives of derivatives of an expression go through: they grow as powers of the order

    def raised(self, settings: list[str]) -> Limits:
        """These limits with ``NAME=NUMBER`` settings applied."""
        names = [f.name for f in fields(self)]
        limits = self
        for setting in settings:
            name, _, number = setting.partition("=")
            try:
                value = int(float(number))
            except (ValueError, OverflowError):
                value = -1
            if name not in names or value < 1:
                raise UsageError(f"cannot set the limit {setting!r}", help=f"write NAME=NUMBER with NAME one of {', '.join(names)}")
            limits = replace(limits, **{name: value})
        return limits

    def with_room_for(self, entries: int) -> Limits:
        """These limits, raised for arrays as large as one that the user has brought."""
        return self if entries <= self.entries else replace(self, entries=entries)

    def check_shape(self, shape: tuple[int, ...]) -> None:
        """Raise LimitError for an array too large to be made."""
        entries = 1
        for extent in shape:
            entries *= extent
        if entries > self.entries:
            raise LimitError(
                f"an array of {entries:,} entries is over the limit of {self.entries:,}",
                help=f"raise it with --limit entries={entries}",
            )
        if len(shape) > self.dimensions:
            raise LimitError(f"an array of {len(shape)} axes is over the limit of {self.dimensions}")


DEFAULT = Limits()
