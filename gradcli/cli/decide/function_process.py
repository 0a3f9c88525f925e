"""Python functions in a process of their own: what they print, change, raise or end there harms nobody, and a time limit ends them."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import re
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any

from gradcli.cli.decide.workers import ending_of, held_back, live_with_parent
from gradcli.errors import EvaluationError, GradcliError
from gradcli.functions.calls import guarded
from gradcli.functions.checking import Question
from gradcli.functions.dependencies import Dependencies, Watch
from gradcli.functions.loading import Definition, definition_of, loaded
from gradcli.functions.parameters import is_module
from gradcli.functions.places import is_of_project
from gradcli.report.verdicts import Check

_LONGEST = 1e6  # seconds; beyond, there is no limit
_BEFORE = 0.1  # of a time limit: a process says where it is so long before its end


class Late(Exception):
    """Nothing has been said within the time limit; ``place`` is where the function was then, if that is known."""

    def __init__(self, place: str | None = None) -> None:
        super().__init__(place)
        self.place = place


class FunctionProcess:
    """The process of a function, of what is claimed about it, and of what it solves; it is ended with the block, whatever they are at.

    functions  their names, the function's first
    seconds    the time for all that it is asked
    folder     whose modules it finds first
    watched    whether it listens to what it reads
    """

    def __init__(self, functions: Sequence[str | None], seconds: float | None, folder: Path, watched: bool = False) -> None:
        self._seconds = seconds if seconds is not None and seconds < _LONGEST else None
        self._pipe, self._theirs = multiprocessing.Pipe()
        self._last_words, theirs = multiprocessing.Pipe(duplex=False)
        self._end: float | None = None
        given = (self._theirs, theirs, self._seconds, functions, folder, watched)
        self._process = multiprocessing.Process(target=_serve, args=given)
        self._to_close = (self._theirs, theirs)

    def __enter__(self) -> FunctionProcess:
        with held_back():
            self._process.start()
        for theirs in self._to_close:
            theirs.close()
        self._end = None if self._seconds is None else time.monotonic() + self._seconds
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        _end_group(self._process.pid)
        self._process.kill()
        self._process.join()
        self._pipe.close()
        self._last_words.close()

    def load(self) -> Definition:
        """Let it import what is named, and say where the function stands. Raises GradcliError, and Late."""
        definition: Definition = self._heard()
        return definition

    def ask(self, question: Question) -> tuple[Check, Any]:
        """Its answer. Raises GradcliError, and Late."""
        with suppress(OSError):  # it has died, as is told next
            self._pipe.send(question)
        answer: tuple[Check, Any] = self._heard()
        return answer

    def dependencies(self) -> Dependencies | str:
        """What its answers hang on; or why that cannot be told. Raises GradcliError, and Late."""
        with suppress(OSError):
            self._pipe.send(None)
        found: Dependencies | str = self._heard()
        return found

    def _heard(self) -> Any:
        if not self._pipe.poll(None if self._end is None else max(0.0, self._end - time.monotonic())):
            raise Late(self._place())
        try:
            answer = self._pipe.recv()
        except (OSError, EOFError):
            raise EvaluationError(f"the process in which it was called came to its end ({ending_of(self._process)})") from None
        if isinstance(answer, GradcliError):
            raise answer
        return answer

    def _place(self) -> str | None:
        """Where the process was before the end of its time, in the words of Python's own handler of faults."""
        if os.name == "nt" or not self._last_words.poll(_BEFORE):
            return None
        said = os.read(self._last_words.fileno(), 1 << 16).decode("utf-8", "replace")
        threads = [_FRAME.findall(thread) for thread in said.split("\n\n")]  # the one that the function runs in comes last
        found = [(file, line, name) for thread in reversed(threads) for file, line, name in thread if is_of_project(file)]
        return f"{Path(found[0][0]).name}:{found[0][1]}, in {found[0][2]}" if found else None


_FRAME = re.compile(r'^  File "(.*)", line (\d+) in (.*)$', re.MULTILINE)


def _end_group(pid: int | None) -> None:
    """End what the process has started, if it has a group of its own."""
    with suppress(OSError, AttributeError):
        if pid is not None and os.getpgid(pid) == pid:
            os.killpg(pid, signal.SIGKILL)


# -- in the process ------------------------------------------------------------------------------------------------------


def _serve(
    pipe: Connection[Any, Any], last_words: Connection[Any, Any], seconds: float | None, names: Sequence[str | None], folder: Path,
    watched: bool,
) -> None:  # fmt: skip
    live_with_parent()
    _apart()
    sys.dont_write_bytecode = True  # which would be run again for a source that changes within the second, to the same size
    sys.path.insert(0, str(folder))
    watch = Watch(folder) if watched else None
    if seconds is not None and os.name != "nt":
        faulthandler.dump_traceback_later(max(seconds - _BEFORE, seconds / 2), file=last_words.fileno())
    with suppress(OSError, EOFError):  # nobody listens any more
        try:
            first, *others = names
            called = loaded(first or "", folder)
            pipe.send(definition_of(called))
            functions = [called, *(None if name is None else loaded(name, folder) for name in others)]
        except GradcliError as error:
            pipe.send(_alone(error))
            return
        while True:
            question = pipe.recv()
            try:
                answer: Any
                if question is None:
                    answer = _WEIGHTS if any(map(is_module, functions)) else watch and watch.found()
                else:
                    answer = guarded(partial(question.check, *functions))
            except GradcliError as error:
                answer = _alone(error)
            with suppress(Exception):  # it may have closed it, or put something else in its place
                sys.stdout.flush()  # what it has printed stands before what is said of it
            pipe.send(answer)


_WEIGHTS = "the parameters of a module stand in no file"


def _alone(error: GradcliError) -> GradcliError:
    """An error without the frames and errors that it came from, which some libraries teach pickle to take along, however deep they are."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def _apart() -> None:
    """What a function prints is no result, what it reads is not ours, and what it starts ends with it."""
    with suppress(OSError, AttributeError):
        os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no standard error
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
