"""The names that a program has, and those that something is said about although it does not have them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gradcli.errors import GradcliError, UnknownFieldError, suggestion
from gradcli.language.run import Program
from gradcli.language.tree import Statement
from gradcli.query.unused_names import names_among

if TYPE_CHECKING:
    from gradcli.files.jsonl import InputRecord


def claim_of_nothing(given: InputRecord, parsed: Iterable[Statement | GradcliError], program: Program) -> GradcliError | None:
    """What is wrong with a record that expects the gradient of a name that it does not have."""
    claimed = [claim.of for claim in given.expect if claim.of != "value"]
    if not claimed:
        return None
    bound, mentioned = names_among(parsed)
    known = bound.union(program.scope.names, mentioned)
    for name in claimed:
        if name not in known:
            close = suggestion(name, sorted(known))
            listed = ", ".join(sorted(known)[:20])
            help = f"did you mean '{close}'?" if close else f"the names are {listed}" if listed else None
            return UnknownFieldError(f"'expect' has the gradient of '{name}', which the record does not have", help=help)
    return None
