"""Errors as data: spans, labels, and one rendering with carets.

The tree (each class has a stable ``code`` that scripts may match)::

    GradcliError
    ├── ParseError               syntax                 the text is not in the language
    │   └── AmbiguousError       ambiguous              the text has two readings; both are named
    ├── UnknownNameError         unknown-name           no such function, method or option
    ├── MissingValueError        missing-value          a name that has no value
    ├── ArgumentError            argument               a function called with wrong arguments
    ├── ShapeError               shape                  array shapes that do not fit together
    ├── TypeMismatchError        type                   a string or a boolean in place of a number
    ├── LimitError               limit                  larger than the documented limits
    ├── EvaluationError          evaluation             no value, e.g. of a singular matrix's inverse
    ├── InputError               input                  a file or record that cannot be read
    │   └── UnknownFieldError    unknown-field          a field that records do not have
    ├── NativeError              native                 no compiler works, or it cannot compile this
    ├── OutputError              output                 a result that cannot be written
    ├── UnsupportedInTargetError unsupported-in-target  a language that lacks a function
    ├── UsageError               usage                  options that contradict each other
    │   └── InputTypeError                              the same of Python's arguments; a TypeError
    └── InternalError            internal               an exception that nobody foresaw: a bug, or
                                                        no memory

A message says what is wrong, in lower case without a full stop; a label stands at the smallest
span; ``help`` says what to type. Text is made of it in one place, `GradcliError.render`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from gradcli.texts import Source, Span, display_width, inert_lines, printable, suggestion

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST = 400  # most characters of a message
_WINDOW = 160  # columns shown of a long source line, around the caret


def first_line(error: BaseException) -> str:
    """Return what a library's error says, in one line: its name, if it says nothing."""
    return (str(error) or type(error).__name__).partition("\n")[0]


class Label(NamedTuple):
    """A second place that the message is about, e.g. where a bracket was opened."""

    span: Span
    text: str


class GradcliError(Exception):
    """An error that carries its place in the text and what to do about it."""

    code: ClassVar[str] = "error"
    # A help that is right in any case, for when the one made of the user's own text would lead to
    # another error.
    instead: str | None = None

    def __init__(
        self,
        message: str,
        *,
        span: Span | None = None,
        label: str = "",
        help: str | None = None,
        note: str | None = None,
        also: tuple[Label, ...] = (),
        source: Source | None = None,
    ) -> None:
        message, help = _clip(message), None if help is None else _clip(help)
        super().__init__(message)
        self.message = message
        self.span = span
        self.label = label
        self.help = help
        self.note = note
        self.also = also
        self.node: Any = None  # the graph node whose evaluation failed
        self.follows: int | None = None  # line of the error that this one results from
        self.record: dict[str, Any] = {}  # what is known of an input record that cannot be read
        self.source = source

    def __reduce__(self) -> Any:
        return _rebuilt, (type(self), self.args, self.__dict__)

    def at(self, span: Span | None, source: Source | None = None) -> GradcliError:
        """Fill in the place if it is not known yet; returns self."""
        if self.span is None:
            self.span = span
        if self.source is None:
            self.source = source
        return self

    def place(self) -> tuple[int, int, int] | None:
        """Line, column and end column, from 1; None without a place in a text."""
        if self.source is None or self.span is None:
            return None
        line, column = self.source.position(self.span.start)
        width = max(
            1, min(self.span.end, self.source.line_at(self.span.start).end) - self.span.start
        )
        return line, column, column + width

    def render(self) -> str:
        """Return the error as plain text, in the form that the manual documents."""
        lines = [f"error[{self.code}]: {printable(self.message)}"]
        margin = ""
        if self.source is not None and self.span is not None:
            line, column = self.source.position(self.span.start)
            margin = " " * len(str(line))
            lines.append(
                f"{margin} --> {printable(self.source.name or '<expression>')}:{line}:{column}"
            )
            lines += _excerpt(self.source, self.span, self.label)
            for label in self.also:
                lines += _excerpt(self.source, label.span, label.text)
        if self.help:
            lines.append(f"{margin} = help: {printable(self.help)}")
        if self.note:
            lines.append(f"{margin} = note: {printable(self.note)}")
        return inert_lines("\n".join(lines))

    def __str__(self) -> str:
        return self.render() if self.span is not None else self.message


def _clip(text: str) -> str:
    """Shorten a message that quotes a name of megabytes."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 4 :]}"


def _excerpt(source: Source, span: Span, label: str) -> list[str]:
    number, column = source.position(span.start)
    line = source.line_at(span.start)
    length = line.end - line.start
    start = column - 1
    end = max(start + 1, min(start + span.end - span.start, length))
    left = max(0, min(start - _WINDOW // 4, length - _WINDOW))
    text = source.text[line.start + left : min(line.start + left + _WINDOW, line.end)]
    if length > _WINDOW:
        end = min(end, left + _WINDOW)
        head, tail = "…" if left else "", "…" if left + _WINDOW < length else ""
        text = head + text + tail
        start, end = start - left + len(head), end - left + len(head)
    before, marked = printable(text[:start]), printable(text[start:end])
    gutter = " " * len(str(number))
    carets = "^" * max(1, display_width(marked))
    return [
        f"{number} | {printable(text)}",
        f"{gutter} | "
        f"{' ' * display_width(before)}{carets}{f' {printable(label)}' if label else ''}",
    ]


def _rebuilt(
    kind: type[GradcliError], arguments: tuple[Any, ...], fields: dict[str, Any]
) -> GradcliError:
    """Return an error that comes from another process."""
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    error.__dict__.update(fields, node=None)
    return error


class ParseError(GradcliError):
    code = "syntax"


class AmbiguousError(ParseError):
    code = "ambiguous"


class UnknownNameError(GradcliError):
    code = "unknown-name"


class MissingValueError(GradcliError):
    code = "missing-value"


class ArgumentError(GradcliError, RuntimeError):
    code = "argument"


class MistypedArgumentError(ArgumentError, TypeError):
    """An argument that is missing, one too many, or of another type than a function takes."""


class PlaceError(ArgumentError, IndexError):
    """An index that is none of an array's."""


