"""A process of the fuzzer: runs the trials of every so many numbers, and says of each when it
begins and how it ended.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parent.parent))  # where the tests' own modules are

from fuzz.generating import trial
from fuzz.trials import Ending, Trial
from fuzz.trying import expected, smallest, tried

MOST = 6 << 30  # bytes of memory that a process may ask for
# seconds of the processor after which the system ends a process in the middle of a trial, whatever
# holds it
STUCK = 60.0
_DETAIL = re.compile(r"0x[0-9a-f]+|\d+(\.\d+)?(e[+-]?\d+)?")


def say(what: dict[str, object]) -> None:
    os.write(3, json.dumps(what).encode() + b"\n")


def codes_of(ending: Ending, was: Trial) -> Counter[str]:
    """How many records have which error, or none."""
    if "jsonl" not in was.arguments or not ending.out:
        return Counter([f"exit {ending.code}"])
    found: Counter[str] = Counter()
    for line in ending.out.split("\n"):
        match = re.search(r'"error": \{"code": "([a-z-]+)"', line)
        found[match[1] if match else "ok"] += bool(line)
    return found


def what_of(kind: str, complaint: str) -> str:
    """A failure without its numbers and texts: failures alike are told once."""
    return f"{kind}: {_DETAIL.sub('#', complaint)[:110]}"


def main(seed: int, first: int, step: int, seconds: float) -> int:
    os.dup2(1, 3)  # what the trials print goes elsewhere
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    resource.setrlimit(resource.RLIMIT_AS, (MOST, MOST))
    os.environ.update(
        NO_COLOR="1", TERMINAL_WIDTH="80", GRADCLI_CACHE_DIR=tempfile.mkdtemp(prefix="fuzz")
    )
    for name in ("GITHUB_ACTIONS", "FORCE_COLOR", "GRADCLI_TRACEBACK", "CI"):
        os.environ.pop(name, None)
    until = time.monotonic() + seconds
    sentinel = expected()
    number = first
    told: set[str] = set()
    while time.monotonic() < until:
        was = trial(seed, number)
        say({"began": number})
        signal.setitimer(signal.ITIMER_PROF, STUCK)
        ending, found = tried(was, sentinel, Random(f"{seed}:{number}:again"))
        signal.setitimer(signal.ITIMER_PROF, 3 * STUCK)
        said: dict[str, object] = {
            "kind": was.kind,
            "inputs": was.inputs,
            "codes": codes_of(ending, was),
        }
        if found:
            what, part = what_of(was.kind, found[0]), was
            if what not in told:
                told.add(what)
                part, again = smallest(was, sentinel)
                found = again if again[0] != "failed once, and not again" else found
            said["failures"] = [
                {
                    "seed": seed,
                    "number": number,
                    "what": what,
                    "said": found,
                    "trial": part.as_json(),
                }
            ]
        say(said)
        if ending.grown > 1 << 30:
            return 10
        number += step
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])))
