"""PyTorch's functions by their names: those of the catalogue, and the few that are about tensors themselves."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError
from gradcli.ops.prefixes import TORCH
from gradcli.ops.spec import find
from gradcli.tensors import creation, dtypes
from gradcli.tensors.apply import apply
from gradcli.tensors.host import call, known, missing
from gradcli.tensors.methods import PLAIN
from gradcli.tensors.tensor import Tensor


@cache
def function(name: str, where: str = "torch") -> Callable[..., Any]:
    """A function of the catalogue under PyTorch's name. Raises AttributeError if there is none."""
    found = known(name)
    if found is None:
        raise AttributeError(missing(name, where))
    record, _ = found

    def run(*arguments: Any, **keywords: Any) -> Any:
        return call(name, TORCH, arguments, keywords)

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
    return apply(find("einsum"), [creation.as_tensor(o) for o in operands], {"subscripts": equation})


def _plain(name: str) -> Callable[..., Any]:
    return lambda x, *arguments, **keywords: PLAIN[name](x, *arguments, **keywords)


def is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)


def result_type(*operands: Any) -> dtypes.dtype:
    return dtypes.of_numpy(dtypes.result_type([o.array if isinstance(o, Tensor) else o for o in operands]))


def broadcast_shapes(*shapes: Any) -> dtypes.Size:
    return dtypes.Size(np.broadcast_shapes(*(s if isinstance(s, (tuple, list)) else (s,) for s in shapes)))


OWN: dict[str, Callable[..., Any]] = {
    "einsum": einsum, "is_tensor": is_tensor, "result_type": result_type, "broadcast_shapes": broadcast_shapes,
    **{name: _plain(name) for name in (
        "numel", "is_floating_point", "is_complex", "clone", "allclose", "isclose", "equal", "all", "any", "nonzero", "unique",
        "count_nonzero", "bincount",
    )},
}  # fmt: skip
