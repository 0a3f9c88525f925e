"""The tree of a parsed program: statements and expressions with their places in the text.

The parser makes the nodes of a statement in an order in which operands come before what uses them,
and keeps that list; whatever walks a statement is a loop over it, so nothing recurses however deep
an expression is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from copy import copy
from typing import Any, NamedTuple

from gradcli.errors import AmbiguousError, GradcliError, TypeMismatchError
from gradcli.ops.calling import textbook
from gradcli.ops.constants import DEGREE
from gradcli.ops.facts import Fixed
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
    Expansion,
)
from gradcli.texts import Source, Span


class Node:
    """An expression; ``start`` and ``end`` are offsets in the statement's source."""

    __slots__ = ("end", "place", "start")
    start: int
    end: int
    place: int  # index in the statement's list of nodes

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)

    def children(self) -> Iterator[Node]:
        """Yield the parts of the node."""
        for slot in self.__slots__:
            value = getattr(self, slot)
            for part in value if isinstance(value, list) else [value]:
                inner = part[1] if isinstance(part, tuple) else part  # a keyword with its value
                if isinstance(inner, Node):
                    yield inner


class Literal(Node):
    """A value that is written out."""

    __slots__ = ("value",)

    def __init__(self, value: Any, start: int, end: int) -> None:
        self.value, self.start, self.end = value, start, end


class Number(Literal):
    __slots__ = ()


class Text(Literal):
    __slots__ = ()


class Name(Node):
    __slots__ = ("name",)

    def __init__(self, name: str, start: int, end: int) -> None:
        self.name, self.start, self.end = name, start, end


class Dots(Node):
    """The ``...`` of a subscript."""

    __slots__ = ()

    def __init__(self, start: int, end: int) -> None:
        self.start, self.end = start, end


class Unary(Node):
    """``-x``, ``+x``, ``~x``, ``not x``, ``√x``, and ``|x|``, whose operator is a bar."""

    __slots__ = ("operand", "operator")

    def __init__(self, operator: str, operand: Node, start: int) -> None:
        self.operator, self.operand = operator, operand
        self.start, self.end = start, operand.end


class Binary(Node):
    """An infix operation: arithmetic, comparison, ``and``, ``or``, ``&``, ``|``.

    Products that are implied are ``*``.
    """

    __slots__ = ("left", "operator", "right")

    def __init__(self, operator: str, left: Node, right: Node) -> None:
        self.operator, self.left, self.right = operator, left, right
        self.start, self.end = left.start, right.end


class Conditional(Node):
    """``value if condition else otherwise``."""

    __slots__ = ("condition", "otherwise", "value")

    def __init__(self, value: Node, condition: Node, otherwise: Node) -> None:
        self.value, self.condition, self.otherwise = value, condition, otherwise
        self.start, self.end = value.start, otherwise.end


class Call(Node):
    """``callee(arguments, keyword=...)``; ``primes`` counts the quotes of ``f''(x)``."""

    __slots__ = ("arguments", "callee", "keywords", "primes")

    def __init__(
        self,
        callee: Node,
        arguments: list[Node],
        keywords: list[tuple[str, Node]],
        primes: int,
        end: int,
    ) -> None:
        self.callee, self.arguments, self.keywords, self.primes = (
            callee,
            arguments,
            keywords,
            primes,
        )
        self.start, self.end = callee.start, end


class Attribute(Node):
    """``base.name``."""

    __slots__ = ("base", "name")

    def __init__(self, base: Node, name: str, end: int) -> None:
        self.base, self.name = base, name
        self.start, self.end = base.start, end


class Slice(Node):
    """``start:stop:step`` in a subscript, each part optional."""

    __slots__ = ("parts",)

    def __init__(self, parts: list[Node | None], start: int, end: int) -> None:
        self.parts, self.start, self.end = parts, start, end


class Subscript(Node):
    """``base[items]``; ``tuple_`` tells ``x[i,]`` from ``x[i]``."""

    __slots__ = ("base", "items", "tuple_")

    def __init__(self, base: Node, items: list[Node], tuple_: bool, end: int) -> None:
        self.base, self.items, self.tuple_ = base, items, tuple_
        self.start, self.end = base.start, end


class Sequence(Node):
    """A tuple ``(x, y)`` or an array ``[x, y]``."""

    __slots__ = ("bracket", "items")

    def __init__(self, bracket: str, items: list[Node], start: int, end: int) -> None:
        self.bracket, self.items, self.start, self.end = bracket, items, start, end


