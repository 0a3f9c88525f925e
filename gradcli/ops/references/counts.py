"""References of distributions of whole numbers: probabilities as textbooks print them."""

from __future__ import annotations

from gradcli.ops.references.curves import Counts, choices, information, ln_gamma, power_of, state

_OF_COUNTS = "pmf logpmf cdf logcdf sf logsf mean var std"


state("poisson", Counts(
    1, lambda m, k, mu: power_of(m, mu, k) - mu - ln_gamma(m, k + 1), 0, fits=lambda mu: mu >= 0,
    cdf=lambda m, k, mu: m.function("gammaincc", k + m.one, mu), sf=lambda m, k, mu: m.function("gammainc", k + m.one, mu),
    mean=lambda m, mu: mu, var=lambda m, mu: mu,
), _OF_COUNTS)  # fmt: skip
state("binom", Counts(
    2, lambda m, k, n, p: choices(m, n, k) + power_of(m, p, k) + power_of(m, 1 - p, n - k), 0, lambda n, p: n,
    fits=lambda n, p: n >= 0 and 0 <= p <= 1, cdf=lambda m, k, n, p: m.function("betainc", n - k, k + m.one, 1 - p),
    sf=lambda m, k, n, p: m.function("betainc", k + m.one, n - k, p), mean=lambda m, n, p: n * p, var=lambda m, n, p: (n - n * p) * p,
), _OF_COUNTS)  # fmt: skip


state("bernoulli", Counts(
    1, lambda m, k, p: m.log(p) if k == 1 else m.log(1 - p), 0, 1, fits=lambda p: 0 <= p <= 1, cdf=lambda m, k, p: 1 - p,
    sf=lambda m, k, p: p, mean=lambda m, p: p, var=lambda m, p: p - p * p,
    entropy=lambda m, p: information(m, p) + information(m, 1 - p),
), _OF_COUNTS + " entropy")  # fmt: skip
state("geom", Counts(
    1, lambda m, k, p: power_of(m, 1 - p, k - 1) + m.log(p), 1, fits=lambda p: 0 < p <= 1, cdf=lambda m, k, p: 1 - m.power(1 - p, k),
    sf=lambda m, k, p: m.power(1 - p, k), mean=lambda m, p: 1 / p, var=lambda m, p: (1 / p - 1) / p,
), _OF_COUNTS)  # fmt: skip
state("nbinom", Counts(
    2, lambda m, k, n, p: choices(m, n + k - 1, k) + n * m.log(p) + power_of(m, 1 - p, k), 0, fits=lambda n, p: n > 0 and 0 < p <= 1,
    cdf=lambda m, k, n, p: m.function("betainc", n, k + m.one, p), sf=lambda m, k, n, p: m.function("betainc", k + m.one, n, 1 - p),
    mean=lambda m, n, p: n * (1 - p) / p, var=lambda m, n, p: n * (1 - p) / p / p,
), _OF_COUNTS)  # fmt: skip
