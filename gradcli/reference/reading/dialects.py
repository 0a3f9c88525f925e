"""Which library's meaning a name without a prefix has, or a method, where libraries differ: by what the text shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.language.frames import Frame
from gradcli.language.reading import shown
from gradcli.language.scope import Scope
from gradcli.reference.algebra import Unsupported
from gradcli.reference.reading.calls import Calls
from gradcli.reference.reading.libraries import JAX, NUMPY, TORCH
from gradcli.reference.reading.names import Line, line_of

_ORDER = (NUMPY, TORCH, JAX)
_OF_NUMPY = frozenset({"sum", "max", "min"})  # without a prefix, in every text


class Dialects:
    """The libraries that names of one program belong to."""

    def __init__(self, scope: Scope, calls: Calls) -> None:
        self.scope, self.calls = scope, calls

    def bare(self, name: str, frame: Frame, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Line:
        """How a name without a prefix is called."""
        lines = {library: line for library in _ORDER if (line := line_of(name, library)) is not None}
        if not lines:
            raise Unsupported(f"the name {name!r} is not in the judge's table")
        if name in _OF_NUMPY:
            return lines[NUMPY]
        if len({line.means() for line in lines.values()}) == 1:
            return next(iter(lines.values()))
        outside = frame.statement is None and not shown(frame, self.scope).prefixes
        asked = None if outside else self._shown(frame)
        if asked is None:
            asked = NUMPY if TORCH not in lines or (NUMPY in lines and self._takes(lines[NUMPY], arguments, keywords)) else TORCH
        return lines.get(asked) or lines.get(NUMPY) or lines[TORCH]

    def method(self, name: str, frame: Frame, base: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> tuple[Line, str]:
        """How a method is called, and whose it is."""
        asked = self._shown(frame)
        if asked is None:
            asked = self._usual(name, base, arguments, keywords)
        own = f"Tensor.{name}" if asked == TORCH else f"ndarray.{name}"
        for key, library in ((own, asked), (name, asked), (name, NUMPY), (f"Tensor.{name}", TORCH), (name, TORCH)):
            if (line := line_of(key, library)) is not None:
                return line, asked
        raise Unsupported(f"the method {name!r} is not in the judge's table")

    def _usual(self, name: str, base: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> str:
        """The library of a method where nothing in the text says whose it is."""
        if not _is_of_arrays(name) or "dim" in keywords or "keepdim" in keywords:
            return TORCH
        if name == "transpose" and len(arguments) == 2 and self.calls.arrays.of(base).ndim != 2:
            return TORCH
        if name == "repeat" and len(arguments) == 1 and isinstance(arguments[0], tuple) and not keywords:
            return TORCH
        line = line_of(f"ndarray.{name}", NUMPY) or line_of(name, NUMPY)
        taken = line is not None and self._takes(line, [base, *arguments], keywords)
        theirs = line_of(f"Tensor.{name}", TORCH) or line_of(name, TORCH)
        return NUMPY if taken or theirs is None or not self._takes(theirs, [base, *arguments], keywords) else TORCH

    def _takes(self, line: Line, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> bool:
        """Whether a library can take a call."""
        try:
            self.calls.bound(line, arguments, keywords)
        except Unsupported:
            return False
        return True

    def only(self, frame: Frame) -> str | None:
        """The library that a statement, or else its program, shows alone."""
        seen = self.scope.dialect.seen
        found = shown(frame, self.scope).prefixes or seen.prefixes or seen.imports
        return next(iter(found)) if len(found) == 1 else self.scope.dialect.wanted() if not found else None

    def _shown(self, frame: Frame) -> str | None:
        own, seen = shown(frame, self.scope), self.scope.dialect.seen
        found = own.prefixes or seen.prefixes or {**seen.imports, **seen.constants}
        if found:
            return next(library for library in _ORDER if library in found)
        return self.scope.dialect.wanted() or (TORCH if own.tensors or seen.methods else None)


def _is_of_arrays(name: str) -> bool:
    return name != "view" and callable(getattr(np.ndarray, name, None))
