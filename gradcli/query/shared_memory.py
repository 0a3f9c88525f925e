"""Whether entries of arrays lie in the same memory."""

from __future__ import annotations

import numpy as np

_WORK = 100_000  # steps in which it is found out whether arrays overlap


def overlap(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays have memory in common. What cannot be told in reasonable time counts as such."""
    if not np.may_share_memory(a, b):
        return False
    try:
        return bool(np.shares_memory(a, b, max_work=_WORK))  # type: ignore[arg-type]
    except (np.exceptions.TooHardError, OverflowError):
        return True


def overlaps_itself(array: np.ndarray) -> bool:
    """Whether two entries may lie in one place, as in a broadcast array."""
    reach = array.itemsize
    for stride, extent in sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if stride < reach:
            return bool(array.size)
        reach += stride * (extent - 1)
    return False
