"""A kind of expression that people train and fit with: its text, its data, and the same as its
users write it for PyTorch and JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Data = Callable[
    [Any, int], Mapping[str, Any]
]  # from NumPy's random generator and a number of entries
Written = Callable[
    ..., Any
]  # of a library's NumPy-like names, the room of its functions, and the arrays by name


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One expression.

    text    what gradcli reads
    data    arrays by name: so many entries in all of them, or in the largest, or in the largest
            array on the way
    torch   the same of torch, torch.nn.functional and tensors
    jax     the same of jax.numpy, jax and arrays; it is given where PyTorch's form does not do
    wrt     names that get gradients
    """

    key: str
    text: str
    data: Data
    torch: Written
    jax: Written
    wrt: tuple[str, ...]
    dtype: Literal["float64", "float32"] = "float64"

    @property
    def tolerance(self) -> float:
        """How much answers may differ, relative to the entry or to the mean size of its array."""
        return 1e-9 if self.dtype == "float64" else 1e-4

    def arrays(self, entries: int) -> dict[str, Any]:
        """The data, in the expression's precision; whole numbers stay what they are."""
        import numpy as np

        found = self.data(np.random.default_rng(26), entries)
        return {
            name: array if array.dtype.kind == "i" else np.asarray(array, self.dtype)
            for name, array in found.items()
        }
