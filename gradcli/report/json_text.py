"""JSON of plain data, of any depth: what is not finite is text, every character can be seen, and nothing recurses in Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from gradcli.inert import json_text, well_formed


def number(value: float) -> float | str:
    """A float as JSON has it: the non-finite ones as strings."""
    return value if math.isfinite(value) else "nan" if value != value else "inf" if value > 0 else "-inf"


def plain_data(value: Any) -> Any:
    """Lists, objects and numbers as JSON has them."""
    return _mapped(value, lambda leaf: number(leaf) if isinstance(leaf, float) else leaf)


def encoded(value: Any, indent: int | None = None) -> str:
    """JSON of plain data, in one line or indented, in the spacing of Python's own module.

    What is not finite has to be text already (`plain_data`). Halves of pairs of UTF-16 are replaced: most readers refuse them even when
    escaped.
    """
    try:
        return json_text(_line_encoder()(value) if indent is None else _indented(value, indent))
    except RecursionError:
        return json_text(well_formed(_deep(value, indent)))


def _indented(value: Any, indent: int) -> str:
    import json

    return well_formed(json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False, default=_plain))


def canonical(value: Any) -> str:
    """JSON in ASCII with sorted names, by which equal data are known again."""
    import json

    try:
        return json.dumps(value, sort_keys=True, default=str)
    except RecursionError:
        return _deep(value, None, sort_keys=True)


def id_text(value: Any) -> str:
    """An id as text: one that is text as it is, another as JSON; empty for none."""
    return value if isinstance(value, str) else "" if value is None else encoded(plain_data(value))


@cache
def _line_encoder() -> Callable[[Any], str]:
    """JSON in one line, by msgspec: in a third of the time that Python's own module takes, and in its spacing."""
    import msgspec

    encode, spaced = msgspec.json.Encoder(enc_hook=_plain).encode, msgspec.json.format

    def line(value: Any) -> str:
        try:
            data = encode(value)
        except UnicodeEncodeError:
            data = encode(_mapped(value, lambda leaf: well_formed(leaf) if isinstance(leaf, str) else leaf))
        return spaced(data, indent=0).decode()

    return line


def _plain(value: Any) -> Any:
    """The number or the text of a kind of its own, such as NumPy's."""
    return number(float(value)) if isinstance(value, float) else int(value) if isinstance(value, int) else str(value)


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Data with each of its leaves changed; names, too, are text that can be encoded."""
    if not isinstance(value, (list, tuple, dict)):
        return change(value)
    whole: list[Any] = [value]
    pending: list[tuple[Any, Any]] = [(whole, 0)]  # where something is that is still to be copied
    while pending:
        holder, place = pending.pop()
        held = holder[place]
        copy: Any
        places: list[tuple[Any, Any]]
        if isinstance(held, dict):
            copy = {well_formed(name): inner for name, inner in held.items()}
            places = list(copy.items())
        else:
            copy = list(held)
            places = list(enumerate(copy))
        holder[place] = copy
        for name, inner in places:
            if isinstance(inner, (list, tuple, dict)):
                pending.append((copy, name))
            else:
                copy[name] = change(inner)
    return whole[0]


class _Written(str):
    """What is JSON already."""

    __slots__ = ()


def _deep(value: Any, indent: int | None, sort_keys: bool = False) -> str:
    """JSON of what is nested more deeply than the encoders go."""
    import json

    found: list[str] = []
    pending: list[tuple[Any, int]] = [(value, 0)]
    while pending:
        item, level = pending.pop()
        if isinstance(item, _Written):
            found.append(item)
            continue
        if not (isinstance(item, (list, tuple, dict)) and item):
            found.append(json.dumps(item, ensure_ascii=False, allow_nan=False, default=_plain))
            continue
        inner, outer = ("", "") if indent is None else ("\n" + " " * indent * (level + 1), "\n" + " " * indent * level)
        opening, closing = "{}" if isinstance(item, dict) else "[]"
        parts: list[tuple[Any, int]] = []
        before = opening + inner
        for name in (sorted(item) if sort_keys else item) if isinstance(item, dict) else range(len(item)):
            label = f"{json.dumps(name, ensure_ascii=False)}: " if isinstance(item, dict) else ""
            parts += [(_Written(before + label), 0), (item[name], level + 1)]
            before = "," + (inner or " ")
        pending += reversed([*parts, (_Written(outer + closing), 0)])
    return "".join(found)
