"""What a shell offers on Tab: words of options, names of the expression that lack a value, files of data, and functions.

The shell asks by an environment variable; then alone is this module imported.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from gradcli.inert import is_one_word

DATA = (".npy", ".npz", ".csv", ".tsv", ".txt", ".dat", ".json")
PROGRAMS = (".grad", ".jsonl", ".ndjson")
_NAMES = ("wrt", "freeze")  # options that take names, between commas
_BOUND = ("jvp", "hvp", "grad", "grad_formula", "save")  # options that take NAME=...


def prepare(command: Any) -> None:
    """Let the parameters of a command offer what is known of them."""
    for param in command.params:
        if param.name in _OFFERS or "|" in (param.metavar or ""):
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
    found = _cut_off(typed, incomplete)
    if found is None:
        offer = _OFFERS.get(param.name)
        offered = offer(context, incomplete) if offer is not None else param.metavar.split("|")
        found = [word for word in offered if word.startswith(incomplete)]
    return [word for word in found if is_one_word(word)]  # names of files may say what a shell, put into its line, would do


def _cut_off(typed: list[str], incomplete: str) -> Iterable[str] | None:
    """Files for what bash hands over of ``x=@data``: it cuts words at "=" and "@", and takes the place of the last piece only."""
    if incomplete in ("=@", "="):
        return files("", DATA) if incomplete == "=@" else ()
    if typed and typed[-1] == "=@":
        return files(incomplete, DATA)
    return files(incomplete[1:], DATA, before="@") if typed and typed[-1] == "=" and incomplete.startswith("@") else None


def _positionals(context: Any, incomplete: str) -> Iterable[str]:
    """Bindings of the names that an expression has, and files for them; of ``check``, programs and records."""
    name, equals, value = incomplete.partition("=")
    if equals:
        return files(value[1:], DATA, before=f"{name}=@") if value.startswith("@") else [f"{name}=@"] if not value else []
    names = _unbound(context, [str(word) for word in context.params.get("arguments") or ()])
    programs = files(incomplete, PROGRAMS) if context.command.name == "check" else ()
    return [*(name + end for name in names for end in ("=", "=@")), *programs]


def _unbound(context: Any, typed: list[str]) -> list[str]:
    """The names of the expression without a value so far; none where it cannot be read."""
    from gradcli.cli.inputs.positionals import BINDING

    expressions = [context.params.get("expression"), *(word for word in typed if not BINDING.match(word))]
    given = {word.partition("=")[0] for word in typed if "=" in word}
    return [name for name in _names_of([text for text in expressions if text]) if name not in given]


def _names_of(texts: list[str]) -> list[str]:
    from gradcli.errors import text_lines
    from gradcli.language.run import statements
    from gradcli.ops.constants import NAMED
    from gradcli.ops.registry import registry
    from gradcli.query.unused_names import names_among

    found: dict[str, None] = {}
    for text in texts[:1]:
        bound, mentioned = names_among(list(statements(text_lines(text))))
        names = sorted(mentioned - bound - NAMED.keys() - {"None"})
        found |= dict.fromkeys(name for name in names if name not in registry() or f"{name}(" not in text)
    return list(found)


def _listed_names(context: Any, incomplete: str) -> Iterator[str]:
    """Names after the last comma."""
    before, comma, _ = incomplete.rpartition(",")
    texts = [context.params.get("expression"), *(context.params.get("arguments") or ())]
    for name in _names_of([str(text) for text in texts if text]):
        yield before + comma + name


def _bound_names(context: Any, incomplete: str) -> Iterator[str]:
    if "=" not in incomplete:
        yield from (f"{name}=" for name in _listed_names(context, ""))


def _functions(context: Any, incomplete: str) -> Iterator[str]:
    from gradcli.query import catalogue

    for _, record in catalogue.functions():
        yield from (record.name, *record.aliases)


def _codes(context: Any, incomplete: str) -> Iterator[str]:
    from gradcli.report.rules import RULES

    yield from (name.removeprefix("error-") for name in RULES)


def _any_file(context: Any, incomplete: str) -> Iterable[str]:
    return files(incomplete, ("",))


def files(typed: str, suffixes: tuple[str, ...], before: str = "") -> Iterator[str]:
    """Files of these kinds, and the folders that lead to them, as they would be typed on."""
    folder, slash, start = typed.rpartition("/")
    try:
        entries = sorted(os.scandir(folder + slash or "."), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        hidden = entry.name.startswith(".") and not start.startswith(".")
        if entry.name.startswith(start) and not hidden and (entry.is_dir() or entry.name.lower().endswith(suffixes)):
            yield f"{before}{folder}{slash}{entry.name}{'/' if entry.is_dir() else ''}"


_OFFERS: dict[str, Any] = {
    "arguments": _positionals, "words": _functions, "code": _codes,
    **dict.fromkeys(("file", "files", "config", "baseline"), _any_file),
    **dict.fromkeys(_NAMES, _listed_names), **dict.fromkeys(_BOUND, _bound_names),
}  # fmt: skip
