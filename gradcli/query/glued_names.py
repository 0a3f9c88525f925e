"""Names of letters written together that may have been meant as a product: in formulas without values, nothing else can tell."""

from __future__ import annotations

from collections.abc import Collection

from gradcli.errors import AmbiguousError
from gradcli.language.tree import Name, Query
from gradcli.language.undefined_names import glued

_PAIR = 2  # letters, of which one that is listed makes a product likely


def refuse_glued(query: Query, names: Collection[str], listed: Collection[str], bound: Collection[str]) -> None:
    """Raise AmbiguousError for a name whose letters stand alone elsewhere, have values or are listed.

    names    those without values that are not listed
    listed   those to differentiate by
    bound    those with values
    """
    alone = {*names, *listed, *bound}
    for name in names:
        letters = glued(name, alone - {name})
        if letters is None and len(name) == _PAIR and name.isalpha() and any(letter in listed for letter in name):
            letters = list(name)
        if letters is not None:
            help = f"write {'*'.join(letters)} for the product, or list {name} among the names"
            error = AmbiguousError(f"'{name}' has two readings", help=help)
            places = [node.span for node in query.expression.nodes if type(node) is Name and node.name == name]
            raise error.at(places[0] if places else query.span, query.source)
