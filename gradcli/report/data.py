"""Results as data: what each has as JSON, and how it shows itself at a prompt. What is not finite is text in JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import MISSING, fields
from enum import Enum
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np

from gradcli.inert import clipped, json_text, printable, well_formed

_SMALL, _PART, _WHOLE = 60, 120, 400  # characters of a result in another one, of a field, and of them all
_FEW = 4  # entries of a dictionary or a list that are shown

Member = tuple[str, Callable[[Any], Any], Any, bool]
_DEFAULTS: dict[Any, dict[str, Any]] = {}
_MEMBERS: dict[tuple[Any, str], list[Member]] = {}


class Data:
    """A data class that has a form in JSON, and shows its first field and those of the others that say something.

    JSON  its members in their order: a field or a property, ``KEY=FIELD`` where that has another name, with ``?`` where it is left out
          unless it says something
    """

    __slots__ = ()
    JSON: ClassVar[str] = ""
    schema: ClassVar[int] = 1  # of whole records

    def to_dict(self) -> dict[str, Any]:
        """The result as ``--format jsonl`` writes it, as plain data."""
        found = {}
        for key, value_of, default, optional in _members(type(self), self._layout()):
            value = value_of(self)
            if not (optional and _is_usual(value, default)):
                found[key] = self._plain(value)
        return found

    def to_json(self) -> str:
        """One line of JSON Lines."""
        return encoded(self.to_dict())

    def _layout(self) -> str:
        return self.JSON

    def _plain(self, value: Any) -> Any:
        return plain(value)

    def __repr__(self) -> str:
        parts = [_written(_first(self))]
        usual = _defaults(type(self))
        for name in self._told():
            value = getattr(self, name)
            if not _is_usual(value, usual.get(name, MISSING)):
                parts.append(f"{name}={_written(value)}")
        return clipped(f"{type(self).__name__}({', '.join(parts)})", _WHOLE)

    def _told(self) -> Iterable[str]:
        """The names of the fields after the first."""
        return [*_defaults(type(self))][1:]


def _members(kind: Any, layout: str) -> list[Member]:
    """The members of a class in JSON: the key, where its value is, its default, and whether it may be left out."""
    if (kind, layout) in _MEMBERS:
        return _MEMBERS[kind, layout]
    found: list[Member] = []
    for word in layout.split():
        key, _, name = word.removesuffix("?").partition("=")
        found.append((key, attrgetter(name or key), _defaults(kind).get(name or key, MISSING), word.endswith("?")))
    _MEMBERS[kind, layout] = found
    return found


def _defaults(kind: Any) -> dict[str, Any]:
    """The fields with their defaults."""
    if kind not in _DEFAULTS:
        _DEFAULTS[kind] = {field.name: field.default for field in fields(kind)}
    return _DEFAULTS[kind]


def _is_usual(value: Any, default: Any) -> bool:
    if value is None or (isinstance(value, (dict, list, tuple)) and not value):
        return True
    return default is not MISSING and not isinstance(value, np.ndarray) and bool(value == default)


# -- JSON ----------------------------------------------------------------------------------------------------------------


def number(value: float) -> float | str:
    """A float as JSON has it: the non-finite ones as strings."""
    return value if math.isfinite(value) else "nan" if value != value else "inf" if value > 0 else "-inf"


def plain(value: Any) -> Any:
    """Results, arrays, lists and objects as JSON has them: numbers as the shortest floats that are read back as they are."""
    if isinstance(value, str):
        return well_formed(str(value))
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, float):
        return number(float(value))
    if isinstance(value, (np.ndarray, np.generic)):
        return _numbers(np.asarray(value))
    if isinstance(value, Data):
        return value.to_dict()
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {well_formed(name): plain(inner) for name, inner in value.items()}
    return [*map(plain, value)] if isinstance(value, (list, tuple)) else value


def _numbers(array: np.ndarray) -> Any:
    if array.dtype == np.float32:
        # the shortest decimal that reads back as the same float32
        array = np.array([float(str(v)) for v in array.ravel()], dtype=np.float64).reshape(array.shape)
    found = array.tolist()
    return plain(found) if array.dtype.kind == "f" and not np.isfinite(array).all() else found


def encoded(value: Any, indent: int | None = None) -> str:
    """JSON of plain data, in one line or indented, in the spacing of Python's own module.

    What is not finite has to be text already (`plain`). Halves of pairs of UTF-16 are replaced: most readers refuse them even when escaped.
    """
    if indent is None:
        return json_text(_line_encoder()(value))
    import json

    return json_text(well_formed(json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False, default=_of_its_own)))


def canonical(value: Any) -> str:
    """JSON in ASCII with sorted names, by which equal data are known again."""
    import json

    return json.dumps(value, sort_keys=True, default=str)


def id_text(value: Any) -> str:
    """An id as text: one that is text as it is, another as JSON; empty for none."""
    return value if isinstance(value, str) else "" if value is None else encoded(plain(value))


@cache
def _line_encoder() -> Callable[[Any], str]:
    """JSON in one line, by msgspec: in a third of the time that Python's own module takes, and in its spacing."""
    import msgspec

    encode, spaced = msgspec.json.Encoder(enc_hook=_of_its_own).encode, msgspec.json.format

    def line(value: Any) -> str:
        try:
            data = encode(value)
        except UnicodeEncodeError:
            data = encode(plain(value))
        return spaced(data, indent=0).decode()

    return line


def _of_its_own(value: Any) -> Any:
    """The number or the text of a kind of its own, such as NumPy's."""
    return number(float(value)) if isinstance(value, float) else int(value) if isinstance(value, int) else str(value)


# -- at a prompt ---------------------------------------------------------------------------------------------------------


def _first(value: Data) -> Any:
    return getattr(value, next(iter(_defaults(type(value)))))


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
    elif isinstance(value, Data):
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
