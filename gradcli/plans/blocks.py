"""Writing a nest for NumPy: a function that computes a block of slices at a time, every item by one call, into registers.

Registers are given by liveness, so that a handful of buffers serves any expression. All arrays of a block lie in one frame of axes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcli.graph.nodes import Expr
from gradcli.ops.axes import SUM
from gradcli.ops.calling.inputs import FLOAT, numpy_dtype
from gradcli.ops.counting import additions_of
from gradcli.ops.elementwise import arithmetic
from gradcli.ops.writing import Shape
from gradcli.plans.index_form import Axis, Item, View, shape_along
from gradcli.plans.nests import Nest
from gradcli.plans.source import Source
from gradcli.plans.threads import in_turn, together

# -- The axes of a nest's arrays for NumPy: each has one place in every shape, whose extent is 1
# where an array does not have the axis.
#
# So arrays broadcast against each other without a thought. Axes lie as in memory, but short ones
# along which something is reduced come first: NumPy reduces rows of a few entries one call for
# each, and whole columns in vector registers.


_SHORT = 24  # entries of a row up to which columns are faster, though they are read and written with gaps

Part = Axis | Item | None


class Frame:
    """Places for the axes of arrays; ``rows`` of the outer one are there at a time."""

    def __init__(
        self, outer: Axis, accesses: Iterable[tuple[Sequence[Part], Shape]], others: Iterable[Axis], first: Iterable[Axis] = ()
    ) -> None:
        """Of arrays in memory, whose shapes' places run along axes, of others that may not be among these, and of axes that come first if
        they are short."""
        self.outer = outer
        order = _as_in_memory(accesses)
        order += [axis for axis in dict.fromkeys((outer, *others)) if axis not in order]
        wanted = set(first)
        short = [axis for axis in order if axis in wanted and axis is not outer and axis.extent <= _SHORT]
        self.axes = (*short, *(axis for axis in order if axis not in short))
        self.places = {axis: place for place, axis in enumerate(self.axes)}

    def ordered(self, axes: Iterable[Axis]) -> tuple[Axis, ...]:
        return tuple(sorted(set(axes), key=self.places.__getitem__))

    def shape(self, axes: Iterable[Axis], rows: str = "n") -> str:
        """The shape of an array with those axes, as text."""
        present = set(axes)
        extents = [(rows if axis is self.outer else str(axis.extent)) if axis in present else "1" for axis in self.axes]
        return f"({', '.join(extents)},)"

    def size(self, axes: Iterable[Axis]) -> int:
        """The entries of an array for each slice."""
        return math.prod(axis.extent for axis in axes if axis is not self.outer)

    def dims(self, axes: Iterable[Axis]) -> tuple[int, ...]:
        return tuple(self.places[axis] for axis in self.ordered(axes))

    def view(self, name: str, parts: Sequence[Axis | None], shape: Shape) -> str:
        """An array of a shape, whose places run along ``parts``, in the frame."""
        axes = [part.same for part in parts if part is not None]
        if shape_along(parts) != shape:
            name += f".reshape({shape_along(parts)})"
        if None in parts:
            name += f"[{', '.join('0' if part is None else ':' for part in parts)}]"
        if not axes:
            return name
        order = sorted(range(len(axes)), key=lambda place: self.places[axes[place]])
        if order != list(range(len(axes))):
            name += f".transpose({', '.join(map(str, order))})"
        if len(axes) < len(self.axes):
            name += f"[{', '.join(':' if axis in axes else 'None' for axis in self.axes)}]"
        return name

    def back(self, name: str, item_axes: Iterable[Axis], parts: Sequence[Axis | None], shape: Shape) -> str:
        """An array in the frame, without the outer axis, as one whose places run along ``parts``."""
        present = set(item_axes)
        axes = self.ordered(present)
        name += f"[{', '.join(':' if axis in present else '0' for axis in self.axes)}]"
        order = [axes.index(part.same) for part in parts if part is not None]
        if order != list(range(len(axes))):
            name += f".transpose({', '.join(map(str, order))})"
        return f"{name}.reshape({shape})"

    def rows(self, name: str) -> str:
        """The slices from i to j of an array in the frame that has the outer axis."""
        return f"{name}[{':, ' * self.places[self.outer]}i:j]"

    def has_gaps(self, parts: Sequence[Part]) -> bool:
        """Return whether neighbours in the frame are none in memory."""
        axes = [part.same for part in parts if isinstance(part, Axis)]
        return bool(axes) and axes[-1] is not self.ordered(axes)[-1]


def _as_in_memory(accesses: Iterable[tuple[Sequence[Part], Shape]]) -> list[Axis]:
    """Axes in the order in which arrays have them, the largest first."""
    order: list[Axis] = []
    for parts, _ in sorted(accesses, key=lambda access: -math.prod(access[1])):
        axes = [part.same for part in parts if isinstance(part, Axis)]
        for place, axis in enumerate(axes):
            if axis not in order:
                later = [order.index(other) for other in axes[place + 1 :] if other in order]
                before = order.index(axes[place - 1]) + 1 if place else min(later, default=len(order))
                order.insert(before, axis)
    return order


# -- Memory for the registers of blocks, kept between calls ----------------------------------------
#
# What is given back to the system costs a page fault for each of its pages when it comes again:
# more than the work on ten thousand entries.


# Sums are added up block by block, so that their last bits depend on the size of blocks. It is the same everywhere, then, for the
# caches of today's processors, rather than that of the cache which happens to be there.
ROOM = 5 * (1 << 20) // 8  # bytes that the registers and views of a block may take, to stay in a second-level cache of 1 MiB
SHARED_ROOM = 5 * (1 << 25) // 8  # the same for the blocks of all threads, in a third-level cache of 32 MiB

_LINE = 64  # bytes of a cache line
_kept: list[np.ndarray] = []  # for the loops that run at once


def places(sizes: list[int]) -> list[int]:
    """Return where registers of these sizes in bytes begin, and where the last one ends.

    They begin in cache lines of their own, at different distances from the start of a page: what is stored in one is not
    taken for what is loaded from another.
    """
    begins = [0]
    for size in sizes:
        begins.append(-(-(begins[-1] + size) // _LINE) * _LINE + 3 * _LINE)
    return begins


def take(size: int) -> np.ndarray:
    """Bytes for the registers of one loop, aligned to cache lines."""
    try:
        memory = _kept.pop()
    except IndexError:
        memory = _aligned(max(size, ROOM))
    return memory if memory.size >= size else _aligned(size)


def give(memory: np.ndarray) -> None:
    """Keep them for another loop."""
    if memory.size + sum([kept.size for kept in _kept]) <= SHARED_ROOM:
        _kept.append(memory)


def _aligned(size: int) -> np.ndarray:
    memory = np.empty(size + _LINE, np.uint8)
    start = -memory.ctypes.data % _LINE
    return memory[start : start + size]


# -- Sums of products as products of matrices, where axes allow it ---------------------------------


@dataclass(frozen=True)
class Contraction:
    """x times y, summed over axes: a matrix with the rows of x and the columns of y, which stand in this order in the frame."""

    x: Item
    y: Item
    over: tuple[Axis, ...]
    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]

    def factors(self, frame: Frame, x: str, y: str) -> str:
        return f"{_matrix(frame, x, self.rows, self.over)}, {_matrix(frame, y, self.over, self.columns)}"

    def result(self, frame: Frame, name: str) -> str:
        return _matrix(frame, name, self.rows, self.columns)


def contraction(fold: Item, frame: Frame) -> Contraction | None:
    """Return what a sum is as a product of matrices; None where it is none."""
    product = fold.operands[0]
    if fold.fold is not SUM or product.what != "map" or product.op is not arithmetic.mul or product.kind != FLOAT:
        return None
    x, y = product.operands
    over = frame.ordered(fold.over)
    if x is y or x.kind != FLOAT or y.kind != FLOAT or not set(over) <= set(x.axes) & set(y.axes):
        return None
    rows, columns = (frame.ordered(axis for axis in item.axes if axis not in over) for item in (x, y))
    if set(rows) & set(columns) or not (rows or columns):
        return None
    if rows and columns and frame.places[rows[0]] > frame.places[columns[0]]:
        x, y, rows, columns = y, x, columns, rows
    groups = (rows, over), (over, columns), (rows, columns)
    return Contraction(x, y, over, rows, columns) if all(_are_apart(frame, *pair) for pair in groups) else None


def _are_apart(frame: Frame, one: Sequence[Axis], other: Sequence[Axis]) -> bool:
    """Return whether all axes of one group come before all of another."""
    if not one or not other:
        return True
    (first, last), (begin, end) = ((frame.places[group[0]], frame.places[group[-1]]) for group in (one, other))
    return last < begin or end < first


def _matrix(frame: Frame, name: str, rows: Sequence[Axis], columns: Sequence[Axis]) -> str:
    """An array in the frame as a matrix."""
    extents = [-1 if frame.outer in axes else math.prod(axis.extent for axis in axes) for axes in (rows, columns)]
    if rows and columns and frame.places[rows[0]] > frame.places[columns[0]]:
        return f"{name}.reshape({extents[1]}, {extents[0]}).T"
    return f"{name}.reshape({extents[0]}, {extents[1]})"


# -- What NumPy does for a block of a nest's slices, call by call: which items, what each of them
# reads, and how long a result is needed.


# What it is about, in time of a call on entries without gaps, that a short axis lies first, and not last
_REDUCED, _REPEATED, _GAPS = 6, 1, 3


class BlockSteps:
    """The steps of one nest.

    frame      the axes of its arrays
    order      the items that are computed, or copied, one after the other
    seen       those that are read where they are in memory, with the node and the axes of its places
    products   sums that are products of matrices
    puts       additions that are made in their places: what they are added to, and what is put
    stored     the nodes that an item's value is stored for; ``totals`` the node whose value it is
    last_use   the place in the order at which an item is read for the last time
    """

    def __init__(self, nest: Nest, *, in_matrices: bool) -> None:
        self.nest, self.in_matrices = nest, in_matrices
        self.computed = [item for item in nest.items if item.is_computed and item not in nest.given]
        self.stored: dict[Item, list[Expr]] = {}
        for node, view in nest.stored.items():
            self.stored.setdefault(view.item, []).append(node)
        self.totals = {view.item: node for node, view in nest.totals.items()}
        self._first: dict[Any, Item] = {}
        self._uses: dict[Item, int] = {}
        for item in self.computed:
            for need in map(self.one, item.needs):
                self._uses[need] = self._uses.get(need, 0) + 1
        self.frame = self._best_frame()
        self.products: dict[Item, Contraction] = {}
        self.puts: dict[Item, tuple[Item, Item]] = {}
        self.seen: dict[Item, tuple[Expr, Sequence[Axis | None]]] = {}
        self.order = self._ordered(self._joined())
        self.last_use: dict[Item, int] = {}
        for place, item in enumerate(self.order):
            for need in self.needs(item):
                self.last_use[need] = place
        for item in self.totals:
            self.last_use[item] = len(self.order)

    def node_of(self, item: Item) -> Expr | None:
        """The node of whose whole value an item is read."""
        return self.nest.given[item][0] if item in self.nest.given else item.node if item.what == "read" else None

    def one(self, item: Item) -> Item:
        """The same item for all that read the same."""
        node = self.node_of(item)
        if node is None:
            return item
        parts = self.nest.given[item][1].places if item in self.nest.given else item.parts
        return self._first.setdefault(self._key(node, parts), item)

    def _key(self, node: Expr, parts: Sequence[Axis | Item | None]) -> Any:
        return node, *(part.same if isinstance(part, Axis) else part and self.one(part) for part in parts)

    def needs(self, item: Item) -> list[Item]:
        """Return what an item's call reads."""
        if item in self.products:
            found: Sequence[Item] = (self.products[item].x, self.products[item].y)
        elif item in self.puts:
            one, put = self.puts[item]
            found = (one, *put.operands)
        else:
            found = item.needs
        return [self.one(need) for need in found]

    def varies(self, item: Item) -> bool:
        """Return whether a value is another one for each slice."""
        return self.nest.outer in item.axes

    def _best_frame(self) -> Frame:
        accesses: list[tuple[Sequence[Axis | Item | None], Expr]] = [(view.places, node) for node, view in self.nest.outputs.items()]
        for item in self.nest.items:
            if item in self.nest.given:
                node, view = self.nest.given[item]
                accesses.append((view.places, node))
            elif item.what == "read" and item.node is not None:
                accesses.append((item.parts, item.node))
        shapes = [(parts, node.shape) for parts, node in accesses]
        others = [axis for item in self.computed for axis in item.space]
        usual = Frame(self.nest.outer, shapes, others)
        gains: dict[Axis, int] = {}
        for item in self.computed:
            for axis, gain in self._gains(item, usual):
                gains[axis] = gains.get(axis, 0) + gain
        for parts, _ in accesses:
            axes = [part.same for part in parts if isinstance(part, Axis)]
            if self.nest.outer in axes:
                gains[axes[-1]] = gains.get(axes[-1], 0) - _GAPS
        return Frame(self.nest.outer, shapes, others, [axis for axis, gain in gains.items() if gain > 0])

    def _gains(self, item: Item, frame: Frame) -> Iterator[tuple[Axis, int]]:
        """Axes that would better come first, were they short, with what that saves an item's call."""
        if item.what == "fold" and self._as_product(item, frame) is None:
            yield from ((axis, _REDUCED) for axis in (item.space if self.nest.outer in item.over else item.over))
        elif item.what == "map" and any(operand.axes and set(operand.axes) != set(item.axes) for operand in item.operands):
            yield from ((axis, _REPEATED) for axis in item.axes)

    def _as_product(self, item: Item, frame: Frame) -> Contraction | None:
        terms = item.operands[0]
        if not self.in_matrices or terms.what != "map" or self._uses[terms] > 1 or terms in self.stored or terms in self.nest.given:
            return None
        return contraction(item, frame)

    def _joined(self) -> set[Item]:
        """Items that need no call of their own."""
        joined: set[Item] = set()
        for item in self.computed:
            if item.what == "fold" and (found := self._as_product(item, self.frame)) is not None:
                self.products[item] = found
                joined.add(item.operands[0])
            elif item.op in (arithmetic.add, arithmetic.sub):
                for one, other in (item.operands, item.operands[::-1]):
                    is_put = other.what == "put" and other.over[0] is not self.nest.outer
                    if is_put and one.what != "put" and self._uses[other] == 1 and other not in self.stored:
                        self.puts[item] = one, other
                        joined.add(other)
        return joined

    def _ordered(self, joined: set[Item]) -> list[Item]:
        order = []
        for item in self.nest.items:
            if self.one(item) is not item or item in joined:
                continue
            if item in self.nest.given:
                node, view = self.nest.given[item]
                self.seen[item] = node, view.places
            elif item.what == "read":
                assert item.node is not None
                parts = [part for part in item.parts if not isinstance(part, Item)]
                if len(parts) < len(item.parts):
                    order.append(item)
                    continue
                self.seen[item] = item.node, parts
                uses = sum(item in map(self.one, other.operands) for other in self.computed if other not in joined)
                if self.varies(item) and self.frame.has_gaps(parts) and uses > 1:
                    order.append(item)  # a copy without gaps
            elif item.what != "number":
                order.append(item)
        return order


