"""Texts that helps offer to write: each is tried before it is shown, so that no help leads to the next error."""

from __future__ import annotations

import re
from collections.abc import Callable

from gradcli.errors import GradcliError, ParseError, Source
from gradcli.language.calls import is_function
from gradcli.language.reading import expressions_of
from gradcli.language.scope import Scope
from gradcli.language.statements import statements_in
from gradcli.language.tree import Call, Definition, Name, Statement

_LONGEST = 2_000  # characters of a help that is tried
_OFFER = re.compile(r"(?:write:?|define it:|give it one(?: before)?:) ([^;]*(?:; \w+\()?.*)", re.DOTALL)
_AROUND = re.compile(
    r"^(or )?(.*value: )?| (for|to) [a-z'! ]*(;.*)?$| (for|of) the [a-z ]*$|; (?!\w+\().*$|  #.*$|: (functions|'\w+' is) .*$"
)
_NO_TEXT = ("with ", "power", "exclusive", "a comma", "list ", "give ", "each", "*", "# ", "the ", "@", "it with ")


def offers(help: str) -> list[str]:
    """The texts that a help says to write: between commas and "or", each perhaps with what it is for."""
    found = _OFFER.match(help)
    if found is None:
        return []
    parts, depth, start, text = [], 0, 0, found[1]
    for place, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if depth == 0 and (text.startswith(", ", place) or text.startswith(" or ", place)):
            parts.append(text[start:place])
            start = place + len(", " if char == "," else " or ")
    shown = (_AROUND.sub("", part) for part in [*parts, text[start:]])
    return [part for part in shown if part and not part.startswith(_NO_TEXT)]


def tried(error: GradcliError, scope: Scope | None = None) -> GradcliError:
    """The error without a help that offers what cannot be read, or calls what nobody knows."""
    help = error.help
    if help is not None and len(help) <= _LONGEST:
        known = _known_in(scope)
        if not all(can_be_read(text, known) for text in offers(help)):
            error.help = error.instead
    return error


def _known_in(scope: Scope | None) -> Callable[[str], bool] | None:
    return None if scope is None else lambda name: is_function(name) or scope.knows(name)


def can_be_read(text: str, known: Callable[[str], bool] | None = None) -> bool:
    """Tell whether a text is a statement, or a value and its deviation; and, with ``known``, all that it calls is something."""
    try:
        found = statements_in(Source(f"x = {text}" if "±" in text else text))
    except (ParseError, IndexError):
        return False
    own = {name for each in found if isinstance(each, Definition) for name in (each.name, *each.parameters)}
    return known is None or all(name in own or known(name) for each in found for name in _called(each))


def _called(statement: Statement) -> set[str]:
    nodes = [node for expression in expressions_of(statement) for node in expression.nodes]
    return {node.callee.name for node in nodes if isinstance(node, Call) and isinstance(node.callee, Name)}