class UnreadArgumentError(ArgumentError, TypeError):
    """Argument that a function does not have or does not read.

    The value of one that is not read would change what the function does.
    """


class ShapeError(GradcliError, RuntimeError):
    code = "shape"


class AxisError(ShapeError, IndexError):
    """An axis that an array does not have."""

    def __init__(self, axis: int, ndim: int) -> None:
        super().__init__(f"axis {axis} is out of bounds for an array of {ndim} axes")
        self.axis, self.ndim = axis, ndim


class TypeMismatchError(GradcliError, TypeError):
    code = "type"


class LimitError(GradcliError):
    code = "limit"


class EvaluationError(GradcliError, RuntimeError):
    code = "evaluation"


class LinAlgError(EvaluationError):
    """A matrix for which there is no result: singular, or not positive definite."""


class LabelError(EvaluationError, IndexError):
    """A label that is none of the classes."""


class ExhaustedError(EvaluationError):
    """Result that can be computed, but for which this machine had no memory.

    No result that lacks it may be taken for complete.
    """


class InputError(GradcliError):
    code = "input"


class UnknownFieldError(InputError):
    code = "unknown-field"


class NativeError(GradcliError, RuntimeError):
    code = "native"


class OutputError(GradcliError):
    code = "output"


class UnsupportedInTargetError(GradcliError):
    """Export of a function that the language or library does not have."""

    code = "unsupported-in-target"


class UsageError(GradcliError):
    code = "usage"


class InputTypeError(UsageError, TypeError):
    """A value or an option of the Python API of a kind that it cannot be."""


class InternalError(GradcliError):
    """An exception that nobody foresaw, which is its cause. It ends its record, and no other."""

    code = "internal"


# -- Unforeseen errors, as errors of the record in which they came up: they harm nothing else ------


# Environment variable that shows the traceback of an unforeseen error.
TRACEBACK = "GRADCLI_TRACEBACK"
_REPORT = (
    f"this is a bug in gradcli: please report it with the input, and with what {TRACEBACK}=1 adds"
)
_MEMORY = (
    "the machine has no more of it; a limit (--limit memory=1G) refuses what is too large "
    "before it is begun"
)


def as_gradcli_error(error: Exception) -> GradcliError:
    """Return an exception as an error that a record can have.

    A GradcliError stays as it is. Anything else becomes an InternalError with its place in gradcli.

    Raises the exception itself where its traceback is asked for by ``GRADCLI_TRACEBACK``.
    """
    if isinstance(error, GradcliError):
        return error
    if os.environ.get(TRACEBACK):
        raise error
    said = (
        "out of memory"
        if isinstance(error, MemoryError)
        else f"{type(error).__name__}: {error}".rstrip(": ")
    )
    found = InternalError(
        f"{said} (in {_place(error)})", help=_MEMORY if isinstance(error, MemoryError) else _REPORT
    )
    found.__cause__ = error
    return found


def _place(error: Exception) -> str:
    """Return the last place in gradcli that an exception came through."""
    from pathlib import Path
    from traceback import extract_tb

    home = Path(__file__).parent
    places = [
        place for place in extract_tb(error.__traceback__) if home in Path(place.filename).parents
    ]
    if not places:
        return "outside of gradcli"
    last = places[-1]
    return f"{Path(last.filename).relative_to(home.parent).as_posix()}:{last.lineno}, {last.name}"


# -- Words that are not among the known ones ------------------------------------------------------


def one_of(
    what: str, word: Any, allowed: Iterable[str], kind: type[GradcliError] = UsageError
) -> str:
    """Return the word, if it is one of the allowed ones.

    ``what`` is an option as its user writes it. Raises an error of the kind, with the choices.
    """
    choices = list(allowed)
    if isinstance(word, str) and word in choices:
        return str(word)
    is_text = isinstance(word, str)
    said = f"'{word}'" if is_text else repr(word)
    raise kind(
        f"{what} must be one of {', '.join(choices)}, not {said}",
        help=did_you_mean(word, choices) if is_text else None,
    )


def did_you_mean(
    word: str, known: Iterable[str], otherwise: str | None = None, cutoff: float = 0.78
) -> str | None:
    """Return the help for a word that is not known.

    It names the word that is meant, if one is close; else it is ``otherwise``.
    """
    close = suggestion(word, known, cutoff)
    return f"did you mean '{close}'?" if close else otherwise
