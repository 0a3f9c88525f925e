"""Arguments as people type them: expressions that begin with a minus, and words that messages repeat."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand


class RememberingCommand(TyperCommand):
    """A command that knows its arguments as they were typed, for messages that repeat them."""

    key = "gradcli.words"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[self.key] = list(args)
        return super().parse_args(ctx, args)


class ExpressionCommand(TyperCommand):
    """A command whose positionals may begin with "-".

    Only what is exactly an option, or a long one with ``=value``, is read as one; ``-x**2``, ``-q*x`` and ``--x`` are
    expressions. Short options take no attached value.
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
            elif word in ("-", *flags) or not word.startswith("-") or word.partition("=")[0] in options:
                prepared.append(word)
            else:
                prepared.append(" " + word)
        return super().parse_args(ctx, prepared)
