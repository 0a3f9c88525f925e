"""What completes a half-typed line: commands, settings, names, functions, what libraries have, data files and letters."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np

from gradcli.cli.completion import DATA, PROGRAMS, files
from gradcli.cli.repl.commands import CHOICES, COMMANDS
from gradcli.cli.repl.letters import LETTERS
from gradcli.inert import shown
from gradcli.ops.calling.prefixes import ROOTS

_COMMAND = re.compile(r"\s*:(\w*)\Z")
_ARGUMENT = re.compile(r"\s*:(\w+)\s+(.*)\Z", re.DOTALL)
_LETTER = re.compile(r"\\(\^?\w*)\Z")
_DATA = re.compile(r"@([^\s;@]*)\Z")
_DOTTED = re.compile(r"((?:[^\W\d]\w*\.)*)((?:[^\W\d]\w*)?)\Z")
_CALLED = re.compile(r"[\w.]+(?=\()")
_WORDS = ("const", "assert", "import", "from", "def", "lambda")


class Offer(NamedTuple):
    """What may take the place of the last characters."""

    text: str
    replaces: int  # characters before the cursor
    meta: str = ""  # what it is


def offers(before: str, names: Iterable[str] = ()) -> Iterator[Offer]:
    """What may follow a text, up to the cursor."""
    if (found := _LETTER.search(before)) is not None:
        whole, typed = found[0], found[1]
        for name in sorted(LETTERS, key=lambda name: (name != typed, name.lower())):
            if name.startswith(typed):
                yield Offer(LETTERS[name], len(whole), f"\\{name}")
        return
    if (found := _COMMAND.match(before)) is not None:
        for name, command in COMMANDS.items():
            if name.startswith(found[1]):
                yield Offer(name, len(found[1]), command.does)
        return
    if (found := _ARGUMENT.match(before)) is not None and found[1] in ("load", "save", "set", "help"):
        yield from _arguments(found[1], found[2])
        return
    if (found := _DATA.search(before)) is not None:
        yield from (Offer(path, len(found[1]), "file") for path in files(found[1], DATA) if shown(path) == path and " " not in path)
        return
    dotted = _DOTTED.search(before)
    prefix, start = ("", "") if dotted is None else dotted.groups()
    if prefix:
        yield from (Offer(name, len(start)) for name in sorted(names_below(prefix)) if name.startswith(start))
    elif start:
        yield from _of_word(start, names)


def _of_word(start: str, names: Iterable[str]) -> Iterator[Offer]:
    said = set()
    functions = functions_by_name()
    own = ((name, "name") for name in sorted(names))
    roots = ((f"{root}.", "library") for root in sorted(ROOTS))
    for name, meta in (*own, *sorted(functions.items()), *((word, "") for word in _WORDS), *roots):
        if name.startswith(start) and name not in said and name != start:
            said.add(name)
            yield Offer(name, len(start), meta)


def _arguments(command: str, typed: str) -> Iterator[Offer]:
    if command in ("load", "save"):
        yield from (Offer(path, len(typed), "file") for path in files(typed, PROGRAMS) if shown(path) == path)
        return
    if command == "set":
        name, blank, value = typed.partition(" ")
        found = (f"{each} " for each in CHOICES) if not blank else CHOICES.get(name, ())
        word = value if blank else typed
    else:
        from gradcli.report.rules import RULES

        codes = (code.removeprefix("error-") for code in RULES)
        found, word = (*functions_by_name(), *codes, *(f":{name}" for name in COMMANDS)), typed
    yield from (Offer(each, len(word)) for each in found if each.startswith(word))


@cache
def functions_by_name() -> dict[str, str]:
    """All functions, by each of their names, with what they are."""
    from gradcli.query import catalogue

    return {name: catalogue.summary(record) for _, record in catalogue.functions() for name in (record.name, *record.aliases)}


def names_below(prefix: str) -> set[str]:
    """The functions that a library has below a prefix such as "np." or "F."."""
    from gradcli.ops.calling.prefixes import MODULES, canonical, has

    try:
        path = canonical(prefix.removesuffix("."))
    except KeyError:
        return set()
    found = library_names().get(MODULES.get(path, ""), set())
    if path == "numpy.linalg":
        return {name for name in found if hasattr(np.linalg, name)}
    return {name for name in found if has(path, name)}


@cache
def library_names() -> dict[str, set[str]]:
    """What libraries call functions."""
    from gradcli.query import catalogue

    found: dict[str, set[str]] = {"numpy": set(), "torch": set(), "math": {name for name in dir(math) if name in functions_by_name()}}
    for _, record in catalogue.functions():
        entry = catalogue.entry(record, example=False)
        for library, calls in (("numpy", entry.numpy), ("torch", entry.torch)):
            found[library] |= {
                called[0].split(".")[1] for written in calls if (called := _CALLED.match(written)) and called[0].count(".") == 1
            }
    return {**found, "jax": found["numpy"]}
