"""Functions of one or two numbers: scales, cancellation, oscillation, offsets, saturation, special
functions.
"""

from __future__ import annotations

from battery.rows import ROUNDED, Row, scalar

SCALES: list[Row] = [
    *scalar("x**2 at 1e-150", "x**2", 1e-150, lambda m, x: 2 * x, {"factor 2": lambda m, x: x}),
    *scalar(
        "x**2 at 1e-150",
        "x**2",
        1e-150,
        lambda m, x: 2 * x,
        {"factor 2": lambda m, x: x, "forgotten": lambda m, x: 0 * x},
    ),
    *scalar("x**2 at 1e150", "x**2", 1e150, lambda m, x: 2 * x, {"factor 2": lambda m, x: x}),
    *scalar(
        "x**3 at 1e-90", "x**3", 1e-90, lambda m, x: 3 * x**2, {"exponent": lambda m, x: 3 * x**3}
    ),
    *scalar(
        "1/x at 1e-5", "1/x", 1e-5, lambda m, x: -1 / x**2, {"logarithm": lambda m, x: m.log(x)}
    ),
    *scalar("1/x at 1e-150", "1/x", 1e-150, lambda m, x: -1 / x**2),
    *scalar("1/x at 1e150", "1/x", 1e150, lambda m, x: -1 / x**2, {"zero": lambda m, x: 0 * x}),
    *scalar(
        "1e-6*x",
        "1e-6*x",
        0.3,
        lambda m, x: m.mpf(1e-6) + 0 * x,
        {"9e-6": lambda m, x: m.mpf(9e-6), "zero": lambda m, x: 0 * x},
    ),
    *scalar(
        "1e-300*x",
        "1e-300*x",
        2.0,
        lambda m, x: m.mpf(1e-300) + 0 * x,
        {"zero": lambda m, x: 0 * x},
    ),
    *scalar(
        "1e300*x",
        "1e300*x",
        2.0,
        lambda m, x: m.mpf(1e300) + 0 * x,
        {"value": lambda m, x: m.mpf(1e300) * x},
    ),
    *scalar(
        "x*y across 600 orders",
        "x*y",
        1e-300,
        lambda m, x, y: y + 0 * x,
        {"swapped": lambda m, x, y: x},
        y=1e300,
    ),
    *scalar(
        "log at 1e-300", "log(x)", 1e-300, lambda m, x: 1 / x, {"squared": lambda m, x: 1 / x**0.5}
    ),
    *scalar(
        "sqrt at 1e-8",
        "sqrt(x)",
        1e-8,
        lambda m, x: 1 / (2 * m.sqrt(x)),
        {"missing half": lambda m, x: 1 / m.sqrt(x)},
    ),
    *scalar(
        "sqrt at 1e200",
        "sqrt(x)",
        1e200,
        lambda m, x: 1 / (2 * m.sqrt(x)),
        {"missing half": lambda m, x: 1 / m.sqrt(x)},
    ),
    *scalar("exp at 50", "exp(x)", 50.0, lambda m, x: m.exp(x), {"one": lambda m, x: 1 + 0 * x}),
    *scalar("exp at -700", "exp(x)", -700.0, lambda m, x: m.exp(x), {"zero": lambda m, x: 0 * x}),
    *scalar("exp at 700", "exp(x)", 700.0, lambda m, x: m.exp(x)),
    *scalar(
        "x**20 at 30", "x**20", 30.0, lambda m, x: 20 * x**19, {"exponent": lambda m, x: 19 * x**19}
    ),
    *scalar(
        "x**0.5 at 1e-20",
        "x**0.5",
        1e-20,
        lambda m, x: m.mpf(0.5) * x**-0.5,
        {"exponent": lambda m, x: m.mpf(0.5) * x**0.5},
    ),
    *scalar(
        "atan at 1e10", "arctan(x)", 1e10, lambda m, x: 1 / (1 + x**2), {"zero": lambda m, x: 0 * x}
    ),
    *scalar(
        "hypot",
        "hypot(x, y)",
        1e-160,
        lambda m, x, y: x / m.hypot(x, y),
        {"missing root": lambda m, x, y: x},
        y=2e-160,
    ),
]

