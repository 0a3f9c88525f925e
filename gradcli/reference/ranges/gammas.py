"""Gamma functions over intervals: smooth among the positive numbers, in balls between their poles."""

from __future__ import annotations

from flint import acb, arb

from gradcli.reference.ranges.intervals import INFINITE, MINUS_INFINITE, ZERO, Interval, high, low
from gradcli.reference.ranges.shape import POLE, Found, of_balls, valley


def _gamma_point() -> arb:
    """Where gamma is least among the positive numbers: the zero of digamma, which rises there."""
    x = arb("1.4616321449683623412626595423257213284681962040064463512959884")
    return arb(x.mid(), arb("1e-55"))


def gamma(x: Interval) -> Found:
    if x[0] > 0:
        rises: Found = valley(arb.gamma, _gamma_point)(x)
        return rises
    if x[0] == 0 and x[1] > 0:
        ends = [arb.gamma(x[1])] if x[1] < arb("1.46") else [arb.gamma(_gamma_point())]
        return Found((low(ends[0]), INFINITE), POLE, True)
    found: Found = of_balls(arb.gamma, POLE, lambda y: y.contains_integer())(x)
    return found


def log_gamma(x: Interval) -> Found:
    if x[0] > 0:
        rises: Found = valley(arb.lgamma, _gamma_point)(x)
        return rises
    if x[0] == 0 and x[1] > 0:
        ends = [arb.lgamma(x[1])] if x[1] < arb("1.46") else [arb.lgamma(_gamma_point())]
        return Found((low(ends[0]), INFINITE), POLE, True)
    found: Found = of_balls(lambda y: arb(arb.gamma(y).__abs__()).log(), POLE, lambda y: y.contains_integer())(x)
    return found


def digamma(x: Interval) -> Found:
    if x[0] > 0:
        return Found((low(x[0].digamma()), high(x[1].digamma()) if x[1].is_finite() else INFINITE))
    if x[0] == 0 and x[1] > 0:
        return Found((MINUS_INFINITE, high(x[1].digamma()) if x[1].is_finite() else INFINITE), POLE, True)
    found: Found = of_balls(arb.digamma, POLE, lambda y: y.contains_integer())(x)
    return found


def polygamma(order: Interval, x: Interval) -> Found:
    whole = order[0].unique_fmpz()
    assert whole is not None
    n = int(whole)
    if n == 0:
        return digamma(x)

    def function(y: arb) -> arb:
        return acb(y).polygamma(n).real

    if x[0] >= 0 and x[1] > 0:
        far = ZERO if not x[1].is_finite() else function(x[1])
        near = (INFINITE if n % 2 else MINUS_INFINITE) if x[0] == 0 else function(x[0])
        ends = (low(far), high(near)) if n % 2 else (low(near), high(far))
        return Found(ends, POLE if x[0] == 0 else None, x[0] == 0)
    found: Found = of_balls(function, POLE, lambda y: y.contains_integer())(x)
    return found
