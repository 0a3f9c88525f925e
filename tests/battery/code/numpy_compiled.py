"""Functions that go through C, Fortran and solvers: SciPy's special functions, quadrature, roots, splines, sparse matrices; libm by ctypes."""

from __future__ import annotations

import ctypes
import ctypes.util
import math

import numpy as np
from scipy import integrate, interpolate, optimize, signal, sparse, special, stats
from scipy.sparse.linalg import cg

from battery.code.entries import Entry, about, definite, positive, some

X, V = some(4), positive(4, state=1)
LIBM = ctypes.CDLL(ctypes.util.find_library("m"))
for name in ("tgamma", "cbrt", "erf", "atan"):
    getattr(LIBM, name).restype, getattr(LIBM, name).argtypes = ctypes.c_double, [ctypes.c_double]
LIBM.hypot.restype, LIBM.hypot.argtypes = ctypes.c_double, [ctypes.c_double, ctypes.c_double]


def gamma_of_c(x):
    return LIBM.tgamma(x)


def error_function_of_c(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = LIBM.erf(x[i]) * x[i]
    return out


def sorted_by_c(x):
    """The largest by qsort and a callback, in an array of C."""
    kind = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_double)
    )
    array = (ctypes.c_double * len(x))(*x)
    ctypes.CDLL(None).qsort(
        array,
        len(x),
        ctypes.sizeof(ctypes.c_double),
        kind(lambda a, b: (a[0] > b[0]) - (a[0] < b[0])),
    )
    return array[len(x) - 1] ** 2 + array[0]


def sorted_slope(x):
    g = np.zeros(len(x))
    g[x.argmax()] += 2 * x.max()
    g[x.argmin()] += 1
    return g


def regularized_beta(a, x):
    return special.betainc(a, 2.0, x)


def moving_end(a):
    return integrate.quad(lambda t: math.sin(a * t), 0, a)[0]


def moving_end_slope(a):
    return 2 * math.sin(a * a) - (1 - math.cos(a * a)) / a**2


def moving_end_forgotten(a):
    return integrate.quad(lambda t: t * math.cos(a * t), 0, a)[0]


def stiff(k):
    found = integrate.solve_ivp(
        lambda t, y: -k * (y - math.cos(t)), (0, 0.5), [0.0], method="LSODA", rtol=1e-10, atol=1e-12
    )
    return found.y[0, -1]


def stiff_slope(k):
    t = 0.5
    n, m = k * k * math.cos(t) + k * math.sin(t) - k * k * math.exp(-k * t), 1 + k * k
    dn = 2 * k * math.cos(t) + math.sin(t) - 2 * k * math.exp(-k * t) + k * k * t * math.exp(-k * t)
    return (dn * m - n * 2 * k) / m**2


def kepler(M, e):
    return optimize.brentq(lambda E: E - e * math.sin(E) - M, 0, 2 * math.pi, xtol=1e-15)


def kepler_slope(M, e):
    E = kepler(M, e)
    return 1 / (1 - e * math.cos(E)), math.sin(E) / (1 - e * math.cos(E))


def kepler_explicit(M, e):
    E = kepler(M, e)
    return 1.0, math.sin(E)


def fixed_point(w, x):
    z = np.zeros(2)
    for _ in range(200):
        z = np.tanh(w @ z + x)
    return np.sum(z**2)


def fixed_point_slope(w, x):
    z = np.zeros(2)
    for _ in range(200):
        z = np.tanh(w @ z + x)
    D = np.diag(1 - z**2)
    g = D @ np.linalg.solve(np.eye(2) - w.T @ D, 2 * z)
    return np.outer(g, z), g


def fixed_point_one_step(w, x):
    z = np.zeros(2)
    for _ in range(200):
        z = np.tanh(w @ z + x)
    g = (1 - z**2) * 2 * z
    return np.outer(g, z), g


def linear_program(c):
    return optimize.linprog(c, A_ub=[[1, 1], [2, 1]], b_ub=[4, 6], bounds=[(0, None)] * 2).fun


def natural_spline(y, t):
    return interpolate.CubicSpline(np.arange(5.0), y, bc_type="natural")(t)


def natural_spline_slope(y, t):
    basis = [
        float(interpolate.CubicSpline(np.arange(5.0), e, bc_type="natural")(t)) for e in np.eye(5)
    ]
    return np.array(basis), float(
        interpolate.CubicSpline(np.arange(5.0), y, bc_type="natural")(t, 1)
    )


def natural_spline_linear(y, t):
    g, i = np.zeros(5), int(t)
    g[i], g[i + 1] = 1 - (t - i), t - i
    return g, natural_spline_slope(y, t)[1]


