"""What PyTorch says of operands that do not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.errors import AxisError, GradcliError
from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.pytorch import unbroadcastable
from gradcli.ops.spec import Composite, Op
from gradcli.tensors.core.tensor import Tensor


def explained(op: Op, arrays: Sequence[Any], static: Mapping[str, Any], error: Exception) -> Exception:
    """The error of an operation that failed, in PyTorch's words where it has some."""
    shapes = [None if a is None else np.shape(a) for a in arrays]
    if op.elementwise:
        said = unbroadcastable([s for s in shapes if s is not None])
        if said:
            return RuntimeError(said)
    said = None if op.torch.misfit is None else op.torch.misfit(shapes, static)
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


def refused(record: Op | Composite, operands: Sequence[Any], static: Mapping[str, Any], library: str) -> Exception | None:
    """What PyTorch raises where a function fails, if its record says so."""
    if record.torch.refusal is None or library != TORCH or not operands or not isinstance(operands[0], Tensor):
        return None
    return record.torch.refusal(operands[0].array.shape, operands[0].dtype.tensor_type, **static)


def in_range(error: AxisError) -> IndexError:
    """An axis that does not exist, in PyTorch's words."""
    low = -max(error.ndim, 1)
    return IndexError(f"Dimension out of range (expected to be in range of [{low}, {-low - 1}], but got {error.axis})")


_C_NAMES = {"float32": "float", "float64": "double", "int64": "long int"}


def check_same_dtype(operands: Sequence[Any]) -> None:
    """Products do not promote. Raises RuntimeError, as PyTorch."""
    kinds = [str(array.dtype) for o in operands if isinstance(array := getattr(o, "array", None), np.ndarray)]
    if len(set(kinds)) > 1:
        first, second = (_C_NAMES.get(kind, kind) for kind in kinds[:2])
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {first} != {second}")
