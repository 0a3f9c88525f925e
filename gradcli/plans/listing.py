"""A program for people to read: its functions and constants under names that say what they are.

Names and text of the user's are not in a program, and do not come into it here: parameters of operations are shown if they are numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

_OURS = re.compile(r"\bk\d+\b")


def listing(lines: list[str], constants: Mapping[str, Any]) -> str:
    """Lines of a program, whose constants are known by their names there."""
    return "\n".join(_OURS.sub(lambda name: _shown(constants.get(name[0], name[0])), line) for line in lines)


def named(name: str, static: Mapping[str, Any]) -> str:
    """An operation with those of its static parameters that are made of numbers."""
    plain = [f"{key}={part!r}" for key, part in static.items() if _is_plain(part)]
    return f"{name}[{', '.join(plain)}]" if plain else name


def _shown(value: Any) -> str:
    """A constant: a number as it is, a function by its name, what is larger by its dtype and shape."""
    if isinstance(value, str):
        return value
    if isinstance(value, np.dtype):
        return value.name
    if isinstance(value, np.ndarray):
        return repr(value.item()) if not value.ndim else f"<{value.dtype} {value.shape}>"
    return str(getattr(value, "__name__", type(value).__name__))


def _is_plain(part: Any) -> bool:
    if isinstance(part, tuple):
        return all(map(_is_plain, part))
    return part is None or isinstance(part, (bool, int, float))
