"""One loop: its instructions, its arrays and its parts."""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.reference.pairs import library as native
from gradcli.reference.pairs.deferred import OutOfRange, Shape, Wide

_MANY = 1 << 15  # entries from which on a loop has parts
_PARTS = 8  # whatever the number of threads is
_HOW = {"sum": native.SUM, "max": native.MAX, "min": native.MIN, "place": native.PLACE}
_START = {"sum": 0.0, "max": -np.inf, "min": np.inf, "place": -np.inf}
_BESIDE = {"sin": "cos", "cos": "sin"}  # what costs nothing more
_SHARE = 16  # of the entries that a reduction leaves, at most, for parts to have cells of their own


class Result(NamedTuple):
    """What a loop gives: entries, or the cells of a reduction."""

    node: Wide
    high: np.ndarray
    low: np.ndarray
    how: int


def run(shape: Shape, cone: Sequence[Wide], wanted: Sequence[Wide]) -> list[Any]:
    """The doubles of what is wanted of a loop."""
    if native.library() is None:
        from gradcli.reference.pairs import blocks

        return blocks.run(shape, cone, wanted)
    program = Program(cone, wanted)
    results = [_result(x) for x in wanted]
    size = int(np.prod(shape, dtype=np.int64))
    views = [_strides(x, shape) for x in program.loads] + [_result_strides(r, shape) for r in results]
    axes, strides = _collapsed(shape, views)
    if len(axes) > native.AXES:
        raise OutOfRange("a loop over so many axes")
    parts, unit, own = _parts(size, axes, strides[len(program.loads) :], results)
    edges = native.bounds(size, parts, unit)
    cells = [[r] + [_copy(r) for _ in range(parts - 1)] if alone else [r] * parts for r, alone in zip(results, own, strict=True)]
    numbers = np.array(program.numbers or [0.0, 0.0])
    code, extents = np.array(program.code, np.int32), (ctypes.c_int64 * native.AXES)(*axes)

    def part(i: int) -> int:
        arrays = [_array(*x.doubles, s, axes) for x, s in zip(program.loads, strides, strict=False)]
        arrays += [_array(c[i].high, c[i].low, s, axes) for c, s in zip(cells, strides[len(program.loads) :], strict=True)]
        table = (native.Array * max(1, len(arrays)))(*arrays)
        whole = ctypes.c_int64
        failed: int = native.library().run_program(
            whole(len(code) // 5), native.address(code), whole(program.blocks), whole(len(numbers) // 2 if program.numbers else 0),
            native.address(numbers), table, whole(len(axes)), extents, whole(edges[i]), whole(edges[i + 1]),
        )  # fmt: skip
        return failed

    if any(native.in_parts(part, parts)):
        raise MemoryError
    for (first, *others), alone in zip(cells, own, strict=True):
        for other in others if alone else ():
            halves = map(native.address, (first.high, first.low, other.high, other.low))
            native.library().merge(ctypes.c_int64(first.how), *halves, ctypes.c_int64(first.high.size))
    return [(r.high, r.low if r.node.kind == "pair" or r.how == native.PLACE else None) for r in results]


def _how(x: Wide) -> int:
    """How the results of a loop come to be: rough numbers and truths are joined as doubles."""
    how = _HOW.get(x.what, native.STORE)
    rough = how in (native.SUM, native.MAX, native.MIN) and x.operands[0].kind != "pair"
    return how + native.ROUGHLY if rough else how


def _result(x: Wide) -> Result:
    if x.what in _HOW:
        return Result(x, np.full(x.shape, _START[x.what]), np.zeros(x.shape), _how(x))
    return Result(x, np.empty(x.shape), np.empty(x.shape if x.kind == "pair" else 0), native.STORE)


def _copy(result: Result) -> Result:
    start = _START[result.node.what]
    return result._replace(high=np.full(result.high.shape, start), low=np.zeros(result.low.shape))


def _strides(x: Wide, shape: Shape) -> tuple[int, ...]:
    """By how many doubles the entries of an operand are apart, along the axes of a loop."""
    high, _ = x.doubles
    return tuple(s // 8 for s in np.broadcast_to(high, shape).strides)


def _result_strides(result: Result, shape: Shape) -> tuple[int, ...]:
    return tuple(0 if n != m else s // 8 for n, m, s in zip(shape, result.high.shape, result.high.strides, strict=True))


def _collapsed(shape: Shape, views: Sequence[tuple[int, ...]]) -> tuple[list[int], list[list[int]]]:
    """Axes that follow each other in all arrays as one, and none of a single entry."""
    axes: list[int] = []
    strides: list[list[int]] = [[] for _ in views]
    for d in reversed(range(len(shape))):
        if shape[d] == 1:
            continue
        if axes and all(view[d] == s[0] * axes[0] for view, s in zip(views, strides, strict=True)):
            axes[0] *= shape[d]
            continue
        axes.insert(0, shape[d])
        for view, s in zip(views, strides, strict=True):
            s.insert(0, view[d])
    return (axes, strides) if axes else ([1], [[0] for _ in views])


def _parts(size: int, axes: Sequence[int], strides: Sequence[Sequence[int]], results: Sequence[Result]) -> tuple[int, int, list[bool]]:
    """In how many parts, of what unit, a loop is run; and which results each part has cells of its own for."""
    if size < _MANY:
        return 1, 1, [False] * len(results)
    unit, own = native.BLOCK, []
    for result, s in zip(results, strides, strict=True):
        if result.how == native.STORE:
            own.append(False)
        elif result.high.size * _SHARE <= size // _PARTS:
            own.append(True)
        elif s[0]:
            # parts that end where the first axis goes on have no cell in common
            unit = int(np.prod(axes[1:], dtype=np.int64))
            own.append(False)
        else:
            return 1, 1, [False] * len(results)
    return _PARTS, unit, own


def _array(high: np.ndarray, low: np.ndarray | None, strides: Sequence[int], axes: Sequence[int]) -> native.Array:
    dense, step = True, 1
    for n, s in zip(reversed(axes), reversed(strides), strict=True):
        dense, step = dense and s == step, step * n
    single = not any(strides)
    given = (ctypes.c_int64 * native.AXES)(*strides)
    return native.Array(high.ctypes.data, low.ctypes.data if low is not None and low.size else None, given, 2 if single else int(dense))


class Program:
    """The instructions of a loop, with registers that are used again when nothing needs them any more.

    loads    the arrays that are read
    numbers  constants, the high and the low part of each
    blocks   registers that are no constants
    """

    def __init__(self, cone: Sequence[Wide], wanted: Sequence[Wide]) -> None:
        self.code: list[int] = []
        self.loads: list[Wide] = []
        self.numbers: list[float] = []
        self.blocks = 0
        self._free: list[int] = []
        self._constants: dict[tuple[float, float], int] = {}
        self._at: dict[Wide, int] = {}
        inside = set(cone)
        last = {o: i for i, x in enumerate(cone) for o in x.operands}
        ends: dict[Wide, list[int]] = {}
        for number, x in enumerate(wanted):
            ends.setdefault(x.operands[0] if x.what in _HOW else x, []).append(number)
        for i, x in enumerate(cone):
            for o in x.operands:
                if o not in inside:
                    self._read(o)
            if x not in self._at:
                self._computed(x, inside)
            self._given(ends.pop(x, ()), x, wanted)
            for o in {*x.operands, x}:
                if last.get(o, -1) <= i and self._at[o] >= 0 and o not in ends:
                    self._free.append(self._at[o])
        for x, numbers in ends.items():
            self._read(x)
            self._given(numbers, x, wanted)
        self._settle()

    def _read(self, x: Wide) -> None:
        """What is there before the loop."""
        if x in self._at:
            return
        number = _number(x)
        if number is not None:
            self._at[x] = self._constant(number)
            return
        self._at[x] = self._register()
        self.code += [native.LOAD, self._at[x], len(self.loads), 0, 0]
        self.loads.append(x)

    def _computed(self, x: Wide, inside: Collection[Wide]) -> None:
        places = [self._at[o] for o in x.operands]
        self._at[x] = self._register()
        other = _BESIDE.get(x.what)
        twin = None if other is None else x.numbers.known.get((x.kind, x.shape, other, x.operands, None))
        if twin is None or twin not in inside:
            self.code += [native.INSTRUCTIONS["widen" if x.what == "rounded" else x.what], self._at[x], *[*places, 0, 0][:3]]
            return
        self._at[twin] = self._register()
        both = (x, twin) if x.what == "sin" else (twin, x)
        self.code += [native.INSTRUCTIONS["sincos"], self._at[both[0]], places[0], self._at[both[1]], 0]

    def _given(self, numbers: Sequence[int], x: Wide, wanted: Sequence[Wide]) -> None:
        """An operand of reductions, or what is stored itself."""
        for number in numbers:
            how, place = _how(wanted[number]), self._at[x]
            self.code += [native.GIVE, 0, how, -number - 1, place]

    def _register(self) -> int:
        if self._free:
            return self._free.pop()
        self.blocks += 1
        return self.blocks - 1

    def _constant(self, number: Any) -> int:
        place = self._constants.setdefault(number, len(self._constants))
        if 2 * place == len(self.numbers):
            self.numbers += number
        return -place - 1

    def _settle(self) -> None:
        """Constants stand behind the other registers, results behind what is loaded."""
        for i in range(0, len(self.code), 5):
            for k in range(1, 5):
                value = self.code[i + k]
                if value < 0 and not (self.code[i] == native.GIVE and k == 2):
                    self.code[i + k] = (len(self.loads) if self.code[i] == native.GIVE and k == 3 else self.blocks) - value - 1


def _number(x: Wide) -> tuple[float, float] | None:
    """The number that all entries are."""
    high, low = x.doubles if x.what in ("number", "array", "view") else (np.empty(0), None)
    if high.size and (high.size == 1 or not any(high.strides)):
        return float(high.flat[0]), 0.0 if low is None else float(low.flat[0])
    return None
