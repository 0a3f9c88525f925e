"""Verdicts as processes exchange them: only those that are remembered here are wanted, or those that are found there are handed on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_ONLY: ContextVar[bool] = ContextVar("only recalled", default=False)
_HANDED: ContextVar[list[tuple[str, bytes]] | None] = ContextVar("handed on", default=None)


class NotRecalled(BaseException):
    """Only what is remembered is wanted, and this is not; no error of a record's, so that nothing makes it one."""


@contextmanager
def only_recalled() -> Iterator[None]:
    """Whatever would have to be decided raises NotRecalled."""
    token = _ONLY.set(True)
    try:
        yield
    finally:
        _ONLY.reset(token)


def about_to_decide() -> None:
    """Called before anything is decided that takes long. Raises NotRecalled."""
    if _ONLY.get():
        raise NotRecalled


@contextmanager
def handed_on() -> Iterator[list[tuple[str, bytes]]]:
    """The verdicts that are found in the meantime, remembered or new, as a cache keeps them."""
    found: list[tuple[str, bytes]] = []
    token = _HANDED.set(found)
    try:
        yield found
    finally:
        _HANDED.reset(token)


def hand_on(key: str, content: bytes) -> None:
    """A verdict that is found."""
    found = _HANDED.get()
    if found is not None:
        found.append((key, content))
