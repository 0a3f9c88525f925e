"""What holds of a tensor as an array: its shape and dtype, and its entries as Python's and NumPy's numbers, lists and arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.calling.inputs import unmasked
from gradcli.ops.operands import Operand
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.modes import device, state, warn_once

_TO_A_NUMBER = (
    "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\nConsider using tensor.detach() first."
)


def as_numbers(array: np.ndarray) -> Any:
    """The entries as Python's numbers, in nested lists; one alone as it is where there are no axes."""
    return (array if array.dtype.kind != "V" else array.astype(np.float32)).tolist()


class Entries(Operand):
    """What PyTorch, Python and NumPy ask of an array, or of the one number in it."""

    __slots__ = ()
    array: np.ndarray
    requires_grad: Any  # a property
    _tangents: Any  # at levels of forward mode
    name: str | None = None
    is_cpu = True
    is_sparse = is_quantized = is_nested = False

    # -- what they are ----------------------------------------------------------------------------------------

    @property
    def shape(self) -> dtypes.Size:
        return dtypes.Size(self.array.shape)

    @property
    def dtype(self) -> dtypes.dtype:
        return dtypes.of_numpy(self.array.dtype)

    @property
    def ndim(self) -> int:
        return self.array.ndim

    @property
    def device(self) -> device:
        return device("cpu")

    @property
    def is_cuda(self) -> bool:
        return False

    @property
    def itemsize(self) -> int:
        return self.array.itemsize

    @property
    def nbytes(self) -> int:
        return self.array.size * self.array.itemsize

    @property
    def names(self) -> tuple[None, ...]:
        return (None,) * self.array.ndim

    # -- as numbers --------------------------------------------------------------------------------------------

    def item(self) -> Any:
        if self.array.size != 1:
            raise RuntimeError(f"a Tensor with {self.array.size} elements cannot be converted to Scalar")
        return as_numbers(self.array.reshape(()))

    def tolist(self) -> Any:
        return as_numbers(self.array)

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The entries as an array that shares memory."""
        if self.requires_grad and state.recording and not force:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if self._tangents is not None and state.transforms and not force:
            raise RuntimeError(
                "Cannot access data pointer of Tensor that doesn't have storage: inside of torch.func.jvp or jacfwd, an array would not "
                "move as the tensor does"
            )
        if self.array.dtype.kind == "V":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        return array.astype(dtype) if dtype is not None and dtype != array.dtype else array.copy() if copy else array

    def __len__(self) -> int:
        if not self.array.ndim:
            raise TypeError("len() of a 0-d tensor")
        return len(self.array)

    def __contains__(self, value: Any) -> bool:
        if not isinstance(value, (Entries, bool, int, float, np.generic)):
            raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(value)}.")
        return bool((self.array == (value.array if isinstance(value, Entries) else value)).any())

    def _scalar(self) -> Any:
        if self.array.size != 1:
            if self.array.size:
                raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        return self.item()

    def __bool__(self) -> bool:
        return bool(self._scalar())

    def __float__(self) -> float:
        if self.requires_grad:
            warn_once(_TO_A_NUMBER)
        return float(self._single())

    def __int__(self) -> int:
        return int(self._single())

    def _single(self) -> Any:
        if self.array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def __index__(self) -> int:
        if self.array.size != 1 or self.array.dtype.kind not in "iub":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec) if self.array.ndim else format(self.item(), spec)


# -- Nested lists, numbers, arrays and tensors as one array, whose dtype is PyTorch's choice -------


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
    """Return whether the first entry is NumPy's, which knows its dtype."""
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return isinstance(data, (np.generic, np.ndarray))


def _as_lists(data: Any) -> Any:
    """Nested sequences with tensors among them as lists of numbers."""
    if isinstance(data, Entries):
        return data.tolist()
    return [_as_lists(part) for part in data] if isinstance(data, (list, tuple, range)) else data


def legacy(data: Any, more: Any) -> np.ndarray:
    """Return what ``torch.Tensor(...)`` makes: the entries of a sequence in the default dtype, or an array of these extents."""
    if isinstance(data, int) and not isinstance(data, bool):
        return np.zeros((data,) if isinstance(more, bool) else (data, more), default_float())
    return np.array(array_of(data, dtypes.get_default_dtype()))
