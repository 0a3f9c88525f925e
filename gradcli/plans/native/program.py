"""The nests of a program as one library of C."""

from __future__ import annotations

import ctypes
import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from gradcli.graph.nodes import Expr
from gradcli.ops.axes import LARGEST, SMALLEST
from gradcli.ops.calling.inputs import BOOL, FLOAT, numpy_dtype
from gradcli.ops.text import number_in_c
from gradcli.plans.index_form import Axes, Axis, Item
from gradcli.plans.native.compiler import library
from gradcli.plans.nests import Layout, Nest, Stage
from gradcli.plans.threads import run_chunks

# -- Text of C inside of a nest: lines, names of arrays and values, and where entries lie ---------


_SHUFFLED = (2, 4)

Slot = Mapping[Axis, int]  # places along the axes that are written out
# The key of a value: an item at places, or an entry of an array.
Key = tuple[Item, tuple[int, ...]] | str


class Body:
    """The body of a function, while it is written.

    pointers    the arrays of nodes
    names       values in the loops that are open
    buffers     what is kept of a slice, or of a block of them, for each place along axes that are
                written out
    loop_names  the indices of the loops that are open, but for the outer one and the lane
    """

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        self.layout = Layout(nest)
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

    # -- lines -------------------------------------------------------------------------------------

    def add(self, line: str) -> None:
        self.lines.append("  " * self._depth + line)

    def open(self, line: str) -> None:
        self.add(f"{line} {{")
        self._depth += 1

    def close(self) -> None:
        self._depth -= 1
        self.add("}")

    def new(self, letter: str) -> str:
        self._last += 1
        return f"{letter}{self._last}"

    # -- indices -----------------------------------------------------------------------------------

    def slots(self, axes: Sequence[Axis]) -> Iterator[dict[Axis, int]]:
        """All places along those of some axes that are written out."""
        short = [axis for axis in axes if axis in self.layout.written_out]
        for along in itertools.product(*(range(axis.extent) for axis in short)):
            yield dict(zip(short, along, strict=True))

    def key(self, item: Item, slot: Slot) -> tuple[Item, tuple[int, ...]]:
        return item, tuple(slot[axis] for axis in item.axes if axis in self.layout.written_out)

    def _index(self, axis: Axis, slot: Slot) -> str:
        if axis is self.nest.outer:
            return "(i0 + j)" if self.layout.lane is axis else "i"
        if axis in self.layout.written_out:
            return str(slot[axis])
        return "j" if axis is self.layout.lane else self.loop_names[axis]

    def offset(self, parts: Axes, slot: Slot) -> str:
        """Return the offset of an entry in an array, row by row.

        The outer axis is as long as the call says.
        """
        terms: list[str] = []
        stride, times_n = 1, False
        for part in reversed(parts):
            if part is not None:
                index = self._index(part, slot)
                factors = [
                    index,
                    *(["n"] if times_n else []),
                    *([self._stride(part, stride)] if stride != 1 else []),
                ]
                if index != "0":
                    terms.append("*".join(factors))
            if part is self.nest.outer:
                times_n = True
            elif part is not None:  # None also stands for an axis merged into the next one
                stride *= part.extent
        return " + ".join(reversed(terms)) or "0"

    def _stride(self, part: Axis, stride: int) -> str:
        """Return a distance in memory.

        The distance of neighbours in a lane is no constant where compilers have no shuffles for it:
        they would rather use no vectors at all than collect entries that are so far apart.
        """
        if part is not self.layout.lane or stride in _SHUFFLED:
            return str(stride)
        self.strides.add(stride)
        return f"d{stride}"

    def buffer(self, item: Item, slot: Slot) -> str:
        name = self.buffers[self.key(item, slot)]
        axes = self.looped_axes(item.axes)
        terms = []
        stride = 1
        if self.is_blocked:
            terms.append("j")
            stride = self.layout.block
        for axis in reversed(axes):
            terms.append(self._index(axis, slot) + (f"*{stride}" if stride != 1 else ""))
            stride *= axis.extent
        return f"{name}[{' + '.join(reversed(terms))}]"

    # -- values ------------------------------------------------------------------------------------

    def value(self, item: Item, slot: Slot) -> str:
        """Return an item's value in the loops that are open: a name or a number."""
        if item.what == "number":
            return (
                str(int(item.node.payload))
                if item.kind != FLOAT
                else number_in_c(item.node.payload)
            )
        if item in self.nest.given or item.what == "read":
            return self._read(item, slot)
        return self.names.get(self.key(item, slot)) or self.buffer(item, slot)

    def _read(self, item: Item, slot: Slot) -> str:
        if item.what == "read":
            text = self.entry(item.node, item.places, slot)
        else:
            node, view = self.nest.given[item]
            text = self.entry(node, view.places, slot)
        if text not in self.names:
            self.name(text, item, text)
        return self.names[text]

    def entry(self, node: Expr, parts: Axes, slot: Slot) -> str:
        return f"{self.pointers[node]}[{self.offset(parts, slot)}]"

    def name(self, key: Key, item: Item, text: str) -> None:
        name = self.names[key] = self.new("v")
        kind = {FLOAT: "real", BOOL: "_Bool"}.get(item.kind, "long long")
        self.add(f"const {kind} {name} = {text};")

    def fold_axes(self, item: Item, slot: Slot) -> str:
        """Return what a fold makes of its operand's values along axes that are written out."""
        text, *parts = [
            self.value(item.operands[0], {**slot, **inner}) for inner in self.slots(item.over)
        ]
        for part in parts:
            text = item.fold.joined.format(text, part)
        return text

    def looped_axes(self, axes: Sequence[Axis]) -> list[Axis]:
        """Return those of some axes that have loops inside of a slice, the lane last."""
        inside = [
            axis
            for axis in axes
            if axis is not self.nest.outer and axis not in self.layout.written_out
        ]
        return sorted(inside, key=lambda axis: axis is self.layout.lane)


