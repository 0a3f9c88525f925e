"""The command line's contract: what is an expression, what is read, what is printed, and how it
ends.
"""

from __future__ import annotations

import json
from importlib.metadata import version

import numpy as np
import pytest

QUIET = ("--no-check", "--format", "jsonl")


@pytest.fixture
def records(call_cli):
    """Run gradcli eval and give its exit code and its JSON Lines records."""

    def run(*arguments, **options):
        done = call_cli("eval", *QUIET, *arguments, **options)
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]

    return run


def test_random_state(records):
    first, again, other = (
        records("rand(2)", "--random-state", n)[1][0]["value"] for n in ("0", "0", "1")
    )
    assert first == again == records("rand(2)")[1][0]["value"]
    assert first != other


def test_large_results_are_computed_into_their_files(records, tmp_path):
    x = np.random.default_rng(3).normal(size=300_000)
    np.save(tmp_path / "x.npy", x)
    arguments = ("x*exp(x)", "x=@x.npy", "--save", "x=out.npy", "--save", "value=value.npy")
    code, (record,) = records(*arguments)
    assert code == 0
    assert record["grad"] == {}
    np.testing.assert_allclose(
        np.load(tmp_path / "out.npy"), (1 + x) * np.exp(x), rtol=1e-14, atol=1e-15
    )
    np.testing.assert_allclose(np.load(tmp_path / "value.npy"), x * np.exp(x), rtol=1e-14)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.npy", "value.npy", "x.npy"]
    x[250_000] = -np.inf
    np.save(tmp_path / "x.npy", x)
    code, (record,) = records(*arguments)
    assert record["warnings"][0] == "'x' is -inf at index [250000]"
    assert np.load(tmp_path / "out.npy")[249_999] == pytest.approx(
        (1 + x[249_999]) * np.exp(x[249_999])
    )
    assert records(*arguments[:3], "x=no/such/folder.npy")[0] == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.npy", "value.npy", "x.npy"]


def test_version(call_cli):
    assert call_cli("--version").stdout == f"gradcli {version('gradcli')}\n"
