"""The one table of type promotion.

In the language every number is a float of the program's precision; booleans stay booleans until they meet
a number, and integers exist only where an operation needs one (an index, a shape, an axis).
"""

from __future__ import annotations

import numpy as np

FLOAT = "float"
BOOL = "bool"
INT = "int"

_DTYPES: dict[str, np.dtype[np.generic]] = {"float64": np.dtype(np.float64), "float32": np.dtype(np.float32),
                                          "bool": np.dtype(np.bool_), "int64": np.dtype(np.int64)}  # fmt: skip


def numpy_dtype(kind: str, precision: str) -> np.dtype[np.generic]:
    """The NumPy dtype of a value of a kind ("float", "bool", "int") at a program's precision."""
    if kind == FLOAT:
        return _DTYPES[precision]
    return _DTYPES["bool"] if kind == BOOL else _DTYPES["int64"]


def kind_of(value: np.ndarray | np.generic) -> str:
    """The kind that raw data has in the language: booleans, and everything else as numbers."""
    return BOOL if value.dtype == np.bool_ else FLOAT
