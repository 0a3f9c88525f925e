"""Where gradcli is not what a library's function of the same name is, and why: everything else is
held against it. They stand in data/differences.json.

Spellings are whole functions; calls are single texts, with the entries (of the flattened result)
that differ, or None for all. Slopes are gradients of PyTorch's that are not the derivatives. Rough
are errors of the library's own that are larger than a few units in the last place: relative, and of
values near zero absolute.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from recorded import read_table

_TABLES: dict[str, Any] = read_table("differences.json")
SPELLINGS: dict[str, str] = _TABLES["spellings"]
CALLS: dict[str, tuple[str, Collection[int] | None]] = _TABLES["calls"]
SLOPES: dict[str, tuple[str, Collection[int] | None]] = _TABLES["slopes"]
ROUGH: dict[str, tuple[str, float, float]] = _TABLES["rough"]
ROUGH_SLOPES: dict[str, tuple[str, float]] = _TABLES["rough slopes"]
# What a name without a prefix means, where that is not the first library's function that has it.
BARE: dict[str, str] = _TABLES["bare"]

# Methods that arrays and tensors both have mean NumPy's, unless PyTorch's keywords are written;
# these mean PyTorch's.
TENSORS_FIRST = frozenset({"repeat", "squeeze", "view", "flatten"})
