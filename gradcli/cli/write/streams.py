"""The two streams of the command line: results on standard output, and beside them what is to be said.

Nothing else of the command line writes to them. Text goes through `shown` on its way, so that no line of it does anything to a terminal, or
to a CI system that reads along; formats that other programs read are made of functions of `gradcli.inert` of their own.
"""

from __future__ import annotations

import os
import re
import sys

from gradcli.inert import LACKING, shown


def prepare(kind: str = "text") -> None:
    """Let standard output take every text of a format: what its encoding lacks is escaped, as readers of the format undo it."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is None:
        return
    if kind not in LACKING:
        reconfigure(errors="backslashreplace")
    elif (sys.stdout.encoding or "").lower().replace("-", "") not in ("utf8", "utf8sig"):
        reconfigure(encoding="ascii", errors=LACKING[kind])  # which all encodings have: their readers expect UTF-8


def put(text: str) -> None:
    """One piece of a format, flushed, so that a pipe sees each result as it comes."""
    sys.stdout.write(text)
    sys.stdout.flush()


def put_text(text: str) -> None:
    """Lines of text for people, without styles."""
    put(shown(text))


def say(text: str) -> None:
    """Lines beside the output: errors, notes, warnings."""
    if sys.stderr is not None:  # print would take standard output for it
        print(shown(text), file=sys.stderr, flush=True)


def columns() -> int:
    """Return the columns of a terminal, or those that are asked for; what goes into a pipe is not wrapped."""
    import shutil

    return shutil.get_terminal_size().columns if sys.stdout.isatty() or "COLUMNS" in os.environ else 10_000


def wrapped(text: str) -> str:
    """Return rows in lines of a terminal: the text of a row goes on below where it begins, after the label."""
    return "\n".join(line for row in text.split("\n") for line in _lines_of(row, columns()))


def _lines_of(row: str, width: int) -> list[str]:
    if len(row) <= width:
        return [row]
    import textwrap

    label = re.match(r" *(?:\S+(?: \S+)* {2,})?", row)
    begin = label.end() if label is not None else 0
    if begin > width // 2:  # too narrow for two columns
        return [row[:begin].rstrip(), *textwrap.wrap(row[begin:], width, initial_indent="    ", subsequent_indent="    ")]
    return textwrap.wrap(row, width, subsequent_indent=" " * begin, break_long_words=False, break_on_hyphens=False)
