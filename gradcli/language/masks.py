"""Operators that Python reads in another way: ``^`` of booleans, and ``or``, ``and``, ``|``, ``&`` and ``~`` of numbers."""

from __future__ import annotations

import re

from gradcli.errors import AmbiguousError, Source, Span, TypeMismatchError
from gradcli.language.tree import Binary, Unary

_COMMENT = re.compile(r"#[^\n]*")
_LONGEST = 60
_FACTOR = re.compile(r"\|\s*((?:\w+\s*)?\([^()|\n]*\)|\w+)")
CONDITIONS = {"or": "or", "and": "and", "|": "or", "&": "and"}  # operators of booleans, and the operations that they are


def refuse_other_readings(node: Binary, left: str, right: str, source: Source) -> None:
    """Raise for ``or``, ``and``, ``|`` and ``&`` unless both operands are boolean, and for ``^`` where its base is.

    ``left`` and ``right`` are their kinds.
    """
    a, b = (_text(source, part.start, part.end) for part in (node.left, node.right))
    if node.operator in ("|", "&"):
        if left == right == "bool":
            return
        raise TypeMismatchError(
            f"'{node.operator}' is of conditions, not of numbers", span=_sign(node, source, node.operator), source=source,
            help=_repaired(node, (a, left), (b, right), source),
        )  # fmt: skip
    if node.operator in ("or", "and"):
        if left == right == "bool":
            return
        word, first, second = node.operator, _condition(a, left), _condition(b, right)
        chosen = f"where({first}, {a}, {b})" if word == "or" else f"where({first}, {b}, {a})"
        raise TypeMismatchError(
            f"'{word}' is of conditions; of numbers, Python gives one of them", span=_sign(node, source, word), source=source,
            help=f"write {first} {word} {second} for a condition, {chosen} for one of them",
        )  # fmt: skip
    if node.operator in ("+", "-"):
        if right == "bool":
            sign, truth = node.operator, f"{a} or {b}" if node.operator == "+" else f"{a} != {b}"
            raise AmbiguousError(
                f"'{sign}' of booleans has two readings: of the numbers 0 and 1, and of truths", span=_sign(node, source, sign),
                source=source, help=f"write {a}*1 {sign} {b}*1 for numbers, {truth} for a condition",
            )  # fmt: skip
        return
    if node.operator != "**":
        return
    span = _sign(node, source, "^")
    if source.text[span.start] != "^":
        return  # '**' is a power everywhere
    other = f"{a} != {b}" if right == "bool" else f"{_condition(a, left)} != ({b} != 0)"
    raise AmbiguousError(
        "'^' of booleans has two readings: exclusive or, and power", span=span, source=source,
        help=f"write {other} for exclusive or, {a}**{b} for the power",
    )  # fmt: skip


def _repaired(node: Binary, left: tuple[str, str], right: tuple[str, str], source: Source) -> str:
    """What to write for a mask of numbers: conditions, or a product with an absolute value where a second bar follows."""
    third = _FACTOR.match(source.text[node.right.end :].lstrip()) if node.operator == "|" else None
    if third is not None:
        return f"write {left[0]}*abs({right[0]})*{third[1]}"
    parts = (text if text.startswith("(") and kind == "bool" else f"({_condition(text, kind)})" for text, kind in (left, right))
    return f"write {f' {node.operator} '.join(parts)}"


def refuse_complement(node: Unary, source: Source) -> None:
    """Raise for ``~`` of a number."""
    text = _text(source, node.operand.start, node.operand.end)
    sign = Span(node.start, node.start + 1)
    raise TypeMismatchError("'~' is of conditions, not of numbers", span=sign, source=source, help=f"write ~({text} != 0) or -({text})")


def _sign(node: Binary, source: Source, sign: str) -> Span:
    """Where the operator stands: between the operands, and not in a comment."""
    between = _COMMENT.sub(lambda found: " " * len(found[0]), source.text[node.left.end : node.right.start])
    start = node.left.end + max(between.find(sign), 0)
    return Span(start, start + len(sign)) if sign in between else Span(node.left.end, node.left.end + 1) if between else node.span


def _text(source: Source, start: int, end: int) -> str:
    text = source.text[start:end]
    return text if len(text) <= _LONGEST and "\n" not in text else "x"


def _condition(text: str, kind: str) -> str:
    return text if kind == "bool" else f"{text} != 0"
