"""The names that a program has, and those that something is said about although it does not have them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gradcli.errors import GradcliError, UnknownFieldError, suggestion
from gradcli.language.program import Program
from gradcli.language.tree import Assertion, Binding, DataBinding, Definition, Name, Query, Statement

if TYPE_CHECKING:
    from gradcli.files.jsonl import InputRecord


def claim_of_nothing(given: InputRecord, parsed: Iterable[Statement | GradcliError], program: Program) -> GradcliError | None:
    """What is wrong with a record that expects the gradient of a name that it does not have."""
    claimed = [claim.of for claim in given.expect if claim.of != "value"]
    if not claimed:
        return None
    known = {*program.scope.names, *names_in(parsed)}
    for name in claimed:
        if name not in known:
            close = suggestion(name, sorted(known))
            listed = ", ".join(sorted(known)[:20])
            help = f"did you mean '{close}'?" if close else f"the names are {listed}" if listed else None
            return UnknownFieldError(f"'expect' has the gradient of '{name}', which the record does not have", help=help)
    return None


def names_in(parsed: Iterable[Statement | GradcliError]) -> set[str]:
    """The names that a program binds or mentions."""
    found: set[str] = set()
    for statement in parsed:
        if isinstance(statement, (Binding, DataBinding)):
            found.add(statement.name)
        if isinstance(statement, Assertion):
            parts = [part for part in (statement.left, statement.right, statement.within) if part is not None]
        else:
            parts = [statement.expression] if isinstance(statement, (Query, Binding, Definition)) else []
        found |= {node.name for part in parts for node in part.nodes if isinstance(node, Name)}
    return found
