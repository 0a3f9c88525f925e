"""Incomplete gamma and beta functions, with their derivatives by all parameters, to any order."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from gradcli.ops.calling.prefixes import NUMPY, SCIPY, TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.elementwise.exponential import exp, log, log1p, xlog1py, xlogy
from gradcli.ops.registry import elementwise
from gradcli.ops.spec import Op
from gradcli.ops.special.combinatorics import betaln, in_sympy
from gradcli.ops.special.gamma import digamma, lgamma, polygamma

# -- Taylor series in one or two small steps, whose coefficients are arrays: how a value is
# differentiated by parameters in floats.


class Series:
    """A polynomial in the steps of two parameters, cut off beyond the orders that are wanted: its coefficients by powers."""

    __slots__ = ("orders", "terms")

    def __init__(self, orders: tuple[int, int], terms: Mapping[tuple[int, int], Any]) -> None:
        self.orders, self.terms = orders, terms

    def made(self, terms: Mapping[tuple[int, int], Any]) -> Series:
        return Series(self.orders, {power: terms.get(power, 0.0) for power in self.powers()})

    def powers(self) -> list[tuple[int, int]]:
        return list(product(range(self.orders[0] + 1), range(self.orders[1] + 1)))

    def start(self) -> Any:
        return self.terms[0, 0]

    def __add__(self, other: Any) -> Series:
        if not isinstance(other, Series):
            return Series(self.orders, {**self.terms, (0, 0): self.start() + other})
        return Series(self.orders, {power: self.terms[power] + other.terms[power] for power in self.terms})

    def __mul__(self, other: Any) -> Series:
        if not isinstance(other, Series):
            return Series(self.orders, {power: value * other for power, value in self.terms.items()})
        return self.made({
            (i, j): sum(self.terms[k, m] * other.terms[i - k, j - m] for k in range(i + 1) for m in range(j + 1)) for i, j in self.powers()
        })  # fmt: skip

    def inverse(self) -> Series:
        """1 over the series, coefficient by coefficient."""
        found: dict[tuple[int, int], Any] = {}
        for i, j in self.powers():
            if not (i or j):
                found[0, 0] = 1 / self.start()
                continue
            rest = sum(self.terms[k, m] * found[i - k, j - m] for k in range(i + 1) for m in range(j + 1) if k or m)
            found[i, j] = -rest * found[0, 0]
        return Series(self.orders, found)

    def exp(self) -> Series:
        """The exponential: powers of what is no constant, over factorials."""
        step = Series(self.orders, {**self.terms, (0, 0): 0.0 * self.start()})
        term = total = self.made({(0, 0): np.ones_like(self.start())})
        for k in range(1, sum(self.orders) + 1):
            term = term * step * (1 / k)
            total = total + term
        found: Series = total * np.exp(self.start())
        return found

    def derivative(self) -> Any:
        """The derivative of the orders that are wanted."""
        return self.terms[self.orders] * float(math.factorial(self.orders[0]) * math.factorial(self.orders[1]))


def variable(orders: tuple[int, int], value: Any, place: int) -> Series:
    """A parameter: the first or the second one."""
    power = (1, 0) if place == 0 else (0, 1)
    return Series(orders, {}).made({(0, 0): value, power: np.ones_like(value)})


_STEPS = 20_000  # of a series or a continued fraction, which near x = a takes about sqrt(a) of them
_TINY, _CLOSE = 1e-300, 4e-16


def _psi(n: int, x: Any) -> Any:
    from scipy import special

    return special.polygamma(n, x) if n else special.digamma(x)


def _done(change: Series, total: Series) -> bool:
    with np.errstate(all="ignore"):
        return all(np.all(~(np.abs(change.terms[p]) > _CLOSE * np.abs(total.terms[p]))) for p in total.terms)


def _lower(orders: tuple[int, int], a: Any, x: Any) -> Series:
    """The sum of x**k/(a (a + 1) ... (a + k)), the lower integral but for x**a e**-x."""
    place = variable(orders, a, 0)
    term = total = place.inverse()
    for k in range(1, _STEPS):
        term = term * x * (place + float(k)).inverse()
        total = total + term
        if not k % 8 and _done(term, total):
            break
    return total


def _fraction(b: Series, steps: Any) -> Series:
    """b[0] + a[1]/(b[1] + a[2]/(b[2] + ...)), inverted, by Lentz's algorithm; ``steps`` gives pairs a[i], b[i]."""
    c, d = b.made({(0, 0): np.full_like(b.start(), 1 / _TINY)}), b.inverse()
    found = d
    for i, (top, bottom) in enumerate(steps):
        d = (top * d + bottom).inverse()
        c = top * c.inverse() + bottom
        before, found = found, found * d * c
        if not i % 8 and _done(found + before * -1.0, found):
            break
    return found