CANCELLATION: list[Row] = [
    *scalar(
        "(1 - cos x)/x**2 at 0.5",
        "(1 - cos(x))/x**2",
        0.5,
        lambda m, x: m.sin(x) / x**2 - 2 * (1 - m.cos(x)) / x**3,
        {
            "quotient rule": lambda m, x: m.sin(x) / (2 * x),
            "factor 2": lambda m, x: m.sin(x) / x**2 - (1 - m.cos(x)) / x**3,
        },
    ),
    *scalar(
        "(1 - cos x)/x**2 at 1e-2",
        "(1 - cos(x))/x**2",
        1e-2,
        lambda m, x: m.sin(x) / x**2 - 2 * (1 - m.cos(x)) / x**3,
        {
            "quotient rule": lambda m, x: m.sin(x) / (2 * x),
            "factor 2": lambda m, x: m.sin(x) / x**2 - (1 - m.cos(x)) / x**3,
        },
        ROUNDED,
    ),
    *scalar(
        "(1 - cos x)/x**2 at 1e-4",
        "(1 - cos(x))/x**2",
        1e-4,
        lambda m, x: m.sin(x) / x**2 - 2 * (1 - m.cos(x)) / x**3,
        {
            "quotient rule": lambda m, x: m.sin(x) / (2 * x),
            "factor 2": lambda m, x: m.sin(x) / x**2 - (1 - m.cos(x)) / x**3,
        },
        ROUNDED,
        slightly=None,
    ),
    *scalar(
        "x - sin x at 1e-3",
        "x - sin(x)",
        1e-3,
        lambda m, x: 1 - m.cos(x),
        {"missing 1": lambda m, x: -m.cos(x)},
        ROUNDED,
    ),
    *scalar(
        "x - sin x at 1e-3, stably",
        "x - sin(x)",
        1e-3,
        lambda m, x: 2 * m.sin(x / 2) ** 2,
        {"half angle": lambda m, x: 2 * m.sin(x) ** 2},
        ROUNDED,
    ),
    *scalar(
        "x - sin x at 1e-7",
        "x - sin(x)",
        1e-7,
        lambda m, x: 1 - m.cos(x),
        {"x": lambda m, x: x},
        ROUNDED,
        slightly=None,
    ),
    *scalar(
        "exp(x) - 1 at 1e-9",
        "exp(x) - 1",
        1e-9,
        lambda m, x: m.exp(x),
        {"minus 1": lambda m, x: m.exp(x) - 1},
    ),
    *scalar(
        "exp(x) - 1 - x at 1e-4",
        "exp(x) - 1 - x",
        1e-4,
        lambda m, x: m.exp(x) - 1,
        {"missing 1": lambda m, x: m.exp(x)},
        ROUNDED,
    ),
    *scalar(
        "exp(x) - 1 - x by expm1",
        "exp(x) - 1 - x",
        1e-4,
        lambda m, x: m.expm1(x),
        {"shifted": lambda m, x: m.expm1(2 * x)},
        ROUNDED,
    ),
    *scalar(
        "(exp(x) - 1)/x at 1e-5",
        "(exp(x) - 1)/x",
        1e-5,
        lambda m, x: m.exp(x) / x - (m.exp(x) - 1) / x**2,
        {"1": lambda m, x: 1 + 0 * x},
        ROUNDED,
        slightly=None,
    ),
    *scalar(
        "expm1 at 1e-12",
        "expm1(x)",
        1e-12,
        lambda m, x: m.exp(x),
        {"expm1": lambda m, x: m.expm1(x)},
    ),
    *scalar(
        "log1p at 1e-12", "log1p(x)", 1e-12, lambda m, x: 1 / (1 + x), {"1/x": lambda m, x: 1 / x}
    ),
    *scalar(
        "log(1 + x) at 1e-10",
        "log(1 + x)",
        1e-10,
        lambda m, x: 1 / (1 + x),
        {"1/x": lambda m, x: 1 / x},
    ),
    *scalar(
        "sqrt(x + 1) - sqrt(x) at 1e8",
        "sqrt(x + 1) - sqrt(x)",
        1e8,
        lambda m, x: 1 / (2 * m.sqrt(x + 1)) - 1 / (2 * m.sqrt(x)),
        {"second term": lambda m, x: 1 / (2 * m.sqrt(x + 1))},
        ROUNDED,
        slightly=None,
    ),
    *scalar(
        "sqrt(x**2 + 1) - x at 1e3",
        "sqrt(x**2 + 1) - x",
        1e3,
        lambda m, x: x / m.sqrt(x**2 + 1) - 1,
        {"minus x": lambda m, x: x / m.sqrt(x**2 + 1)},
        ROUNDED,
    ),
    *scalar(
        "nearly vanishing",
        "x*log(x)",
        0.36787944117144233,
        lambda m, x: m.log(x) + 1,
        {"minus": lambda m, x: m.log(x) - 1},
        ROUNDED,
        slightly=None,
    ),
    *scalar(
        "a vertex", "(x - 1)**2", 1 + 1e-9, lambda m, x: 2 * (x - 1), {"half": lambda m, x: x - 1}
    ),
    *scalar(
        "a vertex, expanded",
        "x**2 - 2*x + 1",
        1 + 1e-6,
        lambda m, x: 2 * x - 2,
        {"half": lambda m, x: x - 1, "2": lambda m, x: 2 * x},
        ROUNDED,
    ),
    *scalar("cos near 0", "cos(x)", 1e-9, lambda m, x: -m.sin(x), {"zero": lambda m, x: 0 * x}),
    *scalar(
        "sin near pi/2", "sin(x)", 1.5707963, lambda m, x: m.cos(x), {"zero": lambda m, x: 0 * x}
    ),
    *scalar(
        "(x + 1e16) - 1e16",
        "(x + 1e16) - 1e16",
        1.0,
        lambda m, x: 1 + 0 * x,
        {"zero": lambda m, x: 0 * x},
        ROUNDED,
    ),
    *scalar(
        "sin**2 + cos**2",
        "sin(x)**2 + cos(x)**2",
        0.3,
        lambda m, x: 0 * x,
        {"sin 2x": lambda m, x: m.sin(2 * x)},
        ROUNDED,
    ),
    *scalar("x/x", "x/x", 3.0, lambda m, x: 0 * x, {"1/x": lambda m, x: 1 / x}, ROUNDED),
    *scalar(
        "tan x - x",
        "tan(x) - x",
        1e-3,
        lambda m, x: m.tan(x) ** 2,
        {"x": lambda m, x: m.tan(x)},
        ROUNDED,
    ),
    *scalar("missing small term", "x + exp(-20*x)", 1.0, lambda m, x: 1 - 20 * m.exp(-20 * x), {}),
    *scalar(
        "small term only",
        "exp(-20*x)",
        1.0,
        lambda m, x: -20 * m.exp(-20 * x),
        {"zero": lambda m, x: 0 * x, "factor": lambda m, x: m.exp(-20 * x)},
    ),
]

