"""The prompt on a terminal: keys, history, colours and completion; what is typed is fed to a session."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.filters import has_completions
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import Style

from gradcli.cli.exit_codes import FINE
from gradcli.cli.repl.completeness import is_complete
from gradcli.cli.repl.completer import Completing
from gradcli.cli.repl.lexer import Highlighting
from gradcli.cli.repl.offers import functions_by_name, library_names, offers
from gradcli.cli.repl.session import Session
from gradcli.cli.write.streams import put

_STYLE = Style.from_dict({
    "prompt": "bold ansicyan", "more": "ansibrightblack", "number": "ansicyan", "string": "ansigreen", "keyword": "bold ansimagenta",
    "function": "ansiblue", "command": "bold ansiyellow", "comment": "ansibrightblack italic",
})  # fmt: skip
_ENDS = frozenset({"quit", "exit", "quit()", "exit()"})


def prompted(session: Session, history: Path | None, styled: bool, **streams: Any) -> PromptSession[str]:
    """What reads from the terminal, or from the streams of a test."""
    return PromptSession(
        history=InMemoryHistory() if history is None else FileHistory(str(history)),
        completer=Completing(session.known), complete_while_typing=False, lexer=Highlighting() if styled else None,
        style=_STYLE if styled else None, color_depth=None if styled else ColorDepth.DEPTH_1_BIT, multiline=True,
        key_bindings=keys(session.known), enable_open_in_editor=False,
        prompt_continuation=lambda width, number, soft: FormattedText([("class:more", ("" if soft else "...").ljust(width))]), **streams,
    )  # fmt: skip


def keys(names: Any) -> KeyBindings:
    """Enter submits what is complete; Alt-Enter begins a line. Tab completes, and indents where nothing is to be completed."""
    bindings = KeyBindings()

    @bindings.add("enter", filter=~has_completions)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_complete(buffer.text) or not buffer.text.strip():
            buffer.validate_and_handle()
        else:
            last = buffer.document.current_line_before_cursor
            indent = len(last) - len(last.lstrip())
            buffer.insert_text("\n" + " " * (indent + (4 if last.rstrip().endswith(":") else 0)))

    @bindings.add("enter", filter=has_completions)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        chosen = buffer.complete_state is not None and buffer.complete_state.current_completion is not None
        buffer.complete_state = None
        if not chosen and is_complete(buffer.text):
            buffer.validate_and_handle()

    @bindings.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @bindings.add("tab", filter=~has_completions)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        document = buffer.document
        if not document.current_line_before_cursor.strip():
            buffer.insert_text("    ")
            return
        found = [*offers(document.text_before_cursor, names())]
        exact = bool(found) and document.text_before_cursor.endswith(found[0].meta) and found[0].meta.startswith("\\")
        if len(found) == 1 or exact:
            buffer.delete_before_cursor(found[0].replaces)
            buffer.insert_text(found[0].text)
        elif found:
            buffer.start_completion(select_first=False, insert_common_part=True)

    return bindings


def converse(session: Session, history: Path | None, styled: bool, **streams: Any) -> int:
    """Read, compute and show until the end; the exit code is that of a session, whose mistakes are told where they are made."""
    reader = prompted(session, history, styled, **streams)
    warming = threading.Thread(target=_warm, args=(session.transcript.settings.check,), daemon=True)
    warming.start()
    while True:
        try:
            head = f"{session.transcript.line + 1}> "
            text = reader.prompt(FormattedText([("class:prompt", head)]))
        except KeyboardInterrupt:
            continue  # what was typed is dropped, as in a shell
        except EOFError:
            return FINE
        if not text.strip():
            continue
        word = text.strip()
        if (word in _ENDS and word not in session.known()) or word in ("help", "?"):
            text = ":quit" if word in _ENDS else ":help"
        try:
            warming.join()  # two threads that import modules which import each other may see half of one
            answer = session.answer(text, shutil.get_terminal_size().columns)
            put(answer.text)
        except KeyboardInterrupt:
            put("\n")
            continue
        if answer.ends:
            return FINE


def _warm(check: bool) -> None:
    """Import what the first Tab and the first line need, while something is typed."""
    functions_by_name()
    library_names()
    if check:
        import gradcli.check.crosscheck  # noqa: F401
