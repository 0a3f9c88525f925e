"""Calling nests that are compiled, chunk by chunk, on several threads."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.ops.calling.promotion import FLOAT, numpy_dtype
from gradcli.plans.axes import fold_of
from gradcli.plans.native.writer import NestWriter
from gradcli.plans.threads import in_turn, together

_CHUNKS = 64  # of slices: each has totals of its own, which are added up in order, however many threads there are
_SHARE = 8  # of its totals' entries, a nest has so many times more, unless there is one chunk alone
_WORTH = 1 << 16  # entries times operations, for which it pays to wake a thread


class CompiledNest:
    """A nest as a function of arrays."""

    def __init__(self, writer: NestWriter, function: Any, text: str, precision: str, threads: int | None) -> None:
        nest = writer.nest
        self.__name__, self.text = writer.function, text
        self.threads = threads
        self.function = function
        self.function.restype = ctypes.c_int
        self.function.argtypes = [ctypes.c_void_p, *[ctypes.c_longlong] * 4]
        self.slices = nest.outer.extent
        self.kinds = [numpy_dtype(node.kind, precision) for node in nest.inputs]
        self.dtype = numpy_dtype(FLOAT, precision)
        self.totals = [(node.shape, fold_of(view.item).ufunc) for node, view in nest.totals.items()]
        self.is_shared = nest.work >= _WORTH
        most = max((math.prod(shape) for shape, _ in self.totals), default=1)
        largest = max(item.work for item in writer.layout.computed)
        blocks = -(-self.slices // writer.layout.block)
        chunks = max(1, min(_CHUNKS, blocks, largest // (_SHARE * most)))
        self.chunk = -(-blocks // chunks) * writer.layout.block

    def __call__(self, inputs: Sequence[Any], outputs: Sequence[np.ndarray], checks: list[Any]) -> list[Any]:
        """The totals. Results are stored in ``outputs``; sums of them are added to ``checks``."""
        given = [_readable(value, dtype) for value, dtype in zip(inputs, self.kinds, strict=True)]
        chunks = -(-self.slices // self.chunk)
        totals = [np.empty((chunks, *shape)) for shape, _ in self.totals]  # of many entries: doubles, also for floats
        sums = np.empty(chunks, self.dtype)
        arrays = [*given, *outputs, *totals, sums]
        pointers = (ctypes.c_void_p * len(arrays))(*[array.ctypes.data for array in arrays])

        def run(begin: int, end: int, step: int) -> tuple[()]:
            for first in range(begin, end, step):  # each chunk has totals of its own, also where one thread does all
                if self.function(pointers, self.slices, first, min(first + step, end), first // self.chunk):
                    raise MemoryError
            return ()

        if self.is_shared and chunks > 1:
            together(run, self.slices, self.chunk, self.threads)
        else:
            in_turn(run, self.slices, self.chunk)
        checks.append(np.add.reduce(sums))
        return [fold.reduce(total, axis=0).astype(self.dtype) for total, (_, fold) in zip(totals, self.totals, strict=True)]


def _readable(value: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """An array as C reads it: row by row, each entry at an address that its type may have."""
    array = np.ascontiguousarray(value, dtype)
    return array if array.flags.aligned else array.copy()
