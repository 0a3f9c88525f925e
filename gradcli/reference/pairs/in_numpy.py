"""The compiled loops' instructions in NumPy, where no compiler works: the same functions of pairs of doubles, on blocks of arrays.

Arguments are taken apart until short series do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from gradcli.reference.pairs.arithmetic import (
    LARGE,
    Pair,
    absolute,
    ceil,
    div,
    either,
    floor,
    in_range,
    is_less,
    is_same,
    kept_if,
    larger,
    mul,
    negated,
    raw_add,
    raw_div,
    raw_mul,
    scaled,
    smaller,
    sqrt,
    truth,
    two_prod,
)
from gradcli.reference.pairs.constants import STEPS, halves, tables


@cache
def _tables() -> np.ndarray:
    """2**(j/64) - 1, and sine and cosine of j*pi/32: high and low parts."""
    return np.array(tables()).reshape(6, STEPS)


@cache
def _exact() -> dict[str, Any]:
    """Numbers of more digits: as pairs, or, in parts of which whole numbers times the first are exact, as several doubles."""
    import mpmath

    m = mpmath.MPContext()
    m.prec = 400
    found: dict[str, Any] = {"ln2": halves(+m.ln2), "pi": halves(+m.pi)}
    found |= {f"1/{n}": halves(m.mpf(1) / n) for n in (6, 24, 120, 720, 5040)}
    for name, rest in (("ln2/64", m.ln2 / 64), ("pi/32", m.pi / 32)):
        number, parts = rest, []
        for bits in (32, 53, 53, 53):
            exponent = m.frexp(number)[1]
            parts.append(float(m.ldexp(m.nint(m.ldexp(number, bits - exponent)), exponent - bits)))
            number -= m.mpf(parts[-1])
        found[name] = parts
    return found


def _series(h: Any, *terms: float) -> Any:
    """1/terms[0] + h/terms[1] + h**2/terms[2] + ..."""
    total = 1.0 / terms[-1]
    for term in reversed(terms[:-1]):
        total = 1.0 / term + h * total
    return total


def _less_multiple(x: Pair, n: Any, parts: list[float]) -> Pair:
    """x - n*c, where c is the sum of the parts."""
    found = raw_add((x[0] - n * parts[0], 0.0), negated(two_prod(n, parts[1])))
    third, rest = two_prod(n, parts[2])
    return raw_add(raw_add(found, (x[1], 0.0)), negated((third, rest + n * parts[3])))


def _exp_parts(x: Pair) -> tuple[Any, Pair, Pair]:
    """exp(x) - 1 for |x| < 700 as scale*(1 + table)*(1 + q) - 1: scale, table and q."""
    known, (high, low, *_) = _exact(), _tables()
    n = np.rint(x[0] * (64 / known["ln2"][0]))
    r = _less_multiple(x, n, known["ln2/64"])
    j = n - 64 * np.floor(n / 64)
    at = np.where(np.isfinite(j), j, 0).astype(np.int64)
    scale = np.ldexp(1.0, np.where(np.isfinite(n), (n - j) / 64, 0).astype(np.int64))
    s = raw_add(known["1/120"], two_prod(r[0], _series(r[0], 720, 5040, 40320, 362880, 3628800, 39916800)))
    for constant in (known["1/24"], known["1/6"], (0.5, 0.0)):
        s = raw_add(constant, raw_mul(r, s))
    return scale, (high[at], low[at]), raw_add(r, raw_mul(r, raw_mul(r, s)))


def _raw_exp(x: Pair) -> Pair:
    scale, table, q = _exp_parts(x)
    table = raw_add((1.0, 0.0), table)
    return scaled(raw_add(table, raw_mul(table, q)), scale)


def _raw_expm1(x: Pair) -> Pair:
    scale, table, q = _exp_parts(x)
    whole = raw_add((1.0, 0.0), table)
    near = either(scale == 1, table, raw_add(scaled(whole, scale), (-1.0, 0.0)))
    return raw_add(near, scaled(raw_mul(whole, q), scale))


def _moderate(x: Pair) -> Any:
    return np.abs(x[0]) < 660


def _zero_unless(fits: Any, x: Pair, otherwise: float = 0.0) -> Pair:
    return either(fits, x, (otherwise, 0.0))


def _exp(x: Pair) -> Pair:
    return kept_if(_moderate(x), _raw_exp(_zero_unless(_moderate(x), x)))


def _expm1(x: Pair) -> Pair:
    y = either(x[0] < -100, (-100.0, 0.0), x)  # beyond, it is -1 but for what is far beneath its last bit
    return in_range(kept_if(_moderate(y), _raw_expm1(_zero_unless(_moderate(y), y))))


def _near_log1p(x: Pair) -> Pair:
    """log(1 + x) for -0.3 < x < 0.5, or so: a series in doubles, then a step of Newton's on exp(y) - 1 = x, with its square."""
    s = x[0] / (2 + x[0])
    y = 2 * s + 2 * s * s * s * _series(s * s, *range(3, 26, 2))
    less = _raw_expm1((y, 0.0))
    left = raw_div(raw_add(x, negated(less)), raw_add((1.0, 0.0), less))
    return raw_add((y, 0.0), raw_add(left, (-0.5 * left[0] * left[0], 0.0)))


