"""Names of letters written together that may have been meant as a product: in formulas without values, nothing else can tell."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from gradcli.errors import AmbiguousError
from gradcli.language.mentions import expressions_of
from gradcli.language.tree import Name, Query
from gradcli.notation import GREEK
from gradcli.ops.constants import NAMED

_LONGEST = 8  # letters
_PAIR = 2  # of which one is enough to make a product likely


def refuse_glued(query: Query, names: Collection[str], listed: Collection[str], bound: Iterable[str]) -> None:
    """Raise AmbiguousError for a name whose letters stand alone elsewhere, have values or are listed.

    names    those without values that are not listed
    listed   those to differentiate by
    bound    those with values
    """
    alone = {*names, *listed, *bound}
    constants = {name for name in NAMED if len(name) == 1 or name == "pi"}
    for name in names:
        if not 1 < len(name) <= _LONGEST or not name.isalpha() or name in GREEK:
            continue
        letters = _letters(name, alone - {name} | constants)
        if any(letter in alone for letter in letters) or (len(name) == _PAIR and any(letter in listed for letter in name)):
            product = "*".join(letters or name)
            error = AmbiguousError(f"'{name}' has two readings", help=f"write {product} for the product, or list {name} among the names")
            places = [node.span for e in expressions_of(query) for node in e.nodes if type(node) is Name and node.name == name]
            raise error.at(places[0] if places else query.span, query.source)


def _letters(name: str, alone: Collection[str]) -> list[str]:
    """A name as names that stand alone, the longest first; none if it is not made of such."""
    found: list[str] = []
    at = 0
    while at < len(name):
        part = next((name[at:stop] for stop in range(len(name), at, -1) if name[at:stop] in alone), None)
        if part is None:
            return []
        found.append(part)
        at += len(part)
    return found
