"""References run on cells: arithmetic is written down, functions are sympy's, and where a reference branches, all branches are taken."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cmp_to_key
from typing import Any

import numpy as np

from gradcli.ops.registry import find
from gradcli.ops.spec import Op
from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.ranges.cells import UNIT, Cell, Choice, Compared, Named, Number, Path, Step, behind
from gradcli.reference.ranges.identities import rebuilt
from gradcli.reference.ranges.making import Cells

MOST_PATHS = 64
_MOST_MASKS = 5  # of a function, for each of which it has twice as many branches


class Recorder(Algebra):
    """What a record's reference receives where scalars are cells."""

    iterates = overflows = False

    def __init__(self, cells: Cells) -> None:
        self.cells, self.precision = cells, "float64"
        self.m: Any = self
        self.zero, self.one = cells.zero, cells.one
        self.inf, self.nan = math.inf, math.nan
        self._truths: list[tuple[Compared, bool]] | None = None  # those that were decided since the branch began
        self._planned: list[bool] = []

    # -- what references ask of a context -----------------------------------------------------------------------

    def mpf(self, x: Any) -> Cell:
        return self.cells.of(x)

    def isfinite(self, x: Any) -> bool:
        return True

    def isnan(self, x: Any) -> bool:
        return False

    @property
    def pi(self) -> Cell:
        return self.cells.call("pi", None, ())

    @property
    def euler(self) -> Cell:
        return self.cells.call("euler", None, ())

    def fsum(self, terms: Any) -> Cell:
        return self.cells.sum([(UNIT, self.cells.of(x)) for x in terms])

    def floor(self, x: Any) -> Any:
        return self._step("floor", x)

    def ceil(self, x: Any) -> Any:
        return self._step("ceil", x)

    def sign(self, x: Any) -> Any:
        return self._step("sign", x)

    def _step(self, name: str, x: Any) -> Cell:
        cell = self.cells.of(x)
        if isinstance(cell, Number):
            p, q = int(cell.value.p), int(cell.value.q)
            return self.cells.of({"floor": p // q, "ceil": -(-p // q), "sign": (p > 0) - (p < 0)}[name])
        return self.cells.step(name, cell)

    def magnitude(self, x: Any) -> Cell:
        found: Cell = self.scalar(find("abs"), {}, x)
        return found

    def power(self, x: Any, y: Any) -> Any:
        return self.scalar(find("pow"), {}, x, y)

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

    # -- operations ---------------------------------------------------------------------------------------------

    def scalar(self, op: Op, static: Mapping[str, Any], *arguments: Any) -> Any:
        given = [None if a is None else self.cells.of(a) for a in arguments]
        if op.kind != "smooth":
            return self.branching(lambda: op.reference(self, *given, **static))
        from gradcli.reference.symbolic.cells import of_operation  # sympy, which arithmetic needs not

        return of_operation(self.cells, op, static, given)

    def structural(self, op: Op, static: Mapping[str, Any], arrays: Sequence[Any]) -> Any:
        """An operation on arrays of cells, entry by entry of all its branches."""

        def run() -> list[Any]:
            try:
                result = op.reference(self, *arrays, **static)
            except (ArithmeticError, ValueError, LookupError, AttributeError, TypeError) as error:
                raise Unsupported(f"{op.name} of these operands: {str(error) or type(error).__name__}") from None
            parts = result if isinstance(result, tuple) else (result,)
            return [np.asarray(part, dtype=object) for part in parts]

        ways = self.ways(run)
        shapes = [part.shape for part in ways[0][1]]
        out = []
        for place, shape in enumerate(shapes):
            if any(found[place].shape != shape for _, found in ways):
                raise Unsupported(f"{op.name}, whose result's shape depends on its operands")
            columns = [np.ravel(found[place]) for _, found in ways]
            whole = np.empty(columns[0].size, dtype=object)
            for i in range(whole.size):
                paths = [Path(truths, self.cells.of(c[i])) for (truths, _), c in zip(ways, columns, strict=True)]
                whole[i] = self.cells.choice(paths)
            out.append(whole.reshape(shape))
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

    # -- branches -----------------------------------------------------------------------------------------------

    def branching(self, run: Callable[[], Any]) -> Cell:
        """What a reference gives, with a path for each of its branches."""
        return self.cells.choice([Path(truths, self.cells.of(found)) for truths, found in self.ways(run)])

    def ways(self, run: Callable[[], Any]) -> list[tuple[tuple[tuple[Compared, bool], ...], Any]]:
        """The results of all branches, each with the truths that lead to it."""
        before = self._truths, self._planned
        found: list[tuple[tuple[tuple[Compared, bool], ...], Any]] = []
        planned: list[bool] | None = []
        try:
            while planned is not None:
                self._truths, self._planned = [], planned
                result = run()
                truths = self._truths
                found.append((tuple(truths), result))
                if len(found) > MOST_PATHS:
                    raise Unsupported("so many branches")
                taken = [holds for _, holds in truths]
                while taken and not taken[-1]:
                    taken.pop()
                planned = [*taken[:-1], False] if taken else None
        finally:
            self._truths, self._planned = before
        return found

    def lifted(self, root: Cell) -> Cell:
        """A function in which truths are numbers, as x*(x < 1) + (x >= 1), as a choice between functions of which none has such."""
        order = behind([root])
        truths = [c for c in order if _is_mask(c)]
        used = {a for c in order if not isinstance(c, (Compared, Choice, Named)) for a in c.args}
        masks = [c for c in truths if any(c is a for a in used)]
        if not masks or len(masks) > _MOST_MASKS:
            return root

        def run() -> Cell:
            found: dict[Cell, Cell] = {m: self.cells.of(int(self.decide(m))) for m in masks}
            for cell in order:
                if cell in found:
                    continue
                if isinstance(cell, Choice):
                    found[cell] = self.cells.choice([Path(p.truths, found[p.result]) for p in cell.paths], cell.open_)
                elif isinstance(cell, (Compared, Named, Step)) or not cell.args:
                    found[cell] = cell
                else:
                    found[cell] = rebuilt(self.cells, cell, found)
            return found[root]

        return self.branching(run)

    def place(self, x: Cell) -> int:
        """A whole number by which entries are addressed: one of those that a choice has, each in a branch of its own."""
        x = self._on_path(x)
        if not isinstance(x, Number) or x.value.q != 1:
            raise Unsupported("an index that depends on the variables")
        return int(x.value.p)

    def _on_path(self, x: Cell) -> Cell:
        """The result of a choice on one of its paths, and later on the others."""
        while isinstance(x, Choice):
            x = next(p.result for p in x.paths if all(self.decide(truth) is holds for truth, holds in p.truths))
        return x

    def decide(self, truth: Cell) -> bool:
        """One branch of a truth, and later the other. Truths of paths are comparisons; a number is true where it is not 0."""
        truth = self._on_path(truth)
        if isinstance(truth, Number):
            return truth.value != 0
        if not isinstance(truth, Compared):
            return not self.cells.equal(truth, self.cells.zero)
        if self._truths is None:
            raise Unsupported("a branch outside of any operation")
        for known, holds in self._truths:
            if known is truth:
                return holds
        place = len(self._truths)
        holds = self._planned[place] if place < len(self._planned) else True
        self._truths.append((truth, holds))
        return holds


def _is_mask(cell: Cell) -> bool:
    """Tell whether a cell is 1 where something holds, and else 0."""
    if isinstance(cell, Choice):
        return all(isinstance(p.result, Number) and p.result.value in (0, 1) for p in cell.paths)
    return isinstance(cell, Compared)


def recorded() -> Cells:
    """Cells that references can be run on."""
    cells = Cells()
    cells.recorder = Recorder(cells)
    return cells
