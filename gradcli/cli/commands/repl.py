"""``gradcli repl``: its options, and what it does: a session on a terminal, or lines of standard input answered as they come."""

# Annotations are not postponed here: typer would compile each of them from its text, several times, at every start.

from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer

from gradcli.cli import interrupts
from gradcli.cli.commands import STYLE
from gradcli.cli.commands.shared_options import Color, Dialect, Limit, OnceCommand, Precision
from gradcli.cli.request import ReplRequest

app = typer.Typer(**STYLE)


@app.command(
    "repl",
    cls=OnceCommand,
    epilog="Exit codes: 0 when the session is left; of piped lines, as gradcli eval: 1 a mismatch or a false assert; 2 input that cannot "
    "be evaluated.",
)
def converse(
    file: Annotated[str | None, typer.Argument(metavar="[FILE]", help="A program that is run first, whose names are there then.")] = None,
    history: Annotated[bool, typer.Option("--history/--no-history", help="Keep what is typed for the next session.")] = True,
    check: Annotated[bool, typer.Option("--check/--no-check", help="Cross-check results; :set check off in the session.")] = True,
    dialect: Dialect = None,
    dtype: Precision = "float64",
    limit: Limit = None,
    color: Color = "auto",
) -> Callable[[], int]:
    """A session: type expressions, bind names, ask where a gradient comes from. :help lists its commands.

    gradcli repl

    Without a terminal, lines of standard input are answered one after the other, without prompts.
    """
    request = ReplRequest(file=file, history=history, check=check, dialect=dialect, dtype=dtype, color=color, limit=limit or [])
    return partial(run, request)


def run(request: ReplRequest) -> int:
    """Converse, and give the exit code. Raises GradcliError for what is wrong with the request."""
    from gradcli.cli.repl.session import first_line, is_terminal, transcript_of

    transcript = transcript_of(request)
    if not is_terminal():
        from gradcli.cli.repl.piped import answer_lines

        return answer_lines(transcript, request.file)
    from gradcli.cli.write.streams import put

    put(first_line())
    with interrupts.staying():
        from gradcli.cli.inputs.positionals import one_word
        from gradcli.cli.repl.commands import run_command
        from gradcli.cli.repl.prompt import converse as talk
        from gradcli.cli.repl.prompt import history_file
        from gradcli.cli.repl.session import Session
        from gradcli.cli.write.results import is_styled

        session = Session(run_command, transcript, styled=True)
        if request.file is not None:
            put(session.answer(f":load {one_word(request.file)}", 80).text)
        return talk(session, history_file() if request.history else None, is_styled(request.color))
