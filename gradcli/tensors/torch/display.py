"""Tensors as text, in PyTorch's form.

They have the same columns, the same choice of notation, and the same suffixes.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from gradcli.tensors.core import dtypes
from gradcli.tensors.core.dtypes import FLOATS, as_numbers
from gradcli.tensors.core.tensor import Tensor

_DEFAULT: dict[str, Any] = {
    "precision": 4,
    "threshold": 1000,
    "edgeitems": 3,
    "linewidth": 80,
    "sci_mode": None,
}
OPTIONS = SimpleNamespace(**_DEFAULT)
_PROFILES: dict[str, dict[str, Any]] = {
    "default": {},
    "short": {"precision": 2, "edgeitems": 2},
    "full": {"threshold": math.inf},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print from here on, as in PyTorch."""
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    if profile is not None:
        vars(OPTIONS).update(_DEFAULT | _PROFILES[profile])
    vars(OPTIONS).update(
        {name: option for name, option in given.items() if option is not None}, sci_mode=sci_mode
    )


class _Column:
    """One notation and one width for all entries."""

    def __init__(self, array: np.ndarray) -> None:
        self.floating = array.dtype.kind in FLOATS
        self.whole = True
        self.scientific = False
        self.width = 0
        flat = array.reshape(-1)
        if self.floating:
            flat = flat[np.isfinite(flat) & (flat != 0)].astype(np.float64)
        if self.floating and flat.size:
            sizes = np.abs(flat)
            low, high = float(sizes.min()), float(sizes.max())
            self.whole = bool((flat == np.ceil(flat)).all())
            wide = high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4
            self.scientific = wide if OPTIONS.sci_mode is None else OPTIONS.sci_mode
        self.width = max((len(self.format(value)) for value in flat.tolist()), default=1)

    def format(self, value: Any) -> str:
        if not self.floating:
            text = str(value)
        elif self.scientific:
            text = f"{value:.{OPTIONS.precision}e}"
        elif self.whole:
            text = f"{value:.0f}." if math.isfinite(value) else str(value)
        else:
            text = f"{value:.{OPTIONS.precision}f}"
        return text.rjust(self.width)


def contents(array: np.ndarray) -> str:
    """Return the entries, in brackets."""
    summarize = array.size > OPTIONS.threshold
    column = _Column(_summary_entries(array) if summarize else array)
    text = np.array2string(
        array, separator=", ", prefix=_PREFIX, threshold=OPTIONS.threshold, edgeitems=OPTIONS.edgeitems,
        # PyTorch does not count the brackets
        max_line_width=OPTIONS.linewidth + array.ndim - 1,
        formatter={"all": lambda entry: column.format(as_numbers(np.asarray(entry)))},
    )  # fmt: skip
    return text.replace(", ...", ",  ...")


def _summary_entries(array: np.ndarray) -> np.ndarray:
    """Return the entries that a summary shows."""
    edge = OPTIONS.edgeitems
    for axis, n in enumerate(array.shape):
        if n > 2 * edge:
            array = np.take(array, [*range(edge), *range(n - edge, n)], axis=axis)
    return array


def text_of_tensor(x: Tensor, *, tensor_contents: Any = None) -> str:
    """Return a tensor's repr."""
    try:
        node = x.grad_fn
        label = None if node is None else node.label
    except RuntimeError:  # a view whose memory was written to in a way that the graph cannot follow
        label = "Invalid"
    text = show(x.array, label, x.requires_grad)
    return f"Parameter containing:\n{text}" if x._is_param else text


_PREFIX = "tensor("


def show(array: np.ndarray, grad_fn: str | None, requires_grad: bool) -> str:
    """Return the text of an array, shown as the tensor of its entries.

    The tensor has a node of this name, or requires a gradient.
    """
    suffixes = []
    kind = dtypes.of_numpy(array.dtype)
    default = dtypes.get_default_dtype()
    if not array.size:
        if array.ndim != 1:
            suffixes.append(f"size={array.shape}")
        if kind is not default:
            suffixes.append(f"dtype={kind}")
    elif kind not in (default, dtypes.int64, dtypes.bool_):
        suffixes.append(f"dtype={kind}")
    if grad_fn is not None:
        suffixes.append(f"grad_fn=<{grad_fn}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    text = _PREFIX + contents(array)
    length = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if length + len(suffix) + 2 > OPTIONS.linewidth:
            text += f",\n{' ' * len(_PREFIX)}{suffix}"
            length = len(_PREFIX) + len(suffix)
        else:
            text += f", {suffix}"
            length += len(suffix) + 2
    return f"{text})"