# -- What loops of C sum up: variables of lanes and blocks, buffers of a slice, rows of totals ---


class Sum:
    """A fold along loops: a total of all slices, or a number of a slice that later stages read."""

    def __init__(self, body: Body, item: Item) -> None:
        self.body = body
        self.item = item
        self.fold = item.fold
        lane, outer = body.layout.lane, body.nest.outer
        self.is_total = outer in item.over
        self.folds_lane = lane in item.over
        self.rest = [
            axis for axis in body.looped_axes(item.over) if axis is not lane
        ]  # axes that are summed by loops around the lane
        self.is_number = not body.looped_axes(item.axes) and (self.is_total or not body.is_blocked)
        self.slots = list(body.slots(item.axes))
        self.sums: list[str] = []  # names of the sums of a block or one slice, for each slot
        self.lanes: list[str] = []
        self.nans: list[str] = []

    def _declarations(self, kind: str) -> list[str]:
        names = [self.body.new("c") for _ in self.slots]
        for name in names:
            self.body.add(f"{kind} {name} = {self.fold.start};")
        return names

    def _join(self, target: str, text: str) -> None:
        """Fold what a text says into a target."""
        joined = self.fold.joined.format(target, f"({text})" if " " in text else text)
        self.body.add(f"{target} = {joined};")

    def begin_block(self) -> None:
        if self.is_total and self.is_number:
            self.sums = self._declarations("double")

    def begin(self) -> None:
        body = self.body
        if self.is_total or (self.folds_lane and not self.rest):
            return
        if self.is_number:
            self.sums = self._declarations("real")
            return
        size = math.prod(axis.extent for axis in body.looped_axes(self.item.axes)) * (
            body.layout.block if body.is_blocked else 1
        )
        for slot in self.slots:
            name = body.buffers[body.key(self.item, slot)]
            body.add(f"for (int k = 0; k < {size}; ++k) {name}[k] = {self.fold.start};")

    def begin_lane(self) -> None:
        if self.folds_lane:
            self.lanes = self._declarations("real")
            if self.fold in (LARGEST, SMALLEST):
                self.nans = [self.body.new("c") for _ in self.slots]
                for name in self.nans:
                    self.body.add(f"int {name} = 0;")

    def clauses(self) -> list[tuple[str, str]]:
        return [(self.fold.sign, name) for name in self.lanes] + [("|", name) for name in self.nans]

    def add(self) -> None:
        for place, slot in enumerate(self.slots):
            text = self.body.fold_axes(self.item, slot)
            if not self.folds_lane:
                self._join(self._target(place, slot), text)
            elif self.nans:
                sign = ">" if self.fold is LARGEST else "<"
                value = self.body.new("v")
                lane = self.lanes[place]
                self.body.add(f"const real {value} = {text};")
                self.body.add(f"{lane} = {value} {sign} {lane} ? {value} : {lane};")
                self.body.add(f"{self.nans[place]} |= {value} != {value};")
            else:
                self._join(self.lanes[place], text)

    def end_lane(self) -> None:
        if not self.folds_lane:
            return
        for place, slot in enumerate(self.slots):
            lane = self.lanes[place]
            if self.nans:
                self.body.add(f'if ({self.nans[place]}) {lane} = __builtin_nan("");')
            if self.is_total or self.rest:
                self._join(self._target(place, slot), lane)
            elif not self.is_number:
                self.body.add(f"{self._target(place, slot)} = {lane};")
        if not self.is_total and not self.rest and self.is_number:
            self.sums = self.lanes

    def _target(self, place: int, slot: Slot) -> str:
        if self.is_number:
            return self.sums[place]
        if self.is_total:
            node, view = self.body.totals[self.item]
            return self.body.entry(node, view.places, slot)
        return self.body.buffer(self.item, slot)

    def end(self) -> None:
        if self.is_total:
            return
        for place, slot in enumerate(self.slots):
            key = self.body.key(self.item, slot)
            if self.is_number:
                self.body.names[key] = self.sums[place]

    def end_block(self) -> None:
        if self.is_total and self.is_number:
            node, view = self.body.totals[self.item]
            for place, slot in enumerate(self.slots):
                self._join(self.body.entry(node, view.places, slot), self.sums[place])


