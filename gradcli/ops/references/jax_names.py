"""References of what JAX alone calls by a name."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.references import of
from gradcli.ops.references.elementary import each
from gradcli.ops.references.entries import lined, reduced, total


@of("squareplus")
def squareplus(m: Any, x: Any, b: Any) -> Any:
    return each(lambda v, w: (v + m.sqrt(v * v + (4 if w is None else w))) / 2, x, b)


@of("standardize")
def standardize(m: Any, x: Any, mean: Any, variance: Any, axis: int, epsilon: Any) -> Any:
    def one(row: list[Any]) -> list[Any]:
        centre = total(m, row) / len(row)
        spread = total(m, [v * v for v in row]) / len(row) - centre * centre
        return [(v - centre) / m.sqrt(spread + epsilon) for v in row]

    if mean is None and variance is None:
        return lined(x, axis, one)
    middle = reduced(x, axis, True, lambda row: total(m, row) / len(row)) if mean is None else mean
    squares = reduced(x, axis, True, lambda row: total(m, [v * v for v in row]) / len(row))
    spread = np.asarray(squares - middle * middle if variance is None else variance, dtype=object)
    return each(lambda v, c, s: (v - c) / m.sqrt(s + epsilon), x, middle, spread)


@of("log1mexp")
def log1mexp(m: Any, x: Any) -> Any:
    return each(lambda v: m.log(-m.expm1(-v)), x)


@of("logmeanexp")
def logmeanexp(m: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return reduced(x, axis, keepdims, lambda row: m.log(total(m, [m.exp(v) for v in row]) / len(row)))


@of("jax_gelu")
def jax_gelu(m: Any, x: Any, approximate: bool) -> Any:
    def one(v: Any) -> Any:
        if not approximate:
            return v * m.function("erfc", -v / m.sqrt(m.one * 2)) / 2
        inner = m.sqrt(2 / m.m.pi) * (v + v * v * v * 44715 / 1000000)
        return v / (1 + m.exp(-2 * inner))

    return each(one, x)


@of("jax_hard_tanh")
def jax_hard_tanh(m: Any, x: Any) -> Any:
    return each(lambda v: m.one if v > 1 else -m.one if v < -1 else v, x)
