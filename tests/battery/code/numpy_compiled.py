"""Functions that go through C, Fortran and solvers: SciPy's special functions, quadrature, roots, splines, sparse matrices; libm by ctypes."""

from __future__ import annotations

import ctypes
import ctypes.util
import math

import numpy as np
from scipy import fft, integrate, interpolate, ndimage, optimize, signal, sparse, special, stats
from scipy.sparse.linalg import cg, spsolve
from scipy.spatial.distance import cdist

from battery.code.entries import Entry, about, definite, positive, some

X, V = some(4), positive(4, state=1)
LIBM = ctypes.CDLL(ctypes.util.find_library("m"))
for name in ("tgamma", "cbrt", "erf", "atan"):
    getattr(LIBM, name).restype, getattr(LIBM, name).argtypes = ctypes.c_double, [ctypes.c_double]
LIBM.hypot.restype, LIBM.hypot.argtypes = ctypes.c_double, [ctypes.c_double, ctypes.c_double]


def gamma_of_c(x):
    return LIBM.tgamma(x)


def cube_roots_of_c(x):
    return sum(LIBM.cbrt(v) for v in x)


def distance_of_c(x, y):
    return LIBM.hypot(x, y)


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


def incomplete_gamma(x):
    return np.sum(special.gammainc(2.5, x))


def bessel(x):
    return np.sum(special.jv(1.5, x))


def elliptic(m):
    return special.ellipk(m)


def exponential_integral(x):
    return special.expi(x).sum()


def hypergeometric(z):
    return special.hyp2f1(0.5, 1.5, 2.5, z)


def lambert(x):
    return np.real(special.lambertw(x))


def area(a):
    return integrate.quad(lambda t: math.exp(-a * t * t), 0, 1)[0]


def area_slope(a):
    return integrate.quad(lambda t: -t * t * math.exp(-a * t * t), 0, 1)[0]


def moving_end(a):
    return integrate.quad(lambda t: math.sin(a * t), 0, a)[0]


def moving_end_slope(a):
    return 2 * math.sin(a * a) - (1 - math.cos(a * a)) / a**2


def moving_end_forgotten(a):
    return integrate.quad(lambda t: t * math.cos(a * t), 0, a)[0]


def trajectory(k, y0):
    found = integrate.solve_ivp(
        lambda t, y: [y[1], -k * y[0]], (0, 1), [y0, 0.0], rtol=1e-11, atol=1e-12
    )
    return found.y[0, -1]


def trajectory_slope(k, y0):
    w = math.sqrt(k)
    return -y0 * math.sin(w) / (2 * w), math.cos(w)


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


def equilibrium(p):
    """Where both curves meet, by MINPACK."""
    return optimize.fsolve(
        lambda q: [q[0] ** 2 + q[1] - p[0], q[0] - q[1] + p[1]], [1.0, 1.0], xtol=1e-13
    ).sum()


def equilibrium_slope(p):
    x, _ = optimize.fsolve(
        lambda q: [q[0] ** 2 + q[1] - p[0], q[0] - q[1] + p[1]], [1.0, 1.0], xtol=1e-13
    )
    J = np.array([[2 * x, 1], [1, -1]])
    return np.linalg.solve(J.T, [1, 1]) * [1, -1]


def best_value(a):
    """The value of a minimum: its derivative is that of the explicit part (the envelope theorem)."""
    return optimize.minimize_scalar(lambda x: (x - a) ** 2 + math.exp(x), tol=1e-12).fun


def best_value_slope(a):
    x = optimize.minimize_scalar(lambda x: (x - a) ** 2 + math.exp(x), tol=1e-12).x
    return -2 * (x - a)


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


def table_lookup(x, values):
    return np.sum(np.interp(x, np.arange(5.0), values))


def table_lookup_slope(x, values):
    i = np.floor(x).astype(int)
    g = np.zeros(5)
    np.add.at(g, i, 1 - (x - i))
    np.add.at(g, i + 1, x - i)
    return values[i + 1] - values[i], g


def table_lookup_nearest(x, values):
    g = np.zeros(5)
    np.add.at(g, np.round(x).astype(int), 1)
    return table_lookup_slope(x, values)[0], g


def grid_lookup(point):
    table = interpolate.RegularGridInterpolator(
        (np.arange(3.0), np.arange(3.0)), np.arange(9.0).reshape(3, 3) ** 2
    )
    return float(table(point)[0])


