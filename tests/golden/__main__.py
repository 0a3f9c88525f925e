"""``python -m golden record`` and ``python -m golden compare [KIND ...]``, in tests/."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

from golden.answers import ask, difference
from golden.questions import questions

FILE = Path(__file__).parent / "answers.json.gz"


def main(words: list[str]) -> int:
    if words == ["record"]:
        found = {
            kind: [[question, ask(question)] for question in some]
            for kind, some in questions().items()
        }
        text = "".join(
            f"{json.dumps([kind, *pair])}\n" for kind, pairs in found.items() for pair in pairs
        )
        FILE.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
        print(f"{sum(map(len, found.values()))} answers, {FILE.stat().st_size:,} bytes")
        return 0
    if words[:1] != ["compare"]:
        print(__doc__, file=sys.stderr)
        return 2
    asked = differ = 0
    for kind, question, was in recorded():
        if not words[1:] or kind in words[1:]:
            asked += 1
            found = difference(was, json.loads(json.dumps(ask(question))))
            if found is not None:
                differ += 1
                print(f"{kind}: {question}\n    {found[:1000]}", flush=True)
    print(f"{asked} asked, {differ} differ")
    return int(differ > 0)


def recorded() -> list[list[object]]:
    """Every golden as its kind, its question and its answer."""
    return [json.loads(line) for line in gzip.decompress(FILE.read_bytes()).decode().splitlines()]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
