"""Places in the code of other people: which frames are theirs, and how a place is told."""

from __future__ import annotations

import ast
import linecache
import os
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

from gradcli.texts import words

_OWN = f"{Path(__file__).parent.parent}{os.sep}"
# with which the functions that are asked about are written
_LIBRARIES = words("numpy scipy torch jax jaxlib autograd")


def _folders_of(*names: str) -> tuple[str, ...]:
    """Folders of Python's by their names, and where links of theirs lead to."""
    paths = [sysconfig.get_path(name) for name in names]
    return tuple(
        dict.fromkeys(f"{path}{os.sep}" for path in (*paths, *map(os.path.realpath, paths)))
    )


_STANDARD, _INSTALLED = _folders_of("stdlib", "platstdlib"), _folders_of("purelib", "platlib")


def is_own(path: str) -> bool:
    """Return whether a file is gradcli's."""
    return path.startswith(_OWN)


@cache
def is_theirs(path: str) -> bool:
    """Return whether a file is the user's code.

    Such a file is neither gradcli's, nor Python's, nor that of a library that is traced.
    """
    if path.startswith(("<frozen", "<string>", "<__array_function__", _OWN)):
        return False
    if path.startswith(_STANDARD) and not _is_of_packages(path):
        return False
    return not path.startswith(tuple(_folders()))


def is_installed(path: str) -> bool:
    """Return whether a file is of Python itself, or of a package that was installed."""
    return path.startswith(_STANDARD) or _is_of_packages(path)


def _is_of_packages(path: str) -> bool:
    return path.startswith(_INSTALLED) or "site-packages" in path or "dist-packages" in path


def _folders() -> Iterator[str]:
    for name in _LIBRARIES:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file:
            yield f"{Path(file).parent}{os.sep}"


def best_known_place(paths: Sequence[str]) -> int | None:
    """Return the index of the file in a stack that the user knows best.

    It is the user's code, of no installed package if possible. The innermost file is last in the
    stack.
    """
    theirs = [i for i, path in enumerate(paths) if is_theirs(path)]
    return next(
        (i for i in reversed(theirs) if not paths[i].startswith(_INSTALLED)),
        theirs[-1] if theirs else None,
    )


class Place(NamedTuple):
    """Line of a file, with the span of an expression in bytes where it is known."""

    path: str
    line: int
    span: tuple[int, int] | None = None

    def __str__(self) -> str:
        text = linecache.getline(self.path, self.line)
        if self.span is not None:
            text = text.encode()[slice(*self.span)].decode("utf-8", "replace")
        return f"`{text.strip()}` at {Path(self.path).name}:{self.line}"


def place_here() -> Place | None:
    """Return where the user's code runs, in its innermost frame."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_theirs(frame.f_code.co_filename):
            return place_in(frame.f_code, frame.f_lasti, frame.f_lineno)
        frame = frame.f_back
    return None


def place_in(code: CodeType, instruction: int, line: int) -> Place | None:
    """Return where an instruction stands, given its line; None where its source is not known.

    The span is included if Python has kept it.
    """
    if not linecache.getline(code.co_filename, line).strip():
        return None
    # An instruction takes two bytes.
    first, last, begin, end = next(islice(code.co_positions(), instruction // 2, None), (None,) * 4)
    span = (begin, end) if first == last == line and begin is not None and end is not None else None
    return Place(code.co_filename, line, span)


@lru_cache(maxsize=4096)
def name_called(code: CodeType, instruction: int) -> str | None:
    """Return the last part of the name that an instruction calls.

    Gives None where the source does not say.

    Compiled code that is called there has no frame of its own. Its calls therefore seem to be made
    by the instruction, too. Such code may take a value for an array without looking, and crash if
    it is none.
    """
    span = next(islice(code.co_positions(), instruction // 2, None), None)
    for node in _nodes(code.co_filename):
        if (
            isinstance(node, ast.Call)
            and (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset) == span
        ):
            called = node.func
            return (
                called.attr
                if isinstance(called, ast.Attribute)
                else called.id
                if isinstance(called, ast.Name)
                else None
            )
    return None


@lru_cache(maxsize=4096)
def condition_at(place: Place) -> Place | None:
    """Return the comparison, or else the condition, that contains the expression at a place.

    Gives None if it is part of neither.
    """
    around = _around(place)
    tests = [test for node in around for test in _tests(node) if test in around]
    found = next(
        (node for node in (*around, *tests) if isinstance(node, ast.Compare) or node in tests), None
    )
    if found is None:
        return None
    whole = found.lineno == found.end_lineno and found.end_col_offset is not None
    return Place(
        place.path, found.lineno, (found.col_offset, found.end_col_offset or 0) if whole else None
    )


@lru_cache(maxsize=4096)
def is_dropped(place: Place) -> bool:
    """Return whether the expression at a place is part of a statement whose value is dropped.

    A call that prints is an example.
    """
    return any(isinstance(node, ast.Expr) for node in _around(place))


def _tests(node: ast.stmt | ast.expr) -> list[ast.expr]:
    if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        return [node.test]
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
        return [test for part in node.generators for test in part.ifs]
    return []


def _around(place: Place) -> list[ast.stmt | ast.expr]:
    """Return the statements and expressions around the one at a place, the outermost first."""
    if place.span is None:
        return []
    begin, end = (place.line, place.span[0]), (place.line, place.span[1])
    return [
        node for node in _nodes(place.path)
        if (node.lineno, node.col_offset) <= begin and end <= (node.end_lineno or 0, node.end_col_offset or 0)
    ]  # fmt: skip


@lru_cache(maxsize=32)
def _nodes(path: str) -> list[ast.stmt | ast.expr]:
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError):
        return []
    return [node for node in ast.walk(tree) if isinstance(node, (ast.stmt, ast.expr))]
