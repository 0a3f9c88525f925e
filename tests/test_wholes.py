"""What operations are on whole arrays in long double: held against the same in multi-precision
scalars, and without a line of the rules.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import mpmath
import numpy as np
import pytest
from call_graph import reached
from cases import EVERY
from helpers import lowered, thinned
from test_witnesses import every_rule

from gradcli.graph.nodes import Expr, reachable
from gradcli.language.scope import Scope
from gradcli.ops.extended import LONG_DOUBLE, NotCovered, Whole
from gradcli.ops.registry import find, registry
from gradcli.ops.spec import REQUIRED, Op
from gradcli.ops.wholes import solve_corrected
from gradcli.reference import long_double
from gradcli.reference.scalars import plain
from gradcli.reference.stand_ins import StandIns
from gradcli.reference.tape import ReferenceTape, exact_array

RANDOM = np.random.default_rng(17)
DIGITS = 40
CLOSE = {
    False: 1e-17,
    True: 1e-12,
}  # of the largest entry: a hundredth of what doubles have; where some of these compute


def from_scalars(scope: Scope, root: Expr, nodes: Sequence[Expr], seed: Any) -> list[Any]:
    """The value and the derivatives by the tape of scalars, as long doubles."""
    m = mpmath.MPContext()
    m.dps = DIGITS
    tape = ReferenceTape(m, {x: scope.values[x] for x in reachable([root]) if x.is_leaf}, "float64")
    y = tape.run(root, nodes)
    slopes = tape.slopes(y, exact_array(m, seed, "float"), nodes)
    return [_long(m, part) for part in (np.vectorize(plain, otypes=[object])(y), *slopes)]


def _long(m: Any, array: Any) -> Any:
    numbers = [LONG_DOUBLE(m.nstr(m.mpf(v), 25)) for v in np.ravel(array)]
    return np.array(numbers, LONG_DOUBLE).reshape(np.shape(array))


def differences(scope: Scope, root: Expr, nodes: Sequence[Expr], entry: float = 0.0) -> list[str]:
    """How far the reference in long double is from scalars: beyond a share of the largest entry."""
    seed = np.random.default_rng(3).uniform(0.5, 1.5, root.shape)
    leaves = {x: scope.values[x] for x in reachable([root]) if x.is_leaf}
    held = StandIns()
    found = long_double.reference(root, nodes, leaves, seed, "float64", held)
    assert not held.directions, "a rule stands in for a form"
    exact = from_scalars(scope, root, nodes, seed)
    told = []
    origins = [np.zeros(root.shape), *(scope.values[x] for x in nodes)]
    for name, got, wanted, origin in zip(
        ("value", *map(str, nodes)), found.results, exact, origins, strict=True
    ):
        off = np.abs(got - wanted)
        largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=0)
        same = (got == wanted) | (
            np.isnan(wanted) & (np.isnan(got) | np.isnan(origin))
        )  # what is no number has no derivative
        fits = off <= CLOSE[held.narrow] * largest
        if not np.all(same | fits):
            told.append(
                f"{name}: off by {np.max(off[~same & ~fits]):.1e}, more than is allowed of the "
                f"largest entry ({largest:.1e})"
            )
    return told


def has_form(op: Op) -> bool:
    """Tell whether it has a form: its own, or because it moves entries or makes whole numbers."""
    return op.extended is not None or (
        not op.elementwise and (op.moves or op.axes is not None or op.vjp is None)
    )


# which have no form, and are held along random directions
BY_DIRECTIONS = {
    "adjugate", "lower_median", "lu", "matrix_exp", "matrix_exp_jvp", "pinv", "qr_of_columns", "reversed_horner", "svd",
}  # fmt: skip


@functools.cache
def chosen_cases() -> list[Any]:
    """Of all cases, the first for each operation that has a form."""
    count: dict[str, int] = {}
    chosen = []
    for case in EVERY:
        _, root = lowered(case.text, case.values)
        if root.kind != "float":
            continue
        ops = {x.op for x in reachable([root]) if x.op is not None}
        if any(op.extended is None and op.name in BY_DIRECTIONS for op in ops):
            continue
        names = {op.name for op in ops if has_form(op)}
        if any(name not in count for name in names):
            chosen.append(case)
            for name in names:
                count[name] = count.get(name, 0) + 1
    return chosen


def test_what_programs_are_made_of() -> None:
    told = []
    for case in chosen_cases():
        scope, root = lowered(case.text, case.values)
        nodes = [scope.names[name] for name in case.values if scope.names[name].kind == "float"]
        told += [f"{case.text}: {text}" for text in differences(scope, root, nodes)]
    assert not told, "\n".join(told)


A = RANDOM.standard_normal((4, 4)) + 4 * np.eye(4)
B, C = RANDOM.standard_normal((4, 4)), RANDOM.standard_normal((3, 5))
PLACES = np.array([[0, 2, 2, 1, 0], [1, 1, 0, 2, 2]])
DIRECT = [
    ("det", (A,), {}),
    ("add_along", (RANDOM.standard_normal((2, 5)), PLACES), {"axis": 0, "shape": (3, 5)}),
    ("logcumsumexp", (C * 30,), {"axis": 1}),
    ("eigh", (A + A.T,), {"place": 1}),
    ("cholesky", (A @ A.T,), {}),
]  # fmt: skip


def applied(
    name: str, values: Sequence[Any], static: dict[str, Any]
) -> tuple[Scope, Expr, list[Expr]]:
    scope, op = Scope(), find(name)
    leaves = [scope.bind_value(f"x{i}", value) for i, value in enumerate(values)]
    place = static.pop("place", None) if op.outputs > 1 else None
    root = op(*leaves, **static)
    root = root if place is None else find("output")(root, place=place)
    return scope, root, [leaf for leaf in leaves if leaf.kind == "float"]


@pytest.mark.parametrize(
    ("name", "values", "static"), DIRECT, ids=[f"{d[0]}-{i}" for i, d in enumerate(DIRECT)]
)
def test_what_no_program_calls_by_name(name: str, values: Any, static: dict[str, Any]) -> None:
    told = differences(*applied(name, values, dict(static)))
    assert not told, "\n".join(told)


SCALES = (0.1, 0.9), (1.1, 6.0), (-4.0, -1.1)
SMOOTH = [
    op for op in registry().values() if op.elementwise and op.result == "float" and not op.optional
]


# by their parameters; and without bounds in balls, so that the rule stands in
NO_SLOPES = (
    "gammainc",
    "gammaincc",
    "betainc",
    "gammainc_slope",
    "betainc_slope",
    "struve",
    "owens_t",
)


def entries_of(op: Op, operands: Sequence[Any], static: dict[str, Any]) -> int:
    """How many entries: 300 where NumPy has a loop, few where each is computed by itself."""
    try:
        with np.errstate(all="ignore"):
            loop = (
                np.asarray(op.forward(*(o.astype(LONG_DOUBLE) for o in operands), **static)).dtype
                == LONG_DOUBLE
            )
    except TypeError:
        loop = False
    return (
        len(operands[0]) if loop and "n" not in static else 4
    )  # derivatives of any order n are sympy's, and computed one by one, too


@pytest.mark.parametrize(
    "op",
    thinned((pytest.param(op, id=op.name) for op in SMOOTH if op.name not in NO_SLOPES), every=6),
)
def test_functions_entry_by_entry(op: Op) -> None:
    """Wherever the function is defined at all."""
    static = {name: 1 if default is REQUIRED else default for name, default in op.static.items()}
    compared = 0
    for low, high in SCALES:
        values = [
            np.random.default_rng(4).uniform(low, high, 300) + 0.01 * i
            for i in range(len(op.operands))
        ]
        values = [v[: entries_of(op, values, static)] for v in values]
        scope, root, nodes = applied(op.name, values, dict(static))
        held = StandIns()
        with np.errstate(all="ignore"):
            found = long_double.reference(
                root, nodes, {x: scope.values[x] for x in nodes}, 1.0, "float64", held
            )
        assert not held.directions, "a rule stands in for a form"
        some = slice(None, None, 75)
        scope, small, few = applied(op.name, [v[some] for v in values], dict(static))
        exact = from_scalars(scope, small, few, np.ones(small.shape))
        errors = found.errors
        for got, wanted, error in zip(found.results, exact, errors, strict=True):
            defined = np.isfinite(wanted)
            off = np.abs(np.broadcast_to(got, root.shape)[some][defined] - wanted[defined])
            allowed = (
                2e-17 * np.abs(wanted[defined])
                + 4 * np.broadcast_to(error, root.shape)[some][defined]
            )
            assert np.all(off <= allowed), (
                f"{op.name} is off by {off.max():.1e} of {np.abs(wanted[defined]).max():.1e}"
            )
            compared += off.size
    assert compared, f"{op.name} has no value at any of these places"


FORMS = [op for op in registry().values() if op.extended is not None]


@pytest.mark.parametrize("op", FORMS, ids=[op.name for op in FORMS])
def test_a_form_shares_nothing_with_the_rules(op: Op) -> None:
    rule: Any = op.extended
    parts = (
        rule.formulas
        if isinstance(rule, Whole)
        else [part for part in vars(rule).values() if callable(part)]
    )
    parts = [
        p for part in parts for p in (part if isinstance(part, tuple) else (part,)) if p is not None
    ]
    found = reached(*parts, into_records=False)
    shared = [name for code, name in found.code.items() if code in every_rule().code]
    shared = [name for name in shared if not name.startswith("ops.writing.")]
    assert not shared, (
        f"the form of {op.name} shares {', '.join(shared)} with rules: write it anew, from the "
        "mathematics"
    )
    assert not found.records, (
        f"the form of {op.name} calls the operations {', '.join(found.records)}"
    )


def test_every_operation_has_a_form() -> None:
    """Or is entry by entry and without kinks, moves or adds entries, or makes whole numbers."""
    about_the_program = {"output", "derivative"}
    lacking = [
        op.name for op in registry().values()
        if not has_form(op) and op.body is None and op.name not in {*about_the_program, *BY_DIRECTIONS}
        and not (op.elementwise and (op.kind in ("smooth", "flat") or not op.kinks))
    ]  # fmt: skip
    assert not lacking, (
        f"{', '.join(lacking)}: say in the record what it is on whole arrays in long double "
        "(`extended`)"
    )


def test_a_matrix_without_an_inverse_is_not_covered() -> None:
    with pytest.raises(NotCovered):
        solve_corrected(np.ones((90, 90), LONG_DOUBLE), np.eye(90, dtype=LONG_DOUBLE))
