"""A sheet of dots and characters for a terminal: Braille, and beside it the colour of each character.

Colours are told as names; what makes them visible is for those who know the terminal.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gradcli.report.lines import Line, Part

Row = list[tuple[str, str]]  # parts of a line, each with the name of its colour, or none
_BITS = np.array([[64, 128], [4, 32], [2, 16], [1, 8]])  # of the dots of a character in Braille, from below


class Style(NamedTuple):
    """What a terminal can show."""

    width: int
    height: int
    unicode: bool
    colour: bool


class Sheet:
    """A rectangle of characters over ranges of two numbers."""

    def __init__(self, columns: int, rows: int, across: tuple[float, float], up: tuple[float, float]) -> None:
        self.columns, self.rows = columns, rows
        self.left, self.low = across[0], up[0]
        self.wide = (math.nextafter(across[1], math.inf) - self.left) / (2 * columns)  # between dots
        self.tall = (math.nextafter(up[1], math.inf) - self.low) / (4 * rows)
        self.dots = np.zeros((4 * rows, 2 * columns), bool)
        self.characters: dict[tuple[int, int], str] = {}
        self.colours: dict[tuple[int, int], str] = {}
        self.behind: set[tuple[int, int]] = set()  # characters that give way to points

    def _dots_from_corner(self, x: float, y: float) -> tuple[int, int]:
        return round((x - self.left) / self.wide), round((y - self.low) / self.tall)

    def _dot(self, x: float, y: float) -> tuple[int, int]:
        """The column and the row, from below, of the nearest dot; points beyond the sheet are on its edge."""
        column, row = self._dots_from_corner(x, y)
        return min(max(column, 0), 2 * self.columns - 1), min(max(row, 0), 4 * self.rows - 1)

    def cell(self, x: float, y: float) -> tuple[int, int]:
        """The column and the row, from below, of the character at a point."""
        column, row = self._dot(x, y)
        return column // 2, row // 4

    def point(self, x: float, y: float, colour: str = "", mark: str | None = None) -> None:
        """A dot, or a character in its place."""
        column, row = self._dot(x, y)
        cell = column // 2, row // 4
        if cell in self.behind:
            self.behind.remove(cell)
            del self.characters[cell]
        self.dots[row, column] = True
        if mark is not None:
            self.characters[cell] = mark
        self.colours[cell] = colour

    def line(self, x0: float, y0: float, x1: float, y1: float, colour: str = "", mark: str | None = None) -> None:
        """Points from one to another."""
        begin, end = self._dots_from_corner(x0, y0), self._dots_from_corner(x1, y1)
        steps = max(abs(begin[0] - end[0]), abs(begin[1] - end[1]), 1)
        for k in range(steps + 1):
            self.point(x0 + (x1 - x0) * (k / steps), y0 + (y1 - y0) * (k / steps), colour, mark)

    def text(self, column: int, row: int, text: str, colour: str = "", *, behind: bool = False) -> None:
        """Characters, in the place of all dots; of those ``behind``, points take the place."""
        for cell in ((place, row) for place in range(column, min(column + len(text), self.columns))):
            self.characters[cell] = text[cell[0] - column]
            self.colours[cell] = colour
            if behind:
                self.behind.add(cell)

    def lines(self) -> list[Row]:
        """The sheet from above, each line in parts of one colour."""
        codes = (self.dots.reshape(self.rows, 4, self.columns, 2) * _BITS[:, None]).sum(axis=(1, 3))
        found = []
        for row in reversed(range(self.rows)):
            parts: Row = []
            for column, code in enumerate(codes[row].tolist()):
                character = self.characters.get((column, row), chr(0x2800 + code) if code else " ")
                colour = "" if character == " " else self.colours.get((column, row), "")
                if parts and (parts[-1][1] == colour or character == " "):
                    parts[-1] = (parts[-1][0] + character, parts[-1][1])
                else:
                    parts.append((character, colour))
            found.append(parts)
        return found


class Chart(NamedTuple):
    """Rows of a picture as a result, which stands above those that it is of."""

    rows: list[Row]
    error: None = None
    failed: bool = False

    def lines(self, digits: int | None = None, width: int | None = None) -> list[Line]:
        """The rows, each in parts with a colour."""
        return [Line(None, [Part(text, colour) for text, colour in row]) for row in self.rows]
