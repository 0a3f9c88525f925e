"""Every sample prints what stands beside it, its verdicts are those expected of mathematics, and
its formulas hold.

A sample is samples/NAME.grad or samples/NAME.jsonl; NAME.out is what its command prints in a pipe,
results and messages together. A .grad file names its command in its heading; that of a .jsonl file
is "gradcli eval -f". ``python tests/test_samples.py`` writes the .out files anew.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import thinned

import gradcli

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = sorted(p for p in (ROOT / "samples").iterdir() if p.suffix in (".grad", ".jsonl"))

EXITS = {"nan_and_repair": 1, "records": 2}  # every other sample ends with 0

# Every verdict that is not "agree", by the query it belongs to.
VERDICTS = {
    "ill_conditioned": {
        "(1 - cos(x))/x**2": "ill-conditioned",
        "(b - sqrt(b**2 - 4))/2": "ill-conditioned",
    },
    "kinks": {"abs(x)": "kink", "relu(x)": "kink", "abs(v)": "kink", "max(tied)": "kink"},
    "nan_and_repair": {
        "sqrt(zero)": "undefined",
        "sqrt(sum(u**2))": "undefined",
        "norm(u)": "kink",
        "log(1 + exp(big))": "mismatch",
        "sin(t)/t": "undefined",
        "sum(p*log(p))": "undefined",
        "sum(xlogy(p, p))": "undefined",
    },
    "one_layer_network": {"F.binary_cross_entropy_with_logits(stepped, y) < loss": "skipped"},
}

sample = pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)


def arguments(path: Path) -> list[str]:
    """What the sample's heading says to type after ``gradcli``."""
    if path.suffix == ".jsonl":
        return ["eval", "-f", f"samples/{path.name}"]
    (command,) = re.findall(
        r"^# +gradcli ((?:eval|diff) .*)$", path.read_text("utf-8"), re.MULTILINE
    )
    return shlex.split(command)


def run(path: Path) -> subprocess.CompletedProcess[str]:
    unwanted = ("FORCE_COLOR", "CLICOLOR_FORCE", "GITHUB_ACTIONS", "GRADCLI_TRACEBACK")
    environment = {k: v for k, v in os.environ.items() if k not in unwanted}
    environment |= {"NO_COLOR": "1", "TERMINAL_WIDTH": "80", "PYTHONIOENCODING": "utf-8"}
    # the package under test, which need not be the one of the checkout that the samples are in
    environment |= {
        "PYTHONSAFEPATH": "1",
        "PYTHONPATH": str(Path(gradcli.__file__).resolve().parent.parent),
    }
    return subprocess.run(
        [sys.executable, "-m", "gradcli", *arguments(path)],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


# --- What is printed

NUMBER = re.compile(r"(?<![\w.])-?(?:\d+\.?\d*(?:e[+-]?\d+)?|inf|nan)(?![\w.])")
DIGITS = re.compile(r"\b(\d+) digits")


def skeleton(text: str) -> str:
    """The text without its numbers, without the remark that few digits are right, and without the
    blanks that line it up.
    """
    bare = NUMBER.sub("#", re.sub(r", \d+ digits\b", "", text))
    return re.sub(r" *([\[\],]) *", r"\1", re.sub(r" +", " ", bare))


def close(found: str, wanted: str) -> bool:
    """Whether two blocks of output differ by rounding only: to 1e-9, or to the digits for which
    they vouch if those are fewer.
    """
    digits = [int(n) for n in DIGITS.findall(found) + DIGITS.findall(wanted)]
    tolerance = max(1e-9, 10.0 ** (2 - min(digits, default=17)))
    x, y = ([float(n) for n in NUMBER.findall(DIGITS.sub("", text))] for text in (found, wanted))
    return len(x) == len(y) and np.allclose(x, y, rtol=tolerance, atol=0, equal_nan=True)


def test_numbers_are_compared_to_rounding():
    block = "value [ 0.1, 2.]\nx 1e-07 sin(x)**2 agree\ncheck agree, to 16 digits"
    assert close(block, block.replace("0.1", "0.10000000001"))
    assert not close(block, block.replace("0.1", "0.100001"))
    assert close(block.replace("16 digits", "4 digits"), block.replace("0.1", "0.100001"))
    assert skeleton(block) == skeleton(
        block.replace("[ 0.1,", "[0.10000000001,").replace("16 digits", "9 digits")
    )
    assert skeleton(block) != skeleton(block.replace("agree", "kink"))


@pytest.mark.parametrize(
    "found", sorted({p.stem for p in (ROOT / "samples").iterdir() if p.is_file()})
)
def test_a_sample_and_its_output_go_together(found):
    suffixes = {p.suffix for p in (ROOT / "samples").glob(f"{found}.*")}
    assert suffixes in (
        {".grad", ".out"},
        {".jsonl", ".out"},
        {".grad", ".out", ".py"},
    )  # the same in Python beside it


@sample
def test_output(call_cli, path):
    done = call_cli(*arguments(path), cwd=ROOT, together=True)
    wanted = path.with_suffix(".out").read_text("utf-8")
    for found, expected in zip_longest(
        done.stdout.split("\n\n"), wanted.split("\n\n"), fillvalue=""
    ):
        assert skeleton(found) == skeleton(expected)
        assert close(found, expected), f"found\n{found}\nwanted\n{expected}"
    assert done.returncode == EXITS.get(path.stem, 0)


# --- What is true


PRINTED: dict[Path, str] = {}


@pytest.fixture
def records(path: Path, call_cli: Any) -> list[dict[str, Any]]:
    """What a sample's command finds, as data."""
    if path not in PRINTED:
        formulas = [] if arguments(path)[0] == "diff" else ["--formula"]
        PRINTED[path] = call_cli(*arguments(path), "--format", "jsonl", *formulas, cwd=ROOT).stdout
    return [json.loads(line) for line in PRINTED[path].splitlines()]


@pytest.mark.parametrize("path", thinned(pytest.param(path, id=path.name) for path in SAMPLES))
def test_verdicts(path, records):
    judged = {
        r["expr"]: r["check"]["verdict"] for r in records if r["error"] is None and r.get("check")
    }
    assert {
        expr: verdict for expr, verdict in judged.items() if verdict != "agree"
    } == VERDICTS.get(path.stem, {})


@pytest.mark.ci
@sample
def test_asserts_hold_and_only_records_fail(path, records):
    assert [r["expr"] for r in records if r.get("assert") and not r["assert"]["holds"]] == []
    assert [r["id"] or r["expr"] for r in records if r["error"]] == (
        ["an error"] if path.stem == "records" else []
    )


if __name__ == "__main__":
    for each in SAMPLES:
        each.with_suffix(".out").write_text(run(each).stdout, "utf-8")
