"""The node of a user's `autograd.Function` in the graph, and the record that stands for the function among the operations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any
from weakref import ref

import numpy as np

from gradcli.ops.spec import Op
from gradcli.ops.structure import output
from gradcli.tensors.core.anomaly import remember
from gradcli.tensors.core.batched import Batched
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.node import Node, node_class
from gradcli.tensors.core.saved_values import FREED
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.torch.function_context import Context

Sources = Sequence[Node | None]


class _FunctionOutput(Node):
    __slots__ = ()

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{self.label} object at {hex(id(self))}>"


class _FunctionNode(_FunctionOutput):
    __slots__ = ("context", "inputs")
    context: Context
    inputs: list[Tensor | None]

    def __getattr__(self, name: str) -> Any:
        """The node is PyTorch's ctx: what forward stored is found here."""
        if name in ("context", "inputs"):
            raise AttributeError(name)
        return getattr(self.context, name)


def function_node(cls: type[Any], ctx: Context, tensors: list[Tensor | None], sources: Sources, made: Sequence[Any]) -> Node:
    """The node of a call, which has made these."""
    op, kind = _record(cls, len(tensors), len(made))  # type: ignore[arg-type]  # a class, which is hashable
    shape, dtype = _forms(made)
    saved = (None,) * (len(tensors) + 1)
    node: _FunctionNode = kind(op, tuple(sources), {}, shape, dtype, saved, [] if ctx._saved else None)
    node.context, node.inputs = ctx, tensors
    node.static = {"call": ref(node)}
    if state.anomaly:
        remember(node)
    return node


def node_of_result(node: Node, place: int, part: Tensor) -> Node:
    """The node of one of several results of a call."""
    kind = node_class(node.label, _FunctionOutput)
    made: Node = kind(output, (node,), {"place": place}, part.array.shape, part.array.dtype)
    return made


def _forms(made: Sequence[Any]) -> tuple[Any, Any]:
    """Shape and dtype of a result, or those of several."""
    if len(made) == 1 and isinstance(made[0], Tensor):
        array = made[0].array
        return array.shape, array.dtype
    shapes = tuple([p.array.shape if isinstance(p, Tensor) else () for p in made])
    kinds = tuple([p.array.dtype if isinstance(p, Tensor) else None for p in made])
    return (shapes[0], kinds[0]) if len(made) == 1 else (shapes, kinds)


@cache
def _record(cls: type[Any], inputs: int, outputs: int) -> tuple[Op, type[Any]]:
    """What stands for a user's function among the operations: its rule is the user's."""
    names = tuple([f"x{i}" for i in range(inputs)])
    doc = cls.__doc__ or ""
    op = Op(cls.__name__, names, _unregistered, _unregistered, "structural", doc, vjp=_pulled(cls), outputs=outputs, always=True)
    return op, node_class(f"{cls.__name__}Backward", _FunctionNode)


def _pulled(cls: type[Any]) -> Any:
    def vjp(wanted: Any, cotangent: Any, out: Any, *operands: Any, call: Any) -> tuple[Any, ...]:
        node = call()
        ctx = node.context
        single = not isinstance(node.dtype, tuple)
        given, shapes, kinds = ((cotangent,), (node.shape,), (node.dtype,)) if single else (cotangent, node.shape, node.dtype)
        gradients = []
        for found, shape, kind in zip(given, shapes, kinds, strict=True):
            part = np.zeros(shape, kind) if found is None and ctx.materialize_grads and kind is not None else found
            gradients.append(part if part is None or isinstance(part, Tensor) else Tensor(np.asarray(part)))
        returned = cls._rule()(ctx, *gradients)
        if node.saved is FREED:
            ctx._saved, ctx._freed = (), True
        parts = returned if isinstance(returned, tuple) else (returned,)
        if len(parts) < len(wanted) or any(part is not None for part in parts[len(wanted) :]):
            raise RuntimeError(
                f"function {cls.__name__}Backward returned an incorrect number of gradients (expected {len(wanted)}, got {len(parts)})"
            )
        return tuple([_checked(cls, i, part, node.inputs[i], state.recording) for i, part in enumerate(parts[: len(wanted)])])

    return vjp


def _checked(cls: type[Any], place: int, part: Any, operand: Tensor | None, keep_graph: bool) -> Any:
    if part is None or operand is None or not operand.requires_grad:
        return None
    if not isinstance(part, Tensor):
        raise RuntimeError(f"expected Variable or None (got {type(part).__name__})")
    if part.shape != operand.array.shape:
        try:
            fits = np.broadcast_shapes(part.shape, operand.array.shape) == tuple(part.shape)
        except ValueError:
            fits = False
        if not fits:
            raise RuntimeError(
                f"Function {cls.__name__}Backward returned an invalid gradient at index {place} - got {list(part.shape)} but expected "
                f"shape compatible with {list(operand.shape)}"
            )
    return part if keep_graph or isinstance(part, Batched) else part.array


def _unregistered(*_: Any, **__: Any) -> Any:
    raise NotImplementedError("a user's autograd.Function has no forward outside of apply")