def _upper(orders: tuple[int, int], a: Any, x: Any) -> Series:
    """Legendre's continued fraction of the upper integral but for x**a e**-x."""
    place = variable(orders, a, 0)
    return _fraction(place * -1.0 + (x + 1), ((place * float(i) + float(-i * i), place * -1.0 + (x + 1 + 2 * i)) for i in range(1, _STEPS)))


def _gammainc(a: Any, x: Any, n: int) -> Any:
    from scipy import special

    if not n:
        return special.gammainc(a, x)[()]
    a, x = np.broadcast_arrays(np.asarray(a, float), np.asarray(x, float))
    orders = (n, 0)
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    outside = np.where((a > 0) & ((x == 0) | (x == np.inf)), 0.0, np.nan)
    if not inside.any():
        return outside[()]
    safe_a, safe_x = np.where(inside, a, 1.0), np.where(inside, x, 1.0)
    exponents = {(0, 0): safe_a * np.log(safe_x) - safe_x - special.gammaln(safe_a), (1, 0): np.log(safe_x) - _psi(0, safe_a)}
    exponents |= {(k, 0): -_psi(k - 1, safe_a) / math.factorial(k) for k in range(2, n + 1)}
    front = Series(orders, exponents).exp()
    far = safe_x > safe_a + 1
    below = (front * _lower(orders, safe_a, np.where(far, 0.5 * safe_a, safe_x))).derivative()
    beyond = -(front * _upper(orders, safe_a, np.where(far, safe_x, safe_a + 2))).derivative()
    return np.where(inside, np.where(far, beyond, below), outside)[()]


def _differentiated(name: str, function: Any, orders: Any) -> Any:
    """A derivative by parameters: by their series, where scalars have them, and by mpmath's differences at as many digits as they take."""

    def at(m: Any, *arguments: Any) -> Any:
        *parameters, x = arguments
        counts = orders[: len(parameters)]
        enclosed = getattr(m, "by_parameters", None)
        if enclosed is not None:
            return enclosed(name, counts, *arguments)
        if not any(counts):
            return function(m, *parameters, x)
        lost = sum(count * abs(m.mag(value)) for count, value in zip(counts, parameters, strict=True))  # by steps as small as these
        with m.workprec(m.prec + 40 + 2 * lost):
            value = m.diff(lambda *where: function(m, *where, x), tuple(parameters), tuple(counts), relative=True)
        return +value

    return at


def _gammainc_reference(m: Any, a: Any, x: Any, n: int = 0) -> Any:
    if a <= 0 or x < 0:
        return m.nan
    if x == 0 or x == m.inf:
        return m.one if not n and x else m.zero
    return _smaller(m, a, x, n, 1)


def _smaller(m: Any, a: Any, x: Any, n: int, sign: int) -> Any:
    """P(a, x) (sign 1) or Q(a, x), or its n-th derivative by a, by the smaller of the two."""
    if x > a + 1:
        found = _differentiated("gammaincc", lambda m, a, x: m.gammainc(a, x, regularized=True), (n,))(m, a, x)
        return found if sign < 0 else -found if n else 1 - found
    found = _differentiated("gammainc", lambda m, a, x: m.gammainc(a, 0, x, regularized=True), (n,))(m, a, x)
    return found if sign > 0 else -found if n else 1 - found


def _gammaincc_reference(m: Any, a: Any, x: Any, n: int = 0) -> Any:
    if a <= 0 or x < 0:
        return m.nan
    if x == 0 or x == m.inf:
        return m.zero if n or x else m.one
    return _smaller(m, a, x, n, -1)


def _gamma_slope(sign: int) -> Any:
    def slope(s: Any, values: Any, orders: Any) -> Any:
        a, x = values
        at = s.Dummy(positive=True)
        return sign * s.diff(s.exp((at - 1) * s.log(x) - x - s.loggamma(at)), at, orders[0]).subs(at, a)

    return slope


def gamma_density(a: Any, x: Any, n: int = 0) -> Any:
    """The n-th derivative by a of x**(a - 1) e**-x/gamma(a)."""
    density = exp(xlogy(a - 1, x) - x - lgamma(a))
    factors = [1.0]
    for k in range(n):
        slopes = [log(x) - digamma(a), *(-polygamma(a, n=j) for j in range(1, k + 1))]
        factors.append(sum(math.comb(k, j) * factors[k - j] * slopes[j] for j in range(k + 1)))
    return density if not n else density * factors[n]


