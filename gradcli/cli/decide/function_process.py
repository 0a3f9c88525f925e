"""Python functions under a time limit: called in a process of their own, which is ended, as nothing else ends them for certain."""

from __future__ import annotations

import importlib
import multiprocessing
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, NamedTuple

from gradcli.check.python_functions import check_function
from gradcli.cli.decide.workers import ending_of, held_back, live_with_parent
from gradcli.errors import EvaluationError, GradcliError, UsageError
from gradcli.report.verdicts import Check
from gradcli.storage.current_folder import here

_LONGEST = 1e6  # seconds; beyond, there is no limit


class Question(NamedTuple):
    """A gradient of a function, at the values of its arguments, by some of them."""

    names: Sequence[str]
    values: Sequence[Any]
    wrt: Sequence[str]
    rtol: float
    atol: float

    def answer(self, function: Callable[..., Any], gradient: Callable[..., Any]) -> tuple[Check, float]:
        """The verdict, and the function's value. Raises GradcliError for whatever one of them raises."""
        try:
            return check_function(function, gradient, self.values, self.names, self.rtol, self.atol, self.wrt)
        except GradcliError:
            raise
        except Exception as error:  # a user's function may raise anything
            raise GradcliError(f"{type(error).__name__}: {error}") from None


class Late(Exception):
    """Nothing has been said within the time limit."""


class FunctionProcess:
    """The process of a function and its gradient; it is ended with the block, whatever they are at."""

    def __init__(self, function: str, gradient: str, seconds: float) -> None:
        self._seconds = seconds if seconds < _LONGEST else None
        self._pipe, self._theirs = multiprocessing.Pipe()
        self._process = multiprocessing.Process(target=_serve, args=(self._theirs, function, gradient))

    def __enter__(self) -> FunctionProcess:
        with held_back():
            self._process.start()
        self._theirs.close()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._process.kill()
        self._process.join()
        self._pipe.close()

    def load(self) -> None:
        """Let it import what is named. Raises UsageError, and Late."""
        self._heard()

    def ask(self, question: Question) -> tuple[Check, float]:
        """Its answer. Raises GradcliError, and Late."""
        with suppress(OSError):  # it has died, as is told next
            self._pipe.send(question)
        answer: tuple[Check, float] = self._heard()
        return answer

    def _heard(self) -> Any:
        if not self._pipe.poll(self._seconds):
            raise Late
        try:
            answer = self._pipe.recv()
        except (OSError, EOFError):
            raise EvaluationError(f"the process in which it was called came to its end ({ending_of(self._process)})") from None
        if isinstance(answer, GradcliError):
            raise answer
        return answer


def loaded(path: str) -> Callable[..., Any]:
    """What ``MODULE:NAME`` names, a module of the current folder among them. Raises UsageError."""
    module, colon, name = path.partition(":")
    if not colon or not name:
        raise UsageError(f"a function is named MODULE:NAME, not '{path}'")
    sys.path.insert(0, str(here()))
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:  # a module may raise anything while it is imported
        raise UsageError(f"cannot find '{path}': {type(error).__name__}: {error}") from None
    finally:
        sys.path.pop(0)
    if not callable(found):
        raise UsageError(f"'{path}' is no function")
    function: Callable[..., Any] = found
    return function


# -- in the process ------------------------------------------------------------------------------------------------------


def _serve(pipe: Connection[Any, Any], function: str, gradient: str) -> None:
    live_with_parent()
    with suppress(OSError, EOFError):  # nobody listens any more
        try:
            functions = loaded(function), loaded(gradient)
            pipe.send(None)
            answer: Any = pipe.recv().answer(*functions)
        except GradcliError as error:
            answer = error
        sys.stdout.flush()  # what it has printed stands before what is said of it, as without a limit
        pipe.send(answer)
