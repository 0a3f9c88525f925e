"""The table of expressions that people train and fit with: every text is read and differentiated,
and figures are of the right things.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import gradcli

ROOT = Path(__file__).parent.parent
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("benchmarks are part of a checkout only", allow_module_level=True)
sys.path.append(str(ROOT))

from benchmarks import group_table  # noqa: E402
from benchmarks.contest import Group, InProcess, Run, Workload  # noqa: E402
from benchmarks.kinds import KINDS  # noqa: E402
from benchmarks.measuring import Result, Standing  # noqa: E402
from benchmarks.workloads.native import traffic  # noqa: E402


@pytest.mark.parametrize("key", KINDS)
def test_kinds(key: str) -> None:
    kind = KINDS[key]
    data = kind.arrays(8_000)
    value, gradients = gradcli.value_and_grad(kind.text, wrt=kind.wrt, dtype=kind.dtype)(data)
    assert value.dtype == kind.dtype
    assert np.isfinite(value)
    assert list(gradients) == list(kind.wrt)
    assert all(np.any(gradient) for gradient in gradients.values())
    assert max(array.size for array in data.values()) <= 8_000
    assert traffic(kind, 8_000) > 0


def nothing() -> Run:
    return dict


def group(rows: dict[str, tuple[float, float, float]]) -> tuple[Group, list[Result]]:
    """A table of these rows: seconds of ours and of two peers, beside memory at 1 GB in a second,
    of which each row moves 100 MB.
    """
    contestants = [
        InProcess(name=name, build=nothing, items=10**9)
        for name in ("ours", "plain", "one", "other", "copied")
    ]
    workloads = [Workload(key, key, contestants, traffic=10**8) for key in rows]
    results = []
    for workload, (ours, one, other) in zip(workloads, rows.values(), strict=True):
        samples = ([ours], [], [one], [other], [1.0])
        standings = [
            Standing(contestant, taken)
            for contestant, taken in zip(contestants, samples, strict=True)
        ]
        standings[0].first, standings[0].peak = 3 * ours, 2 * 10**8
        standings[1].note = "failed: not there"
        results.append(Result(workload, standings))
    table = Group(
        key="group",
        title="rows",
        workloads=workloads,
        ours="ours",
        plain="plain",
        peers=("one", "other"),
        memory="copied",
    )
    return table, results


def test_the_table_of_a_group() -> None:
    table, results = group(
        {"fast": (0.2, 0.8, 1.6), "slow": (0.5, 4.0, 0.25), "even": (0.4, 1.0, 1.0)}
    )
    rows = [group_table.row_of(table, result) for result in results]
    assert [row.ratio for row in rows] == [0.25, 2.0, 0.4]
    assert [row.share for row in rows] == [0.5, 0.2, 0.25]
    assert group_table.cells(rows[0]) == (
        "fast",
        "200 ms",
        "",
        "800 ms",
        "1.6 s",
        "0.25×",
        "600 ms",
        "400 ms",
        "2.00×",
        "50%",
    )
    assert group_table.summary(table, rows) == [
        "goal: none of 3 slower than a peer: fails (1 slower: slow 2.00×)",
        "goal: the median at most 0.5× the best peer: holds (0.40×)",
        "share of the bandwidth of copied memory: median 25%, from 20% to 50%",
    ]
    shown = group_table.markdown(table, results)
    assert "| slow | 500 ms |  | 4 s | 250 ms | 2.00× | 1.5 s | 1 s | 2.00× | 20% |" in shown
    assert shown.count("- plain: failed: not there") == 3


def test_a_group_without_peers() -> None:
    table, results = group({"alone": (0.2, 0.8, 1.6)})
    results[0].standings[2:4] = []
    row = group_table.row_of(table, results[0])
    assert (row.ratio, row.share) == (None, 0.5)
    assert group_table.summary(table, [row]) == [
        "share of the bandwidth of copied memory: median 50%, from 50% to 50%"
    ]
