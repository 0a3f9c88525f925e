"""``[tool.gradcli]`` of the nearest pyproject.toml: defaults of options that run nothing and name no files."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Any

from gradcli.errors import UsageError

_NUMBERS: dict[str, tuple[type, float]] = {  # with the least that they may be
    "rtol": (float, 0), "atol": (float, 0), "points": (int, 1), "random-state": (int, 0), "jobs": (int, 1), "timeout": (float, 0),
}  # fmt: skip
KEYS = ("fail-on", "convention", *_NUMBERS)


def settings(folder: Path) -> dict[str, Any]:
    """The settings of the project that a folder belongs to. Raises UsageError."""
    for place in (folder, *folder.parents):
        path = place / "pyproject.toml"
        if path.is_file():
            try:
                data = tomllib.loads(path.read_text(encoding="utf-8"))
            except (OSError, ValueError) as error:
                raise UsageError(f"cannot read '{path}': {error}") from None
            tools = data.get("tool", {})
            return _checked(tools.get("gradcli", {}) if isinstance(tools, dict) else {}, path)
    return {}


def _checked(given: Any, path: Path) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise UsageError(f"{path}: [tool.gradcli] must be a table")
    found = {}
    for key, value in given.items():
        if key not in KEYS:
            raise UsageError(f"{path}: [tool.gradcli] has no setting '{key}'", help=f"it has {', '.join(KEYS)}")
        found[key] = _number(value, *_NUMBERS[key]) if key in _NUMBERS else _words(value)
        if found[key] is None:
            raise UsageError(f"{path}: [tool.gradcli] {key} cannot be {value!r}")
    return found


def _words(value: Any) -> str | None:
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return ",".join(value)
    return value if isinstance(value, str) else None


def _number(value: Any, kind: type, least: float) -> Any:
    fits = isinstance(value, (int, kind)) and not isinstance(value, bool)
    return value if fits and math.isfinite(value) and value >= least else None
