"""What PyTorch says of operands that do not fit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from gradcli.errors import AxisError, GradcliError
from gradcli.ops.spec import Op


def explained(op: Op, arrays: Sequence[Any], static: Mapping[str, Any], error: Exception) -> Exception:
    """The error of an operation that failed, in PyTorch's words where it has some."""
    shapes = [None if a is None else np.shape(a) for a in arrays]
    if op.elementwise:
        said = _unbroadcastable([s for s in shapes if s is not None])
        if said:
            return RuntimeError(said)
    if op.name == "matmul":
        return RuntimeError(_unmultipliable(*shapes))
    said = _IN_WORDS[op.name](shapes, static) if op.name in _IN_WORDS else None
    if said:
        return RuntimeError(said)
    try:
        if op.shape is not None:
            op.shape(*shapes, **static)
    except GradcliError as better:
        return better
    except Exception:  # the shape rule knows no more than the operation
        pass
    return (IndexError if isinstance(error, IndexError) else RuntimeError)(f"{op.name}: {error}")


def in_range(error: AxisError) -> IndexError:
    """An axis that does not exist, in PyTorch's words."""
    low = -max(error.ndim, 1)
    return IndexError(f"Dimension out of range (expected to be in range of [{low}, {-low - 1}], but got {error.axis})")


def _unreshapable(shapes: Sequence[Any], static: Mapping[str, Any]) -> str:
    wanted = list(static["shape"]) if isinstance(static["shape"], tuple) else [static["shape"]]
    if wanted.count(-1) > 1:
        return "only one dimension can be inferred"
    return f"shape '{wanted}' is invalid for input of size {math.prod(shapes[0])}"


def _unexpandable(shapes: Sequence[Any], static: Mapping[str, Any]) -> str | None:
    have, wanted = list(shapes[0]), list(static["shape"])
    for back in range(1, min(len(have), len(wanted)) + 1):
        if have[-back] not in (1, wanted[-back]):
            return (
                f"The expanded size of the tensor ({wanted[-back]}) must match the existing size ({have[-back]}) at non-singleton "
                f"dimension {len(wanted) - back}.  Target sizes: {wanted}.  Tensor sizes: {have}"
            )
    return None


def _uncatenable(shapes: Sequence[Any], static: Mapping[str, Any]) -> str | None:
    axis = static.get("axis") or 0
    for number, shape in enumerate(shapes):
        if len(shape) != len(shapes[0]):
            return f"Tensors must have same number of dimensions: got {len(shapes[0])} and {len(shape)}"
        for i, (n, m) in enumerate(zip(shapes[0], shape, strict=True)):
            if n != m and i != axis % max(len(shape), 1):
                return (
                    f"Sizes of tensors must match except in dimension {axis}. Expected size {n} but got size {m} for tensor number "
                    f"{number} in the list."
                )
    return None


def _unstackable(shapes: Sequence[Any], static: Mapping[str, Any]) -> str | None:
    for number, shape in enumerate(shapes):
        if shape != shapes[0]:
            return f"stack expects each tensor to be equal size, but got {list(shapes[0])} at entry 0 and {list(shape)} at entry {number}"
    return None


_IN_WORDS = {"reshape": _unreshapable, "broadcast_to": _unexpandable, "concatenate": _uncatenable, "stack": _unstackable}


def _unbroadcastable(shapes: Sequence[tuple[int, ...]]) -> str | None:
    for first, second in pairwise(shapes):
        ndim = max(len(first), len(second))
        pairs = zip((1,) * (ndim - len(first)) + first, (1,) * (ndim - len(second)) + second, strict=True)
        for axis, (n, m) in reversed(list(enumerate(pairs))):
            if n != m and 1 not in (n, m):
                return f"The size of tensor a ({n}) must match the size of tensor b ({m}) at non-singleton dimension {axis}"
    return None


def _unmultipliable(x: Any, y: Any) -> str:
    if not x or not y:
        return f"both arguments to matmul need to be at least 1D, but they are {len(x)}D and {len(y)}D"
    if len(x) == len(y) == 1:
        return f"inconsistent tensor size, expected tensor [{x[0]}] and src [{y[0]}] to have the same number of elements"
    if len(x) <= 2 and len(y) == 2:
        rows = f"{x[0]}x{x[1]}" if len(x) == 2 else f"1x{x[0]}"
        return f"mat1 and mat2 shapes cannot be multiplied ({rows} and {y[0]}x{y[1]})"
    if len(y) > 2 and len(x) > 1 and x[-1] != y[-2]:
        return f"Expected size for first two dimensions of batch2 tensor to be: [{y[0]}, {x[-1]}] but got: [{y[0]}, {y[-2]}]."
    if len(y) > 1 and len(x) > 1:
        said = _unbroadcastable([x[:-2], y[:-2]])
        if said:
            return said
    if len(y) == 1:
        return f"size mismatch, got input ({x[0]}), mat ({'x'.join(map(str, x))}), vec ({y[0]})"
    return f"matmul: batches of shapes {list(x)} and {list(y)} do not fit"


_C_NAMES = {"float32": "float", "float64": "double", "int64": "long int"}


def check_same_dtype(operands: Sequence[Any]) -> None:
    """Products do not promote. Raises RuntimeError, as PyTorch."""
    kinds = [str(array.dtype) for o in operands if isinstance(array := getattr(o, "array", None), np.ndarray)]
    if len(set(kinds)) > 1:
        first, second = (_C_NAMES.get(kind, kind) for kind in kinds[:2])
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {first} != {second}")
