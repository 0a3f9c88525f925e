"""Calls of names that no library has, and what they give: from mpmath, or from formulas written
here.

The gradients of some functions are here too, where they are operations of their own: SciPy has none
to hold them against.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import mpmath
import numpy as np

from oracles.compare import Tolerance, off, run
from oracles.libraries import used, weights
from oracles.values import VALUES

Function = Callable[..., Any]


class Case(NamedTuple):
    """A text, its value as a function of the arrays that it names, and entry by entry the slopes by
    some of them.
    """

    text: str
    value: Function
    slopes: Mapping[str, Function] = {}
    within: float = 1e-12


def precise(function: Function) -> Function:
    """A function of mpmath's numbers at every entry; where it has no real value, nothing is asked
    (masked).
    """

    def at(*numbers: float) -> float:
        with mpmath.workdps(40):
            try:
                value = function(*(mpmath.mpf(float(x)) for x in numbers))
            except (ValueError, ZeroDivisionError, OverflowError, NotImplementedError):
                return np.nan
            return float(value) if isinstance(value, mpmath.mpf) else np.nan

    return lambda *arrays: np.ma.masked_invalid(np.vectorize(at, otypes=[float])(*arrays))


def by_differences(function: Function) -> Function:
    """The slope of sum(weights * function) by its first array, each entry of which it is
    linear in.
    """

    def slope(x: np.ndarray, *rest: Any) -> np.ndarray:
        out = np.zeros(x.shape)
        for index in np.ndindex(x.shape):
            up, down = x.copy(), x.copy()
            up[index] += 0.5
            down[index] -= 0.5
            change = function(up, *rest) - function(down, *rest)
            out[index] = (weights(np.shape(change)) * change).sum()
        return out

    return slope


def adjugate(x: np.ndarray) -> np.ndarray:
    """The transposed cofactors, of minors written out."""
    out = np.empty((3, 3))
    for i, j in np.ndindex(3, 3):
        (a, b), (c, d) = np.delete(np.delete(x, i, 0), j, 1)
        out[j, i] = (-1) ** (i + j) * (a * d - b * c)
    return out


def _entropy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return -y * np.log(x) - (1 - y) * np.log(1 - x)


def _beta(x: Any, y: Any) -> Any:
    return mpmath.beta(x, y) * (mpmath.digamma(x) - mpmath.digamma(x + y))


_ONE = {  # functions of one number
    **{name: getattr(mpmath, name.lower()) for name in ("Si", "Ci", "Shi", "Chi", "E1", "Ei", "li", "ln")},
    **{name: getattr(mpmath, name) for name in ("sec", "csc", "cot", "sech", "csch", "coth")},
    **{name: getattr(mpmath, word) for word in ("asec", "acsc", "acot", "asech", "acsch", "acoth") for name in (word, "arc" + word[1:])},
    "swish": lambda x: x / (1 + mpmath.exp(-x)), "log_sigmoid": lambda x: -mpmath.log1p(mpmath.exp(-x)),
}  # fmt: skip
_BESSEL = {
    "besselj": mpmath.besselj,
    "bessely": mpmath.bessely,
    "besseli": mpmath.besseli,
    "besselk": mpmath.besselk,
}


def _slope(function: Function, place: int = 0) -> Function:
    """The derivative by one argument, as mpmath's differences have it."""
    return precise(
        lambda *x: mpmath.diff(function, x, tuple(int(i == place) for i in range(len(x))))
    )


def _below(a: Any, x: Any) -> Any:
    return mpmath.gammainc(a, 0, x, regularized=True)


def _part(a: Any, b: Any, x: Any) -> Any:
    return mpmath.betainc(a, b, 0, x, regularized=True)


def _dawson(x: Any) -> Any:
    return mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(-x * x) * mpmath.erfi(x)


def _slope_of(function: Function) -> Function:
    return lambda x: mpmath.diff(function, x)