def grid_lookup_slope(point):
    i, j = np.floor(point).astype(int)
    (a, b), t = point - [i, j], np.arange(9.0).reshape(3, 3) ** 2
    by_i = (t[i + 1, j] - t[i, j]) * (1 - b) + (t[i + 1, j + 1] - t[i, j + 1]) * b
    return np.array([by_i, (t[i, j + 1] - t[i, j]) * (1 - a) + (t[i + 1, j + 1] - t[i + 1, j]) * a])


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


def poisson_matrix(k):
    k = np.asarray(k)
    main = 2 + k
    return sparse.diags([main, -np.ones(3), -np.ones(3)], [0, -1, 1], format="csc")


def diffusion(k, f):
    """A sparse system whose diagonal is the parameter."""
    return spsolve(poisson_matrix(k), f).sum()


def diffusion_slope(k, f):
    u = spsolve(poisson_matrix(k), f)
    g = spsolve(poisson_matrix(k), np.ones(4))
    return -g * u, g


def conjugate_gradients(A, b):
    return cg(A, b, rtol=1e-14)[0].sum()


def smoothed(image):
    return ndimage.gaussian_filter(image, 1.0, mode="constant")


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


def cosine_transform(x):
    return fft.dct(x, norm="ortho")


def echo(x, h):
    return signal.fftconvolve(x, h)


def low_pass(x):
    return np.sum(signal.lfilter([0.2], [1, -0.8], x) ** 2)


def low_pass_slope(x):
    y = signal.lfilter([0.2], [1, -0.8], x)
    return signal.lfilter([0.2], [1, -0.8], 2 * y[::-1])[::-1]


def kernel_mean(a, b):
    return np.exp(-cdist(a, b, "sqeuclidean")).mean()


def kernel_mean_slope(a, b):
    d = a[:, None] - b[None]
    return -2 * (d * np.exp(-(d**2).sum(-1))[..., None]).sum(1) / (len(a) * len(b))


def binomial_tail(p):
    return stats.binom.sf(3, 10, p)


def gumbel(x, scale):
    return stats.gumbel_r.logpdf(x, scale=scale).sum()


def gumbel_slope(x, scale):
    z = x / scale
    return (np.exp(-z) - 1) / scale, np.sum(z - z * np.exp(-z) - 1) / scale


