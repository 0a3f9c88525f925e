"""Domains of functions, as their records say them in words: "x > 0", "a > 0 and 0 <= x <= 1", "y > 0, or x = 0"."""

from __future__ import annotations

import math
import re

_PART = re.compile(r"(?:(-?[\d.]+) <=? )?(\w+)(?: ([<>=])=? (-?[\d.]+))?")


def ranges(domain: str) -> list[dict[str, tuple[float, float]]]:
    """The ranges of names in each alternative of a domain; empty where its words are about none."""
    found: list[dict[str, tuple[float, float]]] = []
    for alternative in domain.split(", or "):
        found.append({})
        for part in filter(None, map(_PART.match, alternative.split(" and "))):
            lower, name, sign, number = part.groups()
            low = float(lower) if lower else float(number) if sign in (">", "=") else -math.inf
            high = float(number) if sign in ("<", "=") else math.inf
            if math.isfinite(low) or math.isfinite(high):
                found[-1][name] = low, high
    return found if any(found) else []
