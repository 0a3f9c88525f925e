"""Functions without brackets, as in ``sin 2x``, and powers of their names: ``sin^2 x``, ``tan²(x)``.

The argument is one product of numbers, names, π and their powers, glued or after a number. It ends before the next function, a sum,
``*``, and a quotient by a name or a bracket. What may go on in two ways is refused.
"""

from __future__ import annotations

from gradcli.language.brackets import ARGUMENTS, opened
from gradcli.language.precedence import Application
from gradcli.language.readings import ambiguous, before, factor, factor_end
from gradcli.language.stacks import Bracket, Stacks
from gradcli.language.tokens import NAME, NUMBER, SUPERSCRIPT, SYMBOL, Token
from gradcli.language.tree import Name, Node, Number, Unary
from gradcli.ops.calling import textbook
from gradcli.ops.text import ARGUMENT, POWER, PRODUCT, ROOT, UNARY


def is_bare(stacks: Stacks) -> bool:
    """Whether the last value is the name of a function that takes its argument without brackets."""
    value = stacks.values[-1]
    if type(value) is not Name or not textbook.is_bare(value.name) or before(stacks).start != value.start:
        return False
    return not textbook.is_own(value.name) or stacks.is_own(value.name) or f"{value.name}()" in stacks.known


def apply(stacks: Stacks, token: Token, exponent: Node | None = None) -> None:
    """Let the function just named wait for its argument, which begins with a token."""
    callee = stacks.values.pop()
    assert isinstance(callee, Name)
    stacks.operators.append((ARGUMENT, Application.of(callee, exponent, token.start)))
    stacks.called.add(callee.name)
    stacks.applied = stacks.implied = True


# -- powers of names ----------------------------------------------------------------------------------------------------------


def takes_power(stacks: Stacks) -> bool:
    """Whether what waits is the power of a function's name, whose exponent has been read."""
    operators, place = stacks.operators, len(stacks.operators)
    while place > stacks.base and operators[place - 1][0] == UNARY:
        place -= 1
    if place == stacks.base or operators[place - 1][0] != POWER or len(stacks.values) < 2:
        return False
    base = stacks.values[-2]
    if type(base) is not Name or not textbook.is_bare(base.name) or base.end - base.start != len(base.name):
        return False
    return not textbook.is_own(base.name) or stacks.is_own(base.name)


def apply_power(stacks: Stacks, token: Token) -> None:
    """The token begins the argument of ``sin^2 x`` or ``sin^2(x)``: in brackets, it is read."""
    while stacks.operators[-1][0] != POWER:
        stacks.reduce_one()
    stacks.operators.pop()
    exponent = stacks.values.pop()
    with_exponent(stacks, token, exponent)


def with_exponent(stacks: Stacks, token: Token, exponent: Node) -> None:
    """The same, where the function's name is the last value."""
    callee = stacks.values[-1]
    assert isinstance(callee, Name)
    if _is_inverse(exponent):
        start = stacks.at - 1
        end = factor_end(stacks, start)
        text = factor(stacks, start)
        argument = text[1:-1] if token.text == "(" and text.endswith(")") else text
        raise ambiguous(
            stacks, callee.start, stacks.tokens[end - 1].start + len(stacks.tokens[end - 1].text),
            textbook.inverse(callee.name, argument), f"1/{callee.name}({argument})", instead="asin(x) or 1/sin(x)",
        )  # fmt: skip
    if token.text == "(" and token.kind == SYMBOL:
        stacks.values.pop()
        spaced = stacks.tokens[stacks.at - 1].start > stacks.tokens[stacks.at - 2].start + len(stacks.tokens[stacks.at - 2].text)
        opened(stacks, ARGUMENTS, token, callee)
        stacks.brackets[-1].exponent, stacks.brackets[-1].spaced = exponent, spaced
        stacks.called.add(callee.name)
        stacks.implied = True
        return
    stacks.at -= 1
    apply(stacks, token, exponent)


def _is_inverse(exponent: Node) -> bool:
    if isinstance(exponent, Unary):
        return exponent.operator == "-" and isinstance(exponent.operand, Number) and exponent.operand.value == 1
    return isinstance(exponent, Number) and exponent.value == -1


# -- arguments ----------------------------------------------------------------------------------------------------------------


def waiting(stacks: Stacks) -> int | None:
    """The place of the function whose argument is being read, if there is one."""
    place = len(stacks.operators)
    while place > stacks.base and stacks.operators[place - 1][0] in (UNARY, POWER, PRODUCT, ROOT):
        place -= 1
    return place - 1 if place > stacks.base and stacks.operators[place - 1][0] == ARGUMENT else None