POINT = np.array([0.3, 1.6])
TIGHT = "the solver's own tolerance is its noise"
ENTRIES: list[Entry] = [
    *about(gamma_of_c, {"x": 2.7}, lambda x: special.gamma(x) * special.digamma(x), {"of its logarithm": special.digamma}),
    *about(cube_roots_of_c, {"x": X}, lambda x: np.cbrt(x) / (3 * x), {"its sign below zero": lambda x: np.abs(np.cbrt(x)) / (3 * x)}),
    *about(distance_of_c, {"x": 3.0, "y": -0.4}, lambda x, y: (x / math.hypot(x, y), y / math.hypot(x, y)), {"of the square": lambda x, y: (2 * x, 2 * y)}),
    *about(error_function_of_c, {"x": X}, lambda x, seed: seed * (special.erf(x) + 2 * x / np.sqrt(np.pi) * np.exp(-x * x)), {
        "the product's other half": lambda x, seed: seed * special.erf(x),
    }),
    *about(sorted_by_c, {"x": X}, sorted_slope, {"of the first entry": lambda x: sorted_slope(x)[::-1]}),
    *about(regularized_beta, {"a": 1.5, "x": 0.3}, lambda a, x: x ** (a - 1) * (1 - x) / special.beta(a, 2.0), {
        "its power": lambda a, x: x**a * (1 - x) / special.beta(a, 2.0),
    }, wrt="x"),
    *about(incomplete_gamma, {"x": V}, lambda x: x**1.5 * np.exp(-x) / special.gamma(2.5), {"not regularized": lambda x: x**1.5 * np.exp(-x)}),
    *about(bessel, {"x": V}, lambda x: (special.jv(0.5, x) - special.jv(2.5, x)) / 2, {"a sign": lambda x: (special.jv(0.5, x) + special.jv(2.5, x)) / 2}),
    *about(elliptic, {"m": 0.4}, lambda m: special.ellipe(m) / (2 * m * (1 - m)) - special.ellipk(m) / (2 * m), {
        "by the modulus": lambda m: special.ellipe(m) / (m * (1 - m)) - special.ellipk(m) / m,
    }),
    *about(exponential_integral, {"x": X}, lambda x: np.exp(x) / x, {"another integral": lambda x: np.exp(-x) / x}),
    *about(hypergeometric, {"z": 0.3}, lambda z: 0.5 * 1.5 / 2.5 * special.hyp2f1(1.5, 2.5, 3.5, z), {
        "its last parameter": lambda z: 0.5 * 1.5 / 2.5 * special.hyp2f1(1.5, 2.5, 2.5, z),
    }),
    *about(lambert, {"x": 0.8}, lambda x: lambert(x) / (x * (1 + lambert(x))), {"not divided": lambda x: lambert(x) / (1 + lambert(x))}),
    *about(area, {"a": 1.3}, area_slope, {"its sign": lambda a: -area_slope(a)}),
    *about(moving_end, {"a": 1.1}, moving_end_slope, {"the moving end forgotten": moving_end_forgotten}),
    *about(trajectory, {"k": 2.0, "y0": 0.7}, trajectory_slope, {"a half": lambda k, y0: (2 * trajectory_slope(k, y0)[0], math.cos(math.sqrt(k)))}, open=TIGHT),
    *about(stiff, {"k": 30.0}, stiff_slope, {"of the slow part": lambda k: -2 / k**3}, open=TIGHT),
    *about(kepler, {"M": 1.0, "e": 0.3}, kepler_slope, {"the explicit part alone": kepler_explicit}),
    *about(fixed_point, {"w": 0.3 * some(2, 2), "x": some(2, state=1)}, fixed_point_slope, {"of one step": fixed_point_one_step}),
    *about(equilibrium, {"p": np.array([3.0, 0.5])}, equilibrium_slope, {"its signs": lambda p: np.abs(equilibrium_slope(p)) + 0.1}),
    *about(best_value, {"a": 0.4}, best_value_slope, {"its sign": lambda a: -best_value_slope(a)}, open=TIGHT),
    *about(linear_program, {"c": np.array([-2.0, -1.5])}, lambda c: np.array([2.0, 2.0]), {"another corner": lambda c: np.array([3.0, 0.0])}),
    *about(natural_spline, {"y": some(5), "t": 2.3}, natural_spline_slope, {"as if linear": natural_spline_linear}),
    *about(table_lookup, {"x": np.array([0.3, 2.6, 3.1]), "values": some(5)}, table_lookup_slope, {"to the nearest": table_lookup_nearest}),
    *about(grid_lookup, {"point": POINT}, grid_lookup_slope, {"axes exchanged": lambda point: grid_lookup_slope(point)[::-1]}),
    *about(sparse_product, {"weights": some(5), "x": X}, sparse_product_slope, {"rows for columns": sparse_product_exchanged}),
    *about(diffusion, {"k": V, "f": X}, diffusion_slope, {"its sign": lambda k, f: (-diffusion_slope(k, f)[0], diffusion_slope(k, f)[1])}),
    *about(conjugate_gradients, {"A": definite(3), "b": some(3)}, lambda A, b: np.linalg.solve(A, np.ones(3)), {
        "of one step": lambda A, b: np.ones(3) / np.diag(A),
    }, wrt="b", open=TIGHT),
    *about(smoothed, {"image": some(4, 4)}, lambda image, seed: ndimage.gaussian_filter(seed, 1.0, mode="constant"), {
        "another width": lambda image, seed: ndimage.gaussian_filter(seed, 1.1, mode="constant"),
    }),
    *about(spectrum, {"x": some(6)}, spectrum_slope, {"by irfft, which halves the ends": spectrum_as_irfft}),
    *about(cosine_transform, {"x": X}, lambda x, seed: fft.idct(seed, norm="ortho"), {"not transposed": lambda x, seed: fft.dct(seed, norm="ortho")}),
    *about(echo, {"x": X, "h": some(3, state=1)}, lambda x, h, seed: (np.correlate(seed, h, "valid"), np.correlate(seed, x, "valid")), {
        "convolved": lambda x, h, seed: (np.convolve(seed, h, "valid"), np.convolve(seed, x, "valid")),
    }),
    *about(low_pass, {"x": some(6)}, low_pass_slope, {"not reversed": lambda x: signal.lfilter([0.2], [1, -0.8], 2 * signal.lfilter([0.2], [1, -0.8], x))}),
    *about(kernel_mean, {"a": some(3, 2), "b": some(4, 2, state=1)}, kernel_mean_slope, {"summed": lambda a, b: 12 * kernel_mean_slope(a, b)}, wrt="a"),
    *about(binomial_tail, {"p": 0.35}, lambda p: 10 * stats.binom.pmf(3, 9, p), {"of ten": lambda p: 10 * stats.binom.pmf(3, 10, p)}),
    *about(gumbel, {"x": X, "scale": 1.4}, gumbel_slope, {"the scale's one": lambda x, scale: (gumbel_slope(x, scale)[0], gumbel_slope(x, scale)[1] + 4 / scale)}),
]  # fmt: skip
