"""Tensors as text, in PyTorch's form: the same columns, the same choice of notation, the same suffixes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gradcli.tensors.core import dtypes
from gradcli.tensors.core.entries import as_numbers
from gradcli.tensors.core.levels import tangent_of
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.tensor import Tensor


@dataclass
class _Options:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


OPTIONS = _Options()
_PROFILES = {
    "default": _Options(),
    "short": _Options(precision=2, edgeitems=2),
    "full": _Options(threshold=math.inf),
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
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    if profile is not None:
        vars(OPTIONS).update(vars(_PROFILES[profile]))
    vars(OPTIONS).update({name: option for name, option in given.items() if option is not None}, sci_mode=sci_mode)


def get_printoptions() -> dict[str, Any]:
    return asdict(OPTIONS)


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """The same inside a ``with`` block."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


class _Column:
    """One notation and one width for all entries."""

    def __init__(self, array: np.ndarray) -> None:
        self.floating = array.dtype.kind in dtypes.FLOATS
        self.whole, self.scientific, self.width = True, False, 1
        flat = array.reshape(-1)
        if not self.floating:
            self.width = max((len(str(v)) for v in flat.tolist()), default=1)
            return
        finite = flat[np.isfinite(flat) & (flat != 0)].astype(np.float64)
        if not finite.size:
            return
        sizes = np.abs(finite)
        low, high = float(sizes.min()), float(sizes.max())
        self.whole = bool((finite == np.ceil(finite)).all())
        wide = high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4
        self.scientific = wide if OPTIONS.sci_mode is None else OPTIONS.sci_mode
        self.width = max(len(self._number(v)) for v in finite.tolist())
        if self.whole and not self.scientific:
            self.width = max(len(f"{v:.0f}") + 1 for v in finite.tolist())

    def _number(self, value: float) -> str:
        if self.scientific:
            return f"{value:.{OPTIONS.precision}e}"
        return f"{value:.0f}" if self.whole else f"{value:.{OPTIONS.precision}f}"

    def format(self, value: Any) -> str:
        if not self.floating:
            return str(value).rjust(self.width)
        text = self._number(value)
        if self.whole and not self.scientific and math.isfinite(value):
            text += "."
        return text.rjust(self.width)


def contents(array: np.ndarray, indent: int) -> str:
    """The entries, in brackets."""
    if not array.size:
        return "[]"
    summarize = array.size > OPTIONS.threshold
    column = _Column(_shown(array) if summarize else array)
    return _text(array, indent, summarize, column)


def _shown(array: np.ndarray) -> np.ndarray:
    """The entries that a summary shows."""
    edge = OPTIONS.edgeitems
    for axis, n in enumerate(array.shape):
        if n > 2 * edge:
            array = np.take(array, [*range(edge), *range(n - edge, n)], axis=axis)
    return array


def _text(array: np.ndarray, indent: int, summarize: bool, column: _Column) -> str:
    if not array.ndim:
        return column.format(as_numbers(array))
    edge = OPTIONS.edgeitems
    short = summarize and len(array) > 2 * edge
    ends = [*array[:edge], *array[len(array) - edge :]] if short else array
    if array.ndim == 1:
        words = [column.format(as_numbers(np.asarray(value))) for value in ends]
        if short:
            words.insert(edge, " ..." if edge else "...")
        width = max(1, (OPTIONS.linewidth - indent) // (column.width + 2))
        rows = [", ".join(words[i : i + width]) for i in range(0, len(words), width)]
        return "[" + (",\n" + " " * (indent + 1)).join(rows) + "]"
    rows = [_text(row, indent + 1, summarize, column) for row in ends]
    if short:
        rows.insert(edge, "...")
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(rows) + "]"


def shown(x: Tensor, *, tensor_contents: Any = None) -> str:
    """A tensor's repr."""
    try:
        node = x.grad_fn
        label = None if node is None else node.label
    except RuntimeError:  # a view that the graph could not follow what was written through
        label = "Invalid"
    text = show(x.array, label, x.requires_grad)
    for level in state.forward_levels[-1:]:
        tangent = tangent_of(x, level)
        if tangent is not None:
            text = f"{text[:-1]}, tangent={tangent!r})"
    return f"Parameter containing:\n{text}" if x._is_param else text


def show(array: np.ndarray, grad_fn: str | None, requires_grad: bool, prefix: str = "tensor(") -> str:
    """An array as the tensor of its entries, of its node's name, or of one that requires a gradient."""
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
    text = prefix + contents(array, len(prefix))
    length = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if length + len(suffix) + 2 > OPTIONS.linewidth:
            text += ",\n" + " " * len(prefix) + suffix
            length = len(prefix) + len(suffix)
        else:
            text += ", " + suffix
            length += len(suffix) + 2
    return text + ")"
