"""Results as data: what each has as JSON, and how it shows itself at a prompt.

What is not finite is text in JSON.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import MISSING, dataclass, field, fields
from enum import Enum
from functools import cache
from itertools import islice
from operator import attrgetter
from reprlib import Repr
from typing import Any, ClassVar, dataclass_transform

import numpy as np

from gradcli.errors import GradcliError
from gradcli.inert import json_text, well_formed
from gradcli.texts import clip_text, printable

_SMALL, _PART, _WHOLE = (
    60,
    120,
    400,
)  # most characters of a nested result, of a field, and of the whole
_FEW = 4  # most entries of a dictionary or a list that are shown


def number(value: float) -> float | str:
    """Return a float as JSON has it: the non-finite ones as strings."""
    return value if math.isfinite(value) else str(value)


def plain(value: Any) -> Any:
    """Return results, arrays, lists and objects as JSON has them.

    Numbers are the shortest floats that are read back unchanged.
    """
    if isinstance(value, float):  # most values, then texts
        return number(float(value))
    if isinstance(value, str):
        return well_formed(str(value))
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, dict):
        return {well_formed(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return (
            plain(value._asdict())
            if hasattr(value, "_asdict")
            else [plain(inner) for inner in value]
        )
    if isinstance(value, Data):
        return value.to_dict()
    if isinstance(value, GradcliError):
        line, column, end = value.place() or (None, None, None)
        return plain({
            "code": value.code, "message": value.message, "line": line, "column": column, "end_column": end,
            "help": value.help,
        })  # fmt: skip
    return _numbers(np.asarray(value)) if isinstance(value, (np.ndarray, np.generic)) else value


def _numbers(array: np.ndarray) -> Any:
    if array.dtype == np.float32:
        # The shortest decimal that reads back as the same float32.
        array = np.array([float(str(v)) for v in array.ravel()], dtype=np.float64).reshape(
            array.shape
        )
    found = array.tolist()
    return plain(found) if array.dtype.kind == "f" and not np.isfinite(array).all() else found


def group_pairs(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    """Return the second ones of pairs by the first ones."""
    found: dict[Any, list[Any]] = {}
    for key, each in pairs:
        found.setdefault(key, []).append(each)
    return found


class Data:
    """Data class that has a form in JSON.

    It shows its first field, and those other fields that differ from their defaults and are not
    empty.

    JSON   its members in their order: a field or a property, ``KEY=FIELD`` where that has another
           name, with ``?`` where it is left out if it is empty or its default
    SHOWN  the same for the members that a prompt shows; empty for all fields
    """

    __slots__ = ()
    JSON: ClassVar[str] = ""
    SHOWN: ClassVar[str] = ""
    schema: ClassVar[int] = 1  # version of the JSON form, for whole records
    _plain = staticmethod(plain)  # turns a member into JSON data

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, as ``--format jsonl`` writes it."""
        kind: Any = type(self)
        values_of, members = _members(kind, self._layout())
        as_plain = self._plain
        return {
            key: None if value is None else as_plain(value)
            for (key, default, optional), value in zip(members, values_of(self), strict=True)
            if not optional or (value is not None and not _is_usual(value, default))
        }

    def to_json(self) -> str:
        """One line of JSON Lines."""
        return encode(self.to_dict())

    def _layout(self) -> str:
        return self.JSON

    def __repr__(self) -> str:
        kind: Any = type(self)
        values_of, members = _members(kind, self.SHOWN or " ".join(default_values(kind)))
        first, *others = values_of(self)
        parts = [_write(first)]
        for (key, default, _), value in zip(members[1:], others, strict=True):
            if not _is_usual(value, default):
                parts.append(f"{key}={_write(value)}")
        return clip_text(f"{kind.__name__}({', '.join(parts)})", _WHOLE)


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def data(kind: type[Any]) -> type[Any]:
    """Give a class of `Data` its fields; it is compared by identity, and shows itself as `Data`."""
    return dataclass(eq=False, repr=False)(kind)


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def data_in_slots(kind: type[Any]) -> type[Any]:
    """Give a class of `Data` its fields as slots, where there are many objects."""
    return dataclass(slots=True, eq=False, repr=False)(kind)


