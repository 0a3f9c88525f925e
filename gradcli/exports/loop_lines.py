"""Lines of loops as a language has them: indices of axes, places in flat arrays, tables, and C's texts with the language's own words."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np

from gradcli.exports.naming import Names
from gradcli.exports.syntax import Syntax
from gradcli.plans.axes import Axis

_LETTERS = "ijklmnpqrsuvw"
_CALL = re.compile(r"\bg_(\w+)")
_HEX = re.compile(r"\(\(real\)(-?)(0x[0-9a-f.]+p[-+]\d+|__builtin_inf\(\)|__builtin_nan\(\"\"\))\)")


class LoopLines:
    """The lines of one function's body, one after the other, and the arrays that they declare, with their sizes."""

    def __init__(self, syntax: Syntax, functions: Mapping[str, str], names: Names) -> None:
        self.syntax, self.functions, self.names = syntax, functions, names
        self.lines: list[str] = []
        self.arrays: list[tuple[str, int]] = []
        self._depth = 1
        self._axes: dict[Axis, str] = {}

    def add(self, line: str) -> None:
        self.lines.append("    " * self._depth + line)

    def table(self, name: str, values: np.ndarray) -> None:
        """A table of numbers, before everything else."""
        self.lines[:0] = self.syntax.table(name, values)

    def array(self, name: str, size: int) -> None:
        """Declare an array."""
        self.arrays.append((name, size))
        self.add(self.syntax.array(name, size))

    def index(self, axis: Axis) -> str:
        axis = axis.same
        if axis not in self._axes:
            n = len(self._axes)
            letter = _LETTERS[n % len(_LETTERS)] + (str(n // len(_LETTERS)) if n >= len(_LETTERS) else "")
            while letter in self.names.taken:
                letter += "_"
            self._axes[axis] = letter
        return self._axes[axis]

    def opened(self, axes: Sequence[Axis]) -> None:
        for axis in axes:
            self.add(self.syntax.loop(self.index(axis), axis.extent))
            self._depth += 1

    def closed(self, axes: Sequence[Axis]) -> None:
        for _ in axes:
            self._depth -= 1
            self.add("}")

    def loop(self, index: str, extent: int, line: str) -> None:
        """A loop of one line."""
        self.add(self.syntax.loop(index, extent))
        self.add("    " + line)
        self.add("}")

    def place(self, parts: Sequence[tuple[str, int]]) -> str:
        """The flat index of entries by their indices and extents."""
        text, is_sum = "", False
        for index, extent in parts:
            if not text:
                text = index
            else:
                text = f"{f'({text})' if is_sum else text}*{extent} + {index}"
                is_sum = True
        return text or "0"

    def words(self, template: str) -> str:
        """C's text in the language: its functions by their names there, numbers in decimals."""

        def decimal(found: re.Match[str]) -> str:
            text = found[2]
            value = math.inf if "inf" in text else math.nan if "nan" in text else float.fromhex(text)
            return self.syntax.number(-value if found[1] else value).replace("{", "{{")

        text = _HEX.sub(decimal, template).replace("(real)", self.syntax.as_number)
        return _CALL.sub(lambda name: self.functions.get(name[1], name[1]), text)
