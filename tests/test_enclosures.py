"""Functions in balls: they enclose what mpmath gives at many digits, and records say where that is
not so.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import mpmath
import numpy as np
import pytest
from adversary import evaluated, trials
from cases import EVERY as CASES
from domain_words import contains
from flint import arb
from helpers import lowered, thinned

from gradcli.graph.nodes import reachable
from gradcli.ops.registry import registry
from gradcli.ops.spec import Op
from gradcli.reference.algebra import Unsupported, number
from gradcli.reference.ball import REAL, Ball, of_mpmath
from gradcli.reference.balls import Balls
from gradcli.reference.contexts import Undecidable
from gradcli.reference.symbolic.translate import smooth_function

DIGITS, EXACT = 30, 100
NARROW = 1e-18  # relative, of enclosures of functions of exact numbers


def exact() -> Any:
    m = mpmath.MPContext()
    m.dps = EXACT
    return m


def holds(ball: Ball, value: Any, margin: float = 1e-60) -> bool:
    """Whether an enclosure holds a number that is right but for a small part of it; what is not
    finite is the same.
    """
    with Balls(2 * EXACT).working():
        right = of_mpmath(value._mpf_)
        if not right.is_finite():
            return bool(ball.ball.is_nan() if right.is_nan() else ball.ball == right)
        return bool(ball.ball.overlaps(arb(right, abs(right) * margin)))


# Functions of numbers

SMOOTH = [op for op in registry().values() if op.kind == "smooth" and op.result == "float"]
_STATIC = {"v": 1, "p": 2}
_POINTS = (0.37, 2.9, -0.61)


def points(op: Op) -> list[tuple[float, ...]]:
    """Some at which an operation is defined."""
    tried = itertools.product(_POINTS, repeat=len(op.operands))
    return [
        at
        for at in tried
        if contains(op, {**dict(zip(op.operands, at, strict=True)), **_static(op)})
    ][:2]


def _static(op: Op) -> dict[str, Any]:
    return {
        name: _STATIC.get(name, value)
        if not isinstance(value, (int, float, str, bool, type(None)))
        else value
        for name, value in op.static.items()
    }


NO_BALLS = (
    "gammainc_slope",
    "betainc_slope",
    "struve",
    "owens_t",
)  # FLINT has no enclosure of these


@pytest.mark.parametrize(
    "op", thinned([pytest.param(op, id=op.name) for op in SMOOTH if op.name not in NO_BALLS])
)
def test_functions_and_their_slopes_enclose_the_true_value(op: Op) -> None:
    balls, m, static = Balls(DIGITS), exact(), _static(op)
    assert points(op), "no point of the domain is tried"
    places = range(0 if op.algebra == "power" else len(op.operands))
    if op.name in ("gammainc", "gammaincc", "betainc"):  # by parameters there are no balls
        places = places[-1:]
    slopes = [smooth_function(op, len(op.operands), static).partial(i) for i in places]
    for at in points(op):
        with balls.working():
            given = [Ball(x) for x in at]
            found = [
                number(balls, op, static, *given),
                *(slope.value(balls, tuple(given)) for slope in slopes),
            ]
        known = [m.mpf(x) for x in at]
        wanted = [
            number(m, op, static, *known),
            *(slope.value(m, tuple(known)) for slope in slopes),
        ]
        for ball, value in zip(found, wanted, strict=True):
            assert holds(ball, value, 1e-45), (
                op.name,
                at,
                ball,
                value,
            )  # mpmath's differences by parameters lose half of the digits
            assert not ball.ball.is_finite() or ball.ball.rad() <= NARROW * max(
                abs(ball.ball.mid()), arb(NARROW)
            ), (op.name, at, ball)
    assert not balls.uncertified, "FLINT lacks something: name it in the record, with what it means"


@pytest.mark.parametrize("name", REAL)
def test_limits_poles_and_domains_are_those_of_mpmath(name: str) -> None:
    balls, m = Balls(DIGITS), exact()
    for x in (math.inf, -math.inf, 0.0, 1.0, -1.0, 0.5, -0.5, -3.0, 2.0, math.nan):
        with balls.working():
            try:
                found = getattr(balls, name)(x)
            except ZeroDivisionError:
                found = None
        try:
            value = getattr(m, name)(m.mpf(x))
        except ZeroDivisionError:
            assert found is None, (name, x)
            continue
        except (ValueError, TypeError):  # mpmath has none
            value = m.nan
        if (name, x) == ("cbrt", -math.inf):
            continue  # mpmath has 0 there
        assert found is not None, (name, x)
        assert holds(found, value if isinstance(value, m.mpf) else m.nan), (name, x, found, value)


@pytest.mark.parametrize(
    ("name", "x"),
    [("sin", 1e300), ("loggamma", 1 + 2.0**-40), ("digamma", 1.4616321449683622), ("erfc", 40.0)],
)
def test_what_cancellation_or_large_numbers_cost_is_made_up_for(name: str, x: float) -> None:
    balls, m = Balls(DIGITS), mpmath.MPContext()
    m.dps = 500
    with balls.working():
        found = getattr(balls, name)(Ball(x))
    assert found.ball.rel_accuracy_bits() > 90
    assert holds(found, getattr(m, name)(m.mpf(x)))


def test_numbers_outside_of_a_domain_have_no_value_and_others_may_ask_for_more_digits() -> None:
    balls = Balls(DIGITS)
    with balls.working():
        below = Ball(-3) + balls.sqrt(2) / 7
        assert balls.sqrt(below).ball.is_nan()
        assert balls.log(below).ball.is_nan()
        assert balls.acosh(below).ball.is_nan()
        with pytest.raises(Undecidable):
            balls.sqrt(balls.sqrt(2) ** 2 - 2)


@pytest.mark.parametrize(
    "text",
    [
        "(pi*x) % y",
        "floor(exp(x))",
        "round(x/y)*x",
        "logaddexp(sin(x), sin(x))",
        "isfinite(exp(x))*x",
        "nan_to_num(exp(x))",
    ],
)
def test_what_is_not_known_exactly_is_decided_where_it_can_be(text: str) -> None:
    scope, root = lowered(text, {"x": 0.7, "y": 0.3})
    balls, m = Balls(DIGITS), exact()
    wrt = [scope.names["x"]]
    with balls.working():
        found = evaluated(balls, scope, root, wrt)
    assert all(
        holds(ball, m.mpf(value))
        for ball, value in zip(found, evaluated(m, scope, root, wrt), strict=True)
    )


# Incomplete functions, whose derivatives by parameters have no balls


def test_values_of_incomplete_functions() -> None:
    balls = Balls(DIGITS)
    with balls.working(), mpmath.workdps(60):
        pairs = [
            (
                balls.by_parameters("gammaincc", (0,), 2.5, 30.0),
                mpmath.gammainc(2.5, 30, regularized=True),
            ),
            (
                balls.by_parameters("betainc", (0, 0), 2.5, 1.5, 0.3),
                mpmath.betainc(2.5, 1.5, 0, 0.3, regularized=True),
            ),
        ]
        for found, right in pairs:
            assert abs(mpmath.mpf(found.ball.mid().str(50, radius=False)) / right - 1) < 1e-12
        upper, lower = (
            balls.by_parameters(name, (0,), 5e3, 5.1e3) for name in ("gammaincc", "gammainc")
        )
        assert (upper + lower).ball.overlaps(arb(1))
        with pytest.raises(NotImplementedError):
            balls.by_parameters("gammaincc", (1,), 2.5, 30.0)


# Whole matrices


def _random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape)


_SYMMETRIC = _random(4, 4) + _random(4, 4).T
MATRICES: Sequence[tuple[str, dict[str, Any]]] = [
    ("inv(x)", {"x": _random(4, 4)}), ("det(x)", {"x": _random(5, 5)}), ("solve(x, y)", {"x": _random(4, 4), "y": _random(4, 2)}),
    ("adjugate(x)", {"x": _random(5, 5)}), ("x @ y", {"x": _random(4, 5), "y": _random(5, 4)}),
    ("einsum('bij,bjk->kbi', x, y)", {"x": _random(2, 4, 5), "y": _random(2, 5, 3)}), ("matrix_exp(x)", {"x": _random(3, 3)}),
    ("eigh(x)[0]", {"x": _SYMMETRIC}), ("eigh(x)[1]", {"x": _SYMMETRIC}), ("svd(x)[0]", {"x": _random(4, 3)}),
    ("svd(x)[1]", {"x": _random(3, 4)}), ("norm(x, 'nuc')", {"x": _random(3, 3)}),
    ("grad(sum(inv(x)*y), x)", {"x": _random(4, 4), "y": _random(4, 4)}),
    ("grad(sum(matrix_exp(x)*y), x)", {"x": _random(2, 2), "y": _random(2, 2)}), ("grad(eigh(x)[1][0, 0], x)", {"x": _SYMMETRIC[:3, :3]}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "values"), MATRICES, ids=[text for text, _ in MATRICES])
def test_functions_of_whole_matrices_are_those_of_single_steps(
    text: str, values: dict[str, Any]
) -> None:
    """Value and gradient on the tape, whose steps mpmath's scalars take one by one."""
    scope, root = lowered(text, values)
    wrt = [scope.names[name] for name in values]
    balls, m = Balls(DIGITS), mpmath.MPContext()
    m.dps = 45
    with balls.working():
        found = evaluated(balls, scope, root, wrt)
    assert not balls.uncertified
    for ball, value in zip(found, evaluated(m, scope, root, wrt), strict=True):
        assert ball.ball.rad() < 1e-20
        with Balls(2 * EXACT).working():
            assert ball.ball.overlaps(arb(of_mpmath(value._mpf_), 1e-30)), (ball, value)


