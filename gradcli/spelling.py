"""Which known word was meant: the one spelling that is close to a word that is none."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import islice

_LONGEST = 60  # characters of a word that has a likely spelling
_MOST = 4_000  # words that are looked at, the first of those there are: an error takes no longer in a program of millions of names


def closest(word: str, candidates: Iterable[str], cutoff: float) -> str | None:
    """The one candidate close enough to be a likely spelling of word, else None."""
    if not 2 <= len(word) <= _LONGEST:
        return None
    lowered = word.lower()
    letters, size = _letters(lowered), len(lowered)
    close: dict[str, str] = {}
    for candidate in islice(candidates, _MOST):
        # what difflib's ratio is at most, by the lengths alone and by the letters that both have: few words are left for difflib
        if 2 * min(size, len(candidate)) >= cutoff * (size + len(candidate)) and len(candidate) <= 2 * _LONGEST:
            folded = candidate.lower()
            if 2 * (letters & _letters(folded)).bit_count() >= cutoff * (size + len(folded)):
                close[folded] = candidate
    if not close:
        return None
    import difflib

    found = difflib.get_close_matches(lowered, list(close), n=1, cutoff=cutoff)
    return close[found[0]] if found else None


@lru_cache(16_384)
def _letters(word: str) -> int:
    """The letters of a word, each as often as it has it, as bits: two words have in common what both have (other alphabets share bits)."""
    bits = 0
    for letter in word:
        bit = 1 << (ord(letter) % 32)
        while bits & bit:
            bit <<= 32
        bits |= bit
    return bits