class Expression:
    """A whole expression: its root, and all nodes with operands before their users.

    What names stand for may decide what it means: ``x(x + 1)`` is a product where x is a value. It
    is then read again (`statements.read_again`).

    called         names before brackets, which are read as functions
    differentials  names that have no value and are no functions, or ``d/dx`` is a quotient
    implied        whether anything is written as in a textbook: `rewritten` says how it was read
    notes          what is to be said of it, always or where a name is bound
    source, span   the tokens that it was read from, where that is needed to read them again
    read           reads them, given the names that are values; an expression and nothing else, if
                   None
    derived        what ``d/dx`` is written before, and the names, once for each order
    """

    called: frozenset[str] = frozenset()
    differentials: frozenset[str] = frozenset()
    implied: bool = False
    notes: tuple[tuple[str | None, str], ...] = ()
    source: Source | None = None
    span: tuple[int, int] | None = None
    read: Callable[..., Expression] | None = None
    derived: tuple[Query, list[str]] | None = None

    def __init__(self, root: Node, nodes: list[Node]) -> None:
        self.root, self.nodes = root, nodes

    def extend(self, *nodes: Node) -> Expression:
        """Return the expression with further nodes, the last of which is its root.

        Anything else that is known of this expression is kept.
        """
        made = copy(self)
        made.root, made.nodes = nodes[-1], [*self.nodes, *nodes]
        for place, node in enumerate(nodes, len(self.nodes)):
            node.place = place
        return made


class Statement(Fixed):
    """One statement; ``text`` is what the user wrote, without comments around it."""

    source: Source
    span: Span

    @property
    def text(self) -> str:
        return self.source.text[self.span.start : self.span.end]

    @property
    def place(self) -> tuple[int, int]:
        """Line and column at which it begins."""
        return self.source.position(self.span.start)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.text!r})"


class Query(Statement):
    """An expression, which is evaluated and differentiated."""

    expression: Expression


class Binding(Statement):
    """``name = expression``."""

    name: str
    name_span: Span
    expression: Expression
    const: bool = False
    deviation: Expression | None = None  # its standard deviation
    percent: bool = False  # whether the deviation is in percent of the value
    part: int | None = None  # place among the results that the names of one statement share


class Several(Statement):
    """Binding of several names at once, ``a, b = ...``.

    Each name has an expression of its own, or all share the results of one.
    """

    bindings: list[Binding]
    shared: bool


class Imported(Fixed):
    """Import of one thing: a module, a name out of one, or "*" for all of its names."""

    path: str
    name: str | None
    alias: str
    span: Span
    aliased: bool = True


class Import(Statement):
    """Import line, ``import numpy as np`` or ``from torch import nn``.

    It gives names to libraries and to their contents.
    """

    items: list[Imported]


class Effect(Statement):
    """Statement of a training script that binds nothing.

    ``kind`` is "requires" if a name requires a gradient, "clears" if a name's gradient is cleared,
    or the library whose random numbers are seeded.
    """

    kind: str
    of: str  # the name, or the seed


class DataBinding(Statement):
    """``name = @FILE``: the name stands for the data of a file."""

    name: str
    name_span: Span
    reference: str
    deviation: Expression | None = None  # its standard deviation
    percent: bool = False  # whether the deviation is in percent of the value


class Definition(Statement):
    """``name(parameter, ...) = expression``: a function."""

    name: str
    name_span: Span
    parameters: list[str]
    expression: Expression


class Lost(Statement):
    """Names that a statement with an error should have bound."""

    names: list[str]


class Relation(Fixed):
    """``left < right``: one claim of an assert. ``symbol`` is the comparison."""

    left: Expression
    symbol: str
    right: Expression
    span: Span


class Quantified(NamedTuple):
    """``x in 0..1``: a name that stands for every number between two ends."""

    name: str
    begin: Expression
    end: Expression
    span: Span


class Assertion(Statement):
    """``assert left relation right ...``: a claim, or several that are joined."""

    relations: list[Relation]
    within: Expression | None = None  # absolute tolerance of all relations
    ranges: tuple[Quantified, ...] = ()  # its ranges, if it is not about the values of names


Asked = Query | Assertion  # statements that are answered by a record each


# -- Expressions being lowered, and what is kept of them afterwards: what each node of the tree
# became, and how.