# -- Writing a nest of loops as a function of C --------------------------------------------------
#
# ``int nest(void *const *a, long long n, long long begin, long long end, long long chunk)``
# computes the slices from ``begin`` to ``end`` of the ``n`` along the outer axis: ``a`` has the
# arrays that it reads, those that it stores, and for each total a row for each chunk. Names are
# ours: x arrays that are read, y that are stored, s totals, b what is kept of a slice, c sums in
# the making, v values of entries.


_TYPES = {FLOAT: "real", BOOL: "unsigned char"}
_ENTRY = 8  # most bytes of one entry
_PARAMETERS = "void *const *a, long long n, long long begin, long long end, long long chunk"


class NestWriter(Body):
    """The text of one nest, which adds up what it stores, so that NaN and infinities are seen."""

    def __init__(self, nest: Nest, name: str) -> None:
        super().__init__(nest)
        self.function = name
        self.checks_inside = False  # whether the loop over a lane adds up what it stores
        self.has_memory = False  # whether there is memory for what is kept of a slice

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
        if self.has_memory:
            self.add("__builtin_free(memory);")
        self.add("return 0;")
        self.lines[begin:begin] = [
            f'  long long d{stride} = {stride}; __asm__("" : "+r"(d{stride}));'
            for stride in sorted(self.strides)
        ]
        return "\n".join([f"int {self.function}({_PARAMETERS}) {{", *self.lines, "}"])

    # -- arrays ------------------------------------------------------------------------------------

    def _head(self) -> None:
        place = 0
        for node in self.nest.inputs:
            self._pointer(node, f"x{place}", f"const {c_type(node.kind)}", f"a[{place}]")
            place += 1
        for node in self.nest.stored:
            self._pointer(node, f"y{place}", c_type(node.kind), f"a[{place}]")
            place += 1
        for node, view in self.nest.totals.items():
            size = node.size
            self.add(f"double *restrict const s{place} = (double *)a[{place}] + chunk * {size};")
            self.pointers[node] = f"s{place}"
            start = view.item.fold.start
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
        """Declare what is kept of a slice on the heap: the stacks of threads are small."""
        declared = []
        for item in self.layout.computed:
            if item not in self.layout.kept:
                continue
            if not (self.is_blocked or self.looped_axes(item.axes)):
                continue  # a number for each slot
            size = math.prod(axis.extent for axis in self.looped_axes(item.axes))
            size *= self.layout.block if self.is_blocked else 1
            for slot in self.slots(item.axes):
                name = self.buffers[self.key(item, slot)] = self.new("b")
                declared.append(("_Bool" if item.kind == BOOL else "real", name, size))
        begins = _places([_ENTRY * size for _, _, size in declared])
        self.has_memory = bool(declared)
        if declared:
            self.add(f"char *const memory = __builtin_malloc({begins[-1]});")
            self.add("if (!memory) return 1;")
        for (kind, name, _), begin in zip(declared, begins, strict=False):
            self.add(f"{kind} *restrict const {name} = ({kind} *)(memory + {begin});")

    def _compute(self, item: Item) -> None:
        """Write the values of an item that no loop sums up.

        There is one for every place along axes that are written out.
        """
        for slot in self.slots(item.axes):
            key = self.key(item, slot)
            if item.what == "fold":
                text = self.fold_axes(item, slot)
            elif item.op is None:
                text = self.value(item.operands[0], slot)
            else:
                operands = [self.value(operand, slot) for operand in item.operands]
                text = item.op.in_c(item.present, **item.static).format(*operands)
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

    # -- stages ------------------------------------------------------------------------------------

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
            self.open(
                f"for (int j = 0; j < {'length' if self.is_blocked else self.layout.lane.extent}; "
                "++j)"
            )
        by_item = {sum_.item: sum_ for sum_ in sums}
        for item in stage.items:
            if item in by_item:
                by_item[item].add()
            else:
                self._compute(item)
        if stage.has_lane:
            self.close()
            clauses = [clause for sum_ in sums for clause in sum_.clauses()]
            self.lines.insert(
                start,
                "  " * self._depth
                + _pragma([*clauses, *([("+", self._check)] if self.checks_inside else [])]),
            )
        if stage.axes or stage.has_lane:
            self.names = before
        for sum_ in sums:
            sum_.end_lane()
        for _ in stage.axes:
            self.close()
        for sum_ in sums:
            sum_.end()


