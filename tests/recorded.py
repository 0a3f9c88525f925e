"""Files of data/: tables, and compressed what no person reads, recorded answers and schemas."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"


def read_json(name: str) -> Any:
    """What stands in a file of data/."""
    return json.loads(gzip.decompress((DATA / f"{name}.gz").read_bytes()))


def read_table(name: str) -> Any:
    """What stands in a file of data/ that people write: JSON."""
    return json.loads((DATA / name).read_text("utf-8"))


def read_lines(name: str) -> list[Any]:
    """The lines of a file of data/ that people write: JSON Lines."""
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


def write(name: str, text: str) -> None:
    """Compress a text into a file of data/: the same bytes for the same text."""
    (DATA / f"{name}.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


LISTS: dict[str, Any] = read_table("lists.json")
