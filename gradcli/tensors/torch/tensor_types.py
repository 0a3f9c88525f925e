"""``torch.FloatTensor`` and its kin: constructors of one dtype, which tensors of it are instances of."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.tensors.core import dtypes
from gradcli.tensors.core.nested_lists import array_of
from gradcli.tensors.core.tensor import Tensor


class _TensorType(type):
    """A constructor that tells its tensors."""

    dtype: dtypes.dtype

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Tensor) and x.dtype is cls.dtype

    def __call__(cls, *given: Any) -> Any:
        kind = cls.dtype.numpy
        if not given:
            return Tensor(np.empty(0, kind))
        if all(isinstance(n, int) and not isinstance(n, bool) for n in given) or isinstance(given[0], dtypes.Size):
            return Tensor(np.zeros(given[0] if isinstance(given[0], dtypes.Size) else given, kind))
        if len(given) > 1:
            raise TypeError(f"{cls.__name__}() takes extents, or one sequence of entries")
        return Tensor(np.array(array_of(given[0], cls.dtype)))

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


TYPES: dict[str, Any] = {
    kind.tensor_type: _TensorType(kind.tensor_type, (), {"dtype": kind})
    for kind in dict.fromkeys(dtypes.NAMES.values())
    if kind.name not in ("uint16", "uint32", "uint64")  # of which PyTorch has none
}
