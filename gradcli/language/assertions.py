"""Asserts: claims joined by ``and``, each a relation of two sums. What else may stand at the top of one is refused, with what to write."""

from __future__ import annotations

from itertools import pairwise
from typing import NoReturn

from gradcli.errors import ParseError, Source, Span
from gradcli.language.parser import parsed
from gradcli.language.tokens import NAME, NUMBER, PRIME, RESERVED, STRING, SUPERSCRIPT, SYMBOL, Token, tokenize
from gradcli.language.tree import Assertion, Expression, Quantified, Relation

RELATIONS = ("==", "!=", "<", "<=", ">", ">=")
_NEGATED = dict(zip(RELATIONS, ("!=", "==", ">=", ">", "<=", "<"), strict=True))
_LONGEST = 200  # characters of a suggestion
_EXAMPLE = "write: assert x == y"
_RANGE = "write: assert x**2 >= 0 for x in -1..1"

Range = tuple[int, int]  # places of tokens: from the first, up to the one after the last


def parse_assertion(source: Source, span: Span, tokens: list[Token], start: int, stop: int) -> Assertion:
    """assertion = "assert" relation { "and" relation } [ "within" sum ] [ "for" range { "," range } ]; the tokens are those after "assert".

    Raises ParseError for what else stands at its top, with what to write where that can be read.
    """
    return _Assertion(source, tokens, start, stop).parse(span)


class RangeError(ParseError):
    """What is wrong with the ranges that an assert is about, which is no loop of Python's."""


