"""Tensors as text, in PyTorch's form: the same columns, the same choice of notation, the same
suffixes.
"""

from __future__ import annotations

import io
import itertools
import math
import pickle
import sys
import zipfile
from collections import OrderedDict
from pathlib import Path
from types import NoneType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from gradcli.tensors.core import dtypes
from gradcli.tensors.core.dtypes import FLOATS, NAMES, Size, as_numbers
from gradcli.tensors.core.modes import check_device, device
from gradcli.tensors.core.tensor import Tensor, in_order
from gradcli.tensors.transforms.derivatives import unpack_dual

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
        self.whole, self.scientific, self.width = True, False, 0
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
    """The entries, in brackets."""
    summarize = array.size > OPTIONS.threshold
    column = _Column(_summary_entries(array) if summarize else array)
    text = np.array2string(
        array, separator=", ", prefix=_PREFIX, threshold=OPTIONS.threshold, edgeitems=OPTIONS.edgeitems,
        # in which PyTorch does not count the brackets
        max_line_width=OPTIONS.linewidth + array.ndim - 1,
        formatter={"all": lambda entry: column.format(as_numbers(np.asarray(entry)))},
    )  # fmt: skip
    return text.replace(", ...", ",  ...")


def _summary_entries(array: np.ndarray) -> np.ndarray:
    """The entries that a summary shows."""
    edge = OPTIONS.edgeitems
    for axis, n in enumerate(array.shape):
        if n > 2 * edge:
            array = np.take(array, [*range(edge), *range(n - edge, n)], axis=axis)
    return array


def text_of_tensor(x: Tensor, *, tensor_contents: Any = None) -> str:
    """A tensor's repr."""
    x, tangent = unpack_dual(x)
    try:
        node = x.grad_fn
        label = None if node is None else node.label
    except RuntimeError:  # a view that the graph could not follow what was written through
        label = "Invalid"
    text = show(x.array, label, x.requires_grad)
    if tangent is not None:
        text = f"{text[:-1]}, tangent={tangent!r})"
    return f"Parameter containing:\n{text}" if x._is_param else text


_PREFIX = "tensor("


def show(array: np.ndarray, grad_fn: str | None, requires_grad: bool) -> str:
    """An array as the tensor of its entries, of its node's name, or of one that requires a
    gradient.
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
            text += ",\n" + " " * len(_PREFIX) + suffix
            length = len(_PREFIX) + len(suffix)
        else:
            text += ", " + suffix
            length += len(suffix) + 2
    return text + ")"


# -- ``torch.save`` and ``torch.load``: tensors in PyTorch's files, as data alone ----------------
#
# A file is a zip archive: a pickle that names functions and dtypes of PyTorch's, and the memory of
# each tensor. Nothing in a file is run: instructions are read by an unpickler that knows tensors,
# ordered dictionaries and nothing else, and refuses every other name.


class _Storage(NamedTuple):
    """The memory of a tensor; without an array, the class that PyTorch has for that of a dtype."""

    kind: dtypes.dtype
    array: np.ndarray | None = None


def _rebuilt(
    storage: np.ndarray, offset: int, shape: Any, strides: Any, learned: bool, *_: Any
) -> Tensor:
    """A tensor of a storage: a copy of the entries that it views."""
    places = np.asarray(int(offset))
    for n, step in zip(shape, strides, strict=True):
        places = places[..., None] + int(step) * np.arange(int(n))
    if places.size and not 0 <= places.min() <= places.max() < len(storage):
        raise RuntimeError("the file is damaged: a tensor lies outside of its storage")
    return Tensor(np.asarray(storage[places]), bool(learned) and storage.dtype.kind in FLOATS)


def _rebuilt_parameter(data: Tensor, learned: bool, hooks: Any = None) -> Tensor:
    return Tensor(data.array, bool(learned))


_KNOWN: dict[tuple[str, str], Any] = {  # what names in files mean
    ("torch._utils", "_rebuild_tensor_v2"): _rebuilt,
    ("torch._utils", "_rebuild_parameter"): _rebuilt_parameter,
    ("collections", "OrderedDict"): OrderedDict,
    **{("torch", found.__name__): found for found in (Size, device)},
    **{("torch", name): kind for name, kind in reversed(NAMES.items())},
    **{
        ("torch", kind.tensor_type.replace("Tensor", "Storage")): _Storage(kind)
        for kind in NAMES.values()
    },
}
_NAMES = {id(found): path for path, found in _KNOWN.items()}
_PLAIN = (bool, int, float, str, list, tuple, dict, OrderedDict, NoneType)


class _Pickler(pickle._Pickler):
    """Writes the names that are known, and no others."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.archive, self.content, self.keys = archive, io.BytesIO(), itertools.count()
        super().__init__(self.content, 2)

    def reducer_override(self, x: Any) -> Any:
        if isinstance(x, Tensor):
            memory = _Storage(x.dtype, x.array)
            return _rebuilt, (
                memory,
                0,
                tuple(x.shape),
                in_order(x.array.shape),
                x.requires_grad and x.is_leaf,
                OrderedDict(),
            )
        if isinstance(x, (Size, device)):
            return type(x), (tuple(x) if isinstance(x, Size) else x.type,)
        if id(x) in _NAMES:
            return _NAMES[id(x)][1]
        if type(x) in _PLAIN:
            return NotImplemented
        raise TypeError(
            "torch.save keeps tensors, numbers, strings, lists, tuples and dictionaries of them, "
            f"not {type(x).__name__}"
        )

    def save_global(self, x: Any, name: Any = None) -> None:
        self.write(pickle.GLOBAL + "{}\n{}\n".format(*_NAMES[id(x)]).encode())  # type: ignore[attr-defined]
        self.memoize(x)  # type: ignore[attr-defined]

    def persistent_id(self, x: Any) -> Any:
        if not isinstance(x, _Storage) or x.array is None:
            return None
        key = str(next(self.keys))
        self.archive.writestr(f"archive/data/{key}", x.array.tobytes())
        return (
            "storage",
            _KNOWN["torch", x.kind.tensor_type.replace("Tensor", "Storage")],
            key,
            "cpu",
            x.array.size,
        )


