"""Arrays: long sums, one wrong entry of thousands, losses, softmax, norms, products with zeros,
seeds, float32.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from mpmath import mp
from scipy.special import expit

from battery.rows import ROUNDED, WRONG, Row

RANDOM = np.random.default_rng(2024)


def some(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape).round(4)


def one_off(right: Any, place: Any, factor: float = 1 + 5e-4) -> np.ndarray:
    """The same with one entry off by 0.05 %."""
    found = np.array(right, float)
    found[place] = found[place] * factor
    return found


def array(title: str, program: str, at: Mapping[str, Any], right: Mapping[str, Any], wrong: Mapping[str, Mapping[str, Any]] | None = None,
          verdicts: tuple[str, ...] = ("agree",), slightly: float | None = 5e-6, **options: Any) -> list[Row]:  # fmt: skip
    """A right gradient, the ways in which it is often wrong, and the given ones."""
    rows = [Row(f"{title}: right", program, at, right, verdicts, **options)]
    name, truth = next(iter(right.items()))
    truth = np.asarray(truth, float)
    if slightly:
        place = np.unravel_index(int(np.argmax(np.abs(truth))), truth.shape)
        rows.append(
            Row(
                f"{title}: one entry off by {slightly:g}",
                program,
                at,
                {**right, name: one_off(truth, place, 1 + slightly)},
                WRONG,
                **options,
            )
        )
    rows.append(Row(f"{title}: twice", program, at, {**right, name: 2 * truth}, WRONG, **options))
    rows += [
        Row(f"{title}: {mistake}", program, at, {**right, **claims}, WRONG, **options)
        for mistake, claims in (wrong or {}).items()
    ]
    return rows


def exactly(formula: Any, *arrays: Any) -> np.ndarray:
    """An entrywise formula at fifty digits."""
    with mp.workdps(50):
        flat = [
            float(formula(*[mp.mpf(float(v)) for v in entry]))
            for entry in zip(*map(np.ravel, arrays), strict=True)
        ]
    return np.reshape(flat, np.shape(arrays[0]))


LONG, ENTRIES = np.linspace(-3, 3, 2000), some(3000)
POSITIVE = np.abs(ENTRIES) + 0.1
LONG_SUMS: list[Row] = [
    *array(
        "sum of 2,000",
        "sum(sin(x)*x)",
        {"x": LONG},
        {"x": np.sin(LONG) + LONG * np.cos(LONG)},
        {
            "one entry by 0.05 %": {"x": one_off(np.sin(LONG) + LONG * np.cos(LONG), 777)},
            "product rule": {"x": LONG * np.cos(LONG)},
        },
    ),
    *array(
        "mean of 3,000 squares",
        "mean(x**2)",
        {"x": ENTRIES},
        {"x": 2 * ENTRIES / 3000},
        {
            "missing 1/N": {"x": 2 * ENTRIES},
            "one entry by 0.05 %": {"x": one_off(2 * ENTRIES / 3000, 1234)},
            "N - 1": {"x": 2 * ENTRIES / 2999},
        },
    ),
    *array(
        "sum of 3,000 logarithms",
        "sum(log(x))",
        {"x": POSITIVE},
        {"x": exactly(lambda x: 1 / x, POSITIVE)},
        {
            "one entry by 0.05 %": {"x": one_off(1 / POSITIVE, 2999)},
            "one entry's sign": {"x": one_off(1 / POSITIVE, 5, -1)},
        },
    ),
    *array(
        "2,000 terms that do not cancel",
        "sum(x*y)",
        {"y": 1.5, "x": LONG + 4},
        {"y": np.sum(LONG + 4), "x": np.full(2000, 1.5)},
        {"missing term": {"y": np.sum((LONG + 4)[1:])}},
    ),
    *array(
        "product of 60",
        "prod(x)",
        {"x": POSITIVE[:60]},
        {"x": np.prod(POSITIVE[:60]) / POSITIVE[:60]},
        {"not left out": {"x": np.full(60, np.prod(POSITIVE[:60]))}},
    ),
    *array(
        "variance of 500",
        "var(x)",
        {"x": ENTRIES[:500]},
        {"x": 2 * (ENTRIES[:500] - ENTRIES[:500].mean()) / 500},
        {
            "not centred": {"x": 2 * ENTRIES[:500] / 500},
            "N - 1": {"x": 2 * (ENTRIES[:500] - ENTRIES[:500].mean()) / 499},
        },
    ),
    *array(
        "float32 data",
        "sum(x**3)",
        {"x": ENTRIES[:500]},
        {"x": (3 * ENTRIES[:500].astype(np.float32) ** 2).astype(float)},
        {"one entry by 0.05 %": {"x": one_off(3 * ENTRIES[:500].astype(np.float32) ** 2, 7)}},
        slightly=5e-5,
        rtol=1e-5,
    ),
]
STEPS = some(40)
TAIL = 2 * np.cumsum(np.cumsum(STEPS)[::-1])[::-1]
LONG_SUMS += array(
    "cumulative sums",
    "sum(cumsum(x)**2)",
    {"x": STEPS},
    {"x": TAIL},
    {"not summed": {"x": 2 * np.cumsum(STEPS)}, "forwards": {"x": np.cumsum(2 * np.cumsum(STEPS))}},
)

TINY = 1e-12 * some(30)
SCALED: list[Row] = [
    *array(
        "tiny entries",
        "sum(x**2)",
        {"x": TINY},
        {"x": 2 * TINY},
        {
            "sign": {"x": -2 * TINY},
            "zeros": {"x": 0 * TINY},
            "one sign": {"x": one_off(2 * TINY, 3, -1)},
        },
    ),
    *array(
        "tiny beside huge",
        "1e-12*sum(x) + 1e12*sum(y)",
        {"x": some(3), "y": some(3)},
        {"x": np.full(3, 1e-12), "y": np.full(3, 1e12)},
        {
            "tiny forgotten": {"x": np.zeros(3)},
            "tiny sign": {"x": np.full(3, -1e-12)},
            "swapped": {"x": np.full(3, 1e12), "y": np.full(3, 1e-12)},
        },
    ),
    *array(
        "entries of all sizes",
        "sum(x**2)",
        {"x": [1e-200, 1e-8, 1.0, 1e8, 1e150]},
        {"x": [2e-200, 2e-8, 2.0, 2e8, 2e150]},
        {
            "smallest": {"x": [1e-200, 2e-8, 2.0, 2e8, 2e150]},
            "small as zero": {"x": [0.0, 2e-8, 2.0, 2e8, 2e150]},
        },
    ),
    *array(
        "a tiny partial in a dot product",
        "x @ y",
        {"x": [1.0, 1e-20], "y": [1e-9, 1e9]},
        {"x": [1e-9, 1e9], "y": [1.0, 1e-20]},
        {"swapped": {"x": [1.0, 1e-20], "y": [1e-9, 1e9]}, "reversed": {"x": [1e9, 1e-9]}},
    ),
]

LOGITS, LABELS, TARGETS = some(4, 3), np.array([0, 2, 1, 1]), np.array([1.0, 0.0, 1.0, 1.0, 0.0])
SOFT = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
ONE_HOT = np.eye(3)[LABELS]
GIVEN, WANTED = some(5), some(5)
OFF = GIVEN - WANTED
X53, W3, B = some(5, 3), some(3), 0.3
LOSSES: list[Row] = [
    *array("cross entropy", "cross_entropy(x, y)", {"x": LOGITS, "y": LABELS}, {"x": (SOFT - ONE_HOT) / 4}, {
        "missing 1/N": {"x": SOFT - ONE_HOT}, "softmax only": {"x": SOFT / 4}, "sign": {"x": (ONE_HOT - SOFT) / 4}, "1/(N*C)": {"x": (SOFT - ONE_HOT) / 12}}),
    *array("mse", "mse_loss(x, y)", {"x": GIVEN, "y": WANTED}, {"x": 2 * OFF / 5}, {"missing 1/N": {"x": 2 * OFF}, "missing 2": {"x": OFF / 5}, "sign": {"x": -2 * OFF / 5}}),
    *array("mse by both", "mse_loss(x, y)", {"x": GIVEN, "y": WANTED}, {"x": 2 * OFF / 5, "y": -2 * OFF / 5}, {"y's sign": {"y": 2 * OFF / 5}}),
    *array("L1", "l1_loss(x, y)", {"x": GIVEN, "y": WANTED}, {"x": np.sign(OFF) / 5}, {"missing "
    "1/N": {"x": np.sign(OFF)}, "one sign": {"x": one_off(np.sign(OFF) / 5, 2, -1)}}),
    *array("Huber", "huber_loss(x, y)", {"x": 3 * GIVEN, "y": WANTED}, {"x": np.clip(3 * GIVEN - WANTED, -1, 1) / 5}, {"unclipped": {"x": (3 * GIVEN - WANTED) / 5}}),
    *array("binary cross entropy", "binary_cross_entropy_with_logits(x, y)", {"x": GIVEN, "y": TARGETS}, {"x": (expit(GIVEN) - TARGETS) / 5}, {
        "missing 1/N": {"x": expit(GIVEN) - TARGETS}, "sign": {"x": (TARGETS - expit(GIVEN)) / 5}, "with s(1 - s)": {"x": (expit(GIVEN) - TARGETS) * expit(GIVEN) * (1 - expit(GIVEN)) / 5}}),
    *array("binary cross entropy at 500", "binary_cross_entropy_with_logits(x, y)", {"x": [500.0, -500.0], "y": [0.0, 1.0]}, {"x": [0.5, -0.5]}, {"zeros": {"x": [0.0, 0.0]}}),
    *array("KL divergence", "kl_div(x, y)", {"x": GIVEN, "y": expit(WANTED)}, {"x": -expit(WANTED) / 5}, {"missing 1/N": {"x": -expit(WANTED)}}),
    *array("least squares", "sum((x @ w + b - y)**2)", {"w": W3, "x": X53, "b": B, "y": WANTED}, {"w": 2 * X53.T @ (X53 @ W3 + B - WANTED), "b": 2 * np.sum(X53 @ W3 + B - WANTED)}, {
        "missing 2": {"w": X53.T @ (X53 @ W3 + B - WANTED)}, "without b": {"w": 2 * X53.T @ (X53 @ W3 - WANTED)}, "b is a mean": {"b": 2 * np.mean(X53 @ W3 + B - WANTED)}}),
    *array("logistic regression", "mean(log(1 + exp(-y*(x @ w))))", {"w": W3, "x": X53, "y": 2 * TARGETS - 1},
        {"w": X53.T @ (-(2 * TARGETS - 1) * expit(-(2 * TARGETS - 1) * (X53 @ W3))) / 5},
        {"missing y": {"w": X53.T @ -expit(-(2 * TARGETS - 1) * (X53 @ W3)) / 5}, "missing 1/N": {"w": X53.T @ (-(2 * TARGETS - 1) * expit(-(2 * TARGETS - 1) * (X53 @ W3)))}}),
    *array("ridge", "sum((x @ w - y)**2) + 0.5*sum(w**2)", {"w": W3, "x": X53, "y": WANTED}, {"w": 2 * X53.T @ (X53 @ W3 - WANTED) + W3}, {
        "missing penalty": {"w": 2 * X53.T @ (X53 @ W3 - WANTED)}, "penalty twice": {"w": 2 * X53.T @ (X53 @ W3 - WANTED) + 2 * W3}}),
]  # fmt: skip

X6, V6 = some(6), some(6)
S6 = np.exp(X6 - X6.max()) / np.exp(X6 - X6.max()).sum()
N6 = np.sqrt(X6 @ X6)
H = np.maximum(X53 @ some(3, 4), 0)
VECTORS: list[Row] = [
    *array("logsumexp", "logsumexp(x)", {"x": X6}, {"x": S6}, {"unnormalized": {"x": np.exp(X6)}, "max": {"x": np.eye(6)[np.argmax(X6)]}}),
    *array("logsumexp at 1000", "logsumexp(x)", {"x": [1000.0, 999.0]}, {"x": [1 / (1 + np.exp(-1.0)), 1 / (1 + np.exp(1.0))]}, {"swapped": {"x": [1 / (1 + np.exp(1.0)), 1 / (1 + np.exp(-1.0))]}}),
    *array("softmax", "sum(softmax(x)*v)", {"x": X6, "v": V6}, {"x": S6 * (V6 - S6 @ V6)}, {"diagonal only": {"x": S6 * (1 - S6) * V6}, "missing mean": {"x": S6 * V6}}),
    *array("softmax, seeded", "softmax(x)", {"x": X6}, {"x": S6 * (V6 - S6 @ V6)}, {"without seed": {"x": S6 * (1 - S6)}, "ones": {"x": 0 * X6}}, seed=V6),
    *array("softmax sums to one", "sum(softmax(x))", {"x": X6}, {"x": np.zeros(6)}, {"s(1 - s)": {"x": S6 * (1 - S6)}}, ROUNDED, slightly=None)[::2],
    *array("log softmax", "sum(log_softmax(x)*v)", {"x": X6, "v": V6}, {"x": V6 - S6 * V6.sum()}, {"of one": {"x": V6 - S6}}),
    *array("log softmax by v", "sum(log_softmax(x)*v)", {"v": V6, "x": X6}, {"v": X6 - np.log(np.exp(X6).sum())}, {"softmax": {"v": S6}}),
    *array("norm", "norm(x)", {"x": X6}, {"x": X6 / N6}, {"squared": {"x": X6 / N6**2}, "missing "
    "half": {"x": 2 * X6 / N6 + 1e-9}}),
    *array("norm of tiny entries", "norm(x)", {"x": [3e-200, 4e-200]}, {"x": [0.6, 0.8]}, {"swapped": {"x": [0.8, 0.6]}}),
    *array("norm 1", "norm(x, 1)", {"x": X6}, {"x": np.sign(X6)}, {"norm 2": {"x": X6 / N6}}),
    *array("norm 3", "norm(x, 3)", {"x": X6}, {"x": X6 * np.abs(X6) / np.sum(np.abs(X6) ** 3) ** (2 / 3)}, {"no sign": {"x": X6**2 / np.sum(np.abs(X6) ** 3) ** (2 / 3)}}),
    *array("cosine", "x @ y/(norm(x)*norm(y))", {"x": X6, "y": V6}, {"x": V6 / (N6 * np.sqrt(V6 @ V6)) - (X6 @ V6) * X6 / (N6**3 * np.sqrt(V6 @ V6))}, {
        "second term": {"x": V6 / (N6 * np.sqrt(V6 @ V6))}}),
    *array("product with one zero", "prod(x)", {"x": [0.0, 2.0, 3.0]}, {"x": [6.0, 0.0, 0.0]}, {"zeros": {"x": [0.0, 0.0, 0.0]}, "one more": {"x": [6.0, 1e-9, 0.0]}}),
    *array("product with two zeros", "prod(x) + sum(x)", {"x": [0.0, 2.0, 0.0]}, {"x": [1.0, 1.0, 1.0]}, {"as if one": {"x": [3.0, 1.0, 1.0]}}),
    *array("standard deviation", "std(x)", {"x": X6}, {"x": (X6 - X6.mean()) / (6 * X6.std())}, {"N - 1": {"x": (X6 - X6.mean()) / (5 * X6.std(ddof=1))}, "not centred": {"x": X6 / (6 * X6.std())}}),
    *array("indices that repeat", "sum(x[[0, 0, 1]]**2)", {"x": X6[:3]}, {"x": [4 * X6[0], 2 * X6[1], 0.0]}, {"once": {"x": [2 * X6[0], 2 * X6[1], 0.0]}, "shifted": {"x": [0.0, 4 * X6[0], 2 * X6[1]]}}),
    *array("broadcast", "sum((x + y)**2)", {"y": X6[:3], "x": X53}, {"y": 2 * np.sum(X53 + X6[:3], axis=0), "x": 2 * (X53 + X6[:3])}, {"mean": {"y": 2 * np.mean(X53 + X6[:3], axis=0)}, "one row": {"y": 2 * (X53 + X6[:3])[0]}}),
    *array("differences", "sum(diff(x)**2)", {"x": X6}, {"x": 2 * (np.concatenate([[0.0], np.diff(X6)]) - np.concatenate([np.diff(X6), [0.0]]))}, {"one side": {"x": -2 * np.concatenate([np.diff(X6), [0.0]])}}),
    *array("seed", "3*a**3 - b**2", {"a": [2.0, 3.0], "b": [6.0, 4.0]}, {"a": [36.0, -162.0], "b": [-12.0, 16.0]}, {"unseeded": {"a": [36.0, 81.0]}, "doubled": {"a": [36.0, -324.0]}}, seed=[1.0, -2.0]),
    *array("seed of a matrix", "w @ x", {"w": some(2, 3), "x": X6[:3]}, {"w": np.outer([1.0, -3.0], X6[:3])}, {"unseeded": {"w": np.outer([1.0, 1.0], X6[:3])}}, seed=[1.0, -3.0]),
    *array("float32", "sum(exp(x)*y)", {"x": X6, "y": V6}, {"x": (np.exp(X6.astype(np.float32)) * V6.astype(np.float32)).astype(float)}, {"swapped": {"x": np.exp(X6)}}, slightly=5e-5, dtype="float32", rtol=1e-5),
    *array("float32 numbers with rtol", "sum(tanh(x)*y)", {"x": X6, "y": V6}, {"x": ((1 - np.tanh(X6.astype(np.float32)) ** 2) * V6.astype(np.float32)).astype(float)}, {"no square": {"x": (1 - np.tanh(X6)) * V6}}, slightly=5e-5, rtol=1e-5),
]  # fmt: skip

ROWS = [*LONG_SUMS, *SCALED, *LOSSES, *VECTORS]
