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


_LABEL = re.compile(r" *\S+(?: \S+)* {2,}(?=\S)")


def put_rows(text: str) -> None:
    """Rows, each perhaps of a label and its text; a terminal, or who asks for columns, has their lines broken between words."""
    if not (sys.stdout.isatty() or "COLUMNS" in os.environ):
        put_text(text + "\n")
        return
    from gradcli.cli.write.terminal import console, put_lines, unstyled

    terminal = console(sys.stdout, forced=False)
    for row in text.split("\n"):
        label = _LABEL.match(row)
        wide = label is not None and label.end() > terminal.width // 2  # too narrow for two columns
        line = re.sub(r"(?<=\S) {2,}", "  ", row, count=1) if wide else row
        put_lines(terminal, unstyled(line), label.end() if label is not None and not wide else None)
