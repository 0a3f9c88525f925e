"""Functions of which PyTorch has no derivative: their results are in the graph, and a gradient that comes to them is refused."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ClassVar

from gradcli.ops.refusals.derivatives import UNRECORDED, WITHOUT, NoDerivative
from gradcli.ops.structure import clone
from gradcli.tensors.core.dtypes import FLOATS
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.node import Node, node_class
from gradcli.tensors.core.tensor import Tensor

_SAVED: Any = vars(Node)["saved"]


class _Underivable(Node):
    """A node that no gradient passes: asked for what it has saved for its rule, it raises."""

    __slots__ = ()
    without: ClassVar[NoDerivative]

    @property
    def saved(self) -> Any:
        operand = self.without.operand
        if operand is None or self.operands[operand] is not None:
            raise self.without.kind(self.without.said)
        return _SAVED.__get__(self)

    @saved.setter
    def saved(self, values: Any) -> None:
        _SAVED.__set__(self, values)


@cache
def _kind(without: NoDerivative) -> type[Any]:
    base = type(_Underivable.__name__, (_Underivable,), {"__slots__": (), "__module__": Node.__module__, "without": without})
    return node_class(without.node, base)


def limited(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function as PyTorch differentiates it: not at all, or by some of its operands."""
    without = WITHOUT.get(name)
    if without is None and name not in UNRECORDED:
        return function

    @wraps(function)
    def run(*arguments: Any, **keywords: Any) -> Any:
        result = function(*arguments, **keywords)
        if not isinstance(result, Tensor) or result.node is None:
            return result
        if without is None:
            return result.detach()
        result.node.__class__ = _kind(without)
        return result

    return run


def in_graph(x: Tensor, name: str, result: Tensor) -> Tensor:
    """The result of a function, which was computed outside of the graph, with a node in it."""
    if x.requires_grad and state.recording and not state.inference and result.array.dtype.kind in FLOATS:
        result.node = _kind(WITHOUT[name])(clone, (x.source(),), {}, result.array.shape, result.array.dtype)
        result._requires_grad = True
    return result