class Frame:
    """An expression in a statement, or the body of a function in one call of it."""

    def __init__(
        self,
        expression: Expression,
        source: Source,
        statement: Statement | None,
        locals_: dict[str, Any],
        finish: Callable[[Any], Any] | None = None,
        call: tuple[Frame, Node] | None = None,
    ) -> None:
        self.expression, self.source, self.locals = expression, source, locals_
        # Where the text stands; for a function's body, its definition; None outside programs.
        self.statement = statement
        self.finish = finish  # makes the call's result from the body's
        self.call = call  # for a function's body: the expression with the call, and the call
        self.results: list[Any] = []  # results of the nodes so far
        # By the places of calls made of operations; None for a user's function.
        self.expansions: dict[int, Expansion | None] = {}
        # What the statement shows of its dialect, once that was asked for.
        self.shown: Any = None
        self.coerced: Any = None  # the node made of the whole result, if that was none

    @property
    def nodes(self) -> list[Node]:
        """The nodes of the tree, operands before their users."""
        return self.expression.nodes

    def text_of(self, node: Node) -> str:
        return self.source.text[node.start : node.end]

    def keep(self, node: Node, made: Any) -> Any:
        """Return the result of a function, and keep its expansion."""
        if type(made) is not Expansion:
            return made
        self.expansions[node.place] = made
        return made.result


# -- Trees as text: how a statement was read that implies products, or calls functions without
# brackets, in the language's own spelling.


_CLOSE = ("*", "/", "**")  # operators written without spaces around them
Part = str | tuple[Node, int]  # a text, or a node and how tightly it must hold together


def rewritten(expression: Expression, own: Collection[str] = ()) -> str:
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


# -- Operators that Python reads in another way: ``^`` of booleans, and ``or``, ``and``, ``|``,
# ``&`` and ``~`` of numbers.


_LONGEST = 60
_FACTOR = re.compile(r"\|\s*((?:\w+\s*)?\([^()|\n]*\)|\w+)")
CONDITIONS = {
    "or": "or",
    "and": "and",
    "|": "or",
    "&": "and",
}  # operators of booleans, and their operations


def refuse_other_readings(node: Binary, left: str, right: str, source: Source) -> None:
    """Refuse operators on operands that give them another reading.

    ``or``, ``and``, ``|`` and ``&`` are refused unless both operands are boolean, ``^`` if its base
    is boolean. ``left`` and ``right`` are the kinds of the operands.
    """
    sign = "^" if node.operator == "**" else node.operator
    a, b = (_text(source, part.start, part.end) for part in (node.left, node.right))
    first, second = _condition(a, left), _condition(b, right)
    error: type[GradcliError] = AmbiguousError
    if sign in CONDITIONS:
        if left == right == "bool":
            return
        error, message, help = TypeMismatchError, f"'{sign}' is of conditions, not of numbers", ""
        if sign in ("|", "&"):
            help = _mask_repair(node, (a, left), (b, right), source)
        else:
            message = f"'{sign}' is of conditions; of numbers, Python gives one of them"
            chosen = f"where({first}, {a}, {b})" if sign == "or" else f"where({first}, {b}, {a})"
            help = f"write {first} {sign} {second} for a condition, {chosen} for one of them"
    elif sign in ("+", "-") and right == "bool":
        truth = f"{a} or {b}" if sign == "+" else f"{a} != {b}"
        message = f"'{sign}' of booleans has two readings: of the numbers 0 and 1, and of truths"
        help = f"write {a}*1 {sign} {b}*1 for numbers, {truth} for a condition"
    elif (
        sign == "^" and sign in source.text[node.left.end : node.right.start]
    ):  # '**' is a power everywhere
        other = f"{a} != {b}" if right == "bool" else f"{first} != ({b} != 0)"
        message = "'^' of booleans has two readings: exclusive or, and power"
        help = f"write {other} for exclusive or, {a}**{b} for the power"
    else:
        return
    start = source.text.find(sign, node.left.end, node.right.start)
    span = node.span if start < 0 else Span(start, start + len(sign))
    raise error(message, span=span, source=source, help=help)


def _mask_repair(
    node: Binary, left: tuple[str, str], right: tuple[str, str], source: Source
) -> str:
    """Return the text to write for a mask of numbers.

    It consists of conditions or, if a second bar follows, of a product with an absolute value.
    """
    third = _FACTOR.match(source.text[node.right.end :].lstrip()) if node.operator == "|" else None
    if third is not None:
        return f"write {left[0]}*abs({right[0]})*{third[1]}"
    parts = (
        text if text.startswith("(") and kind == "bool" else f"({_condition(text, kind)})"
        for text, kind in (left, right)
    )
    return f"write {f' {node.operator} '.join(parts)}"


def refuse_complement(node: Unary, source: Source) -> None:
    """Raise for ``~`` of a number."""
    text = _text(source, node.operand.start, node.operand.end)
    sign = Span(node.start, node.start + 1)
    raise TypeMismatchError(
        "'~' is of conditions, not of numbers",
        span=sign,
        source=source,
        help=f"write ~({text} != 0) or -({text})",
    )


def _text(source: Source, start: int, end: int) -> str:
    text = source.text[start:end]
    return text if len(text) <= _LONGEST and "\n" not in text else "x"


def _condition(text: str, kind: str) -> str:
    return text if kind == "bool" else f"{text} != 0"
