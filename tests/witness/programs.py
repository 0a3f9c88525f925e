"""Random programs of the grammar that Python and the language share.

A `Grower` puts texts together and leaves brackets out at random, so that precedence decides what
they mean; what NumPy does not compute is taken back. The random numbers are `random.Random`'s,
hypothesis' (`st.randoms`) among them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from random import Random

import numpy as np

from witness import WORDS
from witness.numpy_values import Unusable, Values, value_of

NAMES: dict[str, tuple[int, ...]] = {"x": (3,), "y": (2, 3), "z": (), "w": (3, 3), "v": (2, 1, 3)}

_NUMBERS = WORDS["numbers"]
_CONSTANTS = WORDS["constants"]
_UNARY = WORDS["functions of one"]
_BINARY = WORDS["functions of two"]
_REDUCTIONS = WORDS["reductions"]
_METHODS = WORDS["methods"]
_MOVES = WORDS["moves"]
_MADE = WORDS["arrays"]
_OPERATORS = ["+", "-", "*", "/", "**", "@", "//", "%"]
_OFTEN = [12, 12, 14, 8, 5, 8, 3, 4]
_COMPARISONS = ["<", "<=", ">", ">=", "==", "!="]
_TRIES = 6


class Grower:
    """Makes texts out of texts. Without values, only Python's grammar says what is taken back."""

    def __init__(self, random: Random, values: Values | None) -> None:
        self.random, self.values = random, values
        self.names = list(NAMES)
        self.bound: list[str] = []  # lines before the query

    def program(self, depth: int) -> str:
        """A program of one to three lines; the last is the query."""
        for number in range(self.random.choice([0, 0, 0, 1, 1, 2])):
            name = f"a{number}"
            self.bound.append(f"{name} = {self.expression(depth - 1)}")
            if self.random.random() < 0.2:
                changed = (
                    f"{name} {self.random.choice(['+=', '-=', '*=', '/=', '**=', '@='])} "
                    f"{self.expression(1)}"
                )
                if self.fits(f"{changed}\n{name}"):
                    self.bound.append(changed)
            self.names += [name, name]
        query = self.expression(depth)
        separator = self.random.choice(["\n", "; ", " # with a comment\n"])
        return separator.join([*self.bound, query])

    def expression(self, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.1:
            return self.atom()
        grow = self.random.choices(_FORMS, _WEIGHTS)[0]
        for _ in range(_TRIES):
            text = grow(self, depth)
            if self.fits(text):
                return text
        return self.atom()

    def fits(self, text: str) -> bool:
        if len(text) > 400:
            return False
        if self.values is None:
            return _parses(text)
        try:
            value = value_of("\n".join([*self.bound, text]), self.values)
        except Unusable:
            return False
        return 0 < value.size <= 60

    def atom(self) -> str:
        if self.random.random() < 0.65:
            return self.random.choice(self.names)
        kind = self.random.random()
        return self.random.choice(_NUMBERS if kind < 0.6 else _CONSTANTS if kind < 0.8 else _MADE)

    def operand(self, depth: int, bare: float = 0.5) -> str:
        """An expression, in brackets or, with this probability, not."""
        text = self.expression(depth - 1)
        return text if self.random.random() < bare or text.isalnum() else f"({text})"

    # -- forms
    # ------------------------------------------------------------------------------------------------

    def binary(self, depth: int) -> str:
        (operator,) = self.random.choices(_OPERATORS, _OFTEN)
        left, right = self.operand(depth), self.operand(depth)
        if operator == "**" and self.random.random() < 0.7:
            right = self.random.choice(WORDS["exponents"])
        space = self.random.choice(["", " "])
        return f"{left}{space}{operator}{space}{right}"

    def unary(self, depth: int) -> str:
        return self.random.choice(WORDS["signs"]) + self.operand(depth)

    def bracket(self, depth: int) -> str:
        return f"({self.expression(depth - 1)})"

    def condition(self, depth: int) -> str:
        text = f"{self.operand(depth)} {self.random.choice(_COMPARISONS)} {self.operand(depth)}"
        if self.random.random() < 0.25:
            text = (
                f"{text} {self.random.choice(['and', 'or'])} {self.condition(depth - 1)}"
                if depth
                else text
            )
        return f"not {text}" if self.random.random() < 0.1 else text

    def conditional(self, depth: int) -> str:
        return f"{self.operand(depth)} if {self.condition(depth - 1)} else {self.operand(depth)}"

    def masked(self, depth: int) -> str:
        return f"({self.condition(depth - 1)})*{self.operand(depth)}"

    def call(self, depth: int) -> str:
        if self.random.random() < 0.6:
            return f"{self.random.choice(_UNARY)}({self.expression(depth - 1)})"
        return (
            f"{self.random.choice(_BINARY)}({self.expression(depth - 1)}, "
            f"{self.expression(depth - 1)})"
        )

    def reduction(self, depth: int) -> str:
        inner, arguments = self.expression(depth - 1), self.arguments()
        if self.random.random() < 0.5:
            return f"({inner}).{self.random.choice(_METHODS)}({arguments})"
        return f"{self.random.choice(_REDUCTIONS)}({', '.join(filter(None, [inner, arguments]))})"

    def arguments(self) -> str:
        found = []
        if self.random.random() < 0.8:
            axis = self.random.choice(WORDS["axes"])
            found.append(axis if self.random.random() < 0.3 else f"axis={axis}")
        if self.random.random() < 0.3:
            found.append(f"keepdims={self.random.choice(['True', 'False'])}")
        return ", ".join(found)

    def move(self, depth: int) -> str:
        choice = self.random.choice
        return choice(_MOVES).format(
            self.operand(depth), self.operand(depth), axis=choice(["0", "1", "-1", "-2", "2"]), shift=choice(["1", "-1", "2", "0"]),
            few=choice(["1", "2", "3"]), shape=choice(WORDS["shapes"]),
            axes=choice(WORDS["permutations"]),
        )  # fmt: skip

    def subscript(self, depth: int) -> str:
        base = (
            self.random.choice(self.names)
            if self.random.random() < 0.6
            else f"({self.expression(depth - 1)})"
        )
        if self.random.random() < 0.1:
            return f"{base}[{base} {self.random.choice('<>')} {self.random.choice(_NUMBERS)}]"
        items = ", ".join(self.item() for _ in range(self.random.choice([1, 1, 1, 2, 2, 3])))
        return f"{base}[{items}{',' if self.random.random() < 0.05 else ''}]"

    def item(self) -> str:
        choice = self.random.choice
        if self.random.random() < 0.4:
            return choice(WORDS["indices"])
        if self.random.random() < 0.7:
            start, stop = (choice(WORDS["slice ends"]) for _ in range(2))
            return f"{start}:{stop}" + choice(WORDS["slice steps"])
        return choice(WORDS["lists of indices"])

    def listed(self, depth: int) -> str:
        return f"[{', '.join(self.expression(depth - 2) for _ in range(self.random.choice([1, 2, 3])))}]"


_FORMS: list[Callable[[Grower, int], str]] = [
    Grower.binary, Grower.unary, Grower.bracket, Grower.conditional, Grower.masked, Grower.call, Grower.reduction, Grower.move,
    Grower.subscript, Grower.listed,
]  # fmt: skip
_WEIGHTS = [30, 6, 3, 5, 2, 12, 12, 12, 12, 4]


def _parses(text: str) -> bool:
    try:
        return all(
            isinstance(part, (ast.Expr, ast.Assign, ast.AugAssign)) for part in ast.parse(text).body
        )
    except (SyntaxError, RecursionError, MemoryError):
        return False


def values_of(number: int) -> dict[str, np.ndarray]:
    """Values of the names, none of them near 0 or near each other."""
    random = np.random.default_rng(number)
    return {
        name: (random.uniform(0.3, 2.0, shape) * random.choice([-1.0, 1.0, 1.0], shape))[()]
        for name, shape in NAMES.items()
    }


def seed_of(number: int, shape: tuple[int, ...]) -> np.ndarray:
    """A seed whose entries all differ."""
    return np.random.default_rng([number, 1]).uniform(-2.0, 2.0, shape)
