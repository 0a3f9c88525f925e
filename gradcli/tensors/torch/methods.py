"""The methods of tensors: those of PyTorch's own, Python's and NumPy's protocols, and every function of the catalogue."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import MethodType
from typing import Any

from gradcli.ops.calling import meanings
from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.registry import public_names
from gradcli.tensors.core.backward import backward_of
from gradcli.tensors.core.batched import levels_of, own_entries
from gradcli.tensors.core.device import check_device
from gradcli.tensors.core.entry_writing import write
from gradcli.tensors.core.in_place import update
from gradcli.tensors.core.subscripts import get, rows
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.user_warnings import warn
from gradcli.tensors.dispatch.apply import apply
from gradcli.tensors.dispatch.checked_calls import checked
from gradcli.tensors.dispatch.interpreter import interpret
from gradcli.tensors.dispatch.library_calls import call, direct, known
from gradcli.tensors.dispatch.pytorch_types import is_in_place_too, is_method, is_particular
from gradcli.tensors.torch import creation
from gradcli.tensors.torch.bits import BITS
from gradcli.tensors.torch.cast_methods import CASTS
from gradcli.tensors.torch.catalogue_functions import where_of
from gradcli.tensors.torch.display import shown
from gradcli.tensors.torch.in_place_methods import IN_PLACE
from gradcli.tensors.torch.introspection import METHODS, PLAIN_METHODS
from gradcli.tensors.torch.memory_methods import MEMORY
from gradcli.tensors.torch.numpy_protocols import function_on_tensors, ufunc_on_tensors
from gradcli.tensors.torch.operators import OPERATORS
from gradcli.tensors.torch.random_fills import RANDOM, RANDOM_IN_PLACE


def _new(make: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A tensor of the dtype of another one; where that is batched, each example has its own."""

    def new(x: Tensor, *size: Any, dtype: Any = None, **keywords: Any) -> Tensor:
        made = make(*size, dtype=dtype or x.dtype, **keywords)
        return made if type(x) is Tensor else own_entries(made, levels_of([x]))

    return new


def _new_tensor(x: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    check_device(device)
    if isinstance(data, Tensor):
        warn(creation.COPIED.format("tensor.new_tensor"))
    return creation.copied(data, dtype or x.dtype, requires_grad)


# What is no function of the catalogue: entries, dtypes, memory.
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
    "new_tensor": _new_tensor,
}


# What the class has from rooms above its own: how operations are applied, Python's protocols, and NumPy's.
SPECIAL: dict[str, Any] = {
    **OPERATORS,
    "real": property(lambda x: x),
    "apply_op": staticmethod(apply),
    "interpret": staticmethod(interpret),
    "backward": backward_of,
    "__getitem__": get,
    "__setitem__": write,
    "__iter__": rows,
    "__repr__": shown,
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
            function.__name__, function.__qualname__, function.__module__ = self.name, f"Tensor.{self.name}", Tensor.__module__
        setattr(Tensor, self.name, function)
        return function if x is None else MethodType(function, x)


def _method(name: str) -> Callable[..., Any]:
    own = OWN.get(name)
    if own is not None:
        return own if name in PLAIN_METHODS else checked(own, name)
    if name.endswith("_"):

        def write_result(x: Tensor, *arguments: Any, **keywords: Any) -> Any:
            if "out" in keywords:
                raise TypeError(f"{name}() got an unexpected keyword argument 'out'")
            return update(x, name[:-1], arguments, keywords)

        return write_result
    function = name if known(f"Tensor.{name}") is None else f"Tensor.{name}"  # which is declared where it is not the function of that name
    op, static = (None if is_particular(name) else direct(function, TORCH, 1)) or (None, {})

    def run(x: Tensor, *arguments: Any, **keywords: Any) -> Any:
        if op is None or arguments or keywords:
            return call(function, TORCH, (x, *arguments), keywords)
        return apply(op, (x,), static)

    return run


@cache
def functions() -> tuple[str, ...]:
    """The functions of the catalogue that are methods."""
    plain = {name for name in [*public_names(), *meanings.names()] if "." not in name}
    return tuple(name for name in plain if known(name) or known(f"Tensor.{name}"))


def _install() -> None:
    """Give tensors their methods. A class that looks for them by `__getattr__` would be slower to read any field of."""
    for special, method in SPECIAL.items():
        setattr(Tensor, special, method)
    names = {*OWN, *functions()}
    for name in {*filter(is_method, names), *(f"{name}_" for name in names if is_in_place_too(name))}:
        if not hasattr(Tensor, name):
            setattr(Tensor, name, _Unbound(name))


_install()
