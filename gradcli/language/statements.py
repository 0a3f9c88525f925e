"""Statements: what a logical line binds, defines, asserts or asks.

The grammar is at the head of parser.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from gradcli.errors import (
    AmbiguousError,
    GradcliError,
    LimitError,
    ParseError,
    ShapeError,
    TypeMismatchError,
    as_gradcli_error,
)
from gradcli.graph.nodes import Expr
from gradcli.language.assertions import Claims
from gradcli.language.calls import is_function
from gradcli.language.derivative_heads import derivative, head
from gradcli.language.dialect import unknown_dialect
from gradcli.language.parser import parse_tokens, value_in
from gradcli.language.python_hints import (
    effect,
    explain_error,
    import_line,
    lost_bindings,
    refuse_block,
    refuse_first_word,
    refuse_method,
    values_to_print,
)
from gradcli.language.reading import expressions_of
from gradcli.language.scope import Builder, Scope
from gradcli.language.syntax import (
    END,
    NAME,
    PYTHON_WORDS,
    RESERVED,
    ROOTS,
    SYMBOL,
    Binary,
    Binding,
    Call,
    DataBinding,
    Definition,
    Expression,
    Name,
    Part,
    Query,
    Several,
    Statement,
    Token,
    end_of,
    has_sign,
    of_data,
    refuse_measured,
    refuse_sign,
    sign_in,
    statements_between,
    tokenize,
)
from gradcli.ops.arrays import shapes
from gradcli.texts import Source, Span, words


def bind(part: Part, name: Token, expression: Expression, /, **more: Any) -> Binding:
    """Return the binding of a name by a statement."""
    return Binding(part.source, part.span, name.text, name.span, expression, **more)


# -- Several names at once: ``a, b = x.chunk(2, -1)``, ``c, s = cos(t), sin(t)``
#
#     several = targets "=" items
#     targets = names | "(" names ")" | "[" names "]"
#     names   = NAME "," { NAME "," } [ NAME ]


def equals_of(part: Part) -> int:
    """Return the place of a statement's "=" outside of brackets; 0 without one."""
    return next(iter(part.places("=")), 0)


def binds_several(part: Part) -> bool:
    """Tell whether a statement that does not begin with a name binds several."""
    equals = equals_of(part)
    return equals > 0 and (
        part.token(0).text == "*"
        or part.closing(0) == equals - 1
        or bool(part.places(",", 0, equals))
    )


def several(part: Part) -> Several:
    """Parse ``several = targets "=" items``.

    Raises ParseError for targets that are not names, and for another number of items.
    """
    equals = equals_of(part)
    targets = _targets(part, equals)
    begin, stop = equals + 1, part.stop - part.start
    commas = part.places(",", begin, stop)
    if commas and commas[-1] == stop - 1:  # a comma at the end
        stop = commas.pop()
    if not commas:
        if begin >= stop:
            part.fail("expected a value after '='", part.token(equals).span)
        whole = value_in(part, begin, end=stop)
        bindings = [bind(part, name, whole, part=place) for place, name in enumerate(targets)]
        return Several(part.source, part.span, bindings, shared=True)
    names, values = len(targets), len(commas) + 1
    if names != values:
        part.fail(
            f"{names} name{'s' * (names > 1)} for {values} value{'s' * (values > 1)}",
            Span(part.token(0).start, part.token(equals).start),
            "give each value a name; _ for one that is not needed",
        )
    bindings = []
    for target, end in zip(targets, [*commas, stop], strict=True):
        bindings.append(bind(part, target, value_in(part, begin, end=end)))
        begin = end + 1
    return Several(part.source, part.span, bindings, shared=False)


def _targets(part: Part, equals: int) -> list[Token]:
    in_brackets = part.token(0).text in ("(", "[") and part.closing(0) == equals - 1
    written = [part.token(place) for place in range(in_brackets, equals - in_brackets)]
    for place, token in enumerate(written or [part.token(0)]):
        if token.text != "," if place % 2 else token.kind != NAME or token.text in RESERVED:
            part.fail(
                "only names with commas between them can stand before this '='",
                token.span,
                "write a, b = x, y",
            )
    return written[::2]


def parts_of(builder: Builder, result: Any, count: int) -> list[Expr]:
    """Return the values of one expression for several names.

    They are the entries of a tuple or list, or the rows of an array. Raises ShapeError for another
    number of them, TypeMismatchError for a number, which has no parts.
    """
    if not isinstance(result, (tuple, list)):
        node = builder.value(result)
        if not node.shape:
            raise TypeMismatchError(
                f"{count} name{'s' * (count > 1)} for one number",
                help="give each name a value: a, b = x, y",
            )
        rows = node.shape[0]
        result = (
            [shapes.getitem(node, index=(i,)) for i in range(rows)]
            if rows == count
            else [None] * rows
        )
    if len(result) != count:
        raise ShapeError(
            f"{count} name{'s' * (count > 1)} for {len(result)} value{'s' * (len(result) != 1)}",
            help="give each value a name; _ for one that is not needed",
        )
    return [builder.value(part) for part in result]