def _exponent(x: Any) -> Any:
    """The k with x = m*2**k and m from sqrt(1/2) to sqrt(2)."""
    fraction, k = np.frexp(x)
    return (k - (fraction < np.sqrt(0.5))).astype(np.float64)


def _power_of_two(k: Any) -> Any:
    return np.ldexp(1.0, k.astype(np.int64))


def _log(x: Pair) -> Pair:
    fits = (x[0] > 0) & (x[0] <= LARGE)
    y = _zero_unless(fits, x, 1.0)
    k = _exponent(y[0])
    near = _near_log1p(raw_add(scaled(y, _power_of_two(-k)), (-1.0, 0.0)))
    return in_range(kept_if(fits, raw_add(raw_mul((k, 0.0), _exact()["ln2"]), near)))


def _log1p(x: Pair) -> Pair:
    near, fits = np.abs(x[0]) < 0.25, (x[0] > -1) & (x[0] <= LARGE)
    y = _zero_unless(fits, x)
    far = raw_add((1.0, 0.0), y)
    k = np.where(near, 0.0, _exponent(far[0]))
    rest = either(near, y, raw_add(scaled(far, _power_of_two(-k)), (-1.0, 0.0)))
    return in_range(kept_if(fits, raw_add(raw_mul((k, 0.0), _exact()["ln2"]), _near_log1p(rest))))


def _raw_sincos(x: Pair) -> tuple[Pair, Pair]:
    known, (*_, sine, sine_low, cosine, cosine_low) = _exact(), _tables()
    n = np.rint(x[0] * (32 / known["pi"][0]))
    d = _less_multiple(x, n, known["pi/32"])
    at = np.where(np.isfinite(n), n - 64 * np.floor(n / 64), 0).astype(np.int64)
    z = raw_mul(d, d)
    s = raw_add(negated(known["1/5040"]), two_prod(z[0], _series(z[0], 362880, -39916800, 6227020800, -1307674368000)))
    for constant in (known["1/120"], negated(known["1/6"])):
        s = raw_add(constant, raw_mul(z, s))
    s = raw_add(d, raw_mul(d, raw_mul(z, s)))
    c = raw_add(negated(known["1/720"]), two_prod(z[0], _series(z[0], 40320, -3628800, 479001600, -87178291200)))
    for constant in (known["1/24"], (-0.5, 0.0)):
        c = raw_add(constant, raw_mul(z, c))
    c = raw_mul(z, c)  # cos(d) - 1
    a, b = (sine[at], sine_low[at]), (cosine[at], cosine_low[at])
    return (
        raw_add(a, raw_add(raw_mul(b, s), raw_mul(a, c))),
        raw_add(b, raw_add(raw_mul(b, c), negated(raw_mul(a, s)))),
    )


def _sincos(x: Pair) -> tuple[Pair, Pair]:
    fits = np.abs(x[0]) < 50000
    sine, cosine = _raw_sincos(_zero_unless(fits, x))
    return in_range(kept_if(fits, sine)), in_range(kept_if(fits, cosine))


def _tan(x: Pair) -> Pair:
    return in_range(raw_div(*_sincos(x)))


def _with_sign(x: Pair, of: Any) -> Pair:
    return either(of < 0, negated(x), x)


def _tanh(x: Pair) -> Pair:
    less = _raw_expm1(either(np.abs(x[0]) > 60, (-120.0, 0.0), scaled(absolute(x), -2.0)))
    t = negated(raw_div(less, raw_add((2.0, 0.0), less)))
    return in_range(kept_if(x[0] == x[0], _with_sign(t, x[0])))


def _sinh(x: Pair) -> Pair:
    less = _raw_expm1(_zero_unless(_moderate(x), absolute(x)))
    s = scaled(raw_add(less, raw_div(less, raw_add((1.0, 0.0), less))), 0.5)
    return in_range(kept_if(_moderate(x), _with_sign(s, x[0])))


