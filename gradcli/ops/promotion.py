"""The one table of type promotion.

In the language every number is a float of the program's precision; booleans stay booleans until they meet
a number, and integers exist only where an operation needs one (an index, a shape, an axis).
"""

from __future__ import annotations

import numpy as np

FLOAT = "float"
BOOL = "bool"
INT = "int"

_DTYPES = {"float64": np.dtype(np.float64), "float32": np.dtype(np.float32)}


def numpy_dtype(kind: str, precision: str) -> np.dtype[np.generic]:
    """The NumPy dtype of a value of a kind ("float", "bool", "int") at a program's precision."""
    if kind == FLOAT:
        return _DTYPES[precision]
    return np.dtype(np.bool_) if kind == BOOL else np.dtype(np.int64)


def kind_of(value: np.ndarray | np.generic) -> str:
    """The kind that raw data has in the language: booleans, and everything else as numbers."""
    return BOOL if value.dtype == np.bool_ else FLOAT
