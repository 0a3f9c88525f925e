"""Calling what other people wrote: whatever it raises becomes an error that says where."""

from __future__ import annotations

import inspect
import traceback
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gradcli.errors import ArgumentError, EvaluationError, GradcliError
from gradcli.functions.places import best_known_place

_LONGEST = 500  # longest message, in characters


def call_guarded(
    call: Callable[[], Any],
    kind: type[EvaluationError] = EvaluationError,
    *,
    interrupts: bool = True,
) -> Any:
    """Return what a call gives.

    Raises an error of the kind for whatever it raises, an exit and an interrupt of its own among
    it.

    interrupts  False where Ctrl-C is that of the person who waits for the answer, and goes through
    """
    try:
        return call()
    except GradcliError:
        raise
    except KeyboardInterrupt as error:
        if not interrupts:
            raise
        raise kind(words_of_error(error)) from None
    except BaseException as error:
        raise kind(words_of_error(error)) from None


def words_of_error(error: BaseException, who: str = "the function") -> str:
    """Return what was raised, and the line of other people's code in which it was."""
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
    except Exception:  # __str__ is their code, too
        return "its message cannot be made"


def _unreadable_line(error: BaseException) -> str | None:
    """Return where a module is no Python."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f"{Path(error.filename).name}:{error.lineno}"
    return None


def _last_line(error: BaseException) -> str | None:
    frames = list(traceback.extract_tb(error.__traceback__, limit=-200))
    last = best_known_place([frame.filename for frame in frames])
    return (
        None
        if last is None
        else f"{Path(frames[last].filename).name}:{frames[last].lineno}, in {frames[last].name}"
    )


def arrange_names(function: Callable[..., Any], names: Sequence[str]) -> list[str]:
    """Return the names of arguments in the order of the parameters, if they are those.

    Names that no parameter has stand for the places in which they are given. Raises ArgumentError
    for arguments that the function cannot be called with.
    """
    parameters = parameters_of(function)
    if parameters is None:
        return list(names)
    order = [name for name in parameters if name in names]
    further = [name for name in names if name not in parameters]
    named = not further or _takes_any_name(parameters)
    found = [*order, *further] if named else list(names)
    takes = f"it takes {inspect.signature(function)}"
    places = [
        p.name
        for p in parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    for name, parameter in zip(() if named else names, places, strict=False):
        if name != parameter and name in parameters:
            raise ArgumentError(
                f"the argument '{name}' stands where the function takes '{parameter}'", help=takes
            )
    try:
        by_names(
            lambda *given, **more: inspect.signature(function).bind(*given, **more),
            found,
            parameters,
        )(*found)
    except TypeError as error:
        raise ArgumentError(
            f"the function cannot be called with {', '.join(names)}: {error}", help=takes
        ) from None
    return found


Parameters = Mapping[str, inspect.Parameter]


def by_names(
    function: Callable[..., Any], names: Sequence[str], parameters: Parameters | None = None
) -> Callable[..., Any]:
    """Return a function of values for these names, in this order, and then of others, as a seed.

    Parameters of the names get them, keyword-only ones too; those that are no argument get the
    others. Where a parameter of some name is missing, all but keywords go by their places.
    """
    known = parameters or parameters_of(function)
    if known is None:
        return function
    signature = inspect.Signature(list(known.values()))
    named = _takes_any_name(known)
    by_place = any(name not in known for name in names) and not named

    def call(*values: Any) -> Any:
        given = dict(zip(names, values, strict=False))
        others = list(values[len(names) :])
        bound = inspect.BoundArguments(signature, OrderedDict())
        for name, parameter in known.items():
            if by_place and parameter.kind is not parameter.KEYWORD_ONLY:
                continue
            if name in given:
                bound.arguments[name] = given.pop(name)
            elif others and parameter.default is parameter.empty and parameter.kind not in _ANY:
                bound.arguments[name] = others.pop(0)
        if named:
            return function(*bound.args, *others, **bound.kwargs, **given)
        return function(*bound.args, *given.values(), *others, **bound.kwargs)

    return call


_ANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def parameters_of(function: Callable[..., Any]) -> Parameters | None:
    """Return the parameters of a function; None of one of C that does not say them."""
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # functions written in C may not say
        return None


def _takes_any_name(parameters: Parameters) -> bool:
    return any(p.kind is p.VAR_KEYWORD for p in parameters.values())
