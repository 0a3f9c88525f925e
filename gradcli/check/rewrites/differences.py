"""What two ways to write a function differ in: the smallest parts that are written differently, and are equal where it was evaluated."""

from __future__ import annotations

from collections.abc import Callable

from gradcli.graph.nodes import Expr

Pair = tuple[Expr, Expr]
Same = Callable[[Expr, Expr], bool]


def differences(before: Expr, after: Expr, same: Same) -> list[Pair]:
    """Parts of the one and what stands in their places in the other; the whole functions where no smaller parts will do."""
    found: dict[Expr, Expr] = {}
    stack = [(before, after)]
    while stack:
        x, y = stack.pop()
        if x is y:
            continue
        inner = _operands(x, y, same)
        if inner is not None:
            stack += inner
        elif found.setdefault(x, y) is not y:
            return [(before, after)]  # one part is written in two ways
    return sorted(found.items(), key=lambda pair: pair[0].index)


def _operands(x: Expr, y: Expr, same: Same) -> list[Pair] | None:
    """The operands of two nodes of one operation, each with its like; None where they are not alike."""
    if x.op is None or x.op is not y.op or dict(x.static) != dict(y.static) or len(x.operands) != len(y.operands):
        return None
    pairs = []
    for a, b in zip(x.operands, y.operands, strict=True):
        if (a is None) != (b is None):
            return None
        if a is None or b is None or a is b:
            continue
        if a.op is None or a.kind != "float" or a.shape != b.shape or not same(a, b):
            return None
        pairs.append((a, b))
    return pairs
