"""Text of C inside of a nest: lines, names of arrays and values, and where entries lie."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from gradcli.graph.nodes import Expr
from gradcli.ops.calling.promotion import BOOL, FLOAT
from gradcli.ops.text import number_in_c
from gradcli.plans.axes import Axis, Item, fold_of
from gradcli.plans.nests import Nest
from gradcli.plans.stages import Layout

_SHUFFLED = (2, 4)

Slot = Mapping[Axis, int]  # places along the axes that are written out
Part = Axis | Item | None
Key = tuple[Item, tuple[int, ...]] | str  # a value: of an item at places, or of an entry of an array


class Body:
    """The body of a function, while it is written.

    pointers    the arrays of nodes
    names       values in the loops that are open
    buffers     what is kept of a slice, or of a block of them, for each place along axes that are written out
    loop_names  the indices of the loops that are open, but for the outer one and the lane
    """

    def __init__(self, nest: Nest) -> None:
        self.nest, self.layout = nest, Layout(nest)
        self.is_blocked = self.layout.lane is nest.outer
        self.totals = {view.item: (node, view) for node, view in nest.totals.items()}
        self.pointers: dict[Expr, str] = {}
        self.names: dict[Key, str] = {}
        self.buffers: dict[tuple[Item, tuple[int, ...]], str] = {}
        self.loop_names: dict[Axis, str] = {}
        self.strides: set[int] = set()
        self.lines: list[str] = []
        self._depth = 1
        self._last = 0

    # -- lines ----------------------------------------------------------------------------------------------------

    def add(self, line: str) -> None:
        self.lines.append("  " * self._depth + line)

    def open(self, line: str) -> None:
        self.add(line + " {")
        self._depth += 1

    def close(self) -> None:
        self._depth -= 1
        self.add("}")

    def new(self, letter: str) -> str:
        self._last += 1
        return f"{letter}{self._last}"

    # -- indices --------------------------------------------------------------------------------------------------

    def slots(self, axes: Sequence[Axis]) -> Iterator[dict[Axis, int]]:
        """All places along those of some axes that are written out."""
        short = [axis for axis in axes if axis in self.layout.written_out]
        for places in itertools.product(*(range(axis.extent) for axis in short)):
            yield dict(zip(short, places, strict=True))

    def key(self, axes: Sequence[Axis], slot: Slot) -> tuple[int, ...]:
        return tuple(slot[axis] for axis in axes if axis in self.layout.written_out)

    def _index(self, axis: Axis, slot: Slot) -> str:
        if axis is self.nest.outer:
            return "(i0 + j)" if self.layout.lane is axis else "i"
        if axis in self.layout.written_out:
            return str(slot[axis])
        return "j" if axis is self.layout.lane else self.loop_names[axis]

    def offset(self, parts: Sequence[Part], shape: Sequence[int], slot: Slot) -> str:
        """Where an entry lies in an array of a shape, row by row; the outer axis is as long as the call says."""
        terms: list[str] = []
        stride, times_n = 1, False
        for part, extent in zip(reversed(parts), reversed(shape), strict=True):
            if part is not None:
                index = self._index(part.same, slot) if isinstance(part, Axis) else f"(long long){self.value(part, slot)}"
                factors = [index, *(["n"] if times_n else []), *([self._stride(part, stride)] if stride != 1 else [])]
                if index != "0":
                    terms.append("*".join(factors))
            if isinstance(part, Axis) and part.same is self.nest.outer:
                times_n = True
            elif part is not None:  # which also stands for an axis that the next one has taken in
                stride *= part.same.extent if isinstance(part, Axis) else extent
        return " + ".join(reversed(terms)) or "0"

    def _stride(self, part: Part, stride: int) -> str:
        """A distance in memory. That of neighbours in a lane is no constant where compilers have no shuffles for it: they would rather
        have no vectors at all than take together entries that are so far apart."""
        is_lane = isinstance(part, Axis) and part.same is self.layout.lane
        if not is_lane or stride in _SHUFFLED:
            return str(stride)
        self.strides.add(stride)
        return f"d{stride}"

    def buffer(self, item: Item, slot: Slot) -> str:
        name = self.buffers[item, self.key(item.axes, slot)]
        axes = self.looped(item.axes)
        terms = []
        stride = 1
        if self.is_blocked:
            terms.append("j")
            stride = self.layout.block
        for axis in reversed(axes):
            terms.append(self._index(axis, slot) + (f"*{stride}" if stride != 1 else ""))
            stride *= axis.extent
        return f"{name}[{' + '.join(reversed(terms))}]"

    # -- values ---------------------------------------------------------------------------------------------------

    def value(self, item: Item, slot: Slot) -> str:
        """An item's value in the loops that are open: a name or a number."""
        if item.what == "number":
            assert item.node is not None
            return str(int(item.node.payload)) if item.kind != FLOAT else number_in_c(item.node.payload)
        if item in self.nest.given or item.what == "read":
            return self._read(item, slot)
        return self.names.get((item, self.key(item.axes, slot))) or self.buffer(item, slot)

    def _read(self, item: Item, slot: Slot) -> str:
        if item.what == "read":
            assert item.node is not None
            text = self.entry(item.node, item.parts, slot)
        else:
            node, view = self.nest.given[item]
            text = self.entry(node, view.places, slot)
        if text not in self.names:
            self.name(text, item, text)
        return self.names[text]

    def entry(self, node: Expr, parts: Sequence[Part], slot: Slot) -> str:
        return f"{self.pointers[node]}[{self.offset(parts, node.shape, slot)}]"

    def name(self, key: Key, item: Item, text: str) -> None:
        name = self.names[key] = self.new("v")
        kind = {FLOAT: "real", BOOL: "_Bool"}.get(item.kind, "long long")
        self.add(f"const {kind} {name} = {text};")

    def folded(self, item: Item, slot: Slot) -> str:
        """What a fold makes of its operand's values along axes that are written out."""
        text, *parts = [self.value(item.operands[0], {**slot, **inner}) for inner in self.slots(item.over)]
        for part in parts:
            text = fold_of(item).joined.format(text, part)
        return text

    def _is_array(self, item: Item) -> bool:
        """Whether what is kept of an item has more than a number for each slot."""
        return self.is_blocked or bool(self.looped(item.axes))

    def looped(self, axes: Sequence[Axis]) -> list[Axis]:
        """Those of some axes that have loops inside of a slice, the lane last."""
        inside = [axis for axis in axes if axis is not self.nest.outer and axis not in self.layout.written_out]
        return sorted(inside, key=lambda axis: axis is self.layout.lane)
