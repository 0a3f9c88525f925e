"""Methods that arrays of NumPy's have."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.extended import LONG_DOUBLE, Deferred


class Methods(Deferred):
    """As what is written down."""

    kind: str
    what: str
    held: Any
    numbers: Any

    @property
    def dtype(self) -> Any:
        """Of what it is as NumPy's own."""
        raise NotImplementedError

    def reduced(self, what: str, axis: Any, keepdims: bool, kind: str) -> Any:
        """What one number of many is along axes."""
        raise NotImplementedError

    def sum(self, axis: Any = None, keepdims: bool = False, **_: Any) -> Any:
        return self.reduced("sum", axis, keepdims, "pair" if self.kind == "pair" else "rough")

    def max(self, axis: Any = None, keepdims: bool = False, **_: Any) -> Any:
        return self.reduced("max", axis, keepdims, self.kind)

    def min(self, axis: Any = None, keepdims: bool = False, **_: Any) -> Any:
        return self.reduced("min", axis, keepdims, self.kind)

    def any(self, axis: Any = None, keepdims: bool = False, **_: Any) -> Any:
        return self._truths().max(axis, keepdims)

    def all(self, axis: Any = None, keepdims: bool = False, **_: Any) -> Any:
        return self._truths().min(axis, keepdims)

    def _truths(self) -> Any:
        return self if self.kind == "truth" else np.not_equal(self, 0)

    def astype(self, dtype: Any, **_: Any) -> Any:
        dtype = np.dtype(dtype)
        if dtype == LONG_DOUBLE:  # which may be that of doubles, too
            return self._widened()
        if dtype == self.dtype:
            return self
        return self.rough() if dtype == np.float64 else np.asarray(self).astype(dtype)

    def _widened(self) -> Any:
        if self.kind == "pair":
            return self
        if self.what == "number":
            return self.numbers.filled(self.held[0], self.held[1], self.shape, "pair")
        return self.numbers.node("pair", self.shape, "widen", (self,))

    def copy(self) -> Any:
        return self

    def reshape(self, *shape: Any) -> Any:
        return np.reshape(self, shape[0] if len(shape) == 1 else shape)

    def ravel(self) -> Any:
        return np.reshape(self, -1)

    def transpose(self, *axes: Any) -> Any:
        return np.transpose(self, axes or None)

    def swapaxes(self, a: int, b: int) -> Any:
        return np.swapaxes(self, a, b)

    def prod(self, axis: Any = None, keepdims: bool = False, **_: Any) -> Any:
        return np.asarray(self).prod(axis=axis, keepdims=keepdims)
