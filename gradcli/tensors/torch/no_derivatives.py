"""Functions that PyTorch has no derivatives of: what they give is in the graph, and a backward pass that comes to it says so."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NoReturn

import numpy as np

from gradcli.ops.spec import Op
from gradcli.tensors.core.anomaly import remember
from gradcli.tensors.core.batched import Batched
from gradcli.tensors.core.dtypes import FLOATS
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.node import Node, Shaped, node_class, node_of_part
from gradcli.tensors.core.tensor import Tensor


def underived(name: str, made: Tensor | tuple[Tensor, ...], operands: Sequence[Any]) -> Any:
    """What a function of PyTorch's made of operands, with the node that it has there if one of these requires grad."""
    return _with_node(made, operands, "NotImplemented", RuntimeError(f"derivative for {name} is not implemented"))


def flat(label: str, made: Tensor, operands: Sequence[Any]) -> Tensor:
    """The same of those whose derivative is zero: random numbers, which do not move with what they are drawn for."""
    found: Tensor = _with_node(made, operands, label, None)
    return found


def _with_node(made: Tensor | tuple[Tensor, ...], operands: Sequence[Any], label: str, said: Exception | None) -> Any:
    sources = tuple([x.source() if isinstance(x, Tensor) else None for x in operands])
    if state.inference or not state.recording or sources.count(None) == len(sources):
        return made
    parts = made if isinstance(made, tuple) else (made,)
    if any(isinstance(part, Batched) for part in parts):
        return made
    forms = [p.array.shape for p in parts], [p.array.dtype for p in parts]
    shape, dtype = (tuple(forms[0]), tuple(forms[1])) if isinstance(made, tuple) else (forms[0][0], forms[1][0])
    op = _record(len(sources), len(parts), said.__class__, str(said))  # type: ignore[arg-type]  # a class, which is hashable
    saved = (None, *(Shaped(x.array) if isinstance(x, Tensor) else None for x in operands))
    node: Node = node_class(label)(op, sources, {}, shape, dtype, saved)
    for place, part in enumerate(parts):
        if part.array.dtype.kind in FLOATS:
            part.node = node_of_part(node, place, part) if isinstance(made, tuple) else node
            part._requires_grad = True
    if state.anomaly:
        remember(node)
    return made


@cache
def _record(inputs: int, outputs: int, kind: Any, said: str) -> Op:
    """What stands for such a function among the operations: its rule raises, or gives zeros."""

    def vjp(wanted: Any, cotangent: Any, out: Any, *operands: Any) -> Any:
        if issubclass(kind, Exception):
            raise kind(said)
        zeros = [np.zeros(x.shape, x.dtype) if want else None for want, x in zip(wanted, operands, strict=True)]
        return tuple([Tensor(x) if x is not None and isinstance(cotangent, Tensor) else x for x in zeros])

    names = tuple([f"x{i}" for i in range(inputs)])
    return Op("underived", names, _unregistered, _unregistered, "structural", said, vjp=vjp, outputs=outputs, always=True)


def _unregistered(*_: Any, **__: Any) -> NoReturn:
    raise NotImplementedError("it stands for a function that was computed already")
