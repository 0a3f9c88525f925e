"""Several names at once: ``a, b = x.chunk(2, -1)``, ``c, s = cos(t), sin(t)``, ``n, _ = x.shape``.

::

    several = targets "=" items          targets = names | "(" names ")" | "[" names "]"          names = NAME "," { NAME "," } [ NAME ]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gradcli.errors import ShapeError, Span, TypeMismatchError
from gradcli.graph.nodes import Expr
from gradcli.language.builder import Builder
from gradcli.language.parts import Part, SaidError
from gradcli.language.tokens import NAME, RESERVED, SYMBOL, Token
from gradcli.language.tree import Binding, Several
from gradcli.ops.arrays import shapes

_PLAIN = "write names with commas between them: a, b = ..."


def equals_of(part: Part) -> int:
    """The place of the "=" of a statement that is outside of brackets; 0 without one."""
    depth = 0
    for place in range(part.stop - part.start):
        kind, text, _ = part.tokens[part.start + place]
        if kind == SYMBOL:
            depth += (text in ("(", "[")) - (text in (")", "]"))
            if text == "=" and depth == 0:
                return place
    return 0


def binds_several(part: Part) -> bool:
    """Whether a statement that does not begin with a name binds several."""
    equals = equals_of(part)
    return equals > 0 and (part.token(0).text == "*" or part.closing(0) == equals - 1 or next(_commas(part, 0, equals), None) is not None)


def several(part: Part) -> Several:
    """several = targets "=" items. Raises ParseError for other targets than names, and for another number of items."""
    equals = equals_of(part)
    targets = _targets(part, equals)
    begin, stop = _inside(part, equals + 1, part.stop - part.start)
    cuts = [*_commas(part, begin, stop), stop]
    if len(cuts) > 1 and cuts[-2] == stop - 1:
        cuts.pop()  # a comma at the end
        cuts[-1] = stop - 1
    if len(cuts) == 1 and begin == equals + 1:
        if begin >= stop:
            raise SaidError("expected a value after '='", span=part.token(equals).span, source=part.source)
        whole = part.expression(begin, end=cuts[0])
        bindings = [Binding(part.source, part.span, t.text, t.span, whole, part=place) for place, t in enumerate(targets)]
        return Several(part.source, part.span, bindings, shared=True)
    if len(cuts) != len(targets):
        raise _miscounted(len(targets), len(cuts)).at(Span(part.token(0).start, part.token(equals).start), part.source)
    bindings = []
    for target, cut in zip(targets, cuts, strict=True):
        bindings.append(Binding(part.source, part.span, target.text, target.span, part.expression(begin, end=cut)))
        begin = cut + 1
    return Several(part.source, part.span, bindings, shared=False)


def _miscounted(names: int, values: int) -> SaidError:
    return SaidError(
        f"{names} name{'s' * (names > 1)} for {values} value{'s' * (values > 1)}",
        help="give each value a name; _ for one that is not needed",
    )


def _targets(part: Part, equals: int) -> list[Token]:
    first = part.token(0)
    begin, stop = 0, equals
    if first.text in ("(", "[") and part.token(equals - 1).text in (")", "]") and part.closing(0) == equals - 1:
        begin, stop = 1, equals - 1
    found: list[Token] = []
    for place in range(begin, stop):
        token = part.token(place)
        if (place - begin) % 2:
            if token.text != ",":
                raise _no_name(part, part.token(place - 1), token)
            continue
        if token.text == "*":
            raise SaidError(
                "a name for all the rest is not in the language", span=token.span, source=part.source,
                help="name each value, or take a part: x[1:]",
            )  # fmt: skip
        if token.kind != NAME or token.text in RESERVED:
            raise _no_name(part, token, token)
        found.append(token)
    if not found:
        raise SaidError("expected a name before '='", span=first.span, source=part.source, help=_PLAIN)
    return found


def _no_name(part: Part, token: Token, after: Token) -> SaidError:
    if token.text in ("(", "["):
        return SaidError(
            "names within names are not read", span=token.span, source=part.source, help="name one level at a time: a, b = ..."
        )
    if after.text in ("[", "."):
        span = Span(token.start, after.start + 1)
        return SaidError("values are bound to names only; nothing is stored", span=span, source=part.source, help=_PLAIN)
    return SaidError("expected a name before '='", span=token.span, source=part.source, help=_PLAIN)


def _inside(part: Part, begin: int, stop: int) -> tuple[int, int]:
    """The items of a value that is one tuple or list in brackets, else all of it."""
    if part.token(begin).text not in ("(", "[") or part.closing(begin) != stop - 1:
        return begin, stop
    return (begin + 1, stop - 1) if next(_commas(part, begin + 1, stop - 1), None) is not None else (begin, stop)


def _commas(part: Part, begin: int, stop: int) -> Iterator[int]:
    depth = 0
    for place in range(begin, stop):
        kind, text, _ = part.tokens[part.start + place]
        if kind == SYMBOL:
            depth += (text in ("(", "[")) - (text in (")", "]"))
            if text == "," and depth == 0:
                yield place


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
