"""The arrays of results: NumPy without warnings, its errors in PyTorch's words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.errors import GradcliError
from gradcli.ops.spec import Op
from gradcli.tensors.core.dtypes import FLOATS
from gradcli.tensors.core.modes import silent
from gradcli.tensors.dispatch.error_messages import explained

_silent: list[Callable[..., Any]] = []  # each is used by one call at a time
_DOUBLE = np.dtype(np.float64)


def computed(op: Op, arrays: Sequence[Any], static: Mapping[str, Any]) -> Any:
    """The result as NumPy has it, infinities and NaNs without a warning."""
    forward, first = op.forward, arrays[0]
    if op.on_scalars is not None and type(first) is np.ndarray and not first.ndim and first.dtype is _DOUBLE:
        forward, arrays = op.on_scalars, [a[()] if type(a) is np.ndarray else a for a in arrays]
    try:
        run = _silent.pop()
    except IndexError:
        run = silent()
    try:
        return run(forward, *arrays, **static)
    except GradcliError:
        raise
    except (ValueError, TypeError, IndexError, ArithmeticError) as error:
        raise explained(op, arrays, static, error) from None
    finally:
        _silent.append(run)


def as_array(op: Op, result: Any, dtype: np.dtype[Any] | None) -> np.ndarray:
    """The result as an array, of the dtype that the operands were promoted to, unless it is a truth or a place."""
    out = result if type(result) is np.ndarray else np.asarray(result)
    if out.dtype is dtype:
        return out
    floats = out.dtype.kind in FLOATS or (dtype is not None and dtype.kind not in FLOATS)
    if dtype is not None and out.dtype != dtype and floats and op.result not in ("bool", "int"):
        with np.errstate(all="ignore"):  # what is too large is infinite
            return out.astype(dtype)
    return out.astype(np.int64) if out.dtype == np.uint64 else out


def in_own_memory(out: np.ndarray, arrays: Sequence[Any]) -> np.ndarray:
    """The result in memory that no operand has, its entries in their order, so that it can be viewed in other shapes."""
    if not out.flags.c_contiguous:
        return np.ascontiguousarray(out)
    for array in arrays:
        if array is out or (out.base is not None and isinstance(array, np.ndarray) and np.may_share_memory(out, array)):
            return out.copy()
    return out
