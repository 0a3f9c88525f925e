"""JSON Lines records: programs with their bindings."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gradcli.errors import InputError
from gradcli.files.arrays import array_of, load_array
from gradcli.limits import Limits


@dataclass(eq=False)
class InputRecord:
    """One record; ``raw`` keeps what ``check`` reads beyond it (expect, skip, xfail)."""

    expr: str
    id: Any = None
    at: dict[str, np.ndarray] = field(default_factory=dict)
    wrt: tuple[str, ...] | None = None
    seed: Any = None
    raw: dict[str, Any] = field(default_factory=dict)


def parse_record(line: str, limits: Limits, folder: Path | None) -> InputRecord:
    """The record of one line. Raises InputError, with the record's id and expression as ``error.record``."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, json.JSONDecodeError) else "nested too deeply"
        raise InputError(f"not a JSON record: {reason}") from None
    if not isinstance(data, dict):
        raise InputError(f"a record is a JSON object, not {type(data).__name__}")
    try:
        return _record(data, limits, folder)
    except InputError as error:
        error.record = {"id": data.get("id"), "expr": data["expr"] if isinstance(data.get("expr"), str) else None}
        raise


def _record(data: dict[str, Any], limits: Limits, folder: Path | None) -> InputRecord:
    expr = data.get("expr")
    if not isinstance(expr, str):
        raise InputError("the record has no 'expr'" if expr is None else "'expr' must be a string")
    at = data.get("at") or {}
    if not isinstance(at, dict):
        raise InputError("'at' must be an object of names and values")
    values = {}
    for name, value in at.items():
        if not name.isidentifier():
            raise InputError(f"'at': {name!r} is not a name")
        if isinstance(value, str) and value.startswith("@"):
            values[name] = load_array(value[1:], limits, folder)
        else:
            values[name] = array_of(value, f"the value of '{name}'")
        limits.check_shape(values[name].shape)
    wrt = data.get("wrt")
    if isinstance(wrt, str):
        wrt = [name.strip() for name in wrt.split(",")]
    if wrt is not None and not (isinstance(wrt, list) and all(isinstance(name, str) for name in wrt)):
        raise InputError("'wrt' must be a list of names")
    seed = data.get("seed")
    if isinstance(seed, list) or (seed is not None and not isinstance(seed, str)):
        seed = array_of(seed, "the seed")
    return InputRecord(expr, data.get("id"), values, None if wrt is None else tuple(wrt), seed, data)
