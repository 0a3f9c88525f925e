"""Python functions with their gradients, and `autograd.Function`s: right, wrong, and beyond
deciding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import gradcli as torch
from battery.arrays import some
from battery.rows import FINE, WRONG

OPEN = ("undetermined",)
NOWHERE = ("undefined",)
V, W, M = some(5), some(5), some(3, 4)


class Checked(NamedTuple):
    title: str
    function: Callable[..., Any]
    gradient: Callable[..., Any]
    at: tuple[Any, ...]
    verdicts: tuple[str, ...] = FINE
    rtol: float = 1e-6
    xfail: str | None = None  # why the verdict is another, still


def noise(size: float) -> Callable[[], float]:
    random = np.random.default_rng(5)
    return lambda: size * random.standard_normal()


LOUD, QUIET = noise(1e-2), noise(1e-9)


def newton(a: float) -> float:
    """A square root by a loop, as scripts have it."""
    y = 1.0
    for _ in range(60):
        y = 0.5 * (y + a / y)
    return y


RIGHT: list[Checked] = [
    Checked("sum of squares", lambda x: np.sum(x**2), lambda x: 2 * x, (V,)),
    Checked(
        "two arguments",
        lambda x, y: np.sum(x * np.exp(y)),
        lambda x, y: (np.exp(y), x * np.exp(y)),
        (V, W),
    ),
    Checked(
        "(1 - cos x)/x**2",
        lambda x: (1 - np.cos(x)) / x**2,
        lambda x: -x / 12 + x**3 / 180,
        (1e-3,),
    ),
    Checked("abs within, right", lambda x: abs(x) * x, lambda x: 2 * abs(x), (-3.0,)),
    Checked("abs of entries", lambda x: np.sum(np.abs(x)), np.sign, (V,)),
    Checked("float() within", lambda x: math.sin(float(x)), lambda x: math.cos(x), (0.7,)),
    Checked("real part taken", lambda x: x**2 + 3 * np.real(x), lambda x: 2 * x + 3, (0.7,)),
    Checked("loop", newton, lambda a: 0.5 / math.sqrt(a), (3.0,)),
    Checked("steps elsewhere", lambda x: np.floor(np.real(x)) * x, lambda x: math.floor(x), (2.5,)),
    Checked(
        "branch",
        lambda x: x**2 if np.real(x) > 0 else -x,
        lambda x: 2 * x if x > 0 else -1.0,
        (-2.0,),
    ),
    Checked("offset", lambda x: x**2 + 1e12, lambda x: 2 * x, (1e-3,)),
    Checked("tiny slope", lambda x: 1e-6 * x, lambda x: 1e-6, (0.3,)),
    Checked("large argument", lambda x: math.sqrt(float(x)), lambda x: 0.5 / math.sqrt(x), (1e12,)),
    Checked("oscillation", lambda x: np.sin(1e6 * x), lambda x: 1e6 * np.cos(1e6 * x), (0.3,)),
    Checked("relu near its kink and float()", lambda x: max(float(x), 0.0), lambda x: 1.0, (1e-7,)),
    Checked("constant", lambda x: 7.0, lambda x: 0.0, (1.0,)),
    Checked(
        "float32 within, at its own tolerance",
        lambda x: float(np.float32(x) ** 2),
        lambda x: 2 * x,
        (1.5,),
        ("agree", "undetermined"),
        1e-3,
    ),
    Checked(
        "relu at its kink",
        lambda x: max(float(x), 0.0),
        lambda x: 0.0,
        (0.0,),
        ("agree", "kink", "undetermined"),
    ),
    Checked(
        "relu at its kink, the other side",
        lambda x: max(float(x), 0.0),
        lambda x: 1.0,
        (0.0,),
        ("agree", "kink", "undetermined"),
    ),
    Checked(
        "abs at its kink",
        lambda x: abs(float(x)),
        lambda x: 0.0,
        (0.0,),
        ("agree", "kink", "undetermined"),
    ),
]
MISTAKEN: list[Checked] = [
    Checked("factor 2", lambda x: np.sum(x**2), lambda x: x, (V,), WRONG),
    Checked("off by 5e-6", lambda x: np.sum(x**2), lambda x: 2 * x * (1 + 5e-6), (V,), WRONG),
    Checked(
        "off by 5e-6 and float()",
        lambda x: math.sin(float(x)),
        lambda x: math.cos(x) * (1 + 5e-6),
        (0.7,),
        WRONG,
    ),
    Checked(
        "swapped",
        lambda x, y: np.sum(x * np.exp(y)),
        lambda x, y: (x * np.exp(y), np.exp(y)),
        (V, W),
        WRONG,
    ),
    Checked("complex step alone", lambda x: x**2 + 3 * np.real(x), lambda x: 2 * x, (0.7,), WRONG),
    Checked("missing term", lambda x: x + np.exp(-20 * x), lambda x: 1.0, (0.5,), WRONG),
    Checked("tinier", lambda x: 1e-200 * x, lambda x: 0.0, (0.3,), WRONG),
    Checked(
        "relu near its kink and float()",
        lambda x: max(float(x), 0.0),
        lambda x: 0.5,
        (1e-7,),
        (*WRONG, *OPEN),
    ),
    Checked("relu at its kink", lambda x: max(float(x), 0.0), lambda x: 1.5, (0.0,), WRONG),
    Checked(
        "steps", lambda x: np.floor(np.real(x)) * x, lambda x: math.floor(x) + x, (2.5,), WRONG
    ),
    Checked("nan", lambda x: x**2, lambda x: math.nan, (1.0,), WRONG),
    Checked("loud and far off", lambda x: x**2 + LOUD(), lambda x: 1e6, (1.0,), WRONG),
    Checked("quiet and off", lambda x: x**2 + QUIET(), lambda x: 3 * x, (1.0,), WRONG),
]
UNDECIDABLE: list[Checked] = [
    Checked("loud", lambda x: float(x) ** 2 + LOUD(), lambda x: 2 * x, (1.0,), OPEN),
    Checked(
        "loud, and wrong for complex numbers",
        lambda x: x**2 + 3 * np.real(x) + LOUD(),
        lambda x: 2 * x,
        (1.0,),
        (*OPEN, *WRONG),
    ),
    Checked("a step at the point", lambda x: float(x > 1), lambda x: 0.0, (1.0,), (*OPEN, *WRONG)),
    Checked("no finite value", lambda x: math.inf * x, lambda x: math.inf, (1.0,), NOWHERE),
    Checked("no value", lambda x: x * math.nan, lambda x: 0.0, (1.0,), NOWHERE),
    Checked(
        "rough",
        lambda x: sum(0.7**k * math.cos(7**k * float(x)) for k in range(18)),
        lambda x: 0.0,
        (0.3,),
        (*OPEN, *WRONG),
    ),
]
LOST = "rounding within the function is beyond what its neighbouring values show"
COARSE = "the steps are too coarse for the oscillation, at all scales"
UNCERTAIN = ("agree", "undetermined")
BEYOND: list[Checked] = [
    Checked("x - sin x", lambda x: float(x) - math.sin(float(x)), lambda x: 2 * math.sin(x / 2) ** 2, (1e-8,), UNCERTAIN, xfail=LOST),
    Checked("sqrt(x**2 + 1) - x", lambda x: math.sqrt(float(x) ** 2 + 1) - float(x), lambda x: -0.5 / x**2, (1e8,), UNCERTAIN, xfail=LOST),
    Checked("sin(1/x)", lambda x: math.sin(1 / float(x)), lambda x: -math.cos(1 / x) / x**2, (1e-8,), UNCERTAIN, xfail=COARSE),
    Checked("sin(1e6*x) far out", lambda x: math.sin(1e6 * float(x)), lambda x: 1e6 * math.cos(1e6 * x), (1e8,), UNCERTAIN, xfail=COARSE),
]  # fmt: skip
FUNCTIONS = [*RIGHT, *MISTAKEN, *UNDECIDABLE, *BEYOND]


class Custom(NamedTuple):
    title: str
    forward: Callable[..., Any]  # of arrays
    backward: Callable[..., Any]  # of the seed and arrays
    at: tuple[Any, ...]
    right: bool = True


def applied(row: Custom) -> Callable[..., Any]:
    """A function of tensors with these two, as an `autograd.Function`."""

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            ctx.save_for_backward(*inputs)
            return torch.tensor(
                row.forward(*[x.detach().numpy() for x in inputs]), dtype=inputs[0].dtype
            )

        @staticmethod
        def backward(ctx: Any, seed: Any) -> Any:
            parts = row.backward(seed.numpy(), *[x.detach().numpy() for x in ctx.saved_tensors])
            parts = parts if isinstance(parts, tuple) else (parts,)
            found = tuple(torch.tensor(np.asarray(p), dtype=seed.dtype) for p in parts)
            return found if len(found) > 1 else found[0]

    return Function.apply  # type: ignore[no-any-return]


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


CUSTOM: list[Custom] = [
    Custom("exp", np.exp, lambda g, x: g * np.exp(x), (V,)),
    Custom("exp: forgotten chain", np.exp, lambda g, x: np.exp(x), (V,), False),
    Custom("square", np.square, lambda g, x: 2 * g * x, (V,)),
    Custom("square: off by 5e-6", np.square, lambda g, x: 2 * g * x * (1 + 5e-6), (V,), False),
    Custom(
        "sigmoid at 30",
        sigmoid,
        lambda g, x: g * np.exp(-x) / (1 + np.exp(-x)) ** 2,
        (np.array([30.0]),),
    ),
    Custom(
        "relu near its kink",
        lambda x: np.maximum(x, 0),
        lambda g, x: g * (x > 0),
        (np.array([1e-7, -1e-7, 1e-3]),),
    ),
    Custom(
        "relu near its kink: halves",
        lambda x: np.maximum(x, 0),
        lambda g, x: g / 2,
        (np.array([1e-7, -1e-7, 1e-3]),),
        False,
    ),
    Custom("product", np.multiply, lambda g, x, y: (g * y, g * x), (V, W)),
    Custom("product: swapped", np.multiply, lambda g, x, y: (g * x, g * y), (V, W), False),
    Custom(
        "inverse",
        np.linalg.inv,
        lambda g, a: -np.linalg.inv(a).T @ g @ np.linalg.inv(a).T,
        (M[:, :3] + 2 * np.eye(3),),
    ),
    Custom(
        "inverse: not transposed",
        np.linalg.inv,
        lambda g, a: -np.linalg.inv(a) @ g @ np.linalg.inv(a),
        (M[:, :3] + 2 * np.eye(3),),
        False,
    ),
    Custom("sin of 1e5 x", lambda x: np.sin(1e5 * x), lambda g, x: 1e5 * g * np.cos(1e5 * x), (V,)),
    Custom(
        "sin of 1e5 x: factor",
        lambda x: np.sin(1e5 * x),
        lambda g, x: g * np.cos(1e5 * x),
        (V,),
        False,
    ),
    Custom(
        "one entry",
        np.tanh,
        lambda g, x: g * (1 - np.tanh(x) ** 2) * (1 + 5e-4 * (np.arange(5) == 2)),
        (V,),
        False,
    ),
    Custom(
        "relu at its kink",
        lambda x: np.maximum(x, 0),
        lambda g, x: g * (x > 0),
        (np.array([0.0, 1.0]),),
    ),
    Custom(
        "relu at its kink: beyond",
        lambda x: np.maximum(x, 0),
        lambda g, x: g * np.where(x == 0, 1.5, x > 0),
        (np.array([0.0, 1.0]),),
        False,
    ),
    Custom("floor", np.floor, lambda g, x: 0 * g, (V,)),
    Custom("floor: straight through", np.floor, lambda g, x: g, (V,), False),
]

# Functions of tensors that are none of the user's own: right, whatever they go through
PLAIN: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
    ("cancellation", lambda x: (1 - torch.cos(x)) / x**2, (np.array([1e-4, 1e-2]),)),
    ("relu at its kink", torch.relu, (np.array([0.0, 1e-7, -1.0]),)),
    ("branch of the script", lambda x: x**2 if x.sum() > 0 else -x, (V,)),
    ("softmax", lambda x: torch.softmax(x, 0), (V,)),
    ("oscillation", lambda x: torch.sin(1e10 * x), (V,)),
    ("several outputs", lambda x: (torch.sin(x), x.sum()), (V,)),
]
