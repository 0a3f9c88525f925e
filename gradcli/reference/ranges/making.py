"""The making of cells, each once: sums gather like terms, products gather like factors, numbers are folded."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from flint import fmpq

from gradcli.reference.algebra import Unsupported
from gradcli.reference.ranges.cells import (
    NOUGHT,
    UNIT,
    Call,
    Cell,
    Choice,
    Compared,
    Factor,
    Filled,
    Leaf,
    Named,
    Number,
    Path,
    Product,
    Step,
    Sum,
    behind,
)

MOST_CELLS = 20_000
_NOT_FINITE = ("inf", "-inf", "nan")


def _is_call(cell: Cell, name: str) -> bool:
    return isinstance(cell, Call) and cell.name == name


class Cells:
    """Makes cells, each once."""

    def __init__(self) -> None:
        self._made: dict[Any, Any] = {}
        self._all: list[Cell] = []
        self._last = 0
        self.zero, self.one = self.number(NOUGHT), self.number(UNIT)
        self.recorder: Any = None  # decides truths, and runs references: `recording.recorded` gives it
        self.points: Sequence[Any] = ()  # of the box, at which a function is looked at
        self.whole: Any = None  # an evaluation over the box
        self.null: dict[Cell, bool] = {}  # whether zeros fill no space

    def next_serial(self) -> int:
        self._last += 1
        if self._last > MOST_CELLS:
            raise Unsupported(f"more than {MOST_CELLS:,} operations")
        return self._last

    @property
    def last(self) -> int:
        """How many cells there are."""
        return len(self._all)

    def since(self, count: int) -> list[Cell]:
        """The cells made after so many."""
        return self._all[count:]

    def _once(self, key: Any, make: Any, *parts: Any) -> Any:
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = make(self, *parts)
            self._all.append(found)
        return found

    def of(self, x: Any) -> Cell:
        """A cell as it is, a number exactly."""
        if isinstance(x, Cell):
            return x
        item = getattr(x, "item", None)
        value = x if item is None else item()
        if isinstance(value, float) and not math.isfinite(value):
            return self.call({math.inf: "inf", -math.inf: "-inf"}.get(value, "nan"), None, ())
        return self.number(exactly(value))

    def number(self, value: fmpq) -> Number:
        found: Number = self._once((Number, value), Number, value)
        return found

    def leaf(self, place: int) -> Leaf:
        found: Leaf = self._once((Leaf, place), Leaf, place)
        return found

    def named(self, x: Cell) -> Cell:
        return x if isinstance(x, (Number, Leaf)) else Named(self, (x,))

    def sum(self, parts: Iterable[tuple[fmpq, Cell]]) -> Cell:
        """The sum of multiples: sums in it are opened, and like terms gathered."""
        constant = NOUGHT
        terms: dict[Cell, fmpq] = {}
        for coefficient, cell in parts:
            if isinstance(cell, Number):
                constant += coefficient * cell.value
            elif isinstance(cell, Sum):
                constant += coefficient * cell.constant
                for inner, term in cell.terms:
                    terms[term] = terms.get(term, NOUGHT) + coefficient * inner
            else:
                terms[cell] = terms.get(cell, NOUGHT) + coefficient
        left = sorted(((q, c) for c, q in terms.items() if q != 0 or c.partial), key=lambda term: term[1].serial)
        if not left:
            return self.number(constant)
        if constant == 0 and len(left) == 1 and left[0][0] == 1:
            return left[0][1]
        found: Cell = self._once((Sum, constant, *left), Sum, constant, tuple(left))
        return found

    def product(self, parts: Iterable[tuple[Cell, fmpq]]) -> Cell:
        """The product of powers: products in it are opened, and like factors gathered; numbers become coefficients."""
        scale = UNIT
        known: dict[Cell, list[Any]] = {}
        pending = [(cell, exponent) for cell, exponent in parts][::-1]
        while pending:
            cell, exponent = pending.pop()
            whole = exponent.q == 1
            if isinstance(cell, Number) and whole and (cell.value != 0 or exponent > 0):
                scale *= cell.value ** int(exponent.p)
            elif isinstance(cell, Sum) and whole and len(cell.terms) == 1 and cell.constant == 0 and cell.terms[0][0] != 0:
                scale *= cell.terms[0][0] ** int(exponent.p)
                pending.append((cell.terms[0][1], exponent))
            elif isinstance(cell, Sum) and len(cell.terms) == 1 and cell.constant == 0 and cell.terms[0][0] > 0:
                pending += [(self.number(cell.terms[0][0]), exponent), (cell.terms[0][1], exponent)]
            elif isinstance(cell, Number) and cell.value.p == 1 and cell.value.q != 1:
                self._gather(known, self.number(fmpq(cell.value.q)), -exponent, False, False)
            elif isinstance(cell, Number) and cell.value > 0:
                self._gather(known, cell, exponent, False, False)
            elif isinstance(cell, Product) and whole:
                for f in cell.factors:
                    self._gather(known, f.base, f.exponent * exponent, f.divides or exponent < 0, f.root)
            else:
                self._gather(known, cell, exponent, exponent < 0, not whole)
        self._logistic(known)
        if scale == 0:
            left = [Factor(base, e, d, r) for base, (e, d, r) in known.items() if d or r or base.partial]
            return self.sum([(NOUGHT, self._product(left))]) if left else self.zero
        factors = [Factor(base, e, d, r) for base, (e, d, r) in known.items() if e != 0 or d or r or base.partial]
        return self.sum([(scale, self._product(factors))]) if factors else self.number(scale)

    def _logistic(self, known: dict[Cell, list[Any]]) -> None:
        """e**x/(1 + e**x + e**y) as 1/(e**-x + 1 + e**(y-x)), in which x stands on one side only."""
        rising = [base for base, (e, _, _) in known.items() if _is_call(base, "exp") and e > 0 and e.q == 1]
        for base in rising:
            for total in [other for other, (e, _, _) in known.items() if isinstance(other, Sum) and e < 0 and e.q == 1]:
                powers = min(known[base][0], -known[total][0])
                turned = self._over(total, base) if powers > 0 else None
                if turned is None:
                    continue
                known[base][0] -= powers
                known[total][0] += powers
                if known[total][0] == 0:
                    del known[total]  # it vanishes where the other does
                self._gather(known, turned, -powers, True, False)

    def _over(self, total: Cell, base: Cell) -> Cell | None:
        """A sum of exponentials, divided by one of them; None for other sums."""
        assert isinstance(total, Sum)
        assert isinstance(base, Call)
        if not any(term is base for _, term in total.terms) or not all(_is_call(term, "exp") for _, term in total.terms):
            return None

        def lowered(x: Cell) -> Cell:
            power = self.sum([(UNIT, x), (-UNIT, base.args[0])])
            return self.one if isinstance(power, Number) and power.value == 0 else self.call("exp", base.function, (power,))

        return self.sum([(total.constant, lowered(self.zero)), *((q, lowered(term.args[0])) for q, term in total.terms)])

    @staticmethod
    def _gather(known: dict[Cell, list[Any]], base: Cell, exponent: fmpq, divides: bool, root: bool) -> None:
        if base in known:
            before = known[base]
            known[base] = [before[0] + exponent, before[1] or divides, before[2] or root]
        else:
            known[base] = [exponent, divides, root]

    def of_factors(self, factors: Sequence[Factor]) -> Cell:
        return self._product(factors) if factors else self.one

    def _product(self, factors: Sequence[Factor]) -> Cell:
        if len(factors) == 1 and factors[0].exponent == 1 and not factors[0].divides and not factors[0].root:
            return factors[0].base
        ordered = tuple(sorted(factors, key=lambda f: f.base.serial))
        found: Cell = self._once((Product, *ordered), Product, ordered)
        return found

    def power(self, x: Cell, exponent: fmpq) -> Cell:
        return self.product([(x, exponent)])

    def call(self, name: str, function: Any, args: Sequence[Cell]) -> Cell:
        found: Cell = self._once((Call, name, function, *args), Call, name, function, tuple(args))
        return found

    def step(self, name: str, x: Cell) -> Cell:
        found: Cell = self._once((Step, name, x), Step, name, x)
        return found

    def less(self, x: Cell, y: Cell, holds: bool = True) -> Any:
        """Whether x < y, or whether not; decided where both are numbers."""
        known = self._difference(x, y)
        if known is not None:
            return (known < 0) is holds
        if any(isinstance(c, Call) and c.name in _NOT_FINITE for c in (x, y)):
            return (_is_call(x, "-inf") or _is_call(y, "inf")) is holds and not (_is_call(x, "nan") or _is_call(y, "nan"))
        truth = self._once((Compared, x, y, False, False), Compared, x, y, False, False)
        return truth if holds else self.negated(truth)

    def equal(self, x: Cell, y: Cell, holds: bool = True) -> Any:
        known = self._difference(x, y)
        if known is not None:
            return (known == 0) is holds
        truth = self._once((Compared, x, y, True, False), Compared, x, y, True, False)
        return truth if holds else self.negated(truth)

    def _difference(self, x: Cell, y: Cell) -> fmpq | None:
        off = self.sum([(UNIT, x), (-UNIT, y)])
        if isinstance(off, Number):
            return off.value
        return off.constant if isinstance(off, Sum) and all(q == 0 for q, _ in off.terms) else None

    def filled(self, x: Cell) -> Cell:
        """A cell without its holes, where it has any: where what it divides by may be 0 in the box."""
        divided = [f.base for c in behind([x]) if isinstance(c, Product) for f in c.factors if f.divides]
        if self.whole is None or not any(self.whole.may_vanish(base) for base in divided):
            return x
        found: Cell = self._once((Filled, x), Filled, (x,))
        return found

    def negated(self, truth: Compared) -> Cell:
        return self.choice([Path(((truth, True),), self.zero), Path(((truth, False),), self.one)])

    def choice(self, paths: Sequence[Path], open_: bool = False) -> Cell:
        if all(path.result is paths[0].result for path in paths):
            return paths[0].result
        found: Cell = self._once((Choice, tuple(paths), open_), Choice, tuple(paths), open_)
        return found

    def opened(self, truth: Compared) -> Compared:
        """A truth but for points that fill no space."""
        x, y = truth.args
        found: Compared = self._once((Compared, x, y, truth.equality, True), Compared, x, y, truth.equality, True)
        return found


def exactly(x: Any) -> fmpq:
    """A Python number, or one of mpmath's, as a rational number. Raises Unsupported for what is not finite."""
    parts = getattr(x, "_mpf_", None)
    if parts is not None:
        sign, mantissa, exponent, _ = parts
        if not mantissa and exponent:
            raise Unsupported("a number that is not finite")
        if abs(exponent) >= 1 << 20:
            raise Unsupported("a number of so many digits")
        value: fmpq = fmpq(int(mantissa)) * fmpq(2) ** exponent
        return -value if sign else value
    if isinstance(x, (bool, int)):
        return fmpq(int(x))
    try:
        return fmpq(*float(x).as_integer_ratio())
    except (OverflowError, ValueError):
        raise Unsupported("a number that is not finite") from None
