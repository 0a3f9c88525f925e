"""The commands of a session, a table of names and functions with their help.

Commands that gradcli has as commands of its own are these.
"""

from __future__ import annotations

import io
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from gradcli.cli.exit_codes import FINE, command_of
from gradcli.cli.repl.session import Session, Settings, State
from gradcli.cli.write.results import put_rows, put_text
from gradcli.errors import UsageError, one_of, suggestion
from gradcli.files.option_table import option_value
from gradcli.files.stores import lines_of
from gradcli.inert import inert_lines, pad
from gradcli.language.python_hints import is_head
from gradcli.limits import DEFAULT

# -- Commands of gradcli's own in a session: an expression that sees the session's names, and
# arguments, as on the command line.


_BEGIN = re.compile(
    r"\s(?=(?:[^\W\d]\w*=(?!=)\S|--[a-z]|-[a-z]\s))"
)  # where arguments begin after an expression
_NAME = re.compile(r"[^\W\d]\w*,?\Z")


def pass_on(name: str, *added: str) -> Callable[[Session, str], int | None]:
    """Return a command of gradcli, on an expression that sees the session's names."""

    def run(session: Session, text: str) -> int | None:
        expression, arguments = split(name, text)
        if not expression and session.state.query is None:
            raise UsageError("there is no expression, and no query before", help=f":{name} x**2")
        expression = session.state.without_last(expression) or str(session.state.query)
        return call(
            session,
            [name, expression, *arguments, *(word for word in added if word not in arguments)],
        )

    return run


def call(session: Session, words: list[str]) -> int:
    """Run a command of gradcli with the session's bindings as its program. Raises GradcliError."""
    settings = session.settings
    if settings.dialect is not None and "--dialect" not in words:
        words += ["--dialect", settings.dialect]
    if (
        not settings.check
        and words[0] in ("explain", "diff")
        and not {"--check", "--no-check"} & {*words}
    ):
        words.append("--no-check")
    for each in settings.limit:
        words += ["--limit", each]
    if settings.color != "auto" and not {"--format", "--color"} & {*words}:
        words += ["--color", settings.color]
    bindings = session.state.program(lambda entry: entry.counts and entry.binds)
    before = sys.stdin
    if bindings:
        words += ["-f", "-"]
        sys.stdin = io.TextIOWrapper(
            io.BytesIO(bindings.encode("utf-8", "surrogateescape")), "utf-8"
        )
    try:
        return _run(words, **({"only_last": True} if words[0] == "diff" else {}))
    finally:
        sys.stdin = before


def _run(words: list[str], **how: Any) -> int:
    """Run a command of gradcli as it is typed."""
    from gradcli.cli.main import app

    command: Any = command_of(lambda **framework: app(words, **framework))
    code: int = command if isinstance(command, int) else command(**how)
    return code


def split(name: str, text: str) -> tuple[str, list[str]]:
    """The expression of a command, which need not be quoted, and its arguments: what follows from
    the first NAME=VALUE or option on.
    """
    text = text.strip()
    if text[:1] in ("'", '"'):
        expression, *arguments = _words(text, "an expression need not be quoted here")
        return expression, arguments
    places = (max(0, found.start()) for found in _BEGIN.finditer(" " + text))
    cut = next(
        (place for place in places if _is_closed(text[:place])), len(text)
    )  # axis=0 in a call is no argument of ours
    expression, arguments = text[:cut].strip(), _words(text[cut:])
    first, *names = expression.split(" ")
    if (
        name == "diff"
        and names
        and all(_NAME.match(word) for word in names)
        and not first.isidentifier()
    ):
        return first, [
            *(word.rstrip(",") for word in names),
            *arguments,
        ]  # as after the first word on the command line
    return expression, arguments


def _words(text: str, help: str | None = None) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        raise UsageError("a quote is not closed", help=help) from None


def _is_closed(text: str) -> bool:
    return text.count("(") + text.count("[") <= text.count(")") + text.count("]")


class Command(NamedTuple):
    """Arguments that a command takes, and its work."""

    takes: str
    does: str
    run: Callable[[Session, str], int | None]


def run_command(session: Session, text: str) -> int | None:
    """Run ``:name rest``. Raises GradcliError."""
    name, _, rest = text[1:].strip().partition(" ")
    if not name:
        return _help(session, "")
    found = COMMANDS.get({"q": "quit", "exit": "quit", "h": "help", "?": "help"}.get(name, name))
    if found is None:
        close = suggestion(name, [*COMMANDS], cutoff=0.6) or next(
            (known for known in COMMANDS if known.startswith(name)), None
        )
        raise UsageError(
            f"no such command: :{name}",
            help=f"did you mean :{close}?" if close else ":help lists the commands",
        )
    return found.run(session, rest.strip())


def _why(session: Session, text: str) -> int:
    if session.state.query is None:
        raise UsageError(
            "there is no query yet, of which to say why", help="type an expression first"
        )
    return call(session, ["explain", session.state.query, "--why", text or "value"])


def _save(session: Session, text: str) -> None:
    from gradcli.storage.whole_files import is_device, write_whole

    path, program, count = (
        _path(text, ":save session.grad"),
        session.state.program(),
        len(session.state.entries),
    )
    if not count:
        raise UsageError("nothing has run yet that could be saved")
    if is_device(path):
        raise UsageError(f"'{path}' is no file")
    write_whole(Path(path), program.encode("utf-8", "surrogateescape"))
    put_text(f"{count} statement{'s' * (count != 1)} in {path}\n")
    if "@" in program and Path(path).resolve().parent != Path.cwd():
        put_text(
            "note: data files are looked for in the folder of the file, which is not the current "
            "one\n"
        )


