"""Trees as text, in the language's own spelling.

So a statement is shown that implies products, or calls functions without brackets.
"""

from __future__ import annotations

from collections.abc import Collection

from gradcli.language.syntax import (
    Attribute,
    Binary,
    Call,
    Conditional,
    Dots,
    Expression,
    Name,
    Node,
    Number,
    Sequence,
    Slice,
    Subscript,
    Text,
    Unary,
)
from gradcli.ops.calling import textbook
from gradcli.ops.constants import DEGREE
from gradcli.ops.text import (
    ATOM,
    BINDING,
    COMPARISON,
    DISJUNCTION,
    EXPRESSION,
    MASK,
    NEGATION,
    POWER,
    TERM,
    UNARY,
)

_CLOSE = ("*", "/", "**")  # operators written without spaces around them
Part = str | tuple[Node, int]  # a text, or a node and how tightly it must hold together


def rewritten(expression: Expression, own: Collection[str]) -> str:
    """Write an expression as text that is read back to the same tree.

    ``log`` becomes ``ln``, unless it is one of the program's own functions.
    """
    out: list[str] = []
    pending: list[Part] = [(expression.root, EXPRESSION)]
    while pending:
        part = pending.pop()
        if isinstance(part, str):
            out.append(part)
            continue
        node, wanted = part
        power, parts = _tightness_and_parts(node, own)
        if power < wanted:
            parts = ["(", *parts, ")"]
        pending += reversed(parts)
    return "".join(out)


def tightness(node: Node) -> int:
    """Return how tightly the text of a node holds together."""
    return _tightness_and_parts(node, ())[0]


def _tightness_and_parts(node: Node, own: Collection[str]) -> tuple[int, list[Part]]:
    """Return how tightly a node holds together, and its parts."""
    match node:
        case Number():
            return _number(node.value)
        case Name():
            # A function used as a value would take what follows as its argument.
            taking = textbook.is_bare(node.name) and not textbook.is_own(node.name)
            return ATOM, [f"({node.name})" if taking else node.name]
        case Binary():
            return _infix(node)
        case Unary():
            if node.operator in textbook.MARKS:
                return ATOM, [textbook.MARKS[node.operator], "(", (node.operand, EXPRESSION), ")"]
            if node.operator == "not":
                return NEGATION, ["not ", (node.operand, NEGATION)]
            return UNARY, [node.operator, (node.operand, UNARY)]
        case Call():
            callee: Part = (node.callee, ATOM)
            if isinstance(node.callee, Name):
                callee = (
                    "ln" if node.callee.name == "log" and "log" not in own else node.callee.name
                )
            return ATOM, [
                callee,
                "'" * node.primes,
                "(",
                *_items(node.arguments, node.keywords),
                ")",
            ]
        case Attribute():
            return ATOM, [*_base(node.base), ".", node.name]
        case Subscript():
            comma = "," if node.tuple_ and len(node.items) == 1 else ""
            return ATOM, [*_base(node.base), "[", *_items(node.items), comma, "]"]
        case Sequence():
            comma = "," if node.bracket == "(" and len(node.items) == 1 else ""
            closing = ")" if node.bracket == "(" else "]"
            return ATOM, [node.bracket, *_items(node.items), comma, closing]
        case Slice():
            parts: list[Part] = []
            for i, bound in enumerate(node.parts):
                parts += [":" * (i > 0), *([(bound, EXPRESSION)] if bound is not None else [])]
            return ATOM, parts
        case Conditional():
            return EXPRESSION, [
                (node.value, DISJUNCTION),
                " if ",
                (node.condition, DISJUNCTION),
                " else ",
                (node.otherwise, EXPRESSION),
            ]
        case Text():
            quote = '"' if "'" in node.value else "'"
            return ATOM, [f"{quote}{node.value}{quote}"]
        case Dots():
            return ATOM, ["..."]
    raise TypeError(type(node).__name__)


def _number(value: float) -> tuple[int, list[Part]]:
    if value is DEGREE:
        return TERM, ["pi/180"]
    text = repr(value)
    text = "1e999" if text == "inf" else text
    return (UNARY if text.startswith("-") else ATOM), [text]


def _base(node: Node) -> list[Part]:
    """Return what a dot or an index follows, which a number is not."""
    return ["(", (node, EXPRESSION), ")"] if isinstance(node, Number) else [(node, ATOM)]


def _infix(node: Binary) -> tuple[int, list[Part]]:
    power = MASK if node.operator == "|" else BINDING[node.operator]
    sign = node.operator if node.operator in _CLOSE else f" {node.operator} "
    left, right = power, power + 1
    if power == POWER:
        left, right = ATOM, UNARY
    elif power == COMPARISON:
        left = MASK
    return power, [(node.left, left), sign, (node.right, right)]


def _items(nodes: list[Node], keywords: list[tuple[str, Node]] | tuple[()] = ()) -> list[Part]:
    """Items with commas between them, and keywords after them."""
    items = [*(("", node) for node in nodes), *((f"{name}=", node) for name, node in keywords)]
    return [
        part
        for i, (name, node) in enumerate(items)
        for part in (", " * (i > 0) + name, (node, EXPRESSION))
    ]
