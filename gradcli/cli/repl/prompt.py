"""The prompt on a terminal: Python's own, with readline's history and completion where there is one; what is typed is fed to a session."""

from __future__ import annotations

import os
import re
import threading
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from gradcli.cli.completion import DATA, PROGRAMS, files
from gradcli.cli.exit_codes import FINE
from gradcli.cli.repl.commands import CHOICES, COMMANDS, is_complete
from gradcli.cli.repl.session import Session
from gradcli.cli.write.results import put
from gradcli.inert import shown
from gradcli.notation import GREEK
from gradcli.ops.calling.prefixes import ROOTS, canonical, has
from gradcli.report.rules import RULES
from gradcli.storage.cache import folder, make_private

readline: Any
try:
    import readline
except ImportError:  # as on Windows, whose terminals keep their own history
    readline = None

# -- What has been typed before, in a file of the user's that nobody else can read -----------------


def history_file() -> Path | None:
    """Return where it is kept, made if it was not there; None where the user has no folder, or may not write there."""
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
_ARGUMENT = re.compile(r"\s*:(load|save|set|help)\s+(.*)\Z", re.DOTALL)
_LETTER = re.compile(r"\\(\^?\w*)\Z")
_DATA = re.compile(r"@([^\s;@]*)\Z")
_DOTTED = re.compile(r"((?:[^\W\d]\w*\.)*)((?:[^\W\d]\w*)?)\Z")
_WORDS = ("const", "assert", "import", "from", "def", "lambda")


def offers(before: str, names: Iterable[str] = ()) -> tuple[int, list[str]]:
    """Return how many characters at the end of a text are half typed, and what may take their place."""
    if (letter := _LETTER.search(before)) is not None:
        typed, fitting = letter[0], [name for name in sorted(LETTERS, key=str.lower) if name.startswith(letter[1])]
        is_meant = letter[1] in LETTERS or len(fitting) == 1
        return len(typed), [LETTERS[letter[1] if letter[1] in LETTERS else fitting[0]]] if is_meant else [f"\\{name}" for name in fitting]
    typed, found = _candidates(before, names)
    return len(typed), list(dict.fromkeys(text for text in found if text.startswith(typed)))


def _candidates(before: str, names: Iterable[str]) -> tuple[str, Iterable[str]]:
    """Return what is half typed, and all that may stand there."""
    if not before.strip():
        return "", ["    "]
    if (command := _COMMAND.match(before)) is not None:
        return command[1], COMMANDS
    if (argument := _ARGUMENT.match(before)) is not None:
        typed, (name, blank, value) = argument[2], argument[2].partition(" ")
        if argument[1] in ("load", "save"):
            return typed, (path for path in files(typed, PROGRAMS) if shown(path) == path)
        if argument[1] == "set":
            return (value, CHOICES.get(name, ())) if blank else (typed, (f"{each} " for each in CHOICES))
        return typed, (*functions(), *(code.removeprefix("error-") for code in RULES), *(f":{name}" for name in COMMANDS))
    if (data := _DATA.search(before)) is not None:
        return data[1], (path for path in files(data[1], DATA) if shown(path) == path and " " not in path)
    dotted = _DOTTED.search(before)
    prefix, start = ("", "") if dotted is None else dotted.groups()
    if prefix:
        return start, names_below(prefix)
    return start, (*sorted(names), *functions(), *_WORDS, *(f"{root}." for root in sorted(ROOTS))) if start else ()


@cache
def functions() -> list[str]:
    """All functions, by each of their names."""
    from gradcli.query import catalogue

    return sorted({name for _, record in catalogue.functions() for name in (record.name, *record.aliases)})


def names_below(prefix: str) -> list[str]:
    """Return the functions that may be written below a prefix such as "np." or "F."."""
    try:
        path = canonical(prefix.removesuffix("."))
    except KeyError:
        return []
    return [name for name in functions() if has(path, name) and (path != "numpy.linalg" or hasattr(np.linalg, name))]


# -- Reading lines ---------------------------------------------------------------------------------


_ENDS = frozenset({"quit", "exit", "quit()", "exit()"})
_MOST = 10_000  # lines of the history


def prepare(session: Session, history: Path | None) -> None:
    """Let readline complete by the names that the session has at the moment, and know what was typed before."""
    readline.parse_and_bind("bind ^I rl_complete" if "libedit" in (readline.__doc__ or "") else "tab: complete")
    readline.set_completer_delims(" \t\n")

    def complete(word: str, number: int) -> str | None:
        before = readline.get_line_buffer()[: readline.get_endidx()]
        typed, found = offers(before, session.known())
        return word[: len(word) - typed] + found[number] if number < len(found) else None

    readline.set_completer(complete)
    readline.set_history_length(_MOST)
    readline.clear_history()
    if history is not None:
        with suppress(OSError):  # it is of another program
            readline.read_history_file(history)


def read(number: int) -> str:
    """Return what is typed up to where it is complete, from a prompt with a number on."""
    prompt = f"{number}> "
    text = input(prompt)
    while text.strip() and not is_complete(text):
        text += "\n" + input("...".ljust(len(prompt)))
    return text


def talk(session: Session, history: Path | None) -> int:
    """Read, compute and show until the end; the exit code is that of a session, whose mistakes are told where they are made."""
    if readline is not None:
        prepare(session, history)
    warming = threading.Thread(target=_warm, args=(session.settings.check,), daemon=True)
    warming.start()
    while not session.ends:
        try:
            text = read(session.line + 1)
            word = text.strip()
            if (word in _ENDS and word not in session.known()) or word in ("help", "?"):
                text = ":quit" if word in _ENDS else ":help"
            if word:
                warming.join()  # two threads that import modules which import each other may see half of one
                session.feed(text)
        except KeyboardInterrupt:
            put("\n")  # what was typed is dropped, as in a shell
        except EOFError:
            put("\n")
            break
        if readline is not None and history is not None:
            with suppress(OSError):
                readline.write_history_file(history)
    return FINE


def _warm(check: bool) -> None:
    """Import what the first Tab and the first line need, while something is typed."""
    functions()
    if check:
        import_module("gradcli.check.crosscheck")
