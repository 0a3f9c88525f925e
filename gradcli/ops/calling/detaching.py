"""What stops gradients where it was written: conversions to plain numbers, and copies that no graph records."""

from __future__ import annotations

from gradcli.ops.calling.prefixes import JAX, TORCH

# Methods that give Python's numbers, or arrays of NumPy; and functions of the library.
_METHODS = {TORCH: frozenset({"item", "tolist", "numpy"})}
_FUNCTIONS = {TORCH: frozenset({"tensor"})}
_OF_LISTS = {TORCH: frozenset({"as_tensor", "asarray"})}  # of an array that already is one, they give it as it is
CONVERSIONS = frozenset({"float", "int", "item"})  # of Python, and of whatever has one entry; int's have no derivative anyway
# What JAX refuses for values that it differentiates: their numbers are not known while it does.
_REFUSED = {JAX: frozenset({"item", "tolist"})}


def detaches(name: str, library: str, method: bool, of_list: bool = False) -> bool:
    """Whether a library's function or method of this name gives what nothing is differentiated through."""
    table = _METHODS if method else _FUNCTIONS
    return name in table.get(library, ()) or (of_list and not method and name in _OF_LISTS.get(library, ()))


def is_refused(name: str, library: str, method: bool) -> bool:
    """Whether a library cannot have this method of a value that it differentiates."""
    return method and name in _REFUSED.get(library, ())
