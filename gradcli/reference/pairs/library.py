"""The compiled loops, their instructions, and running them on several threads."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from gradcli.errors import NativeError
from gradcli.plans.native import compiler
from gradcli.reference.pairs.constants import tables

BLOCK, AXES = 256, 8  # as in machine.c
LOAD, GIVE = 0, 1
STORE, SUM, MAX, MIN, PLACE, ROUGHLY = -1, 0, 1, 2, 3, 4
_NAMES = """
load give add sub mul div pow neg abs sign sqrt cbrt exp expm1 log log1p sin cos tan atan sinh cosh tanh floor ceil trunc maximum minimum
less less_equal equal not_equal known both either not where widen rough_where rough_add rough_sub rough_mul rough_div rough_neg rough_abs
rough_sqrt rough_maximum rough_minimum rough_less rough_less_equal rough_equal rough_not_equal finite single sincos
"""
INSTRUCTIONS = {name: number for number, name in enumerate(_NAMES.split())}


class Array(ctypes.Structure):
    """An array as the loops see it."""

    _fields_ = (
        ("high", ctypes.c_void_p), ("low", ctypes.c_void_p), ("strides", ctypes.c_int64 * AXES), ("dense", ctypes.c_int64),
    )  # fmt: skip


@cache
def library() -> Any:
    """The loops; None where there is no compiler."""
    if compiler.found() is None:
        return None
    here = resources.files(__package__)
    try:
        loaded = compiler.library("\n".join((here / name).read_text("utf-8") for name in ("pairs.h", "machine.c")))
    except NativeError:
        return None
    numbers = np.array(tables())
    loaded.set_tables(address(numbers))
    return loaded


def address(array: np.ndarray | None) -> ctypes.c_void_p:
    return ctypes.c_void_p(None if array is None else array.ctypes.data)


@cache
def _threads() -> ThreadPoolExecutor:
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return ThreadPoolExecutor(count, thread_name_prefix="pairs")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)


def in_parts(work: Callable[[int], Any], count: int) -> list[Any]:
    """Some parts of a work, whose results do not depend on who does which."""
    return [work(0)] if count == 1 else list(_threads().map(work, range(count)))


def bounds(size: int, parts: int, unit: int) -> list[int]:
    """Where parts of about the same size begin and end, in whole units."""
    units = -(-size // unit)
    return [min(size, units * i // parts * unit) for i in range(parts + 1)]


def multiplied(x: Sequence[np.ndarray], y: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The product of two matrices, each the high and the low parts of its entries."""
    (m, n), p = x[0].shape, y[0].shape[1]
    if library() is None:
        from gradcli.reference.pairs import blocks

        return blocks.multiplied((x[0], x[1]), (y[0], y[1]))
    given = [np.ascontiguousarray(part) for part in (*x, *y)]
    found = np.empty((m, p)), np.empty((m, p))
    parts = min(m, 8) if m * n * p > 1 << 16 else 1
    edges = bounds(m, parts, 1)

    def some(i: int) -> None:
        numbers = [ctypes.c_int64(edges[i]), ctypes.c_int64(edges[i + 1])]
        library().multiply(ctypes.c_int64(n), ctypes.c_int64(p), *map(address, (*given, *found)), *numbers)

    in_parts(some, parts)
    return found


def put(places: np.ndarray, high: np.ndarray, low: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Entries added up at their places."""
    if library() is None:
        from gradcli.reference.pairs import blocks

        return blocks.put(places, high, low, size)
    found = np.zeros(size), np.zeros(size)
    places = np.ascontiguousarray(places, np.int64)
    given = [np.ascontiguousarray(part, np.float64) for part in (high, low)]
    library().put(ctypes.c_int64(places.size), *map(address, (places, *given, *found)))
    return found
