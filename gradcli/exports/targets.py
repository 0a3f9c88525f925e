"""The languages and libraries that functions are exported to, by name; what each needs is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Protocol

from gradcli.errors import one_of
from gradcli.exports.subject import Subject

TARGETS = ("latex", "numpy", "torch", "jax", "c", "javascript", "sympy")
ALIASES = {"js": "javascript"}
SUFFIXES = {".py": ("numpy", "torch", "jax", "sympy"), ".c": ("c",), ".js": ("javascript",), ".tex": ("latex",)}
_MADE = {"c": ("c", "CFile"), "javascript": ("javascript", "JavaScriptModule")}
_MADE |= {"latex": ("latex", "LatexFile"), "sympy": ("sympy", "SympyModule")}


class Target(Protocol):
    """What writes functions."""

    def file(self, subjects: Sequence[Subject]) -> str:
        """The text of a file with these functions. Raises UnsupportedInTargetError."""


def target_of(name: str) -> Target:
    """The target of a name. Raises UsageError for others."""
    one_of("--to", name, TARGETS)
    if name in _MADE:
        module, kind = _MADE[name]
        found: Target = getattr(import_module(f"gradcli.exports.{module}"), kind)()
        return found
    from gradcli.exports import python
    from gradcli.exports.python import PythonModule

    return PythonModule(getattr(python, name.upper()))
