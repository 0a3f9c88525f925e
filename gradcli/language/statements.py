"""Statements: what a logical line binds, defines, asserts or asks. The grammar is at the head of parser.py."""

from __future__ import annotations

from collections.abc import Iterator

from gradcli.errors import LimitError, ParseError, Source, Span
from gradcli.language.assertions import parse_assertion
from gradcli.language.dialect import unknown_dialect
from gradcli.language.imports import import_line
from gradcli.language.parser import parsed
from gradcli.language.parts import Part, ends
from gradcli.language.tokens import END, NAME, RESERVED, SYMBOL, Token, tokenize
from gradcli.language.tree import Binary, Binding, DataBinding, Definition, Expression, Name, Query, Statement
from gradcli.language.unpacking import binds_several, equals_of, several

_AUGMENTED = frozenset({"+=", "-=", "*=", "/=", "**=", "@=", "//=", "%="})


def parse_statements(source: Source, limit: int) -> Iterator[Statement | ParseError | LimitError]:
    """The statements of one logical line; an error takes the place of the statement it stands in."""
    if "#" in source.text and "dialect" in source.text and (error := unknown_dialect(source)) is not None:
        yield error
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
    for stop in ends(source, tokens):
        if stop > start:
            try:
                yield statement(source, tokens, start, stop)
            except ParseError as error:
                yield error
        start = stop + 1


def parse_expression(source: Source, limit: int) -> Expression:
    """The whole text as one expression. Raises LimitError for one that is too long, ParseError for what is none."""
    if len(source.text) > limit:
        raise LimitError(f"an expression of {len(source.text):,} characters is over the limit of {limit:,}", source=source)
    tokens = tokenize(source)
    return parsed(source, tokens, 0, len(tokens) - 1)


def statement(source: Source, tokens: list[Token], start: int, stop: int) -> Statement:
    """statement = constant | data | binding | augmented | assertion | definition | query; the first two tokens say which."""
    last = tokens[stop - 1]
    part = Part(source, tokens, start, stop, Span(tokens[start].start, last.start + len(last.text)))
    first = tokens[start]
    kind, text, _ = part.token(1)
    if first.kind != NAME or first.text in RESERVED:
        return several(part) if first.text in ("(", "[", "*") and "=" in source.text and binds_several(part) else query(part)
    if first.text in ("import", "from") and (kind == NAME or (text == "." and first.text == "from")):
        return import_line(part)
    if kind == SYMBOL and text == "," and equals_of(part):
        return several(part)
    if first.text == "const" and kind == NAME:
        return constant(part)
    if kind == SYMBOL and text == "=":
        return data(part) if start + 3 < stop and part.token(2).text == "@" else binding(part)
    if kind == SYMBOL and text in _AUGMENTED:
        return augmented(part)
    if first.text == "assert" and kind != END and (kind != SYMBOL or text in ("(", "[", "-", "+")):
        return parse_assertion(source, part.span, tokens, start + 1, stop)
    if kind == SYMBOL and text == "(" and (equals := _definition_end(tokens, start + 2, stop)) is not None:
        return definition(part, equals - start)
    return query(part)


def query(part: Part) -> Query:
    """query = expression"""
    return Query(part.source, part.span, part.expression(0))


def constant(part: Part) -> Binding:
    """constant = "const" NAME "=" expression"""
    name = part.token(1)
    if part.token(2).text != "=":
        raise ParseError("'const' needs a name, '=' and a value", span=name.span, source=part.source, help="write: const c = 2")
    return Binding(part.source, part.span, name.text, name.span, part.expression(3), const=True)


def data(part: Part) -> DataBinding:
    """data = NAME "=" "@" FILE, a path up to the end of the statement"""
    name = part.token(0)
    return DataBinding(part.source, part.span, name.text, name.span, part.source.text[part.token(3).start : part.span.end])


def binding(part: Part) -> Binding:
    """binding = NAME "=" expression"""
    name = part.token(0)
    return Binding(part.source, part.span, name.text, name.span, part.expression(2))


def augmented(part: Part) -> Binding:
    """augmented = NAME ( "+=" | "-=" | "*=" | "/=" | "**=" | "@=" ) expression: ``name = name + (expression)``"""
    name, sign = part.token(0), part.token(1)
    change = part.expression(2)
    operator = sign.text.removesuffix("=")
    if operator in ("//", "%"):
        help = f"write {name.text} = {name.text} {operator} ({part.source.text[change.root.start : change.root.end]})"
        raise ParseError(f"there is no '{sign.text}' here", span=sign.span, source=part.source, help=help)
    before = Name(name.text, name.start, name.start + len(name.text))
    whole = Binary(operator, before, change.root)
    nodes = [*change.nodes]
    for node in (before, whole):
        node.place = len(nodes)
        nodes.append(node)
    return Binding(part.source, part.span, name.text, name.span, Expression(whole, nodes))


def definition(part: Part, equals: int) -> Definition:
    """definition = NAME "(" NAME { "," NAME } ")" "=" expression"""
    name = part.token(0)
    parameters = [part.token(place).text for place in range(2, equals - 1) if part.token(place).kind == NAME]
    if len(set(parameters)) < len(parameters):
        raise ParseError("a parameter is named twice", span=name.span, source=part.source)
    return Definition(part.source, part.span, name.text, name.span, parameters, part.expression(equals + 1))


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
