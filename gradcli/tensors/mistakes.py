"""What PyTorch says of operands that do not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.errors import GradcliError
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
    try:
        if op.shape is not None:
            op.shape(*shapes, **static)
    except GradcliError as better:
        return better
    except Exception:  # the shape rule knows no more than the operation
        pass
    return (IndexError if isinstance(error, IndexError) else RuntimeError)(f"{op.name}: {error}")


def _unbroadcastable(shapes: Sequence[tuple[int, ...]]) -> str | None:
    for first, second in zip(shapes, shapes[1:], strict=False):
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
    if len(y) == 1:
        return f"size mismatch, got input ({x[0]}), mat ({'x'.join(map(str, x))}), vec ({y[0]})"
    return f"matmul: batches of shapes {list(x)} and {list(y)} do not fit"