gammainc_slope: Op = elementwise(
    "gammainc_slope", "a x", _gammainc, _gammainc_reference,
    lambda out, a, x, n: gammainc_slope(a, x, n=n + 1), lambda out, a, x, n: gamma_density(a, x, n),
    symbolic=in_sympy("gammainc", _gammainc_reference, _gamma_slope(1)), static={"n": 1}, saves=("a", "x"), public=False, ulps=4000,
    domain="a > 0 and x >= 0", doc="The n-th derivative of gammainc(a, x) by a.",
)
gammainc: Op = elementwise(
    "gammainc", "a x", lambda a, x: _gammainc(a, x, 0), _gammainc_reference,
    lambda out, a, x: gammainc_slope(a, x, n=1), lambda out, a, x: gamma_density(a, x),
    symbolic=lambda s, a, x: in_sympy("gammainc", _gammainc_reference, _gamma_slope(1))(s, a, x, n=0), saves=("a", "x"), ulps=200,
        domain="a > 0 and x >= 0",
    doc="The regularized lower incomplete gamma function: the integral of t**(a - 1)*exp(-t)/gamma(a) from 0 to x.",
    examples=("gammainc(a, x)",),
    between=((0.0,), (0.0,)),
    numpy="special.gammainc({0}, {1})",
)


def _gammaincc(a: Any, x: Any) -> Any:
    from scipy import special

    return special.gammaincc(a, x)[()]


gammaincc: Op = elementwise(
    "gammaincc", "a x", _gammaincc, _gammaincc_reference,
    lambda out, a, x: -gammainc_slope(a, x, n=1), lambda out, a, x: -gamma_density(a, x),
    symbolic=lambda s, a, x: in_sympy("gammaincc", _gammaincc_reference, _gamma_slope(-1))(s, a, x, n=0), saves=("a", "x"), ulps=400,
        domain="a > 0 and x >= 0",
    doc="The regularized upper incomplete gamma function, 1 - gammainc(a, x).", examples=("gammaincc(a, x)",),
    between=((0.0,), (0.0,)),
    numpy="special.gammaincc({0}, {1})",
)


def _beta_fraction(orders: tuple[int, int], a: Any, b: Any, x: Any) -> Series:
    """The continued fraction of the incomplete beta function but for x**a (1 - x)**b/(a beta(a, b))."""
    first, second = variable(orders, a, 0), variable(orders, b, 1)
    both = first + second

    def steps() -> Any:
        yield both * (first + 1.0).inverse() * -x, 1.0
        for m in range(1, _STEPS):
            bottom = (first + (2 * m - 1.0)) * (first + 2.0 * m)
            yield (second + float(-m)) * (m * x) * bottom.inverse(), 1.0
            bottom = (first + 2.0 * m) * (first + (2 * m + 1.0))
            yield (first + float(m)) * (both + float(m)) * -x * bottom.inverse(), 1.0

    return _fraction(both.made({(0, 0): np.ones_like(x)}), steps())


def _near(orders: tuple[int, int], a: Any, b: Any, x: Any) -> Any:
    """The derivative of the incomplete beta function where x is below its mean."""
    from scipy import special

    i, j = orders
    exponents: dict[tuple[int, int], Any] = {(0, 0): special.xlogy(a, x) + special.xlog1py(b, -x) - np.log(a) - special.betaln(a, b)}
    for k in range(i + 1):
        for m in range(j + 1):
            if k or m:
                slope = _psi(k + m - 1, a + b) + (-_psi(k - 1, a + 1) if not m else 0.0) + (-_psi(m - 1, b) if not k else 0.0)
                slope = slope + (np.log(x) if (k, m) == (1, 0) else np.log1p(-x) if (k, m) == (0, 1) else 0.0)
                exponents[k, m] = slope / (math.factorial(k) * math.factorial(m))
    return (Series(orders, exponents).exp() * _beta_fraction(orders, a, b, x)).derivative()


def _betainc(a: Any, b: Any, x: Any, n: int, k: int) -> Any:
    from scipy import special

    if not (n or k):
        return special.betainc(a, b, x)[()]
    a, b, x = np.broadcast_arrays(*(np.asarray(v, float) for v in (a, b, x)))
    inside = (a > 0) & (b > 0) & (x > 0) & (x < 1) & np.isfinite(a) & np.isfinite(b)
    outside = np.where((x == 0) | (x == 1), 0.0, np.nan)
    if not inside.any():
        return outside[()]
    a, b, safe = np.where(inside, a, 1.0), np.where(inside, b, 1.0), np.where(inside, x, 0.5)
    low = safe <= (a + 1) / (a + b + 2)
    below = _near((n, k), a, b, np.where(low, safe, 0.5 * (a + 1) / (a + b + 2)))
    beyond = -_near((k, n), b, a, np.where(low, 0.5 * (b + 1) / (a + b + 2), 1 - safe))
    return np.where(inside, np.where(low, below, beyond), outside)[()]


