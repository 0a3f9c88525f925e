"""The classes of nodes by what PyTorch calls them: ``AddBackward0``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gradcli.ops.recording import node_name
from gradcli.ops.spec import Op
from gradcli.tensors.core.node import node_class


def kind_of(op: Op, arrays: Sequence[Any], static: Mapping[str, Any]) -> type[Any]:
    """The class of an operation's nodes."""
    return node_class(node_name(op, arrays, static))
