"""The classes of nodes by what PyTorch calls them: ``AddBackward0``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from gradcli.ops.recording import naming, numbered
from gradcli.ops.spec import Op
from gradcli.tensors.core.node import node_class


@cache
def _class_named(name: str) -> type[Any]:
    return node_class(numbered(name))


def kind_of(op: Op, arrays: Sequence[Any], static: Mapping[str, Any]) -> type[Any]:
    """The class of an operation's nodes."""
    name = naming(op)
    return _class_named(name(arrays, static) if callable(name) else name)
