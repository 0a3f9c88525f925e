"""Asserts: claims joined by ``and``, each a comparison.

The claims are read as one expression, whose tree says where each has its sides.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NoReturn

from gradcli.errors import ParseError
from gradcli.language.parser import first, value_in
from gradcli.language.syntax import (
    NAME,
    NUMBER,
    PRIME,
    RESERVED,
    STRING,
    SUPERSCRIPT,
    Assertion,
    Binary,
    Expression,
    Node,
    Part,
    Quantified,
    Relation,
    Token,
    end_of,
)
from gradcli.ops.text import BINDING, COMPARISON, MASK
from gradcli.texts import Span

_LONGEST_CLAIMS = 200  # longest suggestion, in characters
_EXAMPLE = "write: assert x == y"
_RANGE = "write: assert x**2 >= 0 for x in -1..1"
_JOINED = ("and", "or", "not", "if", "else")  # words in a condition that is no comparison


def _ends_value(token: Token) -> bool:
    kind, text, _ = token
    return (
        kind in (NUMBER, PRIME, STRING, SUPERSCRIPT)
        or (kind == NAME and text not in RESERVED)
        or text in (")", "]")
    )


class Claims:
    """An assert, and the places where its tolerance and its ranges begin, or all has ended."""

    def __init__(self, part: Part) -> None:
        self.part = part
        words = [
            (part.token(at).text, at)
            for at in part.outside(1)[1:]
            if _ends_value(part.token(at - 1))
        ]
        self.stop = part.stop - part.start
        self.ranges = next(
            (at for word, at in words if word == "for" and self._names_range(at + 1)), self.stop
        )
        self.within = next(
            (at for word, at in words if word == "within" and at < self.ranges), self.ranges
        )

    def _names_range(self, at: int) -> bool:
        return self.part.token(at).kind == NAME and self.part.token(at + 1).text == "in"

    def assertion(self) -> Assertion:
        """Parse assertion = "assert" relation { "and" relation } [ "within" sum ] [ "for" ranges ].

        Raises ParseError for what is no relation, with what to write.
        """
        part = self.part
        for at in part.places(",", 1):
            message = part.token(at + 1)
            if message.kind == STRING:
                help = f"write assert {part.text(1, at)}  # {message.text[1:-1]}"
                self._fail("an assert takes no message", part.token(at).span, help)
        relations: list[Relation] = []
        pending = [value_in(part, 1, end=self.within).root]
        while pending:
            node = pending.pop()
            if isinstance(node, Binary) and node.operator == "and":
                pending += (node.right, node.left)
            else:
                relations.append(self._relation(node))
        return Assertion(part.source, part.span, relations, self._tolerance(), self._ranges())

    def _relation(self, node: Node) -> Relation:
        """Parse ``relation = sum ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) sum``."""
        if not isinstance(node, Binary) or BINDING.get(node.operator) != COMPARISON:
            self._refuse_value(node)
        left, right = (value_in(self.part.cut(side.span), 0) for side in (node.left, node.right))
        return Relation(left, node.operator, right, Span(node.left.start, node.right.end))

    def _tolerance(self) -> Expression | None:
        """``within`` a sum, which nothing follows but ranges."""
        if self.within == self.ranges:
            return None
        part, begin = self.part, self.within + 1
        stop = part.start + self.ranges
        found, at = first(part.source, part.tokens, part.start + begin, stop, frozenset(), MASK + 1)
        end = at - part.start
        if end < self.ranges:
            claims, more = part.text(1, self.within), part.text(end + 1, self.stop)
            self._fail(
                "'within' stands at the end, and holds for every relation",
                part.token(end).span,
                f"write assert {claims} and {more} within {part.text(begin, end)}",
            )
        return found

    def _ranges(self) -> tuple[Quantified, ...]:
        """Parse the ranges of an assert: ``range = NAME "in" sum ".." sum``."""
        found: dict[str, Quantified] = {}
        if self.ranges == self.stop:
            return ()
        part, commas = self.part, self.part.places(",", self.ranges)
        for begin, end in pairwise([self.ranges, *commas, self.stop]):
            at = begin + 1
            name, dots = part.token(at), part.places("..", at, end)
            stop = end_of(part.token(end - 1))
            span = Span(name.start, max(stop, name.start + 1))
            if (
                not self._names_range(at)
                or len(dots) != 1
                or dots[0] in (at + 2, end - 1)
                or name.text in found
            ):
                part.fail("a range is a name of its own and two ends", span, _RANGE)
            ends = value_in(part, at + 2, end=dots[0]), value_in(part, dots[0] + 1, end=end)
            found[name.text] = Quantified(name.text, *ends, span)
        return tuple(found.values())

    def _refuse_value(self, node: Node) -> NoReturn:
        """Refuse a claim that is no comparison: a condition is compared with True."""
        claim = self.part.cut(node.span)
        words = [claim.token(at) for at in claim.outside() if claim.token(at).text in _JOINED]
        if words:
            claims, rest = self.part.text(1, self.within), self.part.text(self.within, self.stop)
            self._fail(
                f"'{words[0].text}' cannot join claims: each claim of an assert holds by itself",
                words[0].span,
                f"write assert ({claims}) == True {rest}".rstrip(),
            )
        message = "an assert compares two values: with == != < <= > or >="
        self._fail(message, node.span, _EXAMPLE)

    def _fail(self, message: str, span: Span, help: str) -> NoReturn:
        shown = (
            len(help) <= _LONGEST_CLAIMS
            and "\n" not in help
            and "#" not in self.part.text(1, self.stop)
        )
        source, help = self.part.source, help if shown else _EXAMPLE
        error = ParseError(message, span=span, source=source, help=help)
        error.instead = _EXAMPLE
        raise error
