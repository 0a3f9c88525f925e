"""Asserts: claims joined by ``and``, each a comparison.

The claims are read as one expression, whose tree says where each has its sides.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NoReturn

from gradcli.errors import ParseError, Source, Span
from gradcli.language.parser import first, parse_tokens
from gradcli.language.python_hints import SaidError
from gradcli.language.tokens import (
    NAME,
    NUMBER,
    PRIME,
    RESERVED,
    STRING,
    SUPERSCRIPT,
    Token,
    end_of,
    outside,
)
from gradcli.language.tree import Assertion, Binary, Expression, Node, Quantified, Relation
from gradcli.ops.text import BINDING, COMPARISON, MASK

_LONGEST = 200  # characters of a suggestion
_EXAMPLE = "write: assert x == y"
_RANGE = "write: assert x**2 >= 0 for x in -1..1"
_JOINED = ("and", "or", "not", "if", "else")  # words of what is a condition, but no comparison


def parse_assertion(
    source: Source, span: Span, tokens: list[Token], start: int, stop: int
) -> Assertion:
    """assertion = "assert" relation { "and" relation } [ "within" sum ] [ "for" range { "," range }
    ], the tokens after "assert".

    Raises ParseError for what is no relation, with what to write.
    """
    return _Reader(source, tokens, start, stop).assertion(span)


class _Reader:
    """The tokens of an assert, and which of them end its claims and its tolerance."""

    def __init__(self, source: Source, tokens: list[Token], start: int, stop: int) -> None:
        self.source, self.tokens, self.start, self.stop = source, tokens, start, stop
        self.starts = [token.start for token in tokens]
        self.top = outside(tokens, start, stop)
        after = [
            i for i in self.top if i > start and self._ends_value(i - 1)
        ]  # what follows a value
        self.ranges = next((i for i in after if self._begins_ranges(i)), stop)
        self.within = next(
            (i for i in after if i < self.ranges and tokens[i].text == "within"), self.ranges
        )

    def _ends_value(self, i: int) -> bool:
        kind, text, _ = self.tokens[i]
        return (
            kind in (NUMBER, PRIME, STRING, SUPERSCRIPT)
            or (kind == NAME and text not in RESERVED)
            or text in (")", "]")
        )

    def _begins_ranges(self, i: int) -> bool:
        """Tell whether "for NAME in" stands at a place."""
        words = [token.text for token in self.tokens[i : min(i + 3, self.stop)]]
        return words[::2] == ["for", "in"] and self.tokens[i + 1].kind == NAME

    def assertion(self, span: Span) -> Assertion:
        for i in self.top:
            if self.tokens[i].text == "," and self.tokens[i + 1].kind == STRING:
                help = (
                    f"write assert {self._text(self.start, i)}  # {self.tokens[i + 1].text[1:-1]}"
                )
                self._fail("an assert takes no message", self.tokens[i].span, help)
        relations: list[Relation] = []
        pending = [parse_tokens(self.source, self.tokens, self.start, self.within).root]
        while pending:
            node = pending.pop()
            if isinstance(node, Binary) and node.operator == "and":
                pending += (node.right, node.left)
            else:
                relations.append(self._relation(node))
        return Assertion(self.source, span, relations, self._tolerance(), self._ranges())

    def _relation(self, node: Node) -> Relation:
        """relation = sum ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) sum"""
        if not isinstance(node, Binary) or BINDING.get(node.operator) != COMPARISON:
            self._refuse_value(node)
        left, right = (self._expression(*self._places(side)) for side in (node.left, node.right))
        return Relation(left, node.operator, right, Span(node.left.start, node.right.end))

    def _tolerance(self) -> Expression | None:
        """``within`` a sum, which nothing follows but ranges."""
        if self.within == self.ranges:
            return None
        begin = self.within + 1
        found, end = first(self.source, self.tokens, begin, self.ranges, frozenset(), MASK + 1)
        if end < self.ranges:
            claims, more = self._text(self.start, self.within), self._text(end + 1, self.stop)
            help = f"write assert {claims} and {more} within {self._text(begin, end)}"
            self._fail(
                "'within' stands at the end, and holds for every relation",
                self.tokens[end].span,
                help,
            )
        return found

    def _ranges(self) -> tuple[Quantified, ...]:
        """range = NAME "in" sum ".." sum"""
        found: dict[str, Quantified] = {}
        if self.ranges == self.stop:
            return ()
        commas = [i for i in self.top if i > self.ranges and self.tokens[i].text == ","]
        for begin, end in zip(
            [self.ranges + 1, *(i + 1 for i in commas)], [*commas, self.stop], strict=True
        ):
            name, words = self.tokens[begin], [token.text for token in self.tokens[begin:end]]
            dots = [i for i in outside(self.tokens, begin, end) if self.tokens[i].text == ".."]
            span = Span(name.start, max(end_of(self.tokens[end - 1]), name.start + 1))
            if (
                name.kind != NAME
                or words[1:2] != ["in"]
                or len(dots) != 1
                or dots[0] in (begin + 2, end - 1)
                or name.text in found
            ):
                raise SaidError(
                    "a range is a name of its own and two ends",
                    span=span,
                    source=self.source,
                    help=_RANGE,
                )
            ends = self._expression(begin + 2, dots[0]), self._expression(dots[0] + 1, end)
            found[name.text] = Quantified(name.text, *ends, span)
        return tuple(found.values())

    def _expression(self, at: int, end: int) -> Expression:
        return parse_tokens(self.source, self.tokens, at, end)

    # -- where things stand, and what is refused --------------------------------------------------

    def _places(self, node: Node) -> tuple[int, int]:
        """Return where the tokens of a node begin, and where they have ended."""
        return bisect_left(self.starts, node.start), bisect_left(self.starts, node.end)

    def _text(self, begin: int, end: int) -> str:
        return (
            self.source.text[self.tokens[begin].start : end_of(self.tokens[end - 1])]
            if begin < end
            else ""
        )

    def _refuse_value(self, node: Node) -> NoReturn:
        """Refuse a claim that is no comparison: a condition is compared with True."""
        words = [
            i for i in outside(self.tokens, *self._places(node)) if self.tokens[i].text in _JOINED
        ]
        if words:
            word, claims = self.tokens[words[0]], self._text(self.start, self.within)
            message = f"'{word.text}' cannot join claims: each claim of an assert holds by itself"
            self._fail(
                message,
                word.span,
                f"write assert ({claims}) == True {self._text(self.within, self.stop)}".rstrip(),
            )
        self._fail(
            "an assert compares two values: with == != < <= > or >=",
            Span(node.start, node.end),
            _EXAMPLE,
        )

    def _fail(self, message: str, span: Span, help: str) -> NoReturn:
        shown = (
            len(help) <= _LONGEST
            and "\n" not in help
            and "#" not in self._text(self.start, self.stop)
        )
        error = ParseError(message, span=span, source=self.source, help=help if shown else _EXAMPLE)
        error.instead = _EXAMPLE
        raise error
