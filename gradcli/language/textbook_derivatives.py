"""Derivatives as textbooks write them, at the start of a statement: ``d/dx(x^2)``, ``d²/dt² sin t``, ``∂/∂x x^2y``."""

from __future__ import annotations

from typing import NamedTuple

from gradcli.errors import AmbiguousError
from gradcli.language.parser import first, parsed
from gradcli.language.parts import Part
from gradcli.language.tokens import NAME, NUMBER, ROOTS, SUPERSCRIPT, SYMBOL, Token, superscript_value
from gradcli.language.tree import Call, Expression, Name
from gradcli.ops.text import BINDING, TERM

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


def derivative(part: Part, found: Head, values: frozenset[str]) -> Expression:
    """``grad(body, x)``, as often as the order says. Raises AmbiguousError where the text may go on after what is differentiated."""
    source, tokens, at, stop = part.source, part.tokens, found.body, part.stop
    if tokens[at].text in ("(", "["):
        closing = part.start + part.closing(at - part.start)
        if part.start <= closing < stop - 1:
            raise _two_readings(part, found, closing + 1)
        inner = tokens[at].text == "[" and closing == stop - 1
        body = parsed(source, tokens, at + inner, stop - inner, values)
    else:
        body, place = first(source, tokens, at, stop, values, TERM)
        if place < stop:
            raise _two_readings(part, found, place)
    begin, end = part.span.start, tokens[at].start
    nodes, result = [*body.nodes], body.root
    for variable in found.variables:
        name, callee = Name(variable, begin, end), Name("grad", begin, end)
        result = Call(callee, [result, name], [], 0, part.span.end)
        for node in (name, callee, result):
            node.place = len(nodes)
            nodes.append(node)
    made = Expression(result, nodes).like(body)
    made.implied, made.differentials, made.source, made.span = True, found.differentials, source, part.span
    return made


def _two_readings(part: Part, found: Head, place: int) -> AmbiguousError:
    text, tokens, end = part.source.text, part.tokens, part.span.end
    begin, cut = tokens[found.body].start, tokens[place].start
    operator, body, rest = text[part.span.start : begin].strip(), text[begin:cut].strip(), text[cut:end]
    first = body[1:-1] if body.startswith("(") and body.endswith(")") else body
    for variable in found.variables:
        first = f"grad({first}, {variable})"
    joint = "*" if rest.startswith(("(", "[")) or tokens[place].kind in (NAME, NUMBER) else " " if rest[:1] in "+-" else ""
    error = AmbiguousError(
        f"'{operator}' has two readings: of all that follows, or of the first part", source=part.source, span=part.span,
        help="write d/dx(x^2 + x) or grad(x^2, x) + x",
    )  # fmt: skip
    error.readings = f"{operator}({text[begin:end]})", f"{first}{joint}{rest}"
    return error
