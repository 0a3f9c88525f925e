"""What a shell offers on Tab: words of options, names of the expression that lack a value, files of data, and functions.

The shell asks by an environment variable; then alone is this module imported.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from gradcli.cli.request import COMMANDS
from gradcli.inert import is_one_word

DATA = (".npy", ".npz", ".csv", ".tsv", ".txt", ".dat", ".json")
PROGRAMS = (".grad", ".jsonl", ".ndjson")
_NAMES = ("wrt", "freeze")  # options that take names, between commas
_BOUND = ("jvp", "hvp", "grad", "grad_formula", "save")  # options that take NAME=...
_FILES = ("file", "files", "config", "baseline")


def prepare(command: Any) -> None:
    """Let the parameters of a command offer what is known of them."""
    for param in command.params:
        if param.name in ("arguments", "words", "word", *_FILES, *_NAMES, *_BOUND) or "|" in (param.metavar or ""):
            param._custom_shell_complete = _offer
    parse = command.parse_args
    open_ended = {name for param in command.params if not getattr(param, "is_flag", False) for name in param.opts if name.startswith("-")}

    def parse_args(context: Any, args: list[str]) -> Any:
        """Return what is typed so far, without an option whose value is just being typed: it would take the rest with it."""
        return parse(context, args[:-1] if args and args[-1] in open_ended else args)

    command.parse_args = parse_args


def _offer(context: Any, param: Any, incomplete: str) -> list[str]:
    """Return what may stand in the place of a half typed word."""
    typed = [str(word) for word in context.params.get("arguments") or ()]
    if incomplete in ("=@", "="):  # bash cuts x=@data at "=" and "@", and takes the place of the last piece only
        found: Iterable[str] = files("", DATA) if incomplete == "=@" else ()
    elif typed[-1:] == ["=@"] or (typed[-1:] == ["="] and incomplete.startswith("@")):
        found = files(incomplete.removeprefix("@"), DATA, before=incomplete[:1] if incomplete.startswith("@") else "")
    else:
        found = [word for word in _offered(context, param, incomplete, typed) if word.startswith(incomplete)]
    return [word for word in found if is_one_word(word)]  # names of files may say what a shell, put into its line, would do


def _offered(context: Any, param: Any, incomplete: str, typed: list[str]) -> Iterable[str]:
    """Return all that an option or argument may be."""
    before, comma, _ = incomplete.rpartition(",")
    if param.name in _FILES:
        return files(incomplete, ("",))
    if param.name in _NAMES:
        return [before + comma + name for name in _names_of(context, typed)]
    if param.name in _BOUND:
        return [] if "=" in incomplete else [f"{name}=" for name in _names_of(context, typed)]
    if param.name in ("words", "word"):
        from gradcli.query import catalogue
        from gradcli.report.rules import RULES

        named = [name for _, record in catalogue.functions() for name in (record.name, *record.aliases)]
        return named if param.name == "words" else [*(name.removeprefix("error-") for name in RULES), *COMMANDS, *named]
    if param.name != "arguments":
        return str(param.metavar).split("|")
    name, equals, value = incomplete.partition("=")
    if equals:
        return files(value[1:], DATA, before=f"{name}=@") if value.startswith("@") else [f"{name}=@"] if not value else []
    given = {word.partition("=")[0] for word in typed if "=" in word}
    programs = files(incomplete, PROGRAMS) if context.command.name == "check" else ()
    return [*(name + end for name in _names_of(context, typed) if name not in given for end in ("=", "=@")), *programs]


def _names_of(context: Any, typed: list[str]) -> list[str]:
    """Return the names of the expression that it does not bind itself; none where it cannot be read."""
    from gradcli.cli.inputs import BINDING
    from gradcli.errors import text_lines
    from gradcli.language.run import statements
    from gradcli.ops.constants import NAMED
    from gradcli.ops.registry import registry
    from gradcli.query.unused_names import names_among

    texts = [context.params.get("expression"), *(word for word in typed if not BINDING.match(word))]
    text = str(next(filter(None, texts), ""))
    bound, mentioned = names_among(list(statements(text_lines(text))))
    return [name for name in sorted(mentioned - bound - NAMED.keys() - {"None"}) if name not in registry() or f"{name}(" not in text]


def files(typed: str, suffixes: tuple[str, ...], before: str = "") -> Iterator[str]:
    """Yield files of these kinds, and the folders that lead to them, as they would be typed on."""
    folder, slash, start = typed.rpartition("/")
    try:
        entries = sorted(os.scandir(folder + slash or "."), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        hidden = entry.name.startswith(".") and not start.startswith(".")
        if entry.name.startswith(start) and not hidden and (entry.is_dir() or entry.name.lower().endswith(suffixes)):
            yield f"{before}{folder}{slash}{entry.name}{'/' if entry.is_dir() else ''}"
