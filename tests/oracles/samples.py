"""Texts of scipy.stats that Python and gradcli read alike, held against what SciPy gives:
statistics of samples, and vectors' densities.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.stats

import gradcli
from gradcli.errors import ShapeError
from oracles.libraries import evaluated, parts_of, used
from oracles.values import VALUES

_S = "scipy.stats."
SAMPLES = tuple(_S + text for text in (
    "zscore(M)", "zscore(M, axis=1, ddof=1)", "zscore(A)", "gmean(P)", "gmean(P, axis=1)", "gmean(P, axis=1, weights=Q)", "hmean(P)",
    "hmean(P, axis=1)", "sem(M)", "sem(A, axis=1, ddof=0)", "skew(A)",
    "skew(A, axis=1, bias=False)", "kurtosis(A)", "kurtosis(O, fisher=False, bias=False)", "entropy(P)", "entropy(P, axis=1)",
    "entropy(P, P[::-1], base=2.5)", "pearsonr(V, W)[0]",
    "multivariate_normal.pdf(V, W, S)", "multivariate_normal.logpdf(V, W, S)",
    "multivariate_normal.logpdf(V[0], 0.2, 2.5)", "multivariate_normal.logpdf(V[0])",
    "multivariate_normal.entropy(W, S)", "dirichlet.pdf([0.2, 0.5, 0.3], Q*4)",
    "cauchy.mean(0.5, Q)", "cauchy.var(0.5, Q)", "cauchy.std(0.5, Q)", "halfcauchy.mean(0.5, Q)", "halfcauchy.var(0.5, Q)",
    "halfcauchy.std(0.5, Q)",
))  # fmt: skip


def sample_faults(text: str) -> Iterator[str]:
    """What is wrong with the value of a text.

    Raises what gradcli raises, LookupError where SciPy takes no such call.
    """
    assert scipy.stats
    at = {name: VALUES[name] for name in used(text)}
    (wanted,) = parts_of(evaluated(text, at))
    try:
        record = gradcli.evaluate(
            text, at=at, seed=np.ones(wanted.shape)[()], check=False, formula=False, freeze=list(at)
        )
    except ShapeError as error:  # the seed has the shape that SciPy's result has
        yield f"{text}: {error.message}"
        return
    found = np.asarray(record.value, float)
    if found.shape != wanted.shape or not np.allclose(
        found, wanted, rtol=1e-11, atol=1e-15, equal_nan=True
    ):
        yield f"{text} is {found.tolist()}, not {wanted.tolist()}"
