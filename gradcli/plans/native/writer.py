"""Writing a nest of loops as a function of C.

``int nest(void *const *a, long long n, long long begin, long long end, long long chunk)`` computes the slices from ``begin`` to ``end``
of the ``n`` along the outer axis: ``a`` has the arrays that it reads, those that it stores, and for each total a row for each chunk.
Names are ours: x arrays that are read, y that are stored, s totals, b what is kept of a slice, c sums in the making, v values of entries.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

from gradcli.graph.nodes import Expr
from gradcli.ops.calling.promotion import BOOL, FLOAT
from gradcli.ops.text import number_in_c
from gradcli.plans.axes import Axis, Item
from gradcli.plans.native.sums import START, Sum, joined
from gradcli.plans.nests import Nest
from gradcli.plans.stages import Layout, Stage

TYPES = {FLOAT: "real", BOOL: "unsigned char"}
_PARAMETERS = "void *const *a, long long n, long long begin, long long end, long long chunk"

Slot = Mapping[Axis, int]  # places along the axes that are written out
Part = Axis | Item | None
Key = tuple[Item, tuple[int, ...]] | str  # a value: of an item at places, or of an entry of an array


class NestWriter:
    """The text of one nest; ``checked`` adds up what is stored, so that NaN and infinities are seen."""

    def __init__(self, nest: Nest, name: str, *, checked: bool) -> None:
        self.nest, self.name, self.checked = nest, name, checked
        self.layout = Layout(nest)
        self.loop_names: dict[Axis, str] = {}
        self.checks_inside = False  # whether the loop over a lane adds up what it stores
        self.pointers: dict[Expr, str] = {}
        self.lines: list[str] = []
        self.depth = 1
        self.names: dict[Key, str] = {}  # of values in the loops that are open
        self.buffers: dict[tuple[Item, tuple[int, ...]], str] = {}
        self.totals = {view.item: (node, view) for node, view in nest.totals.items()}
        self.is_blocked = self.layout.lane is nest.outer
        self._last = 0

    def text(self) -> str:
        self._head()
        block = self.layout.block
        self._open(f"for (long long i0 = begin; i0 < end; i0 += {block})")
        self._add(f"const int length = end - i0 < {block} ? (int)(end - i0) : {block};")
        sums = [Sum(self, item) for item in self.layout.computed if self.layout.is_summed_up(item)]
        for sum_ in sums:
            sum_.begin_block()
        if not self.is_blocked:
            self._open("for (long long i = i0; i < i0 + length; ++i)")
        for stage in self.layout.stages:
            self._stage(stage, [sum_ for sum_ in sums if sum_.item in stage.items])
        if not self.is_blocked:
            self._close()
        for sum_ in sums:
            sum_.end_block()
        self._close()
        if self.checked:
            self._add(f"*check = {self._check};")
        self._add("return 0;")
        return "\n".join([f"int {self.name}({_PARAMETERS}) {{", *self.lines, "}"])

    # -- lines ----------------------------------------------------------------------------------------------------

    def _add(self, line: str) -> None:
        self.lines.append("  " * self.depth + line)

    def _open(self, line: str) -> None:
        self._add(line + " {")
        self.depth += 1

    def _close(self) -> None:
        self.depth -= 1
        self._add("}")

    def _new(self, letter: str) -> str:
        self._last += 1
        return f"{letter}{self._last}"

    # -- arrays ---------------------------------------------------------------------------------------------------

    def _head(self) -> None:
        place = 0
        for node in self.nest.inputs:
            self._pointer(node, f"x{place}", f"const {c_type(node.kind)}", f"a[{place}]")
            place += 1
        for node in self.nest.stored:
            self._pointer(node, f"y{place}", c_type(node.kind), f"a[{place}]")
            place += 1
        for node, view in self.nest.totals.items():
            size = math.prod(node.shape)
            self._add(f"real *restrict const s{place} = (real *)a[{place}] + chunk * {size};")
            self.pointers[node] = f"s{place}"
            start = START[view.item.fold]
            self._add(f"for (long long k = 0; k < {size}; ++k) s{place}[k] = {start};")
            place += 1
        if self.checked:
            self._add(f"real *const check = (real *)a[{place}] + chunk;")
            self._check = self._new("c")
            self._add(f"real {self._check} = 0;")
        self._declare_buffers()

    def _pointer(self, node: Expr, name: str, kind: str, source: str) -> None:
        self.pointers[node] = name
        self._add(f"{kind} *restrict const {name} = ({kind} *){source};")

    def _declare_buffers(self) -> None:
        for item in self.layout.computed:
            if item not in self.layout.kept or not self._is_array(item):
                continue
            size = math.prod(axis.extent for axis in self._looped(item.axes))
            size *= self.layout.block if self.is_blocked else 1
            for slot in self._slots(item.axes):
                name = self.buffers[item, self._key(item.axes, slot)] = self._new("b")
                self._add(f"{'_Bool' if item.kind == BOOL else 'real'} {name}[{size}] __attribute__((aligned(64)));")

    def _is_array(self, item: Item) -> bool:
        """Whether what is kept of an item has more than a number for each slot."""
        return self.is_blocked or bool(self._looped(item.axes))

    def _looped(self, axes: Sequence[Axis]) -> list[Axis]:
        """Those of some axes that have loops inside of a slice, the lane last."""
        inside = [axis for axis in axes if axis is not self.nest.outer and axis not in self.layout.written_out]
        return sorted(inside, key=lambda axis: axis is self.layout.lane)

    # -- indices --------------------------------------------------------------------------------------------------

    def _slots(self, axes: Sequence[Axis]) -> Iterator[dict[Axis, int]]:
        """All places along those of some axes that are written out."""
        short = [axis for axis in axes if axis in self.layout.written_out]
        for places in itertools.product(*(range(axis.extent) for axis in short)):
            yield dict(zip(short, places, strict=True))

    def _key(self, axes: Sequence[Axis], slot: Slot) -> tuple[int, ...]:
        return tuple(slot[axis] for axis in axes if axis in self.layout.written_out)

    def _index(self, axis: Axis, slot: Slot) -> str:
        if axis is self.nest.outer:
            return "(i0 + j)" if self.layout.lane is axis else "i"
        if axis in self.layout.written_out:
            return str(slot[axis])
        return "j" if axis is self.layout.lane else self.loop_names[axis]

    def _offset(self, parts: Sequence[Part], shape: Sequence[int], slot: Slot) -> str:
        """Where an entry lies in an array of a shape, row by row; the outer axis is as long as the call says."""
        terms: list[str] = []
        stride, times_n = 1, False
        for part, extent in zip(reversed(parts), reversed(shape), strict=True):
            if part is not None:
                index = self._index(part.same, slot) if isinstance(part, Axis) else f"(long long){self._value(part, slot)}"
                factors = [index, *(["n"] if times_n else []), *([str(stride)] if stride != 1 else [])]
                if index != "0":
                    terms.append("*".join(factors))
            if isinstance(part, Axis) and part.same is self.nest.outer:
                times_n = True
            else:
                stride *= extent
        return " + ".join(reversed(terms)) or "0"

    def _buffer(self, item: Item, slot: Slot) -> str:
        name = self.buffers[item, self._key(item.axes, slot)]
        axes = self._looped(item.axes)
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

    def _value(self, item: Item, slot: Slot) -> str:
        """An item's value in the loops that are open: a name or a number."""
        if item.what == "number":
            assert item.node is not None
            return str(int(item.node.payload)) if item.kind != FLOAT else number_in_c(item.node.payload)
        if item in self.nest.given or item.what == "read":
            return self._read(item, slot)
        return self.names.get((item, self._key(item.axes, slot))) or self._buffer(item, slot)

    def _read(self, item: Item, slot: Slot) -> str:
        if item.what == "read":
            assert item.node is not None
            text = self._entry(item.node, item.parts, slot)
        else:
            node, view = self.nest.given[item]
            text = self._entry(node, view.places, slot)
        if text not in self.names:
            self._name(text, item, text)
        return self.names[text]

    def _entry(self, node: Expr, parts: Sequence[Part], slot: Slot) -> str:
        return f"{self.pointers[node]}[{self._offset(parts, node.shape, slot)}]"

    def _name(self, key: Key, item: Item, text: str) -> None:
        name = self.names[key] = self._new("v")
        kind = {FLOAT: "real", BOOL: "_Bool"}.get(item.kind, "long long")
        self._add(f"const {kind} {name} = {text};")

    def _compute(self, item: Item) -> None:
        """The values of an item that no loop sums up, for every place along axes that are written out."""
        for slot in self._slots(item.axes):
            key = item, self._key(item.axes, slot)
            if item.what == "fold":
                text = self.folded(item, slot)
            elif item.what == "put":
                value, place = (self._value(operand, slot) for operand in item.operands)
                text = f"{self._index(item.over[0], slot)} == {place} ? {value} : 0"
            elif item.op is None:
                text = self._value(item.operands[0], slot)
            else:
                operands = [self._value(operand, slot) for operand in item.operands]
                text = item.op.text.in_c(item.present, **item.static).format(*operands)
            self._name(key, item, text)
            if item in self.layout.kept and key in self.buffers:
                self._add(f"{self._buffer(item, slot)} = {self.names[key]};")
            self._store(item, slot)

    def _store(self, item: Item, slot: Slot) -> None:
        for node, view in self.layout.stored.get(item, ()):
            name = self._value(item, slot)
            self._add(f"{self._entry(node, view.places, slot)} = {name};")
            if self.checked and item.kind == FLOAT:
                self._add(f"{self._check} += {name};")
                self.checks_inside = True

    # -- stages ---------------------------------------------------------------------------------------------------

    def _stage(self, stage: Stage, sums: Sequence[Sum]) -> None:
        for sum_ in sums:
            sum_.begin()
        before = dict(self.names)
        self.loop_names = {axis: self._new("k") for axis in stage.axes}
        for axis in stage.axes:
            name = self.loop_names[axis]
            self._open(f"for (int {name} = 0; {name} < {axis.extent}; ++{name})")
        for sum_ in sums:
            sum_.begin_lane()
        if stage.has_lane:
            start = len(self.lines)
            self.checks_inside = False
            self._open(f"for (int j = 0; j < {'length' if self.is_blocked else self.layout.lane.extent}; ++j)")
        by_item = {sum_.item: sum_ for sum_ in sums}
        for item in stage.items:
            if item in by_item:
                by_item[item].add()
            else:
                self._compute(item)
        if stage.has_lane:
            self._close()
            clauses = [clause for sum_ in sums for clause in sum_.clauses()]
            self.lines.insert(start, "  " * self.depth + _pragma([*clauses, *([("+", self._check)] if self.checks_inside else [])]))
        if stage.axes or stage.has_lane:
            self.names = before
        for sum_ in sums:
            sum_.end_lane()
        for _ in stage.axes:
            self._close()
        for sum_ in sums:
            sum_.end()

    def folded(self, item: Item, slot: Slot) -> str:
        """What a fold makes of its operand's values along axes that are written out."""
        text, *parts = [self._value(item.operands[0], {**slot, **inner}) for inner in self._slots(item.over)]
        for part in parts:
            text = joined(item.fold, text, part)
        return text


def _pragma(clauses: Sequence[tuple[str, str]]) -> str:
    by_sign: dict[str, list[str]] = {}
    for sign, name in clauses:
        by_sign.setdefault(sign, []).append(name)
    return "#pragma omp simd" + "".join(f" reduction({sign}:{', '.join(names)})" for sign, names in by_sign.items())


def c_type(kind: str) -> str:
    """The type of entries of arrays of a kind."""
    return TYPES.get(kind, "long long")
