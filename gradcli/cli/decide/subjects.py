"""The subjects of ``gradcli check``: files, those in folders, an expression, or a function alone."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Collection, Iterable, Iterator
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING

from gradcli.cli.commands import CheckRequest
from gradcli.cli.decide.running import Inputs, input_format_of, words_of
from gradcli.errors import UsageError
from gradcli.options import names_of
from gradcli.texts import normalize

if TYPE_CHECKING:
    from gradcli.files.settings import Settings


_PATH = re.compile(r"[\w./\\~: -]+")


def expression_apart(request: CheckRequest) -> CheckRequest:
    """Return the request with an expression among its positionals as that of ``-e``.

    Raises UsageError for a word that reads as a mistyped path.
    """
    if request.function is not None:
        return request
    found = words_of(request, of_files=True)
    claims = (*request.over, *request.grad, *request.grad_formula)
    named = {
        *found.bindings,
        *(text.partition("=")[0] for text in claims),
        *(names_of(request.wrt) or ()),
    }
    for text, _ in found.others:
        _refuse_lost_path(text.strip(), named)
    if request.expression is not None:
        found.others.insert(0, (request.expression, False))
    expression = found.expression()
    others = [
        word for word in request.arguments if os.path.exists(word) or normalize(word) != expression
    ]
    return request.but(expression=expression, arguments=others)


def _refuse_lost_path(text: str, bound: Collection[str]) -> None:
    """Raise UsageError for a text that could be a path rather than an expression.

    It consists of names without values. If it was meant as a path, nothing of what was meant would
    be checked.
    """
    if not _PATH.fullmatch(text):
        return
    from gradcli.language.calls import is_function

    words = [word for word in re.split(r"\W+", text) if word]
    free = [
        word
        for word in words
        if word not in bound and not word[0].isdecimal() and not is_function(word)
    ]
    if any(len(word) > 1 for word in free) or (free == words and " " not in text):
        raise UsageError(
            f"there is no file or folder '{text}'",
            help=f"it is an expression after -e: -e '{text}'",
        )


def _is_fed() -> bool:
    """Tell whether somebody directed a pipe or a file to standard input.

    A terminal, or no standard input at all, does not count.
    """
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (AttributeError, OSError, ValueError):  # no standard input, or a closed one
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def check_inputs(request: CheckRequest, usual: Settings) -> Inputs:
    """Return what ``gradcli check`` reads.

    It reads files, those found in folders, and an expression. Without any of these it reads the
    files of the settings.

    Raises UsageError.
    """
    _, bindings, _, files = words_of(request, of_files=True)
    if request.at:
        raise UsageError(
            "--at is about a --function", help="after -e, bindings follow as they are: x=1,2"
        )
    if request.expression is None and not files and usual.files:
        files = matching(usual.files, usual.path)
    elif request.expression is None and not files and _is_fed():
        files = ["-"]
    elif request.expression is None and not files:
        help = "name files, or give an expression: gradcli check 'x**2*sin(x)'"
        listed = "the settings list functions: gradcli check --functions imports and runs them"
        raise UsageError("nothing to check", help=listed if usual.functions else help)
    paths = found_in(files, request.allow_empty)
    if request.line is not None and (request.expression is not None or len(paths) != 1):
        raise UsageError(
            "--line is about one file",
            help="write it beside the file alone: gradcli check model.grad --line 3",
        )
    found = frozenset(paths) - frozenset(files)
    return Inputs(request.expression, bindings, paths, input_format_of(request, files), found)


# Options of which each asks for a check of a Python function.
OF_FUNCTIONS = "function gradient jvp_of adjoint implicit fixed_point parameters by"


def function_inputs(request: CheckRequest) -> Inputs:
    """Return what there is to read beside a Python function: nothing. Raises UsageError."""
    if request.arguments or request.expression or request.files:
        option, _ = next(request.given_options(OF_FUNCTIONS))
        raise UsageError(
            f"{option} is about a Python function, which is checked alone, without files or "
            "expressions"
        )
    return Inputs(None, {}, [])


_SUFFIXES = (".grad", ".jsonl")


def found_in(paths: list[str], allow_empty: bool) -> list[str]:
    """Return the files to check, each once.

    A folder stands for the programs and records in and below it, in order, but not for those in
    hidden or linked folders.
    """
    from gradcli.storage import absolute

    found: dict[str, str] = {}
    for path in paths:
        files = [path]
        if path != "-" and os.path.isdir(path):
            files = sorted(
                str(Path(folder, name))
                for folder, names in _walk(path)
                for name in names
                if name.endswith(_SUFFIXES)
            )
            if not files and not allow_empty:
                raise UsageError(
                    f"there is no .grad or .jsonl file in '{path}'",
                    help="--allow-empty makes that fine",
                )
        for file in files:
            found.setdefault(file if file == "-" else absolute(file), file)
    return list(found.values())


def matching(patterns: Iterable[str], said_by: Path | None) -> list[str]:
    """Return the files and folders that settings name, from the current folder.

    They may be named by ``*`` and ``**``. Raises UsageError where there is none.
    """
    from gradcli.storage import path_text

    found: list[str] = []
    for pattern in patterns:
        there = [pattern] if os.path.exists(pattern) else sorted(glob(pattern, recursive=True))
        if not there:
            where = "" if said_by is None else f"{path_text(said_by)}: "
            raise UsageError(
                f"{where}[tool.gradcli] files: there is no '{path_text(Path(pattern))}'"
            )
        found += [path_text(Path(path)) for path in there]
    return found


def _walk(path: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the folders in and below one, each with the names of its files.

    Links are not followed.
    """

    def fail(error: OSError) -> None:
        raise UsageError(f"cannot read '{error.filename}': {error.strerror or error}")

    for folder, folders, names in os.walk(path, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield folder, names