_OF_TWO = {"gammainc": _below, "gammaincc": lambda a, x: 1 - _below(a, x)}
_OF_ONE = {
    "exprel": lambda x: mpmath.expm1(x) / x,
    "dawsn": _dawson,
    "ellipk": mpmath.ellipk,
    "ellipe": mpmath.ellipe,
}

EXPLICIT: dict[str, tuple[Case, ...]] = {
    **{name: (Case(f"{name}(Q, R)", precise(f), {"Q": _slope(f, 0), "R": _slope(f, 1)}, 1e-11),
              Case(f"{name}(9*Q, R)", lambda q, r, f=f: precise(f)(9 * q, r), {"R": lambda q, r, f=f: _slope(f, 1)(9 * q, r)}, 1e-11))
       for name, f in _OF_TWO.items()},
    "betainc": (Case("betainc(Q, R, P)", precise(_part), {"P": _slope(_part, 2)}, 1e-11),
        Case("betainc(Q, R, P[0])", lambda q, r, p: precise(_part)(q, r, p[0]),
            {"Q": lambda q, r, p: _slope(_part, 0)(q, r, p[0]), "R": lambda q, r, p: _slope(_part, 1)(q, r, p[0])},
             1e-11)),
    **{name: (Case(f"{name}(P)", precise(f), {"P": _slope(f)}, 1e-11),
    Case(f"grad(sum({name}(V)), V)", _slope(f), {"V": _slope(_slope_of(f))}, 1e-11))
       for name, f in _OF_ONE.items()},
    **{name: (Case(f"{name}(M)", precise(f)), Case(f"{name}(P)", precise(f)), Case(f"{name}(3*N)", lambda n, f=f: precise(f)(3 * n)))
       for name, f in _ONE.items()},
    **{name: tuple(Case(f"{name}({v}, P*7)", lambda p, f=f, v=v: precise(f)(v, p * 7), {}, 1e-11) for v in (0, 1, 2.5)) for name,
        f in _BESSEL.items()},
    "binomial": (Case("binomial(5, 2)", lambda: np.array(10.0)),
        Case("binomial(P*3, Q[:2, None])", lambda p, q: precise(mpmath.binomial)(p * 3, q[:2, None]))),
    "adjugate": (Case("adjugate(A)", adjugate, {"A": by_differences(adjugate)}),
        Case("adjugate([[1, 2], [2, 4]])", lambda: np.array([[4.0, -2.0], [-2.0, 1.0]]))),
    "bernoulli_nll": (Case("bernoulli_nll(P, P*P)", lambda p: _entropy(p, p * p)),
        Case("bernoulli_nll(Q, R)", _entropy, {"Q": lambda q, r: (q - r) / q / (1 - q)})),
    "take_along": (Case("take_along(M, J)", lambda m, j: np.take_along_axis(m, j, -1)),
        Case("take_along(M, J, axis=0)", lambda m, j: np.take_along_axis(m, j, 0))),
    "hurwitz_zeta": (Case("hurwitz_zeta(P + 1.25, 3.5)", lambda p: precise(mpmath.zeta)(p + 1.25, 3.5)),
                     Case("hurwitz_zeta(1.5 + Q, R)", lambda q, r: precise(mpmath.zeta)(1.5 + q, r), {
                         "Q": lambda q, r: precise(lambda s, a: mpmath.zeta(s, a, 1))(1.5 + q, r),
                         "R": lambda q, r: precise(lambda s, a: -s * mpmath.zeta(s + 1, a))(1.5 + q, r)}, 1e-11)),
    "beta": (Case("beta(Q, R)", precise(mpmath.beta), {"Q": precise(_beta), "R": lambda q, r: precise(_beta)(r, q)}),),
    "lambertw": (Case("lambertw(Q)", precise(mpmath.lambertw), {"Q": precise(lambda q: 1 / (q + mpmath.exp(mpmath.lambertw(q))))}),
        Case("lambertw(-0.3*Q)", lambda q: precise(lambda x: mpmath.re(mpmath.lambertw(x)))(-0.3 * q)),
        Case("lambertw(-0.3*Q, -1)", lambda q: precise(lambda x: mpmath.re(mpmath.lambertw(x, -1)))(-0.3 * q)),
        Case("scipy.special.lambertw(-0.3*Q, k=-1)", lambda q: precise(lambda x: mpmath.re(mpmath.lambertw(x, -1)))(-0.3 * q))),
    "stop_gradient": (Case("stop_gradient(M)", lambda m: m, {"M": np.zeros_like}),),
    "len": (Case("len(M)", lambda m: np.array(2.0)), Case("len(V)", lambda v: np.array(3.0))),
    "matvec": (Case("matvec(A, V)", lambda a, v: (a * v).sum(1)),),
    "vecmat": (Case("vecmat(V, C)", lambda v, c: (c * v[:, None]).sum(0)),),
    "max": (Case("max(M)", lambda m: np.array(2.75)), Case("max(M, 0)", lambda m: np.maximum(m, 0)),
        Case("max(M, N, 0.5)", lambda m, n: np.maximum(np.maximum(m, n), 0.5))),
    "min": (Case("min(M)", lambda m: np.array(-1.25)), Case("min(M, 0)", lambda m: np.minimum(m, 0)),
        Case("min(M, N, 0.5)", lambda m, n: np.minimum(np.minimum(m, n), 0.5))),
    # operators, parts and what a program does with values
    "getitem": tuple(Case(text, lambda *arrays, text=text: eval(text, dict(zip(used(text), arrays, strict=True)))) for text in (
        "M[1, ::2]", "T[:, -1, 1:3]", "T[0][..., None, 2]", "M[:, K]", "O[::-1]", "M[B]", "T[1, "
        ":, L]", "A[K, K]", "T[:, J]")),
    "add": tuple(Case(text, lambda *arrays, text=text: eval(text, dict(zip(used(text), arrays, strict=True)))) for text in (
        "M + N", "M - 0.3", "M*N", "M/N", "-M", "M**2", "P**N", "2**M", "M % 0.4", "M//0.4", "0.5 "
        "- M", "2/N", "A @ V", "M @ C", "M > N",
            "M <= 0.5", "M == M", "M != N",
        "-M**2", "M - N - P", "M/N*P", "2**-P**2", "(M + N)*P - M/(1 + P)", "M.T @ N", "V @ W", "+M")),
    "derivative": (Case("grad(sum(V**3), V)*2", lambda v: 6 * v**2, {"V": lambda v: 12 * v}),
        Case("hessian(sum(V**3), V)", lambda v: np.diag(6 * v)),
                   Case("jacobian(V**3, V)", lambda v: np.diag(3 * v**2)), Case("jvp(V**3, V, W)", lambda v, w: 3 * v**2 * w),
                       Case("vjp(V**3, V, W)", lambda v, w: 3 * v**2 * w),
                   Case("hvp(sum(V**3), V, W)", lambda v, w: 6 * v * w)),
    "alias": (Case("y = V**2\ny*y", lambda v: v**4, {"V": lambda v: 4 * v**3}), Case("y = "
    "V**2\ngrad(sum(y*y), y)", lambda v: 2 * v**2)),
}  # fmt: skip


def explicit_faults(name: str) -> Iterator[str]:
    """What is wrong with a name that has cases of its own."""
    for case in EXPLICIT.get(name, ()):
        arrays = [VALUES[word] for word in used(case.text)]
        with np.errstate(all="ignore"):
            wanted = case.value(*arrays)
            slopes = {word: slope(*arrays) for word, slope in case.slopes.items()}
        wanted = np.ma.asarray(wanted, float)
        record = run(case.text, wanted.shape, case.slopes)
        within = Tolerance(case.within, 1e-14, 1e-15)
        wrong = off(record.value, wanted, within)
        if wrong:
            yield f"{case.text} {wrong}"
        for word, slope in slopes.items():
            entries = (
                slope if case.slopes[word].__name__ == "slope" else slope * weights(wanted.shape)
            )
            wrong = off(record.grad[word], entries, within.of_slopes(0.0))
            if wrong:
                yield f"the gradient of {case.text} by {word} {wrong}"
