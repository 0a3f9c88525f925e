"""What PyTorch says of operands that do not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, AxisError, GradcliError, PlaceError, ShapeError
from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.calling.pytorch_types import differing, misplaced, no_mask, refused, takes_mask, takes_one_dtype
from gradcli.ops.pytorch import unbroadcastable
from gradcli.ops.spec import Composite, Op
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.tensor import Tensor


def explained(op: Op, arrays: Sequence[Any], static: Mapping[str, Any], error: Exception) -> Exception:
    """The error of an operation that failed, in PyTorch's words where it has some."""
    shapes = [None if a is None else np.shape(a) for a in arrays]
    if isinstance(error, np.exceptions.AxisError) and error.axis is not None and error.ndim is not None:
        return in_range(AxisError(error.axis, error.ndim))
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


def refusal_of(record: Op | Composite, operands: Sequence[Any], static: Mapping[str, Any], library: str) -> Exception | None:
    """What PyTorch raises where a function fails, if its record says so."""
    if record.torch.refusal is None or library != TORCH or not operands or not isinstance(operands[0], Tensor):
        return None
    return record.torch.refusal(operands[0].array.shape, operands[0].dtype.tensor_type, **static)


class _ArgumentValueError(ArgumentError, ValueError):
    """A value that an argument may not have: PyTorch raises ValueError for some, RuntimeError for others."""


class _ShapeValueError(ShapeError, ValueError):
    """Shapes that do not fit, of which the same is true."""


def also_value_error(error: ArgumentError | ShapeError) -> GradcliError:
    """The same error as a ValueError, too, unless it is one of another of Python's types."""
    if isinstance(error, (TypeError, LookupError, ValueError)):
        return error
    same = (_ArgumentValueError if isinstance(error, ArgumentError) else _ShapeValueError)(error.message)
    same.__dict__.update(error.__dict__)
    return same


def in_range(error: AxisError) -> PlaceError:
    """An axis that does not exist, in PyTorch's words."""
    low = -max(error.ndim, 1)
    return PlaceError(f"Dimension out of range (expected to be in range of [{low}, {-low - 1}], but got {error.axis})")


_C_NAMES = {
    "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double",
    "uint8": "unsigned char", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long int",
}  # fmt: skip


def in_c(kind: np.dtype[Any]) -> str:
    """A dtype as C calls it."""
    return _C_NAMES.get(kind.name, kind.name)


def check_same_dtype(operands: Sequence[Any]) -> None:
    """Products do not promote. Raises RuntimeError, as PyTorch."""
    kinds = [str(array.dtype) for o in operands if isinstance(array := getattr(o, "array", None), np.ndarray)]
    if len(set(kinds)) > 1:
        first, second = (_C_NAMES.get(kind, kind) for kind in kinds[:2])
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {first} != {second}")


def check_taken(name: str, arguments: Sequence[Any]) -> None:
    """Refuse tensors of a dtype, of different dtypes or of a rank that a function of PyTorch's is not defined for."""
    name = name.removeprefix("Tensor.")
    arrays = [array for a in arguments if isinstance(array := getattr(a, "array", None), np.ndarray)]
    if len(arrays) > 1:
        first, second = arrays[0].dtype, arrays[1].dtype
        error = None
        if takes_mask(name) and second.kind != "b":
            error = no_mask(name, in_c(second))
        elif takes_one_dtype(name) and first != second:
            error = differing(name, in_c(first), in_c(second), *[dtypes.of_numpy(kind).in_messages for kind in (first, second)])
        if error is not None:
            raise error
    for array in arrays:
        error = misplaced(name, array.ndim)
        if error is not None:
            raise error
    if not arrays or any(array.dtype.kind in dtypes.FLOATS for array in arrays):
        return
    error = refused(name, dtypes.of_numpy(dtypes.result_type(arrays)).in_messages)
    if error is not None:
        raise error
