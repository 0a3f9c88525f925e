"""Writing a nest for NumPy: a function that computes a block of slices at a time, every item by one
call.

Results of calls go into registers, which are given by liveness, so that a handful of buffers serves
any expression. All arrays of a block lie in one frame of axes.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gradcli.graph.nodes import Expr
from gradcli.ops.axes import PRODUCT, SUM
from gradcli.ops.calling.inputs import BOOL, FLOAT, numpy_dtype
from gradcli.ops.counting import additions_of
from gradcli.ops.writing import Shape
from gradcli.plans.index_form import Axis, Item, fold_of, shape_along
from gradcli.plans.nests import Nest
from gradcli.plans.source import Source
from gradcli.plans.threads import in_turn, together

# -- The axes of a nest's arrays for NumPy: each has one place in every shape, whose extent is 1
# where an array does not have the axis. So arrays broadcast against each other without a thought.


class Frame:
    """Places for the axes of arrays, as they lie in memory."""

    def __init__(
        self,
        outer: Axis,
        accesses: Iterable[tuple[Sequence[Axis | None], Shape]],
        others: Iterable[Axis],
    ) -> None:
        """Take arrays in memory, whose shapes' places run along axes, and others that may not be
        among these.
        """
        self.outer = outer
        order = _as_in_memory(accesses)
        self.axes = tuple(dict.fromkeys((*order, outer, *others)))
        self.places = {axis: place for place, axis in enumerate(self.axes)}

    def in_order(self, axes: Iterable[Axis]) -> tuple[Axis, ...]:
        return tuple(sorted(set(axes), key=self.places.__getitem__))

    def shape(self, axes: Iterable[Axis]) -> str:
        """The shape of an array of n slices with those axes, as text."""
        present = set(axes)
        extents = [
            ("n" if axis is self.outer else str(axis.extent)) if axis in present else "1"
            for axis in self.axes
        ]
        return f"({', '.join(extents)},)"

    def size(self, axes: Iterable[Axis]) -> int:
        """The entries of an array for each slice."""
        return math.prod(axis.extent for axis in axes if axis is not self.outer)

    def view(self, name: str, parts: Sequence[Axis | None], shape: Shape) -> str:
        """An array of a shape, whose places run along ``parts``, in the frame."""
        axes = [part for part in parts if part is not None]
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

    def back(
        self, name: str, item_axes: Iterable[Axis], parts: Sequence[Axis | None], shape: Shape
    ) -> str:
        """An array in the frame, without the outer axis, as one whose places run along
        ``parts``.
        """
        axes = self.in_order(item_axes)
        name += f"[{', '.join(':' if axis in axes else '0' for axis in self.axes)}]"
        order = [axes.index(part) for part in parts if part is not None]
        if order != list(range(len(axes))):
            name += f".transpose({', '.join(map(str, order))})"
        return f"{name}.reshape({shape})"


def _as_in_memory(accesses: Iterable[tuple[Sequence[Axis | None], Shape]]) -> list[Axis]:
    """Axes in the order in which arrays have them, the largest first."""
    order: list[Axis] = []
    for parts, _ in sorted(accesses, key=lambda access: -math.prod(access[1])):
        axes = [part for part in parts if part is not None]
        for place, axis in enumerate(axes):
            if axis not in order:
                later = [order.index(other) for other in axes[place + 1 :] if other in order]
                before = (
                    order.index(axes[place - 1]) + 1 if place else min(later, default=len(order))
                )
                order.insert(before, axis)
    return order


# -- Memory for the registers of blocks, kept between calls --------------------------------------
#
# What is given back to the system costs a page fault for each of its pages when it comes again:
# more than the work on ten thousand entries.


# Sums are added up block by block, so that their last bits depend on the size of blocks. It is the
# same everywhere, then, for the caches of today's processors, rather than that of the cache which
# happens to be there.
ROOM = (
    5 * (1 << 20) // 8
    # bytes that the registers and views of a block may take, to stay in a second-level cache of 1
    # MiB
)
SHARED_ROOM = (
    5 * (1 << 25) // 8
)  # the same for the blocks of all threads, in a third-level cache of 32 MiB

_LINE = 64  # bytes of a cache line
_kept: list[np.ndarray] = []  # for the loops that run at once


def places(sizes: list[int]) -> list[int]:
    """Return where registers of these sizes in bytes begin, and where the last one ends.

    They begin in cache lines of their own, at different distances from the start of a page: what is
    stored in one is not taken for what is loaded from another.
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
        memory = _aligned_buffer(max(size, ROOM))
    return memory if memory.size >= size else _aligned_buffer(size)


