"""What PyTorch's graph records of an operation: what it calls the node, and which values the node keeps for the backward pass."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any

from gradcli.ops.spec import FORM, Composite, Op

Namer = Callable[[Sequence[Any], Mapping[str, Any]], str]
_STARTS = re.compile("(?:^|_|(?<=[0-9]))([a-z])")


@cache
def naming(record: Op | Composite) -> str | Namer:
    """PyTorch's name of the nodes of an operation or a function, without its ending, or how it follows from operands and parameters."""
    return record.torch.backward or _STARTS.sub(lambda start: start[1].upper(), FORM.sub("", record.name))


def node_name(record: Op | Composite, operands: Sequence[Any] = (), static: Mapping[str, Any] = MappingProxyType({})) -> str:
    """``AddBackward0``: the operands are arrays and numbers."""
    name = naming(record)
    return f"{name(operands, static) if callable(name) else name}Backward0"


@lru_cache(4096)
def kept_places(op: Op, operands: int, wanted: int) -> tuple[list[int], list[int]]:
    """Return what is kept when derivatives by the wanted operands will be taken, and what is not: 0 is the result, 1 the first operand.

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
