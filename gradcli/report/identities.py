"""What a case is known by from run to run: what it says, never where it stands."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

from gradcli.report.data import canonical
from gradcli.report.records import Record

_LONGEST = 400  # characters of a text that is told as it is


@dataclass(frozen=True)
class Identity:
    """A case by its file (from the folder of its project, with ``/``), id, text, and what it was given; equal ones by their number."""

    file: str
    id: str | None  # as JSON
    text: str
    given: str | None  # a digest of claims, values, seed and wrt
    number: int = 1

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(json.dumps([self.file, self.id, self.text, self.given, self.number]).encode()).digest()


def identity_of(record: Record, file: str) -> Identity:
    """The identity of a case among others that differ from it."""
    text = record.expr.replace("\r\n", "\n")
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]}… sha256 {_digest(text)}"
    return Identity(
        file,
        None if record.id is None else canonical(record.id),
        text,
        record.given,
    )


def given_of(given: Any) -> str | None:
    """Return what identifies a case beside its text, in short; None if there is nothing."""
    return _digest(canonical(given)) if given else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class Tally(Counter[bytes]):
    """Counts of many things, each known by 64 bits of a hash."""

    def add(self, digest: bytes) -> int:
        """Count one more of what has this digest; gives how many there are now."""
        self[digest[:8]] += 1
        return self[digest[:8]]


def digest_of(text: Any) -> bytes:
    """A digest for a tally."""
    return hashlib.sha256(str(text).encode("utf-8", "surrogatepass")).digest()
