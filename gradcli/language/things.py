"""Routines: functions and methods that the language has beside the catalogue's, and ranges between brackets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from gradcli.errors import ArgumentError, Span
from gradcli.language.builder import Builder
from gradcli.language.names import Thing
from gradcli.ops.calling import binding
from gradcli.ops.calling.signatures import Signature, signature
from gradcli.ops.fixed import Fixed
from gradcli.ops.text import expanded


class Range(Fixed):
    """``start:stop:step`` between brackets, or ``slice(start, stop, step)``; parts that are left out are None."""

    start: Any
    stop: Any
    step: Any
    span: Span | None = None  # where it is written between brackets


class Routine(Thing):
    """A function, or (with a base) a method, by its parameters as `signature` takes them and its body.

    ``body(builder, **given)`` gets what was written, as results of lowering; parameters of the signature that are left out keep the
    body's own defaults, and those without one are required.
    """

    def __init__(
        self, name: str, parameters: str, body: Callable[..., Any], base: Sequence[Any] = (), of_pytorch: Callable[..., Any] | None = None
    ) -> None:
        self.written = name
        self.parameters, self.body, self.parts = parameters, body, base
        self.of_pytorch = of_pytorch  # the body where PyTorch's method of the name is meant, if that is another

    @cached_property
    def signature(self) -> Signature:
        return signature(self.written, self.parameters) if self.parameters else Signature(self.written, ())

    def of(self, base: Any) -> Routine:
        """The same as a method of something, which is the first argument."""
        return Routine(self.written, self.parameters, self.body, (base,), self.of_pytorch)

    def in_pytorch(self) -> Routine:
        """The same as PyTorch has it."""
        return Routine(self.written, self.parameters, self.of_pytorch or self.body, self.parts)

    def call(self, builder: Builder, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """Raises ArgumentError for what it does not take."""
        arguments = [*self.parts, *arguments]
        given = binding.bind(builder, self.written, self.signature, arguments, keywords)
        missing = [name for name in self._required if name not in given]
        if missing:
            raise ArgumentError(f"{self.written} needs the argument {missing[0]!r}", help=binding.usage(self.written, self.signature))
        return expanded(self.written, (arguments, keywords), lambda: self.body(builder, **given))

    @cached_property
    def _required(self) -> list[str]:
        import inspect

        parameters = list(inspect.signature(self.body).parameters.values())[1:]
        return [p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]


def routines(table: Mapping[str, tuple[str, Callable[..., Any]]]) -> dict[str, Routine]:
    """A table of routines by their names."""
    return {name: Routine(name, parameters, body) for name, (parameters, body) in table.items()}
