"""The text of a program as it is read, and where in it a logical line stands."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from gradcli.characters import normalized
from gradcli.errors import Source, Span


class ProgramText:
    """Keeps the lines of a program while they are read, in the characters that spans count."""

    def __init__(self) -> None:
        self._read: list[str] = []
        self._starts = [0]
        self._whole: str | None = None

    def kept(self, lines: Iterable[str]) -> Iterator[str]:
        """Lines as they come, kept."""
        for line in lines:
            self._read.append(normalized(line))
            self._starts.append(self._starts[-1] + len(self._read[-1]))
            self._whole = None
            yield line

    @property
    def text(self) -> str:
        """What has been read so far."""
        if self._whole is None:
            self._whole = "".join(self._read)
        return self._whole

    def begin_of(self, source: Source) -> int | None:
        """Where a logical line begins; None if it does not stand in the text as it is, as lines of pasted sessions do not."""
        line = source.first_line - 1
        if not 0 <= line < len(self._read):
            return None
        begin = self._starts[line]
        return begin if self.text.startswith(source.text, begin) else None

    def line_of(self, offset: int) -> int:
        """The line of an offset, from 0."""
        return bisect_right(self._starts, offset) - 1


def moved(span: Span, begin: int | None) -> tuple[int, int] | None:
    """A span of a logical line as one of the whole text."""
    return None if begin is None else (begin + span.start, begin + span.end)
