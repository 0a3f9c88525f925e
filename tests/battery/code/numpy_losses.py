"""Losses and likelihoods in NumPy and SciPy, with derivatives by hand."""

from __future__ import annotations

import numpy as np
from scipy import special, stats

from battery.code.entries import Entry, about, positive, some

X, Y, W = some(6, 3), some(6, state=1), some(3, state=2)
LABELS = np.array([0, 2, 1, 1, 0, 2])
SIGNS = np.array([1, -1, 1, 1, -1, 1])
COUNTS = np.array([0, 3, 1, 2, 0, 5])


def ridge(w, X, y):
    r = X @ w - y
    return 0.5 * r @ r / len(y) + 0.1 * w @ w


def logistic_regression(w, X, y):
    return np.mean(np.log1p(np.exp(-y * (X @ w))))


def logistic_slope(w, X, y):
    return -X.T @ (y * special.expit(-y * (X @ w))) / len(y)


def softmax_rows(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def cross_entropy(W, X, labels):
    z = X @ W
    z = z - z.max(axis=1, keepdims=True)
    log_p = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    return -log_p[np.arange(len(labels)), labels].mean()


def cross_entropy_slope(W, X, labels):
    p = softmax_rows(X @ W)
    p[np.arange(len(labels)), labels] -= 1
    return X.T @ p / len(labels)


def cross_entropy_without_targets(W, X, labels):
    return X.T @ softmax_rows(X @ W) / len(labels)


def cross_entropy_summed(W, X, labels):
    return cross_entropy_slope(W, X, labels) * len(labels)


def huber(w, X, y, delta=0.5):
    r = X @ w - y
    small = np.abs(r) <= delta
    return np.sum(np.where(small, 0.5 * r**2, delta * (np.abs(r) - 0.5 * delta)))


def huber_slope(w, X, y, delta=0.5):
    r = X @ w - y
    return X.T @ np.clip(r, -delta, delta)


def huber_wrong_branch(w, X, y, delta=0.5):
    r = X @ w - y
    return X.T @ np.where(np.abs(r) <= delta, r, np.sign(r))


def hinge(w, X, y):
    loss = 0.0
    for x, label in zip(X, y):
        margin = label * np.dot(w, x)
        if margin < 1:
            loss += 1 - margin
    return loss + 0.5 * np.dot(w, w)


def hinge_slope(w, X, y):
    active = y * (X @ w) < 1
    return w - X.T @ (active * y)


def hinge_all_active(w, X, y):
    return w - X.T @ y


def pinball(q, y, tau=0.3):
    d = y - q
    return np.mean(np.maximum(tau * d, (tau - 1) * d))


def gaussian_nll(mu, log_sigma, y):
    return np.sum(log_sigma + 0.5 * ((y - mu) / np.exp(log_sigma)) ** 2)


def gaussian_nll_slope(mu, log_sigma, y):
    z = (y - mu) / np.exp(log_sigma)
    return np.sum(-z / np.exp(log_sigma)), np.sum(1 - z**2)


def gaussian_nll_by_sigma(mu, log_sigma, y):
    """The second is the derivative by sigma, without the chain through its logarithm."""
    sigma = np.exp(log_sigma)
    z = (y - mu) / sigma
    return np.sum(-z / sigma), np.sum((1 - z**2) / sigma)


def student_t(nu, x):
    return np.sum(
        special.gammaln((nu + 1) / 2)
        - special.gammaln(nu / 2)
        - 0.5 * np.log(nu * np.pi)
        - (nu + 1) / 2 * np.log1p(x**2 / nu)
    )


def student_t_slope(nu, x):
    by_nu = 0.5 * (
        special.digamma((nu + 1) / 2)
        - special.digamma(nu / 2)
        - 1 / nu
        - np.log1p(x**2 / nu)
        + (nu + 1) * x**2 / (nu * (nu + x**2))
    )
    return np.sum(by_nu), -(nu + 1) * x / (nu + x**2)


def student_t_missing_term(nu, x):
    by_nu = 0.5 * (
        special.digamma((nu + 1) / 2) - special.digamma(nu / 2) - 1 / nu - np.log1p(x**2 / nu)
    )
    return np.sum(by_nu), -(nu + 1) * x / (nu + x**2)


def beta_log_density(a, b, x):
    return np.sum((a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - special.betaln(a, b))


def beta_slope(a, b, x):
    common = special.digamma(a + b)
    return np.sum(np.log(x) - special.digamma(a) + common), np.sum(
        np.log1p(-x) - special.digamma(b) + common
    )


def poisson_nll(w, X, counts):
    eta = X @ w
    return np.sum(np.exp(eta) - counts * eta + special.gammaln(counts + 1))


def negative_binomial(r, p, counts):
    return np.sum(
        special.gammaln(counts + r) - special.gammaln(r) + r * np.log(p) + counts * np.log1p(-p)
    )


def negative_binomial_slope(r, p, counts):
    by_r = special.digamma(counts + r) - special.digamma(r) + np.log(p)
    return np.sum(by_r), np.sum(r / p - counts / (1 - p))


def negative_binomial_sign(r, p, counts):
    return negative_binomial_slope(r, p, counts)[0], np.sum(r / p + counts / (1 - p))


def dirichlet(alpha, p):
    return (
        special.gammaln(alpha.sum())
        - special.gammaln(alpha).sum()
        + ((alpha - 1) * np.log(p)).sum()
    )


def von_mises(mu, kappa, angles):
    return np.sum(kappa * np.cos(angles - mu)) - len(angles) * np.log(2 * np.pi * special.i0(kappa))


def von_mises_slope(mu, kappa, angles):
    ratio = special.i1(kappa) / special.i0(kappa)
    return np.sum(kappa * np.sin(angles - mu)), np.sum(np.cos(angles - mu) - ratio)


def von_mises_upside_down(mu, kappa, angles):
    ratio = special.i0(kappa) / special.i1(kappa)
    return np.sum(kappa * np.sin(angles - mu)), np.sum(np.cos(angles - mu) - ratio)


def mixture(logits, means, y):
    log_w = logits - special.logsumexp(logits)
    parts = log_w - 0.5 * (y[:, None] - means) ** 2 - 0.5 * np.log(2 * np.pi)
    return special.logsumexp(parts, axis=1).sum()


def mixture_slope(logits, means, y):
    parts = logits - 0.5 * (y[:, None] - means) ** 2
    r = softmax_rows(parts)
    return (r - special.softmax(logits)).sum(axis=0), (r * (y[:, None] - means)).sum(axis=0)


def mixture_hard(logits, means, y):
    """As if each point belonged to the most likely part."""
    parts = logits - 0.5 * (y[:, None] - means) ** 2
    r = np.eye(len(means))[parts.argmax(axis=1)]
    return (r - special.softmax(logits)).sum(axis=0), (r * (y[:, None] - means)).sum(axis=0)


def cox(beta, X, order):
    """The partial likelihood of survival times without ties, in the given order."""
    total = 0.0
    risk = X[order] @ beta
    for i in range(len(risk)):
        total += risk[i] - np.log(np.sum(np.exp(risk[i:])))
    return total


def cox_slope(beta, X, order):
    Z = X[order]
    w = np.exp(Z @ beta)
    return sum(Z[i] - w[i:] @ Z[i:] / w[i:].sum() for i in range(len(Z)))


def cox_everyone_at_risk(beta, X, order):
    Z = X[order]
    w = np.exp(Z @ beta)
    return sum(Z[i] - w @ Z / w.sum() for i in range(len(Z)))


def focal(z, labels, gamma=2.0):
    p = 1 / (1 + np.exp(-z))
    pt = np.where(labels == 1, p, 1 - p)
    return -np.sum((1 - pt) ** gamma * np.log(pt))


def focal_slope(z, labels, gamma=2.0):
    p = 1 / (1 + np.exp(-z))
    pt = np.where(labels == 1, p, 1 - p)
    sign = np.where(labels == 1, 1, -1)
    return sign * (1 - pt) ** gamma * (gamma * pt * np.log(pt) - (1 - pt))


def focal_weight_constant(z, labels, gamma=2.0):
    p = 1 / (1 + np.exp(-z))
    pt = np.where(labels == 1, p, 1 - p)
    return -np.where(labels == 1, 1, -1) * (1 - pt) ** (gamma + 1)


def info_nce(a, b, t=0.5):
    a = a / np.linalg.norm(a, axis=1, keepdims=True)
    s = a @ b.T / t
    return np.mean(special.logsumexp(s, axis=1) - np.diag(s))


def info_nce_slope(a, b, t=0.5):
    norms = np.linalg.norm(a, axis=1, keepdims=True)
    u = a / norms
    g = (softmax_rows(u @ b.T / t) - np.eye(len(a))) @ b / t / len(a)
    return (g - u * np.sum(g * u, axis=1, keepdims=True)) / norms


def info_nce_not_projected(a, b, t=0.5):
    norms = np.linalg.norm(a, axis=1, keepdims=True)
    return (softmax_rows(a / norms @ b.T / t) - np.eye(len(a))) @ b / t / len(a) / norms


def kl_of_gaussians(mu, log_var):
    return -0.5 * np.sum(1 + log_var - mu**2 - np.exp(log_var))


def triplet(a, p, n, margin=1.0):
    return max(0.0, np.sum((a - p) ** 2) - np.sum((a - n) ** 2) + margin)


def weibull_censored(shape, scale, times, observed):
    z = (times / scale) ** shape
    return np.sum(observed * (np.log(shape / scale) + (shape - 1) * np.log(times / scale)) - z)


def weibull_slope(shape, scale, times, observed):
    u = np.log(times / scale)
    z = (times / scale) ** shape
    return np.sum(observed * (1 / shape + u) - z * u), np.sum(shape / scale * (z - observed))


def weibull_as_if_all_died(shape, scale, times, observed):
    return weibull_slope(shape, scale, times, np.ones_like(times))


def probit(w, X, y):
    return -np.sum(stats.norm.logcdf(y * (X @ w)))


def probit_slope(w, X, y):
    z = y * (X @ w)
    return -X.T @ (y * np.exp(stats.norm.logpdf(z) - stats.norm.logcdf(z)))


P = np.array([0.2, 0.5, 0.3])
ENTRIES: list[Entry] = [
    *about(ridge, {"w": W, "X": X, "y": Y}, lambda w, X, y: X.T @ (X @ w - y) / len(y) + 0.2 * w, {
        "the penalty left out": lambda w, X, y: X.T @ (X @ w - y) / len(y),
        "summed, not averaged": lambda w, X, y: X.T @ (X @ w - y) + 0.2 * w,
    }, wrt="w"),
    *about(logistic_regression, {"w": W, "X": X, "y": SIGNS}, logistic_slope, {
        "its sign": lambda w, X, y: -logistic_slope(w, X, y),
        "no label in the margin": lambda w, X, y: -X.T @ (y * special.expit(-X @ w)) / len(y),
    }, wrt="w"),
    *about(cross_entropy, {"W": some(3, 3, state=3), "X": X, "labels": LABELS}, cross_entropy_slope, {
        "no target": cross_entropy_without_targets, "summed": cross_entropy_summed,
        "transposed": lambda W, X, labels: cross_entropy_slope(W, X, labels).T,
    }, wrt="W"),
    *about(huber, {"w": W, "X": X, "y": Y}, huber_slope, {"the outer branch without delta": huber_wrong_branch}, wrt="w"),
    *about(hinge, {"w": W, "X": X, "y": SIGNS}, hinge_slope, {"all of them active": hinge_all_active}, wrt="w"),
    *about(pinball, {"q": 0.1, "y": Y}, lambda q, y: np.mean(np.where(y > q, -0.3, 0.7)), {
        "sides exchanged": lambda q, y: np.mean(np.where(y > q, 0.3, -0.7)),
    }, wrt="q"),
    *about(gaussian_nll, {"mu": 0.3, "log_sigma": -0.4, "y": Y}, gaussian_nll_slope, {"by sigma": gaussian_nll_by_sigma}, wrt=["mu", "log_sigma"]),
    *about(student_t, {"nu": 3.5, "x": Y}, student_t_slope, {"a missing term": student_t_missing_term}),
    *about(beta_log_density, {"a": 2.5, "b": 0.7, "x": np.array([0.1, 0.4, 0.9])}, beta_slope, {
        "a and b exchanged": lambda a, b, x: beta_slope(a, b, x)[::-1],
    }, wrt=["a", "b"]),
    *about(poisson_nll, {"w": W, "X": X, "counts": COUNTS}, lambda w, X, counts: X.T @ (np.exp(X @ w) - counts), {
        "the rate's logarithm": lambda w, X, counts: X.T @ (X @ w - counts),
    }, wrt="w"),
    *about(negative_binomial, {"r": 2.5, "p": 0.3, "counts": COUNTS}, negative_binomial_slope, {"a sign": negative_binomial_sign}, wrt=["r", "p"]),
    *about(dirichlet, {"alpha": np.array([0.5, 2.0, 3.5]), "p": P}, lambda alpha, p: special.digamma(alpha.sum()) - special.digamma(alpha) + np.log(p), {
        "the normalizer left out": lambda alpha, p: -special.digamma(alpha) + np.log(p),
    }, wrt="alpha"),
    *about(von_mises, {"mu": 0.5, "kappa": 1.7, "angles": Y}, von_mises_slope, {"the ratio upside down": von_mises_upside_down}, wrt=["mu", "kappa"]),
    *about(mixture, {"logits": W, "means": np.array([-1.0, 0.2, 1.5]), "y": Y}, mixture_slope, {"hard": mixture_hard}, wrt=["logits", "means"]),
    *about(cox, {"beta": W, "X": X, "order": np.array([3, 1, 0, 5, 4, 2])}, cox_slope, {"everyone at risk": cox_everyone_at_risk}, wrt="beta"),
    *about(focal, {"z": Y, "labels": np.array([0, 1, 1, 0, 1, 0])}, focal_slope, {"the weight as a constant": focal_weight_constant}, wrt="z"),
    *about(info_nce, {"a": some(4, 3, state=4), "b": some(4, 3, state=5)}, info_nce_slope, {"not projected": info_nce_not_projected}, wrt="a"),
    *about(kl_of_gaussians, {"mu": W, "log_var": W - 0.3}, lambda mu, v: (mu, 0.5 * (np.exp(v) - 1)), {
        "half forgotten": lambda mu, v: (mu, np.exp(v) - 1),
    }),
    *about(triplet, {"a": W, "p": W + 0.5, "n": W - 0.6}, lambda a, p, n: (2 * (n - p), -2 * (a - p), 2 * (a - n)), {
        "the negative's sign": lambda a, p, n: (2 * (n - p), -2 * (a - p), -2 * (a - n)),
    }),
    *about(weibull_censored, {"shape": 1.4, "scale": 2.0, "times": positive(5), "observed": np.array([1, 0, 1, 1, 0])}, weibull_slope, {
        "as if all had died": weibull_as_if_all_died,
    }, wrt=["shape", "scale"]),
    *about(probit, {"w": W, "X": X, "y": SIGNS}, probit_slope, {
        "the density alone": lambda w, X, y: -X.T @ (y * stats.norm.pdf(y * (X @ w))),
    }, wrt="w"),
]  # fmt: skip
