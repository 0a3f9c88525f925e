"""Methods of tensors that are no operators: PyTorch's plain ones, and every function of the catalogue."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from gradcli.ops.dialects import names
from gradcli.ops.prefixes import TORCH
from gradcli.ops.registry import public_names
from gradcli.tensors import creation
from gradcli.tensors.apply import apply
from gradcli.tensors.conversions import CONVERSIONS
from gradcli.tensors.host import call, direct, known, missing
from gradcli.tensors.inplace import update
from gradcli.tensors.questions import QUESTIONS
from gradcli.tensors.tensor import Tensor
from gradcli.tensors.writes import WRITES


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


@cache
def method(name: str) -> Callable[..., Any]:
    """A method by its name. Raises AttributeError if PyTorch's tensors may have it and ours do not."""
    plain = PLAIN.get(name)
    if plain is not None:
        return plain
    if name.startswith("_"):
        raise AttributeError(f"'Tensor' object has no attribute {name!r}")
    if name.endswith("_") and (known(name[:-1]) is not None or name[:-1] in PLAIN):
        return lambda x, *arguments, **keywords: update(x, name[:-1], arguments, keywords)
    own = f"Tensor.{name}"  # declared where the method is not the function of that name
    function = name if known(own) is None else own
    if known(function) is None:
        raise AttributeError(missing(name, "Tensor"))
    alone = direct(function, TORCH, 1)
    if alone is None:
        return lambda *arguments, **keywords: call(function, TORCH, arguments, keywords)

    def run(*arguments: Any, **keywords: Any) -> Any:
        if len(arguments) == 1 and not keywords and isinstance(arguments[0], Tensor):
            return apply(alone[0], arguments, alone[1])
        return call(function, TORCH, arguments, keywords)

    return run


def method_names() -> list[str]:
    return [*PLAIN, *public_names(), *names()]
