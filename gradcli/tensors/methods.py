"""The methods of tensors: PyTorch's plain ones, every function of the catalogue, and the operators of two operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType, MethodType
from typing import Any

import numpy as np

from gradcli.graph.operand import Operand
from gradcli.ops.calling.dialects import names
from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.registry import public_names
from gradcli.ops.spec import Op
from gradcli.tensors import creation
from gradcli.tensors.apply import apply, apply_with_care
from gradcli.tensors.conversions import CONVERSIONS
from gradcli.tensors.host import call, direct, known
from gradcli.tensors.inplace import update
from gradcli.tensors.operators import COMPARISONS, OPERATORS
from gradcli.tensors.questions import QUESTIONS
from gradcli.tensors.short import short_way
from gradcli.tensors.tensor import Tensor
from gradcli.tensors.writes import WRITES

_OPERANDS = (Operand, int, float, np.ndarray, np.generic)
_NO_STATIC: Mapping[str, Any] = MappingProxyType({})


def _new(make: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda x, *size, dtype=None, **keywords: make(*size, dtype=dtype or x.dtype, **keywords)


def _new_tensor(x: Tensor, data: Any, **keywords: Any) -> Tensor:
    return creation.tensor(data, **{"dtype": x.dtype, **keywords})


# What is no function of the catalogue: entries, dtypes, memory.
PLAIN: dict[str, Callable[..., Any]] = {
    **QUESTIONS,
    **CONVERSIONS,
    **WRITES,
    "new_zeros": _new(creation.zeros),
    "new_ones": _new(creation.ones),
    "new_empty": _new(creation.empty),
    "new_full": _new(creation.full),
    "new_tensor": _new_tensor,
}


class _Unbound:
    """A method until it is first asked for; then its function takes its place."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, x: Tensor | None, owner: type[Tensor]) -> Any:
        function = _method(self.name)
        if function is not PLAIN.get(self.name):
            function.__name__, function.__qualname__, function.__module__ = self.name, f"Tensor.{self.name}", Tensor.__module__
        setattr(Tensor, self.name, function)
        return function if x is None else MethodType(function, x)


def _method(name: str) -> Callable[..., Any]:
    plain = PLAIN.get(name)
    if plain is not None:
        return plain
    if name.endswith("_"):
        return lambda x, *arguments, **keywords: update(x, name[:-1], arguments, keywords)
    function = name if known(f"Tensor.{name}") is None else f"Tensor.{name}"  # which is declared where it is not the function of that name
    alone = direct(function, TORCH, 1)
    if alone is None:
        return lambda *arguments, **keywords: call(function, TORCH, arguments, keywords)
    op, static = alone

    def run(x: Tensor, *arguments: Any, **keywords: Any) -> Any:
        return call(function, TORCH, (x, *arguments), keywords) if arguments or keywords else apply(op, (x,), static)

    return run


def _operator(op: Op, reflected: bool = False) -> Callable[[Any, Any], Any]:
    """The method of an operator, from the left or the right; Python asks the other operand if it is no number."""
    way = short_way(op) or _no_way

    def operator(self: Tensor, other: Any) -> Any:
        operands = (other, self) if reflected else (self, other)
        tensor = way(operands, _NO_STATIC)
        if tensor is not None:
            return tensor
        return apply_with_care(op, operands, _NO_STATIC) if isinstance(other, _OPERANDS) else NotImplemented

    return operator


def _no_way(operands: Any, static: Any) -> None:
    """The short way of operations that have none."""


def _install() -> None:
    """Give tensors their methods. A class that looks for them by `__getattr__` would be slower to read any field of."""
    functions = [name for name in [*public_names(), *names()] if known(name) or known(f"Tensor.{name}")]
    for name in {*PLAIN, *functions, *(f"{name}_" for name in [*PLAIN, *functions])}:
        if not hasattr(Tensor, name):
            setattr(Tensor, name, _Unbound(name))
    for name, op in {**OPERATORS, **COMPARISONS}.items():
        setattr(Tensor, f"__{name}__", _operator(op))
    for name, op in OPERATORS.items():
        # with a number on the left, the tensor is the first operand where the order does not matter, as in PyTorch
        setattr(Tensor, f"__r{name}__", _operator(op, reflected=name not in ("add", "mul")))


_install()