class _Assertion:
    """The tokens of an assert, and which of them stand outside of all brackets."""

    def __init__(self, source: Source, tokens: list[Token], start: int, stop: int, helping: bool = True) -> None:
        self.source, self.tokens, self.start, self.stop, self.helping = source, tokens, start, stop, helping
        self.top = self._outside_of_brackets(start, stop)
        self.within = next((i for i in self.top if i > start and self._is_word(i, "within") and self._ends_value(i - 1)), None)
        self.quantifier = self._quantifier()
        self.last = stop if self.quantifier is None else self.quantifier  # the end of the tolerance, or of the relations
        self.end = self.last if self.within is None else self.within

    def _quantifier(self) -> int | None:
        """Where "for NAME in" stands."""
        for i in self.top:
            named = i + 2 < self.stop and self.tokens[i + 1].kind == NAME and self._is_word(i + 2, "in")
            if named and i > self.start and self._is_word(i, "for") and self._ends_value(i - 1):
                return i
        return None

    def parse(self, span: Span) -> Assertion:
        self._refuse_ranges_and_messages()
        for i in self.top:
            if i < self.end and self.tokens[i].kind == NAME and self.tokens[i].text in ("or", "not", "if", "else"):
                self._refuse_word(i)
        parts = self._split(self.start, self.end)
        relations = [self._relation(part, parts) for part in parts]
        return Assertion(self.source, span, relations, self._tolerance(), self._ranges())

    def _relation(self, part: Range, parts: list[Range]) -> Relation:
        """relation = sum ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) sum"""
        signs = self._signs(part)
        if not signs:
            self._refuse_value(part, parts)
        if len(signs) > 1:
            texts = [" and ".join(self._links(p)) for p in parts]
            self._fail("a chain of comparisons is not read", self.tokens[signs[1]].span, self._joined(texts))
        (sign,) = signs
        left, right = self._expression(part[0], sign), self._expression(sign + 1, part[1])
        return Relation(left, self.tokens[sign].text, right, self._span(part))

    def _tolerance(self) -> Expression | None:
        if self.within is None:
            return None
        signs = self._signs((self.within, self.last))
        for i in self.top:
            if self.within < i < self.last and (self._is_word(i, "and") or i in signs):
                texts = [self._text(part) for part in self._split(self.start, self.end)]
                rest = self._text((i + 1, self.stop)) if self._is_word(i, "and") else ""
                help = f"assert {' and '.join([*texts, *([rest] if rest else [])])} within {self._text((self.within + 1, i))}"
                self._fail("'within' stands at the end, and holds for every relation", self.tokens[i].span, self._valid(help))
        return self._expression(self.within + 1, self.last)

    def _ranges(self) -> tuple[Quantified, ...]:
        """range = NAME "in" sum ".." sum"""
        if self.quantifier is None:
            return ()
        inside = self._outside_of_brackets(self.quantifier + 1, self.stop)
        commas = [i for i in inside if self.tokens[i].kind == SYMBOL and self.tokens[i].text == ","]
        parts = list(zip([self.quantifier + 1, *(i + 1 for i in commas)], [*commas, self.stop], strict=True))
        found = tuple(self._range(part) for part in parts)
        names = [each.name for each in found]
        for each in found:
            if names.count(each.name) > 1:
                self._refuse_range(f"'{each.name}' has two ranges", each.span)
        return found

    def _refuse_range(self, message: str, span: Span) -> NoReturn:
        raise RangeError(message, span=span, source=self.source, help=_RANGE)

    def _range(self, part: Range) -> Quantified:
        start, end = part
        if start >= end:
            self._refuse_range("a range is missing", self.tokens[min(start, self.stop - 1)].span)
        dots = [i for i in self._outside_of_brackets(start, end) if self.tokens[i].kind == SYMBOL and self.tokens[i].text == ".."]
        named = self.tokens[start].kind == NAME and start + 1 < end and self._is_word(start + 1, "in")
        if not named or len(dots) != 1 or dots[0] == start + 2 or dots[0] + 1 == end:
            self._refuse_range("a range is a name and two ends", self._span(part))
        name = self.tokens[start].text
        return Quantified(name, self._expression(start + 2, dots[0]), self._expression(dots[0] + 1, end), self._span(part))

    def _expression(self, at: int, end: int) -> Expression:
        return parsed(self.source, self.tokens, at, end)

    # -- where things stand ------------------------------------------------------------------------------------

    def _outside_of_brackets(self, start: int, stop: int) -> list[int]:
        """The places of the tokens outside of brackets. A bracket that is never closed is an error of its own."""
        found, depth = [], 0
        for i in range(start, stop):
            kind, text, _ = self.tokens[i]
            if kind == SYMBOL and text in (")", "]"):
                depth -= 1
            if depth <= 0:
                found.append(i)
            if kind == SYMBOL and text in ("(", "["):
                depth += 1
        if depth > 0:
            self._expression(start, stop)
        return found

    def _is_word(self, i: int, word: str) -> bool:
        return self.tokens[i].kind == NAME and self.tokens[i].text == word

    def _ends_value(self, i: int) -> bool:
        kind, text, _ = self.tokens[i]
        return kind in (NUMBER, PRIME, STRING, SUPERSCRIPT) or (kind == NAME and text not in RESERVED) or text in (")", "]")

    def _split(self, start: int, end: int) -> list[Range]:
        """The parts between the words "and"."""
        places = [i for i in self._outside_of_brackets(start, end) if self._is_word(i, "and")]
        for i, after in zip(places, [*places[1:], end], strict=False):
            if i == start or after == i + 1:
                self._fail("a relation is missing beside 'and'", self.tokens[i].span, _EXAMPLE)
        return list(zip([start, *(i + 1 for i in places)], [*places, end], strict=True))

    def _signs(self, part: Range) -> list[int]:
        inside = self._outside_of_brackets(*part)
        return [i for i in inside if self.tokens[i].kind == SYMBOL and self.tokens[i].text in RELATIONS]

    def _span(self, part: Range) -> Span:
        last = self.tokens[part[1] - 1]
        return Span(self.tokens[part[0]].start, last.start + len(last.text))

    def _text(self, part: Range) -> str:
        """What the user wrote; nothing where it does not go into a line."""
        if part[0] >= part[1]:
            return ""
        text = self.source.text[slice(*self._span(part))]
        return "" if "\n" in text or "#" in text else text

    # -- what is refused ---------------------------------------------------------------------------------------

    def _refuse_ranges_and_messages(self) -> None:
        for i in self.top:
            token, after = self.tokens[i], self.tokens[i + 1] if i + 1 < self.stop else None
            if self._is_word(i, "for") and self.start < i != self.quantifier and after is not None and after.kind == NAME:
                self._refuse_range("'for' is followed by a name and its range", token.span)
            if token.text == "," and token.kind == SYMBOL and after is not None and after.kind == STRING:
                help = self._valid(f"assert {self._text((self.start, i))}", f"  # {after.text[1:-1]}")
                self._fail("an assert takes no message", token.span, help)

    def _refuse_word(self, i: int) -> NoReturn:
        word, span = self.tokens[i].text, self.tokens[i].span
        parts = self._split(self.start, self.end)
        place = next(k for k, part in enumerate(parts) if part[0] <= i < part[1])
        if word in ("if", "else"):
            help = self._valid(self._with_choice_in_brackets(parts[place], parts))
            self._fail(f"'{word}' at the top of an assert needs brackets", span, help)
        if word == "not" and i == parts[place][0] and len(signs := self._signs(parts[place])) == 1:
            sign, (_, end) = signs[0], parts[place]
            negated = f"{self._text((i + 1, sign))} {_NEGATED[self.tokens[sign].text]} {self._text((sign + 1, end))}"
            texts = [negated if k == place else self._text(part) for k, part in enumerate(parts)]
            self._fail("'not' cannot stand before a claim of an assert", span, self._joined(texts))
        whole = self._text((self.start, self.end)) if self.within is None else ""
        self._fail(f"'{word}' cannot join claims: each claim of an assert holds by itself", span, self._valid(f"assert ({whole}) == True"))

    def _with_choice_in_brackets(self, part: Range, parts: list[Range]) -> str:
        """``assert y == a if c else b`` with brackets around the choice, which a comparison outside of its condition tells."""
        inside = self._outside_of_brackets(*part)
        first = next((i for i in inside if self._is_word(i, "if")), part[1])
        last = next((i for i in reversed(inside) if self._is_word(i, "else")), part[0])
        before, after = [i for i in self._signs(part) if i < first], [i for i in self._signs(part) if i > last]
        start, end = (before[-1] + 1, part[1]) if before else (part[0], after[0] if after else part[1])
        text = f"{self._text((part[0], start))} ({self._text((start, end))}) {self._text((end, part[1]))}".strip()
        return f"assert {' and '.join(text if p == part else self._text(p) for p in parts)}{self._tail()}"

    def _refuse_value(self, part: Range, parts: list[Range]) -> NoReturn:
        """A part without a relation: one in brackets, ``=`` for ``==``, or a value."""
        message = "an assert compares two values: with == != < <= > or >="
        single = [i for i in self._outside_of_brackets(*part) if self.tokens[i].text == "=" and self.tokens[i].kind == SYMBOL]
        if single:
            text = f"{self._text((part[0], single[0]))} == {self._text((single[0] + 1, part[1]))}"
            self._fail(message, self.tokens[single[0]].span, self._joined([text if p == part else self._text(p) for p in parts]))
        self._fail(message, self._span(part), self._joined([text for p in parts for text in self._unwrapped(p)]))

    def _unwrapped(self, part: Range) -> list[str]:
        """The relations of a part, without brackets around them."""
        found, pending = [], [part]
        while pending:
            start, end = pending.pop()
            inside = self._outside_of_brackets(start, end)
            if len(inside) == 2 and self.tokens[start].text == "(" and not self._signs((start, end)):
                pending += reversed(self._split(start + 1, end - 1))
            else:
                found.append(self._text((start, end)))
        return found

    def _links(self, part: Range) -> list[str]:
        """``a < b < c`` as ``a < b``, ``b < c``."""
        signs = self._signs(part)
        ends = [part[0] - 1, *signs, part[1]]
        sides = [self._text((a + 1, b)) for a, b in pairwise(ends)]
        links = zip(sides, signs, sides[1:], strict=False)
        return [f"{a} {self.tokens[sign].text} {b}" for a, sign, b in links] if len(signs) > 1 else [self._text(part)]

    def _tail(self) -> str:
        return "" if self.within is None else f" within {self._text((self.within + 1, self.stop))}"

    def _joined(self, texts: list[str]) -> str:
        return self._valid(f"assert {' and '.join(texts)}{self._tail()}")

    def _valid(self, text: str, comment: str = "") -> str:
        """A suggestion, if it can be read."""
        if not self.helping or len(text) > _LONGEST:
            return _EXAMPLE
        source = Source(text)
        try:
            tokens = tokenize(source)
            _Assertion(source, tokens, 1, len(tokens) - 1, helping=False).parse(Span(0, len(text)))
        except ParseError:
            return _EXAMPLE
        return f"write {text}{comment}"

    def _fail(self, message: str, span: Span, help: str, note: str | None = None) -> NoReturn:
        raise ParseError(message, span=span, source=self.source, help=help, note=note)