_LINE = 64  # bytes of a cache line


def _places(sizes: list[int]) -> list[int]:
    """Return where buffers of these sizes in bytes begin, and where the last one ends.

    They begin in cache lines of their own, at different distances from the start of a page: what is
    stored in one is not taken for what is loaded from another.
    """
    begins = [0]
    for size in sizes:
        begins.append(-(-(begins[-1] + size) // _LINE) * _LINE + 3 * _LINE)
    return begins


def _pragma(clauses: Sequence[tuple[str, str]]) -> str:
    by_sign: dict[str, list[str]] = {}
    for sign, name in clauses:
        by_sign.setdefault(sign, []).append(name)
    return "#pragma omp simd" + "".join(
        f" reduction({sign}:{', '.join(names)})" for sign, names in by_sign.items()
    )


def c_type(kind: str) -> str:
    """Return the C type of entries of arrays of a kind."""
    return _TYPES.get(kind, "long long")


# -- Calling nests that are compiled, chunk by chunk, on several threads -------------------------


# The most chunks of slices. Each has totals of its own, which are added up in order, however many
# threads there are.
_CHUNKS = 64
_SHARE = 8  # a nest has this many times the entries of all its totals, unless it has only one chunk
_WORTH = 1 << 16  # entries times operations from which it pays to wake a thread


class CompiledNest:
    """A nest as a function of arrays."""

    def __init__(
        self, writer: NestWriter, function: Any, text: str, precision: str, threads: int | None
    ) -> None:
        nest = writer.nest
        self.__name__ = writer.function
        self.text = text
        self.threads = threads
        self.function = function
        self.function.restype = ctypes.c_int
        self.function.argtypes = [ctypes.c_void_p, *[ctypes.c_longlong] * 4]
        self.slices = nest.outer.extent
        self.kinds = [numpy_dtype(node.kind, precision) for node in nest.inputs]
        self.dtype = numpy_dtype(FLOAT, precision)
        self.totals = [(node.shape, view.item.fold.ufunc) for node, view in nest.totals.items()]
        self.is_shared = nest.work >= _WORTH
        most = max((math.prod(shape) for shape, _ in self.totals), default=1)
        largest = max(item.work for item in writer.layout.computed)
        blocks = -(-self.slices // writer.layout.block)
        chunks = max(1, min(_CHUNKS, blocks, largest // (_SHARE * most)))
        self.chunk = -(-blocks // chunks) * writer.layout.block

    def __call__(
        self, inputs: Sequence[Any], outputs: Sequence[np.ndarray], checks: list[Any]
    ) -> list[Any]:
        """Run the nest, and return the totals.

        Results are stored in ``outputs``; sums of them are added to ``checks``.
        """
        given = [_readable(value, dtype) for value, dtype in zip(inputs, self.kinds, strict=True)]
        chunks = -(-self.slices // self.chunk)
        totals = [
            np.empty((chunks, *shape)) for shape, _ in self.totals
        ]  # doubles even for float32, as they add up many entries
        sums = np.empty(chunks, self.dtype)
        arrays = [*given, *outputs, *totals, sums]
        pointers = (ctypes.c_void_p * len(arrays))(*[array.ctypes.data for array in arrays])

        def run(begin: int, end: int) -> None:
            if self.function(pointers, self.slices, begin, end, begin // self.chunk):
                raise MemoryError

        # Each chunk has totals of its own, even where one thread computes everything.
        run_chunks(run, self.slices, self.chunk, self.threads if self.is_shared else 1)
        checks.append(np.add.reduce(sums))
        return [
            fold.reduce(total, axis=0).astype(self.dtype)
            for total, (_, fold) in zip(totals, self.totals, strict=True)
        ]


def _readable(value: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """Return an array as C reads it: row by row, each entry aligned for its type."""
    array = np.ascontiguousarray(value, dtype)
    return array if array.flags.aligned else array.copy()


_TYPES_OF_NUMBERS = {
    "float64": "#define INFINITY ((real)__builtin_inf())\n#define real double\ntypedef unsigned "
    "long long g_bits;",
    "float32": "#undef real\n#define real float\ntypedef unsigned g_bits;",
}
_HEAD = re.compile(r"^G_INLINE real \w+\([^)]*\)", re.MULTILINE)
_NAME = re.compile(r"\b([a-z]\w*)\(")


@cache
def functions_in_c(precision: str) -> str:
    """Return the functions that texts of operations call.

    In programs on float32, those of float64 begin with ``d_``.
    """
    own, *files_ = (
        ("double.h", "composed.h", "special.h")
        if precision == "float64"
        else ("float.h", "composed.h")
    )
    composed = _of_programs("\n".join(map(_text_of, files_)))
    heads = "".join(f"{head};\n" for head in _HEAD.findall(composed))
    found = "\n".join(
        [_TYPES_OF_NUMBERS[precision], _text_of("common.h"), heads, _text_of(own), composed]
    )
    return (
        found
        if precision == "float64"
        else re.sub(r"\bg_", "d_", functions_in_c("float64")) + found
    )


def _text_of(file: str) -> str:
    return (files("gradcli.plans.native") / file).read_text(encoding="utf-8")


def _of_programs(composed: str) -> str:
    """Turn functions of exported code into functions of programs.

    They get the names that programs use, and work for either type of numbers.
    """
    return _NAME.sub(
        r"g_\1(", composed.replace("static double", "G_INLINE real").replace("double ", "real ")
    )


def in_c(nests: Sequence[Nest], precision: str, threads: int | None) -> list[CompiledNest]:
    """Functions of all nests. Raises NativeError where there is no compiler."""
    writers = [NestWriter(nest, f"nest{place}") for place, nest in enumerate(nests)]
    texts = [writer.text() for writer in writers]
    code = library("\n".join([functions_in_c(precision), *texts]))
    functions = [getattr(code, writer.function) for writer in writers]
    return [
        CompiledNest(*made, precision, threads)
        for made in zip(writers, functions, texts, strict=True)
    ]
