"""What products are made of: names, functions of something, powers with exponents that are no numbers, roots, and sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gradcli.formulas.polynomials import Monomial, Number, Polynomial, scaled
from gradcli.ops.spec import Op

Value = tuple[Number, Monomial]  # a coefficient times powers of bases
ZERO: Value = (0, ())
ONE: Value = (1, ())


@dataclass(eq=False, repr=False)
class Base:
    """One factor. What is not given does not apply.

    node      what stands for itself: a node of a name, a number without a fraction
    op        a function, with its operands as values (None for those left out), static parameters, and its operands' shapes if they count
    of        of a power: the value that is raised (None for the number e), by the monomial ``by``
    terms     of a sum: its polynomial; and ``origins``, other sums that equal it
    modulus   the power of the base that is something simpler, ``reduced``: of a square root 2, and what is under it
    positive  whether it is so wherever it has a value
    """

    number: int
    node: Any = None
    op: Op | None = None
    operands: tuple[Value | None, ...] = ()
    static: Mapping[str, Any] = field(default_factory=dict)
    shapes: tuple[Any, ...] = ()
    of: Value | None = None
    by: Value | None = None
    terms: Polynomial | None = None
    origins: list[list[Value]] = field(default_factory=list)
    modulus: int = 0
    reduced: Value = ONE
    positive: bool = False


class Bases:
    """The bases of one algebra, each found again by what it is."""

    def __init__(self) -> None:
        self.all: list[Base] = []
        self.found: dict[Any, int] = {}
        self.reducible: set[int] = set()  # those with a modulus
        self.sums: set[int] = set()

    def __getitem__(self, number: int) -> Base:
        return self.all[number]

    def make(self, key: Any, **fields: Any) -> Base:
        """The base that a key stands for."""
        number = self.found.get(key)
        if number is not None:
            return self.all[number]
        number = self.found[key] = len(self.all)
        base = Base(number, **fields)
        self.all.append(base)
        if base.modulus:
            self.reducible.add(number)
        return base

    def knows(self, terms: Polynomial) -> bool:
        """Whether a sum or its opposite has been met."""
        return frozenset(terms.items()) in self.found or frozenset(scaled(terms, -1).items()) in self.found

    def sum(self, terms: Polynomial, *, signed: bool = False) -> tuple[int, Base]:
        """A sum as a sign and a base: the opposite of a sum that is known is that sum, unless its sign counts (``signed``)."""
        key = frozenset(terms.items())
        number = self.found.get(key)
        if number is not None:
            return 1, self.all[number]
        opposite = frozenset(scaled(terms, -1).items())
        number = self.found.get(opposite)
        if number is not None and not signed:
            return -1, self.all[number]
        sign = -1 if not signed and all(c < 0 for c in terms.values()) else 1
        if sign < 0:
            key, terms = opposite, scaled(terms, -1)
        base = self.make(key, terms=terms)
        self.sums.add(base.number)
        return sign, base
