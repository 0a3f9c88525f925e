"""Several names at once: ``a, b = x.chunk(2, -1)``, ``c, s = cos(t), sin(t)``, ``n, _ = x.shape``.

::

    several = targets "=" items          targets = names | "(" names ")" | "[" names "]"          names = NAME "," { NAME "," } [ NAME ]
"""

from __future__ import annotations

from typing import Any

from gradcli.errors import ShapeError, Span, TypeMismatchError
from gradcli.graph.nodes import Expr
from gradcli.language.builder import Builder
from gradcli.language.parts import Part, SaidError
from gradcli.language.tokens import NAME, RESERVED, Token
from gradcli.language.tree import Binding, Several
from gradcli.ops.arrays import shapes

_PLAIN = "write names with commas between them: a, b = ..."


def equals_of(part: Part) -> int:
    """The place of the "=" of a statement that is outside of brackets; 0 without one."""
    return next(iter(part.places("=")), 0)


def binds_several(part: Part) -> bool:
    """Tell whether a statement that does not begin with a name binds several."""
    equals = equals_of(part)
    return equals > 0 and (part.token(0).text == "*" or part.closing(0) == equals - 1 or bool(part.places(",", 0, equals)))


def several(part: Part) -> Several:
    """several = targets "=" items. Raises ParseError for other targets than names, and for another number of items."""
    equals = equals_of(part)
    targets = _targets(part, equals)
    begin, stop = equals + 1, part.stop - part.start
    in_brackets = part.token(begin).text in ("(", "[") and part.closing(begin) == stop - 1
    if in_brackets and part.places(",", begin + 1, stop - 1):
        begin, stop = begin + 1, stop - 1
    commas = part.places(",", begin, stop)
    if commas and commas[-1] == stop - 1:  # at the end
        stop = commas.pop()
    if not commas and begin == equals + 1:
        if begin >= stop:
            raise SaidError("expected a value after '='", span=part.token(equals).span, source=part.source)
        whole = part.expression(begin, end=stop)
        bindings = [Binding(part.source, part.span, t.text, t.span, whole, part=place) for place, t in enumerate(targets)]
        return Several(part.source, part.span, bindings, shared=True)
    names, values = len(targets), len(commas) + 1
    if names != values:
        raise SaidError(
            f"{names} name{'s' * (names > 1)} for {values} value{'s' * (values > 1)}", source=part.source,
            span=Span(part.token(0).start, part.token(equals).start), help="give each value a name; _ for one that is not needed",
        )  # fmt: skip
    bindings = []
    for target, end in zip(targets, [*commas, stop], strict=True):
        bindings.append(Binding(part.source, part.span, target.text, target.span, part.expression(begin, end=end)))
        begin = end + 1
    return Several(part.source, part.span, bindings, shared=False)


def _targets(part: Part, equals: int) -> list[Token]:
    in_brackets = part.token(0).text in ("(", "[") and part.closing(0) == equals - 1
    written = [part.token(place) for place in range(in_brackets, equals - in_brackets)]
    for token, after in zip(written[::2], [*written[1::2], None][: len(written[::2])], strict=False):
        if token.text == "*":
            raise SaidError(
                "a name for all the rest is not in the language", span=token.span, source=part.source,
                help="name each value, or take a part: x[1:]",
            )  # fmt: skip
        if token.kind != NAME or token.text in RESERVED or (after is not None and after.text != ","):
            raise _no_name(part, token, after or token)
    if not written:
        raise SaidError("expected a name before '='", span=part.token(0).span, source=part.source, help=_PLAIN)
    return written[::2]


def _no_name(part: Part, token: Token, after: Token) -> SaidError:
    if token.text in ("(", "["):
        return SaidError(
            "names within names are not read", span=token.span, source=part.source, help="name one level at a time: a, b = ..."
        )
    if after.text in ("[", "."):
        span = Span(token.start, after.start + 1)
        return SaidError("values are bound to names only; nothing is stored", span=span, source=part.source, help=_PLAIN)
    return SaidError("expected a name before '='", span=token.span, source=part.source, help=_PLAIN)


def parts_of(builder: Builder, result: Any, count: int) -> list[Expr]:
    """The values of one expression for several names: the entries of a tuple or list, the rows of an array.

    Raises ShapeError for another number of them, TypeMismatchError for a number, which has no parts.
    """
    if not isinstance(result, (tuple, list)):
        node = builder.value(result)
        if not node.shape:
            raise TypeMismatchError(f"{count} name{'s' * (count > 1)} for one number", help="give each name a value: a, b = x, y")
        rows = node.shape[0]
        result = [shapes.getitem(node, index=(i,)) for i in range(rows)] if rows == count else [None] * rows
    if len(result) != count:
        raise ShapeError(
            f"{count} name{'s' * (count > 1)} for {len(result)} value{'s' * (len(result) != 1)}",
            help="give each value a name; _ for one that is not needed",
        )
    return [builder.value(part) for part in result]
