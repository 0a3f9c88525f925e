"""Static arguments of operations: axes, shapes, numbers and flags, checked where they are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, TypeMismatchError
from gradcli.ops.reductions import AXES
from gradcli.ops.spec import Op

_ONE_AXIS = frozenset({"cumsum", "cumprod", "stack", "concatenate", "argmax", "argmin"})


def parameter(op: Op, key: str, value: Any) -> Any:
    """A static argument in the form that the operation's functions take. Raises ArgumentError."""
    if isinstance(value, list):
        value = tuple(value)
    if isinstance(value, np.ndarray):
        value = _flat(key, value)
    if isinstance(value, str) and key not in ("reduction", "ord"):
        raise TypeMismatchError(f"{key} must be a number, not the string {value!r}")
    check: Callable[[Op, str, Any], Any] = _CHECKS.get(key, _number)
    return check(op, key, value)


def _flat(key: str, array: np.ndarray) -> tuple[Any, ...]:
    if array.ndim > 1:
        raise ArgumentError(f"{key} cannot be an array of {array.ndim} axes")
    return tuple(array.reshape(-1).tolist())


def static_parameters(op: Op, operands: list[Any], given: dict[str, Any]) -> dict[str, Any]:
    """All static parameters of a call, the given ones checked against the operands."""
    static = dict(op.static)
    for key, value in given.items():
        static[key] = parameter(op, key, value)
    if set(AXES) <= set(op.static) and operands[0].ndim == 0 and static["axis"] in (0, -1, (0,), (-1,)):
        static["axis"] = None  # a number has one entry, along any axis
    if op.name == "norm":
        _check_norm(operands[0].ndim, static)
    return static


def _whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _axis(op: Op, key: str, value: Any) -> Any:
    if value is None and op.static[key] is None:
        return None
    parts = value if isinstance(value, tuple) else (value,)
    if not all(_whole(part) for part in parts):
        raise ArgumentError(f"{key} must be a whole number, not {value!r}")
    if isinstance(value, tuple) and op.name in _ONE_AXIS:
        raise ArgumentError(f"{op.name} takes one axis")
    return value


def _axes(op: Op, key: str, value: Any) -> Any:
    if value is not None and not (isinstance(value, tuple) and all(_whole(part) for part in value)):
        raise ArgumentError(f"{key} must be a tuple of whole numbers, not {value!r}")
    return value


def _integer(op: Op, key: str, value: Any) -> int:
    if not _whole(value) or (key == "n" and value < 0):
        raise ArgumentError(f"{key} must be a whole number{' of at least 0' if key == 'n' else ''}, not {value!r}")
    return int(value)


def _shape(op: Op, key: str, value: Any) -> tuple[int, ...]:
    extents = value if isinstance(value, tuple) else (value,)
    if not all(_whole(part) for part in extents):
        raise ArgumentError(f"a shape consists of whole numbers, not {value!r}")
    return tuple(int(part) for part in extents)


def _flag(op: Op, key: str, value: Any) -> bool:
    if not isinstance(value, (bool, int)):
        raise ArgumentError(f"{key} must be True or False, not {value!r}")
    return bool(value)


def _text(op: Op, key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeMismatchError(f"{key} must be a string, not {value!r}")
    return value


def _order(op: Op, key: str, value: Any) -> Any:
    if value is None or value == "fro":
        return None
    return _number(op, key, value)


def _number(op: Op, key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentError(f"{key} must be a number, not {value!r}")
    return value


_CHECKS: dict[str, Callable[[Op, str, Any], Any]] = {
    "axis": _axis,
    "axes": _axes,
    "axis1": _integer,
    "axis2": _integer,
    "offset": _integer,
    "n": _integer,
    "shape": _shape,
    "keepdims": _flag,
    "reduction": _text,
    "ord": _order,
}


def _check_norm(ndim: int, static: dict[str, Any]) -> None:
    matrix = (ndim == 2 and static["axis"] is None) or (isinstance(static["axis"], tuple) and len(static["axis"]) == 2)
    if matrix and static["ord"] is not None:
        raise ArgumentError(
            "norm of a matrix takes no ord here but 'fro'", help="norm(ravel(A), ord) treats the entries as a vector"
        )