_AUGMENTED = words("+= -= *= /= **= @= //= %=")


_LATEX = re.compile(r"\A\s*\$.*\$\s*\Z|\\[A-Za-z|{(\[,;:!]|[\^_]\s*\{|\}\s*[\^_]")


def tokens_of(source: Source) -> list[Token]:
    """Return the tokens of a text, which may be LaTeX.

    It is LaTeX if it has commands, or exponents and indices in braces, outside of comments, or
    stands between dollars.

    Raises ParseError at the first bad character.
    """
    try:
        return tokenize(source)
    except ParseError:
        if _LATEX.search(source.text) is None:
            raise
    from gradcli.language.latex import latex_tokens

    return latex_tokens(source)


def parse_statements(source: Source, limit: int) -> Iterator[Statement | GradcliError]:
    """Yield the statements of one logical line.

    An error takes the place of its statement, or of the rest of the line.
    """
    try:
        kept = _statements_of_line(source, limit) if len(source.text) <= _SHORT else None
        yield from _parse(source, limit) if kept is None else kept
    except Exception as error:
        yield as_gradcli_error(error).at(Span(0, len(source.text)), source)
        yield from lost_bindings(source, 0, source.text)


_SHORT = 500  # characters of the longest line whose statements are kept


@lru_cache(64)
def _statements_of_line(source: Source, limit: int) -> list[Statement | GradcliError] | None:
    """Return the statements of a line that has no errors, to which places are added later."""
    found = [*_parse(source, limit)]
    return None if any(isinstance(each, GradcliError) for each in found) else found


def _parse(source: Source, limit: int) -> Iterator[Statement | GradcliError]:
    if "dialect" in source.text and (error := unknown_dialect(source)) is not None:
        yield error
    if len(source.text) > limit:
        yield LimitError(
            f"a statement of {len(source.text):,} characters is over the limit of {limit:,}", span=Span(0, 1), source=source,
            help=f"raise it with --limit length={len(source.text)}",
        )  # fmt: skip
        return
    if type(source) is not Source:
        yield from refuse_block(source)
        return
    try:
        tokens = tokens_of(source)
    except ParseError as error:
        yield from _refusal(source, 0, len(source.text), error)
        return
    for start, stop in statements_between(source, tokens):
        try:
            yield from statements_at(source, tokens, start, stop)
        except ParseError as error:
            yield from _refusal(source, tokens[start].start, end_of(tokens[stop - 1]), error)


def _refusal(
    source: Source, begin: int, end: int, error: ParseError
) -> Iterator[Statement | GradcliError]:
    """Yield what takes the place of a text that cannot be read."""
    yield (
        without_bad_help(error)
        if isinstance(error, AmbiguousError)
        else explain_error(source, begin, end, error)
    )
    yield from lost_bindings(source, begin, source.text[begin:end])


def parse_expression(source: Source, limit: int) -> Expression:
    """Parse the whole text as one expression.

    Raises LimitError for an expression that is too long, ParseError for anything that is not one.
    """
    if len(source.text) > limit:
        raise LimitError(
            f"an expression of {len(source.text):,} characters is over the limit of {limit:,}",
            source=source,
        )
    tokens = tokens_of(source)
    refuse_sign(source, tokens)
    try:
        return parse_tokens(source, tokens, 0, len(tokens) - 1)
    except AmbiguousError as error:
        raise without_bad_help(error) from None


def statements_of(text: str) -> list[Statement] | None:
    """Return the statements in a text, or None if it cannot be read."""
    source = Source(text)
    try:
        tokens = tokens_of(source)
        parts = statements_between(source, tokens)
        return [each for part in parts for each in statements_at(source, tokens, *part)]
    except (ParseError, IndexError):
        return None


# -- Texts that helps offer to write: each is tried before it is shown, so that no help leads to the
# next error.


_LONGEST_HELP = 2_000  # longest help that is tried, in characters
_OFFER = re.compile(
    r"(?:write:?|define it:|give it one(?: before)?:) ([^;]*(?:; \w+\()?.*)", re.DOTALL
)
_AROUND = re.compile(
    r"^(or )?(.*value: )?| (for|to) [a-z'! ]*(;.*)?$| (for|of) the [a-z ]*$|; (?!\w+\().*$|  "
    r"#.*$|: (functions|'\w+' is) .*$"
)
_NO_TEXT = re.compile(r"with |power|exclusive|a comma|list |give |each|\*|# |the |@|it with ")