ROWS, COLUMNS = np.array([0, 1, 1, 2, 3]), np.array([1, 0, 2, 2, 3])


def sparse_product(weights, x):
    return np.sum(sparse.csr_matrix((weights, (ROWS, COLUMNS)), shape=(4, 4)).dot(x) ** 2)


def sparse_product_slope(weights, x):
    A = sparse.csr_matrix((weights, (ROWS, COLUMNS)), shape=(4, 4))
    y = 2 * A.dot(x)
    return y[ROWS] * x[COLUMNS], A.T.dot(y)


def sparse_product_exchanged(weights, x):
    y = 2 * sparse.csr_matrix((weights, (ROWS, COLUMNS)), shape=(4, 4)).dot(x)
    return y[COLUMNS] * x[ROWS], sparse_product_slope(weights, x)[1]


def conjugate_gradients(A, b):
    return cg(A, b, rtol=1e-14)[0].sum()


def spectrum(x):
    return np.sum(np.abs(np.fft.rfft(x)) ** 2 * np.arange(len(x) // 2 + 1))


def spectrum_slope(x):
    f = np.fft.rfft(x) * np.arange(len(x) // 2 + 1)
    n = np.arange(len(x))
    return 2 * np.array(
        [np.sum((f * np.exp(2j * np.pi * np.arange(len(f)) * t / len(x))).real) for t in n]
    )


def spectrum_as_irfft(x):
    return 2 * len(x) * np.fft.irfft(np.fft.rfft(x) * np.arange(len(x) // 2 + 1), len(x))


def low_pass(x):
    return np.sum(signal.lfilter([0.2], [1, -0.8], x) ** 2)


def low_pass_slope(x):
    y = signal.lfilter([0.2], [1, -0.8], x)
    return signal.lfilter([0.2], [1, -0.8], 2 * y[::-1])[::-1]


def binomial_tail(p):
    return stats.binom.sf(3, 10, p)


TIGHT = "the solver's own tolerance is its noise"
ENTRIES: list[Entry] = [
    *about(gamma_of_c, {"x": 2.7}, lambda x: special.gamma(x) * special.digamma(x), {"of its logarithm": special.digamma}),
    *about(error_function_of_c, {"x": X}, lambda x, seed: seed * (special.erf(x) + 2 * x / np.sqrt(np.pi) * np.exp(-x * x)), {
        "the product's other half": lambda x, seed: seed * special.erf(x),
    }),
    *about(sorted_by_c, {"x": X}, sorted_slope, {"of the first entry": lambda x: sorted_slope(x)[::-1]}),
    *about(regularized_beta, {"a": 1.5, "x": 0.3}, lambda a, x: x ** (a - 1) * (1 - x) / special.beta(a, 2.0), {
        "its power": lambda a, x: x**a * (1 - x) / special.beta(a, 2.0),
    }, wrt="x"),
    *about(moving_end, {"a": 1.1}, moving_end_slope, {"the moving end forgotten": moving_end_forgotten}),
    *about(stiff, {"k": 30.0}, stiff_slope, {"of the slow part": lambda k: -2 / k**3}, open=TIGHT),
    *about(kepler, {"M": 1.0, "e": 0.3}, kepler_slope, {"the explicit part alone": kepler_explicit}),
    *about(fixed_point, {"w": 0.3 * some(2, 2), "x": some(2, state=1)}, fixed_point_slope, {"of one step": fixed_point_one_step}),
    *about(linear_program, {"c": np.array([-2.0, -1.5])}, lambda c: np.array([2.0, 2.0]), {"another corner": lambda c: np.array([3.0, 0.0])}),
    *about(natural_spline, {"y": some(5), "t": 2.3}, natural_spline_slope, {"as if linear": natural_spline_linear}),
    *about(sparse_product, {"weights": some(5), "x": X}, sparse_product_slope, {"rows for columns": sparse_product_exchanged}),
    *about(conjugate_gradients, {"A": definite(3), "b": some(3)}, lambda A, b: np.linalg.solve(A, np.ones(3)), {
        "of one step": lambda A, b: np.ones(3) / np.diag(A),
    }, wrt="b", open=TIGHT),
    *about(spectrum, {"x": some(6)}, spectrum_slope, {"by irfft, which halves the ends": spectrum_as_irfft}),
    *about(low_pass, {"x": some(6)}, low_pass_slope, {"not reversed": lambda x: signal.lfilter([0.2], [1, -0.8], 2 * signal.lfilter([0.2], [1, -0.8], x))}),
    *about(binomial_tail, {"p": 0.35}, lambda p: 10 * stats.binom.pmf(3, 9, p), {"of ten": lambda p: 10 * stats.binom.pmf(3, 10, p)}),
]  # fmt: skip
