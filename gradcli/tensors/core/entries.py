"""What holds of a tensor as an array: its shape and dtype, and its entries as Python's and NumPy's numbers, lists and arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.graph.nodes import Operand
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.device import device
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.user_warnings import warn_once

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
