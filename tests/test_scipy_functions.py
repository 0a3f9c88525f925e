"""SciPy's functions on tensors beside SciPy itself, their gradients beside difference quotients of
SciPy's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special
import scipy.stats

import gradcli as torch

rng = np.random.default_rng(5)
ARRAYS = {
    "a": rng.normal(size=(3, 3)), "d": rng.normal(size=(3, 5)) + 2.0,
    "v": rng.normal(size=5), "p": rng.uniform(0.2, 3.0, size=4), "w": rng.uniform(0.5, 2.0, size=4), "s": np.diag([2.0, 3.0, 1.5]) + 0.3,
}  # fmt: skip
TEXTS = [
    *(f"special.{name}(2, p)" for name in (
        "iv", "jv", "kn", "yn", "expn", "polygamma", "eval_legendre", "eval_hermite",
    )),
    "special.iv(1.5, p)", "special.kv(0.5, p)", "special.rgamma(p)", "special.betainc(1.5, 2.5, "
    "p / 4)",
    "special.gammainc(1.5, p)", "special.gammaincc(1.5, p)", "special.logsumexp(p, b=w)", "special.logsumexp(a, axis=0, keepdims=True)",
    "stats.norm.logpdf(v, 0.5, 2.0)", "stats.norm.logcdf(v)", "stats.t.logpdf(v, 3.5)", "stats.gamma.logpdf(p, w)",
    "stats.beta.pdf(p / 4, w, 2.0)",
    "stats.chi2.cdf(p, 3)", "stats.poisson.logpmf(np.array([0.0, 1.0, 2.0, 5.0]), p)",
    "stats.dirichlet.logpdf(np.array([0.2, 0.5, 0.3]), w[:3])",
    "stats.multivariate_normal.logpdf(v[:3], a[0], s)",
]  # fmt: skip


def copies() -> dict[str, Any]:
    return {name: array.copy() for name, array in ARRAYS.items()}


def of(library: Any, text: str, given: dict[str, Any]) -> Any:
    return eval(f"library.{text}", {"library": library, "np": np, **given})


def total(library: Any, text: str, given: dict[str, Any]) -> Any:
    result = of(library, text, given)
    return (result * np.cos(np.arange(np.size(result)) + 1.0).reshape(np.shape(result))).sum()


@pytest.mark.parametrize("text", TEXTS)
def test_values_and_gradients_are_those_of_scipy(text: str) -> None:
    mine = of(torch.scipy, text, {name: torch.tensor(array) for name, array in copies().items()})
    assert mine.numpy() == pytest.approx(of(scipy, text, copies()), rel=1e-9, abs=1e-12)
    for name in [
        name
        for name in ARRAYS
        if any(f"{before}{name}{after}" in text for before in "( ," for after in ",) [")
    ]:
        leaf = torch.tensor(ARRAYS[name], requires_grad=True)
        result = total(torch.scipy, text, {**copies(), name: leaf})
        wanted = np.zeros(leaf.shape)
        for place in np.ndindex(wanted.shape):
            ends = []
            for step in (1e-6, -1e-6):
                given = copies()
                given[name][place] += step
                if name == "s" and "normal" in text:
                    given[name] = (given[name] + given[name].T) / 2  # SciPy reads one triangle
                ends.append(total(scipy, text, given))
            wanted[place] = (ends[0] - ends[1]) / 2e-6
        if not result.requires_grad:
            assert not wanted.any(), f"the gradient by {name} is lost"
            continue
        result.backward()
        assert leaf.grad.numpy() == pytest.approx(wanted, rel=1e-5, abs=1e-7), name


def test_ufuncs_of_scipy_are_recorded() -> None:
    x = torch.tensor([0.5, 1.5], dtype=torch.float64, requires_grad=True)
    assert scipy.special.iv(1.0, x).requires_grad


def test_random_numbers_are_those_of_scipy() -> None:
    found = torch.scipy.stats.norm.rvs(torch.tensor([1.0, -2.0]), scale=0.5, size=2, random_state=3)
    assert np.array_equal(
        found, scipy.stats.norm.rvs([1.0, -2.0], scale=0.5, size=2, random_state=3)
    )
    with pytest.raises(TypeError, match="rvs: a tensor that requires grad loses its gradient"):
        torch.scipy.stats.gamma.rvs(torch.tensor(2.0, requires_grad=True))


@pytest.mark.parametrize("path", ["linalg.lu_factor", "signal.convolve", "linalg.sqrtm"])
def test_what_other_libraries_have_otherwise_is_refused(path: str) -> None:
    part, _, name = path.partition(".")
    with pytest.raises(AttributeError, match=f"gradcli has no scipy.{path}"):
        getattr(getattr(torch.scipy, part), name)


@pytest.mark.parametrize("order", [1.5, np.array([1.0, 2.0])])
def test_whole_orders_are_one_whole_number(order: Any) -> None:
    with pytest.raises(ValueError, match="order"):
        torch.scipy.special.kn(order, torch.tensor([0.5, 1.5]))


@pytest.mark.parametrize("name", ["comb", "perm", "factorial"])
def test_counts_of_what_cannot_be_counted_are_zero(name: str) -> None:
    """Where the functions of real numbers have values, or none, SciPy has zero: 2.3 things of which
    3 are taken, -0.7!.
    """
    n, k = (
        np.array([5.5, 3.0, -1.0, -1.5, 2.3, 7.0, 4.0, -0.7]),
        np.array([2.0, 1.5, 0.0, 2.0, 3.0, -1.0, 4.0, -0.5]),
    )
    arguments = (n,) if name == "factorial" else (n, k)
    leaf = torch.tensor(n, requires_grad=True)
    found = getattr(torch.scipy.special, name)(leaf, *arguments[1:])
    wanted = getattr(scipy.special, name)(*arguments)
    assert found.detach().numpy() == pytest.approx(wanted, rel=1e-12)
    found.sum().backward()
    assert (leaf.grad.numpy()[wanted == 0] == 0).all()
    assert np.isfinite(leaf.grad.numpy()).all()
