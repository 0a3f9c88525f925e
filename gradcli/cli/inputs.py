"""Input of all commands, from positional arguments and options.

It is an expression, files, bindings with their values, and limits.

An option that has no effect beside the others is refused by its name rather than ignored.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gradcli.cli.request import EXAMPLE, CheckRequest, ExportRequest, Request
from gradcli.cli.write.results import say
from gradcli.errors import GradcliError, UsageError
from gradcli.files.npy import read_within
from gradcli.language.scope import deviations as deviations_of
from gradcli.language.tokens import may_be_measured, of_data
from gradcli.limits import DEFAULT, Limits
from gradcli.options import Options, names_of, refuse_together
from gradcli.query.programs import Programs
from gradcli.texts import normalize

if TYPE_CHECKING:
    from gradcli.files.settings import Settings

_PATH = re.compile(r"[\w./\\~: -]+")
_OF_RECORDS = (".jsonl", ".ndjson")
BINDING = re.compile(r"(?P<name>[^\W\d]\w*)=(?!=)(?P<value>[^;\n]*)\Z", re.DOTALL)


@dataclass(frozen=True, eq=False, repr=False)
class Inputs:
    """Everything that there is to read."""

    expression: str | None
    bindings: dict[str, str]  # the text of each value, by name
    files: list[str]  # "-" is standard input
    format: str | None = None  # of all files, "text" or "jsonl"; None: their suffixes decide
    found: frozenset[str] = frozenset()  # files that were found in folders, not named

    def holds_records(self, path: str) -> bool:
        if self.format is None:
            return path.endswith(_OF_RECORDS)
        return self.format == "jsonl"

    def record_files(self) -> list[str]:
        """Return the files of records that can also be written to."""
        return [path for path in self.files if path != "-" and self.holds_records(path)]

    def lines(self, path: str, limits: Limits) -> Iterator[str]:
        """Return the lines of a file as they come.

        Raises InputError for a file that cannot be read.
        """
        from gradcli.files.stores import lines_of

        return lines_of(path, limits.length, stream=path not in self.found)


def is_stream(path: str) -> bool:
    """Return whether the lines of a file come one by one and are answered as they come.

    This is so for standard input and for a named pipe.
    """
    return path == "-" or (os.path.exists(path) and not os.path.isfile(path))


ONE_BINDING = "quote the expression as a whole; write a binding without spaces around '='"


class Words(NamedTuple):
    """Positional arguments by what they are.

    others  expressions, and what else a command takes, each with whether files are named before it
    """

    others: list[tuple[str, bool]]
    bindings: dict[str, str]
    ranges: dict[str, str]
    files: list[str]

    def expression(self, help: str = ONE_BINDING) -> str | None:
        """Return the only expression, if there is one. Raises UsageError for two."""
        if len(self.others) > 1:
            (first, _), (second, _), *_ = self.others
            raise UsageError(
                f"two expressions: '{first.strip()}' and '{second.strip()}'", help=help
            )
        return self.others[0][0] if self.others else None

    def inputs(
        self, request: Request, nothing: str, example: str, help: str = ONE_BINDING
    ) -> Inputs:
        """Return what there is to read: standard input, if nothing else is named.

        Raises UsageError, also for two expressions.
        """
        expression = self.expression(help)
        if expression is None and not self.files:
            if sys.stdin is None or sys.stdin.closed:
                raise UsageError(f"nothing to {nothing}", help=example)
            if sys.stdin.isatty():
                say("reading expressions from the terminal; end with Ctrl-D")
            self.files.append("-")
        return Inputs(expression, self.bindings, self.files, _input_format(request, self.files))


def _input_format(request: Request, files: Sequence[str]) -> str | None:
    """Return how files are read. Raises UsageError where there are none."""
    if request.input_format is not None and not files:
        raise UsageError("--input is about files and standard input, of which there are none")
    return request.input_format


def words_of(request: Request, *, ranges: bool = False, of_files: bool = False) -> Words:
    """Return the positional arguments.

    Raises UsageError for a name that is bound twice, and for standard input that is named twice.

    ranges    whether NAME=BEGIN..END is one
    of_files  whether what exists, or has the suffix of programs or records, is a file
    """
    found = Words([], {}, {}, list(request.files))
    for argument in request.arguments:
        is_file = argument == "-" or (of_files and os.path.exists(argument))
        text = argument if is_file else normalize(argument)
        binding = None if is_file else BINDING.match(text)
        if is_file or (of_files and binding is None and text.endswith((".grad", *_OF_RECORDS))):
            found.files.append(argument)
        elif binding is None:
            found.others.append((text, bool(found.files)))
        else:
            name, value = binding.groups()
            if name in found.bindings or name in found.ranges:
                raise UsageError(f"the name '{name}' is bound twice")
            (found.ranges if ranges and ".." in value else found.bindings)[name] = value
    if found.files.count("-") > 1:
        raise UsageError("standard input is named twice")
    return found


def eval_inputs(request: Request) -> Inputs:
    """Return what ``gradcli eval`` reads. Raises UsageError."""
    return words_of(request).inputs(request, "evaluate", EXAMPLE)


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
    return Inputs(request.expression, bindings, paths, _input_format(request, files), found)


def function_inputs(request: CheckRequest) -> Inputs:
    """Return what there is to read beside a Python function: nothing. Raises UsageError."""
    if request.arguments or request.expression or request.files:
        raise UsageError("--function is checked alone, without files or expressions")
    return Inputs(None, {}, [])


def programs_of(request: Request, inputs: Inputs, state: int | None = None) -> Programs:
    """Return the programs of a run.

    Their bindings are constant expressions or data files, and the limits make room for the data.

    Raises GradcliError.
    """
    limits = limits_of(request)
    values: dict[str, Any] = {}
    deviations: dict[str, Any] = {}
    calculator = Programs(limits, request.dtype).fresh(
        request.random_state if state is None else state
    )
    piped = _piped_data(inputs, limits)
    for name, text in inputs.bindings.items():
        if text.startswith("@"):
            from gradcli.files.arrays import load_array

            reference, error_text = of_data(text[1:])
            values[name] = array = load_array(reference, limits, piped=piped)
            limits = limits.with_room_for(array.size)
            if error_text is None:
                continue
            if error_text.lstrip().startswith("@"):
                found = load_array(error_text.strip()[1:], limits, piped=piped)
                deviations[name] = deviations_of(found, array, name)
            else:
                deviations[name] = calculator.deviation(error_text, array, name)
            continue
        if not text.strip():
            raise UsageError(
                f"'{name}=' has no value", help=f"write {name}=2, {name}=2,3 or {name}=@data.npy"
            )
        try:
            values[name], deviation = calculator.uncertain(text, name)
            if deviation is not None:
                deviations[name] = deviation
        except GradcliError as error:
            if error.code in ("missing-value", "ambiguous") and not may_be_measured(text):
                raise _mentioning(error, name, text, inputs) from None
            raise
    return Programs(limits, request.dtype, values, deviations, request.dialect, piped)


def _piped_data(inputs: Inputs, limits: Limits) -> Callable[[], bytes]:
    """Return a function that reads standard input as data, once for all that name it.

    It raises UsageError if programs are read from standard input, and LimitError.
    """

    @cache
    def read() -> bytes:
        if "-" in inputs.files:
            raise UsageError(
                "standard input is named twice: for programs, and as the data '@-'",
                help="put one of them in a file",
            )
        if sys.stdin is None or sys.stdin.closed:
            raise UsageError("there is no standard input, which '@-' names")
        return read_within(sys.stdin.buffer, "standard input", limits)

    return read


def _mentioning(error: GradcliError, name: str, text: str, inputs: Inputs) -> GradcliError:
    """Return the error for a value that mentions a name.

    The value may have been meant as an expression.
    """
    if inputs.expression is None:
        return UsageError(
            f"'{name}={text}' was read as a binding whose value mentions another name: "
            f"{error.message}",
            help=f"to evaluate the right side, write '{text}'; to bind in a program, put spaces: "
            f"'{name} = {text}'",
        )
    error.note = f"'{name}={text}' was read as a binding; its value must be a constant expression"
    return error


# -- What there is to check in folders -----------------------------------------------------------


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


# -- Ranges NAME=BEGIN..END


def box_of(texts: Sequence[str], limits: Limits) -> dict[str, tuple[float, float]]:
    """Return the box of ``--over NAME=BEGIN..END``.

    Raises UsageError.
    """
    from gradcli.query.bounds import within

    return within(assignments("--over", texts), Programs(limits))


# -- Values of options, and what they ask for


def limits_of(request: Request) -> Limits:
    """Return the limits that a request sets. Raises UsageError."""
    return DEFAULT.raise_to(request.limit) if request.limit else DEFAULT


def assignments(option: str, texts: Iterable[str]) -> dict[str, str]:
    """Values by names, of which each is given once. Raises UsageError."""
    found: dict[str, str] = {}
    for text in texts:
        name, value = assignment(option, text)
        if name in found:
            raise UsageError(f"{option} {name}=... is given twice")
        found[name] = value
    return found


def assignment(option: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value:
        raise UsageError(f"{option} takes NAME=VALUE, not '{text}'")
    return normalize(name.strip()), value


def kind_by_suffix(
    out: str | None, suffixes: Mapping[str, tuple[str, ...]], option: str, given: str | None
) -> str | None:
    """Return the kind of what is written.

    An option says it, or the suffix of the file does: the first of the kinds that it stands for.

    Raises UsageError for another suffix, and for one that the option contradicts.
    """
    if out is None:
        return given
    suffix = os.path.splitext(out)[1].lower()
    if suffix not in suffixes:
        raise UsageError(
            f"--out {out}: a suffix says what is written",
            help=f"the suffixes are {', '.join(suffixes)}",
        )
    if given is not None and given not in suffixes[suffix]:
        raise UsageError(
            f"--out {out} and {option} {given} contradict each other", help=f"leave {option} out"
        )
    return given or suffixes[suffix][0]


# -- What is computed, and what is refused: an option that has no effect beside the others


def _refuse_nothing(request: Request) -> None:
    """Raise UsageError for lists of names with an empty one, and for an empty seed."""
    if request.seed is not None and not request.seed.strip():
        raise UsageError(
            "--seed has no value", help="write --seed 1, or --seed 1,0 in the shape of the output"
        )
    for option, text in (("--wrt", request.wrt), *(("--freeze", each) for each in request.freeze)):
        if text is not None and not all(name.strip() for name in text.split(",")):
            raise UsageError(f"{option} {text!r} has an empty name", help=f"write {option} x,y")


def options_of(request: Request, command: str = "") -> Options:
    """Return what every command computes: by which names, and with which seed.

    Raises UsageError.
    """
    _refuse_nothing(request)
    refuse_together(f"all {command}", request.as_typed)
    check = request.check and not isinstance(request, ExportRequest)
    return Options(
        names_of(request.wrt),
        names_of(",".join(request.freeze)) or (),
        request.seed,
        check=check,
        formula=False,
        timeout=request.timeout,
        state=request.random_state,
    )
