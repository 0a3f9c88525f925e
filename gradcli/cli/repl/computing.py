"""The process in which a session computes: Ctrl-C ends it, and another goes on from the transcript as it was before.

Nothing is ever interrupted inside of a library: a process is ended as a whole, whatever it is at, and what has run is made again.
"""

from __future__ import annotations

import multiprocessing
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from gradcli.cli.exit_codes import BAD_INPUT, INTERRUPTED
from gradcli.cli.repl.transcript import Transcript

_PATIENCE = 1.0  # seconds in which what has been begun is tidied up, compilers and their files


class Told(NamedTuple):
    """What the process has said: what is shown, and where the session stands now."""

    text: str
    code: int
    ends: bool
    transcript: Transcript
    names: list[str]


class Computing:
    """A session in a process of its own, as its parent sees it."""

    def __init__(self, transcript: Transcript, styled: bool) -> None:
        self.transcript, self.styled = transcript, styled
        self.names: list[str] = []
        self._process: Any = None
        self._pipe: Connection[Any, Any] | None = None

    def start(self) -> None:
        """Begin: it gets ready while something is typed."""
        from gradcli.cli.decide.workers import held_back

        spawning = multiprocessing.get_context("spawn")  # a fork would share the prompt's threads and its terminal
        self._pipe, theirs = spawning.Pipe()
        self._process = spawning.Process(target=serve, args=(theirs, self.transcript, self.styled), daemon=True)
        with held_back():
            self._process.start()
        theirs.close()

    def feed(self, text: str, columns: int) -> Told:
        """Its answer. KeyboardInterrupt ends what it is at, and this one's answer says so."""
        try:
            if self._process is None:
                self.start()
            assert self._pipe is not None
            self._pipe.send((text, columns))
            told: Told = self._pipe.recv()
        except KeyboardInterrupt:
            self.end()
            self.start()
            return Told("interrupted; all names are as they were before\n", INTERRUPTED, False, self.transcript, self.names)
        except (OSError, EOFError):
            from gradcli.cli.decide.workers import ending_of

            ending = ending_of(self._process)
            self.end()
            self.start()
            said = f"error[evaluation]: the process that computed came to its end ({ending})\n  = note: all names are as they were before\n"
            return Told(said, BAD_INPUT, False, self.transcript, self.names)
        self.transcript, self.names = told.transcript, told.names
        return told

    def end(self) -> None:
        """Let the process end, in order or at once."""
        if self._process is not None:
            for act in (self._process.terminate, self._process.kill):
                act()
                self._process.join(_PATIENCE)
                if self._process.exitcode is not None:
                    break
            with suppress(OSError):
                assert self._pipe is not None
                self._pipe.close()
            self._process = None


# -- in the process ------------------------------------------------------------------------------------------------------


def serve(pipe: Connection[Any, Any], transcript: Transcript, styled: bool) -> None:
    """Answer what is typed, until nobody asks any more."""
    from gradcli.cli.decide.workers import live_with_parent
    from gradcli.cli.repl.commands import run_command
    from gradcli.cli.repl.session import Session

    live_with_parent()
    session = Session(run_command, transcript, styled=styled)
    with suppress(OSError, EOFError):
        session.warm()
        while True:
            text, columns = pipe.recv()
            answer = session.feed(text, columns)
            pipe.send(Told(answer.text, answer.code, answer.ends, session.transcript, session.known()))
