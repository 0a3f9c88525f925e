"""Static arguments of operations: axes, shapes, numbers and flags, checked where they are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.errors import MistypedArgumentError, TypeMismatchError
from gradcli.ops.arrays.shapes import StaticArray
from gradcli.ops.spec import Composite, Op

Check = Callable[[Any, str, Any], Any]


def parameter(record: Op | Composite, key: str, value: Any) -> Any:
    """A static argument in the form that the function's rules take. Raises ArgumentError, TypeMismatchError for a text that is none."""
    if isinstance(value, (list, tuple)):
        value = _tuples(value)
    if isinstance(value, np.ndarray):
        value = StaticArray(value) if key in _ARRAYS else _flat(key, value)
    check = _check_of(key, record.static.get(key))
    if isinstance(value, str) and check not in _OF_TEXTS:
        raise TypeMismatchError(f"{key} must be a number, not the string {value!r}")
    return check(record, key, value)


def takes_tables(key: str) -> bool:
    """Whether a parameter may be an array: a number for each axis, or a pair for each."""
    return key in _TABLES


def _check_of(key: str, default: Any) -> Check:
    """What a parameter takes: by its name, else by its default."""
    check = _CHECKS.get(key)
    if check is not None:
        return check
    if isinstance(default, bool):
        return _flag
    if isinstance(default, str):
        return _text
    if isinstance(default, float) or key in _QUANTITIES:
        return _quantity
    return _any


_ARRAYS = frozenset({"mask"})  # parameters that are arrays
_TABLES = frozenset({"pad_width", "constant_values", "end_values"})  # whose arrays have a row for each axis
_QUANTITIES = frozenset((
    "alpha", "atol", "beta", "constant_values", "correction", "ddof", "delta", "divisor_override", "dropout_p", "end_values", "eps",
    "label_smoothing", "lambd", "margin", "max_norm", "max_val", "maxnorm", "min_val", "momentum", "nan",
    "negative_slope", "neginf", "norm_type", "ord", "p", "period", "posinf", "rcond", "rtol", "scale", "scale_factor", "threshold",
    "v", "value",
))  # fmt: skip


def is_quantity(record: Op | Composite, key: str) -> bool:
    """Whether a static parameter is a number by which one could differentiate, if it were an operand: no axis, extent, flag or mask."""
    default = record.static.get(key)
    if isinstance(default, (bool, str)) and key != "ord":
        return False
    return isinstance(default, float) or (key in _QUANTITIES and key not in _CHECKS) or key == "ord"


def _tuples(value: Any) -> Any:
    return tuple(_tuples(part) for part in value) if isinstance(value, (list, tuple)) else value


def _any(record: Op | Composite, key: str, value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_any(record, key, part) for part in value)
    if isinstance(value, np.ndarray):
        return StaticArray(value)
    if value is None or value is ... or isinstance(value, (bool, int, float, str, StaticArray)):
        return value
    raise MistypedArgumentError(f"{key} must be a number, not {value!r}")


def _flat(key: str, array: np.ndarray) -> Any:
    if array.ndim > (2 if key in _TABLES else 1):
        raise MistypedArgumentError(f"{key} cannot be an array of {array.ndim} axes")
    return _tuples(array.tolist())


def static_parameters(record: Op | Composite, operands: list[Any], given: dict[str, Any]) -> dict[str, Any]:
    """All static parameters of a call, the given ones checked against the operands."""
    static = dict(record.static)
    for key, value in given.items():
        static[key] = parameter(record, key, value)
    return static


def _whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _axis(op: Any, key: str, value: Any) -> Any:
    if value is None and (op.static[key] is None or op.variadic):  # arrays in a row are joined as they stand
        return None
    parts = value if isinstance(value, tuple) else (value,)
    if not all(_whole(part) for part in parts):
        raise MistypedArgumentError(f"{key} must be a whole number, not {value!r}")
    return value


def _axes(op: Any, key: str, value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_axes(op, key, part) for part in value)
    if value is not None and not _whole(value):
        raise MistypedArgumentError(f"{key} must be whole numbers, not {value!r}")
    return value


def _integers(op: Any, key: str, value: Any) -> Any:
    if not all(_whole(part) for part in (value if isinstance(value, tuple) else (value,))):
        raise MistypedArgumentError(f"{key} must be a whole number or a list of them, not {value!r}")
    return value


def _integer(op: Any, key: str, value: Any) -> Any:
    if isinstance(op.static[key], float):
        return _number(op, key, value)
    if not _whole(value) or (key == "n" and value < 0):
        raise MistypedArgumentError(f"{key} must be a whole number{' of at least 0' if key == 'n' else ''}, not {value!r}")
    return int(value)


