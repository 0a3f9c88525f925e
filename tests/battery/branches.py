"""Kinks at the point and near it, branches away from it: numbers and formulas."""

from __future__ import annotations

from typing import Any

from battery.rows import WRONG, Row

KINK = ("kink",)


def rows(
    title: str,
    program: str,
    at: dict[str, Any],
    right: list[Any],
    wrong: list[Any],
    verdicts: tuple[str, ...] = ("agree",),
) -> list[Row]:
    """Claims of x's gradient, numbers or formulas."""
    return [
        *(Row(f"{title}: {_said(claim)}", program, at, {"x": claim}, verdicts) for claim in right),
        *(Row(f"{title}: not {_said(claim)}", program, at, {"x": claim}, WRONG) for claim in wrong),
    ]


def _said(claim: Any) -> str:
    return claim["formula"] if isinstance(claim, dict) else str(claim)


AT_A_KINK: list[Row] = [
    *rows("relu at 0", "relu(x)", {"x": 0.0}, [0.0, 1.0, 0.5], [-1e-3, 1.001, -1.0], KINK),
    *rows("relu scaled at 0", "1e-9*relu(x)", {"x": 0.0}, [0.0, 1e-9], [-1e-9, 2e-9, 1.0], KINK),
    *rows("abs at 0", "abs(x)", {"x": 0.0}, [-1.0, 0.0, 1.0], [1.1, -2.0], KINK),
    *rows("abs and a line at 0", "3*abs(x) + x", {"x": 0.0}, [-2.0, 1.0, 4.0], [-2.1, 4.1], KINK),
    *rows(
        "tie of maximum", "maximum(x, y)", {"x": 1.0, "y": 1.0}, [0.0, 0.5, 1.0], [2.0, -0.5], KINK
    ),
    *rows(
        "tie of max",
        "max(x)",
        {"x": [2.0, 2.0, 1.0]},
        [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]],
        [[0.5, 0.5, 0.5], [0.0, 0.0, 1.0], [1.5, 0.0, 0.0]],
        KINK,
    ),
    *rows("clip at its bound", "clip(x, -1, 1)", {"x": 1.0}, [0.0, 1.0], [-1.0, 1.5], KINK),
    *rows("leaky at 0", "leaky_relu(x, 0.01)", {"x": 0.0}, [0.01, 1.0, 0.5], [0.0, 1.1], KINK),
    *rows("hinge at its corner", "max(0, 1 - x)", {"x": 1.0}, [-1.0, 0.0], [1.0, -1.2], KINK),
    *rows("norm at 0", "norm(x)", {"x": [0.0, 0.0]}, [[0.0, 0.0]], [[1.5, 0.0], [0.0, -2.0]], KINK),
    *rows(
        "no kink: relu squared", "relu(x)**2", {"x": 0.0}, [0.0], [1.0, 1e-3, {"formula": "2*x"}]
    ),
    *rows(
        "no kink: x*abs(x)",
        "x*abs(x)",
        {"x": 0.0},
        [0.0, {"formula": "2*abs(x)"}],
        [1.0, {"formula": "2*x"}],
    ),
    *rows(
        "one of many",
        "sum(relu(x))",
        {"x": [1.0, 0.0, -2.0]},
        [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]],
        [[1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 2.0, 0.0]],
        KINK,
    ),
]

NEAR_A_KINK: list[Row] = [
    *rows("relu at 1e-7", "relu(x)", {"x": 1e-7}, [1.0], [0.0, 0.5]),
    *rows("relu at -1e-7", "relu(x)", {"x": -1e-7}, [0.0], [1.0, 0.5, 1e-5]),
    *rows("relu at 1e-300", "relu(x)", {"x": 1e-300}, [1.0], [0.0, 0.5]),
    *rows("abs at -1e-12", "abs(x)", {"x": -1e-12}, [-1.0], [1.0, 0.0]),
    *rows(
        "max nearly tied",
        "max(x)",
        {"x": [1.0, 1.0 + 1e-12]},
        [[0.0, 1.0]],
        [[0.5, 0.5], [1.0, 0.0]],
    ),
    *rows("maximum nearly tied", "maximum(x, y)", {"x": 1.0, "y": 1.0 + 1e-15}, [0.0], [0.5, 1.0]),
    *rows("clip within", "clip(x, -1, 1)", {"x": 1 - 1e-9}, [1.0], [0.0]),
    *rows("clip beyond", "clip(x, -1, 1)", {"x": 1 + 1e-9}, [0.0], [1.0]),
    *rows("floor near a step", "floor(x)*x", {"x": 2 - 1e-9}, [1.0], [2.0]),
    *rows(
        "Huber beside its corner",
        "where(abs(x) < 1, 0.5*x**2, abs(x) - 0.5)",
        {"x": 1.001},
        [1.0],
        [1.001],
    ),
    *rows("modulo", "x % 3", {"x": 7.5}, [1.0, {"formula": "1"}], [0.0, -2.0]),
    *rows(
        "floor is flat", "floor(x)", {"x": 2.5}, [0.0, {"formula": "0"}], [1.0, {"formula": "1"}]
    ),
    *rows(
        "round is flat",
        "round(x)*x",
        {"x": 2.4},
        [2.0, {"formula": "round(x)"}],
        [2.4, {"formula": "2*x"}],
    ),
    *rows("sign", "sign(x)*x**2", {"x": -2.0}, [4.0], [-4.0]),
]

