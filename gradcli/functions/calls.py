"""Calling what other people wrote: whatever it raises becomes an error that says where."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gradcli.errors import ArgumentError, EvaluationError, GradcliError
from gradcli.functions.places import chosen

_LONGEST = 500  # characters of a message


def guarded(call: Callable[[], Any], kind: type[EvaluationError] = EvaluationError, *, interrupts: bool = True) -> Any:
    """What a call gives. Raises an error of the kind for whatever it raises, an exit and an interrupt of its own among it.

    interrupts  False where Ctrl-C is that of the person who waits for the answer, and goes through
    """
    try:
        return call()
    except GradcliError:
        raise
    except KeyboardInterrupt as error:
        if not interrupts:
            raise
        raise kind(told(error)) from None
    except BaseException as error:
        raise kind(told(error)) from None


def told(error: BaseException, who: str = "the function") -> str:
    """What was raised, and the line of other people's code in which it was."""
    name = type(error).__name__
    said = _words(error)
    if isinstance(error, SystemExit):
        text = f"{who} ends the program: SystemExit: {said}"
    elif isinstance(error, RecursionError):
        text = f"{who} calls itself without end: {name}: {said}"
    else:
        text = f"{name}: {said}" if said else name
    place = _unreadable_line(error) or _last_line(error)
    return text[:_LONGEST] if place is None else f"{text[:_LONGEST]} (at {place})"


def _words(error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.msg:
        return error.msg
    try:
        return str(error.code) if isinstance(error, SystemExit) else str(error)
    except Exception:  # it is theirs, too
        return "its message cannot be made"


def _unreadable_line(error: BaseException) -> str | None:
    """Where a module is no Python."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f"{Path(error.filename).name}:{error.lineno}"
    return None


def _last_line(error: BaseException) -> str | None:
    frames = list(traceback.extract_tb(error.__traceback__, limit=-200))
    last = chosen([frame.filename for frame in frames])
    return None if last is None else f"{Path(frames[last].filename).name}:{frames[last].lineno}, in {frames[last].name}"


def refuse_arguments(function: Callable[..., Any], names: Sequence[str]) -> None:
    """Raise ArgumentError for arguments that a function cannot be called with, or that others of its parameters would be taken for."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of C
        return
    takes = f"it takes {signature}: its arguments are given in this order"
    try:
        signature.bind(*names)
    except TypeError as error:
        raise ArgumentError(f"the function cannot be called with {', '.join(names)}: {error}", help=takes) from None
    places = [p.name for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for name, parameter in zip(names, places, strict=False):
        if name != parameter and name in signature.parameters:
            raise ArgumentError(f"the argument '{name}' stands where the function takes '{parameter}'", help=takes)
