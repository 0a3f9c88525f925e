"""A graph as statements of a language of expressions: text as one more domain in which a graph is interpreted.

A value gets a name where the program gave it one, where it is used more than once, and where its text would be long.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from gradcli.exports.subject import Names
from gradcli.graph.interpret import Transcription, interpret
from gradcli.graph.nodes import Expr, reachable
from gradcli.ops.calling.inputs import FLOAT
from gradcli.ops.spec import Op
from gradcli.ops.text import ATOM, BINDING, SUM, UNARY, Piece

LONGEST = 72  # characters of an expression that is not given a name of its own
OPERATORS = ("+", "-", "*", "/", "<", "<=", ">", ">=", "==", "!=")  # that all languages here share


class Statements(Transcription[Any]):
    """What every language of expressions shares: names, operators, numbers."""

    assign = "{name} = {text}"
    pieces: ClassVar[type[Piece]] = Piece
    powers = "**"

    def __init__(self, roots: Sequence[Expr], names: Names, labels: Mapping[Expr, str], leaves: Mapping[Expr, str]) -> None:
        self.names, self.labels, self.leaves = names, labels, leaves
        self.order = reachable(roots)
        self.uses = Counter(operand for node in self.order for operand in node.operands if operand is not None)
        self.uses.update(roots)
        self.lines: list[str] = []
        self.roots = list(roots)

    def written(self) -> list[str]:
        """The text of each root; `lines` are the statements before it."""
        table = interpret(self.order, self)
        return [table[root][0] for root in self.roots]

    # -- what nodes are -------------------------------------------------------------------------------------------

    def leaf(self, node: Expr) -> Piece:
        return self.pieces((self.leaves[node], ATOM))

    def constant(self, node: Expr) -> Piece:
        value = node.payload
        if isinstance(value, np.ndarray) and value.ndim:
            return self._named(node, self.array(value), ATOM) if value.size > 3 else self.pieces((self.array(value), ATOM))
        if isinstance(value, (np.ndarray, np.generic)):
            value = value.item()
        if node.kind != FLOAT:
            return self.pieces((self.truth(bool(value)) if isinstance(value, bool) else str(int(value)), ATOM))
        number = float(value)
        return self.pieces((self.number(number), UNARY if number < 0 or math.copysign(1, number) < 0 else ATOM))

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Piece:
        text, power = self._text(node, op, operands)
        if node in self.labels or self.uses[node] > 1 or len(text) > LONGEST:
            return self._named(node, text, power)
        return self.pieces((text, power))

    def _text(self, node: Expr, op: Op, operands: list[Any]) -> tuple[str, int]:
        sign = op.text.infix
        if sign in OPERATORS and op.rewriting.algebra != "chain" and len(operands) == 2:
            binding = BINDING[sign]
            left, right = operands
            return f"{left.at(binding + (binding < SUM))} {sign} {right.at(binding + 1)}", binding
        if op.text.prefix == "-":
            return f"-{operands[0].at(UNARY + 1)}", UNARY
        if sign == "**" and self.powers:
            return f"{operands[0].at(ATOM)} ** {operands[1].at(ATOM)}", BINDING["**"]
        template = self.template(node, op, operands)
        given = [operand for operand in operands if operand is not None]
        if template == "{0}":
            same: tuple[str, int] = (given[0][0], given[0][1])
            return same
        for place, operand in enumerate(given):
            if template.count(f"{{{place}") > 1 and not operand[0].replace(".", "_").isidentifier():
                name = self.names.new()
                self.lines.append(self.assign.format(name=name, text=operand[0]))
                given[place] = self.pieces((name, ATOM))
        text = template.format(*given)
        return (text[1:-1], SUM) if template[:1] == "(" and _is_bracketed(text) else (text, ATOM)

    def _named(self, node: Expr, text: str, power: int) -> Piece:
        label = self.labels.get(node)
        name = self.names.of(label) if label is not None else self.names.new()
        self.lines.append(self.assign.format(name=name, text=text))
        return self.pieces((name, ATOM))

    # -- what languages differ in ---------------------------------------------------------------------------------

    def template(self, node: Expr, op: Op, operands: list[Any]) -> str:
        raise NotImplementedError

    def number(self, value: float) -> str:
        raise NotImplementedError

    def truth(self, value: bool) -> str:
        return str(value)

    def array(self, value: np.ndarray) -> str:
        raise NotImplementedError


def _is_bracketed(text: str) -> bool:
    """Whether one pair of brackets holds a whole text."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if not depth:
            return place == len(text) - 1
    return False


def wrapped(line: str, width: int = 116) -> list[str]:
    """A long line in several, broken after commas inside of brackets."""
    found = []
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    while len(line) > width:
        depth, place, quote = 0, 0, ""
        for i, character in enumerate(line[: width - 1]):
            if quote:
                quote = "" if character == quote else quote
            elif character in "'\"":
                quote = character
            else:
                depth += (character in "([{") - (character in ")]}")
                if character == "," and depth and line[i + 1] == " ":
                    place = i + 1
        if not place:
            break
        found.append(line[:place])
        line = indent + line[place + 1 :]
        if not found[-1].strip():
            break
    return [*found, line]


# -- How languages of loops write numbers, arrays, loops and choices, and which text of an
# operation they share: C's.


class Syntax(ABC):
    """What the languages differ in."""

    name: str
    as_number = "(double)"

    @abstractmethod
    def number(self, value: float) -> str: ...
    @abstractmethod
    def table(self, name: str, values: np.ndarray) -> list[str]: ...
    @abstractmethod
    def array(self, name: str, size: int) -> str: ...
    @abstractmethod
    def scalar(self, name: str, text: str) -> str: ...
    @abstractmethod
    def variable(self, name: str, text: str) -> str: ...
    @abstractmethod
    def loop(self, index: str, extent: int) -> str: ...

    def assigned(self, place: str, text: str) -> str:
        return f"{place} = {text};"

    def choice(self, condition: str, x: str, y: str) -> str:
        return f"{condition} ? {x} : {y}"

    def entry(self, name: str, index: str) -> str:
        return f"{name}[{index}]"


def in_words(op: Op, present: Sequence[bool], static: Mapping[str, Any]) -> str:
    """The text of an operation on numbers: C's, with numbers in decimals."""
    text = op.text.in_c(present, **static)
    if not text and op.text.scalar:
        text = op.text.scalar if isinstance(op.text.scalar, str) else op.text.scalar(**static)
    return text
