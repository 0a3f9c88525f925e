"""Options that several commands have, each told once."""

# Annotations are not postponed here: typer would compile each of them from its text, several times, at every start.

from typing import Annotated

import typer

Files = Annotated[list[str] | None, typer.Option("--file", "-f", metavar="FILE", help="Read programs from FILE; - is standard input.")]
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
