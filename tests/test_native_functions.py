"""The functions of C that operations are written with (Text.c):

NumPy's at special values, within the records' bounds elsewhere.

All are compiled as loops over entries, with what vector registers the processor has, and without
the widest of them.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import platform
import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from flint import arb
from helpers import thinned

from gradcli.ops.registry import find, registry
from gradcli.ops.spec import Op
from gradcli.ops.text import number_in_c
from gradcli.plans.native.program import functions_in_c
from gradcli.reference.ball import as_arb
from gradcli.reference.balls import Balls
from gradcli.reference.contexts import Undecidable

pytestmark = pytest.mark.ci  # every operation, compiled several times

FLAGS = (
    "-O3", "-march=native", "-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off",
    "--param=vect-epilogues-nomask=0",
)  # fmt: skip
WITHOUT = (
    ((), ("-mno-avx512f",), ("-mno-avx",)) if platform.machine() in ("x86_64", "AMD64") else ((),)
)
EXPONENTS = (-63.0, -7.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 5.0, 6.0, 15.0, 32.0, 63.0, 2.5)
BASES = (2.0, 10.0, 1.05, 0.97, 1e-300, 1.0, 0.0, -2.0)
COUNT, UNIT = 240, 2.0**-53
STATIC: dict[str, tuple[dict[str, Any], ...]] = {  # beside the defaults
    "exp_square": ({"c": -0.5}, {"c": 0.5}),
    "softplus": ({"beta": 3, "threshold": 20.0}, {"beta": 0.5}),
}
CASES = [
    (op, {**op.static, **given})
    for op in registry().values()
    if op.elementwise and op.c
    for given in ({}, *STATIC.get(op.name, ()))
]
NAMES = [op.name + "".join(f"-{value}" for value in static.values()) for op, static in CASES]
SPECIAL = [0.0, 1.0, 0.5, 1.5, 2.0, 2.5, 3.0, 6.0, 30.0, 38.0, 40.0, 1e-9, 1e5]
EDGES = {
    "float64": [5e-324, 1e-310, 709.0, 711.0, 744.0, 746.0, 1e300],
    "float32": [1e-45, 1e-40, 88.0, 90.0, 103.0, 105.0, 1e30],
}
SCALAR = {"fmod", "remainder", "floor_divide"}  # one number at a time, as the C library has them
COPIES = {"positive", "to_float"}
LOOPS = "loops"  # the compiler's report


def special(dtype: str) -> np.ndarray:
    limits = np.finfo(dtype)
    sizes = np.array([*SPECIAL, *EDGES[dtype], limits.tiny, limits.max, np.inf], dtype)
    return np.array([*sizes, *-sizes, np.nan], dtype)


def is_measured(op: Op, static: dict[str, Any]) -> bool:
    """Whether the record's bound holds: not for parameters with which an operand of a part is
    rounded.
    """
    return op.result == "float" and static.get("beta") != 3 and op.name != "chain"


def written(op: Op, static: dict[str, Any], at: int) -> str:
    """A function of C that applies an operation's text in a loop."""
    template = op.in_c((True,) * len(op.operands), **static)
    names = [
        f"x{i}[i]" if (op.name, i) != ("where", 0) else f"(x{i}[i] != 0)"
        for i in range(len(op.operands))
    ]
    arguments = ", ".join(f"const real *restrict x{i}" for i in range(len(names)))
    return (
        f"void f{at}(long n, {arguments}, real *restrict out) {{\n"
        '  _Pragma("omp simd") for (long i = 0; i < n; i++) out[i] = '
        f"{template.format(*names)};\n}}\n"
    )


