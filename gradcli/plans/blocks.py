"""Writing a nest for NumPy: a function that computes a block of slices at a time, every item by one call, into registers.

Registers are given by liveness, so that a handful of buffers serves any expression. All arrays of a block lie in one frame of axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.graph.nodes import Expr
from gradcli.ops.calling.promotion import FLOAT, numpy_dtype
from gradcli.ops.counting import additions_of
from gradcli.plans.axes import Axis, Item, View
from gradcli.plans.block_steps import BlockSteps
from gradcli.plans.nests import Nest
from gradcli.plans.registers import ROOM, SHARED_ROOM, give, places, take
from gradcli.plans.source import Source
from gradcli.plans.threads import in_turn, together

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
        """Where what computes an item belongs."""
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
        """Whether no operation of a block reads an input after a result is stored in its memory."""
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
        """Where a result goes: into what is stored of it, or a register; None if it is the same for all slices."""
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
        """What items have in common that take one another's registers over."""
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
