"""How results show themselves at a prompt and in a debugger: what is not as usual, in a line or a few."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import MISSING, fields
from enum import Enum
from typing import Any

import numpy as np

from gradcli.inert import clipped, printable

_SMALL, _PART, _WHOLE = 60, 120, 400  # characters of a result in another one, of a field, and of them all
_FEW = 4  # entries of a dictionary or a list that are shown


class Short:
    """A data class that shows its first field, and those of the others that say something."""

    __slots__ = ()

    def __repr__(self) -> str:
        parts = [_written(_first(self))]
        usual = _defaults(self)
        for name in self._told():
            value = getattr(self, name)
            if not _is_usual(value, usual.get(name, MISSING)):
                parts.append(f"{name}={_written(value)}")
        return clipped(f"{type(self).__name__}({', '.join(parts)})", _WHOLE)

    def _told(self) -> Iterable[str]:
        """The names of the fields after the first."""
        return [*_defaults(self)][1:]


def _first(value: Short) -> Any:
    return getattr(value, next(iter(_defaults(value))))


def _defaults(value: Any) -> dict[str, Any]:
    """The fields with their defaults."""
    return {field.name: field.default for field in fields(value)}


def _is_usual(value: Any, default: Any) -> bool:
    if value is None or (isinstance(value, (dict, list, tuple, str)) and not value):
        return True
    return default is not MISSING and not isinstance(value, np.ndarray) and bool(value == default)


def _written(value: Any) -> str:
    return clipped("".join(_parts(value)), _PART)


def _parts(value: Any, depth: int = 0) -> Iterator[str]:
    """A value as Python writes it, of which what is long or lies deep is left out."""
    if isinstance(value, np.ndarray):
        yield " ".join(np.array2string(value, threshold=2 * _FEW, edgeitems=2, separator=", ").split())
    elif isinstance(value, np.generic):
        yield str(value)
    elif isinstance(value, Enum):
        yield repr(value.value)
    elif isinstance(value, Short):
        whole = repr(value)
        yield whole if len(whole) <= _SMALL else f"{type(value).__name__}({_written(_first(value))})"
    elif isinstance(value, str):
        yield clipped(printable(repr(value)), _PART)
    elif isinstance(value, (dict, list)) and depth > 1:
        yield "{…}" if isinstance(value, dict) else "[…]"
    elif isinstance(value, dict):
        yield "{"
        for place, (name, part) in enumerate(value.items()):
            if place == _FEW:
                yield f", … {len(value) - _FEW} more"
                break
            yield f"{', ' if place else ''}{printable(repr(name))}: "
            yield from _parts(part, depth + 1)
        yield "}"
    elif isinstance(value, list):
        yield "["
        for place, part in enumerate(value[:_FEW]):
            yield ", " if place else ""
            yield from _parts(part, depth + 1)
        yield f", … {len(value) - _FEW} more]" if len(value) > _FEW else "]"
    else:
        yield printable(repr(value))
