"""References of operations as calls widen them: of the entries where a mask holds, from a first number on, with operands as parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.ops.references import of
from gradcli.ops.references.elementary import each, is_nan
from gradcli.ops.references.entries import Array, entries, product, reduced, total
from gradcli.ops.references.moments import spread_about


def _kept(x: Any, mask: Any) -> Array:
    """Each entry with whether it is kept."""
    pairs: Array = each(lambda v, holds: (v, holds is None or bool(holds)), x, mask)
    return pairs


def _first(initial: Any) -> list[Any]:
    return [] if initial is None else [entries(initial)[0]]


for _name, _all in (("sum", total), ("prod", product)):

    @of(_name)
    def begun(m: Any, x: Any, where: Any, initial: Any, axis: Any, keepdims: bool, joined: Callable[..., Any] = _all) -> Array:
        return reduced(_kept(x, where), axis, keepdims, lambda row: joined(m, _first(initial) + [v for v, kept in row if kept]))


for _name in ("max", "min"):

    @of(_name)
    def extreme(m: Any, x: Any, where: Any, initial: Any, axis: Any, keepdims: bool, which: str = _name) -> Array:
        return reduced(_kept(x, where), axis, keepdims, lambda row: m.extreme(which, _first(initial) + [v for v, kept in row if kept]))


@of("mean")
def mean(m: Any, x: Any, where: Any, axis: Any, keepdims: bool) -> Array:
    def of_row(row: list[Any]) -> Any:
        chosen = [v for v, kept in row if kept]
        return total(m, chosen) / len(chosen) if chosen else m.nan

    return reduced(_kept(x, where), axis, keepdims, of_row)


for _name, _root in (("var", False), ("std", True)):

    @of(_name)
    def spread(m: Any, x: Any, where: Any, mean: Any, axis: Any, keepdims: bool, ddof: Any, root: bool = _root) -> Array:
        return spread_about(m, x, where, mean, axis, keepdims, ddof, root)


@of("logsumexp")
def logsumexp(m: Any, x: Any, b: Any, axis: Any, keepdims: bool, return_sign: bool) -> Any:
    """By definition, without a thought of overflow."""


    def scaled(v: Any, w: Any) -> Any:
        return m.exp(v) if w is None else m.zero if m.plain(w) == 0 and m.plain(v) == m.inf else m.exp(v) * w

    sums = reduced(each(scaled, x, b), axis, keepdims, lambda row: total(m, row))
    if not return_sign:
        return m.map(m.log, sums)
    return m.map(lambda v: m.log(m.magnitude(v)), sums), m.map(m.sign, sums)


@of("nan_to_num")
def nan_to_num(m: Any, x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    largest = (m.one - m.one / 2**53) * m.m.mpf(2) ** 1024

    def number(v: Any) -> Any:
        at = m.plain(v)
        if is_nan(m, v):
            return m.zero if nan is None else nan
        if at == m.inf:
            return largest if posinf is None else posinf
        return (-largest if neginf is None else neginf) if at == -m.inf else v

    return each(number, x)


@of("elu")
def elu(m: Any, x: Any, alpha: Any) -> Any:
    return each(lambda v: v if v > 0 else alpha * m.expm1(v), x)


@of("celu")
def celu(m: Any, x: Any, alpha: Any) -> Any:
    return each(lambda v: v if v > 0 else alpha * m.expm1(v / alpha), x)


@of("leaky_relu")
def leaky_relu(m: Any, x: Any, negative_slope: Any) -> Any:
    return each(lambda v: v if v > 0 else negative_slope * v, x)


@of("softplus")
def softplus(m: Any, x: Any, beta: Any, threshold: Any) -> Any:
    return each(lambda v: v if beta * v > threshold else m.log1p(m.exp(beta * v)) / beta, x)


@of("hardtanh")
def hardtanh(m: Any, x: Any, min_val: Any, max_val: Any) -> Any:
    return each(lambda v: min_val if v <= min_val else max_val if v >= max_val else v, x)


@of("hardshrink")
def hardshrink(m: Any, x: Any, lambd: Any) -> Any:
    return each(lambda v: v if v > lambd or v < -lambd else m.zero, x)


@of("softshrink")
def softshrink(m: Any, x: Any, lambd: Any) -> Any:
    return each(lambda v: v - lambd if v > lambd else v + lambd if v < -lambd else m.zero, x)
