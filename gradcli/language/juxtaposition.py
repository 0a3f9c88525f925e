"""Products that are not written: ``2x``, ``(x + 1)(x - 1)``, ``x^2 sin x``.

One is read wherever a textbook has only that reading. It binds as ``*`` does, but what stands after a division or, without a space, after
a power of a number may be meant in two ways, and is refused with both.
"""

from __future__ import annotations

import re
from typing import NoReturn

from gradcli.errors import AmbiguousError
from gradcli.language import bare_functions
from gradcli.language.brackets import ARRAY, inside
from gradcli.language.precedence import symbol
from gradcli.language.readings import ambiguous, before, begins_value, factor, factor_end, factors, written
from gradcli.language.stacks import Stacks
from gradcli.language.tokens import NAME, NUMBER, ROOTS, STRING, SYMBOL, Token
from gradcli.language.tree import Call, Name, Node, Number, Subscript
from gradcli.ops.calling import textbook
from gradcli.ops.text import POWER, PRODUCT, ROOT, TERM, UNARY

_LETTER_AND_DIGITS = re.compile(r"([^\W\d_])([0-9]+)")
_OPERATORS = {"mod": "%", "div": "//"}  # of other languages
_CONSTANT_BASES = frozenset({"e", "E", "pi", "π"})
# Words of Python between values, which are no names here; not "lambda", which physics needs.
_WORDS = frozenset((
    "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "except", "finally", "for", "from", "global", "import",
    "in", "is", "nonlocal", "pass", "raise", "return", "try", "while", "with", "yield",
))  # fmt: skip


def product(stacks: Stacks, token: Token) -> None:
    """term = unary { power }: a value right after another. The token is read again, as the beginning of the second.

    Raises AmbiguousError for what has two readings, and ParseError for what cannot be multiplied.
    """
    if not (begins_value(token) or (token.text == "|" and token.kind == SYMBOL)):
        refuse_side_by_side(stacks, token)
    if bare_functions.takes_power(stacks):
        bare_functions.apply_power(stacks, token)
        return
    if bare_functions.is_bare(stacks) and not (token.text == "(" and token.kind == SYMBOL):
        stacks.at -= 1
        bare_functions.apply(stacks, token)
        return
    _refuse_words(stacks, token)
    place = bare_functions.waiting(stacks) if stacks.applied else None
    if place is not None and not bare_functions.goes_on(stacks, token, place):
        place = None
        stacks.reduce(PRODUCT - 1, stacks.base)
    _refuse_numbers(stacks, token)
    if place is None:
        _refuse_in_quotient(stacks)
    _refuse_in_exponent(stacks, token)
    _refuse_under_root(stacks, token)
    _note_exponent(stacks, token)
    stacks.reduce(PRODUCT, stacks.base)
    stacks.operators.append((PRODUCT, token))
    stacks.at -= 1
    stacks.implied = True


def called(stacks: Stacks, token: Token, name: Name) -> bool:
    """Whether a bracket after a name is read here, as no ordinary call: a power of a function's name, or a factor after a value.

    If not, it may be a call after a space. Raises AmbiguousError for a call in the argument of a function without brackets.
    """
    if bare_functions.takes_power(stacks):
        bare_functions.apply_power(stacks, token)
        return True
    if stacks.applied:
        bare_functions.refuse_called_argument(stacks, token, name)
        if name.name in stacks.known:
            product(stacks, token)
            return True
    return False


# -- what has two readings ----------------------------------------------------------------------------------------------------


def _refuse_words(stacks: Stacks, token: Token) -> None:
    left, value = before(stacks), stacks.values[-1]
    for word in (left, token):
        if word.kind == NAME and word.text in _WORDS and (word is token or type(value) is Name):
            stacks.fail(f"'{word.text}' is a word of Python, and none of this language", word.span)
    gap = stacks.source.text[left.start + len(left.text) : token.start]
    if "\n" in gap:
        refuse_side_by_side(stacks, token)
    if gap and inside(stacks, ARRAY):
        a, b = written(stacks, value), factor(stacks, stacks.at - 1)
        raise ambiguous(stacks, value.start, token.start + len(token.text), f"[{a}*{b}]", f"[{a}, {b}]", instead="[x*y] or [x, y]")