def powers() -> str:
    """Powers of which one operand is known when the program is compiled."""
    head = (
        'void {name}(long n, const real *restrict x, real *restrict out) {{ _Pragma("omp '
        'simd") for (long i = 0; i < n; i++) '
    )
    template = "out[i] = " + find("pow").in_c((True, True)) + ";"
    texts = [template.format("x[i]", number_in_c(number)) for number in EXPONENTS]
    texts += [template.format(number_in_c(number), "x[i]") for number in BASES]
    return "".join(
        head.format(name=f"p{place}") + text + " }\n" for place, text in enumerate(texts)
    )


class Library(NamedTuple):
    """The operations in C, as they are compiled for a dtype, and where."""

    code: ctypes.CDLL
    dtype: str
    folder: Path


def compiled(folder: Path, dtype: str, flags: Sequence[str]) -> Library:
    source = folder / "functions.c"
    source.write_text(
        functions_in_c(dtype)
        + "".join(written(op, static, at) for at, (op, static) in enumerate(CASES))
        + powers()
    )
    library = folder / "functions.so"
    subprocess.run(
        ["cc", *flags, "-shared", "-fPIC", "-o", str(library), str(source), "-lm"],
        check=True,
        timeout=600,
    )
    return Library(ctypes.CDLL(str(library)), dtype, folder)


def applied(library: Library, at: int, operands: Sequence[np.ndarray]) -> np.ndarray:
    out = np.empty_like(operands[0])
    getattr(library.code, f"f{at}")(
        ctypes.c_long(out.size), *(ctypes.c_void_p(a.ctypes.data) for a in (*operands, out))
    )
    return out


DOUBLE = [("float64", flags) for flags in WITHOUT]
SINGLE = [("float32", flags) for flags in sorted({WITHOUT[0], WITHOUT[-1]})]


def named(params: Any) -> str:
    return f"{params[0]} {' '.join(params[1]) or 'native'}"


@pytest.fixture(scope="module", params=DOUBLE + SINGLE, ids=named)
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Of single precision with the compiler's report."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    folder, (dtype, without) = tmp_path_factory.mktemp("native"), request.param
    version = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=True).stdout
    told: tuple[str, ...] = ()
    if dtype == "float32" and "Free Software Foundation" in version:
        told = (f"-fopt-info-vec-note={folder / LOOPS}", "-fno-ipa-icf", "-O2", "-ftree-vectorize",
                "-fvect-cost-model=dynamic")  # fmt: skip
    return compiled(folder, dtype, (*FLAGS, *told, *without))


in_double = pytest.mark.parametrize("library", DOUBLE, indirect=True, ids=named)
in_single = pytest.mark.parametrize("library", SINGLE, indirect=True, ids=named)


def unlike_numpy(library: Library, at: int) -> list[tuple[Any, ...]]:
    """The special values at which an operation in C is not NumPy's, with what it is and what it
    should be.
    """
    op, static = CASES[at]
    count, values = len(op.operands), special(library.dtype)
    points = np.array(list(itertools.product(values if count < 3 else values[::3], repeat=count))).T
    operands = [np.ascontiguousarray(row) for row in points]
    with np.errstate(all="ignore"):
        taken = [operands[0] != 0, *operands[1:]] if op.name == "where" else operands
        # of whole arrays, chain makes signs of zeros depend on other entries
        whole = (
            [op.forward(*entry) for entry in zip(*taken, strict=True)]
            if op.name == "chain"
            else op.forward(*taken, **static)
        )
        wanted = np.asarray(whole, values.dtype)
    found = applied(library, at, operands)
    with np.errstate(all="ignore"):
        near = np.abs(found - wanted) <= 2 * op.ulps * np.maximum(
            np.spacing(np.abs(wanted)), np.spacing(np.abs(found))
        )
    right = (
        (found == wanted) & (np.signbit(found) == np.signbit(wanted))
        | np.isnan(found) & np.isnan(wanted)
        | (wanted != 0) & near
    )
    return [(*points[:, i], found[i], wanted[i]) for i in np.flatnonzero(~right)]


