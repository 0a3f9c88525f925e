"""The prompt on a terminal: keys, history and completion; what is typed is fed to a session."""

from __future__ import annotations

import os
import re
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import has_completions
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import Style

from gradcli.cli.completion import DATA, PROGRAMS, codes, files, functions_by_name
from gradcli.cli.exit_codes import FINE
from gradcli.cli.repl.commands import CHOICES, COMMANDS, is_complete
from gradcli.cli.repl.session import Session
from gradcli.cli.write.results import is_styled
from gradcli.inert import inert_lines
from gradcli.notation import GREEK
from gradcli.ops.calling.prefixes import ROOTS, canonical, has
from gradcli.storage.cache import folder, make_private

# -- What has been typed before, in a file of the user's that nobody else can read ----------------


def history_file() -> Path | None:
    """Return where it is kept, made if it was not there; None where the user has no folder, or may
    not write there.
    """
    where = folder()
    if where is None:
        return None
    path = where / "repl" / "history"
    try:
        make_private(path.parent)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0), 0o600))
        os.chmod(path, 0o600)
    except OSError:
        return None
    return path


# -- What ``\alpha`` and its like stand for: Greek letters by their names, and signs that the
# language reads.


_SIGNS = {
    "partial": "∂", "cdot": "·", "times": "×", "div": "÷", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠", "neq": "≠",
    "sqrt": "√", "cbrt": "∛", "deg": "°", "varepsilon": "ε", "varphi": "φ", "vartheta": "θ", "hbar": "ħ", "ell": "ℓ", "infty": "inf",
    "pm": "±", **{f"^{digit}": sign for digit, sign in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
}  # fmt: skip


def _letter(name: str, case: str) -> str:
    return unicodedata.lookup(f"GREEK {case} LETTER {name.upper().replace('LAMBDA', 'LAMDA')}")


LETTERS: dict[str, str] = {
    **{name: _letter(name, "SMALL") for name in sorted(GREEK)},
    **{name.capitalize(): _letter(name, "CAPITAL") for name in sorted(GREEK)},
    **_SIGNS,
}


# -- What completes a half-typed line: commands, settings, names, functions, what libraries have,
# data files and letters.


_COMMAND = re.compile(r"\s*:(\w*)\Z")
_ARGUMENT = re.compile(r"\s*:(\w+)\s+(.*)\Z", re.DOTALL)
_LETTER = re.compile(r"\\(\^?\w*)\Z")
_DATA = re.compile(r"@([^\s;@]*)\Z")
_DOTTED = re.compile(r"((?:[^\W\d]\w*\.)*)((?:[^\W\d]\w*)?)\Z")
_WORDS = ("const", "assert", "import", "from", "def", "lambda")


class Offer(NamedTuple):
    """Text that may take the place of the last characters."""

    text: str
    replaces: int  # characters before the cursor
    meta: str = ""  # what it is


def offers(before: str, names: Iterable[str] = ()) -> Iterator[Offer]:
    """Yield what may follow a text, up to the cursor."""
    if (letter := _LETTER.search(before)) is not None:
        for name in sorted(LETTERS, key=lambda name: (name != letter[1], name.lower())):
            if name.startswith(letter[1]):
                yield Offer(LETTERS[name], len(letter[0]), f"\\{name}")
        return
    typed, found = _candidates(before, names)
    said: dict[str, str] = {}
    for text, meta in found:
        if text.startswith(typed):
            said.setdefault(text, meta)
    yield from (Offer(text, len(typed), meta) for text, meta in said.items())


def _candidates(before: str, names: Iterable[str]) -> tuple[str, Iterable[tuple[str, str]]]:
    """Return what is half typed, and all that may stand there, each with what it is."""
    if (command := _COMMAND.match(before)) is not None:
        return command[1], ((name, known.does) for name, known in COMMANDS.items())
    if (argument := _ARGUMENT.match(before)) is not None:
        typed, (name, blank, value) = argument[2], argument[2].partition(" ")
        if argument[1] in ("load", "save"):
            return typed, (
                (path, "file") for path in files(typed, PROGRAMS) if inert_lines(path) == path
            )
        if argument[1] == "set":
            return (
                (value, ((each, "") for each in CHOICES.get(name, ())))
                if blank
                else (typed, ((f"{each} ", "") for each in CHOICES))
            )
        if argument[1] == "help":
            topics = (*functions_by_name(), *codes(), *(f":{name}" for name in COMMANDS))
            return typed, ((each, "") for each in topics)
    if (data := _DATA.search(before)) is not None:
        return data[1], (
            (path, "file")
            for path in files(data[1], DATA)
            if inert_lines(path) == path and " " not in path
        )
    dotted = _DOTTED.search(before)
    prefix, start = ("", "") if dotted is None else dotted.groups()
    if prefix:
        return start, ((name, "") for name in sorted(names_below(prefix)))
    own = ((name, "name") for name in sorted(names))
    roots = ((f"{root}.", "library") for root in sorted(ROOTS))
    return start, (
        *own,
        *sorted(functions_by_name().items()),
        *((word, "") for word in _WORDS),
        *roots,
    ) if start else ()


def names_below(prefix: str) -> Iterable[str]:
    """Return the functions that may be written below a prefix such as "np." or "F."."""
    try:
        path = canonical(prefix.removesuffix("."))
    except KeyError:
        return ()
    return (
        name
        for name in functions_by_name()
        if has(path, name) and (path != "numpy.linalg" or hasattr(np.linalg, name))
    )


# -- Offers as prompt_toolkit shows them ---------------------------------------------------------


_MOST_OFFERS = 500


class Completing(Completer):
    """Completes by the names that the session has at the moment."""

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self.names = names

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        for number, offer in enumerate(offers(document.text_before_cursor, self.names())):
            if number == _MOST_OFFERS:
                return
            yield Completion(offer.text, start_position=-offer.replaces, display_meta=offer.meta)


_STYLE = Style.from_dict({"prompt": "bold ansicyan", "more": "ansibrightblack"})
_ENDS = frozenset({"quit", "exit", "quit()", "exit()"})


def make_prompt(
    session: Session, history: Path | None, styled: bool, **streams: Any
) -> PromptSession[str]:
    """Return what reads from the terminal, or from the streams of a test."""
    return PromptSession(
        history=InMemoryHistory() if history is None else FileHistory(str(history)),
        completer=Completing(session.known_names), complete_while_typing=False,
        style=_STYLE if styled else None, color_depth=None if styled else ColorDepth.DEPTH_1_BIT, multiline=True,
        key_bindings=keys(session.known_names), enable_open_in_editor=False,
        prompt_continuation=lambda width, number, soft: FormattedText([("class:more", ("" if soft else "...").ljust(width))]), **streams,
    )  # fmt: skip


def keys(names: Any) -> KeyBindings:
    """Enter submits what is complete; Alt-Enter begins a line.

    Tab completes, and indents where nothing is to be completed.
    """
    bindings = KeyBindings()

    @bindings.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        offered, buffer.complete_state = buffer.complete_state, None
        if offered is not None and offered.current_completion is not None:
            return  # it is chosen
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
        document = buffer.document
        if not document.current_line_before_cursor.strip():
            buffer.insert_text("    ")
            return
        found = [*offers(document.text_before_cursor, names())]
        exact = (
            bool(found)
            and document.text_before_cursor.endswith(found[0].meta)
            and found[0].meta.startswith("\\")
        )
        if len(found) == 1 or exact:
            buffer.delete_before_cursor(found[0].replaces)
            buffer.insert_text(found[0].text)
        elif found:
            buffer.start_completion(select_first=False, insert_common_part=True)

    return bindings


def talk(session: Session, history: Path | None, **streams: Any) -> int:
    """Read, compute and show until the end; the exit code is that of a session, whose mistakes are
    told where they are made.
    """
    reader = make_prompt(session, history, is_styled(session.settings.color), **streams)
    warming = threading.Thread(target=_warm, args=(session.settings.check,), daemon=True)
    warming.start()
    while not session.ends:
        try:
            text = reader.prompt(FormattedText([("class:prompt", f"{session.line + 1}> ")]))
            word = text.strip()
            if (word in _ENDS and word not in session.known_names()) or word in ("help", "?"):
                text = ":quit" if word in _ENDS else ":help"
            if word:
                # two threads that import modules which import each other may see half of one
                warming.join()
                session.feed(text)
        except KeyboardInterrupt:
            continue  # what was typed is dropped, as in a shell
        except EOFError:
            break
    return FINE


def _warm(check: bool) -> None:
    """Import what the first Tab and the first line need, while something is typed."""
    functions_by_name()
    if check:
        import_module("gradcli.check.crosscheck")