ELSEWHERE: list[Row] = [
    *rows(
        "relu",
        "relu(x)",
        {"x": 2.0},
        [{"formula": "where(x > 0, 1, 0)"}],
        [{"formula": "1"}, {"formula": "x/x"}],
    ),
    *rows(
        "leaky",
        "leaky_relu(x, 0.125)",
        {"x": 2.0},
        [{"formula": "where(x > 0, 1, 0.125)"}],
        [{"formula": "1"}, {"formula": "where(x > 0, 1, -0.125)"}],
    ),
    *rows(
        "leaky by where",
        "where(x > 0, x, 0.1*x)",
        {"x": 2.0},
        ["where(x > 0, 1, 0.1)"],
        [{"formula": "1"}, "where(x > 0, 1, 0.2)"],
    ),
    *rows(
        "abs",
        "abs(x)",
        {"x": 3.0},
        [{"formula": "sign(x)"}, {"formula": "x/abs(x)"}],
        [{"formula": "1"}, {"formula": "x/3"}],
    ),
    *rows(
        "abs cubed", "abs(x)**3", {"x": 3.0}, [{"formula": "3*x*abs(x)"}], [{"formula": "3*x**2"}]
    ),
    *rows(
        "elu",
        "elu(x)",
        {"x": 1.0},
        [{"formula": "where(x > 0, 1, exp(x))"}],
        [{"formula": "1"}, {"formula": "where(x > 0, 1, 0)"}],
    ),
    *rows(
        "Huber",
        "where(abs(x) < 1, 0.5*x**2, abs(x) - 0.5)",
        {"x": 0.5},
        [{"formula": "clip(x, -1, 1)"}, {"formula": "where(abs(x) < 1, x, sign(x))"}],
        [{"formula": "x"}, {"formula": "where(abs(x) < 1, x, 1)"}],
    ),
    *rows(
        "hinge",
        "max(0, 1 - x)",
        {"x": 0.0},
        [{"formula": "where(x < 1, -1, 0)"}],
        [{"formula": "-1"}],
    ),
    *rows(
        "maximum",
        "maximum(x, x**2)",
        {"x": 3.0},
        [{"formula": "where(x*(x - 1) > 0, 2*x, 1)"}],
        [{"formula": "2*x"}, {"formula": "where(x > 1, 2*x, 1)"}],
    ),
    *rows(
        "clip",
        "clip(x, -2, 2)",
        {"x": 0.5},
        [{"formula": "where(abs(x) < 2, 1, 0)"}],
        [{"formula": "1"}, {"formula": "where(x < 2, 1, 0)"}],
    ),
    *rows(
        "softshrink",
        "softshrink(x)",
        {"x": 3.0},
        [{"formula": "where(abs(x) > 0.5, 1, 0)"}],
        [{"formula": "1"}, {"formula": "where(x > 0.5, 1, 0)"}],
    ),
    *rows(
        "distant branch",
        "where(x > 1000, x**2, x)",
        {"x": 2.0},
        [{"formula": "where(x > 1000, 2*x, 1)"}],
        [{"formula": "1"}],
    ),
    *rows(
        "three branches",
        "where(x < -1, -x, where(x < 1, x**2, x))",
        {"x": 0.3},
        [{"formula": "where(x < -1, -1, where(x < 1, 2*x, 1))"}],
        [{"formula": "2*x"}, {"formula": "where(x < 1, 2*x, 1)"}],
    ),
    *rows(
        "branch in the claim",
        "x**2",
        {"x": 3.0},
        [{"formula": "2*x"}],
        [
            {"formula": "where(x > 0, 2*x, x)"},
            {"formula": "2*abs(x)"},
            {"formula": "where(x < 100, 2*x, 3*x)"},
        ],
    ),
    *rows(
        "of another name",
        "relu(x - t)",
        {"x": 3.0, "t": 1.0},
        [{"formula": "where(x > t, 1, 0)"}],
        [{"formula": "where(x > 1, 1, 0)"}, {"formula": "where(x > 0, 1, 0)"}],
    ),
    *rows(
        "entries",
        "sum(relu(x)*[1, 2, 3])",
        {"x": [1.0, 2.0, 3.0]},
        [{"formula": "where(x > 0, 1, 0)*[1, 2, 3]"}],
        [{"formula": "[1, 2, 3]"}],
    ),
    *rows(
        "minimum of two",
        "minimum(x**2, 4)",
        {"x": 1.0},
        [{"formula": "where(abs(x) < 2, 2*x, 0)"}],
        [{"formula": "2*x"}, {"formula": "where(x < 2, 2*x, 0)"}],
    ),
    *rows("even root", "sqrt(x**2)", {"x": 2.0}, [{"formula": "sign(x)"}], [{"formula": "1"}]),
    *rows("log of abs", "log(abs(x))", {"x": 2.0}, [{"formula": "1/x"}], [{"formula": "1/abs(x)"}]),
    *rows(
        "heaviside",
        "where(x >= 0, sin(x), x)",
        {"x": 1.0},
        [{"formula": "where(x >= 0, cos(x), 1)"}],
        [{"formula": "cos(x)"}],
    ),
]

ROWS = [*AT_A_KINK, *NEAR_A_KINK, *ELSEWHERE]