def _path(text: str, example: str) -> str:
    words = _words(text, example)
    if len(words) != 1:
        raise UsageError("one file is named here", help=example)
    return str(Path(words[0]).expanduser())


def _load(session: Session, text: str) -> int:
    return session.run_lines(
        "".join(lines_of(_path(text, ":load session.grad"), session.limits.length))
    )


def _vars(session: Session, text: str) -> None:
    scope = session.make_program().scope
    rows = [(name, _short(value)) for name, value in session.names().items()]
    rows += [(name, _head(made.text)) for name, made in scope.functions.items()]
    rows += [
        (name, str(getattr(bound.object, "name", type(bound.object).__name__)))
        for name, bound in scope.objects.items()
    ]
    if text:
        rows = [row for row in rows if row[0] in text.replace(",", " ").split()]
    if not rows:
        put_text("no names yet\n")
        return
    width = max(len(name) for name, _ in rows)
    put_text("".join(f"  {pad(name, width)}  {inert_lines(value)}\n" for name, value in rows))


def _head(text: str) -> str:
    first, *more = text.strip().split("\n")
    return f"{first} …" if more else first


def _short(value: Any) -> str:
    import numpy as np

    if value is None:
        return "(waits for another name)"
    data = np.asarray(value)
    text = np.array2string(
        data, threshold=8, edgeitems=3, max_line_width=10_000, separator=", "
    ).replace("\n", "")
    shape = "" if data.ndim == 0 else f"   {'×'.join(map(str, data.shape))} {data.dtype}"
    return (text if len(text) <= 60 else text[:59] + "…") + shape


def _undo(session: Session, text: str) -> None:
    put_text(f"taken back: {_head(session.undo())}\n")


def _reset(session: Session, text: str) -> None:
    session.take(State())
    put_text("all names are gone; :set shows the settings, which stay\n")


CHOICES = {
    "check": ("on", "off"),
    "formula": ("on", "off"),
    "digits": ("all", "6", "10"),
    "wrt": ("all",),
    "limit": ("work=", "memory="),
}


def _set(session: Session, text: str) -> None:
    settings = session.settings
    name, _, value = text.partition(" ")
    value = value.strip().removeprefix("=").strip()
    if name:
        one_of("a setting", name, CHOICES)
    if not value:
        put_text(
            "".join(
                f"  {each:<8} {_setting_text(settings, each)}\n"
                for each in CHOICES
                if name in ("", each)
            )
        )
    elif name in ("check", "formula"):
        setattr(settings, name, one_of(f"'{name}'", value, ("on", "off")) == "on")
    elif name == "digits":
        settings.digits = (
            None
            if value == "all"
            else option_value("digits", int(value) if value.isdecimal() else value, "'digits'")
        )
    elif name == "limit":
        DEFAULT.raise_to([*settings.limit, value])  # or what is wrong with it
        settings.limit = [
            each for each in settings.limit if each.partition("=")[0] != value.partition("=")[0]
        ] + [value]
        session.program = None
    else:
        settings.wrt = None if value == "all" else value.replace(" ", ",")


def _setting_text(settings: Settings, name: str) -> str:
    value = getattr(settings, name)
    if isinstance(value, list):
        return " ".join(value) or "the usual ones"
    return (
        ("on" if value else "off")
        if isinstance(value, bool)
        else "all"
        if value is None
        else str(value)
    )


def _help(session: Session, text: str) -> int:
    if text:
        name = text.removeprefix(":")
        if name in COMMANDS and (text.startswith(":") or name not in ("diff",)):
            command = COMMANDS[name]
            put_text(f":{name} {command.takes}".rstrip() + f"\n  {command.does}\n")
            return FINE
        return _run(["help", "--", text])
    rows = {f":{name} {command.takes}".rstrip(): command.does for name, command in COMMANDS.items()}
    width = max(map(len, rows))
    put_rows(
        "\n".join(
            [_INTRODUCTION, "", *(f"  {typed:<{width}}  {does}" for typed, does in rows.items())]
        )
    )
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
    "vars": Command("[NAME…]", "the names, and what they stand for", _vars),
    "save": Command(
        "FILE.grad", "write the session as a program, which gradcli eval -f runs", _save
    ),
    "load": Command("FILE.grad", "run a file's lines here", _load),
    "undo": Command("", "take back the last line that has run", _undo),
    "reset": Command("", "forget all names", _reset),
    "set": Command(
        "[NAME VALUE]", "check or formula on|off, digits N, wrt A,B, limit NAME=SIZE", _set
    ),
    "help": Command("[NAME|CODE|:COMMAND]", "this, a function, an error's code", _help),
    "quit": Command("", "leave, as Ctrl-D", _quit),
}


_OPEN_WORDS = re.compile(r"""(?<=[\w'])'+|'[^'\n]*'|"[^"\n]*"|\#.*|[()\[\]]""")


def is_complete(text: str) -> bool:
    """Return whether Enter submits: no bracket is open, no block has begun, and no line ends with a
    backslash.

    A block of Python ends at an empty line. Too many closing brackets are complete: their error is
    told.
    """
    lines = text.split("\n")
    if text.lstrip().startswith(":"):
        return True
    if lines[-1].endswith("\\") and "#" not in lines[-1]:
        return False
    found = _OPEN_WORDS.findall(text)
    if sum((word in "([") - (word in ")]") for word in found) > 0 and len(text) < DEFAULT.length:
        return (
            not lines[-1].strip() and len(lines) > 2 and not lines[-2].strip()
        )  # two empty lines give up
    heads = [number for number, line in enumerate(lines) if is_head(line.removeprefix(">>> "))]
    return (
        not heads
        or not lines[-1].strip()
        or (heads[-1] < len(lines) - 1 and not lines[-1][:1].isspace() and len(lines) > 1)
    )
