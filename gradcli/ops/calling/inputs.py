"""Numbers that people hand over, as arrays: refused by name where something of it would be lost."""

from __future__ import annotations

import math
import sys
from functools import cache
from typing import Any

import numpy as np

from gradcli.errors import InputTypeError

# -- The one table of type promotion --------------------------------------------------------------
#
# In the language every number is a float of the program's precision; booleans stay booleans until
# they meet a number, and integers exist only where an operation needs one (an index, a shape, an
# axis).


FLOAT = "float"
BOOL = "bool"
INT = "int"


@cache
def numpy_dtype(kind: str, precision: str) -> np.dtype[np.generic]:
    """Return the NumPy dtype of a kind ("float", "bool", "int") at a program's precision."""
    return np.dtype({FLOAT: precision, BOOL: "bool", INT: "int64"}[kind])


def kind_of(value: np.ndarray | np.generic) -> str:
    """Return the kind of raw data in the language: booleans, and everything else as numbers."""
    return BOOL if value.dtype.kind == "b" else FLOAT


# Memory that is returned to the system costs a page fault for each of its pages the next time: as
# much as what is computed there. glibc returns less of it once an array has been let go whose size
# is the most that it adapts to, 32 MB. No page of this one is touched.
np.empty((1 << 25) - (1 << 16), np.uint8)

_LOST = (str, bytes, complex, type(None), np.datetime64, np.timedelta64)


def unmask(value: Any, what: str) -> Any:
    """Return the value without a mask.

    Masked entries would be numbers again, so they are refused.
    """
    masked = sys.modules.get("numpy.ma")
    if masked is None or not isinstance(value, masked.MaskedArray):
        return value
    if np.any(masked.getmaskarray(value)):
        raise InputTypeError(
            f"{what} has masked entries, which would count as numbers",
            help="x.filled(0.0) puts a number there, x.compressed() leaves them out",
        )
    return value.data


def numbers(value: Any, what: str, *, booleans: bool = False, copy: bool = True) -> np.ndarray:
    """Return an array of real numbers, a copy of its own with ``copy``.

    ``what`` is "the value of 'x'" and the like, for errors.
    """
    if getattr(value, "requires_grad", False) is True:
        raise InputTypeError(f"{what} is a tensor that requires grad", help="write x.detach()")
    value = unmask(value, what)
    if isinstance(value, (list, tuple)):
        _refuse_parts(value, what)
    try:
        array = np.array(value) if copy else np.asarray(value)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise InputTypeError(f"{what} cannot be made an array: {error}") from None
        help = "fill the shorter ones, or give them names of their own"
        raise InputTypeError(f"{what} is no array: its rows differ in length", help=help) from None
    except (TypeError, RuntimeError, OverflowError) as error:
        raise InputTypeError(f"{what} cannot be made an array: {error}") from None
    if array.dtype.kind == "O":
        array = _floats(array, what)
    elif array.dtype.kind == "f" and array.dtype.itemsize > _DOUBLE.itemsize:
        array = _shorten(array, what)
    if array.dtype.kind not in ("fiub" if booleans else "fiu"):
        raise InputTypeError(
            f"{what} must be real numbers, not {array.dtype}", help=_HELPS.get(array.dtype.kind)
        )
    return array


_DOUBLE = np.dtype(np.float64)
_HELPS = {
    "U": "write float(x)", "S": "write float(x)", "c": "give real and imaginary parts apart: "
    "x.real, x.imag",
    "b": "write x.astype(float) for zeros and ones",
}


def _refuse_parts(value: Any, what: str) -> None:
    """Masked arrays and tensors that require grad in nested lists."""
    waiting = [value]
    while waiting:
        for part in waiting.pop():
            if isinstance(part, (list, tuple)):
                waiting.append(part)
            elif not isinstance(part, (float, int)):
                unmask(part, what)
                if getattr(part, "requires_grad", False) is True:
                    raise InputTypeError(
                        f"{what} has a tensor that requires grad in it", help="write x.detach()"
                    )


def _shorten(array: np.ndarray, what: str) -> np.ndarray:
    """Long doubles at their nearest floats."""
    with np.errstate(all="ignore"):
        found = array.astype(_DOUBLE)
    lost = np.isinf(found) & np.isfinite(array)
    if lost.any():
        raise InputTypeError(
            f"{what} must be real numbers: {array[lost].flat[0]!s} is too large for a float"
        )
    return found


def _floats(array: np.ndarray, what: str) -> np.ndarray:
    """Return floats of anything that ``float`` takes.

    This is for fractions, decimals, numbers of sympy and mpmath, and large whole numbers.
    """
    found = []
    for entry in array.ravel():
        try:
            if isinstance(entry, _LOST):
                raise TypeError
            number = float(entry)
            if (number == 0 or math.isinf(number)) and entry != number:
                raise OverflowError
            found.append(number)
        except (TypeError, ValueError, OverflowError, RuntimeError) as error:
            reason = (
                "is too large for a float, or too small"
                if isinstance(error, OverflowError)
                else "is no real number"
            )
            shown = (
                type(entry).__name__
                if not isinstance(entry, (int, str)) or len(str(entry)) > 40
                else repr(entry)
            )
            raise InputTypeError(f"{what} must be real numbers: {shown} {reason}") from None
    return np.array(found).reshape(array.shape)