def offers(help: str) -> list[str]:
    """Return the texts that a help offers to write.

    They stand between commas and "or", each perhaps with its purpose.
    """
    found = _OFFER.match(help)
    if found is None:
        return []
    parts, depth, start, text = [], 0, 0, found[1]
    for place, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if depth == 0 and (text.startswith(", ", place) or text.startswith(" or ", place)):
            parts.append(text[start:place])
            start = place + len(", " if char == "," else " or ")
    shown = (_AROUND.sub("", part) for part in [*parts, text[start:]])
    return [part for part in shown if part and not _NO_TEXT.match(part)]


def without_bad_help(error: GradcliError, scope: Scope | None = None) -> GradcliError:
    """Return the error without a help that offers unreadable text or calls unknown names."""
    if (
        error.help is not None
        and len(error.help) <= _LONGEST_HELP
        and not all(_can_be_read(text, scope) for text in offers(error.help))
    ):
        error.help = error.instead
    return error


def _can_be_read(text: str, scope: Scope | None) -> bool:
    """Tell whether a text is a statement, or a value and its deviation, with only known calls."""
    found = statements_of(f"x = {text}" if "±" in text else text)
    if found is None or scope is None:
        return found is not None
    own = {
        name
        for each in found
        if isinstance(each, Definition)
        for name in (each.name, *each.parameters)
    }
    nodes = [
        node for each in found for expression in expressions_of(each) for node in expression.nodes
    ]
    called = {
        node.callee.name
        for node in nodes
        if isinstance(node, Call) and isinstance(node.callee, Name)
    }
    return all(name in own or is_function(name) or scope.knows(name) for name in called)


@lru_cache(64)
def read_again(expression: Expression, values: frozenset[str]) -> Expression:
    """Parse an expression again, with some of the names before brackets known to be values.

    Raises AmbiguousError if it has two readings.
    """
    source, span = expression.source, expression.span
    assert source is not None
    assert span is not None
    tokens = tokens_of(source)
    part = Part(source, tokens, 0, len(tokens) - 1, Span(*span))
    try:
        return (expression.read or plain)(part.cut(part.span), values)
    except AmbiguousError as error:
        raise without_bad_help(error) from None


def statements_at(source: Source, tokens: list[Token], start: int, stop: int) -> list[Statement]:
    """Parse a statement; what is printed is a query for each value."""
    if tokens[start].text == "print":
        part = Part(source, tokens, start, stop, Span(tokens[start].start, tokens[stop].start))
        if (values := values_to_print(part)) is not None:
            return [query(value) for value in values]
    return [statement(source, tokens, start, stop)]


def statement(source: Source, tokens: list[Token], start: int, stop: int) -> Statement:
    """Parse a statement; its first two tokens tell its kind.

    The rule is ``statement = constant | data | binding | augmented | assertion | definition |
    query``.
    """
    span = Span(tokens[start].start, end_of(tokens[stop - 1]))
    if source.latex:  # LaTeX is longer than the tokens that stand for it
        begin, end = end_of(tokens[start - 1]) if start else 0, tokens[stop].start
        text = source.text[begin:end]
        span = Span(end - len(text.lstrip()), begin + len(text.rstrip()))
    part = Part(source, tokens, start, stop, span)
    first = tokens[start]
    kind, text, _ = part.token(1)
    if first.kind != NAME or (first.text in RESERVED and first.text not in PYTHON_WORDS):
        has_equals = first.text in ("(", "[", "*") and source.text.find("=", *part.span) >= 0
        return several(part) if has_equals and binds_several(part) else query(part)
    if first.text in ("import", "from") and (kind == NAME or text == "."):
        return import_line(part)
    if text == "," and equals_of(part):
        return several(part)
    if (
        first.text == "def"
        or part.token(2).text == "lambda"
        or (text == "(" and part.token(3).text in (",", ")"))  # or a call of names
    ) and (made := definition(part)) is not None:
        return made
    if text == ".":
        if (found := effect(part)) is not None:
            return found
        refuse_method(part)
    elif text == ":" and _TYPE.fullmatch(part.text(2, equals := equals_of(part))):
        return binding(part, 0, equals)
    elif first.text in PYTHON_WORDS:
        refuse_first_word(part)
    if first.text == "const" and kind == NAME:
        return binding(part, 1)
    if text == "=":
        return data(part) if start + 3 < stop and part.token(2).text == "@" else binding(part)
    if text in _AUGMENTED:
        return augmented_assignment(part)
    if (
        first.text == "assert"
        and kind != END
        and (kind != SYMBOL or text in ("(", "[", "-", "+", "|", "~", *ROOTS))
    ):
        return Claims(part).assertion()
    return query(part)


