"""The methods of tensors.

They are PyTorch's own, Python's and NumPy's protocols, and every function of the catalogue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MethodType
from typing import Any

import numpy as np

from gradcli.ops.arrays.shapes import swapaxes, transpose
from gradcli.ops.calling import meanings
from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.elementwise.arithmetic import abs_
from gradcli.ops.operands import Operand
from gradcli.ops.registry import public_names, registry
from gradcli.ops.spec import Op
from gradcli.tensors.core.backward import backward_of
from gradcli.tensors.core.in_place import (
    as_tensor,
    check_expandable,
    check_places,
    check_writable,
    get,
    replace,
    rows,
    update,
    write,
)
from gradcli.tensors.core.levels import levels_of, memory_of, own_entries
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.tensor import Tensor, writable
from gradcli.tensors.dispatch.apply import apply, check_annotations
from gradcli.tensors.dispatch.call_arguments import IN_PLACE_TOO, NO_METHODS
from gradcli.tensors.dispatch.library_calls import caller, record_of
from gradcli.tensors.torch import creation
from gradcli.tensors.torch.creation import RANDOM, RANDOM_IN_PLACE
from gradcli.tensors.torch.display import text_of_tensor
from gradcli.tensors.torch.namespace import where_of
from gradcli.tensors.torch.numpy_functions import function_on_tensors, ufunc_on_tensors
from gradcli.tensors.torch.own_methods import (
    BIT_OPERATORS,
    BITS,
    CASTS,
    MEMORY,
    METHODS,
    PLAIN_METHODS,
    rearrange,
)
from gradcli.tensors.transforms.vectorizing import interpret
from gradcli.texts import words

# -- Methods that give a tensor new content, or a new shape, in place -----------------------------


def _copy(x: Tensor, source: Any, non_blocking: bool = False) -> Tensor:
    value = as_tensor(source)
    check_writable(x, value)
    check_places(x)
    check_expandable(value.array, x.array.shape)
    return replace(x, value.to(x.dtype), "CopyBackwards")


def _fill(x: Tensor, value: Any) -> Tensor:
    return _write(x, value, "FillBackward0")


def _write(x: Tensor, value: Any, label: str) -> Tensor:
    if not hasattr(value, "__float__"):
        raise TypeError(f"fill_(): argument 'value' must be Number, not {type(value).__name__}")
    if isinstance(value, Tensor):
        if value.array.ndim:
            raise RuntimeError(
                "fill_ only supports 0-dimension value tensor but got tensor with "
                f"{value.array.ndim} dimensions."
            )
        value = (
            value.to(x.dtype)
            if value.requires_grad or state.interpreter is not None
            else value.item()
        )
    check_writable(x, value)
    if not writable(memory_of(x)):
        check_places(x)
    return replace(x, value, label)


def _rearranging_method(name: str) -> Callable[..., Tensor]:
    """In-place methods that change a tensor's shape, not its entries."""

    def change(x: Tensor, *arguments: Any, **keywords: Any) -> Tensor:
        return rearrange(x, lambda now: getattr(now, name)(*arguments, **keywords))

    return change


IN_PLACE: dict[str, Callable[..., Tensor]] = {
    "copy_": _copy,
    "fill_": _fill,
    "zero_": lambda x: _write(x, 0, "ZeroBackward0"),
    **{
        f"{name}_": _rearranging_method(name)
        for name in words("t squeeze unsqueeze transpose swapaxes swapdims as_strided")
    },
}


# -- Python's operators of tensors: those that records name, and those of bits -------------------


_OPERANDS = (Operand, int, float, np.ndarray, np.generic)
_NO_STATIC: Mapping[str, Any] = {}


def _operator(op: Op, reflected: bool = False) -> Callable[[Any, Any], Any]:
    """Return the method of an operator, from the left or the right.

    Python asks the other operand if it is no number.
    """
    taken = _OPERANDS if op.elementwise else (Operand, np.ndarray)

    def operator(self: Tensor, other: Any) -> Any:
        if not isinstance(other, taken):
            return NotImplemented
        if isinstance(other, np.ndarray):  # its dtype counts, as that of a tensor
            other = as_tensor(other)
        return apply(op, (other, self) if reflected else (self, other), _NO_STATIC)

    return operator


def _in_place(name: str) -> Callable[[Tensor, Any], Tensor]:
    return lambda x, other: update(x, name, (other,), {})


def _record_methods() -> dict[str, Callable[..., Any]]:
    """Return the methods of the operations that are operators.

    They apply from the left, from the right, and in place.
    """
    found: dict[str, Callable[..., Any]] = {}
    for op in registry().values():
        if op.operator is None or len(op.operands) == 1:
            continue
        name = op.operator.__name__
        found[f"__{name}__"] = _operator(op)
        if op.result != "bool":
            # With a number on the left, the tensor is the first operand if the order does not
            # matter, as in PyTorch.
            found[f"__r{name}__"] = _operator(op, reflected=op.algebra not in ("sum", "product"))
            if op.elementwise:
                found[f"__i{name}__"] = _in_place(f"__{name}__")
    return found


