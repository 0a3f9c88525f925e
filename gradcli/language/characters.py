"""Characters as texts are read: composed, as Unicode's normal forms have them, in time that grows with the text."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

_MOST = 30  # marks in a row that are put in order, as Unicode's stream-safe form has it: more of them take quadratic time
_UNWRITTEN = re.compile(rf"[^\w\x00-\x7f]{{{_MOST + 1},}}")  # all marks are among these


def composed(text: str, form: Literal["NFC", "NFKC"] = "NFC") -> str:
    """A text in a normal form, but for stretches of more marks than any script has, which stay as they are: no name has them."""
    if text.isascii():
        return text
    pieces, done = [], 0
    for stretch in _UNWRITTEN.finditer(text):
        begin = stretch.start()
        for place in range(begin, stretch.end() + 1):
            if place < stretch.end() and unicodedata.combining(text[place]):
                continue
            if place - begin > _MOST:
                pieces += [unicodedata.normalize(form, text[done:begin]), text[begin:place]]
                done = place
            begin = place + 1
    return "".join([*pieces, unicodedata.normalize(form, text[done:])])
