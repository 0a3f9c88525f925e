"""Domains are words: the ranges in them, and what the references say inside and outside."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest
from domain_words import BEYOND, OF_MATRICES, borders, contains, ranges

from gradcli import GradcliError
from gradcli.check.judge import Reals
from gradcli.ops.registry import composites, record_named, registry
from gradcli.ops.spec import REQUIRED, Composite, Op
from gradcli.reference.algebra import Numbers, Unsupported, number
from gradcli.reference.tape import exact_array

M = mpmath.MPContext()
M.dps = 30

INF = float("inf")
RANGES: list[tuple[str, list[dict[str, tuple[float, float]]]]] = [
    ("-1 <= x <= 1", [{"x": (-1, 1)}]), ("0 < x <= 1", [{"x": (0, 1)}]), ("x < 2", [{"x": (-INF, 2)}]),
    ("y > 0, or x = 0", [{"y": (0, INF)}, {"x": (0, 0)}]), ("x >= 0, or v an integer", [{"x": (0, INF)}, {}]),
    ("a > 0 and x >= 0", [{"a": (0, INF), "x": (0, INF)}]), ("x > 0, x is not 1", [{"x": (0, INF)}]),
    ("n > -1 and -1 < k < n + 1", [{"n": (-1, INF), "k": (-1, INF)}]), ("x is not k*pi", []), ("a "
    "regular matrix", []), ("", []),
]  # fmt: skip


@pytest.mark.parametrize(("domain", "found"), RANGES, ids=[words for words, _ in RANGES])
def test_ranges_in_words(domain: str, found: list[dict[str, tuple[float, float]]]) -> None:
    assert ranges(domain) == found


MEMBERS: list[tuple[str, dict[str, float], bool]] = [
    ("log", {"x": 0.0}, False), ("sqrt", {"x": 0.0}, True), ("asin", {"x": 1.0}, True), ("asin", {"x": 1.5}, False),
    ("gamma", {"x": -2.0}, False), ("gamma", {"x": -2.5}, True), ("gamma", {"x": 2.0}, True), ("tan", {"x": math.pi / 2}, True),
    ("csc", {"x": 0.0}, False), ("csc", {"x": math.pi}, True), ("pow", {"x": -2.0, "y": 3.0}, True), ("pow", {"x": -2.0, "y": 0.5}, False),
    ("pow", {"x": 0.0, "y": -1.0}, False), ("atan2", {"y": 0.0, "x": 0.0}, False), ("atan2", {"y": 0.0, "x": -1.0}, True),
    ("jv", {"x": -1.0, "v": 2}, True), ("jv", {"x": -1.0, "v": 0.5}, False), ("xlogy", {"x": 0.0, "y": -1.0}, True),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "point", "inside"), MEMBERS, ids=[f"{name} at {point}" for name, point, _ in MEMBERS]
)
def test_what_belongs_to_it(name: str, point: dict[str, float], inside: bool) -> None:
    """Floats have no multiple of pi but 0."""
    assert contains(record_named(name), point) is inside


POINTS = (
    0.0,
    1.0,
    -1.0,
    2.0,
    -2.0,
    0.5,
    -0.5,
    1.5,
    -1.5,
    3.0,
    -3.0,
    -4.0,
    -5.0,
    -5.5,
    0.25,
    0.75,
    -0.75,
    1e-8,
    -1e-8,
    7.25,
    -7.25,
    20.0,
)
SCALARS = [
    op for op in registry().values() if op.elementwise and op.result == "float" and not op.optional
]


def finite(value: Any) -> bool:
    return bool(M.isfinite(value))


@pytest.mark.parametrize("op", SCALARS, ids=lambda op: op.name)
def test_the_reference_has_real_values_inside_and_none_outside(op: Op) -> None:
    """At an end that belongs to it the value may be infinite; where the derivative alone is
    missing, it has a kink.
    """
    inside = 0
    for point in (
        itertools.product(POINTS, repeat=len(op.operands))
        if len(op.operands) < 3
        else [(1.0,) * len(op.operands)]
    ):
        values = {**dict(zip(op.operands, point, strict=True)), **op.static}
        value = number(M, op, op.static, *[M.mpf(x) for x in point])
        if contains(op, values):
            inside += 1
            there = finite(value) or (borders(op, values) and value == value)
            assert there, (
                f"{op.name} is {value} at {point}, which belongs to its domain: "
                f"{op.domain or 'everywhere'}"
            )
        elif op.name not in BEYOND and not any(
            kink.where(*point, **op.static) for kink in op.kinks
        ):
            assert not finite(value), (
                f"{op.name} is {float(value)!r} at {point}, outside of its domain: {op.domain}"
            )
    assert inside


GIVEN = {"p": 2, "a": 1.5, "b": 0.5, "c": 1.5}  # what has no default
MADE = [record for record in composites().values() if record.domain]


def of_scalars(record: Composite) -> bool:
    return (
        not record.variadic
        and "reduction" not in record.static
        and record.domain not in OF_MATRICES
    )


@pytest.mark.parametrize(
    "record", [record for record in MADE if of_scalars(record)], ids=lambda record: record.name
)
def test_what_is_made_of_operations_has_real_values_inside_and_none_outside(
    record: Composite,
) -> None:
    static = {
        name: GIVEN[name] if value is REQUIRED else value for name, value in record.static.items()
    }
    needed = [name for name in record.operands if name not in record.optional]
    algebra, inside = Numbers(M), 0
    for point in (
        itertools.product(POINTS, repeat=len(needed))
        if len(needed) < 3
        else [(x,) * len(needed) for x in (2.0, 0.5)]
    ):
        carried = [Reals(algebra, exact_array(M, np.asarray(x), "float")) for x in point]
        found = record(*carried, **static)
        value = (found[0] if isinstance(found, tuple) else found).array[()]
        if contains(record, {**dict(zip(needed, point, strict=True)), **static}):
            inside += 1
            assert finite(value), (
                f"{record.name} is {value} at {point}, which belongs to its domain: {record.domain}"
            )
        elif record.name not in BEYOND:
            assert not finite(value), (
                f"{record.name} is {float(value)!r} at {point}, outside of its domain: "
                f"{record.domain}"
            )
    assert inside


GOOD = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 5.0]])
SINGULAR = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.0, 1.0, 1.0]])
INDEFINITE = np.diag([1.0, -2.0, 3.0])
NO_DIAGONAL = GOOD * (1 - np.eye(3))
MATRICES = {
    "good": GOOD,
    "singular": SINGULAR,
    "indefinite": INDEFINITE,
    "skew": GOOD + np.triu(GOOD, 1),
    "hollow": NO_DIAGONAL,
    "dependent": SINGULAR.T,
}
OF_MATRICES = [op for op in registry().values() if op.domain in OF_MATRICES]


@pytest.mark.parametrize("op", OF_MATRICES, ids=lambda op: op.name)
@pytest.mark.parametrize("kind", MATRICES)
def test_functions_of_matrices_have_values_inside_and_none_outside(op: Op, kind: str) -> None:
    operands = {name: MATRICES[kind] if name == "x" else np.ones((3, 2)) for name in op.operands}
    arrays = [exact_array(M, value, "float") for value in operands.values()]
    try:
        found = Numbers(M).apply(op, op.static, arrays)
        there = all(
            finite(v)
            for part in (found if isinstance(found, tuple) else (found,))
            for v in np.ravel(part)
        )
    except (Unsupported, GradcliError):
        there = False
    inside = contains(op, operands)
    assert there or not inside, (
        f"{op.name} has no value of the {kind} matrix, which belongs to its domain: {op.domain}"
    )
    assert inside or op.name in BEYOND or not there, (
        f"{op.name} has a value of the {kind} matrix, outside of its domain: {op.domain}"
    )


def test_every_matrix_tells_domains_apart() -> None:
    """No condition holds everywhere, or nowhere."""
    for op in OF_MATRICES:
        held = {contains(op, {"x": x}) for x in MATRICES.values()}
        assert held == {True, False}, op.name


MANY = "erfinv(a)*asin(b)*acosh(c)*atanh(d)*asech(f)*acoth(g)*log1p(h)*asec(k)"


def test_names_without_values_are_tried_in_the_domains_of_many_operations(call_cli: Any) -> None:
    """By chance hardly any point lies in all of them."""
    done = call_cli("check", "-e", MANY)
    assert done.returncode == 0, done.stdout + done.stderr