def _refuse_numbers(stacks: Stacks, token: Token) -> None:
    """Raise for a number after a number or a bare name, and for a letter and digits after a number: what looks like ``6.02 x 10^3``."""
    left, value, at = before(stacks), stacks.values[-1], stacks.at - 1
    end = token.start + len(token.text)
    exponent = _exponent_place(stacks) is not None
    if token.kind == NUMBER:
        right = factor(stacks, at)
        if left.kind == NUMBER and type(value) is Number and not exponent:
            _refuse_mixed(stacks, token, right)
        elif left.kind == NAME and not exponent:
            first = stacks.tokens[at - 2] if at > 1 else None
            if left.text in _OPERATORS and first is not None and first.kind in (NAME, NUMBER):
                stacks.fail(f"the language has no '{left.text}'", left.span, f"it is {_OPERATORS[left.text]} here")
            if left.text in ("x", "X") and first is not None and first.kind == NUMBER:
                raise ambiguous(stacks, first.start, end, f"{first.text}*{right}", f"{first.text}*{left.text}*{right}")
            other = f"{left.text}{token.text}" if token.text.isdigit() else f"{left.text}^{token.text}"
            raise ambiguous(stacks, left.start, end, f"{left.text}*{right}", other, instead="x*2 or x2")
    elif left.kind == NUMBER and token.kind == NAME and token.start == left.start + len(left.text):
        found = _LETTER_AND_DIGITS.fullmatch(token.text)
        if found is None or stacks.tokens[at + 1].text == "(":
            return
        letter, digits = found.groups()
        rest = factor(stacks, at)[len(token.text) :]
        other = f"{left.text}*{digits}{rest}" if letter in "xX" else f"{left.text}*{letter}*{digits}{rest}"
        raise ambiguous(stacks, left.start, end, f"{left.text}*{token.text}{rest}", other, instead="2*x10 or 2*10")


def _refuse_mixed(stacks: Stacks, token: Token, right: str) -> NoReturn:
    """Raise for two numbers: ``1 1/2 x``, and others, between which an operator is missing."""
    left, at = before(stacks), stacks.at
    after = stacks.tokens[at]
    if after.text == "/" and stacks.tokens[at + 1].kind == NUMBER and left.text.isdigit() and token.text.isdigit():
        fraction = f"{token.text}/{stacks.tokens[at + 1].text}"
        raise ambiguous(
            stacks, left.start, stacks.tokens[at + 1].start + len(stacks.tokens[at + 1].text),
            f"({left.text} + {fraction})", f"{left.text}*{fraction}",
        )  # fmt: skip
    stacks.fail(f"no operator before {token.text!r}", token.span, f"write {left.text}*{right}, or [{left.text}, {right}] for an array")


def _refuse_in_quotient(stacks: Stacks) -> None:
    """Raise for ``1/2x``: an implied product after a division."""
    operators, place, value = stacks.operators, len(stacks.operators), -1
    while place > stacks.base and operators[place - 1][0] > TERM:
        value -= operators[place - 1][0] in (POWER, PRODUCT)
        place -= 1
    if place == stacks.base or operators[place - 1][0] != TERM or symbol(operators[place - 1]) not in ("/", "//", "%", "@"):
        return
    sign, text, left = operators[place - 1][1], stacks.source.text, before(stacks)
    numerator = stacks.values[value - 1]
    end = left.start + len(left.text)
    begin = sign.start + len(sign.text)
    token = stacks.tokens[stacks.at - 1]
    rest = factors(stacks, stacks.at - 1)
    raise ambiguous(
        stacks, numerator.start, token.start + len(token.text),
        f"({text[numerator.start : end]})*{rest}", f"{text[numerator.start : begin]}({text[begin:end].strip()}*{rest})",
        instead=f"(a{sign.text}b)*c or a{sign.text}(b*c)",
    )  # fmt: skip


def _exponent_place(stacks: Stacks) -> int | None:
    """The place of the power whose exponent is the last value, perhaps with a sign."""
    operators, place = stacks.operators, len(stacks.operators)
    while place > stacks.base and operators[place - 1][0] == UNARY:
        place -= 1
    return place - 1 if place > stacks.base and operators[place - 1][0] == POWER else None