OSCILLATION: list[Row] = [
    *scalar(
        "sin(1e10*x)",
        "sin(1e10*x)",
        0.7,
        lambda m, x: 10**10 * m.cos(10**10 * x),
        {"factor": lambda m, x: m.cos(10**10 * x)},
        slightly=2e-5,
    ),
    *scalar(
        "sin(1e5*x)*x",
        "sin(1e5*x)*x",
        0.3,
        lambda m, x: m.sin(10**5 * x) + 10**5 * x * m.cos(10**5 * x),
        {"product rule": lambda m, x: 10**5 * x * m.cos(10**5 * x)},
    ),
    *scalar(
        "sin at 1e22",
        "sin(x)",
        1e22,
        lambda m, x: m.cos(x),
        {"cos x + 1": lambda m, x: m.cos(x + 1)},
    ),
    *scalar(
        "sin(1/x)",
        "sin(1/x)",
        1e-6,
        lambda m, x: -m.cos(1 / x) / x**2,
        {"missing x": lambda m, x: -m.cos(1 / x) / x},
    ),
    *scalar(
        "cos(exp(x))",
        "cos(exp(x))",
        20.0,
        lambda m, x: -m.sin(m.exp(x)) * m.exp(x),
        {"chain": lambda m, x: -m.sin(m.exp(x))},
    ),
    *scalar(
        "sin(x)**40",
        "sin(x)**40",
        0.1,
        lambda m, x: 40 * m.sin(x) ** 39 * m.cos(x),
        {"chain": lambda m, x: 40 * m.sin(x) ** 39},
    ),
]

OFFSETS: list[Row] = [
    *scalar("x**2 + 1e12", "x**2 + 1e12", 1e-3, lambda m, x: 2 * x, {"zero": lambda m, x: 0 * x}),
    *scalar("x**2 + 1e300", "x**2 + 1e300", 3.0, lambda m, x: 2 * x, {"zero": lambda m, x: 0 * x}),
    *scalar(
        "1e15 + sin(x)", "1e15 + sin(x)", 2.0, lambda m, x: m.cos(x), {"zero": lambda m, x: 0 * x}
    ),
    *scalar(
        "1e-3*x beside 1e9*y",
        "1e-3*x + 1e9*y**2",
        2.0,
        lambda m, x, y: m.mpf(1e-3) + 0 * x,
        {"the other": lambda m, x, y: 2 * 10**9 * y},
        y=3.0,
    ),
]

