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


def encoded(value: Any, indent: int | None = None, sort_keys: bool = False) -> str:
    """JSON of plain data, in one line or indented, in the spacing of Python's own module.

    What is not finite has to be text already (`plain_data`). Halves of pairs of UTF-16 are replaced: most readers refuse them even when
    escaped.
    """
    try:
        if indent is None and not sort_keys:
            return json_text(_line_encoder()(value))
        import json

        return json_text(well_formed(json.dumps(value, indent=indent, sort_keys=sort_keys, ensure_ascii=False, allow_nan=False, default=_plain)))
    except RecursionError:
        return json_text(well_formed(_deep(value, indent, sort_keys)))


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
        if isinstance(held, dict):
            holder[place] = copy = {well_formed(name): inner for name, inner in held.items()}
            places = list(copy.items())
        else:
            holder[place] = copy = list(held)
            places = list(enumerate(copy))
        for name, inner in places:
            if isinstance(inner, (list, tuple, dict)):
                pending.append((copy, name))
            else:
                copy[name] = change(inner)
    return whole[0]


class _Written(str):
    """What is JSON already."""

    __slots__ = ()


def _deep(value: Any, indent: int | None, sort_keys: bool) -> str:
    """JSON of what is nested more deeply than the encoders go."""
    import json

    found: list[str] = []
    pending: list[tuple[Any, int]] = [(value, 0)]
    while pending:
        item, level = pending.pop()
        if isinstance(item, _Written):
            found.append(item)
        elif not (isinstance(item, (list, tuple, dict)) and item):
            found.append(json.dumps(item, ensure_ascii=False, allow_nan=False, default=_plain))
        else:
            inner, outer = ("", "") if indent is None else ("\n" + " " * indent * (level + 1), "\n" + " " * indent * level)
            opening, closing = "{}" if isinstance(item, dict) else "[]"
            parts: list[tuple[Any, int]] = []
            named = isinstance(item, dict)
            for name in (sorted(item) if sort_keys else item) if named else range(len(item)):
                between = ("," + (inner or " ")) if parts else opening + inner
                parts += [(_Written(f"{between}{json.dumps(name, ensure_ascii=False)}: " if named else between), 0), (item[name], level + 1)]
            pending += reversed([*parts, (_Written(outer + closing), 0)])
    return "".join(found)
