"""The command ``gradcli repl``, with the commands of a session.

It is a session on a terminal; otherwise lines of standard input are answered when they are
complete. The commands of a session are a table of names and functions with their help.

Commands of a session that are also commands of gradcli run the latter.
"""

from __future__ import annotations

import io
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from gradcli.cli import process
from gradcli.cli.commands import ReplRequest
from gradcli.cli.process import FINE, put_rows, put_text, somebody_types
from gradcli.cli.repl.session import Session, is_complete
from gradcli.errors import UsageError
from gradcli.files.stores import lines_of
from gradcli.limits import DEFAULT
from gradcli.report.explanation import short
from gradcli.storage import version_of, write_whole
from gradcli.texts import in_columns, open_brackets, suggestion


def converse(request: ReplRequest) -> int:
    """Converse on a terminal, or else answer lines of standard input as they come.

    In the latter case the exit code is the highest one of the lines. Raises UsageError.
    """
    session = Session(run_command, request)
    first = [] if request.file is None else [f":load {request.file}"]
    if somebody_types():
        from gradcli.cli.repl.prompt import history_file, talk

        put_rows(f"gradcli {version_of('gradcli')}   :help lists commands, Ctrl-D leaves")
        with process.staying():
            for text in first:
                session.feed(text)
            return talk(session, history_file() if request.history else None, COMMANDS)
    code = FINE
    for texts in (first, inputs()):
        for text in texts:
            code = max(code, session.feed(text))
            if session.ends:
                return code
    return code


def inputs() -> Iterator[str]:
    """Return what is typed, piece by piece: lines that go on are one."""
    pending = ""
    for line in lines_of("-", DEFAULT.length):
        pending += line
        if not pending.strip():
            pending = ""
        elif is_complete(pending.removesuffix("\n")):
            yield pending
            pending = ""
    if pending.strip():
        yield pending


# -- Commands of gradcli's own in a session: an expression that sees the session's names, and
# arguments, as on the command line.


_NAME = re.compile(r"[^\W\d]\w*")
# where arguments begin after an expression
_BEGIN = re.compile(r"\s(?=(?:[^\W\d]\w*=(?!=)\S|--[a-z]|-[a-z]\s))")


def pass_on(name: str, *added: str) -> Callable[[Session, str], int]:
    """Return a command of gradcli, on an expression that sees the session's names."""

    def run(session: Session, text: str) -> int:
        expression, *arguments = split(name, text)
        return call(session, [name, expression or _last_query(session), *arguments, *added])

    return run


def _last_query(session: Session) -> str:
    if session.query is None:
        raise UsageError("there is no query before", help="type an expression: x**2")
    return session.query


def call(session: Session, words: list[str]) -> int:
    """Run a command of gradcli with the session's bindings as its program. Raises GradcliError."""
    for option, value in session.request.given_options("dialect color limit"):
        for each in [value] if isinstance(value, str) else value:
            words += [option, each]
    if not session.request.check and words[0] in ("explain", "diff"):
        words.append("--no-check")
    # The last query may contain "_" for the one before it, so the "_" that stands for the last one
    # is left out.
    passed = session.last if words[1] == session.query else None
    if words[1].isidentifier():  # else it would be read as a name to differentiate by
        words[1] = f"({words[1]})"
    bindings = session.text(lambda entry: entry.binds and entry is not passed)
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(bindings.encode("utf-8", "surrogateescape")), "utf-8")
    try:
        return _run([*words, "-f", "-"], **({"only_last": True} if words[0] == "diff" else {}))
    finally:
        sys.stdin = before


def _run(words: list[str], **how: Any) -> int:
    """Run a command of gradcli as it is typed."""
    from gradcli.cli.main import app

    command: Any = process.command_of(lambda **framework: app(words, **framework))
    return command if isinstance(command, int) else command(**how)


