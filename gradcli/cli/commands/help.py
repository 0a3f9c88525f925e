"""``gradcli help``: its options, and what it does."""

# Annotations are not postponed here: typer would compile each of them from its text, several times, at every start.

from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer

from gradcli.cli.commands import STYLE
from gradcli.cli.commands.shared_options import OnceCommand
from gradcli.cli.exit_codes import FINE
from gradcli.errors import UsageError, suggestion

app = typer.Typer(**STYLE)


@app.command("help", cls=OnceCommand)
def explain_code(
    code: Annotated[str | None, typer.Argument(metavar="[CODE]", help="A code, as in error[unknown-name], or a verdict.")] = None,
) -> Callable[[], int]:
    """Explain the code of an error, or a verdict; without one, list all."""
    return partial(run, code)


def run(code: str | None) -> int:
    """Print what a code means, and give the exit code. Raises UsageError for one that there is not."""
    import textwrap

    from gradcli.cli.write.streams import put_text
    from gradcli.report.rules import RULES

    codes = {name.removeprefix("error-"): rule for name, rule in RULES.items()}
    if code is None:
        width = max(map(len, codes))
        put_text("".join(f"{name:<{width}}  {rule.description}\n" for name, rule in codes.items()))
        return FINE
    name = code.strip().removeprefix("error[").removesuffix("]").removeprefix("error-")
    if name not in codes:
        from gradcli.cli.main import Commands

        close = suggestion(name, list(codes))
        help = f"write gradcli {name} --help" if name in Commands.names else f"did you mean {close}?" if close else "gradcli help lists all"
        raise UsageError(f"there is no code '{name}'", help=help)
    rule = codes[name]
    put_text("\n".join([f"{name}: {rule.description}.", *textwrap.wrap(rule.advice, 96, initial_indent="  ", subsequent_indent="  "), ""]))
    return FINE