def query(part: Part) -> Query:
    """Parse ``query = derivative | expression``."""
    return Query(part.source, part.span, derivative_or_expression(part, frozenset()))


def plain(part: Part, values: frozenset[str]) -> Expression:
    """Parse an expression and nothing else."""
    return value_in(part, 0, values)


def derivative_or_expression(part: Part, values: frozenset[str]) -> Expression:
    """Parse ``derivative | expression``, if some names are known to have a meaning."""
    sign = part.tokens[part.start].text
    if sign in ("d", "∂"):
        found = head(part.tokens, part.start, part.stop)
        if found is not None and values.isdisjoint(found.differentials):
            made = derivative(part, found, values)
            made.read = derivative_or_expression
            return made
    return plain(part, values)


def data(part: Part) -> DataBinding:
    """Parse ``data = NAME "=" "@" FILE [ ( "±" | "+/-" ) expression ]``.

    FILE is a path up to the end of the statement, or to a sign after a space.
    """
    name, text = part.token(0), part.source.text
    reference, error = of_data(text[part.token(3).start : part.span.end])
    deviation: Expression | None = None
    percent = False
    if error is not None:
        begin = part.span.end - len(error)
        place = next(at for at in range(part.start, part.stop) if part.tokens[at].start >= begin)
        deviation, percent = _deviation(part, place - part.start)
    return DataBinding(part.source, part.span, name.text, name.span, reference, deviation, percent)


_TYPE = re.compile(r"[\w\s.\[\],\"']+")


def binding(part: Part, place: int = 0, equals: int = 0) -> Binding:
    """Parse a binding or a constant.

    binding = NAME [ ":" type ] "=" expression [ ( "±" | "+/-" ) expression ]
    constant = "const" NAME "=" expression
    """
    name, const = part.token(place), place > 0
    begin = (equals or place + 1) + 1
    if part.token(begin - 1).text != "=":
        part.fail("'const' needs a name, '=' and a value", name.span, "write: const c = 2")
    sign = None
    if has_sign(part.source.text) and not const:
        sign = sign_in(part.tokens, part.start + begin, part.stop)
    if sign is None:
        refuse_measured(part.source, part.tokens, part.start + begin, part.stop)
        return bind(part, name, value_in(part, begin), const=const)
    value = value_in(part, begin, end=sign[0] - part.start)
    deviation, percent = _deviation(part, sign[1] - part.start)
    return bind(part, name, value, deviation=deviation, percent=percent)


def _deviation(part: Part, place: int) -> tuple[Expression, bool]:
    """Parse the standard deviation from a place on.

    The result tells, too, whether it is in percent of the value: ``2 ± 5%``.
    """
    count = part.stop - part.start
    percent = place + 1 < count and part.token(count - 1).text == "%"
    return value_in(part, place, end=count - percent), percent


def augmented_assignment(part: Part) -> Binding:
    """Parse an augmented assignment as ``name = name + (expression)``.

    augmented = NAME ( "+=" | "-=" | "*=" | "/=" | "//=" | "%=" | "**=" | "@=" ) expression
    """
    return bind(part, part.token(0), _augmented_value(part, frozenset()))


def _augmented_value(part: Part, values: frozenset[str]) -> Expression:
    """``name + (expression)`` of ``name += expression``."""
    name, sign = part.token(0), part.token(1)
    change = value_in(part, 2, values)
    before = Name(name.text, name.start, name.start + len(name.text))
    made = change.extend(before, Binary(sign.text.removesuffix("="), before, change.root))
    made.span, made.read = part.span, _augmented_value
    return made


_NAMES = r"([^\W\d]\w*(?: , [^\W\d]\w*)*)"
_DEFINITION = re.compile(
    rf"(def )?\w+ \( {_NAMES} \) (?(1): return|=) |\w+ = lambda {_NAMES} : "
)  # for texts of tokens, joined by blanks


def definition(part: Part) -> Definition | None:
    """Parse the definition of a function; None is returned for any other statement.

    definition = NAME "(" names ")" "=" expression | "def" NAME "(" names ")" ":" "return" expression
               | NAME "=" "lambda" names ":" expression
    names      = NAME { "," NAME }
    """
    texts = [token.text for token in part.tokens[part.start : part.stop]]
    found = _DEFINITION.match(" ".join(texts))
    if found is None:
        return None
    name, parameters = part.token(found[1] is not None), (found[2] or found[3]).split(" , ")
    if len(set(parameters)) < len(parameters):
        part.fail("a parameter is named twice", name.span)
    body = value_in(part, found[0].count(" "))
    return Definition(part.source, part.span, name.text, name.span, parameters, body)