def _refuse_in_exponent(stacks: Stacks, token: Token) -> None:
    """Raise for ``e^2x``, ``e^k t`` and ``x^n(x + 1)``, not for ``x^2y``, ``e^2 x``, ``e^x sin x``, ``2^x 3^y``."""
    place = _exponent_place(stacks)
    if place is None:
        return
    exponent, base, left = stacks.values[-1], stacks.values[-2], before(stacks)
    spaced = token.start > left.start + len(left.text)
    if left.kind == NUMBER and type(exponent) is Number:
        inner = place > stacks.base and stacks.operators[place - 1][0] == POWER
        if spaced or not (inner or _is_constant(base)):
            return
    elif left.text in (")", "]", "|") and left.kind == SYMBOL and not _follows_name(stacks, exponent):
        return
    if spaced and _is_apart(stacks, token):
        return
    sign, text = stacks.operators[place][1], stacks.source.text
    begin = sign.start + (1 if text[sign.start] == "^" else len(sign.text))
    end = left.start + len(left.text)
    right = factor(stacks, stacks.at - 1)
    raise ambiguous(
        stacks, base.start, token.start + len(token.text),
        f"{text[base.start : end]}*{right}", f"{text[base.start : begin]}({text[begin:end].strip()}*{right})",
        instead="e^a*b or e^(a*b)",
    )  # fmt: skip


def _is_constant(base: Node) -> bool:
    return type(base) is Number or (type(base) is Name and base.name in _CONSTANT_BASES)


def _follows_name(stacks: Stacks, exponent: Node) -> bool:
    """Whether the bracket that ends an exponent belongs to a name before it: a call or an index."""
    return type(exponent) in (Call, Subscript) and stacks.source.text[exponent.start] != "("


def _is_apart(stacks: Stacks, token: Token) -> bool:
    """Whether what follows a space is no part of the exponent before it: a function, a bracket, or a factor with a power of its own."""
    if token.kind == SYMBOL or textbook.is_bare(token.text):
        return True
    at = stacks.at
    if stacks.tokens[at].text == "(" and token.kind == NAME:
        return True
    last = stacks.tokens[factor_end(stacks, at - 1) - 1]
    return last is not token and any(t.text == "**" or t.text[:1] in "⁻⁰¹²³⁴⁵⁶⁷⁸⁹" for t in stacks.tokens[at : at + 1])


def _refuse_under_root(stacks: Stacks, token: Token) -> None:
    """Raise for ``√2x``; not for ``√(x + 1)y``, ``√x sin x``."""
    if not stacks.has_operators() or stacks.operators[-1][0] != ROOT:
        return
    left, sign, text = before(stacks), stacks.operators[-1][1], stacks.source.text
    if left.text in (")", "|") or token.text in ROOTS or (token.kind == NAME and textbook.is_bare(token.text)):
        return
    inner, right = text[sign.start + 1 : left.start + len(left.text)].strip(), factor(stacks, stacks.at - 1)
    root, end = sign.text, token.start + len(token.text)
    raise ambiguous(stacks, sign.start, end, f"{root}({inner})*{right}", f"{root}({inner}*{right})", instead=f"{root}(2)*x or {root}(2*x)")


def _note_exponent(stacks: Stacks, token: Token) -> None:
    """Note that ``2e3x`` is 2000*x, for those to whom e is a name."""
    left = before(stacks)
    glued = left.kind == NUMBER and token.start == left.start + len(left.text)
    if glued and "e" in left.text.lower():
        mantissa, letter, exponent = re.split("([eE])", left.text)
        stacks.notes += ((letter, f"{left.text} is a number here; with {letter}: {mantissa}*{letter}*{exponent}*{token.text}"),)


def refuse_side_by_side(stacks: Stacks, token: Token) -> NoReturn:
    """Raise for what is no factor after a value: a string, a slice, a word, another line."""
    value, right = stacks.values[-1], token.text
    help = None
    if begins_value(token) and token.kind != STRING:
        left, other = written(stacks, value), factor(stacks, stacks.at - 1)
        if len(left) + len(other) < 60 and "\n" not in left + other and type(value) in (Name, Number, Call):
            help = f"write {left}*{other}"
    stacks.fail(f"no operator before {right!r}", token.span, help)


def refuse_root_power(stacks: Stacks, token: Token) -> AmbiguousError:
    """The error of ``√x^2``."""
    left, sign, text = before(stacks), stacks.operators[-1][1], stacks.source.text
    inner = text[sign.start + 1 : left.start + len(left.text)].strip()
    at = stacks.at
    if token.kind == SYMBOL:
        while stacks.tokens[at].text in ("-", "+"):
            at += 1
        power = text[token.start : stacks.tokens[at].start] + factor(stacks, at)
    else:
        power = token.text
    root = sign.text
    readings = f"({root}({inner})){power}", f"{root}(({inner}){power})"
    return ambiguous(stacks, sign.start, token.start + 1, *readings, instead=f"({root}(x))^2 or {root}(x^2)")
