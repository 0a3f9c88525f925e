"""How many bits a value and a gradient lose: what floats are, held against what is true, entry by entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.graph.indeterminate import gradients
from gradcli.graph.interpret import forward
from gradcli.graph.nodes import Expr, reachable
from gradcli.reference.deadline import check as still_in_time

ALL = 64.0  # bits lost by what is not finite, or has nothing in common with the truth
_SMALLEST = 2.0**-1074


class Truth:
    """Exact numbers as pairs of floats: what is nearest to each, and what is left; entries without a finite one do not count."""

    def __init__(self, exact: Sequence[Any], m: Any, dtype: np.dtype[Any]) -> None:
        self.epsilon = float(np.finfo(dtype).eps)
        self.dtype = dtype
        near = [float(x) if not isinstance(x, bool) and m.isfinite(x) else np.nan for x in exact]
        rest = [float(x - m.mpf(n)) if np.isfinite(n) else 0.0 for x, n in zip(exact, near, strict=True)]
        self.near, self.rest = np.array(near), np.array(rest)
        self.counts = np.isfinite(self.near)

    def lost(self, computed: Any) -> float:
        """The most bits that an entry has lost."""
        found = (
            np.broadcast_to(np.asarray(computed, float), self.near.shape) if np.ndim(computed) == 0 else np.ravel(computed).astype(float)
        )
        with np.errstate(all="ignore"):
            off = np.abs((found - self.near) - self.rest)
            relative = np.where(off <= 2 * _SMALLEST, 0.0, off / np.abs(self.near)) / self.epsilon
            bits = np.clip(np.log2(np.maximum(relative, 1.0)), 0.0, ALL)
        bits = np.where(np.isfinite(found) & np.isfinite(bits), bits, ALL)
        return float(np.max(bits[self.counts], initial=0.0))


class Measure:
    """The bits that a way to write a function loses: in its value, and in its gradient by each of several leaves."""

    def __init__(self, values: Mapping[Expr, Any], wrt: Sequence[Expr], seed: Any, truths: Sequence[Truth], precision: str) -> None:
        self.values, self.wrt, self.seed, self.truths, self.precision = values, list(wrt), seed, truths, precision

    def __call__(self, root: Expr) -> tuple[float, ...]:
        still_in_time()
        order = reachable([root])
        values = forward([root], self.values, self.precision, order)
        with np.errstate(all="ignore"):
            found = gradients(order, {root: self.seed}, self.wrt, values.__getitem__) if self.wrt else {}
        parts = [values[root], *(found.get(x, 0.0) for x in self.wrt)]
        return tuple(truth.lost(part) for truth, part in zip(self.truths, parts, strict=True))
