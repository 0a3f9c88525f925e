"""``[tool.gradcli]`` of the nearest pyproject.toml: defaults of options that run nothing and name no files."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from gradcli.errors import UsageError

KEYS: dict[str, tuple[type, ...]] = {
    "fail-on": (str, list), "rtol": (float, int), "atol": (float, int), "points": (int,), "random-state": (int,), "jobs": (int,),
    "timeout": (float, int),
}  # fmt: skip


def settings() -> dict[str, Any]:
    """The settings of the project that the current folder belongs to. Raises UsageError."""
    return _read(Path.cwd())


def _read(folder: Path) -> dict[str, Any]:
    for place in (folder, *folder.parents):
        path = place / "pyproject.toml"
        if path.is_file():
            try:
                data = tomllib.loads(path.read_text(encoding="utf-8"))
            except (OSError, ValueError) as error:
                raise UsageError(f"cannot read '{path}': {error}") from None
            return _checked(data.get("tool", {}).get("gradcli", {}), path)
    return {}


def _checked(settings: Any, path: Path) -> dict[str, Any]:
    for key, value in settings.items():
        if key not in KEYS:
            raise UsageError(f"{path}: [tool.gradcli] has no setting '{key}'", help=f"it has {', '.join(KEYS)}")
        if not isinstance(value, KEYS[key]) or isinstance(value, bool):
            raise UsageError(f"{path}: [tool.gradcli] {key} cannot be {value!r}")
    return {key: ",".join(value) if isinstance(value, list) else value for key, value in settings.items()}
