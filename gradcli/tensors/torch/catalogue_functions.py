"""PyTorch's functions by their names: those of the catalogue, and the few that are about tensors themselves."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError
from gradcli.ops.calling.dialects import qualified
from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.registry import find
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.batched import Batched
from gradcli.tensors.core.casts import as_tensor, clone_of
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.apply import apply
from gradcli.tensors.dispatch.library_calls import call, known, missing
from gradcli.tensors.torch.introspection import INTROSPECTION
from gradcli.tensors.torch.random_fills import OF_NETWORKS as RANDOM_OF_NETWORKS
from gradcli.tensors.torch.random_fills import RANDOM
from gradcli.tensors.torch.searching import SEARCHING


@cache
def function(name: str, where: str = "torch") -> Callable[..., Any]:
    """A function of the catalogue under PyTorch's name. Raises AttributeError if there is none."""
    there = qualified(name, f"{where}.{name}", TORCH)
    found = known(there)
    if found is None:
        raise AttributeError(missing(name, where))
    record, _ = found

    single = not record.variadic and len(record.operands) == 1

    def run(*arguments: Any, **keywords: Any) -> Any:
        if single and arguments and not isinstance(arguments[0], Tensor):
            raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(arguments[0]).__name__}")
        return call(there, TORCH, arguments, keywords)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = record.doc
    return run


def stack(tensors: Any, dim: int = 0) -> Tensor:
    stacked: Tensor = apply(find("stack"), list(tensors), {"axis": dim})
    return stacked


def einsum(equation: Any, *operands: Any) -> Any:
    """Sums of products over named axes."""
    if isinstance(operands[0] if operands else None, (list, tuple)):
        operands = tuple(operands[0])
    if not isinstance(equation, str) or not operands:
        raise ArgumentError("einsum(): the first argument is the equation, a string; operands follow")
    return apply(find("einsum"), [as_tensor(o) for o in operands], {"subscripts": equation})


def where(condition: Any, *choices: Any, **keywords: Any) -> Any:
    """One of two values, entry by entry; of a condition alone, the places where it holds."""
    if not choices and not keywords:
        return INTROSPECTION["nonzero"](condition, as_tuple=True)
    return call("where", TORCH, (condition, *choices), keywords)


def is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)


def result_type(*operands: Any) -> dtypes.dtype:
    return dtypes.of_numpy(dtypes.result_type([o.array if isinstance(o, Tensor) else o for o in operands]))


def broadcast_shapes(*shapes: Any) -> dtypes.Size:
    return dtypes.Size(np.broadcast_shapes(*(s if isinstance(s, (tuple, list)) else (s,) for s in shapes)))


def one_hot(x: Tensor, num_classes: int = -1) -> Tensor:
    """A row of zeros with a one at each entry's place."""
    if num_classes == -1:
        if not x.array.size:
            raise RuntimeError("Class values must be non-negative: can not infer total number of classes from empty tensor.")
        num_classes = int(x.array.max()) + 1
    hot: Tensor = function("one_hot", "torch.nn.functional")(x, num_classes)
    return hot if isinstance(hot, Batched) else hot.to(dtypes.int64)


OF_NETWORKS: dict[str, Callable[..., Any]] = {**RANDOM_OF_NETWORKS, "one_hot": one_hot}
OWN: dict[str, Callable[..., Any]] = {
    **SEARCHING, **RANDOM, "dropout": OF_NETWORKS["dropout"],
    "einsum": einsum, "is_tensor": is_tensor, "result_type": result_type, "broadcast_shapes": broadcast_shapes, "clone": clone_of,
    **{name: INTROSPECTION[name] for name in (
        "numel", "is_floating_point", "is_complex", "allclose", "isclose", "equal", "all", "any", "nonzero", "unique",
        "count_nonzero", "bincount",
    )},
}  # fmt: skip
