"""Statements: what a logical line binds, defines, asserts or asks. The grammar is at the head of parser.py."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from gradcli.containment import contained
from gradcli.errors import AmbiguousError, GradcliError, LimitError, ParseError, Source, Span
from gradcli.language.assertions import parse_assertion
from gradcli.language.deviations import has_sign, of_data, refuse_measured, refuse_sign, sign_in
from gradcli.language.dialect import unknown_dialect
from gradcli.language.imports import import_line
from gradcli.language.parser import parsed
from gradcli.language.parts import Part, ends
from gradcli.language.tokens import END, NAME, PYTHON_WORDS, RESERVED, ROOTS, SYMBOL, Token, tokenize
from gradcli.language.tree import Binary, Binding, DataBinding, Definition, Expression, Name, Query, Statement
from gradcli.language.unpacking import binds_several, equals_of, several

_METHODS = frozenset({"backward", "requires_grad", "requires_grad_", "retain_grad", "sort", "zero_grad"})  # of a name, and alone
_AUGMENTED = frozenset({"+=", "-=", "*=", "/=", "**=", "@=", "//=", "%="})


def parse_statements(source: Source, limit: int) -> Iterator[Statement | GradcliError]:
    """The statements of one logical line; an error takes the place of the statement it stands in, or of the rest of the line."""
    try:
        yield from _parsed(source, limit)
    except Exception as error:
        from gradcli.language.python_hints import lost

        yield contained(error).at(Span(0, len(source.text)), source)
        yield from lost(source, 0, source.text)


def _parsed(source: Source, limit: int) -> Iterator[Statement | GradcliError]:
    if "#" in source.text and "dialect" in source.text and (error := unknown_dialect(source)) is not None:
        yield error
    if len(source.text) > limit:
        yield LimitError(
            f"a statement of {len(source.text):,} characters is over the limit of {limit:,}", span=Span(0, 1), source=source,
            help=f"raise it with --limit length={len(source.text)}",
        )  # fmt: skip
        return
    if type(source) is not Source:
        from gradcli.language.python_hints import refused

        yield from refused(source)
        return
    try:
        tokens = tokenize(source)
    except ParseError as error:
        from gradcli.language.python_hints import explained

        yield explained(source, 0, len(source.text), error)
        return
    start = 0
    for stop in ends(source, tokens):
        if stop > start:
            try:
                found = statement(source, tokens, start, stop)
                if found is not None:
                    yield found
            except ParseError as error:
                from gradcli.language.python_hints import explained, lost

                begin, last = tokens[start].start, tokens[stop - 1]
                end = last.start + len(last.text)
                yield with_readings(error) if isinstance(error, AmbiguousError) else explained(source, begin, end, error)
                yield from lost(source, begin, source.text[begin:end])
        start = stop + 1


def parse_expression(source: Source, limit: int) -> Expression:
    """The whole text as one expression. Raises LimitError for one that is too long, ParseError for what is none."""
    if len(source.text) > limit:
        raise LimitError(f"an expression of {len(source.text):,} characters is over the limit of {limit:,}", source=source)
    tokens = tokenize(source)
    refuse_sign(source, tokens)
    try:
        return parsed(source, tokens, 0, len(tokens) - 1)
    except AmbiguousError as error:
        raise with_readings(error) from None


def with_readings(error: AmbiguousError) -> AmbiguousError:
    """The error with the two readings in its help, if both can be read; if not, its help has others, of the same form."""
    if error.readings and all(map(_can_be_read, error.readings)):
        error.instead, error.help = error.help, f"write {' or '.join(error.readings)}"
    error.readings = ()
    return error


def _can_be_read(text: str) -> bool:
    try:
        statements_in(Source(text))
    except (ParseError, IndexError):
        return False
    return True


def statements_in(source: Source) -> list[Statement]:
    """The statements of a text. Raises ParseError for what cannot be read."""
    tokens = tokenize(source)
    start, found = 0, []
    for stop in ends(source, tokens):
        if stop > start and (made := statement(source, tokens, start, stop)) is not None:
            found.append(made)
        start = stop + 1
    return found


def read_again(expression: Expression, values: frozenset[str]) -> Expression:
    """An expression where some of the names before brackets are known to be values. Raises AmbiguousError for what has two readings."""
    source, span = expression.source, expression.span
    assert source is not None
    assert span is not None
    tokens = tokenize(source)
    places = [token.start for token in tokens]
    start, stop = (bisect_left(places, place) for place in span)
    part = Part(source, tokens, start, stop, Span(*span))
    try:
        return (expression.read or plain)(part, values)
    except AmbiguousError as error:
        raise with_readings(error) from None


def statement(source: Source, tokens: list[Token], start: int, stop: int) -> Statement | None:
    """statement = constant | data | binding | augmented | assertion | definition | query; the first two tokens say which.

    None for a statement of Python that changes nothing here.
    """
    last = tokens[stop - 1]
    part = Part(source, tokens, start, stop, Span(tokens[start].start, last.start + len(last.text)))
    first = tokens[start]
    kind, text, _ = part.token(1)
    if first.kind != NAME or (first.text in RESERVED and first.text not in PYTHON_WORDS):
        has_equals = first.text in ("(", "[", "*") and source.text.find("=", *part.span) >= 0
        return several(part) if has_equals and binds_several(part) else query(part)
    if first.text in ("import", "from") and (kind == NAME or (text == "." and first.text == "from")):
        return import_line(part)
    if kind == SYMBOL and text == "," and equals_of(part):
        return several(part)
    if first.text in PYTHON_WORDS or (kind == SYMBOL and (text == ":" or (text == "." and _is_of_statements(part.token(2).text)))):
        from gradcli.language.python_hints import usable

        others = usable(part)
        if others is not None:
            return statement(source, others, 0, len(others) - 1) if others else None
    if first.text == "const" and kind == NAME:
        return binding(part, 1)
    if kind == SYMBOL and text == "=":
        return data(part) if start + 3 < stop and part.token(2).text == "@" else binding(part)
    if kind == SYMBOL and text in _AUGMENTED:
        return augmented(part)
    if first.text == "assert" and kind != END and (kind != SYMBOL or text in ("(", "[", "-", "+", "|", "~", *ROOTS)):
        return parse_assertion(source, part.span, tokens, start + 1, stop)
    if kind == SYMBOL and text == "(" and (equals := _definition_end(tokens, start + 2, stop)) is not None:
        return definition(part, equals - start)
    return query(part)


def _is_of_statements(method: str) -> bool:
    """Whether a method is one that statements of Python consist of: it changes something in place, or nothing here."""
    return method in _METHODS or (method[-1:] == "_" != method[:1])


def query(part: Part) -> Query:
    """query = derivative | expression"""
    return Query(part.source, part.span, asked(part, frozenset()))


def plain(part: Part, values: frozenset[str]) -> Expression:
    """An expression and nothing else."""
    return part.expression(0, values)


def asked(part: Part, values: frozenset[str]) -> Expression:
    """derivative | expression: which of them, if some names are known to have a meaning."""
    sign = part.tokens[part.start].text
    if sign in ("d", "∂"):
        from gradcli.language.textbook_derivatives import derivative, head

        found = head(part.tokens, part.start, part.stop)
        if found is not None and values.isdisjoint(found.differentials):
            made = derivative(part, found, values)
            made.read = asked
            return made
    return plain(part, values)


def data(part: Part) -> DataBinding:
    """data = NAME "=" "@" FILE [ ( "±" | "+/-" ) expression ], a path up to the end of the statement, or to a sign after a space"""
    name, text = part.token(0), part.source.text
    reference, error = of_data(text[part.token(3).start : part.span.end])
    deviation: Expression | None = None
    percent = False
    if error is not None:
        begin = part.span.end - len(error)
        place = next(at for at in range(part.start, part.stop) if part.tokens[at].start >= begin)
        deviation, percent = _deviation(part, place - part.start)
    return DataBinding(part.source, part.span, name.text, name.span, reference, deviation, percent)


def binding(part: Part, place: int = 0) -> Binding:
    """binding = NAME "=" expression [ ( "±" | "+/-" ) expression ], constant = "const" NAME "=" expression"""
    name, begin, const = part.token(place), place + 2, place > 0
    if part.token(place + 1).text != "=":
        raise ParseError("'const' needs a name, '=' and a value", span=name.span, source=part.source, help="write: const c = 2")
    measured = has_sign(part.source.text) and not const
    sign = sign_in(part.tokens, part.start + begin, part.stop) if measured else None
    if sign is None:
        refuse_measured(part.source, part.tokens, part.start + begin, part.stop)
        return Binding(part.source, part.span, name.text, name.span, part.expression(begin), const=const)
    value = part.expression(begin, end=sign[0] - part.start)
    deviation, percent = _deviation(part, sign[1] - part.start)
    return Binding(part.source, part.span, name.text, name.span, value, deviation=deviation, percent=percent)


def _deviation(part: Part, place: int) -> tuple[Expression, bool]:
    """The standard deviation from a place on, and whether it is in percent of the value: ``2 ± 5%``."""
    count = part.stop - part.start
    percent = place + 1 < count and part.token(count - 1).text == "%"
    return part.expression(place, end=count - percent), percent


def augmented(part: Part) -> Binding:
    """augmented = NAME ( "+=" | "-=" | "*=" | "/=" | "**=" | "@=" ) expression: ``name = name + (expression)``"""
    name, sign = part.token(0), part.token(1)
    change = _changed(part, frozenset())
    operator = sign.text.removesuffix("=")
    if operator in ("//", "%"):
        assert isinstance(change.root, Binary)
        right = change.root.right
        help = f"write {name.text} = {name.text} {operator} ({part.source.text[right.start : right.end]})"
        raise ParseError(f"there is no '{sign.text}' here", span=sign.span, source=part.source, help=help)
    return Binding(part.source, part.span, name.text, name.span, change)


def _changed(part: Part, values: frozenset[str]) -> Expression:
    """``name + (expression)`` of ``name += expression``."""
    name, sign = part.token(0), part.token(1)
    change = part.expression(2, values)
    before = Name(name.text, name.start, name.start + len(name.text))
    whole = Binary(sign.text.removesuffix("="), before, change.root)
    nodes = [*change.nodes]
    for node in (before, whole):
        node.place = len(nodes)
        nodes.append(node)
    made = Expression(whole, nodes).like(change)
    made.span, made.read = part.span, _changed
    return made


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