def _return_itself(x: Tensor) -> Tensor:
    return x


def _abs(x: Tensor) -> Any:
    return abs_(x)


# -- transposes ------------------------------------------------------------------------------------


def _transpose(x: Tensor) -> Any:
    return transpose(x, axes=None)


def _matrices_transposed(x: Tensor) -> Any:
    if x.ndim == 1:
        raise RuntimeError(
            "tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor."
        )
    return swapaxes(x, axis1=-1, axis2=-2) if x.ndim else _transpose(x)


OPERATORS: dict[str, Any] = {
    **_record_methods(), "__pos__": _return_itself, "__abs__": _abs, **BIT_OPERATORS,
    "T": property(_transpose), "mT": property(_matrices_transposed), "mH": property(_matrices_transposed),
    "H": property(_matrices_transposed), "real": property(_return_itself),
}  # fmt: skip


def _new(make: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return a method that makes a tensor of the dtype of another one.

    If the other tensor is batched, each example has its own new one.
    """

    def new(x: Tensor, *size: Any, dtype: Any = None, **keywords: Any) -> Tensor:
        made = make(*size, dtype=dtype or x.dtype, **keywords)
        return made if type(x) is Tensor else own_entries(made, levels_of([x]))

    return new


# Methods that are not functions of the catalogue: entries, dtypes, memory.
OWN: dict[str, Callable[..., Any]] = {
    **PLAIN_METHODS,
    **METHODS,
    **CASTS,
    **BITS,
    "where": where_of,
    **IN_PLACE,
    **MEMORY,
    **RANDOM,
    **RANDOM_IN_PLACE,
    "new_zeros": _new(creation.zeros),
    "new_ones": _new(creation.ones),
    "new_empty": _new(creation.empty),
    "new_full": _new(creation.full),
    "new_tensor": _new(creation.tensor),
}


# Methods from higher layers: how operations are applied, and the protocols of Python and NumPy.
SPECIAL: dict[str, Any] = {
    **OPERATORS,
    "apply_op": staticmethod(apply),
    "interpret": staticmethod(interpret),
    "backward": backward_of,
    "__getitem__": get,
    "__setitem__": write,
    "__iter__": rows,
    "__repr__": text_of_tensor,
    "__array_ufunc__": ufunc_on_tensors,
    "__array_function__": function_on_tensors,
}


class _Unbound:
    """A method until it is first asked for; then its function takes its place."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, x: Tensor | None, owner: type[Tensor]) -> Any:
        function = _method(self.name)
        if function is not OWN.get(self.name):
            function.__name__ = self.name
            function.__qualname__ = f"Tensor.{self.name}"
            function.__module__ = Tensor.__module__
        setattr(Tensor, self.name, function)
        return function if x is None else MethodType(function, x)


def _method(name: str) -> Callable[..., Any]:
    own = OWN.get(name)
    if own is not None:
        return own if name in PLAIN_METHODS else check_annotations(own, name)
    if name.endswith("_"):

        def write_result(x: Tensor, *arguments: Any, **keywords: Any) -> Any:
            if "out" in keywords:
                raise TypeError(f"{name}() got an unexpected keyword argument 'out'")
            return update(x, name[:-1], arguments, keywords)

        return write_result
    own_name = f"Tensor.{name}"  # declared if it differs from the function of that name
    return caller(name if record_of(own_name) is None else own_name, TORCH, own_name)


@cache
def functions() -> tuple[str, ...]:
    """Return the functions of the catalogue that are methods."""
    plain = {name for name in [*public_names(), *meanings.names()] if "." not in name}
    return tuple(name for name in plain if record_of(name) or record_of(f"Tensor.{name}"))


def _writes_too(name: str) -> bool:
    """Return whether a method has a form that writes its result into the tensor."""
    record, _ = record_of(name) or (None, None)
    return name in IN_PLACE_TOO or (isinstance(record, Op) and record.elementwise)


def _install() -> None:
    """Give tensors their methods.

    A class that looks for them by `__getattr__` would be slower to read any field of.
    """
    for special, method in SPECIAL.items():
        setattr(Tensor, special, method)
    names = {*OWN, *functions()}.difference(NO_METHODS)
    for name in {*names, *(f"{name}_" for name in names if _writes_too(name))}:
        if not hasattr(Tensor, name):
            setattr(Tensor, name, _Unbound(name))


_install()


# -- ``torch.nn.Parameter``: leaves that say of themselves that they are what is trained ---------


class _Kind(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Tensor) and x._is_param


class Parameter(metaclass=_Kind):
    """A leaf of the same memory, which requires grad.

    What is computed of it are tensors as any other.
    """

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        if data is not None and not isinstance(data, Tensor):
            raise TypeError(f"Parameter data has to be a tensor, but got {type(data).__name__}")
        leaf = Tensor([]) if data is None else Tensor(data.array)
        leaf._is_param = True
        return leaf.requires_grad_(requires_grad)
