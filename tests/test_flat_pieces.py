"""A slope that is zero on a whole piece stays zero under every function with an infinite slope,
whatever way it is computed.

What is flat, and what has an infinite slope, is found in the catalogue: by values beside the point
that are the same to the bit, and by slopes that are infinite where values are finite.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from recorded import read_table

import gradcli
from gradcli import GradcliError
from gradcli.ops.registry import composites, registry

POINTS = np.array([-7.3, -4.1, -2.4, -0.35, 0.2, 0.65, 1.3, 2.4, 7.3])
EDGES = np.array([-1.0, 0.0, 0.5, 1.0, 2.0])
BESIDE = (1.0, 1 - 1e-9, 1 + 1e-9, 1 - 1e-3, 1 + 1e-3)  # of what is flat, the values are the same
LISTED = read_table("flat_pieces.json")
FURTHER = [tuple(row) for row in LISTED["flat"]]  # what no call of one or two numbers shows
STEEP = [tuple(row) for row in LISTED["steep"]]  # slopes that are infinite beside functions of one


def _calls(kinds: Sequence[str]) -> Iterator[str]:
    """Functions of the catalogue, each as one of x: operations of these kinds, and what is made of
    operations and has kinks.
    """
    operations = [op for op in dict.fromkeys(registry().values()) if op.kind in kinds]
    made = [
        function
        for function in dict.fromkeys(composites().values())
        if function.kinks and not function.lists
    ]
    for record in (*operations, *(made if "piecewise" in kinds else [])):
        if not record.public or record.variadic:
            continue
        count = len(record.operands)
        if count == 1:
            yield f"{record.name}({{0}})"
        elif count == 2:
            yield from (f"{record.name}({{0}}, 1.5)", f"{record.name}(1.5, {{0}})")
        elif count == 3:
            yield f"{record.name}({{0}}, 0.5, 1.5)"


def _evaluated(text: str, x: np.ndarray) -> Any:
    """A function of one number at many; None of what is none."""
    try:
        found = gradcli.evaluate(
            text.format("x"),
            at={"x": x},
            seed=np.ones(x.shape),
            check=False,
            formula=False,
            wrt="x",
        )
    except (GradcliError, ArithmeticError):
        return None
    return found if np.shape(found.value) == x.shape and found.dtype == "float64" else None


@cache
def flat_pieces() -> list[tuple[str, float]]:
    """Functions with the first and last of the points around which they do not move."""
    found = []
    for text in dict.fromkeys(_calls(("flat", "piecewise"))):
        record = _evaluated(text, np.concatenate([POINTS * share for share in BESIDE]))
        if record is None:
            continue
        values, slopes = (
            np.reshape(part, (len(BESIDE), -1)) for part in (record.value, record.grad["x"])
        )
        at = POINTS[
            np.isfinite(values[0]) & (values == values[0]).all(axis=0) & (slopes == 0).all(axis=0)
        ]
        found += [(text, float(x)) for x in dict.fromkeys((*at[:1], *at[-1:]))]
    return found + FURTHER


@cache
def steep_places() -> list[tuple[str, float]]:
    """Functions with values at which their slopes are infinite and they are not."""
    found = []
    for text in dict.fromkeys(_calls(("smooth",))):
        record = _evaluated(text, EDGES)
        if record is not None:
            found += [
                (text, float(x))
                for x in EDGES[np.isfinite(record.value) & np.isinf(record.grad["x"])]
            ]
    return found + STEEP


def composed(outer: str, at: float, inner: str, x: float) -> str:
    """A function of a flat one, moved so that its value is where the outer one is steep."""
    moved = inner.format("x")
    value = float(
        np.ravel(gradcli.evaluate(moved, x=x, wrt="x", check=False, formula=False).value)[0]
    )
    shift = "" if value == at else f" - {value!r} + {at!r}"
    return outer.format(f"({moved}{shift})")


def pairs(every: int) -> list[tuple[str, float]]:
    """Each steep function of each flat one, or one of so many: any two functions that are next to
    each other in no list are apart by it.
    """
    chosen = list(itertools.product(steep_places(), flat_pieces()))[::every]
    return [(composed(outer, at, inner, x), x) for (outer, at), (inner, x) in chosen]


def _number(found: Any) -> float:
    return float(np.ravel(found)[0])


def _gradient(text: str, x: float, **options: Any) -> float:
    return _number(
        gradcli.evaluate(text, at={"x": x}, check=False, formula=False, **options).grad["x"]
    )


def _of_many(text: str, x: float) -> float:
    """By a plan on an array, of which each entry is the same."""
    found = gradcli.value_and_grad(f"sum({text})")({"x": np.full(3000, x)})[1]["x"]
    assert (found == found[0]).all() or np.isnan(found).all()
    return float(found[0])


WAYS = {
    "sweep": _gradient,
    "float32": lambda text, x: _gradient(text, x, dtype="float32"),
    "compiled": lambda text, x: _number(gradcli.value_and_grad(text)({"x": x})[1]["x"]),
    "jacobian": lambda text, x: _number(
        gradcli.evaluate(text, x=x, mode="jacobian", check=False, formula=False).jacobian["x"]
    ),
}


def test_the_catalogue_has_flat_pieces_and_steep_places() -> None:
    names = {text.split("(")[0] for text, _ in flat_pieces()}
    assert names >= {
        "relu",
        "clip",
        "maximum",
        "floor",
        "sign",
        "relu6",
        "hardswish",
        "hardsigmoid",
        "softshrink",
        "hardshrink",
    }
    assert {text.split("(")[0] for text, _ in steep_places()} >= {
        "sqrt",
        "cbrt",
        "asin",
        "acos",
        "acosh",
        "asech",
        "entr",
    }


def test_a_flat_piece_has_no_slope_under_a_steep_function() -> None:
    wrong = [
        f"{text} at {x}: {found}" for text, x in pairs(7) if (found := _gradient(text, x)) != 0
    ]
    assert not wrong, wrong[:10]


@pytest.mark.parametrize("way", WAYS)
def test_every_way_gives_zero(way: str) -> None:
    wrong = [
        f"{text} at {x}: {found}" for text, x in pairs(71) if (found := WAYS[way](text, x)) != 0
    ]
    assert not wrong, wrong[:10]


def test_the_judge_agrees() -> None:
    for text, x in pairs(149):
        check = gradcli.evaluate(text, x=x, formula=False).check
        assert check.variables["x"].verdict.word == "agree", f"{text} at {x}: {check}"


# -- by graphs of derivatives: what is flat, of itself and under others
# ----------------------------------------------

INNER = LISTED["inner"]


@pytest.mark.parametrize(("inner", "x"), INNER, ids=[row[0] for row in INNER])
@pytest.mark.parametrize(
    "text",
    [
        "grad(sqrt({0}), x)",
        "jvp(sqrt({0}), x, 1)",
        "jacobian(sqrt([{0}]), x)[0]",
        "grad(cbrt(2*({0})), x)",
    ],
)
def test_derivatives_inside_of_expressions(text: str, inner: str, x: float) -> None:
    assert gradcli.evaluate(text.format(inner), x=x, wrt="x", check=False, formula=False).value == 0


@pytest.mark.parametrize("mode", ["jvp", "hvp", "hessian"])
def test_modes_of_the_judge(mode: str) -> None:
    options = {"mode": "hessian"} if mode == "hessian" else {mode: {"x": 1.0}}
    for inner, x in INNER[:8]:
        record = gradcli.evaluate(f"sqrt({inner})", x=x, formula=False, **options)
        assert record.check.verdict.word == "agree", f"{mode} of sqrt({inner}): {record.check}"


def test_a_tangent_that_stays_zero_is_told_from_one_that_is_zero_here() -> None:
    x = np.array([-1.0, 4.0, -2.0])
    record = gradcli.evaluate(
        "sqrt(relu(x))", x=x, jvp={"x": np.ones(3)}, check=False, formula=False
    )
    np.testing.assert_array_equal(record.jvp, [0.0, 0.25, 0.0])
    for text, at in (
        ("sqrt(x**2)", 0.0),
        ("sqrt((relu(x) - 1)**2)", 1.0),
        ("sqrt(hardswish(x) + 0.375)", -1.5),
    ):
        for derivative in (f"grad({text}, x)", f"jvp({text}, x, 1)"):
            assert not math.isfinite(
                gradcli.evaluate(derivative, x=at, check=False, formula=False).value
            ), derivative
        assert not math.isfinite(_gradient(text, at)), text
    assert _gradient("sqrt(maximum(x, 0))", 0.0) == math.inf
    assert _gradient("sqrt(relu(x))", 1e-300) == pytest.approx(0.5e150)


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_large_arrays_of_pieces(backend: str) -> None:
    if backend == "native":
        pytest.importorskip("gradcli.plans.native.compiler")
    x = np.tile([-4.0, 0.5, 4.0], 20_000)
    text = "sum(sqrt(relu(x))) + sum(cbrt(minimum(x, 1) - 1)) + sum(sqrt(hardsigmoid(x)))"
    found = gradcli.evaluate(
        text, x=x, check=False, formula=False, backend="numpy" if backend == "numpy" else "auto"
    ).grad["x"]
    third = 0.5 / math.sqrt(0.5) + 1 / (3 * math.cbrt(-0.5) ** 2) + 1 / (12 * math.sqrt(3.5 / 6))
    np.testing.assert_allclose(
        found, np.tile([1 / (3 * math.cbrt(-5) ** 2), third, 0.25], 20_000), rtol=1e-12
    )


# -- tensors: as in PyTorch
# ------------------------------------------------------------------------------------------

TENSORS = {
    "relu": lambda t, x: t.nn.functional.relu(x), "clamp": lambda t, x: x.clamp(0, 5),
    "hardtanh": lambda t, x: t.nn.functional.hardtanh(x, 0, 5),
    "maximum": lambda t, x: t.maximum(x, t.zeros_like(x)), "where": lambda t, x: t.where(x > 0, x, t.zeros_like(x)),
    "threshold": lambda t, x: t.nn.functional.threshold(x, 0, 0), "hardswish": lambda t, x: t.nn.functional.hardswish(x - 3),
    "hardsigmoid": lambda t, x: t.nn.functional.hardsigmoid(x - 3), "softshrink": lambda t, x: t.nn.functional.softshrink(x + 0.5),
    "hardshrink": lambda t, x: t.nn.functional.hardshrink(x + 0.5), "floor": lambda t, x: t.floor(x) + 1, "power": lambda t, x: x**0 - 1,
    "amax": lambda t, x: t.stack([x, t.zeros_like(x)]).amax(0), "max": lambda t, x: t.stack([x, t.zeros_like(x)]).max(),
    "relu6": lambda t, x: t.nn.functional.relu6(x), "nan_to_num": lambda t, x: t.nan_to_num(t.log(x), nan=0.0),
    "norm": lambda t, x: t.linalg.vector_norm(t.stack([x, t.full_like(x, 9)]), ord=float("inf")) - 9,
}  # fmt: skip


def _by_tensors(torch: Any, name: str) -> float:
    x = torch.tensor(-1.0, dtype=torch.float64, requires_grad=True)
    torch.sqrt(TENSORS[name](torch, x)).backward()
    return float(x.grad)


@pytest.mark.parametrize("name", TENSORS)
def test_tensors_choose_what_flows_back(name: str) -> None:
    assert _by_tensors(gradcli, name) == 0


@pytest.mark.parametrize("name", TENSORS)
def test_pytorch_has_zero_or_nothing(name: str) -> None:
    torch = pytest.importorskip("torch")
    found = _by_tensors(torch, name)
    assert found == 0 or (math.isnan(found) and name in ("amax", "norm", "nan_to_num"))
