"""Whether numbers can be enclosed here, and what is raised where enclosures leave something open: without importing FLINT."""

from __future__ import annotations

from functools import cache
from importlib import import_module


class Undecidable(Exception):
    """A branch that the enclosures leave open at this precision."""


@cache
def has_flint() -> bool:
    """Whether FLINT is there: it is no part of Python on every system."""
    try:
        import_module("flint")
    except ImportError:
        return False
    return True
