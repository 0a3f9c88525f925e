"""A witness that is not the program: Python reads the same text, and NumPy computes it.

The language is Python's notation wherever a text is valid in both. So Python's own parser says what
the tree is, NumPy what the value is, and differences of NumPy's values what the gradient is;
nothing here calls gradcli but `comparison`.
"""

from __future__ import annotations

import json
from pathlib import Path

WORDS = json.loads(Path(__file__).with_name("words.json").read_text("utf-8"))
LINES = WORDS["lines"]  # programs that a mistake in the machinery would change
BITS = WORDS["lines to the bit"]  # what is right in every bit, or wrong
