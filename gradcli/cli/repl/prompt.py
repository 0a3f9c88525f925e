"""The prompt on a terminal: keys, history and completion; what is typed is fed to a session."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.filters import has_completions
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from gradcli.cli.process import FINE, raise_interrupt
from gradcli.cli.repl.session import Session, is_complete
from gradcli.notation import GREEK
from gradcli.query.catalogue import function_names
from gradcli.storage import folder, make_private


def history_file() -> Path | None:
    """Return the file of earlier input, which is made if it was not there.

    Nobody else can read it. Return None where the user has no folder, or may not write there.
    """
    where = folder()
    if where is None:
        return None
    path = where / "repl" / "history"
    try:
        make_private(path.parent)
        path.touch(0o600)
        os.chmod(path, 0o600)
    except OSError:
        return None
    return path


def _letter(name: str, case: str) -> str:
    return unicodedata.lookup(f"GREEK {case} LETTER {name.upper().replace('LAMBDA', 'LAMDA')}")


LETTERS: dict[str, str] = {
    **{f"\\{name}": _letter(name, "SMALL") for name in sorted(GREEK)},
    **{f"\\{name.capitalize()}": _letter(name, "CAPITAL") for name in sorted(GREEK)},
}
_FILE = re.compile(r"@([^\s;@]*)\Z|\s*:(?:load|save)\s+(.*)\Z")
_WORD = re.compile(r"(?:\\|^\s*:)?\w+\Z")


@dataclass
class Completing(Completer):
    """Completer of commands, Greek letters, data files, and names.

    Names are those that the session has at the moment, and those of functions.
    """

    session: Session
    commands: Iterable[str]

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        before = document.text_before_cursor
        if (file := _FILE.search(before)) is not None:
            typed = Document(file[1] or file[2] or "")
            return PathCompleter(expanduser=True).get_completions(typed, complete_event)
        word = _WORD.search(before)
        if word is None:
            return ()
        start = word[0].lstrip()
        known = {
            **{name: name for name in (*self.session.known_names(), *sorted(function_names()))},
            **{f":{name}": f":{name}" for name in self.commands},
            **LETTERS,
        }
        found = [known[start]] if start in LETTERS else []
        found += [text for typed, text in known.items() if typed.startswith(start)]
        return [Completion(text, -len(start)) for text in dict.fromkeys(found)]


def keys(completer: Completer) -> KeyBindings:
    """Enter submits what is complete; Alt-Enter begins a line.

    Tab completes, and indents where nothing is to be completed.
    """
    bindings = KeyBindings()

    @bindings.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        offered, buffer.complete_state = buffer.complete_state, None
        if offered is not None and offered.current_completion is not None:
            return  # Enter has chosen a completion
        if is_complete(buffer.text) or not buffer.text.strip():
            buffer.validate_and_handle()
        else:
            last = buffer.document.current_line_before_cursor
            indent = len(last) - len(last.lstrip())
            buffer.insert_text("\n" + " " * (indent + (4 if last.rstrip().endswith(":") else 0)))

    @bindings.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @bindings.add("tab", filter=~has_completions)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if not buffer.document.current_line_before_cursor.strip():
            buffer.insert_text("    ")
            return
        found = [*completer.get_completions(buffer.document, CompleteEvent())]
        if len(found) == 1:
            buffer.apply_completion(found[0])
        elif found:
            buffer.start_completion(insert_common_part=True)

    return bindings


def talk(session: Session, history: Path | None, commands: Iterable[str], **streams: Any) -> int:
    """Read, compute and show until the end.

    The exit code is that of a session: mistakes are reported where they are made.
    """
    completer = Completing(session, commands)
    reader: PromptSession[str] = PromptSession(
        history=None if history is None else FileHistory(str(history)),
        completer=completer, complete_while_typing=False, multiline=True,
        key_bindings=keys(completer),
        prompt_continuation=lambda width, number, soft: "... ".rjust(width), **streams,
    )  # fmt: skip
    while not session.ends:
        try:
            text = reader.prompt(f"{session.line + 1}> ")
            word = text.strip()
            if word in ("help", "quit", "exit") and word not in session.known_names():
                text = ":help" if word == "help" else ":quit"
            if word:
                session.feed(text)
        except KeyboardInterrupt:
            raise_interrupt()
            continue  # what was typed is dropped, as in a shell
        except EOFError:
            break
    return FINE
