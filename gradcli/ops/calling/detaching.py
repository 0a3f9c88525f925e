"""What stops gradients where it was written: conversions to plain numbers, and copies that no graph records."""

from __future__ import annotations

from gradcli.ops.calling.prefixes import JAX, TORCH

# Methods that give Python's numbers, or arrays of NumPy; and functions of the library, and of Python where the library's values are given.
_METHODS = {TORCH: frozenset({"item", "tolist", "numpy"})}
_FUNCTIONS = {TORCH: frozenset({"tensor"})}
_OF_LISTS = {TORCH: frozenset({"as_tensor", "asarray"})}  # of an array that already is one, they give it as it is
PYTHONS = frozenset({"float", "int"})  # of Python, without a prefix
# What JAX refuses for values that it differentiates: their numbers are not known while it does.
_REFUSED = {JAX: frozenset({"item", "tolist"})}


def detaches(name: str, library: str, method: bool, of_list: bool = False) -> bool:
    """Whether a library's function or method of this name gives what nothing is differentiated through."""
    table = _METHODS if method else _FUNCTIONS
    return name in table.get(library, ()) or (of_list and not method and name in _OF_LISTS.get(library, ()))


def converts(name: str) -> bool:
    """Whether a function of Python makes a plain number: it stops gradients in PyTorch, and is refused in JAX."""
    return name in PYTHONS


def is_refused(name: str, library: str, method: bool) -> bool:
    """Whether a library cannot have this of a value that it differentiates."""
    return name in PYTHONS if not method and library == JAX else name in _REFUSED.get(library, ())
