"""Derivatives as textbooks write them, at the start of a statement: ``d/dx(x^2)``, ``d²/dt² sin t``."""

from __future__ import annotations

import re
from typing import NamedTuple

from gradcli.errors import AmbiguousError
from gradcli.language.parser import first, parse_tokens
from gradcli.language.syntax import (
    NAME,
    NUMBER,
    ROOTS,
    SYMBOL,
    Call,
    Expression,
    Name,
    Part,
    Query,
    Token,
    superscript_value,
)
from gradcli.ops.text import BINDING, TERM
from gradcli.texts import Span

_HIGHEST = 12  # highest order of a derivative


class Head(NamedTuple):
    """Head of a derivative, ``d^2/dx^2``.

    ``variables`` has each variable once for each order, ``differentials`` the names that have no
    value there, and ``body`` is the place after the head.
    """

    variables: list[str]
    differentials: frozenset[str]
    body: int


_LONGEST_HEAD = 4 * _HIGHEST  # in tokens
_ORDER = r"(?:\*\* ([0-9]+) |([⁰¹²³⁴-⁹]+) )?"
_HEADS = {
    sign: re.compile(rf"{sign} {_ORDER}/ (\( )?((?:{sign}\S+ {_ORDER}){times})(?(3)\) )")
    for sign, times in (("d", ""), ("∂", "+"))
}  # for texts of tokens, joined by blanks


def head(tokens: list[Token], start: int, stop: int) -> Head | None:
    """Parse the differential operator at the beginning of a statement.

    None is returned if there is no operator, or nothing follows to which it could apply.
    """
    sign = tokens[start].text
    found = _HEADS[sign].match(
        "".join([f"{token.text} " for token in tokens[start : min(stop, start + _LONGEST_HEAD)]])
    )
    if found is None:
        return None
    variables: list[str] = []
    words = {sign}
    for joined, *order in re.findall(rf"{sign}(\S+) {_ORDER}", found[4]):
        words.add(sign + joined)
        names = [joined] if sign == "d" else [name for name in joined.split(sign) if name]
        variables += [*names, *names[-1:] * (_order(*order) - 1)]
    at = start + found[0].count(" ")
    if len(variables) != _order(*found.groups("")[:2]) or len(variables) > _HIGHEST or at >= stop:
        return None
    kind, text, _ = tokens[at]
    if kind == SYMBOL and text not in ("(", "[", "|", *ROOTS):
        return None
    return (
        Head(variables, frozenset(words), at)
        if kind in (NAME, NUMBER, SYMBOL) and text not in BINDING
        else None
    )


def _order(digits: str, superscript: str) -> int:
    """Return the order that an exponent gives, 1 without one.

    A high exponent is cut short; it only matters that the order is too high.
    """
    return int(digits[:4] or superscript_value(superscript[:4] or "¹"))


def derivative(part: Part, found: Head, values: frozenset[str]) -> Expression:
    """``grad(body, x)``, as often as the order says.

    Raises AmbiguousError where the text may go on after what is differentiated.
    """
    source, tokens, at, stop = part.source, part.tokens, found.body, part.stop
    if tokens[at].text in ("(", "["):
        closing = part.start + part.closing(at - part.start)
        if part.start <= closing < stop - 1:
            raise _two_readings(part, found, closing + 1)
        inner = tokens[at].text == "[" and closing == stop - 1
        body = parse_tokens(source, tokens, at + inner, stop - inner, values)
    else:
        body, place = first(source, tokens, at, stop, values, TERM)
        if place < stop:
            raise _two_readings(part, found, place)
    begin, end = part.span.start, tokens[at].start
    made = body
    for variable in found.variables:
        name, callee = Name(variable, begin, end), Name("grad", begin, end)
        made = made.extend(name, callee, Call(callee, [made.root, name], [], 0, part.span.end))
    made.derived = Query(source, Span(end, part.span.end), body), found.variables
    made.implied, made.differentials, made.source, made.span = (
        True,
        found.differentials,
        source,
        part.span,
    )
    return made


def _two_readings(part: Part, found: Head, place: int) -> AmbiguousError:
    text, tokens, end = part.source.text, part.tokens, part.span.end
    begin, cut = tokens[found.body].start, tokens[place].start
    operator, body, rest = (
        text[part.span.start : begin].strip(),
        text[begin:cut].strip(),
        text[cut:end],
    )
    first = body[1:-1] if body.startswith("(") and body.endswith(")") else body
    for variable in found.variables:
        first = f"grad({first}, {variable})"
    joint = (
        "*"
        if rest.startswith(("(", "[")) or tokens[place].kind in (NAME, NUMBER)
        else " "
        if rest[:1] in "+-"
        else ""
    )
    error = AmbiguousError(
        f"'{operator}' has two readings: of all that follows, or of the first part", source=part.source, span=part.span,
        help=f"write {operator}({text[begin:end]}) or {first}{joint}{rest}",
    )  # fmt: skip
    error.instead = "write d/dx(x^2 + x) or grad(x^2, x) + x"
    return error
