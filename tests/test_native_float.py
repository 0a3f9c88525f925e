"""The functions of C that operations are written with, in float32:

NumPy's at special values, and as accurate as the records say.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from helpers import thinned
from test_native_functions import CASES, FLAGS, NAMES, WITHOUT, applied, compiled, unlike_numpy

from gradcli.plans.native.program import functions_in_c

pytestmark = pytest.mark.ci  # every operation, compiled several times

MAX = float(np.finfo(np.float32).max)
LEAST = float(np.finfo(np.float32).tiny)
SPECIAL = np.array((
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.5, 2.0, 3.0, -3.0, 6.0, 1e-9, -1e-9, 1e-45, -1e-45, LEAST, 1e-40, -1e-40,
    88.0, 90.0, -88.0, -103.0, -105.0, 40.0, 1e5, -1e5, 1e30, -1e30, MAX, -MAX, float("inf"), float("-inf"), float("nan"),
), np.float32)  # fmt: skip
SCALAR = {
    "fmod",
    "remainder",
    "floor_divide",
}  # of the C library, which has them for one number at a time
COPIES = {"positive", "to_float"}
COUNT = 40_000
LOOPS = "loops"


@pytest.fixture(
    scope="module",
    params=sorted({WITHOUT[0], WITHOUT[-1]}),
    ids=lambda flags: " ".join(flags) or "native",
)
def library(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> ctypes.CDLL:
    """The operations in C, in a folder of their own with the compiler's report: xdist may ask for
    one twice.
    """
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("native")
    is_gcc = (
        "Free Software Foundation"
        in subprocess.run(["cc", "--version"], capture_output=True, text=True, check=True).stdout
    )
    told = (
        f"-fopt-info-vec-note={folder / LOOPS}",
        "-fno-ipa-icf",
        "-O2",
        "-ftree-vectorize",
        "-fvect-cost-model=dynamic",
    )
    return compiled(folder, "float32", (*FLAGS, *(told if is_gcc else ()), *request.param))


@pytest.mark.parametrize(
    "at", thinned((pytest.param(at, id=name) for at, name in enumerate(NAMES)), every=6)
)
def test_special_values(library: ctypes.CDLL, at: int) -> None:
    assert unlike_numpy(library, at, SPECIAL) == []


def _sample(rng: np.random.Generator) -> np.ndarray:
    """Floats of all exponents, and more of those that functions bend at."""
    bits = rng.integers(0, 1 << 32, COUNT, dtype=np.uint32).view(np.float32)
    usual = [rng.uniform(-size, size, COUNT).astype(np.float32) for size in (1.1, 12.0, 100.0)]
    beside = 1 + rng.uniform(-(2.0**-10), 2.0**-10, COUNT).astype(np.float32)
    return rng.permutation(np.concatenate([bits[np.isfinite(bits)], *usual, beside]))


@pytest.mark.parametrize(
    "at",
    [at for at, (op, _) in enumerate(CASES) if op.result == "float" and op.ulps],
    ids=lambda at: NAMES[at],
)
def test_errors_are_within_the_bounds_of_records(library: ctypes.CDLL, at: int) -> None:
    op, static = CASES[at]
    operands = [_sample(np.random.default_rng(at + i)) for i in range(len(op.operands))]
    size = min(map(len, operands))
    operands = [np.ascontiguousarray(operand[:size]) for operand in operands]
    wide = [operand.astype(np.float64) for operand in operands]
    with np.errstate(all="ignore"):
        true, numpy = (
            op.forward(*wide, **static),
            op.forward(*operands, **static).astype(np.float64),
        )
        found = applied(library, at, operands).astype(np.float64)
        scale = np.max(np.abs(wide), axis=0) if op.rounding == "operands" else np.abs(true)
        unit = np.exp2(np.floor(np.log2(scale)) - 23)
        if op.ulps > 4:  # only as good as operands that are off by a unit
            beside = [
                [np.nextafter(x, MAX) if i == j else x for j, x in enumerate(operands)]
                for i in range(len(operands))
            ]
            unit = unit + sum(
                np.abs(op.forward(*(x.astype(np.float64) for x in row), **static) - true)
                for row in beside
            )
        regular = (np.abs(true) >= LEAST) & (np.abs(true) <= MAX)
        ours, theirs = np.abs(found - true) / unit, np.abs(numpy - true) / unit
    # where a part of it overflows or underflows, NumPy's way is no better
    wrong = regular & ~(ours <= op.ulps) & ~(ours <= theirs + op.ulps)
    assert not wrong.any(), [
        (*(x[i] for x in operands), found[i], true[i], ours[i], theirs[i])
        for i in np.flatnonzero(wrong)[:3]
    ]


@pytest.mark.parametrize("at", range(len(CASES)), ids=NAMES)
def test_results_do_not_depend_on_places(library: ctypes.CDLL, at: int) -> None:
    """Vectors, shorter ones at the ends of loops, and single numbers: loops compute again what
    others are compared with.
    """
    rng = np.random.default_rng(at)
    operands = [rng.normal(scale=3, size=77).astype(np.float32) for _ in CASES[at][0].operands]
    whole = applied(library, at, operands)
    for start in (1, 8, 29, 60, 76):
        part = applied(library, at, [np.ascontiguousarray(operand[start:]) for operand in operands])
        assert np.array_equal(part, whole[start:], equal_nan=True)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_no_float_becomes_a_double_by_accident(tmp_path: Path) -> None:
    source = tmp_path / "header.c"
    source.write_text(functions_in_c("float32"))
    strict = ("-Wall", "-Wextra", "-Wno-unused-function", "-Wdouble-promotion", "-Werror")
    subprocess.run(["cc", *FLAGS, *strict, "-fsyntax-only", str(source)], check=True, timeout=600)


def test_loops_are_carried_out_in_vector_registers(library: ctypes.CDLL) -> None:
    folder = Path(library._name).parent
    report = folder / LOOPS
    if not report.exists():
        pytest.skip("the compiler does not tell")
    vectorized = {
        int(line)
        for line in re.findall(
            r"functions\.c:(\d+):\d+: note: vectorized [1-9]", report.read_text()
        )
    }
    lines = (folder / "functions.c").read_text().splitlines()
    places = {
        int(found[1]): number
        for number, line in enumerate(lines, 1)
        if (found := re.match(r"void f(\d+)\(", line))
    }
    scalar = {op.name for at, (op, _) in enumerate(CASES) if places[at] not in vectorized}
    assert scalar <= SCALAR | COPIES
