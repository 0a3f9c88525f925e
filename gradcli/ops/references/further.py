"""References of further special functions: as their definitions have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.ops.references import of
from gradcli.ops.references.elementary import each, size_of
from gradcli.ops.references.entries import total


def _told(name: str, function: Callable[..., Any]) -> None:
    of(name)(lambda m, *operands: each(lambda *row: function(m, *row), *operands))


def _relative(m: Any, x: Any, y: Any) -> Any:
    if x < 0 or y < 0 or (y == 0 and x > 0):
        return m.inf
    return m.zero if x == 0 else x * m.log(x / y)


def _exponential_quotient(m: Any, x: Any) -> Any:
    return m.function("exprel", x)


def _unlogged(m: Any, y: Any, k: Any) -> Any:
    if m.plain(k) == 0:
        return y - k * y * y / 2 + k * k * y * y * y / 3
    return m.log(1 + k * y) / k


def _bent(m: Any, d: Any, r: Any) -> Any:
    if d < 0:
        return m.inf
    size = size_of(r)
    return r * r / 2 if size <= d else d * size - d * d / 2


_told("rel_entr", _relative)
_told("log_expit", lambda m, x: x - m.log1p(m.exp(x)) if x < 0 else -m.log1p(m.exp(-x)))
_told("boxcox", lambda m, x, k: m.log(x) * _exponential_quotient(m, k * m.log(x)))
_told("boxcox1p", lambda m, x, k: m.log(1 + x) * _exponential_quotient(m, k * m.log(1 + x)))
_told("inv_boxcox", lambda m, y, k: m.exp(_unlogged(m, y, k)))
_told("inv_boxcox1p", lambda m, y, k: m.exp(_unlogged(m, y, k)) - 1)
_told("huber", _bent)
_told("pseudo_huber", lambda m, d, r: m.inf if d < 0 else d * d * (m.sqrt(1 + r * r / (d * d)) - 1))
_told("cosm1", lambda m, x: m.function("cos", x) - 1)
_told("powm1", lambda m, x, y: m.exp(y * m.log(x)) - 1)
_told("rgamma", lambda m, x: 1 / m.function("gamma", x))
_told("poch", lambda m, z, k: m.function("gamma", z + k) / m.function("gamma", z))
_told("betaincc", lambda m, a, b, x: 1 - m.function("betainc", a, b, x))


# Polynomials by their coefficients, in closed form


def _powers(m: Any, x: Any, coefficients: list[Any]) -> Any:
    """The sum of c[k] x**k."""
    terms, power = [], m.one
    for c in coefficients:
        terms.append(power * c)
        power = power * x
    return total(m, terms)


def _factorial(m: Any, n: int) -> Any:
    return m.m.factorial(n)


def _legendre(m: Any, n: int) -> list[Any]:
    found = [m.zero] * (n + 1)
    for k in range(n // 2 + 1):
        top = _factorial(m, 2 * n - 2 * k) * (-1) ** k
        found[n - 2 * k] = top / _factorial(m, k) / _factorial(m, n - k) / _factorial(m, n - 2 * k) / 2**n
    return found


def _hermite(scale: int) -> Callable[[Any, int], list[Any]]:
    """Of exp(-x**2) (2) or exp(-x**2/2) (1)."""

    def coefficients(m: Any, n: int) -> list[Any]:
        found = [m.zero] * (n + 1)
        for k in range(n // 2 + 1):
            size = _factorial(m, n) / _factorial(m, k) / _factorial(m, n - 2 * k)
            found[n - 2 * k] = (-1) ** k * size * (2 ** (n - 2 * k) if scale == 2 else m.one / 2**k)
        return found

    return coefficients


def _chebyshev(second: bool) -> Callable[[Any, int], list[Any]]:
    def coefficients(m: Any, n: int) -> list[Any]:
        if not n:
            return [m.one]
        found = [m.zero] * (n + 1)
        for k in range(n // 2 + 1):
            ways = _factorial(m, n - k) / _factorial(m, k) / _factorial(m, n - 2 * k) * (-1) ** k
            found[n - 2 * k] = ways * m.one * 2 ** (n - 2 * k) if second else ways * n / (n - k) * m.one * 2 ** (n - 2 * k) / 2
        return found

    return coefficients


def _laguerre(m: Any, n: int) -> list[Any]:
    return [(-1) ** k * _factorial(m, n) / _factorial(m, n - k) / _factorial(m, k) / _factorial(m, k) for k in range(n + 1)]


def _polynomial(name: str, coefficients: Callable[[Any, int], list[Any]]) -> None:
    of(name)(lambda m, x, n: each(lambda v: _powers(m, v, coefficients(m, n)), x))


_polynomial("eval_legendre", _legendre)
_polynomial("eval_chebyt", _chebyshev(False))
_polynomial("eval_chebyu", _chebyshev(True))
_polynomial("eval_hermite", _hermite(2))
_polynomial("eval_hermitenorm", _hermite(1))
_polynomial("eval_laguerre", _laguerre)
