"""Writing a nest of loops as a function of C.

``int nest(void *const *a, long long n, long long begin, long long end, long long chunk)`` computes the slices from ``begin`` to ``end``
of the ``n`` along the outer axis: ``a`` has the arrays that it reads, those that it stores, and for each total a row for each chunk.
Names are ours: x arrays that are read, y that are stored, s totals, b what is kept of a slice, c sums in the making, v values of entries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gradcli.graph.nodes import Expr
from gradcli.ops.calling.promotion import BOOL, FLOAT
from gradcli.plans.axes import Item, fold_of
from gradcli.plans.native.body import Body, Slot
from gradcli.plans.native.sums import Sum
from gradcli.plans.nests import Nest
from gradcli.plans.registers import places
from gradcli.plans.stages import Stage

_TYPES = {FLOAT: "real", BOOL: "unsigned char"}
_ENTRY = 8  # bytes, at most
_STACK = 1 << 16  # bytes
_PARAMETERS = "void *const *a, long long n, long long begin, long long end, long long chunk"


class NestWriter(Body):
    """The text of one nest, which adds up what it stores, so that NaN and infinities are seen."""

    def __init__(self, nest: Nest, name: str) -> None:
        super().__init__(nest)
        self.function = name
        self.checks_inside = False  # whether the loop over a lane adds up what it stores
        self.is_on_heap = False  # what is kept of a slice

    def text(self) -> str:
        self._head()
        begin = len(self.lines)
        block = self.layout.block
        self.open(f"for (long long i0 = begin; i0 < end; i0 += {block})")
        self.add(f"const int length = end - i0 < {block} ? (int)(end - i0) : {block};")
        sums = [Sum(self, item) for item in self.layout.computed if self.layout.is_summed_up(item)]
        for sum_ in sums:
            sum_.begin_block()
        if not self.is_blocked:
            self.open("for (long long i = i0; i < i0 + length; ++i)")
        for stage in self.layout.stages:
            self._stage(stage, [sum_ for sum_ in sums if sum_.item in stage.items])
        if not self.is_blocked:
            self.close()
        for sum_ in sums:
            sum_.end_block()
        self.close()
        self.add(f"*check = {self._check};")
        if self.is_on_heap:
            self.add("__builtin_free(memory);")
        self.add("return 0;")
        self.lines[begin:begin] = [f'  long long d{stride} = {stride}; __asm__("" : "+r"(d{stride}));' for stride in sorted(self.strides)]
        return "\n".join([f"int {self.function}({_PARAMETERS}) {{", *self.lines, "}"])

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
            self.add(f"double *restrict const s{place} = (double *)a[{place}] + chunk * {size};")
            self.pointers[node] = f"s{place}"
            start = fold_of(view.item).start
            self.add(f"for (long long k = 0; k < {size}; ++k) s{place}[k] = {start};")
            place += 1
        self.add(f"real *const check = (real *)a[{place}] + chunk;")
        self._check = self.new("c")
        self.add(f"real {self._check} = 0;")
        self._declare_buffers()

    def _pointer(self, node: Expr, name: str, kind: str, source: str) -> None:
        self.pointers[node] = name
        self.add(f"{kind} *restrict const {name} = ({kind} *){source};")

    def _declare_buffers(self) -> None:
        """What is kept of a slice lies on the stack while that is little: those of threads are small."""
        declared = []
        for item in self.layout.computed:
            if item not in self.layout.kept or not self._is_array(item):
                continue
            size = math.prod(axis.extent for axis in self.looped(item.axes))
            size *= self.layout.block if self.is_blocked else 1
            for slot in self.slots(item.axes):
                name = self.buffers[item, self.key(item.axes, slot)] = self.new("b")
                declared.append(("_Bool" if item.kind == BOOL else "real", name, size))
        begins = places([_ENTRY * size for _, _, size in declared])
        self.is_on_heap = begins[-1] > _STACK
        if self.is_on_heap:
            self.add(f"char *const memory = __builtin_malloc({begins[-1]});")
            self.add("if (!memory) return 1;")
        for (kind, name, size), begin in zip(declared, begins, strict=False):
            if self.is_on_heap:
                self.add(f"{kind} *restrict const {name} = ({kind} *)(memory + {begin});")
            else:
                self.add(f"{kind} {name}[{size}] __attribute__((aligned(64)));")

    def _compute(self, item: Item) -> None:
        """The values of an item that no loop sums up, for every place along axes that are written out."""
        for slot in self.slots(item.axes):
            key = item, self.key(item.axes, slot)
            if item.what == "fold":
                text = self.folded(item, slot)
            elif item.what == "put":
                value, place = (self.value(operand, slot) for operand in item.operands)
                text = f"{self._index(item.over[0], slot)} == {place} ? {value} : 0"
            elif item.op is None:
                text = self.value(item.operands[0], slot)
            else:
                operands = [self.value(operand, slot) for operand in item.operands]
                text = item.op.text.in_c(item.present, **item.static).format(*operands)
            self.name(key, item, text)
            if item in self.layout.kept and key in self.buffers:
                self.add(f"{self.buffer(item, slot)} = {self.names[key]};")
            self._store(item, slot)

    def _store(self, item: Item, slot: Slot) -> None:
        for node, view in self.layout.stored.get(item, ()):
            name = self.value(item, slot)
            self.add(f"{self.entry(node, view.places, slot)} = {name};")
            if item.kind == FLOAT:
                self.add(f"{self._check} += {name};")
                self.checks_inside = True

    # -- stages ---------------------------------------------------------------------------------------------------

    def _stage(self, stage: Stage, sums: Sequence[Sum]) -> None:
        for sum_ in sums:
            sum_.begin()
        before = dict(self.names)
        self.loop_names = {axis: self.new("k") for axis in stage.axes}
        for axis in stage.axes:
            name = self.loop_names[axis]
            self.open(f"for (int {name} = 0; {name} < {axis.extent}; ++{name})")
        for sum_ in sums:
            sum_.begin_lane()
        if stage.has_lane:
            start = len(self.lines)
            self.checks_inside = False
            self.open(f"for (int j = 0; j < {'length' if self.is_blocked else self.layout.lane.extent}; ++j)")
        by_item = {sum_.item: sum_ for sum_ in sums}
        for item in stage.items:
            if item in by_item:
                by_item[item].add()
            else:
                self._compute(item)
        if stage.has_lane:
            self.close()
            clauses = [clause for sum_ in sums for clause in sum_.clauses()]
            self.lines.insert(start, "  " * self._depth + _pragma([*clauses, *([("+", self._check)] if self.checks_inside else [])]))
        if stage.axes or stage.has_lane:
            self.names = before
        for sum_ in sums:
            sum_.end_lane()
        for _ in stage.axes:
            self.close()
        for sum_ in sums:
            sum_.end()


def _pragma(clauses: Sequence[tuple[str, str]]) -> str:
    by_sign: dict[str, list[str]] = {}
    for sign, name in clauses:
        by_sign.setdefault(sign, []).append(name)
    return "#pragma omp simd" + "".join(f" reduction({sign}:{', '.join(names)})" for sign, names in by_sign.items())


def c_type(kind: str) -> str:
    """The type of entries of arrays of a kind."""
    return _TYPES.get(kind, "long long")
