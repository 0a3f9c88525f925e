"""The known word that was meant: the one spelling that is close to a word that is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from itertools import islice
from typing import TypeVar

_LONGEST = 60  # longest word for which a likely spelling is sought
# Only the first so many candidates are looked at, so that an error takes no longer in a program of
# millions of names.
_MOST = 2_000


def words(text: str) -> Set[str]:
    """Return the words of a text as a set in their order, for lists of names."""
    return dict.fromkeys(text.split()).keys()


_Value = TypeVar("_Value")


def by_word(table: Mapping[str, _Value]) -> dict[str, _Value]:
    """Return a table with an entry for each word of the keys of another."""
    return {word: value for keys, value in table.items() for word in keys.split()}


def closest(word: str, candidates: Iterable[str], cutoff: float) -> str | None:
    """Return the one candidate close enough to be a likely spelling of word, else None."""
    if len(word) > _LONGEST:
        return None
    import difflib

    lowered, found = (
        word.lower(),
        {candidate.lower(): candidate for candidate in islice(candidates, _MOST)},
    )
    # An upper bound of difflib's ratio, by the letters that both have, leaves few words for
    # difflib.
    likely = [
        folded
        for folded in found
        if 2 * sum(map(folded[:_LONGEST].__contains__, lowered))
        >= cutoff * (len(lowered) + len(folded))
    ]
    close = difflib.get_close_matches(lowered, likely, n=1, cutoff=cutoff)
    return found[close[0]] if close else None
