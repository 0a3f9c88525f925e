"""Brackets of the grammar: groups and tuples, arrays, arguments of calls, subscripts. All of them open here and close here."""

from __future__ import annotations

from gradcli.errors import Label, ParseError, Span
from gradcli.language.stacks import Bracket, Stacks
from gradcli.language.tokens import END, NUMBER, SYMBOL, Token
from gradcli.language.tree import Node, Sequence, Slice, Subscript

GROUP, ARRAY, ARGUMENTS, SUBSCRIPTS, BARS = range(5)  # rules by which what is in a bracket is read
CLOSING = {"(": ")", "[": "]", "|": "|"}


def opened(stacks: Stacks, rule: int, opener: Token, base: Node | None = None, primes: int = 0) -> None:
    """Begin a bracket, after what it belongs to, if anything."""
    stacks.brackets.append(Bracket(rule, opener, stacks.base, base, primes))
    stacks.base = len(stacks.operators)


def inside(stacks: Stacks, rule: int) -> bool:
    """Whether the innermost open bracket is of a rule."""
    return bool(stacks.brackets) and stacks.brackets[-1].rule == rule


def keyword(stacks: Stacks, token: Token) -> bool:
    """argument = [ NAME "=" ] expression: whether a name is that of the argument whose value follows."""
    bracket, following = stacks.brackets[-1], stacks.peek()
    if following.text != "=" or following.kind != SYMBOL or bracket.keyword is not None or stacks.has_operators():
        return False
    if bracket.named is None:
        bracket.named = set()
    elif token.text in bracket.named:
        stacks.fail(f"the argument {token.text!r} is given twice", token.span)
    bracket.named.add(token.text)
    bracket.keyword = token
    stacks.at += 1
    return True


def colon(stacks: Stacks, token: Token, value: Node | None) -> None:
    """slice = [ expression ] ":" [ expression ] [ ":" [ expression ] ]: the part before a colon is read."""
    bracket = stacks.brackets[-1]
    bracket.slice = [] if bracket.slice is None else bracket.slice
    bracket.slice.append(value)
    if len(bracket.slice) > 2:
        stacks.fail("a slice has at most three parts", token.span, "start:stop:step")


def comma(stacks: Stacks, token: Token) -> None:
    """items = expression { "," expression } [ "," ]: an item is read."""
    if not stacks.brackets:
        _refuse_outside(stacks, token)
    item(stacks, stacks.finished(), stacks.brackets[-1])


def _refuse_outside(stacks: Stacks, token: Token) -> None:
    """Raise ParseError for a comma outside brackets: of decimals, or of an array without its brackets."""
    before, after = stacks.tokens[stacks.at - 2], stacks.peek()
    numbers = _numbers_around(stacks)
    glued = before.kind == NUMBER and after.kind == NUMBER
    listed = f"[{', '.join(numbers)}]" if numbers else f"[{before.text}, {after.text}]" if glued else "[x, y]"
    if glued and len(numbers) < 3:
        whole = before.text.isdigit() and after.text.isdigit()
        sign = numbers[0][: -len(before.text)] if numbers else ""
        help = f"write {sign}{before.text}.{after.text}, or {listed} for an array" if whole else f"write {listed} for an array"
        stacks.fail("a comma is never a decimal point", token.span, help)
    stacks.fail("a comma outside brackets", token.span, f"write {listed} for an array")


def _numbers_around(stacks: Stacks) -> list[str]:
    """The numbers with their signs of which a comma separates the first two, if there is nothing else up to the end."""
    tokens, at = stacks.tokens, stacks.at - 2
    signed = at > 0 and tokens[at - 1].text in ("-", "+") and (at == 1 or tokens[at - 2].text == "=")
    if not signed and at > 0 and tokens[at - 1].text != "=":
        return []
    at -= signed
    found: list[str] = []
    while True:
        sign = tokens[at].text if tokens[at].text in ("-", "+") else ""
        at += bool(sign)
        if tokens[at].kind != NUMBER:
            return []
        found.append(sign + tokens[at].text)
        at += 1
        if tokens[at].kind == END:
            return found
        if tokens[at].text != ",":
            return []
        at += 1


def item(stacks: Stacks, value: Node | None, bracket: Bracket) -> None:
    """An item of a bracket is read: a value, or the last part of a slice, which may be empty."""
    if bracket.slice is not None:
        parts = [*bracket.slice, value]
        given = [part for part in parts if part is not None]
        start = given[0].start if given else stacks.tokens[stacks.at - 1].start
        value = stacks.node(Slice(parts, start, given[-1].end if given else start + 1))
        bracket.slice = None
    assert value is not None
    if bracket.keyword is not None:
        bracket.keywords.append((bracket.keyword.text, value))
        bracket.keyword = None
    elif bracket.keywords and bracket.rule == ARGUMENTS:
        stacks.fail("arguments by position come before those by name", value.span)
    else:
        bracket.items.append(value)
    bracket.comma = True


def closed_empty(stacks: Stacks, token: Token) -> None:
    """A closing bracket where a value is expected: after nothing, after a comma, or after a colon."""
    bracket = stacks.brackets[-1] if stacks.brackets else None
    if bracket is None:
        stacks.fail(f"'{token.text}' closes nothing", token.span, "remove it, or open the bracket before")
    if stacks.has_operators() or bracket.keyword or (bracket.items and not bracket.comma and not bracket.slice):
        stacks.missing_value(token)
    closed(stacks, token, None)


def closed(stacks: Stacks, token: Token, value: Node | None) -> Bracket:
    """End the innermost bracket, and give it; ``value`` is what has been read since its last comma."""
    if not stacks.brackets:
        stacks.fail(f"'{token.text}' closes nothing", token.span, "remove it, or open the bracket before")
    bracket = stacks.brackets[-1]
    if CLOSING[bracket.opener.text] != token.text:
        raise ParseError(
            f"'{bracket.opener.text}' is closed by '{token.text}'", span=token.span, source=stacks.source,
            also=(Label(bracket.opener.span, "opened here"),),
        )  # fmt: skip
    stacks.brackets.pop()
    stacks.base = bracket.outside
    end = token.start + 1
    if bracket.rule == GROUP and value is not None and not bracket.comma:
        value.start, value.end = bracket.opener.start, end
        stacks.values.append(value)
        return bracket
    several = bracket.comma
    if value is not None or bracket.slice is not None:
        item(stacks, value, bracket)
    if bracket.exponent is not None and bracket.base is not None and not bracket.keywords:
        stacks.applied_to(bracket.items, bracket.base, bracket.exponent, end)
    else:
        stacks.push(_node(stacks, bracket, several, end))
    return bracket


def _node(stacks: Stacks, bracket: Bracket, several: bool, end: int) -> Node:
    """What a bracket makes of its items."""
    if bracket.rule in (GROUP, ARRAY):
        return Sequence(bracket.opener.text, bracket.items, bracket.opener.start, end)
    assert bracket.base is not None
    if bracket.rule == ARGUMENTS:
        return stacks.call(bracket.base, bracket.items, bracket.keywords, bracket.primes, end)
    if not bracket.items:
        stacks.fail("an index is missing", Span(bracket.opener.start, end), "write x[0], or x[:] for all entries")
    return Subscript(bracket.base, bracket.items, several, end)


def refuse_open(stacks: Stacks) -> None:
    """Raise for a bracket that is open at the end."""
    if stacks.brackets:
        opener = stacks.brackets[-1].opener
        stacks.fail(f"'{opener.text}' is never closed", opener.span, f"add the missing '{CLOSING[opener.text]}'")
