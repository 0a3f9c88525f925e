"""References of functions of sampled values and of polynomials, coefficient by coefficient."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from gradcli.ops.references import of
from gradcli.ops.references.elementary import is_nan
from gradcli.ops.references.entries import array, entries, lined, product, reduced, total


@of("unwrap")
def unwrap(m: Any, p: Any, discont: Any, axis: int, period: Any) -> Any:
    """Each next angle, moved by the whole number of periods that takes it nearest to the one before."""
    period = m.m.mpf(period)

    def turned(row: list[Any]) -> list[Any]:
        found, shift = row[:1], m.m.mpf(0)
        for before, after in itertools.pairwise(row):
            step = m.plain(after) - m.plain(before)
            size = -step if step < 0 else step
            if size >= (period / 2 if discont is None else max(m.m.mpf(discont), period / 2)):
                turns = m.m.floor(step / period + m.m.mpf(1) / 2)
                if step / period + m.m.mpf(1) / 2 == turns and step > 0:
                    turns = turns - 1
                shift = shift - turns * period
            found.append(after + shift)
        return found

    return lined(p, axis, turned)


def _numbers(m: Any, row: list[Any]) -> list[Any]:
    return [v for v in row if not is_nan(m, v)]


@of("nanmax")
def nanmax(m: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return reduced(x, axis, keepdims, lambda row: m.extreme("max", _numbers(m, row)) if _numbers(m, row) else m.nan)


@of("nanmin")
def nanmin(m: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return reduced(x, axis, keepdims, lambda row: m.extreme("min", _numbers(m, row)) if _numbers(m, row) else m.nan)


@of("nanprod")
def nanprod(m: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return reduced(x, axis, keepdims, lambda row: product(m, _numbers(m, row)))


@of("ediff1d")
def ediff1d(m: Any, x: Any) -> Any:
    row = entries(x)
    return array([after - before for before, after in itertools.pairwise(row)], (max(0, len(row) - 1),))


@of("polymul")
def polymul(m: Any, a: Any, b: Any) -> Any:
    a, b = entries(a), entries(b)
    n = len(a) + len(b) - 1
    return array([total(m, [a[i] * b[k - i] for i in range(len(a)) if 0 <= k - i < len(b)]) for k in range(n)], (n,))


def _raised(m: Any, a: Any, b: Any) -> list[tuple[Any, Any]]:
    """The coefficients of equal powers."""
    a, b = entries(a)[::-1], entries(b)[::-1]
    pairs = [(a[k] if k < len(a) else m.zero, b[k] if k < len(b) else m.zero) for k in range(max(len(a), len(b)))]
    return pairs[::-1]


@of("polyadd")
def polyadd(m: Any, a: Any, b: Any) -> Any:
    pairs = _raised(m, a, b)
    return array([v + w for v, w in pairs], (len(pairs),))


@of("polysub")
def polysub(m: Any, a: Any, b: Any) -> Any:
    pairs = _raised(m, a, b)
    return array([v - w for v, w in pairs], (len(pairs),))


@of("polyder")
def polyder(m_: Any, p: Any, m: int) -> Any:
    row = entries(p)[::-1]
    found = [v * int(np.prod([k - i for i in range(m)])) for k, v in enumerate(row) if k >= m]
    return array(found[::-1], (len(found),))


@of("polyint")
def polyint(m_: Any, p: Any, m: int) -> Any:
    row = entries(p)[::-1]
    found = [m_.zero] * m + [v / int(np.prod([k + i + 1 for i in range(m)])) for k, v in enumerate(row)]
    return array(found[::-1], (len(found),))
