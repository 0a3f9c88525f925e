"""Taylor series in one or two small steps, whose coefficients are arrays: how a value is differentiated by parameters in floats."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np


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
