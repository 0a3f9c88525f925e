"""Options that several commands have, each told once, and how the words of a command are read."""

# Annotations are not postponed here: typer would compile each of them from its text, several times, at every start.

from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from gradcli.errors import UsageError


class OnceCommand(TyperCommand):
    """A command whose options stand once in its words, but for those that list what they are given."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words. Raises UsageError for an option that is given twice."""
        given = self.make_parser(ctx).parse_args(args=list(args))[2]
        for param in {id(each): each for each in given}.values():
            once = param.param_type_name == "option" and not getattr(param, "multiple", False)
            if once and given.count(param) > 1 and not ctx.resilient_parsing:
                names = [max(names, key=len) for names in (param.opts, param.secondary_opts) if names]
                raise UsageError(f"{' or '.join(names)} is given twice", help="leave one of them out")
        return super().parse_args(ctx, args)


class ExpressionCommand(OnceCommand):
    """A command whose positionals may begin with "-".

    What begins with one "-" and is not exactly an option is an expression: ``-x**2``, ``-q*x``. Two and a letter are an option,
    known or not. Short options take no attached value.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        options = {name: param for param in self.params for name in param.opts + param.secondary_opts if name.startswith("-")}
        flags = ("-h", "--help")
        prepared: list[str] = []
        rest = iter(args)
        for word in rest:
            if word == "--":
                prepared += ["--", *rest]
            elif (option := options.get(word)) is not None:
                prepared.append(word)
                if word not in flags and not getattr(option, "is_flag", False):
                    prepared += [value for value in [next(rest, None)] if value is not None]
            elif word in ("-", *flags) or not word.startswith("-") or (word.startswith("--") and word[2:3].isalpha()):
                prepared.append(word)
            else:
                prepared.append(" " + word)
        return super().parse_args(ctx, prepared)


Files = Annotated[list[str] | None, typer.Option("--file", "-f", metavar="FILE", help="Read programs from FILE; - is standard input.")]
Wrt = Annotated[list[str] | None, typer.Option(metavar="A,B", help="Differentiate with respect to these names only.")]
Freeze = Annotated[list[str] | None, typer.Option(metavar="X,Y", help="Never differentiate with respect to these names.")]
InputFormat = Annotated[
    str | None,
    typer.Option("--input", "-i", metavar="text|jsonl", help="How to read files and standard input (by suffix, else text)."),
]
Dialect = Annotated[
    str | None,
    typer.Option(
        metavar="numpy|torch|jax",
        help="The library that methods and bare names are read by where no prefix or import line shows it (numpy).",
    ),
]
Precision = Annotated[str, typer.Option(metavar="float64|float32", help="The precision of the calculation.")]
BACKEND = typer.Option(
    metavar="auto|numpy|native",
    help="What computes large arrays: NumPy, C by the machine's compiler, or what a count of operations says (auto).",
)
Threads = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Threads that share large arrays, at most (as many as cores); the same bits.")
]
FailFast = Annotated[bool, typer.Option("--fail-fast", help="Stop at the first error.")]
Limit = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=SIZE",
        help="Set a limit: length, entries, dimensions, nodes, calls, tangents, derivatives, memory or work, such as memory=500M.",
    ),
]
Color = Annotated[str, typer.Option(metavar="auto|always|never", help="Colour of the output.")]


def joined(texts: list[str] | None) -> str | None:
    """Return the lists of an option that adds up as one list."""
    return None if texts is None else ",".join(texts)