def test_large_matrices_are_certain_to_many_digits() -> None:
    for text, values in (
        ("det(x)", {"x": _random(30, 30)}),
        ("solve(x, y)", {"x": _random(30, 30), "y": _random(30, 2)}),
    ):
        scope, root = lowered(text, values)
        balls = Balls(50)
        with balls.working():
            found = evaluated(balls, scope, root, [scope.names["x"]])
        assert all(ball.ball.rel_accuracy_bits() > 80 for ball in found), text


# What records say


def _ends(op: Any) -> str:
    """Return where the reference of an operation proves nothing."""
    return getattr(op.reference, "ends", "")


def test_records_say_where_nothing_is_proved() -> None:
    """Every structural operation and composite that cases reach: what FLINT or a bound lacks is
    named by a record of what was used.
    """
    seen: set[str] = set()
    for case in CASES:
        scope, root = lowered(case.text, case.values)
        ops = {node.op for node in reachable([root]) if node.op is not None}
        if ops <= {op for op in ops if op.name in seen}:
            continue
        seen |= {op.name for op in ops}
        balls = Balls(DIGITS)
        with balls.working():
            try:
                evaluated(balls, scope, root, [scope.names[name] for name in case.values])
            except Undecidable:
                continue
        assert not balls.uncertified or any(_ends(op) for op in ops), (
            case.text,
            balls.uncertified,
        )
    assert {op.name for op in registry().values() if _ends(op)} <= seen


@pytest.mark.parametrize(
    ("text", "x"),
    [
        ("eigh(x)[0]", [[2, 1, 1], [1, 2, 1], [1, 1, 2]]),
        ("svd(x)[1]", [[1, 2], [2, 4]]),
        ("pinv(x)", [[1, 2], [2, 4]]),
    ],
)
def test_what_a_record_names_is_so(text: str, x: Any) -> None:
    scope, root = lowered(text, {"x": np.array(x, float)})
    balls = Balls(DIGITS)
    with balls.working():
        try:
            evaluated(balls, scope, root, [scope.names["x"]])
        except (Undecidable, Unsupported):
            return
    assert balls.uncertified


# Expressions


def test_enclosures_of_hard_expressions_hold_the_true_numbers() -> None:
    """Near-cancellation, numbers huge and tiny, kinks near by: thousands of them by python
    tests/adversary.py.
    """
    made = trials(100, 7)
    assert not [
        trial
        for trial in made
        if trial.outcome == "outside" or trial.outcome.startswith("uncertified")
    ]
    assert sum(trial.outcome == "holds" for trial in made) > 60
