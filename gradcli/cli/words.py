"""What stands in options: a word of several, names, values by names, files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from gradcli.errors import UsageError


def choice(option: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UsageError(f"{option} must be one of {', '.join(allowed)}, not '{value}'")


def assignments(option: str, texts: Iterable[str]) -> dict[str, str]:
    """Values by names, of which each is given once. Raises UsageError."""
    found: dict[str, str] = {}
    for text in texts:
        name, value = assignment(option, text)
        if name in found:
            raise UsageError(f"{option} {name}=... is given twice")
        found[name] = value
    return found


def assignment(option: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value:
        raise UsageError(f"{option} takes NAME=VALUE, not '{text}'")
    return name.strip(), value


def folder_of(path: str) -> Path:
    """The folder of a file; for standard input, the current one."""
    return Path() if path == "-" else Path(path).parent


def format_of(path: str) -> str:
    return "jsonl" if path.endswith((".jsonl", ".ndjson")) else "text"


def most_processes() -> int:
    """More would only wait for each other; Windows cannot wait for more than 61."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, 61)
