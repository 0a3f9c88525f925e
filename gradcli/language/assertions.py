"""Asserts: claims joined by ``and``, each a relation of two sums. What else may stand at the top of one is refused, with what to write."""

from __future__ import annotations

from itertools import pairwise
from typing import NoReturn

from gradcli.errors import ParseError, Source, Span
from gradcli.language.parser import parsed
from gradcli.language.python_hints import SaidError
from gradcli.language.tokens import NAME, NUMBER, PRIME, RESERVED, STRING, SUPERSCRIPT, Token, end_of, outside, tokenize
from gradcli.language.tree import Assertion, Expression, Quantified, Relation

_NEGATED = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_LONGEST = 200  # characters of a suggestion
_EXAMPLE = "write: assert x == y"
_RANGE = "write: assert x**2 >= 0 for x in -1..1"


def parse_assertion(source: Source, span: Span, tokens: list[Token], start: int, stop: int) -> Assertion:
    """assertion = "assert" relation { "and" relation } [ "within" sum ] [ "for" range { "," range } ], the tokens after "assert".

    Raises ParseError for what else stands at its top, with what to write where that can be read.
    """
    return _Reader(source, tokens, start, stop).assertion(span)


class _Reader:
    """The tokens of an assert, and which of them stand outside of all brackets."""

    def __init__(self, source: Source, tokens: list[Token], start: int, stop: int, helping: bool = True) -> None:
        self.source, self.tokens, self.start, self.stop, self.helping = source, tokens, start, stop, helping
        self.top = outside(tokens, start, stop)
        after = [i for i in self.top if i > start and self._ends_value(i - 1)]  # what follows a value
        self.ranges = next((i for i in after if self._begins_ranges(i)), stop)
        self.within = next((i for i in after if tokens[i].text == "within"), self.ranges)
        self.end = min(self.within, self.ranges)  # of the claims

    def _ends_value(self, i: int) -> bool:
        kind, text, _ = self.tokens[i]
        return kind in (NUMBER, PRIME, STRING, SUPERSCRIPT) or (kind == NAME and text not in RESERVED) or text in (")", "]")

    def _begins_ranges(self, i: int) -> bool:
        """Tell whether "for NAME in" stands at a place."""
        words = [token.text for token in self.tokens[i : min(i + 3, self.stop)]]
        return words[::2] == ["for", "in"] and self.tokens[i + 1].kind == NAME

    def assertion(self, span: Span) -> Assertion:
        for i in self.top:
            self._refuse_word(i)
        relations = [self._relation(*part) for part in self._split(self.start, self.end, "and")]
        tolerance = None
        if self.within < self.ranges:
            for i in self.top:
                if self.within < i < self.ranges and self.tokens[i].text in ("and", *_NEGATED):
                    claims, more = self._text(self.start, self.within), self._text(i + 1, self.stop)
                    help = self._valid(f"assert {claims} and {more} within {self._text(self.within + 1, i)}")
                    self._fail("'within' stands at the end, and holds for every relation", self.tokens[i].span, help)
            tolerance = self._expression(self.within + 1, self.ranges)
        return Assertion(self.source, span, relations, tolerance, self._ranges())

    def _relation(self, begin: int, end: int) -> Relation:
        """relation = sum ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) sum"""
        signs = self._signs(begin, end)
        if not signs:
            self._refuse_value(begin, end)
        if len(signs) > 1:
            sides = [self._text(a + 1, b) for a, b in pairwise([begin - 1, *signs, end])]
            links = [f"{a} {self.tokens[i].text} {b}" for (a, b), i in zip(pairwise(sides), signs, strict=True)]
            help = self._instead(begin, end, " and ".join(links))
            self._fail("a chain of comparisons is not read", self.tokens[signs[1]].span, help)
        (sign,) = signs
        left, right = self._expression(begin, sign), self._expression(sign + 1, end)
        return Relation(left, self.tokens[sign].text, right, self._span(begin, end))

    def _ranges(self) -> tuple[Quantified, ...]:
        """range = NAME "in" sum ".." sum"""
        found: dict[str, Quantified] = {}
        if self.ranges == self.stop:
            return ()
        for begin, end in self._split(self.ranges + 1, self.stop, ","):
            name, word = self.tokens[begin], self.tokens[min(begin + 1, end - 1)]
            dots = [i for i in outside(self.tokens, begin, end) if self.tokens[i].text == ".."]
            if name.kind != NAME or word.text != "in" or len(dots) != 1 or dots[0] in (begin + 2, end - 1):
                self._refuse_range("a range is a name and two ends", self._span(begin, end))
            if name.text in found:
                self._refuse_range(f"'{name.text}' has two ranges", found[name.text].span)
            ends = self._expression(begin + 2, dots[0]), self._expression(dots[0] + 1, end)
            found[name.text] = Quantified(name.text, *ends, self._span(begin, end))
        return tuple(found.values())

    def _expression(self, at: int, end: int) -> Expression:
        return parsed(self.source, self.tokens, at, end)

    # -- where things stand ------------------------------------------------------------------------

    def _split(self, begin: int, end: int, word: str) -> list[tuple[int, int]]:
        """The parts between words or commas."""
        places = [i for i in outside(self.tokens, begin, end) if self.tokens[i].text == word]
        parts = list(zip([begin, *(i + 1 for i in places)], [*places, end], strict=True))
        for first, last in parts:
            if first >= last and word == ",":
                self._refuse_range("a range is missing", self.tokens[min(first, self.stop - 1)].span)
            if first >= last and places:
                place = first - 1 if first > begin else last
                self._fail("a relation is missing beside 'and'", self.tokens[place].span, _EXAMPLE)
        return parts

    def _signs(self, begin: int, end: int) -> list[int]:
        return [i for i in outside(self.tokens, begin, end) if self.tokens[i].text in _NEGATED]

    def _span(self, begin: int, end: int) -> Span:
        return Span(self.tokens[begin].start, end_of(self.tokens[end - 1]))

    def _text(self, begin: int, end: int) -> str:
        """Return what is written; nothing where it does not go into a line."""
        text = self.source.text[slice(*self._span(begin, end))] if begin < end else ""
        return "" if "\n" in text or "#" in text else text

    # -- what is refused ---------------------------------------------------------------------------

    def _refuse_word(self, i: int) -> None:
        """Refuse what cannot stand at the top of an assert: a message, other ranges, and words that join no claims."""
        (_, word, _), span, after = self.tokens[i], self.tokens[i].span, self.tokens[i + 1]
        if word == "for" and self.start < i != self.ranges and i + 1 < self.stop and after.kind == NAME:
            self._refuse_range("'for' is followed by a name and its range", span)
        if word == "," and after.kind == STRING:
            help = self._valid(f"assert {self._text(self.start, i)}", f"  # {after.text[1:-1]}")
            self._fail("an assert takes no message", span, help)
        if i >= self.end or word not in ("or", "not", "if", "else"):
            return
        begin, end = next(part for part in self._split(self.start, self.end, "and") if i < part[1])
        signs = self._signs(begin, end)
        if word in ("if", "else"):  # the choice is what is compared, or one side of it
            last = max(k for k in self.top if k < end and self.tokens[k].text in ("if", "else"))
            before, behind = [k for k in signs if k < i], [k for k in signs if k > last]
            first, stop = (before[-1] + 1, end) if before else (begin, behind[0] if behind else end)
            help = self._instead(first, stop, f"({self._text(first, stop)})")
            self._fail(f"'{word}' at the top of an assert needs brackets", span, help)
        if word == "not" and i == begin and len(signs) == 1:
            left, right = self._text(i + 1, signs[0]), self._text(signs[0] + 1, end)
            help = self._instead(i, end, f"{left} {_NEGATED[self.tokens[signs[0]].text]} {right}")
            self._fail("'not' cannot stand before a claim of an assert", span, help)
        help = self._instead(self.start, self.end, f"({self._text(self.start, self.end)}) == True")
        self._fail(f"'{word}' cannot join claims: each claim of an assert holds by itself", span, help)

    def _refuse_value(self, begin: int, end: int) -> NoReturn:
        """Refuse a part without a relation: one in brackets, ``=`` for ``==``, or a value."""
        message = "an assert compares two values: with == != < <= > or >="
        for i in outside(self.tokens, begin, end):
            if self.tokens[i].text == "=":
                self._fail(message, self.tokens[i].span, self._instead(i, i + 1, "=="))
        self._expression(begin, end)
        found: list[str] = []
        pending = [(self.start, self.end)]
        while pending:  # the relations of all parts, without brackets around them
            first, last = pending.pop()
            parts = self._split(first, last, "and")
            if len(parts) > 1:
                pending += reversed(parts)
            elif len(outside(self.tokens, first, last)) == 2 and self.tokens[first].text == "(":
                pending.append((first + 1, last - 1))
            else:
                found.append(self._text(first, last))
        self._fail(message, self._span(begin, end), self._instead(self.start, self.end, " and ".join(found)))

    def _refuse_range(self, message: str, span: Span) -> NoReturn:
        raise SaidError(message, span=span, source=self.source, help=_RANGE)

    def _instead(self, begin: int, end: int, text: str) -> str:
        """The suggestion of another text from one place to another."""
        return self._valid(" ".join(f"assert {self._text(self.start, begin)} {text} {self._text(end, self.stop)}".split()))

    def _valid(self, text: str, comment: str = "") -> str:
        """A suggestion, if it can be read."""
        if not self.helping or len(text) > _LONGEST:
            return _EXAMPLE
        source = Source(text)
        try:
            tokens = tokenize(source)
            _Reader(source, tokens, 1, len(tokens) - 1, helping=False).assertion(Span(0, len(text)))
        except ParseError:
            return _EXAMPLE
        return f"write {text}{comment}"

    def _fail(self, message: str, span: Span, help: str) -> NoReturn:
        raise ParseError(message, span=span, source=self.source, help=help)