def _cosh(x: Pair) -> Pair:
    e = _raw_exp(_zero_unless(_moderate(x), absolute(x)))
    return kept_if(_moderate(x), scaled(raw_add(e, raw_div((1.0, 0.0), e)), 0.5))


def _atan(x: Pair) -> Pair:
    """The angle of (1, x), from the double's by one step along the circle."""
    far = np.abs(x[0]) > 1
    u = either(far, raw_div((-1.0, 0.0), _zero_unless(far, x, 1.0)), x)
    first = np.arctan(u[0])
    s, c = _raw_sincos((first, 0.0))
    y = raw_add((first, 0.0), raw_div(raw_add(raw_mul(u, c), negated(s)), raw_add(c, raw_mul(u, s))))
    beyond = raw_add(_with_sign(scaled(_exact()["pi"], 0.5), x[0]), y)
    return in_range(kept_if(x[0] == x[0], either(far, beyond, y)))


def _cbrt(x: Pair) -> Pair:
    y = np.cbrt(x[0])
    square = two_prod(y, y)
    over = raw_add(raw_mul(square, (y, 0.0)), negated(x))
    r = raw_add((y, 0.0), negated(raw_div(over, raw_mul(square, (3.0, 0.0)))))
    return in_range(either(x[0] == 0, (0.0, 0.0), r))


def _sign(x: Pair) -> Pair:
    return np.sign(x[0]), 0.0


def _where(t: Pair, x: Pair, y: Pair) -> Pair:
    low = np.where(t[0] == 1, x[1], y[1])
    return np.where(t[0] == 1, x[0], np.where(t[0] == 0, y[0], np.nan)), low


def _rough(function: Callable[..., Any]) -> Callable[..., Pair]:
    return lambda *operands: (function(*(x[0] for x in operands)), 0.0)


def _rough_truth(compared: Callable[..., Any]) -> Callable[..., Pair]:
    return _rough(lambda a, b: np.where((a != a) | (b != b), np.nan, compared(a, b)))


INSTRUCTIONS: dict[str, Callable[..., Pair]] = {
    "add": lambda a, b: in_range(raw_add(a, b)), "sub": lambda a, b: in_range(raw_add(a, negated(b))), "mul": mul, "div": div,
    "pow": lambda x, y: _exp(mul(y, _log(x))), "neg": negated, "abs": absolute, "sign": _sign, "sqrt": sqrt, "cbrt": _cbrt, "exp": _exp,
    "expm1": _expm1, "log": _log, "log1p": _log1p, "sin": lambda x: _sincos(x)[0], "cos": lambda x: _sincos(x)[1], "tan": _tan,
    "atan": _atan, "sinh": _sinh, "cosh": _cosh, "tanh": _tanh, "floor": floor, "ceil": ceil,
    "trunc": lambda x: either(x[0] < 0, ceil(x), floor(x)),
    "maximum": lambda a, b: larger(a, (np.where(a[0] == a[0], b[0], np.nan), b[1])),
    "minimum": lambda a, b: smaller(a, (np.where(a[0] == a[0], b[0], np.nan), b[1])),
    "less": lambda a, b: truth(is_less(a, b), a, b), "less_equal": lambda a, b: truth(is_less(a, b) | is_same(a, b), a, b),
    "equal": lambda a, b: truth(is_same(a, b), a, b), "not_equal": lambda a, b: truth(~is_same(a, b), a, b),
    "known": lambda a, b: truth(1.0, a, b), "both": _rough(lambda a, b: a * b), "either": _rough(lambda a, b: a + b - a * b),
    "not": _rough(lambda a: 1 - a), "where": _where, "widen": lambda a: (a[0], 0.0), "rounded": lambda a: (a[0], 0.0),
    "rough_where": _where,
    "rough_add": _rough(np.add), "rough_sub": _rough(np.subtract), "rough_mul": _rough(np.multiply), "rough_div": _rough(np.divide),
    "rough_neg": _rough(np.negative), "rough_abs": _rough(np.abs), "rough_sqrt": _rough(np.sqrt), "rough_maximum": _rough(np.maximum),
    "rough_minimum": _rough(np.minimum), "rough_less": _rough_truth(np.less), "rough_less_equal": _rough_truth(np.less_equal),
    "rough_equal": _rough_truth(np.equal), "rough_not_equal": _rough_truth(np.not_equal),
    "finite": _rough(lambda a: np.where(a != a, np.nan, np.isfinite(a))),
    "single": _rough(lambda a: a.astype(np.float32).astype(np.float64)),
}  # fmt: skip
