"""Completion in a shell, on Tab: words of options, files of programs and data, functions, codes and
commands.

The shell asks by an environment variable; then alone is this module imported.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from gradcli.cli.request import COMMANDS
from gradcli.inert import is_one_word

DATA = (".npy", ".npz", ".csv", ".tsv", ".txt", ".dat", ".json")
PROGRAMS = (".grad", ".jsonl", ".ndjson")
_FILES = ("file", "files", "config", "baseline")


def prepare(command: Any) -> None:
    """Let the parameters of a command offer what is known of them."""
    for param in command.params:
        if param.name in ("arguments", "words", "word", *_FILES) or "|" in (param.metavar or ""):
            param._custom_shell_complete = _offer
    parse = command.parse_args
    open_ended = {
        name
        for param in command.params
        if not getattr(param, "is_flag", False)
        for name in param.opts
        if name.startswith("-")
    }

    def parse_args(context: Any, args: list[str]) -> Any:
        """Return what is typed so far, without an option whose value is just being typed: it would
        take the rest with it.
        """
        return parse(context, args[:-1] if args and args[-1] in open_ended else args)

    command.parse_args = parse_args


def _offer(context: Any, param: Any, incomplete: str) -> list[str]:
    """Return what may stand in the place of a half typed word."""
    offered = _complete(param, incomplete)
    return [
        word for word in offered if is_one_word(word)
    ]  # names of files may say what a shell, put into its line, would do


def _complete(param: Any, incomplete: str) -> Iterable[str]:
    if param.name in _FILES:
        return files(incomplete, ("",))
    if param.name == "arguments":
        name, at, typed = incomplete.rpartition("@")
        return files(
            typed, DATA if at else (*DATA, *PROGRAMS), before="" if name == "=" else name + at
        )  # bash cuts x=@data at "="
    words: Iterable[str] = str(param.metavar).split("|")
    if param.name == "words":
        words = functions_by_name()
    elif param.name == "word":
        words = [*codes(), *COMMANDS, *functions_by_name()]
    return [word for word in words if word.startswith(incomplete)]


@cache
def functions_by_name() -> dict[str, str]:
    """All functions, by each of their names, with what they are."""
    from gradcli.query import catalogue

    return {
        name: catalogue.summary(record)
        for _, record in catalogue.functions()
        for name in (record.name, *record.aliases)
    }


def codes() -> list[str]:
    """The codes that `gradcli help` explains."""
    from gradcli.report.rules import RULES

    return [name.removeprefix("error-") for name in RULES]


def files(typed: str, suffixes: tuple[str, ...], before: str = "") -> Iterator[str]:
    """Yield files of these kinds, and the folders that lead to them, as they would be typed on."""
    folder, slash, start = typed.rpartition("/")
    try:
        entries = sorted(os.scandir(folder + slash or "."), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        hidden = entry.name.startswith(".") and not start.startswith(".")
        if (
            entry.name.startswith(start)
            and not hidden
            and (entry.is_dir() or entry.name.lower().endswith(suffixes))
        ):
            yield f"{before}{folder}{slash}{entry.name}{'/' if entry.is_dir() else ''}"