@pytest.mark.parametrize(
    "at", thinned((pytest.param(at, id=name) for at, name in enumerate(NAMES)), every=6)
)
def test_special_values(library: Library, at: int) -> None:
    assert unlike_numpy(library, at) == []


@pytest.mark.parametrize("at", thinned(pytest.param(at, id=name) for at, name in enumerate(NAMES)))
def test_results_do_not_depend_on_the_place_in_an_array(library: Library, at: int) -> None:
    """The last entries of a loop are computed in narrower registers, or by themselves."""
    with np.errstate(all="ignore"):
        operands = [
            tried(66, place).astype(library.dtype) for place in range(len(CASES[at][0].operands))
        ]
    whole = applied(library, at, operands)
    for width in (1, 3, 6):
        parts = [
            applied(library, at, [x[i : i + width].copy() for x in operands])
            for i in range(0, 66, width)
        ]
        assert np.array_equal(np.concatenate(parts), whole, equal_nan=True)


@in_double
@pytest.mark.parametrize(
    "place",
    range(len(EXPONENTS) + len(BASES)),
    ids=[f"x**{n}" for n in EXPONENTS] + [f"{b}**x" for b in BASES],
)
def test_powers_with_a_known_operand(library: Library, place: int) -> None:
    x = np.concatenate([special("float64"), tried(4000, place)])
    found = np.empty_like(x)
    getattr(library.code, f"p{place}")(
        ctypes.c_long(x.size), ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(found.ctypes.data)
    )
    with np.errstate(all="ignore"):
        wanted = (
            np.power(x, EXPONENTS[place])
            if place < len(EXPONENTS)
            else np.power(BASES[place - len(EXPONENTS)], x)
        )
        size = np.abs(wanted)
        near = np.abs(found - wanted) <= 2 * np.spacing(size)
    same = (found == wanted) & (np.signbit(found) == np.signbit(wanted)) | np.isnan(
        found
    ) & np.isnan(wanted)
    under = (size < 1e-300) & (size > 0) & (np.abs(found) < 1e-300)
    assert x[~(same | near | under)].size == 0


def tried(count: int, seed: int) -> np.ndarray:
    """Numbers of all magnitudes, of those that functions bend at, and beside whole numbers and
    multiples of pi/2.
    """
    rng = np.random.default_rng(seed)
    sign, steps = rng.choice([-1.0, 1.0], count), rng.integers(-3, 4, count)
    turns = np.rint(rng.uniform(-300, 300, count)) * (np.pi / 2)
    kinds = [
        rng.uniform(-10, 10, count), rng.uniform(-45, 45, count), rng.uniform(-750, 750, count), rng.normal(size=count),
        sign * 2.0 ** rng.uniform(-1020, 1020, count), sign * 2.0 ** rng.uniform(-30, 11, count),
        sign * (1 + 2.0 ** rng.uniform(-52, -1, count) * rng.choice([-1.0, 1.0], count)), turns + steps * np.spacing(turns),
    ]  # fmt: skip
    return np.ascontiguousarray(np.choose(rng.integers(0, len(kinds), count), kinds))


def true_values(op: Op, static: dict[str, Any], operands: Sequence[np.ndarray]) -> list[arb | None]:
    """By the record's reference, in balls; None where a result is no number, or so small or large
    that bounds do not hold.
    """
    balls = Balls(45)
    found: list[arb | None] = []
    with balls.working():
        for numbers in zip(*operands, strict=True):
            try:
                ball = as_arb(
                    op.reference(balls, *[balls.mpf(float(x)) for x in numbers], **static)
                )
            except (ArithmeticError, ValueError, Undecidable):
                found.append(None)
                continue
            size = abs(float(ball.mid())) if ball.is_finite() else math.inf
            known = (1e-300 < size < 1e300 and float(ball.rad()) < size * 1e-25) or ball == 0
            found.append(ball if known else None)
    return found


