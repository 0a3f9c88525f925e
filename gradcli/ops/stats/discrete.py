"""Distributions of whole numbers: their probabilities are differentiated by their parameters, and by k as the formulas say."""

from __future__ import annotations

from typing import Any

from gradcli.ops.elementwise.exponential import expm1, log, log1p, xlog1py, xlogy
from gradcli.ops.elementwise.logic import greater, greater_equal, less_equal, logical_and
from gradcli.ops.special.combinatorics import betaln
from gradcli.ops.special.gamma import lgamma
from gradcli.ops.special.incomplete import betainc, gammainc, gammaincc
from gradcli.ops.special.probability import entr
from gradcli.ops.stats.families import Family, register


def _chance(p: Any) -> Any:
    return logical_and(greater_equal(p, 0), less_equal(p, 1))


register(Family("poisson", "mu", {
    "logpmf": lambda k, mu: xlogy(k, mu) - lgamma(k + 1) - mu, "cdf": lambda k, mu: gammaincc(k + 1, mu),
    "sf": lambda k, mu: gammainc(k + 1, mu), "mean": lambda mu: mu, "var": lambda mu: mu,
}, 0, valid=lambda mu: greater_equal(mu, 0)), discrete=True)  # fmt: skip
register(Family("binom", "n p", {
    "logpmf": lambda k, n, p: xlogy(k, p) + xlog1py(n - k, -p) - log(n + 1) - betaln(n - k + 1, k + 1),
    "cdf": lambda k, n, p: betainc(n - k, k + 1, 1 - p), "sf": lambda k, n, p: betainc(k + 1, n - k, p),
    "mean": lambda n, p: n * p, "var": lambda n, p: n * p * (1 - p),
}, 0, lambda n, p: n, valid=lambda n, p: logical_and(greater_equal(n, 0), _chance(p))), discrete=True)  # fmt: skip
register(Family("bernoulli", "p", {
    "logpmf": lambda k, p: xlogy(k, p) + xlog1py(1 - k, -p), "cdf": lambda k, p: 1 - p, "sf": lambda k, p: p,
    "mean": lambda p: p, "var": lambda p: p * (1 - p), "entropy": lambda p: entr(p) + entr(1 - p),
}, 0, 1, valid=_chance), discrete=True)  # fmt: skip
register(Family("geom", "p", {
    "logpmf": lambda k, p: xlog1py(k - 1, -p) + log(p), "cdf": lambda k, p: -expm1(k * log1p(-p)), "sf": lambda k, p: (1 - p) ** k,
    "mean": lambda p: 1 / p, "var": lambda p: (1 - p) / p**2,
}, 1, valid=lambda p: logical_and(greater(p, 0), less_equal(p, 1))), discrete=True)  # fmt: skip
register(Family("nbinom", "n p", {
    "logpmf": lambda k, n, p: n * log(p) + xlog1py(k, -p) - log(n + k) - betaln(n, k + 1), "cdf": lambda k, n, p: betainc(n, k + 1, p),
    "sf": lambda k, n, p: betainc(k + 1, n, 1 - p), "mean": lambda n, p: n * (1 - p) / p, "var": lambda n, p: n * (1 - p) / p**2,
}, 0, valid=lambda n, p: logical_and(greater(n, 0), logical_and(greater(p, 0), less_equal(p, 1)))), discrete=True)  # fmt: skip