SATURATION: list[Row] = [
    *scalar(
        "tanh at 20",
        "tanh(x)",
        20.0,
        lambda m, x: 1 / m.cosh(x) ** 2,
        {"zero": lambda m, x: 0 * x, "factor 4": lambda m, x: m.exp(-2 * x)},
    ),
    *scalar(
        "tanh at 300",
        "tanh(x)",
        300.0,
        lambda m, x: 1 / m.cosh(x) ** 2,
        {"zero": lambda m, x: 0 * x},
    ),
    *scalar(
        "tanh at 5, by its value",
        "tanh(x)",
        5.0,
        lambda m, x: 1 - m.tanh(x) ** 2,
        {"square": lambda m, x: 1 - m.tanh(x)},
    ),
    *scalar(
        "sigmoid at 40",
        "sigmoid(x)",
        40.0,
        lambda m, x: m.exp(-x) / (1 + m.exp(-x)) ** 2,
        {"zero": lambda m, x: 0 * x},
    ),
    *scalar(
        "sigmoid at -700",
        "sigmoid(x)",
        -700.0,
        lambda m, x: m.exp(x) / (1 + m.exp(x)) ** 2,
        {"zero": lambda m, x: 0 * x},
    ),
    *scalar(
        "sigmoid, written out",
        "1/(1 + exp(-x))",
        3.0,
        lambda m, x: m.exp(-x) / (1 + m.exp(-x)) ** 2,
        {"square": lambda m, x: m.exp(-x) / (1 + m.exp(-x))},
    ),
    *scalar(
        "softplus at 40",
        "log(1 + exp(x))",
        40.0,
        lambda m, x: 1 / (1 + m.exp(-x)),
        {"half": lambda m, x: 1 / (1 + m.exp(-x)) / 2},
    ),
    *scalar(
        "softplus at -40",
        "softplus(x)",
        -40.0,
        lambda m, x: 1 / (1 + m.exp(-x)),
        {"zero": lambda m, x: 0 * x},
    ),
    *scalar(
        "erf at 5",
        "erf(x)",
        5.0,
        lambda m, x: 2 / m.sqrt(m.pi) * m.exp(-(x**2)),
        {"constant": lambda m, x: m.exp(-(x**2))},
    ),
    *scalar(
        "gaussian at 6",
        "exp(-x**2/2)",
        6.0,
        lambda m, x: -x * m.exp(-(x**2) / 2),
        {"factor x": lambda m, x: -m.exp(-(x**2) / 2)},
    ),
    *scalar(
        "gaussian at 20",
        "exp(-x**2)",
        20.0,
        lambda m, x: -2 * x * m.exp(-(x**2)),
        {"zero": lambda m, x: 0 * x},
    ),
    *scalar(
        "1/cosh at 30",
        "1/cosh(x)",
        30.0,
        lambda m, x: -m.sinh(x) / m.cosh(x) ** 2,
        {"zero": lambda m, x: 0 * x},
    ),
]

