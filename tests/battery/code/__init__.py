"""Functions in Python as people write them, with right and wrong gradients: in NumPy and SciPy, PyTorch, JAX, and C."""

from __future__ import annotations

from importlib import import_module

from battery.code.entries import Entry

THEMES = {
    "numpy": ("losses", "layers", "loops", "matrices", "compiled", "science", "kinks", "habits", "digits"),
    "torch": ("elementwise", "layers", "programs"),
    "jax": ("rules", "programs"),
}  # fmt: skip


def entries_of(library: str, theme: str) -> list[Entry]:
    """The entries of a theme. Raises ImportError where the library is not installed."""
    found: list[Entry] = import_module(f"battery.code.{library}_{theme}").ENTRIES
    return found
