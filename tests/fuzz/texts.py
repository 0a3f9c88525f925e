"""Texts that are hardly programs: bytes, tokens in any order, and what stands in samples and
documentation, changed a little.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from random import Random

from fuzz import WORDS

HOME = Path(__file__).parent.parent.parent
_TOKENS = WORDS["tokens"]
_ALPHABETS = WORDS["alphabets"]


@cache
def samples() -> list[str]:
    """Programs that are known to be read: samples' files and their lines, examples of the manual
    and of records.
    """
    from gradcli.ops.registry import composites, registry

    files = [path.read_text() for path in sorted((HOME / "samples").glob("*.grad"))]
    manual = re.findall(
        r"gradcli (?:eval|check -e|diff) '([^']+)'",
        "".join(page.read_text("utf-8") for page in sorted((HOME / "docs").glob("*.md"))),
    )
    examples = [
        records[name].example
        for records in (registry(), composites())
        for name in sorted(records)
        if records[name].example
    ]
    lines = [
        line
        for text in files
        for line in text.split("\n")
        if line.strip() and not line.startswith("#")
    ]
    return [*files, *lines, *lines, *manual, *manual, *examples]


@cache
def sample_records() -> list[str]:
    return [
        line
        for path in sorted((HOME / "samples").glob("*.jsonl"))
        for line in path.read_text().split("\n")
        if line.strip()
    ]


def raw(rng: Random) -> str:
    """Any bytes, as `os.fsdecode` has them."""
    return rng.randbytes(rng.choice((1, 3, 10, 40, 200))).decode("utf-8", "surrogateescape")


def letters(rng: Random) -> str:
    alphabet = "".join(rng.sample(_ALPHABETS, 2)).encode("utf-8", "ignore").decode()
    return "".join(rng.choice(alphabet) for _ in range(rng.choice((2, 6, 15, 60))))


def tokens(rng: Random) -> str:
    between = rng.choice(("", " ", " "))
    return between.join(rng.choice(_TOKENS) for _ in range(rng.randrange(1, 14)))


def long(rng: Random) -> str:
    """One thing many times over: what is read in more than linear time takes minutes."""
    part = rng.choice(_TOKENS) or "("
    count = rng.choice((300, 3000, 20000))
    return (
        rng.choice(("", "x", "f(", "1+", "sum("))
        + part * count
        + rng.choice(("", "x", ")", "b", "\n1"))
    )


def mutated(rng: Random) -> str:
    text = changed(rng, rng.choice(samples()))
    return text if len(text) < 4000 else text[: rng.randrange(4000)]


def changed(rng: Random, text: str) -> str:
    """A text with a few letters or tokens taken away, doubled, exchanged, or put in."""
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(text) + 1)
        width = rng.choice((1, 1, 2, 8))
        how = rng.randrange(6)
        if how == 0:
            text = text[:at] + text[at + width :]
        elif how == 1:
            text = text[:at] + text[at : at + width] * rng.choice((2, 3, 50)) + text[at + width :]
        elif how == 2:
            text = text[:at] + rng.choice(_TOKENS) + text[at:]
        elif how == 3:
            text = text[:at] + rng.choice(_TOKENS) + text[at + width :]
        elif how == 4:
            other = rng.choice(samples())
            text = text[:at] + other[rng.randrange(len(other) + 1) :][:30] + text[at:]
        else:
            text = text[:at] + letters(rng)[:4] + text[at:]
    return text
