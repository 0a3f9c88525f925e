"""What a node keeps of its result and operands for its rule, and how it is asked for again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.ops.recording import kept_places
from gradcli.ops.spec import Op
from gradcli.tensors.core.dtypes import FLOATS
from gradcli.tensors.core.node import AccumulateGrad, Node, Shaped, Versions, node_of_part
from gradcli.tensors.core.tensor import Tensor

FREED: Any = object()
SECOND_TIME = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved "
    "intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to "
    "backward through the graph a second time or if you need to access saved tensors after calling backward."
)
INFERENCE = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation tracked by "
    "autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` instead "
    "of `torch.inference_mode()`."
)
_SAVED = {"_saved_result": 0, "_saved_self": 1, "_saved_other": 2, "_saved_exponent": 2, "_saved_mat2": 2}


class _NotKept:
    """What an elementwise rule gets for an operand that it does not read; not even its shape matters there."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NOT_KEPT"


NOT_KEPT = _NotKept()


def save(op: Op, wanted: int, result: Any, operands: Sequence[Any], values: list[Any]) -> Versions | None:
    """Leave of an operation's values (its result's and its operands') what a node's rule reads; the versions of what is left.

    wanted  the operands that require grad, a bit for each, that of the first one the highest
    result  the tensor, or the tuple of tensors
    """
    keeps, drops = kept_places(op, len(operands), wanted)
    for place in drops:
        value = values[place]
        if op.elementwise:
            values[place] = NOT_KEPT
        elif isinstance(value, np.ndarray):
            values[place] = Shaped(value)
    if not keeps:
        return None
    versions = []
    for place in keeps:
        tensor = operands[place - 1] if place else result
        if isinstance(tensor, Tensor):
            if tensor._inference:
                raise RuntimeError(INFERENCE)
            counter = tensor._version_counter
            versions.append((counter, counter[0], place))
    return versions


def saved_tensors(node: Node, saved: Sequence[Any]) -> Sequence[Any]:
    """Saved values as tensors of the graph, so that what is computed from them can be differentiated again."""
    if isinstance(saved[0], tuple):
        out: Any = tuple(Tensor(np.asarray(part)) for part in saved[0])
        for place, part in enumerate(out):
            if part.array.dtype.kind in FLOATS:
                part.node = node_of_part(node, place, part)
                part._requires_grad = True
    else:
        out = rejoined(saved[0], node)
    return [out, *[rejoined(value, operand) for value, operand in zip(saved[1:], node.operands, strict=True)]]


def rejoined(value: Any, node: Node | None) -> Any:
    """A value as the tensor that a node has made of it; numbers as they are."""
    if not isinstance(value, np.ndarray):
        return value
    if isinstance(node, AccumulateGrad):
        return node.variable
    tensor = Tensor(value)
    if node is not None:
        tensor.node, tensor._requires_grad = node, True
    return tensor


def _saved_under(name: str, place: int) -> property:
    """``_saved_self``, ``_saved_other``, ``_saved_result``: what the rule will read."""

    def saved(node: Node) -> Any:
        if node.saved is FREED:
            raise RuntimeError(SECOND_TIME)
        if not isinstance(node.saved, list) or place >= len(node.saved):
            raise AttributeError(f"'{node.label}' object has no attribute {name!r}")
        value = node.saved[place]
        if isinstance(value, (Shaped, _NotKept)):
            raise AttributeError(f"'{node.label}' does not keep this value")
        tensor = rejoined(value, node if place == 0 else node.operands[place - 1])
        for counter, _, kept_place in node.versions or ():
            if kept_place == place and isinstance(tensor, Tensor):
                tensor._version_counter = counter
        return tensor

    return property(saved)


for _saved_name, _place in _SAVED.items():
    setattr(Node, _saved_name, _saved_under(_saved_name, _place))
