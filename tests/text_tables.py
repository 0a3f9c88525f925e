"""Tables of texts: in each line a key and, after a bar, texts with semicolons between them."""

from __future__ import annotations

from pathlib import Path


def read_table(path: Path) -> dict[str, tuple[str, ...]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [line.partition(" |") for line in lines if not line.startswith("#")]
    return {
        key: tuple(texts.strip().split("; ")) if texts.strip() else () for key, _, texts in rows
    }
