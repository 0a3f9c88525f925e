"""Names of letters written together that may have been meant as a product or a call.

Without values, nothing else can tell.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from gradcli.errors import AmbiguousError
from gradcli.language.calls import is_function, split_glued
from gradcli.language.reading import expressions_of
from gradcli.language.scope import Scope
from gradcli.language.syntax import Definition, Expression, Name, Statement
from gradcli.ops.calling import textbook
from gradcli.texts import Source

_PAIR = 2  # letters of a name that is likely a product if one of them is listed


# What stands right before a name that is a denominator or that begins an exponent.
_QUOTIENT = re.compile(r"(?<!/)[/÷⁄∕]\Z")


_EXPONENT = re.compile(r"(?:\*\*|\^\(?)[-+−–]?\Z")


_SIGN = re.compile(r"(?:\*\*|\^)[-+−–]?\Z")


class _Place(NamedTuple):
    """An expression without values, the text that it stands in, and its own parameters."""

    expression: Expression
    source: Source
    own: Collection[str]


def refuse_glued(
    statements: Iterable[Statement],
    scope: Scope,
    names: Collection[str],
    listed: Collection[str],
    *,
    can_list: bool,
) -> None:
    """Raise AmbiguousError for a name without a value that a book writes for a product or a call.

    Its letters stand alone elsewhere, have values or are listed; or it is ``sinx``; or it is a
    factor of a product that is not written, or stands directly after a division or an exponent's
    sign.

    statements  what is asked, and what that depends on
    names       those without values that are not listed
    listed      those to differentiate by
    can_list    whether a name can be listed, and so be said to be one
    """
    places = [*_places(statements, scope)]
    alone = {*names, *listed, *scope.names}
    for name in names:
        letters = split_glued(name, alone - {name})
        if (
            letters is None
            and len(name) == _PAIR
            and name.isalpha()
            and any(letter in listed for letter in name)
        ):
            letters = list(name)
        product = "*".join(letters) if letters else None
        call = (
            textbook.function_of_letters(name)
            if product is None and not is_function(name)
            else None
        )
        for place in places:
            found = _first(place, name, everywhere=product is not None or call is not None)
            if name in place.own or found is None:
                continue
            reading = (
                product
                or call
                or textbook.product_of_letters(name, after_number=True)
                or "x*sin(x)"
            )
            before = place.source.text[: found.start]
            if "*" in reading and (
                _QUOTIENT.search(before[-2:])
                or _SIGN.search(before[-3:])
                or before.rstrip("π ")[-1:].isalpha()
            ):
                reading = f"({reading})"
            reading += "" if call else " for the product"
            text = place.source.text.strip().replace("'", "")
            listing = (
                f"list the name: diff '{text}' {name}"
                if can_list
                else f"give the name a value: {name} = 1"
            )
            raise AmbiguousError(
                f"'{name}' has two readings", help=f"write {reading}, or {listing}"
            ).at(found.span, place.source)


def _places(statements: Iterable[Statement], scope: Scope) -> Iterable[_Place]:
    """Yield the expressions of statements, and of the functions that they call."""
    pending = [*statements]
    seen: set[str] = set()
    for statement in pending:  # grows during the loop
        own = statement.parameters if isinstance(statement, Definition) else ()
        for expression in expressions_of(statement):
            yield _Place(expression, statement.source, own)
            for node in expression.nodes:
                if type(node) is Name and node.name in scope.functions and node.name not in seen:
                    seen.add(node.name)
                    pending.append(scope.functions[node.name])


def _first(place: _Place, name: str, *, everywhere: bool) -> Name | None:
    """Return the first place of a name, or None.

    It counts anywhere (``everywhere``), or only where a book implies a product, after a division,
    or after an exponent's sign.
    """
    found = [node for node in place.expression.nodes if type(node) is Name and node.name == name]
    if everywhere or not found:
        return found[0] if found else None
    starts = {node.start for node in place.expression.nodes}
    ends = {node.end for node in place.expression.nodes}
    text = place.source.text
    for node in found:
        before, after = text[: node.start], text[node.end :]
        left, right = len(before.rstrip(" \t")), len(text) - len(after.lstrip(" \t"))
        follows = textbook.is_before_function(name) and right in starts
        if (
            textbook.product_of_letters(name, after_number=before[-1:].isdigit()) is None
            and not follows
        ):
            continue
        is_factor = left in ends or (right in starts and right > node.end)
        if is_factor or follows or _QUOTIENT.search(before[-2:]) or _EXPONENT.search(before[-4:]):
            return node
    return None
