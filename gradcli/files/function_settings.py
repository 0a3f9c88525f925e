"""``[[tool.gradcli.functions]]``: the Python functions of a project whose gradients are checked, each named once, with its arguments.

They are code of the project, which is imported and run: only where somebody asks for that (``gradcli check --functions``, pytest).
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from gradcli.errors import UsageError, suggestion

_CLAIMS = ("gradient", "jvp-of", "adjoint")
_EQUATIONS = ("implicit", "fixed-point")
_WORDS = ("function", *_CLAIMS, *_EQUATIONS, "parameters", "by", "id", "dtype", "skip", "xfail")
_NUMBERS = {"points": (int, 1), "random-state": (int, 0), "order": (int, 1), "rtol": (float, 0), "atol": (float, 0), "timeout": (float, 0)}
KEYS = ("function", *_CLAIMS, "by", "forward", *_EQUATIONS, "parameters", "at", "wrt", "seed", *_NUMBERS, "dtype", "id", "skip", "xfail")
_EXAMPLE = 'write [[tool.gradcli.functions]] with function = "pkg.losses:loss", gradient = "pkg.losses:slope" and at = {x = "randn(5)"}'


@dataclass(frozen=True)
class FunctionSetting:
    """A function, who says what its gradient is, and at which arguments; values are texts, as the command line takes them."""

    function: str
    gradient: str | None = None
    jvp_of: str | None = None
    adjoint: str | None = None
    implicit: str | None = None
    fixed_point: str | None = None
    parameters: str | None = None
    forward: bool = False
    by: str | None = None
    at: tuple[str, ...] = ()
    wrt: str | None = None
    seed: str | None = None
    points: int | None = None
    rtol: float | None = None
    atol: float | None = None
    timeout: float | None = None
    random_state: int | None = None
    order: int = 1
    dtype: str | None = None
    id: str | None = None
    skip: str | None = None
    xfail: str | None = None

    @property
    def functions(self) -> list[str]:
        """The names of all functions that it is about."""
        names = (self.function, self.gradient, self.jvp_of, self.adjoint, self.implicit, self.fixed_point, self.parameters)
        return [name for name in names if name is not None]

    @property
    def name(self) -> str:
        return self.id or self.function


def line_of_function(function: FunctionSetting, lines: list[str]) -> int:
    """The line of the settings that names a function."""
    return next((number for number, line in enumerate(lines, 1) if f'"{function.name}"' in line or f"'{function.name}'" in line), 1)


def functions_of(what: str, given: Any) -> tuple[FunctionSetting, ...]:
    """The functions that a file of settings lists. Raises UsageError, which begins with ``what``."""
    if not isinstance(given, list) or not given or not all(isinstance(entry, dict) for entry in given):
        raise UsageError(f"{what} cannot be {given!r}", help=_EXAMPLE)
    found = tuple(_function(f"{what}[{place}]", entry) for place, entry in enumerate(given))
    names = [function.name for function in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"{what}: two are called '{twice}'", help='give each an id = "..." of its own')
    return found


def _function(what: str, entry: dict[str, Any]) -> FunctionSetting:
    strange = next((key for key in entry if key not in KEYS), None)
    if strange is not None:
        close = suggestion(strange, list(KEYS))
        raise UsageError(f"{what} has no '{strange}'", help=f"did you mean '{close}'?" if close else f"it has {', '.join(KEYS)}")
    said: dict[str, Any] = {key.replace("-", "_"): _word(what, key, entry[key]) for key in _WORDS if key in entry}
    said |= {key.replace("-", "_"): _number(what, key, entry[key]) for key in _NUMBERS if key in entry}
    if "function" not in said or sum(key in entry for key in (*_CLAIMS, "by")) != 1:
        raise UsageError(f"{what} needs a function, and its gradient or by whom it is differentiated", help=_EXAMPLE)
    for key in ("function", *_CLAIMS, *_EQUATIONS, "parameters"):
        if key in entry and not all(entry[key].partition(":")):
            raise UsageError(f"{what} {key}: a function is named MODULE:NAME, not '{entry[key]}'")
    if "forward" in entry:
        if not isinstance(entry["forward"], bool):
            raise UsageError(f"{what} forward cannot be {entry['forward']!r}", help="write forward = true")
        said["forward"] = entry["forward"]
    at = entry.get("at")
    if not isinstance(at, dict) or not at:
        raise UsageError(
            f"{what} at must be a table of arguments", help='write at = {x = "randn(5)", y = 2}, by the names of its parameters'
        )
    said["at"] = tuple(f"{name}={_text(f'{what} at.{name}', value)}" for name, value in at.items())
    if "wrt" in entry:
        names = [entry["wrt"]] if isinstance(entry["wrt"], str) else entry["wrt"]
        if not isinstance(names, list) or not names or not all(isinstance(name, str) and name.strip() for name in names):
            raise UsageError(f"{what} wrt cannot be {entry['wrt']!r}", help='write wrt = ["x"]')
        said["wrt"] = ",".join(names)
    if "seed" in entry:
        said["seed"] = _text(f"{what} seed", entry["seed"])
    return FunctionSetting(**said)


def _word(what: str, key: str, value: Any) -> str:
    if not isinstance(value, str) or not (value.strip() or key in ("skip", "xfail")):
        raise UsageError(f"{what} {key} cannot be {value!r}", help=f'write {key} = "..."')
    return value


def _number(what: str, key: str, value: Any) -> int | float:
    kind, least = _NUMBERS[key]
    fine = isinstance(value, int if kind is int else (int, float)) and not isinstance(value, bool)
    if not fine or not math.isfinite(value) or value < least or (key == "timeout" and not value) or (key == "order" and value > 2):
        raise UsageError(f"{what} {key} cannot be {value!r}")
    return float(value) if kind is float else int(value)


def _text(what: str, value: Any) -> str:
    """A value of TOML as text of the language: numbers and lists as they are written there; a text is such text."""
    if isinstance(value, str) and value.strip():
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return repr(value)
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, list) and _is_array(value):
        return json.dumps(value)
    if isinstance(value, dict) and value:
        return f"{{{', '.join(f'{json.dumps(key)}: {_text(what, part)}' for key, part in value.items())}}}"
    raise UsageError(f"{what} cannot be {value!r}", help='write a number, a list of numbers, or a text: "randn(5)", "@data.npy"')


def _is_array(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_array, value))
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