def save(
    obj: Any, f: Any, pickle_module: Any = None, pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
) -> None:  # fmt: skip
    """Write tensors, and dictionaries and lists of them, to a file or a buffer."""
    if pickle_module is not None:
        raise TypeError("the pickles that gradcli writes are its own: leave pickle_module out")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        pickler = _Pickler(archive)
        pickler.dump(obj)
        for name, content in (
            ("data.pkl", pickler.content.getvalue()),
            ("byteorder", sys.byteorder),
            ("version", "3\n"),
        ):
            archive.writestr(f"archive/{name}", content)
    write = f.write if hasattr(f, "write") else Path(f).write_bytes
    write(buffer.getvalue())


def load(
    f: Any, map_location: Any = None, pickle_module: Any = None, *,
    weights_only: bool | None = None, mmap: bool | None = None,
) -> Any:  # fmt: skip
    """Read what `save` or PyTorch wrote; nothing in the file is run."""
    if pickle_module is not None or weights_only is False:
        raise TypeError(
            "gradcli runs nothing that is in a file: leave pickle_module and weights_only=False out"
        )
    if isinstance(map_location, (str, device)):
        check_device(map_location)
    content = f.read() if hasattr(f, "read") else Path(f).read_bytes()
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except zipfile.BadZipFile:
        raise RuntimeError(
            "this is no file of torch.save's: no zip archive (PyTorch's files of before version "
            "1.6 are not read)"
        ) from None
    with archive:
        pickled = [name for name in archive.namelist() if name.endswith("/data.pkl")]
        if len(pickled) != 1:
            raise RuntimeError("this is no file of torch.save's: it has no data.pkl")
        return _Unpickler(archive, pickled[0]).load()


class _Unpickler(pickle.Unpickler):
    """Refuses every name that is not known."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        super().__init__(io.BytesIO(archive.read(name)))
        self.archive, self.folder = archive, name.removesuffix("data.pkl")
        order = f"{self.folder}byteorder"
        self.big = order in archive.namelist() and archive.read(order) == b"big"
        self.storages: dict[str, np.ndarray] = {}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _KNOWN:
            raise pickle.UnpicklingError(
                f"the file asks for {module}.{name}; gradcli reads tensors and runs nothing that "
                "is in a file"
            )
        return _KNOWN[module, name]

    def persistent_load(self, pid: Any) -> Any:
        what, memory, key, _, count = pid
        if what != "storage" or not isinstance(memory, _Storage):
            raise pickle.UnpicklingError(
                "the file has a storage of a kind that gradcli does not read"
            )
        if key not in self.storages:
            kind = memory.kind.numpy
            bits = (
                np.dtype(np.uint16) if kind.kind == "V" else kind
            )  # NumPy does not turn the bytes of others round
            content = self.archive.read(f"{self.folder}data/{key}")
            entries = np.frombuffer(content, bits.newbyteorder(">" if self.big else "<"), count)
            self.storages[key] = entries.astype(bits).view(kind)
        return self.storages[key]
