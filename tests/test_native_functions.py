"""The functions of C that operations are written with (Text.c): at special values they are what NumPy's are."""

from __future__ import annotations

import ctypes
import itertools
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradcli.ops.registry import registry

NATIVE = Path(__file__).parents[1] / "gradcli" / "plans" / "native"
FLAGS = ("-O3", "-march=native", "-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off")
STATIC: dict[str, tuple[dict[str, Any], ...]] = {  # beside the defaults
    "exp_square": ({"c": -0.5}, {"c": 0.5}),
    "hardtanh": ({"min_val": 0.0, "max_val": 6.0},),
    "leaky_relu": ({"negative_slope": 2.5},),
    "elu": ({"alpha": 2.0},),
    "celu": ({"alpha": 0.5}, {"alpha": -1.5}),
    "softplus": ({"beta": 3, "threshold": 20.0}, {"beta": 0.5}),
    "gelu": ({"approximate": "tanh"},),
    "nan_to_num": ({"nan": 2.0, "posinf": 1.0, "neginf": None}, {"nan": None, "posinf": float("inf"), "neginf": float("-inf")}),
}
CASES = [
    (op, {**op.static, **given}) for op in registry().values() if op.elementwise and op.text.c for given in ({}, *STATIC.get(op.name, ()))
]
MAX = float(np.finfo(np.float64).max)
SPECIAL = (
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.5, 2.0, 3.0, -3.0, 6.0, 1e-9, -1e-9, 5e-324, -5e-324, 2.2250738585072014e-308, 1e-310, -1e-310,
    709.0, 711.0, -709.0, -744.0, -746.0, 30.0, -30.0, 40.0, -38.0, 1e5, -1e5, 1e300, -1e300, MAX, -MAX,
    float("inf"), float("-inf"), float("nan"),
)  # fmt: skip


def written(op: Any, static: dict[str, Any], at: int) -> str:
    """A function of C that applies an operation's text in a loop."""
    template = op.text.in_c((True,) * len(op.operands), **static)
    names = [f"x{i}[i]" if (op.name, i) != ("where", 0) else f"(x{i}[i] != 0)" for i in range(len(op.operands))]
    arguments = ", ".join(f"const real *restrict x{i}" for i in range(len(names)))
    return (
        f"void f{at}(long n, {arguments}, real *restrict out) {{\n"
        f'  _Pragma("omp simd") for (long i = 0; i < n; i++) out[i] = {template.format(*names)};\n}}\n'
    )


def compiled(folder: Path, header: str, flags: Sequence[str]) -> ctypes.CDLL:
    source = folder / "functions.c"
    source.write_text((NATIVE / header).read_text() + "".join(written(op, static, at) for at, (op, static) in enumerate(CASES)))
    library = folder / "functions.so"
    subprocess.run(["cc", *flags, "-shared", "-fPIC", "-o", str(library), str(source), "-lm"], check=True, timeout=600)
    return ctypes.CDLL(str(library))


def applied(library: ctypes.CDLL, at: int, operands: Sequence[np.ndarray]) -> np.ndarray:
    out = np.empty_like(operands[0])
    getattr(library, f"f{at}")(ctypes.c_long(out.size), *(ctypes.c_void_p(a.ctypes.data) for a in (*operands, out)))
    return out


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    return compiled(tmp_path_factory.mktemp("native"), "double.h", FLAGS)


@pytest.mark.parametrize("at", range(len(CASES)), ids=[f"{op.name}{static or ''}" for op, static in CASES])
def test_special_values(library: ctypes.CDLL, at: int) -> None:
    op, static = CASES[at]
    count = len(op.operands)
    points = np.array(list(itertools.product(SPECIAL if count < 3 else SPECIAL[::3], repeat=count))).T
    operands = [np.ascontiguousarray(row) for row in points]
    with np.errstate(all="ignore"):
        taken = [operands[0] != 0, *operands[1:]] if op.name == "where" else operands
        # of whole arrays, chain makes signs of zeros depend on other entries
        whole = [op.forward(*entry) for entry in zip(*taken, strict=True)] if op.name == "chain" else op.forward(*taken, **static)
        wanted = np.asarray(whole, np.float64)
    found = applied(library, at, operands)
    with np.errstate(all="ignore"):
        near = np.abs(found - wanted) <= 2 * op.accuracy.ulps * np.maximum(np.spacing(np.abs(wanted)), np.spacing(np.abs(found)))
    right = (found == wanted) & (np.signbit(found) == np.signbit(wanted)) | np.isnan(found) & np.isnan(wanted) | (wanted != 0) & near
    wrong = [(*points[:, i], found[i], wanted[i]) for i in np.flatnonzero(~right)]
    assert not wrong
