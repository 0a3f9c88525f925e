"""Nested lists, numbers, arrays and tensors as one array, whose dtype is PyTorch's choice."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.calling.inputs import unmasked
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.entries import Entries


def default_float() -> np.dtype[Any]:
    """NumPy's dtype of floats that say nothing else."""
    return dtypes.get_default_dtype().numpy


def array_of(data: Any, dtype: Any) -> np.ndarray:
    """An array of nested lists, numbers, arrays or tensors; Python floats have the default dtype. What is an array may be shared."""
    data = unmasked(data, "the array")
    if isinstance(data, Entries):
        array = data.array
    elif isinstance(data, (np.ndarray, np.generic)):
        array = np.asarray(data)
    else:
        try:
            array = np.array(_as_lists(data))
        except ValueError:
            raise _ragged(data) from None
        if (array.dtype.kind in dtypes.FLOATS and not _holds_numpy(data)) or (not array.size and array.dtype.kind not in "iub"):
            with np.errstate(all="ignore"):  # what is too large for a dtype is infinite
                array = np.array(_as_lists(data), default_float() if dtype is None else dtypes.as_numpy(dtype))
        elif array.dtype.kind in "iu" and not _holds_numpy(data):
            array = array.astype(np.int64)
    if array.dtype.kind not in "fiub" and not dtypes.is_bfloat16(array.dtype):
        raise _no_numbers(data, array.dtype)
    if dtype is None:
        dtypes.of_numpy(array.dtype)
        return array
    with np.errstate(all="ignore"):
        return array.astype(dtypes.as_numpy(dtype), copy=False)


def _ragged(data: Any) -> Exception:
    """The error for lists that are not of one length at every depth."""
    level = [data]
    while all(isinstance(part, (list, tuple)) for part in level):
        lengths = sorted(set(map(len, level)))
        if len(lengths) > 1:
            return ValueError(f"nested lists are of the lengths {lengths} at one depth: expected sequence of length {lengths[0]}")
        level = [part for row in level for part in row]
    return TypeError("nested lists hold numbers or lists at one depth, not both")


def _no_numbers(data: Any, dtype: np.dtype[Any]) -> Exception:
    """The error for entries that are no numbers, which the first such one says."""
    if isinstance(data, (list, tuple)):
        parts = [part for part in data if isinstance(part, str) or not isinstance(part, (bool, int, float, np.generic))]
        return _no_numbers(parts[0] if parts else 2**64, dtype)
    if isinstance(data, int):
        return ValueError("Overflow when unpacking long long")
    if isinstance(data, (str, bytes, np.ndarray, complex)):
        kind = dtype if isinstance(data, np.ndarray) else type(data).__name__
        return TypeError(f"tensors hold real numbers and booleans, not {kind}")
    return RuntimeError(f"Could not infer dtype of {type(data).__name__}")


def _holds_numpy(data: Any) -> bool:
    """Whether the first entry is NumPy's, which knows its dtype."""
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return isinstance(data, (np.generic, np.ndarray))


def _as_lists(data: Any) -> Any:
    """Nested sequences with tensors among them as lists of numbers."""
    if isinstance(data, Entries):
        return data.tolist()
    return [_as_lists(part) for part in data] if isinstance(data, (list, tuple, range)) else data


def legacy(data: Any, more: Any) -> np.ndarray:
    """What ``torch.Tensor(...)`` makes: the entries of a sequence in the default dtype, or an array of these extents."""
    if isinstance(data, int) and not isinstance(data, bool):
        return np.zeros((data,) if isinstance(more, bool) else (data, more), default_float())
    return np.array(array_of(data, dtypes.get_default_dtype()))
