"""What libraries call functions: parameters in their order, under their names, with their defaults. A table of the judge's own, names.txt.

Each of its lines says, for some libraries, which function a name is (that of the record of this name), what the parameters are, and
what those are that a call leaves out. ``x|input`` are spellings of x, ``-out`` is a parameter that changes nothing, ``**arrays`` takes
one list or the remaining arguments, ``***arrays`` the remaining arguments even if they are lists; ``axis?`` may be None for all entries
along one axis, and ``axis@y`` is y where the argument is no axis.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from gradcli.reference.algebra import Unsupported


class Parameter(NamedTuple):
    """A parameter of a call: its name in the record, and those that libraries have for it."""

    name: str
    spellings: tuple[str, ...]
    ignored: bool
    many: bool  # takes the remaining arguments as well as one list
    each: bool  # takes the remaining arguments, which may be lists
    flattens: bool  # None is all entries of x along one axis
    otherwise: str  # the parameter meant by an argument that is no axis


class Line(NamedTuple):
    """How some libraries call one function."""

    name: str
    libraries: tuple[str, ...]
    function: str
    parameters: tuple[Parameter, ...]
    defaults: dict[str, Any]
    values: dict[str, list[list[Any]]]  # of parameters that the library gives other values than we: True for "tanh"

    def means(self) -> tuple[Any, ...]:
        """What two lines have in common that are one function, called in one way."""
        return self.function, self.parameters, repr(self.defaults), repr(self.values)


@cache
def _text() -> str:
    return (Path(__file__).parent / "names.txt").read_text(encoding="utf-8")


def _parameter(written: str) -> Parameter:
    word, _, otherwise = written.partition("@")
    ignored, flattens = word.startswith("-"), word.endswith("?")
    word = word.lstrip("-").rstrip("?")
    bare = word.lstrip("*")
    stars = len(word) - len(bare)
    spellings = tuple(bare.split("|"))
    return Parameter(spellings[0], spellings, ignored, stars > 0, stars == 3, flattens, otherwise)


@cache
def _lines(name: str) -> tuple[Line, ...]:
    """All lines of a name; they stand together."""
    text, found = _text(), []
    start = text.find(f"\n{name}\t") + 1
    while start and text.startswith(f"{name}\t", start):
        end = text.index("\n", start)
        _, libraries, function, parameters, said = text[start:end].split("\t")
        defaults = json.loads(said)
        values = defaults.pop("=", {})
        parts = tuple(map(_parameter, parameters.split(","))) if parameters else ()
        found.append(Line(name, tuple(libraries.split(",")), function, parts, defaults, values))
        start = end + 1
    return tuple(found)


def line_of(name: str, library: str) -> Line | None:
    """How a library calls a name, None if it has no such function."""
    return next((line for line in _lines(name) if library in line.libraries), None)


def meaning(name: str, *libraries: str) -> Line:
    """How these libraries call a name, where they agree; raises `Unsupported` where they do not, or none of them has it."""
    found = [line for library in libraries if (line := line_of(name, library)) is not None]
    if not found:
        raise Unsupported(f"the name {name!r} is not in the judge's table")
    if len({line.means() for line in found}) > 1:
        raise Unsupported(f"{name!r} is another function in another library")
    return found[0]


def class_of(name: str, library: str) -> Line | None:
    """What a class of a library keeps, and under ``methods`` the functions that its objects are."""
    return line_of(f"class {name}", library)


def is_part(name: str) -> bool:
    """Whether functions are named after this: norm, of norm.logpdf."""
    return f"\n{name}." in _text()
