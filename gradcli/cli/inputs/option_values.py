"""What stands in options: a word of several, values by names, limits."""

from __future__ import annotations

from collections.abc import Iterable

from gradcli.cli.request import Request
from gradcli.errors import UsageError
from gradcli.limits import DEFAULT, Limits


def limits_of(request: Request, formats: tuple[str, ...]) -> Limits:
    """The limits that a request sets, once its words are known to be such. Raises UsageError."""
    limits = DEFAULT.raised(request.limit) if request.limit else DEFAULT
    choice("--format", request.output_format, formats)
    choice("--input", request.input_format or "text", ("text", "jsonl"))
    choice("--dtype", request.dtype, ("float64", "float32"))
    return limits


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
