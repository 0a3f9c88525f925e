"""The command line: ``gradcli`` and its commands, as they are read from its words."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from inspect import Parameter, Signature
from typing import Annotated, Any, get_args

import typer
from typer.core import TyperCommand, TyperGroup

from gradcli.cli.commands import COMMANDS, EXAMPLE, GROUPS
from gradcli.errors import UsageError
from gradcli.inert import shell_command
from gradcli.options import Request, Texts, typed_value, values_of
from gradcli.texts import suggestion

STYLE: dict[str, Any] = {
    "add_completion": False, "rich_markup_mode": None, "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}  # fmt: skip
_COMPLETING = "_GRADCLI_COMPLETE" in os.environ  # a shell asks for completions


_Plain: Any = TyperCommand.context_class.formatter_class


class _Formatter(_Plain):  # type: ignore[misc]
    """Formatter that wraps help to the terminal, however narrow.

    Where there is no room for two columns, text stands below what it is about.
    """

    def __init__(self, **_: Any) -> None:
        super().__init__(width=min(shutil.get_terminal_size().columns, 80) - 2)

    def write_dl(self, rows: Any, *columns: Any, **more: Any) -> None:
        if self.width >= 60:
            super().write_dl(rows, *columns, **more)
            return
        for first, second in rows:
            for text, indent in ((first, 2), (second, 6)):
                lines = textwrap.wrap(text, self.width - indent, break_on_hyphens=False)
                self.write("".join(f"{' ' * indent}{line}\n" for line in lines))


class _Helped:
    """A command whose help has its options by their subjects, and first sentences whole.

    ``--help`` is off where it is not given, rather than None, for which typer would import
    pydantic.
    """

    context_class: Any = type(
        "Context", (TyperCommand.context_class,), {"formatter_class": _Formatter}
    )
    help: str | None
    groups: Mapping[str, str] = {}  # names of options, by subject

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)  # type: ignore[misc]
        option.default = False
        return option

    def get_short_help_str(self, limit: int = 45) -> str:
        paragraph = " ".join((self.help or "").partition("\n\n")[0].split())
        return paragraph.partition(". ")[0].removesuffix(".")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        subjects = {
            name: subject for subject, names in self.groups.items() for name in names.split()
        }
        found: dict[str, list[tuple[str, str]]] = {
            subject: [] for subject in ("Arguments", *self.groups, "Options")
        }
        for param in self.get_params(ctx):  # type: ignore[attr-defined]
            subject = (
                "Arguments"
                if param.param_type_name == "argument"
                else subjects.get(param.name, "Options")
            )
            record = param.get_help_record(ctx)
            found[subject].append((record[0].split(" <")[0], record[1]))
        for subject, rows in found.items():
            if rows:
                with formatter.section(subject):
                    formatter.write_dl(rows)


class Command(_Helped, TyperCommand):
    """Command whose positionals may begin with "-".

    An option may be given once, unless it lists what it is given.

    A word that begins with one "-" and is not exactly an option is an expression: ``-x**2``,
    ``-q*x``. Two of them and a letter are an option, known or not. Short options take no attached
    value.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words. Raises UsageError for an option that is given twice."""
        ctx.meta["gradcli.words"] = list(args)  # for messages that repeat the words
        options = {
            name: param
            for param in self.params
            for name in param.opts + param.secondary_opts
            if name.startswith("-")
        }
        once: set[Any] = set()
        prepared: list[str] = []
        rest = iter(args)
        for word in rest:
            is_long = word.startswith("--") and word[2:3].isalpha()
            name, value, _ = word.partition("=") if is_long else (word, "", "")
            if (option := options.get(name)) is not None:
                if option in once and not ctx.resilient_parsing:
                    raise UsageError(f"{name} is given twice", help="leave one of them out")
                if not getattr(option, "multiple", False):
                    once.add(option)
                prepared.append(word)
                if not value and not getattr(option, "is_flag", False):
                    prepared += [value for value in [next(rest, None)] if value is not None]
            elif word == "--":
                prepared += [word, *rest]
            else:
                prepared.append(
                    word
                    if is_long or word in ("-", "-h") or not word.startswith("-")
                    else f" {word}"
                )
        return super().parse_args(ctx, prepared)


def _reader_of(kind: type[Request], command: str, place: str) -> Callable[..., Callable[[], int]]:
    """Return the function whose parameters are the options.

    It gives the command, which stands in ``place``, together with its request.
    """

    def read(context: typer.Context, **given: Any) -> Callable[[], int]:
        said: dict[str, Any] = {
            name: tuple(value)
            if isinstance(value, (list, tuple))
            else typed_value(
                kind.values_of(name) or values_of(f"{command}.{name}"), value, kind.word_of(name)
            )
            for name, value in given.items()
            if value is not None and value != getattr(kind, name)
        }
        if "wrt" in said:
            said["wrt"] = ",".join(said["wrt"])
        if "words" in kind.__annotations__ and "words" not in given:
            said["words"] = tuple(context.meta["gradcli.words"])
        module, _, name = place.partition(":")
        return partial(getattr(import_module(f"gradcli.cli.{module}"), name), kind(**said))

    parameters = [Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    for name, annotated in kind.options().items():
        form, how, *_ = get_args(annotated)
        several, usual = form == Texts or name == "wrt", getattr(kind, name)
        parameters.append(
            Parameter(
                name, Parameter.KEYWORD_ONLY, default=None if several else usual,
                annotation=Annotated[list[str] | None if several else form, how],
            )
        )  # fmt: skip
    reading: Any = read
    reading.__signature__ = Signature(parameters)
    read.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return read


def _command(name: str) -> Any:
    """Make a command of the options of its request."""
    request, place = COMMANDS[name]
    single = typer.Typer(**STYLE)
    single.command(name, cls=Command, help=request.__doc__, epilog=request.epilog)(
        _reader_of(request, name, place)
    )
    command: Any = typer.main.get_command(single)
    command.groups = GROUPS.get(name, {})
    # Texts stay as typed: to convert them, typer would import pydantic, which takes longer than the
    # evaluation.
    for param in command.params:
        param.process_value = partial(_as_typed, param)
    return command


def _as_typed(param: Any, context: Any, value: Any) -> Any:
    return (
        () if value is None and (param.nargs == -1 or getattr(param, "multiple", False)) else value
    )


class Commands(_Helped, TyperGroup):
    """The commands, each made when it is asked for.

    To make the options of all of them takes longer than to evaluate an expression.
    """

    def format_options(self, ctx: Any, formatter: Any) -> None:
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)

    names = tuple(COMMANDS)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.names)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in self.names and cmd_name not in self.commands:
            self.commands[cmd_name] = _command(cmd_name)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Lead to `eval` from an expression without a command."""
        if (
            args
            and not ctx.resilient_parsing
            and args[0] not in self.names
            and not args[0].startswith("--")
        ):
            if close := suggestion(args[0], self.names, cutoff=0.6):
                help = f"did you mean {close}?"
            elif args[0].isidentifier():
                help = f"the commands are {', '.join(self.names)}"
            else:
                help = f"to evaluate it: {shell_command('gradcli', 'eval', *args)}"
            raise UsageError(f"no such command: {args[0]}", help=help)
        return super().resolve_command(ctx, args)


app = typer.Typer(
    **{**STYLE, "add_completion": _COMPLETING or sys.argv[1:2] == [] or sys.argv[1].startswith("-")}, cls=Commands, no_args_is_help=True,
    help="The gradient calculator: values, exact gradients, derivative formulas, and a verdict on "
    "them.",
    epilog=f"Example: {EXAMPLE}",
)  # fmt: skip


def _version(wanted: bool) -> None:
    if wanted:
        from gradcli.storage import version_of

        typer.echo(f"gradcli {version_of('gradcli')}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", callback=_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Serve as the root of all commands."""