@cache
def _members(
    kind: Any, layout: str
) -> tuple[Callable[[Any], tuple[Any, ...]], list[tuple[str, Any, bool]]]:
    """Return the members of a class in JSON.

    They are a getter of their values and, for each member, its key, its default, and whether it may
    be left out.
    """
    words = [word.removesuffix("?").partition("=") for word in layout.split()]
    names = [name or key for key, _, name in words]
    may_lack = [word.endswith("?") for word in layout.split()]
    defaults = [default_values(kind).get(name, MISSING) for name in names]
    return attrgetter(*names), [*zip((key for key, _, _ in words), defaults, may_lack, strict=True)]


@cache
def default_values(kind: Any) -> dict[str, Any]:
    """Return the fields with their defaults."""
    return {field.name: field.default for field in fields(kind)}


def _is_usual(value: Any, default: Any) -> bool:
    if value is None or (isinstance(value, (dict, list, tuple)) and not value):
        return True
    return default is not MISSING and not isinstance(value, np.ndarray) and bool(value == default)


# -- JSON


def encode(value: Any, indent: int | None = None) -> str:
    """JSON of plain data, in one line or indented, in the spacing of Python's own module.

    What is not finite has to be text already (`plain`). Halves of pairs of UTF-16 are replaced:
    most readers refuse them even when escaped.
    """
    if indent is None:
        return json_text(_line_encoder()(value))
    import json

    return json_text(
        well_formed(
            json.dumps(
                value, indent=indent, ensure_ascii=False, allow_nan=False, default=_of_its_own
            )
        )
    )


def canonical(value: Any) -> str:
    """JSON in ASCII with sorted names, by which equal data are known again."""
    import json

    return json.dumps(value, sort_keys=True, default=str)


def id_text(value: Any) -> str:
    """Return an id as text: a text unchanged, another id as JSON; empty for none."""
    return value if isinstance(value, str) else "" if value is None else encode(plain(value))


@cache
def _line_encoder() -> Callable[[Any], str]:
    """Return an encoder of JSON in one line, by msgspec.

    It takes a third of the time of Python's own module, and has its spacing.
    """
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
    """Return a number or text of a type of its own, such as NumPy's, as Python's own."""
    return (
        number(float(value))
        if isinstance(value, float)
        else int(value)
        if isinstance(value, int)
        else str(value)
    )


def read_back(kind: type[Any], stored: Any) -> Any:
    """Return an object of a class from its stored data.

    Raises ValueError for data that are none.
    """
    import msgspec

    return msgspec.convert(stored, kind)


# -- at a prompt


class _Short(Repr):
    """Values as Python writes them, of which what is long or lies deep is left out."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlist = self.maxtuple = _FEW
        self.maxlevel = 2

    def repr_str(self, value: str, level: int) -> str:
        return clip_text(printable(repr(value)), _PART)

    def repr_dict(self, value: dict[Any, Any], level: int) -> str:
        if level <= 0:
            return "{…}"
        parts = [
            f"{self.repr1(name, level - 1)}: {self.repr1(part, level - 1)}"
            for name, part in islice(value.items(), _FEW)
        ]
        return (
            f"{{{', '.join(parts)}{f', … {len(value) - _FEW} more' if len(value) > _FEW else ''}}}"
        )

    def repr_instance(self, value: Any, level: int) -> str:
        if isinstance(value, dict):  # any kind of mapping of names
            return self.repr_dict(value, level)
        if isinstance(value, np.ndarray):
            return " ".join(
                np.array2string(value, threshold=2 * _FEW, edgeitems=2, separator=", ").split()
            )
        if isinstance(value, Data):
            kind: Any = type(value)
            first = getattr(value, next(iter(default_values(kind))))
            whole = repr(value)
            return whole if len(whole) <= _SMALL else f"{kind.__name__}({_write(first)})"
        return (
            str(value)
            if isinstance(value, np.generic)
            else printable(repr(value.value if isinstance(value, Enum) else value))
        )


def _write(value: Any) -> str:
    return clip_text(_Short().repr(value), _PART)
