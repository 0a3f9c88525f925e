"""A sheet of dots and characters for a terminal: Braille by plotille, and beside it the colour of each character.

Colours are told as names; what makes them visible is for those who know the terminal.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from gradcli.report.lines import Line, Part

Row = list[tuple[str, str]]  # parts of a line, each with the name of its colour, or none
_BLANK = "\u2800"  # Braille without dots


class Style(NamedTuple):
    """What a terminal can show."""

    width: int
    height: int
    unicode: bool
    colour: bool


class Sheet:
    """A rectangle of characters over ranges of two numbers."""

    def __init__(self, columns: int, rows: int, across: tuple[float, float], up: tuple[float, float]) -> None:
        from plotille import Canvas

        self.columns, self.rows = columns, rows
        self.across = across[0], math.nextafter(across[1], math.inf)
        self.up = up[0], math.nextafter(up[1], math.inf)
        self.canvas = Canvas(columns, rows, self.across[0], self.up[0], self.across[1], self.up[1])
        self.colours: dict[tuple[int, int], str] = {}
        self.behind: set[tuple[int, int]] = set()  # characters that give way to points

    def cell(self, x: float, y: float) -> tuple[int, int]:
        """The column and the row, from below, of a point; the nearest ones of the sheet."""
        column = round((x - self.across[0]) / ((self.across[1] - self.across[0]) / (self.columns * 2))) // 2
        row = round((y - self.up[0]) / ((self.up[1] - self.up[0]) / (self.rows * 4))) // 4
        return min(max(column, 0), self.columns - 1), min(max(row, 0), self.rows - 1)

    def point(self, x: float, y: float, colour: str = "", mark: str | None = None) -> None:
        """A dot, or a character in its place. Points beyond the sheet are on its edge."""
        wide, tall = (self.across[1] - self.across[0]) / (self.columns * 2), (self.up[1] - self.up[0]) / (self.rows * 4)
        x = min(x, self.across[0] + (self.columns * 2 - 1) * wide)
        y = min(y, self.up[0] + (self.rows * 4 - 1) * tall)
        cell = self.cell(x, y)
        if cell in self.behind:
            self.behind.remove(cell)
            self.canvas.text(x, y, " ", set_=False)
        self.canvas.point(x, y, marker=mark)
        self.colours[cell] = colour

    def line(self, x0: float, y0: float, x1: float, y1: float, colour: str = "", mark: str | None = None) -> None:
        """Points from one to another."""
        dots = self.canvas.dots_between(x0, y0, x1, y1)
        steps = max(abs(dots[0]), abs(dots[1]), 1)
        for k in range(steps + 1):
            self.point(x0 + (x1 - x0) * (k / steps), y0 + (y1 - y0) * (k / steps), colour, mark)

    def text(self, column: int, row: int, text: str, colour: str = "", *, behind: bool = False) -> None:
        """Characters, in the place of all dots; of those ``behind``, points take the place."""
        wide, tall = (self.across[1] - self.across[0]) / self.columns, (self.up[1] - self.up[0]) / self.rows
        for place, character in enumerate(text[: self.columns - column], column):
            self.canvas.text(self.across[0] + (place + 0.5) * wide, self.up[0] + (row + 0.5) * tall, character)
            self.colours[place, row] = colour
            if behind:
                self.behind.add((place, row))

    def lines(self) -> list[Row]:
        """The sheet from above, each line in parts of one colour."""
        found = []
        for place, text in enumerate(self.canvas.plot("\n").split("\n")):
            row = self.rows - 1 - place
            parts: Row = []
            for column, character in enumerate(text):
                blank = character in (_BLANK, " ")
                colour = "" if blank else self.colours.get((column, row), "")
                if parts and (parts[-1][1] == colour or blank):
                    parts[-1] = (parts[-1][0] + (" " if blank else character), parts[-1][1])
                else:
                    parts.append((" " if blank else character, colour))
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