def give(memory: np.ndarray) -> None:
    """Keep them for another loop."""
    if memory.size + sum([kept.size for kept in _kept]) <= SHARED_ROOM:
        _kept.append(memory)


def _aligned_buffer(size: int) -> np.ndarray:
    memory = np.empty(size + _LINE, np.uint8)
    start = -memory.ctypes.data % _LINE
    return memory[start : start + size]


# -- The calls of NumPy for a block of slices: operations on entries, reductions, and what is put
# into places.


BLOCK_SIZE = (
    12 << 10
    # entries of a block: more would save no more calls worth mentioning, and temporaries of 128 kB
    # come from mmap
)
_WORTH = 24  # additions on such blocks, in whose time it pays to wake a thread
SHARED_BLOCK_SIZE = (
    1 << 16
)  # entries of a block for several threads: they hand over the interpreter's lock at every call
_PARTS = 64  # into which slices are shared where each part has arrays of totals of its own


class BlockWriter:
    """The text of one nest's block.

    names      of items: views, registers, constants
    held       registers of items
    free       registers that nobody reads any more, by what they can hold
    registers  every register with an item of its kind and axes
    ahead      lines for what is the same for all slices; ``sized`` for what depends on their number
    lists      of numbers, one for each block; ``sums`` arrays in which blocks add up
    sizes      the list whose numbers tell whether all that is stored is finite
    """

    def __init__(self, source: Source, nest: Nest, checks: str | None) -> None:
        self.source, self.nest, self.checks = source, nest, checks
        self.computed = [item for item in nest.items if item.is_computed and item not in nest.given]
        self.stored: dict[Item, list[Expr]] = {}
        for node, view in nest.stored.items():
            self.stored.setdefault(view.item, []).append(node)
        self.totals = {view.item for view in nest.totals.values()}
        self.names: dict[Item, str] = {}
        self.held: dict[Item, str] = {}
        self.free: dict[Any, list[str]] = {}
        self.registers: list[tuple[str, Item]] = []
        self.ahead: list[str] = []
        self.sized: list[str] = []
        self.body: list[str] = []
        self.lists: list[str] = []
        self.sums: list[str] = []
        self.sizes: list[str] = []
        self._views: dict[Any, str] = {}
        self._bytes = 0  # of what is read and written in place, for each slice
        accesses: list[tuple[Sequence[Axis | None], Shape]] = []
        accesses += [
            (view.places, node.shape)
            for node, view in (*nest.outputs.items(), *nest.given.values())
        ]
        accesses += [
            (item.places, item.node.shape)
            for item in nest.items
            if item.what == "read" and item.node is not None
        ]
        self.frame = Frame(
            nest.outer, accesses, [axis for item in self.computed for axis in item.space]
        )
        self.last_use = {
            need: item for item in nest.items if item not in nest.given for need in item.needs
        }

    def operations(self) -> None:
        """Write the calls of all items."""
        for item in self.nest.items:
            if item in self.nest.given:
                node, view = self.nest.given[item]
                self.names[item] = self.view(node, view.places)
            elif item.what == "number":
                assert item.node is not None
                self.names[item] = self.source.name(item.node)
            elif item.what == "read":
                assert item.node is not None
                self.names[item] = self.view(item.node, item.places)
            else:
                self._compute(item)
                self._store(item)

    def _compute(self, item: Item) -> None:
        names = [self.names[need] for need in item.needs]
        ended = [
            need
            for need in dict.fromkeys(item.needs)
            if self.last_use[need] is item and need in self.held
        ]
        for need in ended:
            self.free.setdefault(self._key(need), []).append(self.held.pop(need))
        if item.what == "fold":
            self._fold(item, names)
        else:
            self._map(item, names)

    def _call(self, function: Any) -> str:
        return self.source.constant(function)

    def _varies(self, item: Item) -> bool:
        """Return whether a value is another one for each slice."""
        return self.nest.outer in item.axes

    def _map(self, item: Item, names: list[str]) -> None:
        assert item.op is not None
        if sum(item.present) == len(names):
            given = iter(names)
            names = [next(given) if there else "None" for there in item.present]
        if isinstance(item.op.forward, np.ufunc) and not item.static and self._varies(item):
            self.body.append(
                self.source.apply(item.op, item.static, item.kind, names, self._target(item))
            )
        else:
            self._result(item, self.source.apply(item.op, item.static, item.kind, names))

    def _fold(self, item: Item, names: list[str]) -> None:
        """A reduction, and what blocks add up to: a list of numbers, or an array."""
        fold, is_total = self._call(fold_of(item).ufunc), item in self.totals
        dtype = "dtype" if item.kind == BOOL and item.fold in (SUM, PRODUCT) else "None"
        axes = (
            None
            if is_total and not item.axes
            else tuple(map(self.frame.places.__getitem__, self.frame.in_order(item.over)))
        )
        text = f"{fold}.reduce({names[0]}, {axes}, {dtype}"
        whole = f"{text}, None, True)"
        if is_total and not item.axes:
            self.names[item] = self.source.new("p")
            self.lists.append(self.names[item])
            self.body.append(f"{self.names[item]}.append({text}))")
        elif is_total:
            self.names[item] = total = self.source.new("s")
            self.sums.append(total)
            part = self.source.new("t")
            self.body.append(f"{part} = {whole}")
            self.body.append(
                f"{total} = {part} if {total} is None else {fold}({total}, {part}, out={total})"
            )
        elif self._varies(item):
            self.body.append(f"{text}, {self._target(item)}, True)")
        else:
            self._result(item, whole)

    # -- arrays
    # ---------------------------------------------------------------------------------------------------

    def view(self, node: Expr, parts: Sequence[Axis | None]) -> str:
        """The block's part of an array, in the frame."""
        key = node, *parts
        if key not in self._views:
            text = self.frame.view(self.source.name(node), parts, node.shape)
            if text != self.source.name(node):
                whole = self.source.new("w")
                self.source.add(f"{whole} = {text}")
                text = whole
            self._views[key] = (
                self._slices(text, self.frame.places[self.nest.outer], node, parts)
                if self.nest.outer in parts
                else text
            )
        return self._views[key]

    def _slices(self, name: str, place: int, node: Expr, axes: Sequence[Axis | None]) -> str:
        """The block's slices of an array, whose outer axis is in a place."""
        block = self.source.new("x")
        self.body.insert(0, f"{block} = {name}[{':, ' * place}i:j]")
        self._bytes += self._itemsize(node.kind) * self.frame.size(
            axis for axis in axes if axis is not None
        )
        return block

    def _itemsize(self, kind: str) -> int:
        size: int = numpy_dtype(kind, self.source.precision).itemsize
        return size

    def _key(self, item: Item) -> Any:
        """Return what items have in common that take one another's registers over."""
        return item.kind, self.frame.in_order(item.axes)

    def _target(self, item: Item) -> str:
        """Return where a result goes: into what is stored of it, or a register."""
        if item in self.stored:
            node = self.stored[item][0]
            self.names[item] = self.view(node, self.nest.stored[node].places)
            return self.names[item]
        free = self.free.get(self._key(item))
        if not free:
            self.registers.append((self.source.new("r"), item))
            free = [self.registers[-1][0]]
        self.names[item] = self.held[item] = free.pop()
        return self.names[item]

    def _result(self, item: Item, text: str) -> None:
        """Return the result of what makes an array of its own."""
        self.names[item] = name = self.source.new("t")
        (self.body if self.nest.outer in item.space else self.ahead).append(f"{name} = {text}")

    def _store(self, item: Item) -> None:
        """Copies of what is stored elsewhere, or several times; and its check."""
        for node in self.stored.get(item, ()):
            view = self.view(node, self.nest.stored[node].places)
            if view != self.names[item]:
                self.body.append(f"{self._call(np.copyto)}({view}, {self.names[item]})")
            if self.checks is not None and node.kind == FLOAT:
                if not self.sizes:
                    self.sizes.append(self.source.new("q"))
                self.body.append(
                    f"{self.sizes[0]}.append(total({self.names[item]}, None))"
                )  # BLAS's dot has threads that get into our way

    # -- the function
    # ---------------------------------------------------------------------------------------------

    def function(self) -> None:
        """The function of some slices in a row, which gives lists of what blocks add up to, and its
        call for all of them.
        """
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
        call = (
            f"{source.constant(together if several else in_turn)}({name}, "
            f"{self.nest.outer.extent}, {part}{most})"
        )
        source.add(f"{taken}= {call}" if taken else call)
        if self.sizes:
            source.add(f"{self.checks} += {self.sizes[0]}")

    def _step(self) -> tuple[int, int, bool]:
        """The slices of a block, those that a thread takes at a time, and whether threads share
        them.
        """
        slices, frame = self.nest.outer.extent, self.frame
        entries = {item: frame.size(item.space) for item in self.computed}
        row = max(
            (frame.size(item.axes) for item in self.nest.items if self._varies(item)), default=1
        )
        size = self._bytes + sum(
            self._itemsize(item.kind) * frame.size(item.axes) for _, item in self.registers
        )
        size = max(1, size // row)  # bytes that are at work for each entry
        most = max(1, min(SHARED_BLOCK_SIZE, SHARED_ROOM // (4 * size)))
        blocks = slices * row // most
        work = sum(
            (additions_of(item.op) if item.op is not None else 1) * count
            for item, count in entries.items()
        )
        # a block is a slice at least, and each thread has registers of its own
        shared = (
            most >= SHARED_BLOCK_SIZE // 2
            and row <= most
            and blocks >= 4
            and blocks * work >= _WORTH * row
        )
        step = max(1, (most if shared else min(BLOCK_SIZE, ROOM // size)) // row)
        if not shared:
            return step, slices, False
        return step, step * max(1, -(-slices // (_PARTS * step))) if self.sums else step, True

    def _memory(self, step: int) -> str | None:
        """The registers, as arrays of n slices in one piece of memory for so many."""
        if not self.registers:
            return None
        source = self.source
        sizes = [
            self._itemsize(item.kind) * self.frame.size(item.axes) for _, item in self.registers
        ]
        begins = places([step * size for size in sizes])
        memory = source.new("m")
        source.add(f"{memory} = {source.constant(take)}({begins[-1]})", 2)
        for (name, item), begin, size in zip(self.registers, begins, sizes, strict=False):
            dtype = source.constant(numpy_dtype(item.kind, source.precision))
            line = f"{name} = {memory}[{begin}:{begin} + {size}*n].view({dtype})"
            shape = self.frame.shape(item.axes)
            self.sized.append(line if shape == "(n,)" else f"{line}.reshape({shape})")
        return memory

    def total_of(self, node: Expr) -> None:
        """The value of a node that is a total, when all blocks are done."""
        source, view = self.source, self.nest.totals[node]
        item, name = view.item, self.names[view.item]
        source.names[node] = value = source.new("v")
        fold = self._call(fold_of(item).ufunc)
        if item.axes:
            joined = f"{self._call(functools.reduce)}({fold}, {name})"
            source.add(f"{value} = {self.frame.back(joined, item.axes, view.places, node.shape)}")
        else:
            source.add(
                f"{value} = {fold}.reduce({name}, None, "
                f"{source.constant(numpy_dtype(item.kind, source.precision))})"
            )
            if node.shape:
                source.add(f"{value} = {value}.reshape({node.shape})")


def write_blocks(source: Source, nest: Nest, checks: str | None) -> None:
    """Write a nest, whose inputs and stored arrays have names in the source."""
    writer = BlockWriter(source, nest, checks)
    writer.operations()
    writer.function()
    for node in nest.totals:
        writer.total_of(node)
