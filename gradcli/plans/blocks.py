"""Writing a loop over blocks: registers are given by liveness, so that a handful of buffers serves any expression."""

from __future__ import annotations

import math
from collections.abc import Iterable

from gradcli.graph.nodes import Expr
from gradcli.ops.calling.promotion import FLOAT, numpy_dtype
from gradcli.ops.elementwise import trigonometric
from gradcli.ops.reductions import sums
from gradcli.plans import sines
from gradcli.plans.registers import ROOM, SHARED_ROOM, give, places, take
from gradcli.plans.schedule import Loop, additions
from gradcli.plans.source import Source, fills_buffers
from gradcli.plans.threads import in_turn, together

BLOCK_SIZE = 12 << 10  # entries of a block: more would save no more calls worth mentioning, and temporaries of 128 kB come from mmap
_WORTH = 24  # additions on such blocks, in whose time it pays to wake a thread
SHARED_BLOCK_SIZE = 1 << 16  # entries of a block for several threads: they hand over the interpreter's lock at every call


class LoopWriter:
    """The text of one loop."""

    def __init__(self, source: Source, loop: Loop, checks: str | None, ending: Iterable[Expr]) -> None:
        self.source = source
        self.loop = loop
        self.ending = list(ending)  # inputs in arrays of ours that nobody reads after this loop
        self.checks = checks  # the list that takes the sizes of results, to be seen whether all are finite
        self.inside: dict[Expr, str] = {}
        self.body: list[str] = []
        self.registers: list[tuple[str, str]] = []  # every register with its kind
        self.free: dict[str, list[str]] = {}
        self.held: dict[Expr, str] = {}  # registers of nodes
        self.written: set[Expr] = set()  # sines and cosines that came with their partners
        self.last_use = self._last_uses()

    def _last_uses(self) -> dict[Expr, int]:
        uses: dict[Expr, int] = {}
        for place, node in enumerate(self.loop.nodes):
            for operand in node.operands:
                if operand is not None:
                    uses[operand] = place
        for total in self.loop.sums:
            uses[total.operand] = len(self.loop.nodes)
        return uses

    def write(self, stored: Iterable[Expr]) -> None:
        """The loop; ``stored`` are roots among its results, whose arrays exist already."""
        source, loop = self.source, self.loop
        parameters = []
        for node in loop.inputs:
            if node.shape and loop.sliced(node):
                parameters.append((self._whole(source.name(node)), self._inner(node, "x")))
            else:
                self.inside[node] = source.name(node)
        existing = set(stored)
        for node in loop.stored:
            if node not in existing:
                source.names[node] = source.new("v")
                source.add(f"{source.names[node]} = {self._array_for(node)}")
            parameters.append((self._whole(source.names[node]), self._inner(node, "y")))
        lists = {node: source.new("p") for node in loop.sums}
        self._operations()
        for node in loop.sums:
            self.body.append(f"{lists[node]}.append(total({self.inside[node.operand]}, None))")
        checked = [node for node in loop.stored if node.kind == FLOAT] if self.checks is not None else []
        sizes = [source.new("q")] if checked else []
        for node in checked:  # by a sum: the faster vdot is of BLAS, whose own threads get into the way of ours
            self.body.append(f"{sizes[0]}.append(total({self.inside[node]}, None))")
        self._around(parameters, [*lists.values(), *sizes])
        for node in loop.sums:
            self._total(node, lists[node])
        if sizes:
            source.add(f"{self.checks} += {sizes[0]}")

    def _array_for(self, node: Expr) -> str:
        """An array for a stored result: that of an input which no operation of a block reads after it, or a new one."""
        place = self.loop.nodes.index(node)
        for old in self.ending:
            if (old.shape, old.kind) == (node.shape, node.kind) and self.last_use[old] <= place:
                self.ending.remove(old)
                return self.source.name(old)
        return self.source.array(node)

    def _whole(self, name: str) -> str:
        if not self.loop.flat:
            return name
        view = self.source.new("w")
        self.source.add(f"{view} = {name}.reshape(-1)")
        return view

    def _inner(self, node: Expr, letter: str) -> str:
        self.inside[node] = self.source.new(letter)
        return self.inside[node]

    def _around(self, parameters: list[tuple[str, str]], lists: list[str]) -> None:
        """The function of some blocks in a row, which gives what they append to the lists, and its call for all of them."""
        source = self.source
        rows, *others = self.loop.extent
        step, shared = self._step(8 * (len(parameters) + len(self.registers)))
        name = source.new("blocks")
        source.add(f"def {name}(begin, end, step):")
        for made in lists:
            source.add(f"{made} = []", 2)
        memory = self._memory((min(step, rows), *others))
        source.add("for i in range(begin, end, step):", 2)
        for outer, inner in parameters:
            source.add(f"{inner} = {outer}[i:i + step]", 3)
        for line in self.body:
            source.add(line, 3)
        if memory is not None:
            source.add(f"{source.constant(give)}({memory})", 2)
        given = "".join(f"{made}, " for made in lists)
        source.add(f"return ({given})", 2)
        several = shared and source.threads != 1
        most = f", {source.threads}" if several and source.threads else ""
        source.add(f"{f'{given}= ' if lists else ''}{source.constant(together if several else in_turn)}({name}, {rows}, {step}{most})")

    def _step(self, size: int) -> tuple[int, bool]:
        """The rows of a block, and whether threads share the blocks; ``size`` bytes are at work for each entry."""
        rows, *others = self.loop.extent
        row = math.prod(others)
        most = max(1, min(SHARED_BLOCK_SIZE, SHARED_ROOM // (4 * size)))
        blocks = rows * row // most
        # a block is a row at least, and each thread has registers of its own
        shared = most >= SHARED_BLOCK_SIZE // 2 and row <= most and blocks >= 4 and blocks * sum(map(additions, self.loop.nodes)) >= _WORTH
        return max(1, (most if shared else min(BLOCK_SIZE, ROOM // size)) // row), shared

    def _memory(self, shape: tuple[int, ...]) -> str | None:
        """The registers as arrays of a shape, or of its first rows, in one piece of memory."""
        if not self.registers:
            return None
        source = self.source
        dtypes = [numpy_dtype(kind, source.precision) for _, kind in self.registers]
        begins = places([math.prod(shape) * dtype.itemsize for dtype in dtypes])
        memory = source.new("m")
        source.add(f"{memory} = {source.constant(take)}({begins[-1]})", 2)
        for (register, _), dtype, begin in zip(self.registers, dtypes, begins, strict=False):
            end = begin + math.prod(shape) * dtype.itemsize
            shaped = f".reshape({shape})" if len(shape) > 1 else ""
            source.add(f"{register} = {memory}[{begin}:{end}].view({source.constant(dtype)}){shaped}[:step]", 2)
        return memory

    def _total(self, node: Expr, parts: str) -> None:
        source = self.source
        source.names[node] = name = source.new("v")
        divided = f" / {math.prod(self.loop.shape)}" if node.op is sums.mean else ""
        shaped = f".reshape({node.shape})" if node.shape else ""
        source.add(f"{name} = (total({parts}, None, dtype){divided}){shaped}")

    # -- one block ----------------------------------------------------------------------------------------------

    def _operations(self) -> None:
        stored = set(self.loop.stored)
        sines = self._sines()
        for place, node in enumerate(self.loop.nodes):
            if node in self.written:
                continue  # came with its partner
            if node in sines:
                self._sine_and_cosine(sines[node], place, stored)
            else:
                self._operation(node, place, stored)

    def _operation(self, node: Expr, place: int, stored: set[Expr]) -> None:
        operands = ["None" if o is None else self._operand(o) for o in node.operands]
        self._release(node, place)
        if fills_buffers(node):
            self.body.append(self.source.call(node, operands, self._target(node, stored)))
        elif node in stored:
            self.body.append(f"{self.inside[node]}[...] = {self.source.call(node, operands)}")
        else:
            self.inside[node] = name = self.source.new("t")
            self.body.append(f"{name} = {self.source.call(node, operands)}")

    def _operand(self, node: Expr) -> str:
        return self.inside.get(node) or self.source.name(node)

    def _release(self, node: Expr, place: int) -> None:
        """Registers of operands that nobody reads after this node: its result may take one over."""
        for operand in dict.fromkeys(node.operands):
            if operand is not None and operand in self.held and self.last_use[operand] == place:
                self.free.setdefault(operand.kind, []).append(self.held[operand])

    def _target(self, node: Expr, stored: set[Expr]) -> str:
        if node not in stored:
            self.inside[node] = self.held[node] = self._register(node.kind)
        return self.inside[node]

    def _register(self, kind: str) -> str:
        free = self.free.setdefault(kind, [])
        if free:
            return free.pop()
        name = self.source.new("r")
        self.registers.append((name, kind))
        return name

    def _sines(self) -> dict[Expr, Expr]:
        """Sines and cosines that are worth computing together, each with their argument."""
        if not self.source.assume_finite or self.source.precision != "float64":
            return {}
        return {node: node.operand for node in self.loop.nodes if node.op in (trigonometric.sin, trigonometric.cos)}

    def _sine_and_cosine(self, angle: Expr, place: int, stored: set[Expr]) -> None:
        pair = {node.op: node for node in self.loop.nodes if node.operand is angle and node.op in (trigonometric.sin, trigonometric.cos)}
        targets = []
        for op in (trigonometric.sin, trigonometric.cos):
            node = pair.get(op)
            targets.append("None" if node is None else self._target(node, stored))
            if node is not None:
                self.written.add(node)
        scratch = [self._register(FLOAT) for _ in range(sines.SCRATCH)]
        function = self.source.constant(sines.way())
        self.body.append(f"{function}({', '.join([self._operand(angle), *targets, *scratch])})")
        self.free[FLOAT] += scratch
        if angle in self.held and self.last_use[angle] < len(self.loop.nodes):
            later = [i for i, node in enumerate(self.loop.nodes) if i > place and angle in node.operands and node not in pair.values()]
            self.last_use[angle] = max(later, default=place)  # the partner, which comes later in the order, has read it now
            if not later:
                self.free[FLOAT].append(self.held[angle])
