"""Tables for functions of pairs, and numbers of more digits as pairs."""

from __future__ import annotations

from typing import Any

STEPS = 64  # of tables


def tables() -> list[float]:
    """2**(j/64) - 1, and sine and cosine of j*pi/32: first their doubles, then what these lack."""
    import mpmath

    m = mpmath.MPContext()
    m.prec = 200
    turn = m.pi / (STEPS // 2)
    exact = (
        [m.mpf(2) ** (m.mpf(j) / STEPS) - 1 for j in range(STEPS)],
        [m.sin(j * turn) if j % (STEPS // 2) else m.zero for j in range(STEPS)],
        [m.cos(j * turn) if j % (STEPS // 2) != STEPS // 4 else m.zero for j in range(STEPS)],
    )
    return [x for table in exact for part in zip(*map(halves, table), strict=True) for x in part]


def halves(x: Any) -> tuple[float, float]:
    """A number of more digits as the sum of two doubles."""
    high = float(x)
    return high, float(x - type(x)(high))
