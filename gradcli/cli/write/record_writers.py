"""Records in a form as they come, on standard output, whatever they are records of: JSON, a record a line, text."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Protocol

from gradcli.cli.write.writers import put
from gradcli.report.records import Failure


class Shown(Protocol):
    """What has a result, or the reason why there is none."""

    @property
    def error(self) -> Failure | None: ...


class RecordWriter(Protocol):
    """Takes records as they come."""

    def show(self, record: Any) -> None: ...

    def end(self) -> None:
        """The end of the output."""


def escaping() -> None:
    """What the encoding of standard output lacks is escaped from now on."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def complain(record: Any) -> None:
    """What is wrong, beside the output."""
    from gradcli.report.text import error_text

    say(error_text(record))


class JsonArray:
    """One record as an object, several as an array, at the end."""

    def __init__(self, as_dict: Callable[[Any], dict[str, Any]]) -> None:
        self.as_dict = as_dict
        self.records: list[Any] = []

    def show(self, record: Any) -> None:
        self.records.append(record)

    def end(self) -> None:
        from gradcli.report.dictionaries import encoded

        found = [self.as_dict(record) for record in self.records]
        put(encoded(found[0] if len(found) == 1 else found, 2) + "\n")


class JsonLines:
    """A record a line."""

    def __init__(self, as_dict: Callable[[Any], dict[str, Any]]) -> None:
        self.as_dict = as_dict

    def show(self, record: Any) -> None:
        from gradcli.report.dictionaries import encoded

        put(encoded(self.as_dict(record)) + "\n")

    def end(self) -> None:
        pass


class Documents:
    """Text for pipes, files and documents: unstyled and unwrapped; what is wrong stands beside it."""

    def __init__(self, text_of: Callable[[Any], str], between: str = "") -> None:
        self.text_of, self.between = text_of, between
        self.first = True

    def show(self, record: Shown) -> None:
        if record.error is not None:
            complain(record)
            return
        put(("" if self.first else self.between) + self.text_of(record))
        self.first = False

    def end(self) -> None:
        sys.stdout.flush()
