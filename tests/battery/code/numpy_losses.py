"""Losses and likelihoods in NumPy and SciPy, with derivatives by hand."""

from __future__ import annotations

import numpy as np
from scipy import special

from battery.code.entries import Entry, about, some

X, Y, W = some(6, 3), some(6, state=1), some(3, state=2)
LABELS = np.array([0, 2, 1, 1, 0, 2])
COUNTS = np.array([0, 3, 1, 2, 0, 5])


def ridge(w, X, y):
    r = X @ w - y
    return 0.5 * r @ r / len(y) + 0.1 * w @ w


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


def poisson_nll(w, X, counts):
    eta = X @ w
    return np.sum(np.exp(eta) - counts * eta + special.gammaln(counts + 1))


def dirichlet(alpha, p):
    return (
        special.gammaln(alpha.sum())
        - special.gammaln(alpha).sum()
        + ((alpha - 1) * np.log(p)).sum()
    )


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


P = np.array([0.2, 0.5, 0.3])
ENTRIES: list[Entry] = [
    *about(ridge, {"w": W, "X": X, "y": Y}, lambda w, X, y: X.T @ (X @ w - y) / len(y) + 0.2 * w, {
        "the penalty left out": lambda w, X, y: X.T @ (X @ w - y) / len(y),
        "summed, not averaged": lambda w, X, y: X.T @ (X @ w - y) + 0.2 * w,
    }, wrt="w"),
    *about(cross_entropy, {"W": some(3, 3, state=3), "X": X, "labels": LABELS}, cross_entropy_slope, {
        "no target": cross_entropy_without_targets, "summed": cross_entropy_summed,
        "transposed": lambda W, X, labels: cross_entropy_slope(W, X, labels).T,
    }, wrt="W"),
    *about(huber, {"w": W, "X": X, "y": Y}, huber_slope, {"the outer branch without delta": huber_wrong_branch}, wrt="w"),
    *about(poisson_nll, {"w": W, "X": X, "counts": COUNTS}, lambda w, X, counts: X.T @ (np.exp(X @ w) - counts), {
        "the rate's logarithm": lambda w, X, counts: X.T @ (X @ w - counts),
    }, wrt="w"),
    *about(dirichlet, {"alpha": np.array([0.5, 2.0, 3.5]), "p": P}, lambda alpha, p: special.digamma(alpha.sum()) - special.digamma(alpha) + np.log(p), {
        "the normalizer left out": lambda alpha, p: -special.digamma(alpha) + np.log(p),
    }, wrt="alpha"),
    *about(cox, {"beta": W, "X": X, "order": np.array([3, 1, 0, 5, 4, 2])}, cox_slope, {"everyone at risk": cox_everyone_at_risk}, wrt="beta"),
]  # fmt: skip
