"""A function of the program over a box: its range and those of its gradient, with ends that are floats rounded outwards.

And where something is the matter with it: boxes around its poles, kinks and jumps, and those where it is not defined.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cmp_to_key, partial
from typing import Any, NamedTuple

import numpy as np
from flint import arb

from gradcli.graph.interpret import Domain, interpret
from gradcli.graph.nodes import Expr, constant_value
from gradcli.graph.transforms import Derivation, definition_order
from gradcli.ops.calling.inputs import numpy_dtype
from gradcli.ops.constants import Constant
from gradcli.ops.registry import find
from gradcli.ops.spec import Op
from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.ranges.cells import (
    ANY,
    EQUAL,
    NOUGHT,
    UNIT,
    Cell,
    Cells,
    Choice,
    Conditions,
    Floor,
    Leaf,
    Named,
    Number,
    Path,
    Product,
    Signs,
    is_linear,
)
from gradcli.reference.ranges.evaluation import Evaluation, Event
from gradcli.reference.ranges.functions import (
    DOMAIN,
    JUMP,
    KINK,
    POLE,
    Box,
    Interval,
    Sides,
    hull,
    is_point,
    overlap,
    precise,
    round_numbers,
    with_side,
)
from gradcli.reference.ranges.search import Search, Side, Target
from gradcli.reference.ranges.slopes import Quotients, Slopes

# -- A function of the program as cells: its graph is read by the references of its operations,
# some names being variables of a box.
#
# Arithmetic is written down, functions are sympy's, and where a reference branches, all branches
# are taken. Derivatives inside of the function are taken from their definitions.


_MOST_PATHS = 64
_MOST_MASKS = 5  # of a function, for each of which it has twice as many branches
Array = np.ndarray


class Recorder(Algebra):
    """What a record's reference receives where scalars are cells."""

    overflows = False

    def __init__(self, cells: Cells) -> None:
        self.cells, self.precision = cells, "float64"
        self.m: Any = self
        self.zero, self.one = cells.zero, cells.one
        self.inf, self.nan = math.inf, math.nan
        self.pi, self.euler = cells.call("pi", None, ()), cells.call("euler", None, ())
        self._signs: dict[Cell, Signs] | None = None  # what was decided since the branch began
        self._taken: list[bool] = []
        self._planned: list[bool] = []

    # -- what references ask of a context

    def mpf(self, x: Any) -> Cell:
        return self.cells.of(x)

    def isfinite(self, x: Any) -> bool:
        return True

    def isnan(self, x: Any) -> bool:
        return False

    def fsum(self, terms: Any) -> Cell:
        return self.cells.sum([(UNIT, self.cells.of(x)) for x in terms])

    def floor(self, x: Any) -> Any:
        return self.cells.floor(self.cells.of(x))

    def ceil(self, x: Any) -> Any:
        return -self.cells.floor(-self.cells.of(x))

    def sign(self, x: Any) -> Any:
        return self.branching(lambda: 1 if x > 0 else -1 if x < 0 else 0)

    def log(self, x: Any, base: Any = None) -> Any:
        natural = self.scalar(find("log"), {}, x)
        return natural if base is None else natural / self.scalar(find("log"), {}, base)

    def __getattr__(self, name: str) -> Any:
        """Any function of the catalogue, as references call it."""
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            op = find(name)
        except KeyError:
            raise Unsupported(name) from None
        return lambda *given: self.scalar(op, dict(op.static), *given)

    # -- operations

    def scalar(self, op: Op, static: Mapping[str, Any], *arguments: Any) -> Any:
        given = [None if a is None else self.cells.of(a) for a in arguments]
        if op.kind != "smooth":
            return self.branching(lambda: op.reference(self, *given, **static))
        from gradcli.reference.symbolic.cells import of_operation  # sympy, which arithmetic needs not

        return of_operation(self.cells, op, static, given)

    def structural(self, op: Op, static: Mapping[str, Any], arrays: Sequence[Any]) -> Any:
        """An operation on arrays of cells, entry by entry of all its branches."""

        def run() -> tuple[Array, ...]:
            result = self.apply(op, static, arrays)
            return result if isinstance(result, tuple) else (result,)

        ways = self.ways(run)
        out = []
        for place, part in enumerate(ways[0][1]):
            if any(found[place].shape != part.shape for _, found in ways):
                raise Unsupported(f"{op.name}, whose result's shape depends on its operands")
            whole = np.empty(part.shape, dtype=object)
            for i in np.ndindex(part.shape):
                whole[i] = self.cells.choice([Path(conditions, self.cells.of(found[place][i])) for conditions, found in ways])
            out.append(whole)
        return out[0] if op.outputs == 1 else tuple(out)

    def extreme(self, which: str, row: list[Any]) -> Any:
        best = row[0]
        for x in row[1:]:
            best = self.scalar(find("maximum" if which == "max" else "minimum"), {}, best, x)
        return best

    def values(self, array: Any) -> Any:
        """The ranks of entries, whose order is a branch."""
        flat = list(np.ravel(array))

        def order(i: int, j: int) -> int:
            return -1 if flat[i] < flat[j] else 1 if flat[j] < flat[i] else 0

        ranks = np.empty(len(flat))
        ordered = sorted(range(len(flat)), key=cmp_to_key(order))
        for rank, place in enumerate(ordered):
            same = rank and order(ordered[rank - 1], place) == 0
            ranks[place] = ranks[ordered[rank - 1]] if same else rank
        return ranks.reshape(np.shape(array))

    # -- branches

    def branching(self, run: Callable[[], Any]) -> Cell:
        """Return what a reference gives, with a path for each of its branches."""
        return self.cells.choice([Path(conditions, self.cells.of(found)) for conditions, found in self.ways(run)])

    def ways(self, run: Callable[[], Any]) -> list[tuple[Conditions, Any]]:
        """The results of all branches, each with the signs that lead to it."""
        before = self._signs, self._taken, self._planned
        found: list[tuple[Conditions, Any]] = []
        planned: list[bool] | None = []
        try:
            while planned is not None:
                self._signs, self._taken, self._planned = {}, [], planned
                result = run()
                found.append((tuple(self._signs.items()), result))
                if len(found) > _MOST_PATHS:
                    raise Unsupported("so many branches")
                taken = self._taken
                while taken and not taken[-1]:
                    taken.pop()
                planned = [*taken[:-1], False] if taken else None
        finally:
            self._signs, self._taken, self._planned = before
        return found

    def decide(self, truth: Any) -> bool:
        """One branch of a truth, and later the other. A number is true where it is not 0."""
        return not self._holds(self._on_path(truth), EQUAL)

    def _holds(self, off: Cell, signs: Signs) -> bool:
        """Decide about the sign of a cell."""
        condition = self.cells.relation(off, signs)
        if isinstance(condition, bool):
            return condition
        if self._signs is None:
            raise Unsupported("a branch outside of any operation")
        off, signs = condition
        whole = self.cells.whole  # but on a face any sign is possible, which tells nothing of derivatives
        known = self._signs.get(off) or (ANY if any(is_point(whole.box[k]) for k in off.leaves) else whole.signs(off))
        if known <= signs or not known & signs:
            return bool(known <= signs)
        place = len(self._taken)
        holds = self._planned[place] if place < len(self._planned) else True
        self._taken.append(holds)
        self._signs[off] = known & signs if holds else known - signs
        return holds

    def _on_path(self, x: Cell) -> Cell:
        """The result of a choice on one of its paths, and later on the others."""
        while isinstance(x, Choice):
            *others, last = x.paths  # one of them is taken
            path = next((p for p in others if all(self._holds(*condition) for condition in p.conditions)), last)
            x = path.result
        return x

    def place(self, x: Cell) -> int:
        """A whole number by which entries are addressed: one of those that a choice has, each in a branch of its own."""
        x = self._on_path(x)
        if not isinstance(x, Number) or x.value.q != 1:
            raise Unsupported("an index that depends on the variables")
        return int(x.value.p)

    def pieces(self, root: Cell) -> list[tuple[Conditions, Cell]]:
        """The cells without choices that a cell is one of everywhere, and where it is: a variable that is known there is replaced."""

        def run() -> Cell:
            found: dict[Cell, Cell] = {}
            for cell in self.cells.order(root):
                if isinstance(cell, Choice):
                    *others, last = cell.paths
                    path = next((p for p in others if all(self._holds(found[off], signs) for off, signs in p.conditions)), last)
                    found[cell] = found[path.result]
                else:
                    found[cell] = self.cells.rebuilt(cell, found)
            return found[root]

        return [(conditions, self.cells.replaced(piece, self._solved(conditions))) for conditions, piece in self.ways(run)]

    def _solved(self, conditions: Conditions) -> dict[Cell, Cell]:
        """The variables that are sums of others where some conditions hold."""
        found: dict[Cell, Cell] = {}
        for off, signs in conditions:
            if signs == EQUAL and is_linear(off):
                leaf = off if isinstance(off, Leaf) else off.args[0]
                found[leaf] = leaf - off
        return found

    def lifted(self, root: Cell) -> Cell:
        """A function in which truths are numbers, as x*(x < 1) + (x >= 1), as a choice between functions of which none has such."""
        order = self.cells.order(root)
        used = {a for c in order if not isinstance(c, (Choice, Named)) for a in c.args}
        masks = [c for c in order if c in used and _is_mask(c)]
        if not masks or len(masks) > _MOST_MASKS:
            return root
        return self.branching(lambda: self.cells.replaced(root, {m: self.cells.of(int(self.decide(m))) for m in masks}))


