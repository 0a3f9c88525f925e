"""JSON Lines records: programs with their bindings, and what is claimed of them.

No field is read past: one that is unknown, twice there, or of another type than it should be is an
error of its record.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gradcli.errors import GradcliError, InputError, LimitError, UnknownFieldError, did_you_mean
from gradcli.files.arrays import array_of, load_array, parse_array
from gradcli.limits import Limits
from gradcli.options import ClaimInput, option_value
from gradcli.texts import is_number, normalize, words

FIELDS = words("id expr at wrt seed expect meta skip xfail rtol atol dialect")
_PART_OF_IDENTITY = words("expect at seed wrt dialect")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_LONGEST = 100_000  # most characters of a list of constant expressions
_DEEPEST = 64  # most levels of what is written out again as it is


@dataclass(eq=False)
class InputRecord:
    """One record; ``given`` is what identifies it beside its id and its text."""

    expr: str
    id: Any = None
    at: dict[str, np.ndarray | str] = field(default_factory=dict)  # a text is a constant expression
    wrt: tuple[str, ...] | None = None
    seed: Any = None
    expect: tuple[ClaimInput, ...] = ()
    meta: dict[str, Any] | None = None
    skip: str | None = None  # the reason, which may be empty
    xfail: str | None = None
    rtol: float | None = None
    atol: float | None = None
    dialect: str | None = None  # of its program, where the text does not show it
    given: dict[str, Any] = field(default_factory=dict)


def parse_record(line: str, limits: Limits, folder: Path | None) -> InputRecord:
    """Parse the record of one line.

    Raises GradcliError, with the known parts of the record as ``error.record``.
    """
    try:
        data = parse_array(line, "a record", limits)
    except ValueError as error:
        if len(line) > limits.length:  # only part of the line was read
            raise LimitError(
                f"a record of {len(line):,} characters is over the limit of {limits.length:,}",
                help="raise it with --limit length=...",
            ) from None
        raise InputError(f"not a JSON record: {error}") from None
    if not isinstance(data, dict):
        raise InputError(f"a record is a JSON object, not {_kind(data)}")
    known: dict[str, Any] = {"expr": data["expr"] if isinstance(data.get("expr"), str) else None}
    try:
        known["id"] = _shallow("id", data.get("id"))
        known["meta"] = _meta(data.get("meta"))
        return _record(data, limits, folder)
    except GradcliError as error:
        error.record = {**known, "given": _bindings_of(data)}
        raise


def _record(data: dict[str, Any], limits: Limits, folder: Path | None) -> InputRecord:
    refuse_unknown(data, FIELDS, "a record", '; names of your own go under "meta"')
    expr = data.get("expr")
    if not isinstance(expr, str):
        raise InputError(
            "the record has no 'expr'"
            if expr is None
            else f"'expr' must be a string, not {_kind(expr)}"
        )
    get = data.get
    return InputRecord(
        expr,
        get("id"),
        _values(get("at"), limits, folder),
        _names(get("wrt")),
        _seed(get("seed"), limits),
        tuple(_claims_of(get("expect"), limits)),
        get("meta"),
        _reason("skip", get("skip")),
        _reason("xfail", get("xfail")),
        given=_bindings_of(data),
        **{name: _option(name, get(name)) for name in ("rtol", "atol", "dialect")},
    )


def _bindings_of(data: dict[str, Any]) -> dict[str, Any]:
    return {name: data[name] for name in _PART_OF_IDENTITY if data.get(name) is not None}


def refuse_unknown(
    data: dict[str, Any], fields: Collection[str], what: str, otherwise: str = ""
) -> None:
    """Raise UnknownFieldError for the first name that is none of the fields."""
    for name in data:
        if name not in fields:
            raise UnknownFieldError(
                f"{what} has no field '{name}'",
                help=did_you_mean(
                    name, fields, f"it has {', '.join(fields)}{otherwise}", cutoff=0.7
                ),
            )


def _values(at: Any, limits: Limits, folder: Path | None) -> dict[str, np.ndarray | str]:
    if at is None:
        return {}
    if not isinstance(at, dict):
        raise InputError(f"'at' must be an object of names and values, not {_kind(at)}")
    values: dict[str, np.ndarray | str] = {}
    for given, value in at.items():
        name = normalize(given)
        if not name.isidentifier():
            raise InputError(f"'at': {name!r} is not a name")
        if name in values:
            raise InputError(
                f"'at': the name '{name}' is bound twice: it is one name in two spellings"
            )
        if isinstance(value, str) and not value.startswith("@") and not is_number(value):
            values[name] = value
            continue
        if isinstance(value, str) and value.startswith("@"):
            values[name] = load_array(value[1:], limits, folder)
            continue
        try:
            values[name] = array_of(value, f"the value of '{name}'", limits)
        except InputError:
            text = _with_expressions(value)
            if text is None:
                raise
            values[name] = text
    return values


def _with_expressions(value: Any) -> str | None:
    """Write a list of numbers and constant expressions as text of the language.

    Anything else gives None.
    """
    text = json.dumps(_shallow("at", value), ensure_ascii=False) if isinstance(value, list) else ""
    return _STRING.sub(r"(\1)", text) if '"' in text and len(text) <= _LONGEST else None


def _names(wrt: Any) -> tuple[str, ...] | None:
    if isinstance(wrt, str):
        wrt = [name.strip() for name in wrt.split(",")]
    if wrt is not None and not (
        isinstance(wrt, list) and all(isinstance(name, str) for name in wrt)
    ):
        raise InputError(
            f"'wrt' must be a list of names{'' if isinstance(wrt, list) else f', not {_kind(wrt)}'}"
        )
    return None if wrt is None else tuple(map(normalize, wrt))


def _seed(seed: Any, limits: Limits) -> Any:
    return seed if seed is None or isinstance(seed, str) else array_of(seed, "the 'seed'", limits)


def _claims_of(expect: Any, limits: Limits) -> Iterator[ClaimInput]:
    if expect is None:
        return
    grad = expect.get("grad") if isinstance(expect, dict) else None
    if not isinstance(expect, dict) or not (grad is None or isinstance(grad, dict)):
        raise InputError("'expect' must be an object with 'value', or 'grad' by names")
    refuse_unknown(expect, ("value", "grad"), "'expect'")
    met: set[str] = set()
    for given, claim in [("value", expect.get("value")), *(grad or {}).items()]:
        name = normalize(given)
        if name != given and name in met:
            raise InputError(
                f"'expect': the name '{name}' is there twice: it is one name in two spellings"
            )
        met.add(name)
        what = "the claim of the value" if name == "value" else f"the claim of '{name}'"
        if claim is None and given in (grad or {}):
            raise InputError(
                f"{what} is null, which claims nothing",
                help="leave it out, or write numbers or a formula",
            )
        if isinstance(claim, dict):
            refuse_unknown(claim, ("formula",), what)
            if not isinstance(claim.get("formula"), str):
                raise InputError(f"{what}: 'formula' must be a string")
            yield ClaimInput(name, text=claim["formula"], formula=True)
        elif isinstance(claim, str) and not is_number(claim):
            yield ClaimInput(name, text=claim)
        elif claim is not None:
            yield ClaimInput(name, numbers=array_of(claim, what, limits))


def _meta(meta: Any) -> dict[str, Any] | None:
    if not (meta is None or isinstance(meta, dict)):
        raise InputError(f"'meta' must be an object, not {_kind(meta)}")
    _shallow("meta", meta)
    return meta


def _shallow(name: str, value: Any) -> Any:
    """Return the value, or raise InputError if it is nested too deeply to be written."""
    level = [value]
    for _ in range(_DEEPEST):
        parts = [
            whole.values() if isinstance(whole, dict) else whole
            for whole in level
            if isinstance(whole, (list, dict))
        ]
        level = [part for inner in parts for part in inner]
        if not level:
            return value
    raise InputError(f"'{name}' is nested too deeply")


def _reason(name: str, given: Any) -> str | None:
    """Why a record is skipped, or known to fail: text, or just ``true``."""
    if given is None or isinstance(given, bool):
        return "" if given else None
    if not isinstance(given, str):
        raise InputError(
            f"'{name}' must be a reason, not {_kind(given)}", help=f'write "{name}": "why"'
        )
    return given


def _option(name: str, given: Any) -> Any:
    """Return the value of an option; a number may be a decimal string."""
    value = float(given) if isinstance(given, str) and is_number(given) else given
    return None if value is None else option_value(name, value, f"'{name}'", InputError)


def _kind(value: Any) -> str:
    """Return the beginning of a value as JSON writes it."""
    return json.dumps(value)[:40]
