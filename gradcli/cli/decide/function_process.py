"""Python functions in a process of their own: what they print, change, raise or end there harms nobody, and a time limit ends them."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

from gradcli.cli.decide.workers import ending_of, held_back, live_with_parent
from gradcli.errors import EvaluationError, GradcliError, UsageError
from gradcli.functions.calls import guarded
from gradcli.functions.checking import Question
from gradcli.functions.linear import is_operator
from gradcli.report.verdicts import Check
from gradcli.storage.current_folder import here

_LONGEST = 1e6  # seconds; beyond, there is no limit


class Late(Exception):
    """Nothing has been said within the time limit."""


class FunctionProcess:
    """The process of a function, of what is claimed about it, and of what it solves; it is ended with the block, whatever they are at."""

    def __init__(self, functions: Sequence[str | None], seconds: float | None) -> None:
        self._seconds = seconds if seconds is not None and seconds < _LONGEST else None
        self._pipe, self._theirs = multiprocessing.Pipe()
        self._process = multiprocessing.Process(target=_serve, args=(self._theirs, functions))

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

    def ask(self, question: Question) -> tuple[Check, Any]:
        """Its answer. Raises GradcliError, and Late."""
        with suppress(OSError):  # it has died, as is told next
            self._pipe.send(question)
        answer: tuple[Check, Any] = self._heard()
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
        found = guarded(lambda: _found(module, name))
    except EvaluationError as error:  # a module may raise anything while it is imported
        raise UsageError(f"cannot find '{path}': {error.message}") from None
    finally:
        sys.path.pop(0)
    if not callable(found) and not is_operator(found):
        raise UsageError(f"'{path}' is no function")
    function: Callable[..., Any] = found
    return function


def _found(module: str, name: str) -> Any:
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


# -- in the process ------------------------------------------------------------------------------------------------------


def _serve(pipe: Connection[Any, Any], names: Sequence[str | None]) -> None:
    live_with_parent()
    os.dup2(2, 1)  # what it prints is no result
    with suppress(OSError, EOFError):  # nobody listens any more
        try:
            functions = [None if name is None else loaded(name) for name in names]
            pipe.send(None)
        except GradcliError as error:
            pipe.send(error)
            return
        while True:
            question = pipe.recv()
            try:
                answer: Any = guarded(partial(question.check, *functions))
            except GradcliError as error:
                answer = error
            if sys.stdout is not None:
                sys.stdout.flush()  # what it has printed stands before what is said of it
            pipe.send(answer)
