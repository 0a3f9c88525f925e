"""Rewrites that keep digits or finite values where the formula as it is written loses them.

Each rule looks at one node of the graph and knows an equal expression that is better there. The text is of the language, made of the
formulas of the operands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.engine.graph import Expr, reachable
from gradcli.language.printing import formula

_MOST = 3
Found = str | None


def repairs(root: Expr) -> list[str]:
    """Rewrites worth trying, those of the innermost operations first: ``log(1 + exp(x)) as softplus(x)``."""
    found: list[str] = []
    for node in reachable([root]):
        if node.op is None:
            continue
        better = next((text for rule in _RULES if (text := rule(node))), None)
        written = formula(node, limit=40) if better else None
        if better and written:
            found.append(f"{written} as {better}")
    # an operand's rewrite is part of what contains it
    return [f for i, f in enumerate(found) if not any(f.split(" as ")[0] in other.split(" as ")[0] for other in found[i + 1 :])][:_MOST]


def _named(node: Any, name: str) -> bool:
    return isinstance(node, Expr) and node.op is not None and node.op.name == name


def _two(node: Expr) -> tuple[Expr, Expr]:
    x, y = node.operands
    assert x is not None
    assert y is not None
    return x, y


def _number(node: Any, value: float) -> bool:
    return isinstance(node, Expr) and node.is_constant and not node.shape and node.payload == value


def _text(node: Expr | None) -> str:
    text = formula(node, limit=30) if node is not None else None
    return text or "..."


def _one_plus(node: Any) -> Any:
    """What is added to 1, if anything is."""
    if not _named(node, "add"):
        return None
    x, y = node.operands
    return y if _number(x, 1) else x if _number(y, 1) else None


def _logarithm(node: Expr) -> Found:
    if not _named(node, "log"):
        return None
    inside = node.operand
    rest = _one_plus(inside)
    if rest is not None:
        return f"softplus({_text(rest.operand)})" if _named(rest, "exp") else f"log1p({_text(rest)})"
    if _named(inside, "sum") and _named(inside.operand, "exp"):
        return f"logsumexp({_text(inside.operand.operand)})"
    if _named(inside, "sigmoid"):
        return f"-softplus(-({_text(inside.operand)}))"
    if _named(inside, "softmax"):
        return f"log_softmax({_text(inside.operand)})"
    if _named(inside, "erfc"):
        return f"log(erfcx({_text(inside.operand)})) - ({_text(inside.operand)})**2"
    return f"slogdet({_text(inside.operand)})[1]" if _named(inside, "det") else None


def _quotient(node: Expr) -> Found:
    if not _named(node, "div"):
        return None
    above, below = _two(node)
    rest = _one_plus(below)
    if rest is not None and _named(rest, "exp"):
        if above is rest:
            return f"sigmoid({_text(rest.operand)})"
        if _number(above, 1):
            return f"sigmoid(-({_text(rest.operand)}))"
    if _named(below, "sum") and _named(above, "exp") and below.operands[0] is above:
        return f"softmax({_text(above.operand)})"
    if _named(above, "sin") and above.operand is below:
        return f"sinc({_text(below)}/pi)"
    return None


def _difference(node: Expr) -> Found:
    if not _named(node, "sub"):
        return None
    x, y = _two(node)
    if _named(x, "exp") and _number(y, 1):
        return f"expm1({_text(x.operand)})"
    if _number(x, 1) and _named(y, "cos"):
        return f"2*sin(({_text(y.operand)})/2)**2"
    if _number(x, 1) and _named(y, "erf"):
        return f"erfc({_text(y.operand)})"
    if _number(x, 1) and _named(y, "sigmoid"):
        return f"sigmoid(-({_text(y.operand)}))"
    return None


def _root(node: Expr) -> Found:
    if not _named(node, "sqrt") and not (_named(node, "pow") and _number(node.operands[1], 0.5)):
        return None
    inside = node.operand
    if (base := _squared(inside)) is not None:
        return f"abs({_text(base)})"
    if _named(inside, "add"):
        x, y = (_squared(part) for part in inside.operands)
        if x is not None and y is not None:
            return f"hypot({_text(x)}, {_text(y)})"
    if _named(inside, "sum") and (base := _squared(inside.operand)) is not None and not inside.static.get("keepdims"):
        return f"norm({_text(base)})"
    return None


def _squared(node: Any) -> Any:
    if _named(node, "square"):
        return node.operand
    if _named(node, "pow") and _number(node.operands[1], 2):
        return node.operand
    return node.operand if _named(node, "mul") and node.operands[0] is node.operands[1] else None


def _product(node: Expr) -> Found:
    if not _named(node, "mul"):
        return None
    first, second = _two(node)
    for x, y in ((first, second), (second, first)):
        if _named(y, "log"):
            return f"xlogy({_text(x)}, {_text(y.operand)})"
    return None


_RULES: tuple[Callable[[Expr], Found], ...] = (_logarithm, _quotient, _difference, _root, _product)
