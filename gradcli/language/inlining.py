"""Calls of a user's functions: each body is lowered once for the same arguments, with these in place of the parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli.errors import ArgumentError, LimitError
from gradcli.language.coercion import Coercion
from gradcli.language.differentiation import primed
from gradcli.language.tree import Call, Definition, Frame
from gradcli.ops.text import Expansion, expanded


class Inlining:
    """The calls of one statement. ``under_way`` are the expressions being lowered, the innermost last."""

    def __init__(self, coercion: Coercion, under_way: Sequence[Frame]) -> None:
        self.coercion, self.scope, self.under_way = coercion, coercion.scope, under_way
        self._results: dict[Any, tuple[Any, Expansion | None, Any]] = {}  # with the arguments, whose identities are in the keys

    def call(self, node: Call, caller: Frame, definition: Definition, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """The result of a call that was met before, or else the `Frame` that has to be lowered for it.

        Raises ArgumentError for other arguments than the function has, and for one that calls itself; LimitError.
        """
        self._refuse(definition, arguments, keywords)
        values: list[Any] = [a if isinstance(a, (tuple, str)) else self.coercion.value(a) for a in arguments]
        key = (id(definition), node.primes, *(id(v) for v in values))
        if key in self._results:
            result, expansion, _ = self._results[key]
            caller.expansions[node.place] = expansion
            return result
        parameters = list(values)
        if node.primes:
            if len(values) != 1:
                raise ArgumentError("a prime needs a function of one variable", help="write grad(f(x, y), x)")
            parameters = [self.scope.named(self.coercion.value(values[0]), definition.parameters[0])]

        def finish(result: Any) -> Any:
            expansion = None
            if node.primes:
                y, x = self.coercion.value(result), parameters[0]
                expansion = expanded("grad", (y, x), lambda: primed(y, x, node.primes))
                result = expansion.result
            caller.expansions[node.place] = expansion
            self._results[key] = result, expansion, values
            return result

        bound = dict(zip(definition.parameters, parameters, strict=True))
        return Frame(definition.expression, definition.source, definition, bound, finish, (caller, node))

    def _refuse(self, definition: Definition, arguments: list[Any], keywords: dict[str, Any]) -> None:
        if keywords or len(arguments) != len(definition.parameters):
            wanted = f"{definition.name}({', '.join(definition.parameters)})"
            count = len(arguments) + len(keywords)
            raise ArgumentError(f"{wanted} takes {len(definition.parameters)} arguments by position, not {count}")
        if len(self._results) >= self.scope.limits.calls:
            raise LimitError(
                f"more than {self.scope.limits.calls:,} calls of functions in one statement",
                help=f"raise it with --limit calls={10 * self.scope.limits.calls}",
            )
        if any(frame.statement is definition for frame in self.under_way):
            raise ArgumentError(f"the function '{definition.name}' calls itself")
