"""Arguments as people type them: expressions that begin with a minus, and bindings NAME=VALUE."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand

_LONG = re.compile(r"--[A-Za-z][A-Za-z-]*(=.*)?$", re.DOTALL)
_BINDING = re.compile(r"(?P<name>[^\W\d]\w*)=(?!=)(?P<value>[^;\n]*)\Z", re.DOTALL)


class ExpressionCommand(TyperCommand):
    """A command whose positionals may begin with "-".

    Only exact short options and ``--name`` or ``--name=value`` are options; ``-x**2`` and ``-q*x`` are expressions.
    Short options take no attached value, so nothing of an expression is ever read as one.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        takes_value = {name: param for param in self.params for name in param.opts + param.secondary_opts if name.startswith("-")}
        prepared: list[str] = []
        i = 0
        while i < len(args):
            word = args[i]
            i += 1
            if word == "--":
                prepared += ["--", *args[i:]]
                break
            option = takes_value.get(word)
            if option is not None:
                prepared.append(word)
                if (
                    not getattr(option, "is_flag", False)
                    and not getattr(option, "count", False)
                    and i < len(args)
                    and word not in ("-h", "--help")
                ):
                    prepared.append(args[i])
                    i += 1
            elif word in ("-h", "--help", "-") or not word.startswith("-") or _LONG.match(word):
                prepared.append(word)
            else:
                prepared.append(" " + word)
        return super().parse_args(ctx, prepared)


def split_binding(argument: str) -> tuple[str, str] | None:
    """Name and value of ``NAME=VALUE``: a name directly followed by one "=", with no ";" or newline; else None."""
    match = _BINDING.match(argument)
    return (match["name"], match["value"]) if match else None
