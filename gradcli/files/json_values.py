"""JSON as it is read here: no name twice in an object, and numbers as arrays, which are looked at before they are made."""

from __future__ import annotations

import json
from collections import Counter
from itertools import chain
from typing import Any

import numpy as np

from gradcli.errors import InputError
from gradcli.limits import ITEM, Limits

_NUMBERS = frozenset({int, float, bool})
_READ = _NUMBERS | {str}
_MOST = 50  # bytes that Python takes for a character of a text: lists of one list take the most


def parsed(text: str, what: str, limits: Limits) -> Any:
    """What a text holds, which is called ``what``. Raises ValueError with the reason, in words, and LimitError."""
    if _MOST * len(text) > limits.memory:
        limits.check_memory(_held(text), what)
    try:
        return json.loads(text, object_pairs_hook=_object)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except json.JSONDecodeError:
        raise
    except ValueError as error:  # Python's limit of digits, whose words are about Python
        raise ValueError("a whole number has too many digits" if "integer string" in str(error) else str(error)) from None


def _held(text: str) -> int:
    """How many bytes Python takes for what a text holds, at the most: told from its characters, before it is parsed."""
    values, lists, objects, strings = (text.count(sign) for sign in ',[{"')
    return 2 * len(text) + 48 * values + 88 * lists + 200 * objects + 32 * strings


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"'{twice}' stands there twice")
    return found


def array_of(data: Any, what: str, limits: Limits) -> np.ndarray:
    """JSON numbers, decimal strings ("0.1", "nan", "-inf"), booleans and nested lists of these as an array.

    The lists are laid out one after the other, level by level, and NumPy is handed numbers: of a long string among them it would make a
    table of strings as long. Raises InputError for what is no regular array of numbers, LimitError.
    """
    if type(data) is float or (type(data) is int and -(2**63) <= data < 2**63):  # as most are
        return np.array(data)
    level, shape = [data], []
    kinds: set[type] = {type(data)}
    while list in kinds:
        if len(level) > 1 and (len(kinds) > 1 or len(set(map(len, level))) > 1):
            raise _irregular(what)
        shape.append(len(level[0]))
        level = level[0] if len(level) == 1 else list(chain.from_iterable(level))
        kinds = set(map(type, level))
    if not kinds <= _READ:
        raise _irregular(what)
    if len(shape) > 1 or len(level) > limits.entries or ITEM * len(level) > limits.memory:
        limits.check_array(tuple(shape))
    try:
        array = np.array(level if kinds <= _NUMBERS else [float(item) for item in level])
        if array.dtype.kind == "O":  # whole numbers beyond those of 64 bits
            array = array.astype(float)
    except OverflowError:
        raise InputError(f"{what} holds a whole number beyond all floats") from None
    except ValueError:
        raise _irregular(what) from None
    return array if len(shape) == 1 else array.reshape(shape)


def _irregular(what: str) -> InputError:
    return InputError(f"{what} is not a number or a regular array of numbers")
