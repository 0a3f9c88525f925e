"""Routines: functions and methods that the language has beside the catalogue's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from gradcli.language.names import Thing
from gradcli.language.scope import Builder
from gradcli.ops.calling import binding
from gradcli.ops.calling.signatures import Signature, signature
from gradcli.ops.facts import Fixed
from gradcli.ops.text import Expansion, expand_call
from gradcli.texts import by_word


def run_body(
    builder: Builder,
    function: Signature,
    body: Callable[..., Any],
    given: Mapping[str, Any],
    written: Any,
) -> Expansion:
    """Call a body with the kinds of arguments that it takes.

    A parameter annotated ``Expr`` gets a node, any other gets the argument as it is. ``written``
    are the arguments in the text. Raises ArgumentError for a missing one.
    """
    import inspect

    for name, wanted in [*inspect.signature(body).parameters.items()][1:]:
        required = wanted.default is wanted.empty and wanted.kind is not wanted.VAR_KEYWORD
        if required and name not in given:
            raise binding.missing(function.target, name, function)
    kinds = body.__annotations__
    arguments = {
        name: builder.value(argument) if kinds.get(name) == "Expr" else argument
        for name, argument in given.items()
    }
    return expand_call(function.target, written, lambda: body(builder, **arguments))


class Routine(Thing, Fixed):
    """Function, or (with a base) method, made of its parameters and its body.

    The parameters are written as `signature` takes them. ``body(builder, **given)`` gets the
    written arguments as results of lowering. Parameters of the signature that are left out keep the
    body's own defaults; those without a default are required.
    """

    written: str
    parameters: str
    body: Callable[..., Any]
    parts: Sequence[Any] = ()

    @cached_property
    def signature(self) -> Signature:
        return signature(self.written, self.parameters)

    def of(self, base: Any) -> Routine:
        """Return the routine as a method of an object, which becomes the first argument."""
        return self.but(parts=(base,))

    def call(self, builder: Builder, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """Call the routine; raise ArgumentError for arguments that it does not take."""
        arguments = [*self.parts, *arguments]
        given = binding.bind(builder, self.written, self.signature, arguments, keywords)
        return run_body(builder, self.signature, self.body, given, (arguments, keywords))


def routines(table: Mapping[str, tuple[str, Callable[..., Any]]]) -> dict[str, Routine]:
    """Return a table of routines by their names."""
    return {name: Routine(name, *given) for name, given in by_word(table).items()}