def goes_on(stacks: Stacks, token: Token, place: int) -> bool:
    """Whether a value right after the argument read so far is part of it; if not, the argument is over.

    Raises AmbiguousError where it may be both.
    """
    last = before(stacks)
    if token.kind == NAME and textbook.is_bare(token.text):
        outer = stacks.operators[place - 1][0] if place > stacks.base else None
        if outer in (ARGUMENT, POWER, ROOT):
            raise two_arguments(stacks, token, place - 1 if outer == ARGUMENT else place)
        return False
    glued = token.start == last.start + len(last.text)
    number = last.kind == NUMBER and type(stacks.values[-1]) is Number and stacks.operators[-1][0] in (ARGUMENT, PRODUCT)
    if token.text == "(" or token.kind == NUMBER or not (glued or number) or textbook.ends_at_numbers(_name(stacks, place)):
        raise two_arguments(stacks, token, place)
    return True


def _name(stacks: Stacks, place: int) -> str:
    return stacks.operators[place][1].text


def _head_and_argument(stacks: Stacks, place: int) -> tuple[str, str, int]:
    """The function as it is written, its argument so far, and where it begins."""
    application = stacks.operators[place][1]
    assert isinstance(application, Application)
    last = before(stacks)
    text = stacks.source.text
    start = application.start
    end = last.start + len(last.text)
    return text[start : application.argument].strip(), text[application.argument : end].strip(), start


def two_arguments(stacks: Stacks, token: Token, place: int) -> Exception:
    """The error of ``sin x y``, ``sin 2(x + 1)``, ``ln sin x cos x``."""
    head, argument, start = _head_and_argument(stacks, place)
    right = factor(stacks, stacks.at - 1)
    return ambiguous(
        stacks, start, token.start + len(token.text), f"{head}({argument})*{right}", f"{head}({argument}*{right})",
        instead="sin(x)*y or sin(x*y)",
    )  # fmt: skip


def refuse_quotient(stacks: Stacks, token: Token) -> None:
    """Raise for ``sin x/2``, where a number follows; not for ``ln x/x``."""
    place = waiting(stacks)
    if place is None:
        return
    after = stacks.tokens[stacks.at]
    if (after.kind == NAME) or (after.kind == SYMBOL and after.text in ("(", "[", "|")):
        return
    head, argument, start = _head_and_argument(stacks, place)
    sign, right = stacks.source.text[token.start : token.start + len(token.text)], factor(stacks, stacks.at)
    raise ambiguous(
        stacks, start, after.start + len(after.text), f"{head}({argument}){sign}{right}", f"{head}({argument}{sign}{right})",
        instead="sin(x)/2 or sin(x/2)",
    )  # fmt: skip


def refuse_called_argument(stacks: Stacks, token: Token, name: Name) -> None:
    """Raise for ``sin f(x)`` and ``sin x(x + 1)``, where the bracket of a name in an argument opens; not for ``ln sin(x)``."""
    place = waiting(stacks)
    if place is None or textbook.is_bare(name.name):
        return
    application = stacks.operators[place][1]
    assert isinstance(application, Application)
    head, argument, start = _head_and_argument(stacks, place)
    bracket = factor(stacks, stacks.at - 1)
    inner = f"{argument}{bracket}" if name.start == application.argument else f"{argument}*{bracket}"
    raise ambiguous(
        stacks, start, token.start + 1, f"{head}({argument})*{bracket}", f"{head}({inner})",
        instead="sin(x)*(x + 1) or sin(x*(x + 1))",
    )  # fmt: skip


def refuse_after_call(stacks: Stacks, bracket: Bracket) -> None:
    """Raise for a power or a bracket after ``sin (x + 1)`` with a space, and after ``sin^2(x)``."""
    after, closing = stacks.tokens[stacks.at], stacks.tokens[stacks.at - 1]
    glued = after.start == closing.start + 1
    is_power = after.kind == SUPERSCRIPT or (after.text == "**" and after.kind == SYMBOL)
    is_bracket = bracket.spaced and after.text == "(" and after.kind == SYMBOL and glued
    if not (is_power or is_bracket):
        return
    assert bracket.base is not None
    text = stacks.source.text
    head = text[bracket.base.start : bracket.opener.start].strip()
    inside = text[bracket.opener.start : closing.start + 1]
    if is_bracket:
        right = factor(stacks, stacks.at)
        readings = f"{head}{inside}*{right}", f"{head}({inside}*{right})"
    else:
        stop = stacks.at + 1
        if after.kind != SUPERSCRIPT:
            while stacks.tokens[stop].text in ("-", "+"):
                stop += 1
            last = factor(stacks, stop)
            power = text[after.start : stacks.tokens[stop].start] + last
        else:
            power = after.text
        readings = f"({head}{inside}){power}", f"{head}({inside}{power})"
    raise ambiguous(
        stacks, bracket.base.start, after.start + max(len(after.text) - (after.text == "**" and text[after.start] == "^"), 1), *readings,
        instead="(sin(x))^2 or sin(x^2)",
    )  # fmt: skip
