"""Calls of every function of the catalogue, in every library's spelling, with arguments that are
right, nearly right, and wrong.
"""

from __future__ import annotations

import json
from functools import cache
from random import Random
from typing import Any

import numpy as np

from fuzz import WORDS

WRONG = WORDS["wrong arguments"]
_PREFIXES = WORDS["prefixes"]


@cache
def _catalogue() -> list[tuple[str, tuple[str, ...]]]:
    from oracles.catalogue import calls_of, catalogue

    return [(name, calls_of(name) or ("V",)) for name in catalogue()]


@cache
def values() -> dict[str, Any]:
    """Short forms of the arrays that the texts use, as records have them."""
    from oracles.values import VALUES

    found = {name: array[::6] if name in "UXYZ" else array for name, array in VALUES.items()}
    found["x"] = np.float64(1.25)
    return {name: _plain(array.tolist()) for name, array in found.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return (
        str(value)
        if isinstance(value, float) and (value != value or abs(value) == float("inf"))
        else value
    )


def parts_of(text: str) -> list[str]:
    """The arguments of a call."""
    parts, depth, quote, part = [], 0, "", ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "," and not depth:
            parts.append(part.strip())
            part = ""
            continue
        part += letter
    return [*parts, part.strip()] if part.strip() else parts


def call(rng: Random) -> str:
    """A call with at most two arguments that are not those of the tables."""
    name, texts = rng.choice(_catalogue())
    prefix = rng.choice(_PREFIXES)
    parts = parts_of(rng.choice(texts))
    for _ in range(rng.choice((0, 1, 1, 1, 2))):
        change, wrong = rng.random(), rng.choice(WRONG)
        if change < 0.5 and parts:
            parts[rng.randrange(len(parts))] = wrong
        elif change < 0.6:
            parts.insert(rng.randrange(len(parts) + 1), wrong)
        elif change < 0.65 and parts:
            del parts[rng.randrange(len(parts))]
        else:
            parts.append(f"{rng.choice(_keywords(name))}={wrong}")
    if not prefix and parts and rng.random() < 0.15:
        return f"({parts[0]}).{name}({', '.join(parts[1:])})"
    text = f"{prefix}{name}({', '.join(parts)})"
    return rng.choice(
        (
            text,
            text,
            f"sum({text})",
            f"{text}*x",
            f"{text}[0]",
            f"grad({text}, x)",
            f"sum({text}**2)",
        )
    )


@cache
def _keywords(name: str) -> list[str]:
    from gradcli.ops.calling.meanings import lookup
    from gradcli.ops.calling.prefixes import JAX, NUMPY, SCIPY, TORCH

    found = {
        spelling
        for library in (NUMPY, TORCH, SCIPY, JAX)
        for parameter in getattr(lookup(name, library), "parameters", ())
        for spelling in parameter.spellings
    }
    return sorted(found) or ["axis"]


def record(rng: Random) -> str:
    """A record of JSON Lines with a call."""
    from re import findall

    text = call(rng)
    names = set(findall(r"\b[A-Zx]\b", text))
    return json.dumps(
        {"expr": text, "at": {name: value for name, value in values().items() if name in names}}
    )
