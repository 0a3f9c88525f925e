"""What PyTorch calls the node of an operation: ``AddBackward0``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from gradcli.ops.spec import Op
from gradcli.tensors.core.node import node_class

Namer = Callable[[Sequence[Any], Mapping[str, Any]], str]


@cache
def numbered(name: str) -> str:
    """``Sum.1`` as ``SumBackward1``; the first variant of a name needs no number."""
    if name == "CopySlices":
        return name
    name, _, variant = name.partition(".")
    return f"{name}Backward{variant or 0}"


@cache
def _naming(op: Op) -> str | Namer:
    """PyTorch's name of the nodes of an operation, or how it follows from the operands and static parameters."""
    return op.torch.backward or "".join(part.capitalize() for part in op.name.split("_"))


@cache
def _class_named(name: str) -> type[Any]:
    return node_class(numbered(name))


def kind_of(op: Op, arrays: Sequence[Any], static: Mapping[str, Any]) -> type[Any]:
    """The class of an operation's nodes."""
    name = _naming(op)
    return _class_named(name(arrays, static) if callable(name) else name)