def _betainc_reference(m: Any, a: Any, b: Any, x: Any, n: int = 0, k: int = 0) -> Any:
    if a <= 0 or b <= 0 or x < 0 or x > 1:
        return m.nan
    if x == 0 or x == 1:
        return m.zero if n or k or not x else m.one

    def below(a: Any, b: Any, x: Any) -> Any:
        """By the hypergeometric series whose terms are all positive: mpmath's own function fails where b is a whole number."""
        return m.power(x, a) * m.power(1 - x, b) / (a * m.beta(a, b)) * m.hyp2f1(a + b, 1, a + 1, x)

    def part(m: Any, a: Any, b: Any, x: Any) -> Any:
        return below(a, b, x) if x * (a + b) <= a else 1 - below(b, a, 1 - x)

    return _differentiated("betainc", part, (n, k))(m, a, b, x)


def _beta_slope(s: Any, values: Any, orders: Any) -> Any:
    p, q, x = values
    a, b = s.Dummy(positive=True), s.Dummy(positive=True)
    logarithm = (a - 1) * s.log(x) + (b - 1) * s.log(1 - x) - s.loggamma(a) - s.loggamma(b) + s.loggamma(a + b)
    return s.diff(s.exp(logarithm), a, orders[0], b, orders[1]).subs({a: p, b: q})


def beta_density(a: Any, b: Any, x: Any, n: int = 0, k: int = 0) -> Any:
    """The derivative by a and b, n and k times, of x**(a - 1) (1 - x)**(b - 1)/beta(a, b)."""

    def slope(i: int, j: int) -> Any:
        found: Any = digamma(a + b) if i + j == 1 else polygamma(a + b, n=i + j - 1)
        if not j:
            found = found - (digamma(a) if i == 1 else polygamma(a, n=i - 1))
        if not i:
            found = found - (digamma(b) if j == 1 else polygamma(b, n=j - 1))
        return found + (log(x) if (i, j) == (1, 0) else log1p(-x) if (i, j) == (0, 1) else 0.0)

    def factor(i: int, j: int) -> Any:
        if not (i or j):
            return 1.0
        if i:
            return sum(
                math.comb(i - 1, p) * math.comb(j, q) * factor(i - 1 - p, j - q) * slope(p + 1, q) for p in range(i) for q in range(j + 1)
            )
        return sum(math.comb(j - 1, q) * factor(0, j - 1 - q) * slope(0, q + 1) for q in range(j))

    density = exp(xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b))
    return density * factor(n, k) if n or k else density


betainc_slope: Op = elementwise(
    "betainc_slope", "a b x", _betainc, _betainc_reference,
    lambda out, a, b, x, n, k: betainc_slope(a, b, x, n=n + 1, k=k), lambda out, a, b, x, n, k: betainc_slope(a, b, x, n=n, k=k + 1),
    lambda out, a, b, x, n, k: beta_density(a, b, x, n, k),
    symbolic=in_sympy("betainc", _betainc_reference, _beta_slope), static={"n": 1, "k": 0}, saves=("a", "b", "x"), public=False, ulps=4000,
    domain="a > 0 and b > 0 and 0 <= x <= 1", doc="The derivative of betainc(a, b, x) by a and b, n and k times.",
)
betainc: Op = elementwise(
    "betainc", "a b x", lambda a, b, x: _betainc(a, b, x, 0, 0), _betainc_reference,
    lambda out, a, b, x: betainc_slope(a, b, x, n=1, k=0), lambda out, a, b, x: betainc_slope(a, b, x, n=0, k=1),
    lambda out, a, b, x: beta_density(a, b, x),
    symbolic=lambda s, a, b, x: in_sympy("betainc", _betainc_reference, _beta_slope)(s, a, b, x, n=0, k=0), saves=("a", "b", "x"),
        ulps=400,
    domain="a > 0 and b > 0 and 0 <= x <= 1",
    doc="The regularized incomplete beta function: the integral of t**(a - 1)*(1 - t)**(b - 1)/beta(a, b) from 0 to x.",
    examples=("betainc(a, b, x)",),
    between=((0.0,), (0.0,), (0.0, 1.0)),
    numpy="special.betainc({0}, {1}, {2})",
    torch="",
)

for _library in (NUMPY, SCIPY, TORCH):
    declare(
        _library, gammainc=signature("gammainc", "a|input|self, x|other, -out"),
            gammaincc=signature("gammaincc", "a|input|self, x|other, -out"),
    )  # fmt: skip
declare(TORCH, igamma=signature("gammainc", "a|input, x|other, -out"), igammac=signature("gammaincc", "a|input, x|other, -out"))