def _is_mask(cell: Cell) -> bool:
    """Tell whether a cell is 1 where something holds, and else 0."""
    return isinstance(cell, Choice) and all(isinstance(p.result, Number) and p.result.value in (0, 1) for p in cell.paths)


class Tracing(Domain[Any]):
    """A graph as arrays of cells.

    places   the nodes that are variables
    values   those of all other leaves
    origins  the nodes that cells were first made for
    """

    def __init__(self, cells: Cells, places: Mapping[Expr, int], values: Mapping[Expr, Any], precision: str) -> None:
        self.cells, self.places, self.values = cells, places, values
        self.precision = numpy_dtype("float", precision)
        self.origins: dict[Cell, Expr] = {}

    def run(self, *roots: Expr) -> list[Array]:
        table: dict[Expr, Any] = {}
        for root in roots:
            interpret(definition_order(root), self, table)
        return [Algebra.map(self.cells.of, table[root]) for root in roots]

    def leaf(self, node: Expr) -> Array:
        place = self.places.get(node)
        return self._numbers(self.values[node]) if place is None else Algebra.map(self.cells.leaf, place)

    def constant(self, node: Expr) -> Array:
        if isinstance(node.payload, Constant):
            return self._numbers(node.payload.reference(self.cells.recorder))
        return self._numbers(constant_value(node.payload, self.precision, node.kind))

    def _numbers(self, value: Any) -> Array:
        array = np.asarray(value)
        return array.astype(object) if array.dtype.kind in "iu" else Algebra.map(self.cells.of, array)

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Any:
        before = len(self.cells.all)
        recorder = self.cells.recorder
        found = recorder.elementwise(op, node.static, operands) if op.elementwise else recorder.structural(op, node.static, operands)
        for cell in self.cells.all[before:]:
            self.origins[cell] = node
        return found

    def part(self, node: Expr, whole: Any, place: int) -> Array:
        return np.asarray(whole[place], dtype=object)

    def alias(self, node: Expr, x: Array) -> Array:
        return Algebra.map(lambda v: self.cells.named(v) if isinstance(v, Cell) else v, x)

    def detach(self, node: Expr, x: Array) -> Array:
        if any(isinstance(v, Cell) and v.leaves for v in np.ravel(x)):
            raise Unsupported("a detached value, whose slopes are not those of its values")
        return x

    def derivative(self, node: Expr, table: Mapping[Expr, Any]) -> Array:
        of: Derivation = node.static["of"]
        y, x = table[of.y], table[of.x]
        vector: Any = None if of.vector is None else table[of.vector]
        if of.kind in ("hessian", "hvp"):
            y = self._vjp(y, x, None)
        if of.kind in ("vjp", "hvp"):
            return self._vjp(y, x, vector)
        rows = self._rows(y, x)
        return np.asarray((rows.reshape((*y.shape, -1)) * np.ravel(vector)).sum(axis=-1), dtype=object) if of.kind == "jvp" else rows

    def _slope(self, y: Cell, x: Any) -> Cell:
        found: Cell = self.cells.slopes.of(y, self.cells.of(x))
        return found

    def _vjp(self, y: Array, x: Array, vector: Array | None) -> Array:
        weights = [self.cells.one] * y.size if vector is None else np.ravel(vector)
        total = self.cells.recorder.fsum(self.cells.of(v) * w for v, w in zip(np.ravel(y), weights, strict=True))
        return Algebra.map(partial(self._slope, total), x)

    def _rows(self, y: Array, x: Array) -> Array:
        out = np.empty((y.size, x.size), dtype=object)
        for i, value in enumerate(np.ravel(y)):
            out[i] = [self._slope(self.cells.of(value), v) for v in np.ravel(x)]
        return out.reshape((*y.shape, *x.shape))


