"""Elementwise kinds: of one, two and three arrays, smooth and with branches."""

from __future__ import annotations

from typing import Any

from benchmarks.kinds.record import Kind


def _one(random: Any, entries: int) -> dict[str, Any]:
    return {"x": random.standard_normal(entries)}


def _two(random: Any, entries: int) -> dict[str, Any]:
    return {name: random.standard_normal(entries // 2) for name in "xy"}


def _signs(random: Any, entries: int) -> dict[str, Any]:
    return {
        "x": random.standard_normal(entries // 2),
        "y": random.choice([-1.0, 1.0], entries // 2),
    }


def _waves(random: Any, entries: int) -> dict[str, Any]:
    return {name: random.uniform(0.1, 3, entries // 3) for name in "abt"}


def _market(random: Any, entries: int) -> dict[str, Any]:
    size = entries // 3
    return {
        "s": random.uniform(50, 150, size),
        "k": random.uniform(50, 150, size),
        "v": random.uniform(0.1, 0.5, size),
    }


_DENSITY: dict[str, Any] = {
    "text": "sum(exp(-x**2/2)*sin(3*x) + log(1 + x**2))",
    "data": _one,
    "torch": lambda np, _, x: np.sum(np.exp(-(x**2) / 2) * np.sin(3 * x) + np.log(1 + x**2)),
    "jax": lambda np, _, x: np.sum(np.exp(-(x**2) / 2) * np.sin(3 * x) + np.log(1 + x**2)),
    "wrt": ("x",),
}


def _option(np: Any, ndtr: Any, s: Any, k: Any, v: Any) -> Any:
    d = (np.log(s / k) + (0.03 + v**2 / 2) * 2) / (v * 2**0.5)
    return np.sum(s * ndtr(d) - k * 0.941764533584249 * ndtr(d - v * 2**0.5))


def _robust(np: Any, _: Any, x: Any, y: Any) -> Any:
    r = np.abs(x - y)
    return np.sum(np.where(r < 1, r**2 / 2, np.where(r < 2, r - 0.5, 1.5 + np.log(r / 2))))


def _polynomial(np: Any, _: Any, x: Any) -> Any:
    return np.sum(
        1
        + x
        * (
            0.5
            + x
            * (
                -0.25
                + x * (0.125 + x * (0.06 + x * (-0.03 + x * (0.015 + x * (0.007 - x * 0.003)))))
            )
        )
    )


def _mixture(np: Any, _: Any, x: Any) -> Any:
    return -np.sum(
        np.log(
            0.2 * np.exp(-((x + 2) ** 2) / 2)
            + 0.5 * np.exp(-2 * x**2)
            + 0.3 * np.exp(-((x - 1) ** 2) / 8)
        )
    )


ENTRIES = (
    Kind(
        key="polynomial",
        text="sum(1 + x*(0.5 + x*(-0.25 + x*(0.125 + x*(0.06 + x*(-0.03 + x*(0.015 + x*(0.007 - "
        "x*0.003))))))))",
        data=_one,
        torch=_polynomial,
        jax=_polynomial,
        wrt=("x",),
    ),
    Kind(key="density", **_DENSITY),
    Kind(key="density32", **_DENSITY, dtype="float32"),
    Kind(
        key="periodic",
        text="sum(exp(2*cos(x - 0.5)) * (1 + sin(3*x)/2))",
        data=_one,
        torch=lambda np, _, x: np.sum(np.exp(2 * np.cos(x - 0.5)) * (1 + np.sin(3 * x) / 2)),
        jax=lambda np, _, x: np.sum(np.exp(2 * np.cos(x - 0.5)) * (1 + np.sin(3 * x) / 2)),
        wrt=("x",),
    ),
    Kind(
        key="mixture3",
        text="-sum(log(0.2*exp(-(x + 2)**2/2) + 0.5*exp(-2*x**2) + 0.3*exp(-(x - 1)**2/8)))",
        data=_one,
        torch=_mixture,
        jax=_mixture,
        wrt=("x",),
    ),
    Kind(
        key="logistic",
        text="mean(log(1 + exp(-y*x)))",
        data=_signs,
        torch=lambda np, f, x, y: np.mean(np.log(1 + np.exp(-y * x))),
        jax=lambda np, _, x, y: np.mean(np.log(1 + np.exp(-y * x))),
        wrt=("x",),
    ),
    Kind(
        key="damped",
        text="sum(a*exp(-b*t)*cos(2*t + a))",
        data=_waves,
        torch=lambda np, _, a, b, t: np.sum(a * np.exp(-b * t) * np.cos(2 * t + a)),
        jax=lambda np, _, a, b, t: np.sum(a * np.exp(-b * t) * np.cos(2 * t + a)),
        wrt=("a", "b", "t"),
    ),
    Kind(
        key="options",
        text="d = (log(s/k) + (0.03 + v**2/2)*2)/(v*2**0.5)\nsum(s*ndtr(d) - "
        "k*0.941764533584249*ndtr(d - v*2**0.5))",
        data=_market,
        torch=lambda np, _, s, k, v: _option(np, np.special.ndtr, s, k, v),
        jax=lambda np, jax, s, k, v: _option(np, jax.scipy.special.ndtr, s, k, v),
        wrt=("s", "k", "v"),
    ),
    Kind(
        key="robust",
        text="r = abs(x - y)\nsum(where(r < 1, r**2/2, where(r < 2, r - 0.5, 1.5 + log(r/2))))",
        data=_two,
        torch=_robust,
        jax=_robust,
        wrt=("x", "y"),
    ),
    Kind(
        key="huber",
        text="huber_loss(x, y)",
        data=_two,
        torch=lambda _, f, x, y: f.huber_loss(x, y),
        jax=lambda np, _, x, y: np.mean(
            np.where(np.abs(x - y) < 1, (x - y) ** 2 / 2, np.abs(x - y) - 0.5)
        ),
        wrt=("x", "y"),
    ),
    Kind(
        key="branches",
        text="sum(relu(x)*y + minimum(x, 0)**2/2 + maximum(x, y))",
        data=_two,
        torch=lambda np, _, x, y: np.sum(
            np.relu(x) * y + np.clamp(x, max=0) ** 2 / 2 + np.maximum(x, y)
        ),
        jax=lambda np, jax, x, y: np.sum(
            jax.nn.relu(x) * y + np.minimum(x, 0) ** 2 / 2 + np.maximum(x, y)
        ),
        wrt=("x", "y"),
    ),
)