def _shape(op: Any, key: str, value: Any) -> tuple[int, ...]:
    extents = value if isinstance(value, tuple) else (value,)
    if not all(_whole(part) for part in extents):
        raise MistypedArgumentError(f"a shape consists of whole numbers, not {value!r}")
    return tuple(int(part) for part in extents)


def _flag(op: Any, key: str, value: Any) -> bool:
    if not isinstance(value, (bool, int)):
        raise MistypedArgumentError(f"{key} must be True or False, not {value!r}")
    return bool(value)


def _text(op: Any, key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeMismatchError(f"{key} must be a string, not {value!r}")
    return value


def _mask(op: Any, key: str, value: Any) -> Any:
    """Truth values, or numbers that are true where they are not 0, in lists or an array."""
    if not isinstance(value, (StaticArray, tuple, bool)):
        raise MistypedArgumentError(f"{key} must be an array of truth values, not {value!r}")
    return _any(op, key, value)


def _order(op: Any, key: str, value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    return _number(op, key, value)


def _quantity(op: Any, key: str, value: Any) -> Any:
    """A number, as which libraries take a boolean, too; None where that is the default."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (int, float)) or (value is None and op.static[key] is None):
        return value
    raise MistypedArgumentError(f"{key} must be a number, not {value!r}")


def _one_order(op: Any, key: str, value: Any) -> Any:
    """The order of a Bessel function, which refuses several in its own words."""
    return _any(op, key, value) if isinstance(value, tuple) else _quantity(op, key, value)


def _quantities(op: Any, key: str, value: Any) -> Any:
    """A number, or one for each axis, or a pair for each."""
    return tuple(_quantities(op, key, part) for part in value) if isinstance(value, tuple) else _quantity(op, key, value)


def _switch(op: Any, key: str, value: Any) -> Any:
    """True, False, or None, which leaves it to the function; numbers are taken for what they are in Python."""
    if value is None and op.static[key] is not None:
        raise MistypedArgumentError(f"{key} must be True or False, not None")
    return None if value is None else _flag(op, key, value)


def _word(op: Any, key: str, value: Any) -> Any:
    return None if value is None and op.static[key] is None else _text(op, key, value)


def _whole_or_none(op: Any, key: str, value: Any) -> Any:
    return None if value is None and op.static[key] is None else _integer(op, key, value)


def _extents(op: Any, key: str, value: Any) -> Any:
    """A whole number, or one for each axis; None where that is the default, or, of a size, for an axis that keeps its own."""
    if value is None and op.static[key] is None:
        return None
    sizes = value if isinstance(value, tuple) and key == "output_size" else ()
    _integers(op, key, tuple(size for size in sizes if size is not None) if sizes else value)
    return value


def _number(op: Any, key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise MistypedArgumentError(f"{key} must be a number, not {value!r}")
    return value


_CHECKS: dict[str, Check] = {
    "axis": _axis,
    "axes": _axes,
    "axis1": _integer,
    "axis2": _integer,
    **dict.fromkeys((
        "axisa", "axisb", "axisc", "blank", "chunks", "classes", "decimals", "dim0", "dim1", "downscale_factor", "edge_order",
        "embed_dim_to_check", "end_dim", "groups", "ignore_index", "ind", "index", "k", "length", "m", "num_classes", "num_groups",
        "num_heads", "offset", "place", "power", "r", "start_dim", "step", "upscale_factor",
    ), _integer),
    **dict.fromkeys(("count", "divisor_override", "ignored", "padding_idx", "start", "stop"), _whole_or_none),
    **dict.fromkeys(("shift", "sizes", "sections", "repeats", "reps", "source", "destination", "pad"), _integers),
    **dict.fromkeys(("dilation", "kernel_size", "normalized_shape", "output_padding", "output_size", "size", "stride"), _extents),
    **dict.fromkeys(("constant_values", "end_values", "scale_factor"), _quantities),
    **dict.fromkeys(("align_corners", "recompute_scale_factor", "size_average", "unbiased"), _switch),
    **dict.fromkeys(("compute_mode", "driver", "rounding_mode"), _word),
    "discont": _quantity, "mask": _mask,
    "v": _one_order,
    "n": _integer,
    "shape": _shape,
    "keepdims": _flag,
    "ord": _order,
}  # fmt: skip
_OF_TEXTS = frozenset({_text, _word, _order, _any})  # what takes a text, or says itself why it does not
