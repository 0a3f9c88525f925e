"""``python -m golden record [FILE]`` and ``python -m golden compare [KIND ...]``, in tests/.

Recording asks every recorded question again, and those of a file: lines of JSON, each a kind and a
question, which is an `argv` with perhaps a `stdin`, or `python`.
"""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path
from typing import Any

from golden.answers import ask, difference

FILE = Path(__file__).parent / "answers.json.xz"


def main(words: list[str]) -> int:
    if words[:1] == ["record"]:
        asked = [[kind, question] for kind, question, _ in recorded()]
        for name in words[1:]:
            asked += map(json.loads, Path(name).read_text("utf-8").splitlines())
        rows = [[kind, question, ask(question)] for kind, question in asked]
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        FILE.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
        print(f"{len(rows)} answers, {FILE.stat().st_size:,} bytes")
        return 0
    if words[:1] != ["compare"]:
        print(__doc__, file=sys.stderr)
        return 2
    differ = 0
    rows = [row for row in recorded() if not words[1:] or row[0] in words[1:]]
    for kind, question, was in rows:
        found = difference(was, json.loads(json.dumps(ask(question))))
        if found is not None:
            differ += 1
            print(f"{kind}: {question}\n    {found[:1000]}", flush=True)
    print(f"{len(rows)} asked, {differ} differ")
    return int(differ > 0)


def recorded() -> list[Any]:
    """Every golden as its kind, its question and its answer."""
    return [json.loads(line) for line in lzma.decompress(FILE.read_bytes()).decode().splitlines()]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
