"""Ranges and plots of functions with branches: what holds at single points only, removable points,
poles with their sides.
"""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from gradcli.options import Options
from gradcli.query.bounds import bounds
from gradcli.query.programs import Programs, Script


@pytest.mark.ci
def test_random_functions_with_branches_are_inside_their_ranges():
    """Values at points, those of the conditions among them."""
    with np.errstate(all="ignore"):
        for seed in range(100):
            choose = random.Random(seed)
            text, box = (
                _number(choose, choose.choice((2, 3))),
                choose.choice(((-1.0, 3.0), (0.0, 2.0), (-2.0, 2.0), (0.25, 1.75))),
            )
            if "x" in text:
                _hold_at_points(text, box)


_CONSTANTS = ("0", "1", "2", "0.5", "-1")
_FUNCTIONS = {
    "sin": np.sin, "exp": np.exp, "abs": np.abs, "relu": lambda x: np.where(np.asarray(x) > 0, x, 0.0), "tanh": np.tanh, "floor": np.floor,
    "sinc": np.sinc, "sqrt": np.sqrt,
}  # fmt: skip
_NAMES = {**_FUNCTIONS, "where": np.where, "maximum": np.maximum, "NOT": np.logical_not}


def _number(choose, depth):
    kind = choose.random() if depth else 1.0
    inner = [_number(choose, depth - 1) for _ in range(2)] if depth else []
    if kind < 0.25:
        return f"({inner[0]} {choose.choice('+-*')} {inner[1]})"
    if kind < 0.3:
        return f"({inner[0]})/({inner[1]})"
    if kind < 0.45:
        return f"{choose.choice(list(_FUNCTIONS))}({inner[0]})"
    if kind < 0.5:
        return f"maximum({inner[0]}, {inner[1]})"
    if kind < 0.6:
        return f"(({_condition(choose, depth - 1)})*{_number(choose, 0)} + {inner[0]})"
    if kind < 1:
        return f"where({_condition(choose, depth - 1)}, {inner[0]}, {inner[1]})"
    return choose.choice(("x", "x", *_CONSTANTS))


def _condition(choose, depth):
    kind = choose.random() if depth else 1.0
    if kind < 0.2:
        return f"({_condition(choose, 0)}) {choose.choice('&|')} ({_condition(choose, 0)})"
    if kind < 0.3:
        return f"~({_condition(choose, 0)})"
    return (
        f"{_number(choose, depth) if kind < 0.6 else 'x'} "
        f"{choose.choice(('==', '!=', '==', '<', '>='))} {choose.choice(_CONSTANTS)}"
    )


def _hold_at_points(text, box):
    begin, end = box
    programs = Programs(values={"x": np.float64((begin + end) / 2)})
    (record,) = bounds(Script(programs.fresh(), [text]), Options(over={"x": box}, width=0.5))
    if record.error is not None:
        assert re.search("its range is not known|nowhere", record.error.message), text
        return
    constants = [x for x in map(float, _CONSTANTS) if begin <= x <= end]
    xs = np.array([*np.linspace(begin, end, 61), *constants])

    def values(xs):
        found = eval(text.replace("~(", "NOT("), dict(_NAMES), {"x": xs})
        return np.broadcast_to(np.asarray(found, float), xs.shape)

    found = values(xs)
    defined = np.isfinite([found, values(xs + 1e-9), values(xs - 1e-9)]).all(axis=0)
    room = 1e-12 * (1 + np.abs(found))
    inside = (record.value.low - room <= found) & (found <= record.value.high + room)
    assert np.all(~defined | inside), (text, box, record.value)
