"""The ranges of a function and of its gradient over a box, with ends that are floats rounded outwards."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import flint
from flint import arb

from gradcli.graph.nodes import Expr
from gradcli.reference.algebra import Algebra
from gradcli.reference.ranges.boxes import Box
from gradcli.reference.ranges.cells import NOUGHT, UNIT, Cell
from gradcli.reference.ranges.evaluation import Evaluation
from gradcli.reference.ranges.intervals import Interval
from gradcli.reference.ranges.limits import Quotients
from gradcli.reference.ranges.places import Place, places
from gradcli.reference.ranges.recording import recorded
from gradcli.reference.ranges.search import BITS, Imprecise, Search, Side
from gradcli.reference.ranges.slopes import Slopes
from gradcli.reference.ranges.target import Target
from gradcli.reference.ranges.tracing import Tracing
from gradcli.reference.ranges.values import Ledger

_SHARES = (0.3819, 0.7113, 0.1237)  # of the sides of the box, for points in it
_GOLDEN = 0.6180339887498949
WORK = 400_000  # cells that are evaluated for one range
Ends = tuple[float, float]
T = TypeVar("T")


@dataclass(eq=False)
class Range:
    """What a cell may be.

    ends      rounded outwards
    tight     whether each end is as close to the true one as was asked for
    points    where the furthest values were found, if any were
    boxes     where values beyond these may be
    """

    ends: Ends
    tight: tuple[bool, bool]
    points: tuple[Sequence[float] | None, Sequence[float] | None]
    boxes: tuple[Sequence[Ends] | None, Sequence[Ends] | None]


@dataclass(eq=False)
class Found:
    """The ranges of a function and of its derivatives by the variables of a box; no value where it is defined nowhere in it."""

    value: Range | None
    grad: list[Range | None]
    places: list[Place]
    uncertified: list[str]
    norms: dict[str, float | None] = field(default_factory=dict)


class Region:
    """A box, and what is read of the program over it."""

    def __init__(self, variables: Mapping[Expr, Ends], values: Mapping[Expr, Any], precision: str) -> None:
        self.cells = recorded()
        self.slopes = Slopes(self.cells)
        self.quotients = Quotients(self.cells, self.slopes)
        self.ledger = Ledger()
        self.box: Box = tuple((arb(low), arb(high)) for low, high in variables.values())
        self.cells.whole = Evaluation(self.box, self.ledger)
        self.cells.points = [
            Evaluation(tuple((p, p) for p in (_at(x, (share + k * _GOLDEN) % 1.0) for k, x in enumerate(self.box))), self.ledger)
            for share in _SHARES
        ]
        self.tracing = Tracing(self.cells, self.slopes, {leaf: i for i, leaf in enumerate(variables)}, values, precision)

    def read(self, *roots: Expr) -> list[Any]:
        """Arrays of cells. Raises Unsupported."""
        with precise():
            return [Algebra.map(self.cells.of, array) for array in self.tracing.run(*roots)]

    def target(self, cell: Cell) -> Target:
        return Target(cell, self.cells, self.slopes, self.quotients, self.ledger, len(self.box))


class Function(Region):
    """A function of the program over a box."""

    def __init__(self, root: Expr, variables: Mapping[Expr, Ends], values: Mapping[Expr, Any], precision: str) -> None:
        super().__init__(variables, values, precision)
        (found,) = self.read(root)
        self.cell: Cell = self.cells.recorder.lifted(found[()])

    def slope(self, place: int) -> Cell:
        """The derivative by a variable, where the function is defined."""
        return self.cells.sum([(UNIT, self.slopes.of(self.cell, self.cells.leaf(place))), (NOUGHT, self.cell)])

    def ranges(self, width: float, norms: bool) -> Found:
        """All that is asked for. Raises Unsupported for a function whose derivatives are not known."""
        grad: list[Range | None] = []
        value = self._range(self.cell, width)
        if value is not None:
            grad = [self._range(self.slope(k), width) for k in range(len(self.box))]
        with precise():
            found = places(self.target(self.cell), self.box)
        out = Found(value, grad, found, sorted(self.ledger.uncertified))
        if norms and value is not None:
            out.norms = {name: self._most(cell, width) for name, cell in self._norms().items()}
            out.uncertified = sorted(self.ledger.uncertified)
        return out

    def _norms(self) -> dict[str, Cell]:
        slopes = [self.slope(k) for k in range(len(self.box))]
        recorder, cells = self.cells.recorder, self.cells
        sizes = [recorder.magnitude(s) for s in slopes]
        squares = cells.sum([(UNIT, s * s) for s in slopes])
        return {"1": cells.sum([(UNIT, s) for s in sizes]), "2": cells.power(squares, UNIT / 2), "inf": recorder.extreme("max", sizes)}

    def _range(self, cell: Cell, width: float) -> Range | None:
        def once() -> Range | None:
            search = Search(self.target(cell), self.box, width, WORK)
            low, high = search.both()
            return None if low.bound is None or high.bound is None else _told(low, high)

        return escalating(once)

    def _most(self, cell: Cell, width: float) -> float | None:
        def once() -> float | None:
            found = Search(self.target(cell), self.box, width, WORK).side(1)
            return 0.0 if found.bound is None else above(found.bound)

        most = escalating(once)
        return None if math.isinf(most or 0.0) else most


@contextmanager
def precise(bits: int = BITS) -> Iterator[None]:
    """FLINT's precision, which is global, for a while."""
    before, flint.ctx.prec = flint.ctx.prec, bits
    try:
        yield
    finally:
        flint.ctx.prec = before


def escalating(once: Callable[[], T]) -> T:
    """A result at as many bits as it takes that rounding does not matter."""
    bits = BITS
    while True:
        with precise(bits):
            try:
                return once()
            except Imprecise:
                bits *= 4


def _told(low: Side, high: Side) -> Range:
    assert low.bound is not None
    assert high.bound is not None
    sides = (low, high)
    points = tuple(None if s.point is None else [float(x[0].mid()) + 0.0 for x in s.point] for s in sides)
    boxes = tuple(None if s.box is None else [(below(x[0]), above(x[1])) for x in s.box] for s in sides)
    return Range((below(low.bound), above(high.bound)), (low.tight, high.tight), points, boxes)  # type: ignore[arg-type]


def below(x: arb) -> float:
    """The largest float that is not above an exact number."""
    found = float(x) + 0.0  # no minus sign on a zero
    return found if math.isnan(found) or arb(found) <= x else math.nextafter(found, -math.inf)


def above(x: arb) -> float:
    """The smallest float that is not below an exact number."""
    return 0.0 - below(-x)


def _at(x: Interval, share: float) -> arb:
    """A number between two."""
    return (x[0] + (x[1] - x[0]) * arb(share)).mid()
