"""Standard streams for a block: what is printed is kept, in the colours of a terminal or without."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any


class _Stream(io.TextIOWrapper):
    """Keeps what is written to it, and says that it is a terminal, if it stands for one."""

    def __init__(self, styled: bool, content: bytes = b"") -> None:
        self.kept = io.BytesIO(content)
        self.styled = styled
        super().__init__(self.kept, encoding="utf-8", errors="backslashreplace", newline="\n", write_through=True)

    def isatty(self) -> bool:
        return self.styled


class Captured:
    """What is printed in the block, results and what is said beside them in their order."""

    def __init__(self, styled: bool, columns: int) -> None:
        self._output = _Stream(styled)
        self._columns = str(max(20, columns))
        self._before: tuple[Any, Any, str | None] = (None, None, None)

    @property
    def text(self) -> str:
        return self._output.kept.getvalue().decode("utf-8", "replace")

    def __enter__(self) -> Captured:
        self._before = sys.stdout, sys.stderr, os.environ.get("COLUMNS")
        sys.stdout, sys.stderr = self._output, self._output
        os.environ["COLUMNS"] = self._columns  # which rich and textwrap ask
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        sys.stdout, sys.stderr, columns = self._before
        if columns is None:
            os.environ.pop("COLUMNS", None)
        else:
            os.environ["COLUMNS"] = columns


@contextmanager
def typed(text: str) -> Iterator[None]:
    """Let standard input hold a text in the block."""
    before, sys.stdin = sys.stdin, _Stream(False, text.encode("utf-8", "surrogateescape"))
    try:
        yield
    finally:
        sys.stdin = before
