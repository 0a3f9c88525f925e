"""Warnings as PyTorch gives them, at the line of the user's that they are about."""

from __future__ import annotations

import sys
import warnings

_said: set[str] = set()


def warn_once(message: str) -> None:
    """Warn of something for the first time only."""
    if message not in _said:
        _said.add(message)
        warn(message)


def warn(message: str) -> None:
    """Warn of the line that called into this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "gradcli":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)
