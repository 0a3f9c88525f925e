"""Functions that exported code brings along, in the target's own language: kept as files, of which the ones that are called are written."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

_WORD = re.compile(r"[A-Za-z_]\w*")
_HEAD = re.compile(r"^(?:def|function|static double)\s+(\w+)\(", re.MULTILINE)


@cache
def functions(file: str) -> dict[str, str]:
    """The functions of a file by their names, in its order; they are set apart by two blank lines."""
    text = resources.files("gradcli.exports").joinpath("library").joinpath(file).read_text("utf-8")
    found = {}
    for block in text.strip("\n").split("\n\n\n"):
        head = _HEAD.search(block)
        if head:
            found[head[1]] = block.strip("\n")
    return found


@cache
def builtins(file: str) -> dict[str, str]:
    """The functions that a language has itself by what a text calls them, as the file's first lines list them."""
    text = resources.files("gradcli.exports").joinpath("library").joinpath(file).read_text("utf-8")
    found = {}
    for line in re.findall(r"^// has (.*)$", text, re.MULTILINE):
        prefix, _, names = line.partition(":")
        for word in names.split():
            ours, _, theirs = word.partition("=")
            found[ours] = prefix.strip() + (theirs or ours)
    return found


def called(text: str, available: dict[str, str]) -> list[str]:
    """The names of functions that a text calls, with those that they call, in the order of the file."""
    wanted: set[str] = set()
    waiting = [text]
    while waiting:
        for name in set(_WORD.findall(waiting.pop())) & available.keys() - wanted:
            wanted.add(name)
            waiting.append(available[name])
    return [name for name in available if name in wanted]
