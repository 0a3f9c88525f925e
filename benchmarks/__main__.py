"""``python -m benchmarks``: measure the workloads and print the table."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.contest import Setting
from benchmarks.machine import cores, facts
from benchmarks.measuring import measure
from benchmarks.table import as_json, as_markdown, as_text
from benchmarks.workloads import KEYS, chosen


def main() -> None:
    options = _options()
    found = facts()
    print("; ".join(f"{name} {value}" for name, value in found.items()), end="\n\n", flush=True)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        setting = Setting(Path(folder), options.quick, options.threads, cores())
        for workload in chosen(options.only, setting):
            result = measure(workload, options.rounds, options.budget, options.quick, _say)
            print(as_text(result), flush=True)
            results.append(result)
    if options.json is not None:
        options.json.write_text(as_json(found, results), encoding="utf-8")
    if options.markdown is not None:
        options.markdown.write_text(as_markdown(found, results), encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure gradcli beside other libraries.")
    parser.add_argument("--only", type=_keys, default=KEYS, metavar="T1,T2", help=f"only these workloads, of {', '.join(KEYS)}")
    parser.add_argument("--rounds", type=int, metavar="N", help="samples of each contestant (default 7, quick: 2)")
    parser.add_argument("--budget", type=float, default=20.0, metavar="S", help="seconds after which a contestant has samples enough")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads of T1, T2, T3 and entries (T2: all cores, too)")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that everything works")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything that was measured")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables")
    options = parser.parse_args()
    options.rounds = options.rounds or (2 if options.quick else 7)
    return options


def _keys(text: str) -> tuple[str, ...]:
    keys = tuple(key.strip() for key in text.split(","))
    unknown = [key for key in keys if key not in KEYS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no workload is called {', '.join(unknown)}; there are {', '.join(KEYS)}")
    return keys


def _say(text: str) -> None:
    """Say what is going on, on a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
