"""``python -m tests.planting [WORD ...]``: every mistake, or those whose kind has one of the words,
and a table of who finds them.

It takes a quarter of an hour. The exit code is 1 if one is missed.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main(words: list[str]) -> int:
    sys.path.insert(0, str(Path(__file__).parent.parent))  # where the tests' own modules are
    from planting.everything import everything
    from planting.mistakes import table, tried

    findings = []
    for mistake in everything():
        if not words or any(word in mistake.kind for word in words):
            findings.append(tried(mistake))
            if findings[-1].by == "missed":
                print(f"missed: {mistake.kind} in {mistake.place}", flush=True)
            print(
                f"\r{len(findings):5d} {mistake.kind}: {mistake.place}"[:120].ljust(120),
                end="",
                file=sys.stderr,
            )
    print(file=sys.stderr)
    print(table(findings))
    return int(any(finding.by == "missed" for finding in findings))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
