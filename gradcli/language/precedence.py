"""What the parser keeps while it reads: values, operators that wait for their right operand, and open brackets."""

from __future__ import annotations

from typing import NoReturn

from gradcli.errors import Label, ParseError, Source, Span
from gradcli.language.tokens import END, NUMBER, Token
from gradcli.language.tree import Binary, Call, Conditional, Node, Sequence, Slice, Subscript, Unary
from gradcli.ops.text import COMPARISON, JUXTAPOSITION, NOT, TERNARY, UNARY

PREFIXES = (NOT, UNARY)
CLOSING = {"(": ")", "[": "]"}
GROUP, LIST, CALL, SUBSCRIPT = range(4)


Operator = tuple[int, Token]  # one that waits for its right operand: its tightness and its token


def symbol(operator: Operator) -> str:
    tightness, token = operator
    return "*" if tightness == JUXTAPOSITION else token.text


class Frame:
    """An open bracket: where it stands, what it is, and what has been read in it."""

    __slots__ = ("base", "comma", "items", "keyword", "keywords", "kind", "opener", "outside", "primes", "slice")

    def __init__(self, kind: int, opener: Token, outside: int, base: Node | None, primes: int) -> None:
        self.kind, self.opener, self.outside, self.base, self.primes = kind, opener, outside, base, primes
        self.items: list[Node] = []
        self.keywords: list[tuple[str, Node]] = []
        self.keyword: Token | None = None
        self.slice: list[Node | None] | None = None
        self.comma = False


class Stacks:
    """Values, waiting operators and open brackets of tokens[at:stop]."""

    def __init__(self, source: Source, tokens: list[Token], at: int, stop: int) -> None:
        before = min(at, 1)  # the token before the expression, which errors may point at
        self.source, self.at = source, before
        self.end = Token(END, "", tokens[stop].start if stop < len(tokens) else len(source.text))
        self.tokens = [*tokens[at - before : stop], self.end]
        self.values: list[Node] = []
        self.operators: list[Operator] = []
        self.frames: list[Frame] = []
        self.base = 0  # how many operators wait outside of the innermost open bracket
        self.nodes: list[Node] = []

    def fail(self, message: str, span: Span, help: str | None = None, label: str = "") -> NoReturn:
        raise ParseError(message, span=span, help=help, label=label, source=self.source)

    def peek(self) -> Token:
        return self.tokens[self.at]

    def push(self, node: Node) -> None:
        node.place = len(self.nodes)
        self.nodes.append(node)
        self.values.append(node)

    # -- brackets ---------------------------------------------------------------------------------------------

    def open(self, kind: int, opener: Token, base: Node | None = None, primes: int = 0) -> None:
        self.frames.append(Frame(kind, opener, self.base, base, primes))
        self.base = len(self.operators)

    def operators_here(self) -> bool:
        return len(self.operators) > self.base

    def finished(self) -> Node:
        """The value read since the bracket (or comma), all operators applied."""
        self.reduce(TERNARY, self.base)
        return self.values.pop()

    def comma(self, token: Token) -> bool:
        if not self.frames:
            before, after = self.tokens[self.at - 2], self.peek()
            if before.kind == NUMBER and after.kind == NUMBER:
                number = f"{before.text}.{after.text}"
                self.fail("a comma is never a decimal point", token.span, f"write {number}, or [{before.text}, {after.text}] for an array")
            self.fail("a comma outside brackets", token.span, "write [x, y] for an array")
        self.finish_item(self.finished(), self.frames[-1])
        return True

    def colon(self, token: Token, value: Node | None) -> None:
        frame = self.frames[-1]
        frame.slice = [] if frame.slice is None else frame.slice
        frame.slice.append(value)
        if len(frame.slice) > 2:
            self.fail("a slice has at most three parts", token.span, "start:stop:step")

    def finish_item(self, value: Node | None, frame: Frame) -> None:
        if frame.slice is not None:
            parts = [*frame.slice, value]
            given = [part for part in parts if part is not None]
            start = given[0].start if given else self.tokens[self.at - 1].start
            node = Slice(parts, start, given[-1].end if given else start + 1)
            self.push(node)
            value = self.values.pop()
            frame.slice = None
        assert value is not None
        if frame.keyword is not None:
            frame.keywords.append((frame.keyword.text, value))
            frame.keyword = None
        elif frame.keywords and frame.kind == CALL:
            self.fail("arguments by position come before those by name", value.span)
        else:
            frame.items.append(value)
        frame.comma = True

    def close(self, token: Token, value: Node | None) -> None:
        if not self.frames:
            self.fail(f"'{token.text}' closes nothing", token.span, "remove it, or open the bracket before")
        frame = self.frames[-1]
        if CLOSING[frame.opener.text] != token.text:
            raise ParseError(
                f"'{frame.opener.text}' is closed by '{token.text}'", span=token.span, source=self.source,
                also=(Label(frame.opener.span, "opened here"),),
            )  # fmt: skip
        self.frames.pop()
        self.base = frame.outside
        end = token.start + 1
        if frame.kind == GROUP and value is not None and not frame.comma:
            value.start, value.end = frame.opener.start, end
            self.values.append(value)
            return
        several = frame.comma
        if value is not None or frame.slice is not None:
            self.finish_item(value, frame)
        if frame.kind == GROUP:
            self.push(Sequence("(", frame.items, frame.opener.start, end))
        elif frame.kind == LIST:
            self.push(Sequence("[", frame.items, frame.opener.start, end))
        elif frame.kind == CALL:
            assert frame.base is not None
            self.push(Call(frame.base, frame.items, frame.keywords, frame.primes, end))
        else:
            assert frame.base is not None
            if not frame.items:
                self.fail("an index is missing", Span(frame.opener.start, end), "write x[0], or x[:] for all entries")
            self.push(Subscript(frame.base, frame.items, several, end))

    # -- operators --------------------------------------------------------------------------------------------

    def reduce(self, tightness: int, base: int) -> None:
        """Apply the waiting operators above ``base`` that bind at least as tightly."""
        operators = self.operators
        while len(operators) > base:
            top = operators[-1][0]
            if top < tightness or (tightness == COMPARISON == top):
                return
            self.reduce_one()

    def reduce_one(self) -> None:
        operator = self.operators.pop()
        tightness, token = operator
        values = self.values
        right = values.pop()
        if tightness in PREFIXES:
            self.push(Unary(token.text, right, token.start))
        elif tightness != TERNARY:
            self.push(Binary(symbol(operator), values.pop(), right))
        elif token.text == "else":
            condition = values.pop()
            self.push(Conditional(values.pop(), condition, right))
        else:
            self.fail("'if' without 'else'", token.span, "write: x if condition else y")

    def missing_value(self, token: Token) -> NoReturn:
        if token.kind == END:
            before = self.tokens[self.at - 1] if self.at else token
            self.fail("the expression ends where a value is expected", before.span if before.kind != END else token.span)
        shown = repr(token.text)
        helps = {"=": "write == to compare", "**": None, "*": None}
        self.fail(f"expected a value, not {shown}", token.span, helps.get(token.text))
