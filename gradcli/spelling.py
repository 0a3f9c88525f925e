"""Which known word was meant: the one spelling that is close to a word that is none."""

from __future__ import annotations

from collections.abc import Iterable, Set
from functools import lru_cache
from itertools import islice

_LONGEST = 60  # characters of a word that has a likely spelling
_MOST = 2_000  # words that are looked at, the first of those there are: an error takes no longer in a program of millions of names
_CLOSEST = 20  # words that are compared letter by letter, those with the most letters in common


def words(text: str) -> Set[str]:
    """Return the words of a text as a set in their order, for lists of names."""
    return dict.fromkeys(text.split()).keys()


def closest(word: str, candidates: Iterable[str], cutoff: float) -> str | None:
    """The one candidate close enough to be a likely spelling of word, else None."""
    if not 2 <= len(word) <= _LONGEST:
        return None
    lowered, letters = _folded(word)
    size, found = len(lowered), {}
    for candidate in islice(candidates, _MOST):
        folded, others = _folded(candidate)
        # what difflib's ratio is at most, by the letters that both have: few words are left for difflib
        if (common := 2 * (letters & others).bit_count()) >= cutoff * (size + len(folded)):
            found[folded] = candidate, common / (size + len(folded))
    if not found:
        return None
    import difflib

    likely = sorted(found, key=lambda folded: (found[folded][1], folded), reverse=True)[:_CLOSEST]
    close = difflib.get_close_matches(lowered, likely, n=1, cutoff=cutoff)
    return found[close[0]][0] if close else None


@lru_cache(16_384)
def _folded(word: str) -> tuple[str, int]:
    """A word in lower case, and its letters, each as often as it has it, as bits: two words have in common what both have.

    Of other alphabets several letters share a bit, and what is too long to be meant has no letters.
    """
    folded, bits = word[: 2 * _LONGEST].lower(), 0
    for letter in folded if len(word) <= 2 * _LONGEST else "":
        bit = 1 << (ord(letter) % 32)
        while bits & bit:
            bit <<= 32
        bits |= bit
    return folded, bits
