"""Programs of arrays give by native code what they give by NumPy: values, gradients, NaN and
infinities, on any number of threads.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from helpers import thinned
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import LISTS
from witness.array_programs import ArrayProgram

import gradcli
from gradcli.plans.native import compiler

pytestmark = pytest.mark.skipif(compiler.find_compiler() is None, reason="no C compiler")

Shapes = dict[str, Any]
EXTENTS = (
    (1, 1, 1),
    (2, 3, 2),
    (7, 5, 3),
    (17, 33, 2),
    (31, 1, 7),
    (64, 64, 4),
    (97, 101, 3),
    (1, 257, 2),
    (0, 3, 2),
    (4099, 3, 1),
    (5, 701, 2),
)
UNUSUAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e300, -1e300, 1e-310)
ROWS = {"x": (1500, 30), "w": (30,), "b": (1500, 1)}

TEXTS = LISTS["native programs"]


@pytest.mark.parametrize("case", thinned(TEXTS, every=6))
def test_programs_are_worth_what_numpy_says(case: str) -> None:
    assert not (wrong := differences(*TEXTS[case])), wrong


@settings(max_examples=12, deadline=None, database=None, derandomize=True)
@given(random=st.randoms(use_true_random=True), extents=st.sampled_from(EXTENTS))
def test_random_programs_are_worth_what_numpy_says(
    random: Random, extents: tuple[int, ...]
) -> None:
    program = ArrayProgram(random, extents, 4)
    wrong = differences(program.text, program.shapes)
    assert not wrong, f"{program.text} for {program.shapes}: {wrong}"


@pytest.mark.parametrize(
    "text", ["sum(take_along_axis(x, t[:, None], axis=1)**2)", "cross_entropy(x, t)"]
)
def test_indices_are_counted_and_refused_as_numpy_does(text: str) -> None:
    x, t = np.random.default_rng(0).normal(size=(3000, 7)), np.zeros(3000, int)
    for index in (6, -1, -7, 7, -8, 10**12):
        t[5] = index
        found = []
        for backend in ("numpy", "native"):
            try:
                value, grads = gradcli.value_and_grad(text, backend=backend)(x=x, t=t)
                found.append((round(float(value), 6), grads["x"].round(9).tolist()))
            except (gradcli.GradcliError, IndexError) as error:
                found.append(str(error))
        assert found[0] == found[1], index


def differences(
    text: str, shapes: Shapes, dtype: str = "float64", tolerance: float = 1e-10
) -> list[str]:
    """In what native code differs from NumPy, in words."""
    random = np.random.default_rng(len(text))
    found: list[str] = []
    try:
        by_numpy = gradcli.value_and_grad(text, backend="numpy", dtype=dtype)
        native = [
            gradcli.value_and_grad(text, backend="native", dtype=dtype, threads=count)
            for count in (1, 2, 5)
        ]
        for kind, change in KINDS.items():
            values = {name: changed(random, shape, change, dtype) for name, shape in shapes.items()}
            if "seed" in values:
                values["seed"] = np.nan_to_num(values["seed"], posinf=0, neginf=0).astype(dtype)
            wanted = by_numpy(**values)
            got = [function(**values) for function in native]
            if any(bits(other) != bits(got[0]) for other in got[1:]):
                found.append(f"{kind}: threads change bits")
            named = zip(
                ["value", *wanted[1]],
                [wanted[0], *wanted[1].values()],
                [got[0][0], *got[0][1].values()],
                strict=True,
            )
            found += [
                f"{kind}: {name} {said}"
                for name, want, have in named
                if (said := difference(have, want, tolerance))
            ]
            out = {
                name: np.full_like(slope, 7) for name, slope in wanted[1].items() if np.ndim(slope)
            }
            if bits(native[1](**values, out=out)) != bits(got[0]):
                found.append(f"{kind}: given arrays take other bits")
    except gradcli.GradcliError as error:
        if "of no entries" not in error.message:  # the largest of none
            raise
    return found


def changed(random: np.random.Generator, shape: Any, change: Any, dtype: str) -> Any:
    """Values of a name: labels are as they are."""
    if shape == "labels":
        return random.integers(0, 5, 3001)
    return change(random, np.asarray(random.normal(size=shape), dtype))


def _unusual(random: np.random.Generator, array: np.ndarray) -> np.ndarray:
    if array.size:
        with np.errstate(all="ignore"):
            array.reshape(-1)[random.integers(0, array.size, 1 + array.size // 50)] = random.choice(
                UNUSUAL
            )
    return array


def _in_other_places(random: np.random.Generator, array: np.ndarray) -> np.ndarray:
    if not array.ndim:
        return array
    if random.random() < 0.3:  # at addresses that floats cannot have
        odd = np.empty(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
        odd[...] = array
        return odd
    room = np.empty((2 * array.shape[0] + 1, *array.shape[1:]), array.dtype)[
        : 2 * array.shape[0] : 2
    ][::-1]
    room[...] = array
    return room if random.random() < 0.5 else np.asfortranarray(array)


KINDS: dict[str, Any] = {
    "usual values": lambda random, array: array,
    "ties": lambda random, array: np.round(2 * array) / 2,
    "unusual values": _unusual,
    "other memory": _in_other_places,
    "whole numbers": lambda random, array: np.round(3 * array).astype(int),
}


def bits(result: tuple[Any, dict[str, Any]]) -> list[bytes]:
    return [np.asarray(part).tobytes() for part in (result[0], *result[1].values())]


def difference(got: Any, want: Any, tolerance: float) -> str | None:
    """What is wrong with an array:

    NaN and infinities are the same, numbers equal to rounding of the largest.
    """
    if type(got) is not type(want) or np.shape(got) != np.shape(want) or got.dtype != want.dtype:
        return (
            f"is {type(got).__name__} {np.shape(got)}, not {type(want).__name__} {np.shape(want)}"
        )
    got, want = np.asarray(got, float), np.asarray(want, float)
    finite = np.isfinite(want)
    if (
        not np.array_equal(got[~finite], want[~finite], equal_nan=True)
        or not np.isfinite(got[finite]).all()
    ):
        return "is not finite elsewhere"
    if not finite.any():
        return None
    off = float(np.abs(got[finite] - want[finite]).max())
    most = tolerance * max(float(np.abs(want[finite]).max()), 1e-3)
    return f"is off by {off:.1e}, more than {most:.1e}" if off > most else None
