"""``python -m benchmarks``: measure the workloads and print the table."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import group_table, table
from benchmarks.contest import Group, Setting, Workload
from benchmarks.kinds import KINDS
from benchmarks.machine import cores, facts, hold_to_avx2
from benchmarks.measuring import Result, measure
from benchmarks.workloads import KEYS, chosen


def main() -> None:
    options = _options()
    if options.avx2:
        hold_to_avx2()
    found = facts()
    print(_machine(found), end="\n\n", flush=True)
    plain: dict[str, Any] = {"machine": found, "workloads": [], "groups": []}
    tables = [_machine(found)]
    with tempfile.TemporaryDirectory() as folder:
        for entry in chosen(options.only, _setting(options, Path(folder))):
            results = list(_measured(entry, options))
            plain["workloads"] += map(table.data, results)
            if isinstance(entry, Group):
                plain["groups"].append(group_table.data(entry, results))
                tables.append(group_table.markdown(entry, results))
            else:
                tables += map(table.markdown, results)
    if options.json is not None:
        options.json.write_text(table.as_json(plain), encoding="utf-8")
    if options.markdown is not None:
        options.markdown.write_text("\n\n".join(tables) + "\n", encoding="utf-8")


def _measured(entry: Workload | Group, options: argparse.Namespace) -> Iterator[Result]:
    """Results of a workload, or of those of a group, shown as they come."""

    def result_of(workload: Workload) -> Result:
        return measure(workload, options.rounds, options.budget, options.quick, _say)

    if isinstance(entry, Workload):
        result = result_of(entry)
        print(table.as_text(result), flush=True)
        yield result
        return
    print(
        f"{entry.key}  {entry.title}",
        group_table.line(group_table.head(entry)),
        sep="\n",
        flush=True,
    )
    rows = []
    for workload in entry.workloads:
        result = result_of(workload)
        rows.append(group_table.row_of(entry, result))
        _say("")
        print(
            group_table.line(group_table.cells(rows[-1])),
            *group_table.noted(rows[-1]),
            sep="\n",
            flush=True,
        )
        yield result
    print(*(f"  {line}" for line in group_table.summary(entry, rows)), "", sep="\n", flush=True)


def _machine(found: dict[str, str]) -> str:
    return "; ".join(f"{name} {value}" for name, value in found.items())


def _setting(options: argparse.Namespace, folder: Path) -> Setting:
    counts = (options.threads,) if options.threads else tuple(dict.fromkeys((1, cores())))
    return Setting(
        folder,
        options.quick,
        options.threads or 1,
        cores(),
        counts,
        options.pick,
        options.peers,
        options.clock,
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure gradcli beside other libraries."
    )
    parser.add_argument(
        "--only",
        type=_keys,
        default=KEYS,
        metavar="T1,T2",
        help=f"only these workloads, of {', '.join(KEYS)}",
    )
    parser.add_argument(
        "--pick",
        type=_kinds,
        default=(),
        metavar="A,B",
        help=f"only these expressions of native: {', '.join(KINDS)}",
    )
    parser.add_argument(
        "--no-peers", dest="peers", action="store_false", help="native without PyTorch and JAX"
    )
    parser.add_argument(
        "--busy", dest="clock", action="store_const", const="process_time", default="perf_counter",
        help="native by the processor's time, on a machine that does other work: its threads' "
        "together, so --threads 1 is fair",
    )  # fmt: skip
    parser.add_argument(
        "--avx2",
        action="store_true",
        help="hold all libraries to AVX2, where they would use AVX-512",
    )
    parser.add_argument(
        "--rounds", type=int, metavar="N", help="samples of each contestant (default 7, quick: 2)"
    )
    parser.add_argument(
        "--budget",
        type=float,
        default=20.0,
        metavar="S",
        help="seconds after which a contestant has samples enough",
    )
    parser.add_argument(
        "--threads",
        type=int,
        metavar="N",
        help="threads of T1, T2, T3, entries (1; T2: all cores, too), native (1 and all)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, to see that everything works"
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write everything that was measured"
    )
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables")
    options = parser.parse_args()
    options.rounds = options.rounds or (2 if options.quick else 7)
    return options


def _keys(text: str) -> tuple[str, ...]:
    return _known(text, KEYS, "workload")


def _kinds(text: str) -> tuple[str, ...]:
    return _known(text, tuple(KINDS), "expression")


def _known(text: str, known: tuple[str, ...], what: str) -> tuple[str, ...]:
    keys = tuple(key.strip() for key in text.split(","))
    unknown = [key for key in keys if key not in known]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"no {what} is called {', '.join(unknown)}; there are {', '.join(known)}"
        )
    return keys


def _say(text: str) -> None:
    """Say what is going on, on a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
