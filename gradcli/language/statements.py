"""Statements: what a logical line binds, defines, asserts or asks. The grammar is at the head of parser.py."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from gradcli.errors import LimitError, ParseError, Source, Span
from gradcli.language.assertions import parse_assertion
from gradcli.language.parser import parsed
from gradcli.language.tokens import END, NAME, NUMBER, RESERVED, SYMBOL, Token, tokenize
from gradcli.language.tree import Binary, Binding, DataBinding, Definition, Expression, Name, Query, Statement

_AUGMENTED = frozenset({"+=", "-=", "*=", "/=", "**=", "@=", "//=", "%="})


def parse_statements(source: Source, limit: int) -> Iterator[Statement | ParseError | LimitError]:
    """The statements of one logical line; an error takes the place of the statement it stands in."""
    if len(source.text) > limit:
        yield LimitError(
            f"a statement of {len(source.text):,} characters is over the limit of {limit:,}", span=Span(0, 1), source=source,
            help=f"raise it with --limit length={len(source.text)}",
        )  # fmt: skip
        return
    try:
        tokens = tokenize(source)
    except ParseError as error:
        yield error
        return
    start = 0
    for stop in _ends(source, tokens):
        if stop > start:
            try:
                yield _statement(source, tokens, start, stop)
            except ParseError as error:
                yield error
        start = stop + 1


def _refuse_ranges(source: Source, tokens: list[Token]) -> None:
    """Two dots that a number or a name stands before: no range is read anywhere."""
    for (kind, text, start), after in pairwise(tokens):
        end = start + len(text)
        if after.start == end and after.text.startswith(".") and (text == "." or (kind == NUMBER and text.endswith("."))):
            raise ParseError(
                "a range 'a..b' is not read here", span=Span(end - 1, end + 1), source=source,
                help="write x[a:b] for a slice, linspace(a, b, 5) for points",
            )  # fmt: skip


def _ends(source: Source, tokens: list[Token]) -> Iterator[int]:
    """The places of the tokens that end statements: each semicolon outside of brackets, and the END."""
    if ";" in source.text:  # megabytes of text seldom have one
        depth = 0
        for i, (kind, text, _) in enumerate(tokens):
            if kind == SYMBOL:
                depth += (text in ("(", "[")) - (text in (")", "]"))
                if text == ";" and depth <= 0:
                    yield i
                    depth = 0
    yield len(tokens) - 1


def parse_expression(source: Source, limit: int) -> Expression:
    """The whole text as one expression."""
    if len(source.text) > limit:
        raise LimitError(f"an expression of {len(source.text):,} characters is over the limit of {limit:,}", source=source)
    tokens = tokenize(source)
    return parsed(source, tokens, 0, len(tokens) - 1)


def _statement(source: Source, tokens: list[Token], start: int, stop: int) -> Statement:
    """statement = [ "const" ] NAME "=" expression | NAME "+=" expression | NAME "(" names ")" "=" expression | assertion | expression"""
    last = tokens[stop - 1]
    span = Span(tokens[start].start, last.start + len(last.text))
    first, second = tokens[start], tokens[start + 1] if start + 1 < stop else Token(END, "", span.end)

    def expression(at: int, end: int = stop) -> Expression:
        if ".." in source.text:
            _refuse_ranges(source, tokens[at:end])
        return parsed(source, tokens, at, end)

    if first.kind == NAME and first.text not in RESERVED:
        if first.text == "const" and second.kind == NAME:
            third = tokens[start + 2] if start + 2 < stop else None
            if third is None or third.text != "=":
                raise ParseError("'const' needs a name, '=' and a value", span=second.span, source=source, help="write: const c = 2")
            return Binding(source, span, second.text, second.span, expression(start + 3), const=True)
        if second.kind == SYMBOL and second.text == "=":
            if start + 3 < stop and tokens[start + 2].text == "@":
                reference = source.text[tokens[start + 3].start : span.end]
                return DataBinding(source, span, first.text, first.span, reference)
            return Binding(source, span, first.text, first.span, expression(start + 2))
        if second.kind == SYMBOL and second.text in _AUGMENTED:
            return Binding(source, span, first.text, first.span, _augmented(source, first, second, expression(start + 2)))
        if first.text == "assert" and not (second.kind == SYMBOL and second.text not in ("(", "[", "-", "+")) and second.kind != END:
            return parse_assertion(source, span, tokens, start + 1, stop)
        if second.kind == SYMBOL and second.text == "(":
            equals = _definition_end(tokens, start + 2, stop)
            if equals is not None:
                names = [t.text for t in tokens[start + 2 : equals - 1] if t.kind == NAME]
                if len(set(names)) < len(names):
                    raise ParseError("a parameter is named twice", span=first.span, source=source)
                return Definition(source, span, first.text, first.span, names, expression(equals + 1))
    return Query(source, span, expression(start))


def _augmented(source: Source, first: Token, sign: Token, change: Expression) -> Expression:
    """The right side of ``name = name + (change)``, for ``name += change``."""
    operator = sign.text.removesuffix("=")
    if operator in ("//", "%"):
        help = f"write {first.text} = {first.text} {operator} ({source.text[change.root.start : change.root.end]})"
        raise ParseError(f"there is no '{sign.text}' here", span=sign.span, source=source, help=help)
    name = Name(first.text, first.start, first.start + len(first.text))
    whole = Binary(operator, name, change.root)
    nodes = [*change.nodes]
    for node in (name, whole):
        node.place = len(nodes)
        nodes.append(node)
    return Expression(whole, nodes)


def _definition_end(tokens: list[Token], at: int, stop: int) -> int | None:
    """The place of "=" in ``f(x, y) =``, or None where the tokens are not the head of a definition."""
    while at + 1 < stop and tokens[at].kind == NAME:
        after = tokens[at + 1].text
        if after == ")":
            return at + 2 if at + 2 < stop and tokens[at + 2].text == "=" and tokens[at + 2].kind == SYMBOL else None
        if after != ",":
            return None
        at += 2
    return None