@cache
def measured(at: int) -> tuple[list[np.ndarray], list[tuple[int, arb]], np.ndarray]:
    """Operands, those true values of an operation that are known, and what they may be
    missed by.
    """
    op, static = CASES[at]
    operands = [tried(COUNT, 7 * at + place) for place in range(len(op.operands))]
    true = true_values(op, static, operands)
    known = [(i, ball) for i, ball in enumerate(true) if ball is not None]
    out = np.array([float(ball.mid()) if ball is not None else 0.0 for ball in true])
    with np.errstate(all="ignore"):
        rounds = op.rounding
        bound = rounds(np, np.abs(out), *operands, **static) * UNIT if callable(rounds) else 0.0
    return (
        operands,
        known,
        np.broadcast_to(np.maximum(bound, max(op.ulps, 0.5) * np.spacing(np.abs(out))), out.shape),
    )


@in_double
@pytest.mark.parametrize(
    "at",
    [at for at, (op, static) in enumerate(CASES) if is_measured(op, static)],
    ids=lambda at: NAMES[at],
)
def test_accuracy(library: Library, at: int) -> None:
    """Within the record's bound on errors, over the whole range."""
    operands, known, allowed = measured(at)
    found = applied(library, at, operands)
    assert len(known) > COUNT // 20
    with Balls(45).working():
        wrong = [
            (
                *(x[i] for x in operands),
                found[i],
                f"off by {float(abs(found[i] - ball).mid()) / np.spacing(abs(found[i])):.3g} units",
            )
            for i, ball in known
            if not math.isfinite(found[i])
            or not abs(arb(float(found[i])) - ball) <= float(allowed[i])
        ]
    assert not wrong


MANY, LARGEST = 40_000, float(np.finfo(np.float32).max)


def _sample(rng: np.random.Generator) -> np.ndarray:
    """Floats of all exponents, and more of those that functions bend at."""
    bits = rng.integers(0, 1 << 32, MANY, dtype=np.uint32).view(np.float32)
    usual = [rng.uniform(-size, size, MANY).astype(np.float32) for size in (1.1, 12.0, 100.0)]
    beside = 1 + rng.uniform(-(2.0**-10), 2.0**-10, MANY).astype(np.float32)
    return rng.permutation(np.concatenate([bits[np.isfinite(bits)], *usual, beside]))


@in_single
@pytest.mark.parametrize(
    "at",
    [at for at, (op, _) in enumerate(CASES) if op.result == "float" and op.ulps],
    ids=lambda at: NAMES[at],
)
def test_errors_are_within_the_bounds_of_records(library: Library, at: int) -> None:
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
                [np.nextafter(x, LARGEST) if i == j else x for j, x in enumerate(operands)]
                for i in range(len(operands))
            ]
            unit = unit + sum(
                np.abs(op.forward(*(x.astype(np.float64) for x in row), **static) - true)
                for row in beside
            )
        regular = (np.abs(true) >= np.finfo(np.float32).tiny) & (np.abs(true) <= LARGEST)
        ours, theirs = np.abs(found - true) / unit, np.abs(numpy - true) / unit
    # where a part of it overflows or underflows, NumPy's way is no better
    wrong = regular & ~(ours <= op.ulps) & ~(ours <= theirs + op.ulps)
    assert not wrong.any(), [
        (*(x[i] for x in operands), found[i], true[i], ours[i], theirs[i])
        for i in np.flatnonzero(wrong)[:3]
    ]


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_no_float_becomes_a_double_by_accident(tmp_path: Path) -> None:
    source = tmp_path / "header.c"
    source.write_text(functions_in_c("float32"))
    strict = ("-Wall", "-Wextra", "-Wno-unused-function", "-Wdouble-promotion", "-Werror")
    subprocess.run(["cc", *FLAGS, *strict, "-fsyntax-only", str(source)], check=True, timeout=600)


@in_single
def test_loops_are_carried_out_in_vector_registers(library: Library) -> None:
    folder = library.folder
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
