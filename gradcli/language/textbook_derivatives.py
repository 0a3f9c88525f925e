"""Derivatives as textbooks write them, at the start of a statement: ``d/dx(x^2)``, ``d²/dt² sin t``, ``∂/∂x x^2y``."""

from __future__ import annotations

from typing import NamedTuple

from gradcli.errors import AmbiguousError, Source, Span
from gradcli.language.parser import parsed
from gradcli.language.tokens import NAME, NUMBER, ROOTS, SUPERSCRIPT, SYMBOL, Token, superscript_value
from gradcli.language.tree import Call, Expression, Name
from gradcli.ops.text import BINDING, SUM

SIGNS = ("d", "∂")
_HIGHEST = 12  # order of a derivative


class Head(NamedTuple):
    """``d^2/dx^2``: the variables, once for each order, the names that have no value there, and the place of what follows."""

    variables: list[str]
    differentials: frozenset[str]
    body: int


def head(tokens: list[Token], start: int, stop: int) -> Head | None:
    """The operator that a statement begins with; None where it is none, or nothing follows that it could be applied to."""
    sign = tokens[start].text
    order, at = _order(tokens, start + 1, stop)
    if at + 1 >= stop or tokens[at].text != "/" or tokens[at].kind != SYMBOL:
        return None
    at += 1
    variables: list[str] = []
    words = {sign}
    while at < stop and tokens[at].kind == NAME and len(tokens[at].text) > 1 and tokens[at].text.startswith(sign):
        if variables and sign == "d":
            break
        words.add(tokens[at].text)
        names = [tokens[at].text[1:]] if sign == "d" else [name for name in tokens[at].text.split(sign) if name]
        times, at = _order(tokens, at + 1, stop)
        variables += [*names, *[names[-1]] * (times - 1)]
    if not variables or len(variables) != order or order > _HIGHEST or at >= stop:
        return None
    kind, text, _ = tokens[at]
    if kind == SYMBOL and text not in ("(", "[", "|", *ROOTS):
        return None
    return Head(variables, frozenset(words), at) if kind in (NAME, NUMBER, SYMBOL) and text not in BINDING else None


def _order(tokens: list[Token], at: int, stop: int) -> tuple[int, int]:
    """The exponent at a place, 1 if there is none, and the place after it; of a high one no more than that it is too high."""
    if at < stop and tokens[at].kind == SUPERSCRIPT:
        return int(min(superscript_value(tokens[at].text), _HIGHEST + 1)), at + 1
    if at + 1 < stop and tokens[at].text == "**" and tokens[at + 1].kind == NUMBER and tokens[at + 1].text.isdigit():
        return min(int(tokens[at + 1].text[:4]), _HIGHEST + 1), at + 2
    return 1, at


def derivative(source: Source, tokens: list[Token], start: int, stop: int, found: Head, values: frozenset[str]) -> Expression:
    """``grad(body, x)``, as often as the order says. Raises AmbiguousError where the text may go on after what is differentiated."""
    at, end = found.body, stop
    opening = tokens[at].text if tokens[at].kind == SYMBOL else ""
    if opening in ("(", "["):
        closing = _closing(tokens, at, stop)
        if closing is not None and closing < stop - 1:
            raise _two_readings(source, tokens, start, stop, found, closing + 1)
        if closing is not None and opening == "[":
            at, end = at + 1, closing
    elif (sign := _next_term(tokens, at, stop)) is not None:
        raise _two_readings(source, tokens, start, stop, found, sign)
    body = parsed(source, tokens, at, end, values)
    nodes = [*body.nodes]
    result = body.root
    last = tokens[stop - 1]
    first = tokens[start]
    span = Span(first.start, last.start + len(last.text))
    for variable in found.variables:
        name, callee = Name(variable, first.start, tokens[found.body].start), Name("grad", first.start, tokens[found.body].start)
        result = Call(callee, [result, name], [], 0, span.end)
        for node in (name, callee, result):
            node.place = len(nodes)
            nodes.append(node)
    made = Expression(result, nodes).like(body)
    made.implied, made.differentials, made.source, made.span = True, found.differentials, source, span
    return made


def _closing(tokens: list[Token], at: int, stop: int) -> int | None:
    depth = 0
    for place in range(at, stop):
        if tokens[place].kind == SYMBOL:
            depth += (tokens[place].text in ("(", "[")) - (tokens[place].text in (")", "]"))
            if depth <= 0:
                return place
    return None


def _next_term(tokens: list[Token], at: int, stop: int) -> int | None:
    """The place of the first sign outside of brackets that ends a term."""
    depth, bars = 0, 0
    for place in range(at, stop):
        kind, text, _ = tokens[place]
        if kind == SYMBOL:
            depth += (text in ("(", "[")) - (text in (")", "]"))
            bars ^= text == "|"
        ends = tokens[place - 1].kind != SYMBOL or tokens[place - 1].text in (")", "]", "|", "°")
        ends_term = BINDING.get(text, SUM + 1) <= SUM and (kind == SYMBOL or text in ("and", "or"))
        if depth == 0 and not bars and place > at and ends and ends_term:
            return place
    return None


def _two_readings(source: Source, tokens: list[Token], start: int, stop: int, found: Head, place: int) -> AmbiguousError:
    text = source.text
    end = tokens[stop - 1].start + len(tokens[stop - 1].text)
    begin, cut = tokens[found.body].start, tokens[place].start
    operator, body, rest = text[tokens[start].start : begin].strip(), text[begin:cut].strip(), text[cut:end]
    first = body
    if body.startswith("(") and body.endswith(")"):
        first = body[1:-1]
    for variable in found.variables:
        first = f"grad({first}, {variable})"
    joint = "*" if rest.startswith(("(", "[")) or tokens[place].kind in (NAME, NUMBER) else " " if rest[:1] in "+-" else ""
    error = AmbiguousError(
        f"'{operator}' has two readings: of all that follows, or of the first part", source=source, span=Span(tokens[start].start, end),
        help="write d/dx(x^2 + x) or grad(x^2, x) + x",
    )  # fmt: skip
    error.readings = f"{operator}({text[begin:end]})", f"{first}{joint}{rest}"
    return error