BLOCK_SIZE = 12 << 10  # entries of a block: more would save no more calls worth mentioning, and temporaries of 128 kB come from mmap
_WORTH = 24  # additions on such blocks, in whose time it pays to wake a thread
SHARED_BLOCK_SIZE = 1 << 16  # entries of a block for several threads: they hand over the interpreter's lock at every call
_PARTS = 64  # into which slices are shared where each part has arrays of totals of its own


class Block:
    """The text of one nest's block: what is read, and registers."""

    def __init__(self, source: Source, nest: Nest, checks: str | None) -> None:
        self.source, self.nest, self.checks = source, nest, checks
        self.steps = BlockSteps(nest, in_matrices=source.assume_finite)
        self.frame = self.steps.frame
        self.names: dict[Item, str] = {}
        self.held: dict[Item, str] = {}  # registers of items
        self.free: dict[Any, list[str]] = {}
        self.registers: list[tuple[str, Item]] = []  # every register with an item of its kind and axes
        self.ahead: list[str] = []  # lines for what is the same for all slices
        self.sized: list[str] = []  # for what depends on their number
        self.body: list[str] = []
        self.lists: list[str] = []  # of numbers, one for each block
        self.sums: list[str] = []  # arrays in which blocks add up
        self.sizes: list[str] = []  # the list whose numbers tell whether all that is stored is finite
        self._views: dict[Any, str] = {}
        self._counts: dict[Axis, str] = {}
        self._bytes = 0  # of what is read and written in place, for each slice
        for item, (node, parts) in self.steps.seen.items():
            self.names[item] = self.view(node, parts)

    def name(self, item: Item) -> str:
        item = self.steps.one(item)
        if item.what == "number" and item.node is not None:
            return self.source.name(item.node)
        return self.names[item]

    def lines(self, item: Item) -> list[str]:
        """Return where what computes an item belongs."""
        return self.body if self.nest.outer in item.space else self.ahead

    def arrays(self, ending: Sequence[Expr], existing: Sequence[Expr]) -> None:
        """Arrays for what is stored."""
        free = list(ending)
        for node, view in self.nest.stored.items():
            if node in existing:
                continue
            old = next((old for old in free if self._may_take(node, view, old)), None)
            if old is None:
                array = self.source.array(node)
            else:
                free.remove(old)
                array = self.source.name(old)
            self.source.names[node] = name = self.source.new("v")
            self.source.add(f"{name} = {array}")

    def _may_take(self, node: Expr, view: View, old: Expr) -> bool:
        """Return whether no operation of a block reads an input after a result is stored in its memory."""
        if (old.shape, old.kind) != (node.shape, node.kind):
            return False
        places = [part and part.same for part in view.places]
        found = [item for item in self.nest.items if (self.steps.node_of(item) is old)]
        end = self.steps.order.index(view.item)
        return view.item.what == "map" and all(
            item in self.steps.seen
            and [part and part.same for part in self.steps.seen[item][1]] == places
            and self.steps.last_use.get(item, 0) <= end
            for item in map(self.steps.one, found)
        )

    # -- arrays ---------------------------------------------------------------------------------------------------

    def view(self, node: Expr, parts: Sequence[Axis | None]) -> str:
        """The block's part of an array, in the frame."""
        axes = [part and part.same for part in parts]
        key = node, *axes
        if key not in self._views:
            text = self.frame.view(self.source.name(node), parts, node.shape)
            if text != self.source.name(node):
                whole = self.source.new("w")
                self.source.add(f"{whole} = {text}")
                text = whole
            self._views[key] = self.slices(text, self.frame.places[self.nest.outer], node, axes) if self.nest.outer in axes else text
        return self._views[key]

    def slices(self, name: str, place: int, node: Expr, axes: Sequence[Axis | Item | None]) -> str:
        """The block's slices of an array, whose outer axis is in a place."""
        block = self.source.new("x")
        self.body.insert(0, f"{block} = {name}[{':, ' * place}i:j]")
        self._bytes += self._itemsize(node.kind) * self.frame.size(axis for axis in axes if isinstance(axis, Axis))
        return block

    def count(self, axis: Axis) -> str:
        """0, 1, 2... along an axis."""
        if axis not in self._counts and axis is self.nest.outer:
            self._counts[axis] = self.source.new("a")
            self.sized.append(f"{self._counts[axis]} = {self.source.constant(np.arange)}(n).reshape({self.frame.shape([axis])})")
        elif axis not in self._counts:
            shape = [axis.extent if other is axis else 1 for other in self.frame.axes]
            self._counts[axis] = self.source.constant(np.arange(axis.extent).reshape(shape))
        return self._counts[axis]

    def _itemsize(self, kind: str) -> int:
        size: int = numpy_dtype(kind, self.source.precision).itemsize
        return size

    # -- registers ------------------------------------------------------------------------------------------------

    def target(self, item: Item) -> str | None:
        """Return where a result goes: into what is stored of it, or a register; None if it is the same for all slices."""
        if not self.steps.varies(item):
            return None
        if item in self.steps.stored:
            node = self.steps.stored[item][0]
            parts = self.nest.stored[node].places
            if not (self.frame.has_gaps(parts) and item in self.steps.last_use):
                self.names[item] = self.view(node, parts)
                return self.names[item]
        self.names[item] = self.held[item] = self.register(item)
        return self.names[item]

    def register(self, item: Item) -> str:
        """A buffer for values such as an item's."""
        free = self.free.setdefault(self.key(item), [])
        if free:
            return free.pop()
        self.registers.append((self.source.new("r"), item))
        return self.registers[-1][0]

    def key(self, item: Item) -> Any:
        """Return what items have in common that take one another's registers over."""
        return item.kind, self.frame.ordered(item.axes)

    def release(self, item: Item, place: int) -> None:
        """Registers of what nobody reads after a step: its result may take one over."""
        for need in dict.fromkeys(self.steps.needs(item)):
            if need in self.held and self.steps.last_use[need] == place:
                self.let_go(need)

    def let_go(self, item: Item) -> None:
        self.free.setdefault(self.key(item), []).append(self.held.pop(item))

    def result(self, item: Item, text: str) -> None:
        """What makes an array of its own."""
        if item in self.steps.stored and (target := self.target(item)) is not None:
            self.body.append(f"{target}[...] = {text}")
        else:
            self.names[item] = name = self.source.new("t")
            self.lines(item).append(f"{name} = {text}")

    def store(self, item: Item) -> None:
        """Copies of what is stored elsewhere, or several times; and its check."""
        for node in self.steps.stored.get(item, ()):
            view = self.view(node, self.nest.stored[node].places)
            if view != self.names[item]:
                self.body.append(f"{self.source.constant(np.copyto)}({view}, {self.names[item]})")
            if self.checks is not None and node.kind == FLOAT:
                if not self.sizes:
                    self.sizes.append(self.source.new("q"))
                self.body.append(f"{self.sizes[0]}.append(total({self.names[item]}, None))")  # BLAS's dot has threads that get into our way

    # -- the function ---------------------------------------------------------------------------------------------

    def function(self) -> None:
        """The function of some slices in a row, which gives lists of what blocks add up to, and its call for all of them."""
        source = self.source
        step, part, shared = self._step()
        name = source.new("blocks")
        source.add(f"def {name}(begin, end, step):")
        lists = [*self.lists, *self.sizes]
        for made in lists:
            source.add(f"{made} = []", 2)
        for made in self.sums:
            source.add(f"{made} = None", 2)
        memory = self._memory(min(step, self.nest.outer.extent))
        for line in self.ahead:
            source.add(line, 2)
        source.add("n = 0", 2)
        source.add(f"for i in range(begin, end, {step}):", 2)
        source.add(f"j = min(i + {step}, end)", 3)
        if self.sized:
            source.add("if j - i != n:", 3)
            for line in ("n = j - i", *self.sized):
                source.add(line, 4)
        for line in self.body:
            source.add(line, 3)
        if memory is not None:
            source.add(f"{source.constant(give)}({memory})", 2)
        given = "".join(f"{made}, " for made in (*lists, *(f"[{made}]" for made in self.sums)))
        source.add(f"return ({given})", 2)
        taken = "".join(f"{made}, " for made in (*lists, *self.sums))
        several = shared and source.threads != 1
        most = f", {source.threads}" if several and source.threads else ""
        call = f"{source.constant(together if several else in_turn)}({name}, {self.nest.outer.extent}, {part}{most})"
        source.add(f"{taken}= {call}" if taken else call)
        if self.sizes:
            source.add(f"{self.checks} += {self.sizes[0]}")

    def _step(self) -> tuple[int, int, bool]:
        """The slices of a block, those that a thread takes at a time, and whether threads share them."""
        slices, frame = self.nest.outer.extent, self.frame
        entries = {item: frame.size(item.space) for item in self.steps.computed}
        row = max((frame.size(item.axes) for item in (*self.steps.order, *self.steps.seen) if self.steps.varies(item)), default=1)
        size = self._bytes + sum(self._itemsize(item.kind) * frame.size(item.axes) for _, item in self.registers)
        size = max(1, size // row)  # bytes that are at work for each entry
        most = max(1, min(SHARED_BLOCK_SIZE, SHARED_ROOM // (4 * size)))
        blocks = slices * row // most
        work = sum((additions_of(item.op) if item.op is not None else 1) * count for item, count in entries.items())
        # a block is a slice at least, and each thread has registers of its own
        shared = most >= SHARED_BLOCK_SIZE // 2 and row <= most and blocks >= 4 and blocks * work >= _WORTH * row
        step = max(1, (most if shared else min(BLOCK_SIZE, ROOM // size)) // row)
        if not shared:
            return step, slices, False
        return step, step * max(1, -(-slices // (_PARTS * step))) if self.sums else step, True

    def _memory(self, step: int) -> str | None:
        """The registers, as arrays of n slices in one piece of memory for so many."""
        if not self.registers:
            return None
        source = self.source
        sizes = [self._itemsize(item.kind) * self.frame.size(item.axes) for _, item in self.registers]
        begins = places([step * size for size in sizes])
        memory = source.new("m")
        source.add(f"{memory} = {source.constant(take)}({begins[-1]})", 2)
        for (name, item), begin, size in zip(self.registers, begins, sizes, strict=False):
            dtype = source.constant(numpy_dtype(item.kind, source.precision))
            line = f"{name} = {memory}[{begin}:{begin} + {size}*n].view({dtype})"
            shape = self.frame.shape(item.axes)
            self.sized.append(line if shape == "(n,)" else f"{line}.reshape({shape})")
        return memory
