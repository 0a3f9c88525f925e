"""Syntax: the tokens of a text and of its statements, and the trees that the parser makes of them.

The parser makes the nodes of a statement in an order in which operands come before what uses them,
and keeps that list; whatever walks a statement is a loop over it, so nothing recurses however deep
an expression is.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from operator import attrgetter
from typing import Any, NamedTuple, NoReturn

from gradcli.errors import AmbiguousError, ParseError
from gradcli.ops.calling.textbook import NOT_COMPUTED
from gradcli.ops.facts import Fixed
from gradcli.ops.text import Expansion
from gradcli.texts import FRACTIONS as FRACTION_SIGNS
from gradcli.texts import NAME as NAME_PATTERN
from gradcli.texts import Source, Span, by_word, words

# -- Tokens

# The groups of _TOKEN, from 1 on.
END, SYMBOL, NUMBER, NAME, PRIME, STRING, SUPERSCRIPT, _SPELLING, _BAD = range(9)

RESERVED = words("if else and or not")  # words that cannot be names
# Words that begin statements of Python, which python_hints.py handles.
PYTHON_WORDS = words("""
    async break class continue def del elif else except finally for global if nonlocal pass print raise return try while with yield
""")


class Token(NamedTuple):
    kind: int
    text: str
    start: int

    @property
    def span(self) -> Span:
        return Span(self.start, self.start + max(1, len(self.text)))


_token = tuple.__new__  # makes a named tuple in half the time of its own constructor

_PLAIN_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_SPELLINGS = by_word({
    "^": "**", "× · ⋅ ∙ ∗": "*", "÷ ∕ ⁄": "/", "− –": "-", "≤": "<=", "≥": ">=", "≠": "!=", "√": "√", "∛": "∛", "°": "°",
    "±": "±",
})  # fmt: skip

FRACTIONS = {char: unicodedata.numeric(char) for char in FRACTION_SIGNS}

_BLANKS = r"(?:[ \t\n\f\v\u00a0\u202f\ufeff]+|\r+(?=\n|\Z)|\\(?=\r*\n|\Z)|\#[^\n]*)*+"
_DIGITS = "[0-9][0-9_]*"
_NUMBER = rf"(?:{_DIGITS}(?:\.(?!\.)[0-9_]*)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?"
_ASCII_NAME = r"[A-Za-z_][A-Za-z0-9_]*+"
_LEADING = re.compile(_BLANKS)
_TOKEN = re.compile(
    rf"""(?:
     ((?:[-+@]|\*\*?|//?|%)=(?!=)|[-+%@()\[\],:;|&~]|\*\*?|//?|[<>=]=?|!=|\.\.\.|\.\.|\.(?![0-9]))                        # SYMBOL
    |({_NUMBER}[{FRACTION_SIGNS}]?|[{FRACTION_SIGNS}])                                                # NUMBER
    |({_ASCII_NAME}(?![^\x00-\x7f])|π(?=[^\W\d_])|{NAME_PATTERN})      # NAME
    |((?<=[\w⁰¹²³⁴-⁹'′’″])(?!'[^'\n{{]*\{{)['′’″]+)                                              # PRIME
    |('[^'\n]*'|"[^"\n]*")                                                               # STRING
    |(⁻?[⁰¹²³⁴-⁹]+)                                                                       # SUPERSCRIPT
    |([{re.escape("".join(_SPELLINGS))}])                                                   # another spelling
    |(.)                                                                                   # anything else
    ){_BLANKS}""",
    re.VERBOSE | re.DOTALL,
)
# Where query/templates.py, which needs names and numbers only, cuts an ASCII text: at the same
# names and numbers as here, except for underscores between digits and names of functions.
_PLAIN_NUMBER = _NUMBER.replace(_DIGITS, "[0-9]+").replace("_", "")
WORD = rf"(?<![A-Za-z0-9_])({_PLAIN_NUMBER}|{_ASCII_NAME}(?!\s*\())"
ROOTS = ("√", "∛")  # signs of roots, which stand before the radicand
STARTS_NUMBER = frozenset("0123456789.")

_HELP = by_word({
    "∜": "write x**(1/4)",
    "!": "write x != y for 'not equal', not x for a condition, factorial(n) for a factorial",
    "∞": "write inf",
    "ⁿ": "write x^n",
    "∫": NOT_COMPUTED["int"],
    "∑": "write sum(x)",
    "∏": "write prod(x)",
    "‖": "write norm(x)",
    "⌊ ⌈": "write floor(x), ceil(x)",
    "∇": "write grad(y, x)",
    '{"': "-i jsonl reads records",
    "{ }": "write [1, 2] for an array, (x + 1) to group",
    "' \"": "a string needs both quotes",
    "$": "names consist of letters, digits and _",
})  # fmt: skip


def tokenize(source: Source) -> list[Token]:
    """Return the tokens of a text, with one END.

    Raises ParseError at the first bad character.
    """
    tokens: list[Token] = []
    append = tokens.append
    text = source.text
    leading = _LEADING.match(text)
    for match in _TOKEN.finditer(text, leading.end() if leading else 0):
        kind = match.lastindex or _BAD
        word = match[kind]
        if kind >= _SPELLING:
            if kind == _BAD:
                raise _bad_character(source, word, match.start())
            kind, word = SYMBOL, _SPELLINGS[word]
        append(_token(Token, (kind, word, match.start())))
    append(Token(END, "", len(text)))
    return tokens


def next_token(source: Source, start: int) -> tuple[Token, int]:
    """Return the token at a place, and the place after it and the blanks that follow.

    Raises ParseError for a bad character.
    """
    match = _TOKEN.match(source.text, start)
    kind = (match and match.lastindex) or _BAD
    if match is None or kind == _BAD:
        raise _bad_character(source, source.text[start], start)
    word = match[kind]
    spelled = (SYMBOL, _SPELLINGS[word]) if kind == _SPELLING else (kind, word)
    return Token(*spelled, start), match.end()


def _bad_character(source: Source, char: str, start: int) -> ParseError:
    shown = repr(char) if char.isprintable() else f"U+{ord(char):04X}"
    message = f"unexpected character {shown}"
    help = _HELP.get(source.text[start : start + 2], _HELP.get(char))
    if 0xDC80 <= ord(char) <= 0xDCFF:
        message = f"the byte 0x{ord(char) - 0xDC00:02x} is not valid UTF-8"
        help = "save the text as UTF-8"
    elif char == "\r":
        message = "a carriage return (U+000D) alone ends no line"
        help = "end lines with \\n or \\r\\n; in one line, separate statements with ;"
    return ParseError(message, span=Span(start, start + 1), source=source, help=help)


def superscript_value(text: str) -> float:
    """Return the exponent of superscript digits: a whole number, or a float if it is long."""
    digits = text.lstrip("⁻").translate(_PLAIN_DIGITS)
    value = int(digits) if len(digits) < 300 else float(digits)
    return -value if text.startswith("⁻") else value


def end_of(token: Token) -> int:
    return token.start + len(token.text)


def outside(tokens: list[Token], start: int, stop: int) -> list[int]:
    """Return the places of the tokens start:stop outside of brackets.

    The brackets themselves count as outside.
    """
    found, depth = [], 0
    for at in range(start, stop):
        text = tokens[at].text
        depth -= text in (")", "]")
        if depth <= 0:
            found.append(at)
        depth += text in ("(", "[")
    return found


# -- Statements as parts of a logical line: their tokens, and where they end


class SaidError(ParseError):
    """An error whose words are about what the statement is: nothing more is to be said of it."""


class Part(NamedTuple):
    """The tokens of one statement, start:stop of those of its line."""

    source: Source
    tokens: list[Token]
    start: int
    stop: int
    span: Span

    def token(self, place: int) -> Token:
        """Return a token by its place in the statement; END after the last."""
        at = self.start + place
        return self.tokens[at] if at < self.stop else Token(END, "", self.span.end)

    def outside(self, begin: int = 0, end: int | None = None) -> list[int]:
        """Return the places outside of brackets; the brackets themselves count as outside."""
        stop = self.stop if end is None else self.start + end
        return [at - self.start for at in outside(self.tokens, self.start + begin, stop)]

    def places(self, text: str, begin: int = 0, end: int | None = None) -> list[int]:
        """Return the places of a sign or word outside of brackets."""
        return [place for place in self.outside(begin, end) if self.token(place).text == text]

    def text(self, begin: int, end: int) -> str:
        """Return the text of the tokens begin:end."""
        if begin >= end:
            return ""
        return self.source.text[self.token(begin).start : end_of(self.token(end - 1))]

    def cut(self, span: Span) -> Part:
        """Return the tokens of a part of the text."""
        start, stop = (bisect_left(self.tokens, place, key=attrgetter("start")) for place in span)
        return Part(self.source, self.tokens, start, stop, span)

    def closing(self, place: int) -> int:
        """Return the place of the bracket that closes the one at a place, or -1."""
        depth = 0
        for at in range(self.start + place, self.stop):
            text = self.tokens[at].text
            depth += (text in ("(", "[")) - (text in (")", "]"))
            if depth == 0:
                return at - self.start
        return -1

    def fail(self, message: str, span: Span, help: str | None = None) -> NoReturn:
        """Refuse the statement in words about what it is."""
        raise SaidError(message, span=span, source=self.source, help=help)


def statements_between(source: Source, tokens: list[Token]) -> Iterator[tuple[int, int]]:
    """Yield the places of the first token of each statement, and of the token after it.

    A semicolon outside of brackets ends one, and the END.
    """
    end = len(tokens) - 1
    cuts: list[int] = []
    if ";" in source.text:  # megabytes of text rarely have one
        cuts = [at for at in outside(tokens, 0, end) if tokens[at].text == ";"]
    for before, stop in pairwise([-1, *cuts, end]):
        if stop > before + 1:
            yield before + 1, stop


# -- Values with standard deviations: where ``±`` (or ``+/-``) stands in a binding, and what reads like
# one.


_SIGN_HELP = (
    "± stands once, between a whole value and its standard deviation: m = 1.0 ± 0.1, or "
    "x = [1, 2] ± [0.1, 0.2]"
)

_CONCISE = re.compile(
    r"([-+−]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))\(([0-9]+|[0-9]*\.[0-9]+)\)([eE][-+]?[0-9]+)?\Z"
)
_PAIR = re.compile(r"(.+?)\+-(.+)", re.DOTALL)
_WITH_DATA = re.compile(r"(.*?)[ \t]+(?:±|\+/-|\\pm(?![^\W\d_]))[ \t]*(.+)\Z", re.DOTALL)


def has_sign(text: str) -> bool:
    """Tell whether a sign may stand in a text."""
    return "±" in text or "+/-" in text


def may_be_measured(value: str) -> bool:
    """Tell whether the text of a value has a sign, or something that reads like one."""
    return has_sign(value) or "+-" in value or _CONCISE.match(value.strip()) is not None


def of_data(reference: str) -> tuple[str, str | None]:
    """Return the file that ``data.npy ± 0.1`` names, and the text of its standard deviation.

    The text is None if there is no standard deviation.
    """
    found = _WITH_DATA.match(reference) if has_sign(reference) or "\\pm" in reference else None
    return (reference, None) if found is None else (found[1], found[2])


def refuse_measured(source: Source, tokens: list[Token], start: int, stop: int) -> None:
    """Raise AmbiguousError if a binding's whole value is ``5.00(5)`` or ``5.00 +- 0.05``."""
    if stop - start < 4:
        return
    begin, last = tokens[start].start, tokens[stop - 1]
    text = source.text[begin : end_of(last)]
    concise = _CONCISE.match(text)
    if concise is not None:
        value, digits, exponent = concise.groups(default="")
        places = len(value.partition(".")[2]) if "." not in digits else 0
        error = format(Decimal(digits).scaleb(-places), "f")
        readings = f"{value}{exponent}±{error}{exponent} or {value}*{digits}{exponent}"
    else:
        pair = _PAIR.fullmatch(text)
        if pair is None or any(token.kind == NAME for token in tokens[start:stop]):
            return
        readings = "{0}±{1} or {0} + (-{1})".format(*(part.strip() for part in pair.groups()))
    raise AmbiguousError(
        f"'{text}' has two readings: with a standard deviation, and without one",
        span=Span(begin, end_of(last)), source=source, help=f"write {readings}",
    )  # fmt: skip


def sign_in(tokens: list[Token], start: int, stop: int) -> tuple[int, int] | None:
    """Return the range of tokens of the first sign outside of brackets.

    It is the index where the sign begins and the index after its end.
    """
    for at in outside(tokens, start, stop):
        words = [token.text for token in tokens[at : min(at + 3, stop)]]
        if words[0] == "±":
            return at, at + 1
        if words == ["+", "/", "-"] and tokens[at + 2].start == tokens[at].start + 2:
            return at, at + 3
    return None


def refuse_sign(source: Source, tokens: list[Token]) -> None:
    """Raise ParseError for a sign where no value of a binding ends."""
    for token in tokens:
        if token.text == "±":
            raise ParseError(
                "'±' is not read here", span=token.span, source=source, help=_SIGN_HELP
            )


# -- Trees of expressions


class Node:
    """An expression; ``start`` and ``end`` are offsets in the statement's source."""

    start: int
    end: int
    place: int  # index in the statement's list of nodes

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)

    def children(self) -> Iterator[Node]:
        """Yield the parts of the node."""
        for value in vars(self).values():
            for part in value if isinstance(value, list) else [value]:
                inner = part[1] if isinstance(part, tuple) else part  # a keyword with its value
                if isinstance(inner, Node):
                    yield inner


class Literal(Node):
    """A value that is written out."""

    def __init__(self, value: Any, start: int, end: int) -> None:
        self.value, self.start, self.end = value, start, end


class Number(Literal):
    """A number, a whole one as an integer."""


class Text(Literal):
    """A string."""


class Name(Node):
    """A word."""

    def __init__(self, name: str, start: int, end: int) -> None:
        self.name, self.start, self.end = name, start, end


class Dots(Node):
    """The ``...`` of a subscript."""

    def __init__(self, start: int, end: int) -> None:
        self.start, self.end = start, end


class Unary(Node):
    """``-x``, ``+x``, ``~x``, ``not x``, ``√x``, and ``|x|``, whose operator is a bar."""

    def __init__(self, operator: str, operand: Node, start: int) -> None:
        self.operator, self.operand = operator, operand
        self.start, self.end = start, operand.end


class Binary(Node):
    """An infix operation: arithmetic, comparison, ``and``, ``or``, ``&``, ``|``."""

    def __init__(self, operator: str, left: Node, right: Node) -> None:
        self.operator, self.left, self.right = operator, left, right
        self.start, self.end = left.start, right.end


class ImpliedProduct(Binary):
    """A product without a sign, ``2x``; its operator is ``*``."""


class Conditional(Node):
    """``value if condition else otherwise``."""

    def __init__(self, value: Node, condition: Node, otherwise: Node) -> None:
        self.value, self.condition, self.otherwise = value, condition, otherwise
        self.start, self.end = value.start, otherwise.end


class Call(Node):
    """``callee(arguments, keyword=...)``; ``primes`` counts the quotes of ``f''(x)``."""

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

    def __init__(self, base: Node, name: str, end: int) -> None:
        self.base, self.name = base, name
        self.start, self.end = base.start, end


class Slice(Node):
    """``start:stop:step`` in a subscript, each part optional."""

    def __init__(self, parts: list[Node | None], start: int, end: int) -> None:
        self.parts, self.start, self.end = parts, start, end


class Subscript(Node):
    """``base[items]``; ``tuple_`` tells ``x[i,]`` from ``x[i]``."""

    def __init__(self, base: Node, items: list[Node], tuple_: bool, end: int) -> None:
        self.base, self.items, self.tuple_ = base, items, tuple_
        self.start, self.end = base.start, end


class Sequence(Node):
    """A tuple ``(x, y)`` or an array ``[x, y]``."""

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


@dataclass(eq=False)
class Frame:
    """An expression in a statement, or the body of a function in one call of it.

    statement   where the text stands; for a function's body, its definition; None outside programs
    finish      makes the call's result from the body's
    call        for a function's body: the expression with the call, and the call
    results     of the nodes so far
    expansions  by the places of calls made of operations; None for a user's function
    shown       what the statement shows of its dialect, once that was asked for
    coerced     the node made of the whole result, if that was none
    """

    expression: Expression
    source: Source
    statement: Statement | None
    locals: dict[str, Any]
    finish: Callable[[Any], Any] | None = None
    call: tuple[Frame, Node] | None = None
    results: list[Any] = field(default_factory=list)
    expansions: dict[int, Expansion | None] = field(default_factory=dict)
    shown: Any = None
    coerced: Any = None

    @property
    def nodes(self) -> list[Node]:
        """The nodes of the tree, operands before their users."""
        return self.expression.nodes

    @property
    def pairs(self) -> Iterator[tuple[Node, Any]]:
        """Yield the nodes that have a result, each with it."""
        return zip(self.nodes, self.results, strict=False)

    def text_of(self, node: Node) -> str:
        return self.source.text[node.start : node.end]

    def keep(self, node: Node, made: Any) -> Any:
        """Return the result of a function, and keep its expansion."""
        if type(made) is not Expansion:
            return made
        self.expansions[node.place] = made
        return made.result
