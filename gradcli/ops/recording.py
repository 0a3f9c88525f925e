"""What PyTorch's graph records of an operation: what it calls the node, and which values the node keeps for the backward pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from gradcli.ops.spec import Op

Namer = Callable[[Sequence[Any], Mapping[str, Any]], str]


@cache
def numbered(name: str) -> str:
    """``Sum.1`` as ``SumBackward1``; the first variant of a name needs no number. A copy of what would be a view is ``T.0_copy``."""
    if name in ("CopySlices", "CopyBackwards"):
        return name
    name, _, variant = name.partition(".")
    return f"{name}Backward{variant or 0}"


@cache
def naming(op: Op) -> str | Namer:
    """PyTorch's name of the nodes of an operation, without its ending, or how it follows from the operands and static parameters."""
    return op.torch.backward or "".join(part.capitalize() for part in op.name.split("_"))


def node_name(op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> str:
    """``AddBackward0``: the operands are arrays and numbers."""
    name = naming(op)
    return numbered(name(operands, static) if callable(name) else name)


@lru_cache(4096)
def kept_places(op: Op, operands: int, wanted: int) -> tuple[list[int], list[int]]:
    """What is kept when derivatives by the wanted operands will be taken, and what is not: 0 is the result, 1 the first operand.

    wanted  a bit for each operand, that of the first one the highest
    """
    names = op.operands * operands if op.variadic else op.operands
    read: set[str] = set()
    if isinstance(op.saves, Mapping):
        for place, name in enumerate(reversed(names)):
            read |= set(op.saves.get(name, ())) if wanted >> place & 1 else set()
    else:
        read = set(op.saves)
    keeps = [place for place, name in enumerate(("out", *names)) if name in read]
    return keeps, [place for place in range(operands + 1) if place not in keeps]