def split(name: str, text: str) -> list[str]:
    """Split a command into its expression, which need not be quoted, and its arguments.

    Arguments begin with the first NAME=VALUE or option. In `diff`, names that stand in the first
    word may follow it.
    """
    places = (max(0, found.start()) for found in _BEGIN.finditer(f" {text}"))
    # Axis=0 inside a call is not an argument of ours.
    cut = next((place for place in places if open_brackets(text[:place]) <= 0), len(text))
    try:
        if name == "diff":
            first, *names = text[:cut].split() or [""]
            if first[:1] in "'\"":
                return shlex.split(text) or [""]
            if set(names) <= set(_NAME.findall(first)):
                return [first, *names, *shlex.split(text[cut:])]
        return [text[:cut].strip(), *shlex.split(text[cut:])]
    except ValueError:
        raise UsageError("a quote is not closed", help='quote primes: "f\'(x)"') from None


class Command(NamedTuple):
    """Arguments that a command takes, and its work."""

    takes: str
    does: str
    run: Callable[[Session, str], int | None]


def run_command(session: Session, text: str) -> int | None:
    """Run ``:name rest``. Raises GradcliError."""
    name, _, rest = text[1:].strip().partition(" ")
    if name not in COMMANDS:
        close = suggestion(name, [*COMMANDS], cutoff=0.6)
        raise UsageError(
            f"no such command: :{name}",
            help=f"did you mean :{close}?" if close else ":help lists the commands",
        )
    return COMMANDS[name].run(session, rest.strip())


def _why(session: Session, text: str) -> int:
    return call(session, ["explain", _last_query(session), "--why", text or "value"])


def _save(session: Session, text: str) -> None:

    program = session.text()
    if not program or not text:
        raise UsageError("nothing has run yet that could be saved, or no file is named")
    write_whole(Path(text).expanduser(), program.encode("utf-8", "surrogateescape"))
    put_text(f"{len(session.entries)} statements in {text}\n")


def _load(session: Session, text: str) -> int:
    return session.run_lines("".join(lines_of(str(Path(text).expanduser()), DEFAULT.length)))


def _vars(session: Session, text: str) -> None:
    scope = session.program().scope
    rows = [
        *((name, short(value, None) or "(waits)") for name, value in session.names().items()),
        *((name, made.text.strip().partition("\n")[0]) for name, made in scope.functions.items()),
        *((name, type(bound.object).__name__) for name, bound in scope.objects.items()),
    ]
    put_text("\n".join([*in_columns(rows, "  "), ""]) or "no names yet\n")


def _help(session: Session, text: str) -> int:
    if text:
        return _run(["help", "--", text])
    rows = {f":{name} {command.takes}".rstrip(): command.does for name, command in COMMANDS.items()}
    put_rows("\n".join([_INTRODUCTION, "", *in_columns(rows.items(), "  ")]))
    return FINE


def _quit(session: Session, text: str) -> None:
    session.ends = True


_INTRODUCTION = (
    "An expression gives its value and gradient; x = 2 binds a name, const k = 3 one that is not "
    "differentiated, "
    "f(x) = x^2 defines a function, x = @data.npy reads a file; _ is the last result. Lines go on "
    "while a bracket is open. "
    "\\alpha and Tab give α; Tab completes. Ctrl-C ends a computation, Ctrl-D the session."
)

COMMANDS: dict[str, Command] = {
    "explain": Command(
        "[EXPR] [--wrt …]", "where value and gradient come from, node by node", pass_on("explain")
    ),
    "why": Command("NAME[INDEX]", "why an entry of the last gradient is what it is", _why),
    "steps": Command("[EXPR]", "the derivative rule by rule", pass_on("explain", "--steps")),
    "diff": Command("[EXPR] [NAME…]", "the derivative as a formula", pass_on("diff")),
    "plot": Command("[EXPR] x=A..B", "value and derivative over a range", pass_on("plot")),
    "bound": Command("[EXPR] x=A..B", "ranges of value and gradient over a box", pass_on("bound")),
    "export": Command(
        "[EXPR] --to LANGUAGE",
        "value and gradient as a function in another language",
        pass_on("export"),
    ),
    "vars": Command("", "the names, and what they stand for", _vars),
    "save": Command(
        "FILE.grad", "write the session as a program, which gradcli eval -f runs", _save
    ),
    "load": Command("FILE.grad", "run a file's lines here", _load),
    "reset": Command("", "forget all names", lambda session, _: session.reset()),
    "help": Command("[NAME|CODE]", "this, a function, an error's code", _help),
    "quit": Command("", "leave, as Ctrl-D", _quit),
}
