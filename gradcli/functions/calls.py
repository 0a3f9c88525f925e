"""Calling what other people wrote: whatever it raises becomes an error that says where."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gradcli.errors import EvaluationError, GradcliError
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
        raise kind(_told(error)) from None
    except BaseException as error:
        raise kind(_told(error)) from None


def _told(error: BaseException) -> str:
    """What was raised, and the line of other people's code in which it was."""
    name = type(error).__name__
    if isinstance(error, SystemExit):
        text = f"the function ends the program: SystemExit: {error.code}"
    elif isinstance(error, RecursionError):
        text = f"the function calls itself without end: {name}: {error}"
    else:
        text = f"{name}: {error}" if str(error) else name
    frames = list(traceback.extract_tb(error.__traceback__, limit=-200))
    last = chosen([frame.filename for frame in frames])
    if last is None:
        return text[:_LONGEST]
    return f"{text[:_LONGEST]} (at {Path(frames[last].filename).name}:{frames[last].lineno}, in {frames[last].name})"
