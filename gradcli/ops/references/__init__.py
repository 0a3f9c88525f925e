"""What operations and functions are by definition, told a second time: witnesses, which share no code with what they vouch for."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

_OF: dict[str, Callable[..., Any]] = {}


def of(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a function of this room as the reference of the composites of these names."""

    def marked(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            if name in _OF:
                raise ValueError(f"{name!r} has a reference already")
            _OF[name] = function
        return function

    return marked


@cache
def written() -> Mapping[str, Callable[..., Any]]:
    """The references of composites by their names, of all files of this room."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return MappingProxyType(_OF)


def reference_of(name: str) -> Callable[..., Any] | None:
    """The reference of a composite, None where there is none yet: a file of this room has it, imported when it is first asked for."""
    for module in _naming(name) if name not in _OF else ():  # all of them take a quarter of a second
        import_module(f"{__name__}.{module}")
    return _OF.get(name) or written().get(name)


def _naming(name: str) -> list[str]:
    """The files of this room that say a name."""
    return [path.stem for path in sorted(Path(__file__).parent.glob("*.py")) if f'"{name}"' in path.read_text(encoding="utf-8")]
