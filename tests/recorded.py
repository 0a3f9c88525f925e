"""Files of data: tables of cases, a line each, and what no person reads, compressed (recorded
answers, schemas of others).
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parent / "data"


def read_json(name: str) -> Any:
    """What stands in a file of data/."""
    return json.loads(gzip.decompress((DATA / f"{name}.gz").read_bytes()))


def read_table(name: str) -> Any:
    """What stands in a file of data/ that people write: JSON."""
    return json.loads((DATA / name).read_text("utf-8"))


def read_lines(name: str | Path) -> list[Any]:
    """The lines of a file of data/ that people write: JSON Lines."""
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


def write(name: str, text: str) -> None:
    """Compress a text into a file of data/: the same bytes for the same text."""
    (DATA / f"{name}.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


LISTS: dict[str, Any] = read_table("lists.json")


def over(theme: str, table: str, *names: str) -> pytest.MarkDecorator:
    """Run a test over the cases of a table, lines of data/THEME.jsonl: of each what stands under
    these names, and in the test's name what it is `about`.
    """
    cases = [case for case in read_lines(f"{theme}.jsonl") if case["of"] == table]
    assert cases, f"data/{theme}.jsonl has no {table!r}"
    return pytest.mark.parametrize(
        names,
        [
            pytest.param(
                *(case[name] for name in names),
                id=str(case.get("about", case[names[0]]))[:80],
                marks=[pytest.mark.ci] * ("ci" in case),
            )
            for case in cases
        ],
    )