_WORK = 240_000  # cells that are evaluated for one range
_FINEST = 2.0**-46  # of the sides of the box
_MOST_BOXES = 64  # that are halved once more; where there are more, it is along a line
_MOST_WORK = 20_000
_MOST_CELLS = 24  # with which something is the matter
_GRAVITY = (DOMAIN, POLE, JUMP, KINK)

Ends = tuple[float, float]


Range = tuple[Side, Side]  # the lower end and the upper one


class Place(NamedTuple):
    """What is the matter, with which cell, and where."""

    kind: str
    cell: Cell
    where: Box
    removable: bool = False


@dataclass(eq=False)
class Found:
    """The ranges of a function and of its derivatives by the variables of a box; no value where it is defined nowhere in it."""

    value: Range | None
    grad: list[Range | None]
    places: list[Place]
    norms: dict[str, float | None] = field(default_factory=dict)


class Region:
    """A box, and what is read of the program over it."""

    def __init__(self, variables: Mapping[Expr, Ends], values: Mapping[Expr, Any], precision: str) -> None:
        with precise():
            self.box: Box = tuple((arb(low), arb(high)) for low, high in variables.values())
            cells = self.cells = Cells()
            cells.recorder, cells.slopes, cells.quotients = Recorder(cells), Slopes(cells, self.box), Quotients(cells)
            cells.whole = Evaluation(cells, self.box, limits=False)
        self.tracing = Tracing(cells, {leaf: i for i, leaf in enumerate(variables)}, values, precision)

    def read(self, *roots: Expr) -> list[Any]:
        """Arrays of cells. Raises Unsupported."""
        with precise():
            return self.tracing.run(*roots)

    def number(self, root: Expr) -> Cell:
        """A result, or the sum of the entries of one, as a cell. Raises Unsupported."""
        (found,) = self.read(root)
        with precise():
            total: Cell = self.cells.recorder.lifted(self.cells.recorder.fsum(np.ravel(found)))
            return total

    def slope(self, cell: Cell, place: int) -> Cell:
        """The derivative of a cell by a variable."""
        with precise():
            found: Cell = self.cells.slopes.of(cell, self.cells.leaf(place))
            return found