COMPOSED: list[Row] = [
    *scalar(
        "x**2*sin(x)",
        "x**2*sin(x)",
        1.3,
        lambda m, x: 2 * x * m.sin(x) + x**2 * m.cos(x),
        {"product rule": lambda m, x: 2 * x * m.cos(x)},
    ),
    *scalar(
        "sin(x)/x",
        "sin(x)/x",
        2.0,
        lambda m, x: m.cos(x) / x - m.sin(x) / x**2,
        {"sign within": lambda m, x: m.cos(x) / x + m.sin(x) / x**2},
    ),
    *scalar(
        "x**x",
        "x**x",
        1.7,
        lambda m, x: x**x * (m.log(x) + 1),
        {"as a power": lambda m, x: x * x ** (x - 1)},
    ),
    *scalar(
        "x**y by x",
        "x**y",
        1.7,
        lambda m, x, y: y * x ** (y - 1),
        {"by y": lambda m, x, y: x**y * m.log(x)},
        y=2.3,
    ),
    *scalar(
        "exp(sin(x))",
        "exp(sin(x))",
        0.9,
        lambda m, x: m.exp(m.sin(x)) * m.cos(x),
        {"chain": lambda m, x: m.exp(m.sin(x))},
    ),
    *scalar(
        "log(cos(x))",
        "log(cos(x))",
        0.4,
        lambda m, x: -m.tan(x),
        {"cotangent": lambda m, x: -1 / m.tan(x)},
    ),
    *scalar(
        "atan2",
        "arctan2(x, y)",
        0.4,
        lambda m, x, y: y / (x**2 + y**2),
        {"swapped": lambda m, x, y: -x / (x**2 + y**2)},
        y=-1.2,
    ),
    *scalar(
        "asin",
        "arcsin(x)",
        0.99,
        lambda m, x: 1 / m.sqrt(1 - x**2),
        {"atan": lambda m, x: 1 / (1 + x**2)},
    ),
    *scalar(
        "acosh near 1",
        "arccosh(x)",
        1.0001,
        lambda m, x: 1 / m.sqrt(x**2 - 1),
        {"asinh": lambda m, x: 1 / m.sqrt(x**2 + 1)},
    ),
    *scalar(
        "quotient",
        "(x**2 + 1)/(x - y)",
        2.0,
        lambda m, x, y: 2 * x / (x - y) - (x**2 + 1) / (x - y) ** 2,
        {"second term": lambda m, x, y: 2 * x / (x - y)},
        y=0.5,
    ),
    *scalar(
        "nested roots",
        "sqrt(x + sqrt(x))",
        2.0,
        lambda m, x: (1 + 1 / (2 * m.sqrt(x))) / (2 * m.sqrt(x + m.sqrt(x))),
        {"inner": lambda m, x: 1 / (2 * m.sqrt(x + m.sqrt(x)))},
    ),
    *scalar(
        "polynomial",
        "x**5 - 3*x**3 + 2*x - 7",
        1.1,
        lambda m, x: 5 * x**4 - 9 * x**2 + 2,
        {"missing term": lambda m, x: 5 * x**4 - 9 * x**2},
    ),
    *scalar(
        "sinh",
        "sinh(x)*cosh(x)",
        0.6,
        lambda m, x: m.cosh(2 * x),
        {"half": lambda m, x: m.cosh(2 * x) / 2},
    ),
    *scalar(
        "frozen part",
        "exp(x*y)*y",
        0.6,
        lambda m, x, y: y**2 * m.exp(x * y),
        {"y once": lambda m, x, y: y * m.exp(x * y)},
        y=1.5,
    ),
]

SPECIAL: list[Row] = [
    *scalar(
        "gamma",
        "gamma(x)",
        3.7,
        lambda m, x: m.gamma(x) * m.digamma(x),
        {"factor": lambda m, x: m.digamma(x)},
    ),
    *scalar(
        "lgamma at 1e10",
        "lgamma(x)",
        1e10,
        lambda m, x: m.digamma(x),
        {"logarithm": lambda m, x: m.log(x) + 1},
    ),
    *scalar(
        "digamma at 1e-5",
        "digamma(x)",
        1e-5,
        lambda m, x: m.polygamma(1, x),
        {"gamma": lambda m, x: m.digamma(x)},
        plain=lambda m, x: 1 / x**2 + m.polygamma(1, x + 1),
    ),
    *scalar(
        "erfc at 10",
        "erfc(x)",
        10.0,
        lambda m, x: -2 / m.sqrt(m.pi) * m.exp(-(x**2)),
        {"constant": lambda m, x: -m.exp(-(x**2))},
    ),
    *scalar(
        "erfinv",
        "erfinv(x)",
        0.7,
        lambda m, x: m.sqrt(m.pi) / 2 * m.exp(m.erfinv(x) ** 2),
        {"constant": lambda m, x: m.exp(m.erfinv(x) ** 2)},
    ),
    *scalar(
        "Bessel J0",
        "bessel_j0(x)",
        2.5,
        lambda m, x: -m.besselj(1, x),
        {"J0": lambda m, x: -m.besselj(0, x)},
        plain=lambda m, x: -m.j1(x),
    ),
    *scalar(
        "Bessel I0",
        "i0(x)",
        2.5,
        lambda m, x: m.besseli(1, x),
        {"I0": lambda m, x: m.besseli(0, x)},
        plain=lambda m, x: m.i1(x),
    ),
    *scalar(
        "sinc",
        "sinc(x)",
        0.3,
        lambda m, x: m.cos(m.pi * x) / x - m.sin(m.pi * x) / (m.pi * x**2),
        {"without pi": lambda m, x: m.cos(x) / x - m.sin(x) / x**2},
    ),
    *scalar(
        "xlogy at 0.5",
        "xlogy(x, y)",
        0.5,
        lambda m, x, y: m.log(y),
        {"by y": lambda m, x, y: x / y},
        y=3.0,
    ),
    *scalar(
        "logit", "logit(x)", 1e-4, lambda m, x: 1 / (x * (1 - x)), {"1/x": lambda m, x: 1 / x**2}
    ),
]

ROWS = [*SCALES, *CANCELLATION, *OSCILLATION, *OFFSETS, *SATURATION, *COMPOSED, *SPECIAL]
