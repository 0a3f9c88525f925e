"""Records in a form as they come, on standard output, whatever they are records of: JSON, a record a line, text."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Protocol

from gradcli.cli.write.streams import put, put_text, say
from gradcli.cli.write.unwritable import written
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


def complain(record: Any) -> None:
    """What is wrong, beside the output."""
    from gradcli.report.text import error_text

    say(error_text(record))


class Lossless:
    """A writer of which no record is lost: one that it cannot write is written as an error."""

    def __init__(self, writer: RecordWriter) -> None:
        self.writer = writer

    def show(self, record: Any) -> None:
        written(self.writer.show, record)

    def end(self) -> None:
        self.writer.end()


class JsonArray:
    """All records as an array, at the end; one alone as an object, where that is the form of a command."""

    def __init__(self, as_dict: Callable[[Any], dict[str, Any]], one_alone: bool = True) -> None:
        from gradcli.report.json_text import encoded

        self.as_dict, self.one_alone, self.encoded = as_dict, one_alone, encoded
        self.texts: list[str] = []

    def show(self, record: Any) -> None:
        self.texts.append(self.encoded(self.as_dict(record), 2))

    def text(self) -> str:
        if self.one_alone and len(self.texts) == 1:
            return self.texts[0] + "\n"
        items = ",\n  ".join(text.replace("\n", "\n  ") for text in self.texts)
        return f"[\n  {items}\n]\n" if items else "[]\n"

    def end(self) -> None:
        put(self.text())


class JsonLines:
    """A record a line."""

    def __init__(self, as_dict: Callable[[Any], dict[str, Any]]) -> None:
        from gradcli.report.json_text import encoded

        self.as_dict, self.encoded = as_dict, encoded

    def show(self, record: Any) -> None:
        put(self.encoded(self.as_dict(record)) + "\n")

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
        put_text(("" if self.first else self.between) + self.text_of(record))
        self.first = False

    def end(self) -> None:
        sys.stdout.flush()