class Function(Region):
    """A function of the program over a box."""

    def __init__(self, root: Expr, variables: Mapping[Expr, Ends], values: Mapping[Expr, Any], precision: str) -> None:
        super().__init__(variables, values, precision)
        self.cell = self.number(root)

    def places(self) -> list[Place]:
        """Return where something is the matter."""
        with precise():
            return _all_places(Target(self.cells, self.cell), self.box)

    def ranges(self, width: float, norms: bool) -> Found:
        """All that is asked for. Raises Unsupported for a function whose derivatives are not known."""
        with precise():
            value = self._range(self.cell, width)
            slopes = [] if value is None else [self._where_defined(self.slope(self.cell, k)) for k in range(len(self.box))]
            grad = [self._range(slope, width) for slope in slopes]
            found = Found(value, grad, self.places())
            if norms and value is not None:
                found.norms = {name: self._most(cell, width) for name, cell in self._norms(slopes).items()}
        return found

    def _where_defined(self, slope: Cell) -> Cell:
        return self.cells.sum([(UNIT, slope), (NOUGHT, self.cell)])

    def _norms(self, slopes: list[Cell]) -> dict[str, Cell]:
        recorder, cells = self.cells.recorder, self.cells
        sizes = [recorder.magnitude(s) for s in slopes]
        squares = recorder.fsum(s * s for s in slopes)
        return {"1": recorder.fsum(sizes), "2": cells.power(squares, UNIT / 2), "inf": recorder.extreme("max", sizes)}

    def _range(self, cell: Cell, width: float) -> Range | None:
        search = Search(Target(self.cells, cell), self.box)
        low, high = search.side(-1, width, _WORK // 2), search.side(1, width, _WORK)
        return None if low.end is None or high.end is None else (low, high)

    def _most(self, cell: Cell, width: float) -> float | None:
        most = Search(Target(self.cells, cell), self.box).side(1, width, _WORK, of_size=True).end or 0.0
        return None if math.isinf(most) else most


# -- where something is the matter


def _all_places(target: Target, box: Box) -> list[Place]:
    """Return what is the matter with a cell in a box, and where, as finely as is cheap."""
    events = target.natural(box).table[target.cell].events
    cells = sorted({event.cell for event in events}, key=lambda cell: cell.serial)[:_MOST_CELLS]
    found = [place for cell in cells for place in _places_of(cell, target, box)]
    return sorted(found, key=lambda p: (_GRAVITY.index(p.kind), [float(x[0].mid()) for x in p.where]))


def _places_of(cell: Cell, target: Target, box: Box) -> list[Place]:
    """Return where something is the matter with one of the cells that the target is made of: boxes are halved across its variables only."""
    found: dict[tuple[str, bool], list[Box]] = {}
    begun = target.cells.work
    active, sides = [box], Sides(box, cell.leaves)
    while active:
        fine = len(active) > _MOST_BOXES or target.cells.work - begun > _MOST_WORK
        halves: list[Box] = []
        for part in active:
            event, nowhere = _gravest(cell, target, part)
            if event is not None and (nowhere or fine or sides.is_below(part, _FINEST)):
                found.setdefault((event.kind, event.removable), []).append(part)
            elif event is not None:
                halves += sides.halves(part)
        active = halves
    joined = [(kind, removable, hull) for (kind, removable), boxes in found.items() for hull in _joined(boxes)]
    return [Place(kind, cell, _sharpened(target, hull, box, cell), removable) for kind, removable, hull in joined]


def _gravest(cell: Cell, target: Target, box: Box) -> tuple[Event | None, bool]:
    """The gravest event of a cell, and whether the target has no value in the box: then one that takes it out of its domain."""
    value, events = target.natural(box).table[target.cell]
    grave = [e for e in events if e.cell is cell and (value is not None or e.kind in (DOMAIN, POLE))]
    return min(grave, key=lambda e: _GRAVITY.index(e.kind), default=None), value is None


def _joined(boxes: Sequence[Box]) -> list[Box]:
    """Boxes that touch each other as one hull."""
    hulls: list[Box] = []
    for box in boxes:
        touching = [hull for hull in hulls if all(map(overlap, hull, box))]
        hulls = [hull for hull in hulls if hull not in touching]
        hulls.append(tuple(hull(end for side in sides for end in side) for sides in zip(box, *touching, strict=True)))
    return hulls


def _sharpened(target: Target, hull: Box, box: Box, cell: Cell) -> Box:
    """A box whose sides end at round numbers where the cell turns exactly, if there are such: a tiny side is one of them."""
    out = list(hull)
    for k in sorted(cell.leaves):
        a, b = hull[k]
        room = (box[k][1] - box[k][0]) * _FINEST * 4
        if not a < b or not a < a + room:
            continue
        first, last = (_turn(target, hull, k, part, cell) for part in ((a, min(b, a + room)), (max(a, b - room), b)))
        out[k] = (a if first is None else first), (b if last is None else last)
    return tuple(out)


def _turn(target: Target, hull: Box, k: int, part: Interval, cell: Cell) -> arb | None:
    """A round number in a tiny interval at which a cell turns exactly."""
    for point in map(arb, round_numbers(part)):
        if _turns(cell, Evaluation(target.cells, with_side(hull, k, (point, point)), limits=False)):
            return point
    return None


def _turns(cell: Cell, at: Evaluation) -> bool:
    """Tell whether a cell is exactly at its pole, kink, jump or edge."""
    value, events = at.value(cell)
    if isinstance(cell, Floor):
        x = at.table[cell.args[0]].interval
        return x is not None and is_point(x) and bool(x[0].is_integer())
    offs: Sequence[Cell] = cell.args if isinstance(cell, Product) else ()
    if isinstance(cell, Choice):
        offs = [off for path in cell.paths for off, _ in path.conditions]
    if offs:
        return any(x is not None and is_point(x, 0) for x in (at.table[off].interval for off in offs))
    return value is None or any(e.cell is cell for e in events)
