"""What PyTorch calls the node of an operation: ``AddBackward0``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.ops.spec import Op

Namer = Callable[[Sequence[Any], Mapping[str, Any]], str]

_NAMES = {
    "inv": "LinalgInvEx", "det": "LinalgDet", "slogdet": "LinalgSlogdet", "solve": "LinalgSolveEx", "norm": "LinalgVectorNorm",
    "concatenate": "Cat", "broadcast_to": "Expand", "sum_to_size": "Sum.1", "transpose": "Permute", "swapaxes": "Transpose",
    "reshape": "View", "chain": "Mul", "to_float": "ToCopy", "positive": "Alias", "scatter_add": "Index",
    "binary_cross_entropy_with_logits": "BinaryCrossEntropyWithLogits", "square": "Pow", "log1p": "Log1P",
}  # fmt: skip
_PRODUCTS: dict[tuple[int, ...], str] = {(2, 2): "MmBackward0", (2, 1): "MvBackward0", (1, 1): "DotBackward0"}
_NUMBERED = {"sum": (0, 1), "mean": (0, 1), "prod": (0, 1), "max": (1, 0), "min": (1, 0)}


def naming(op: Op) -> str | Namer:
    """PyTorch's name of the nodes of an operation, or how it follows from the operands and static parameters."""
    known = _VARIANTS.get(op.name)
    if known is not None:
        return known
    own = op.backward
    if callable(own):
        return lambda arrays, static: numbered(own(arrays, static))
    return numbered(own or _NAMES.get(op.name) or camel(op.name))


def numbered(name: str) -> str:
    """``Sum.1`` as ``SumBackward1``; the first variant of a name needs no number."""
    if name == "CopySlices":
        return name
    name, _, variant = name.partition(".")
    return f"{name}Backward{variant or 0}"


def camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _reduction(name: str) -> Namer:
    everything, along = (f"{camel(name)}Backward{number}" for number in _NUMBERED[name])
    return lambda arrays, static: everything if static.get("axis") is None else along


def _matmul(arrays: Sequence[Any], static: Any) -> str:
    ranks = tuple([a.ndim for a in arrays])
    return _PRODUCTS.get(ranks, "SqueezeBackward4" if 1 in ranks else "UnsafeViewBackward0")


def _by_last(name: str) -> Namer:
    """Whether the last operand is a number or a tensor."""
    return lambda arrays, static: f"{name}Backward{int(isinstance(arrays[-1], np.ndarray))}"


def _getitem(arrays: Sequence[Any], static: Any) -> str:
    index = tuple(part for part in static["index"] if part is not ...) or static["index"]
    if any(hasattr(part, "array") for part in index):
        return "IndexBackward0"
    last = next((part for part in reversed(index) if part is not Ellipsis and part != (None, None, None)), None)
    if last is None:
        return "UnsqueezeBackward0" if None in index else "AliasBackward0"
    return "SelectBackward0" if isinstance(last, int) else "SliceBackward0"


_VARIANTS: dict[str, Namer] = {
    **{name: _reduction(name) for name in _NUMBERED},
    "matmul": _matmul,
    "getitem": _getitem,
    "sub": lambda arrays, static: "SubBackward0" if isinstance(arrays[0], np.ndarray) else "RsubBackward1",
    "div": lambda arrays, static: "DivBackward0" if isinstance(arrays[0], np.ndarray) else "MulBackward0",
    "pow": lambda arrays, static: (
        "PowBackward2" if not isinstance(arrays[0], np.ndarray) else f"PowBackward{int(isinstance(arrays[1], np.ndarray))}"
    ),
    **{name: _by_last(camel(name)) for name in ("remainder", "fmod", "lerp")},
    "clip": lambda arrays, static: "ClampBackward1" if not any(isinstance(a, np.ndarray) for a in arrays[1:]) else "ClampBackward0",
}
