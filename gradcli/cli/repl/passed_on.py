"""Commands of gradcli's own in a session: an expression that sees the session's names, and arguments, as on the command line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gradcli.cli.repl.transcript import mentions_last, without_last
from gradcli.errors import UsageError

if TYPE_CHECKING:
    from gradcli.cli.repl.session import Session

_BEGIN = re.compile(r"\s(?=(?:[^\W\d]\w*=(?!=)\S|--[a-z]|-[a-z]\s))")  # where arguments begin after an expression
_NAME = re.compile(r"[^\W\d]\w*,?\Z")


def passed(name: str, *added: str) -> Callable[[Session, str], int | None]:
    """A command of gradcli, on an expression that sees the session's names."""

    def run(session: Session, text: str) -> int | None:
        expression, arguments = split(name, text)
        if not expression:
            if session.transcript.query is None:
                raise UsageError("there is no expression, and no query before", help=f":{name} x**2")
            expression = session.transcript.query
        elif mentions_last(expression):
            if session.transcript.last is None:
                raise UsageError("there is no last result, which '_' stands for", help="type an expression first")
            expression = without_last(expression, session.transcript.last)
        return call(session, [name, expression, *arguments, *(word for word in added if word not in arguments)])

    return run


def call(session: Session, words: list[str]) -> int:
    """Run a command of gradcli with the session's bindings as its program. Raises GradcliError."""
    from gradcli.cli.exit_codes import asked
    from gradcli.cli.main import app
    from gradcli.cli.repl.captured import typed

    transcript = session.transcript
    settings = transcript.settings
    bindings = transcript.bindings()
    if bindings:
        words = [*words, "-f", "-"]
    if settings.dialect is not None and "--dialect" not in words:
        words += ["--dialect", settings.dialect]
    if not settings.check and words[0] in ("explain", "diff") and not {"--check", "--no-check"} & {*words}:
        words.append("--no-check")
    for each in settings.limit:
        words += ["--limit", each]
    if settings.color != "auto" and not {"--format", "--color"} & {*words}:
        words += ["--color", settings.color]
    with typed(bindings):
        command: Any = asked(lambda **how: app(words, **how))
        if isinstance(command, int):
            return command
        code: int = command(only_last=True) if words[0] == "diff" else command()
        return code


def split(name: str, text: str) -> tuple[str, list[str]]:
    """The expression of a command, which need not be quoted, and its arguments: what follows from the first NAME=VALUE or option on."""
    text = text.strip()
    if text[:1] in ("'", '"'):
        try:
            expression, *arguments = shlex.split(text)
        except ValueError:
            raise UsageError("a quote is not closed", help="an expression need not be quoted here") from None
        return expression, arguments
    places = (max(0, found.start()) for found in _BEGIN.finditer(" " + text))
    cut = next((place for place in places if _is_closed(text[:place])), len(text))  # axis=0 in a call is no argument of ours
    expression, rest = text[:cut].strip(), text[cut:]
    try:
        arguments = shlex.split(rest)
    except ValueError:
        raise UsageError("a quote is not closed") from None
    first, *names = expression.split(" ")
    if name == "diff" and names and all(_NAME.match(word) for word in names) and not first.isidentifier():
        return first, [*(word.rstrip(",") for word in names), *arguments]  # as after the first word on the command line
    return expression, arguments


def _is_closed(text: str) -> bool:
    return text.count("(") + text.count("[") <= text.count(")") + text.count("]")
