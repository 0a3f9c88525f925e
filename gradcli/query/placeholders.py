"""What stands for values that are not there yet: their shape and dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import InputTypeError


def placeholder(name: str, spec: Any, of_floats: np.dtype[Any]) -> np.ndarray | None:
    """An array of zeros, which takes no memory, of the shape and dtype that are said; None for what is a value.

    A tuple of whole numbers is a shape, and what has a ``shape`` and a ``dtype`` and no entries says both, as jax.ShapeDtypeStruct
    does; floats are of the one dtype that the function has. Raises InputTypeError for what is no shape.
    """
    shape: Any
    if hasattr(spec, "shape") and hasattr(spec, "dtype"):
        if hasattr(spec, "__array__"):
            return None
        shape, dtype = spec.shape, _dtype_of(name, spec.dtype)
    elif isinstance(spec, tuple):
        shape, dtype = spec, of_floats
    else:
        return None
    if not isinstance(shape, tuple) or not all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n >= 0 for n in shape):
        shown = f"the shape of '{name}' must be whole numbers from 0, not {shape!r}"
        raise InputTypeError(shown, help="for a value, write a number, a list or an array")
    try:
        return np.broadcast_to(np.zeros((), of_floats if dtype.kind == "f" else dtype), shape)
    except ValueError:
        raise InputTypeError(f"the shape of '{name}' is {shape}: there is no array of so many entries or axes") from None


def _dtype_of(name: str, dtype: Any) -> np.dtype[Any]:
    try:
        found: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        raise InputTypeError(f"the dtype of '{name}' must be one of NumPy's, not {dtype!r}") from None
    if found.kind not in "fiub":
        raise InputTypeError(f"the dtype of '{name}' must be real numbers or booleans, not {found}")
    return found
