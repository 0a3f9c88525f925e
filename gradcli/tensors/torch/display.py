"""Tensors as text, in PyTorch's form: the same columns, the same choice of notation, the same suffixes."""

from __future__ import annotations

import io
import json
import math
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from gradcli.tensors.core import dtypes
from gradcli.tensors.core.dtypes import FLOATS, NAMES, Size, as_numbers
from gradcli.tensors.core.levels import tangent_of
from gradcli.tensors.core.modes import check_device, device, state
from gradcli.tensors.core.tensor import Tensor

_DEFAULT: dict[str, Any] = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}
OPTIONS = SimpleNamespace(**_DEFAULT)
_PROFILES: dict[str, dict[str, Any]] = {"default": {}, "short": {"precision": 2, "edgeitems": 2}, "full": {"threshold": math.inf}}


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
        vars(OPTIONS).update(_DEFAULT | _PROFILES[profile])
    vars(OPTIONS).update({name: option for name, option in given.items() if option is not None}, sci_mode=sci_mode)


class _Column:
    """One notation and one width for all entries."""

    def __init__(self, array: np.ndarray) -> None:
        self.floating = array.dtype.kind in FLOATS
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


_PREFIX = "tensor("


def show(array: np.ndarray, grad_fn: str | None, requires_grad: bool) -> str:
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
    text = _PREFIX + contents(array, len(_PREFIX))
    length = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if length + len(suffix) + 2 > OPTIONS.linewidth:
            text += ",\n" + " " * len(_PREFIX) + suffix
            length = len(_PREFIX) + len(suffix)
        else:
            text += ", " + suffix
            length += len(suffix) + 2
    return text + ")"


# -- ``torch.save`` and ``torch.load``: tensors in files that hold data alone ----------------------
#
# A file is a zip archive: ``header.json`` has the structure, dictionaries and lists with numbers,
# strings and the numbers of tensors; each tensor is an array of NumPy's format. Nothing in a file
# is run. PyTorch's own files are pickles: their instructions are read by an unpickler that knows
# tensors, ordered dictionaries and nothing else, and refuses every other name.


_FORMAT = "gradcli tensors 1"
# What JSON has no form for: its type, what is written of it, and what is made of that again.
_KINDS: dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "dtype": (dtypes.dtype, lambda x: x.name, NAMES.__getitem__),
    "device": (device, str, device), "Size": (Size, list, Size),
    "dict": (dict, lambda x: [list(pair) for pair in x.items()], dict),
    "tuple": (tuple, list, tuple),
}  # fmt: skip


def _encoded(x: Any, tensors: dict[int, tuple[int, Tensor]]) -> Any:
    """A structure as JSON, whose tensors are numbered."""
    if x is None or isinstance(x, (bool, int, float, str)):
        return x
    if type(x) is list:
        return [_encoded(part, tensors) for part in x]
    if isinstance(x, Tensor):
        number, _ = tensors.setdefault(id(x), (len(tensors), x))
        return {"tensor": number, "dtype": x.dtype.name, "requires_grad": x.requires_grad and x.is_leaf}
    for name, (kind, written, _) in _KINDS.items():
        if type(x) is kind or (kind is dict and isinstance(x, dict)):
            return {name: _encoded(written(x), tensors)}
    raise TypeError(f"torch.save keeps tensors, numbers, strings, lists, tuples and dictionaries of them, not {type(x).__name__}")


def save(
    obj: Any, f: Any, pickle_module: Any = None, pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
) -> None:  # fmt: skip
    """Write tensors, and dictionaries and lists of them, to a file or a buffer."""
    if pickle_module is not None:
        raise TypeError("gradcli writes no pickles: leave pickle_module out")
    tensors: dict[int, tuple[int, Tensor]] = {}
    header, buffer = {"format": _FORMAT, "tree": _encoded(obj, tensors)}, io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("header.json", json.dumps(header))
        for number, tensor in tensors.values():
            array = np.array(tensor.array, order="C")
            with archive.open(f"tensors/{number}.npy", "w") as file:
                np.lib.format.write_array(file, array.view(_in_files(array.dtype)), allow_pickle=False)
    write = f.write if hasattr(f, "write") else Path(f).write_bytes
    write(buffer.getvalue())


def _in_files(kind: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype under which entries stand in files, which have no name for bfloat16."""
    return np.dtype(np.uint16) if kind.kind == "V" else kind


def load(
    f: Any, map_location: Any = None, pickle_module: Any = None, *,
    weights_only: bool | None = None, mmap: bool | None = None,
) -> Any:  # fmt: skip
    """Read what `save` wrote, or tensors that PyTorch wrote; nothing in the file is run."""
    if pickle_module is not None or weights_only is False:
        raise TypeError("gradcli runs nothing that is in a file: leave pickle_module and weights_only=False out")
    if isinstance(map_location, (str, device)):
        check_device(map_location)
    content = f.read() if hasattr(f, "read") else Path(f).read_bytes()
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except zipfile.BadZipFile:
        raise RuntimeError("this is no file of torch.save's: no zip archive (PyTorch's files of before version 1.6 are not read)") from None
    with archive:
        if "header.json" in archive.namelist():
            header = json.loads(archive.read("header.json"))
            if header.get("format") != _FORMAT:
                raise RuntimeError(f"the file has the format {header.get('format')!r}; this gradcli reads {_FORMAT!r}")
            return _decoded(header["tree"], archive, {})
        pickled = [name for name in archive.namelist() if name.endswith("/data.pkl")]
        if len(pickled) == 1:
            return _Unpickler(archive, pickled[0]).load()
    raise RuntimeError("this is no file of torch.save's: it has neither header.json nor data.pkl")


def _decoded(tree: Any, archive: zipfile.ZipFile, tensors: dict[int, Tensor]) -> Any:
    if isinstance(tree, list):
        return [_decoded(part, archive, tensors) for part in tree]
    if not isinstance(tree, dict):
        return tree
    if "tensor" not in tree:
        ((name, content),) = tree.items()
        return _KINDS[name][2](_decoded(content, archive, tensors))
    number = tree["tensor"]
    if number not in tensors:
        array = np.lib.format.read_array(io.BytesIO(archive.read(f"tensors/{number}.npy")), allow_pickle=False)
        tensors[number] = Tensor(array.view(NAMES[tree["dtype"]].numpy), bool(tree["requires_grad"]))
    return tensors[number]


# -- PyTorch's files --------------------------------------------------------------------------------------------


def _rebuilt(storage: np.ndarray, offset: int, shape: Any, strides: Any, learned: bool, *_: Any) -> Tensor:
    """A tensor of a storage: a copy of the entries that it views."""
    places = np.asarray(int(offset))
    for n, step in zip(shape, strides, strict=True):
        places = places[..., None] + int(step) * np.arange(int(n))
    if places.size and not 0 <= places.min() <= places.max() < len(storage):
        raise RuntimeError("the file is damaged: a tensor lies outside of its storage")
    return Tensor(storage[places], bool(learned) and storage.dtype.kind in FLOATS)


def _rebuilt_parameter(data: Tensor, learned: bool, hooks: Any = None) -> Tensor:
    return Tensor(data.array, bool(learned))


class _Unpickler(pickle.Unpickler):
    """Reads PyTorch's files: every name that is none of these is refused."""

    KNOWN: dict[tuple[str, str], Any] = {  # noqa: RUF012 - looked up, never written to
        ("torch._utils", "_rebuild_tensor_v2"): _rebuilt,
        ("torch._utils", "_rebuild_parameter"): _rebuilt_parameter,
        ("collections", "OrderedDict"): OrderedDict,
        ("torch", "Size"): Size,
        **{("torch", name): kind for alias, kind in NAMES.items() for name in (alias, kind.tensor_type.replace("Tensor", "Storage"))},
    }

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        super().__init__(io.BytesIO(archive.read(name)))
        self.archive, self.folder = archive, name.removesuffix("data.pkl")
        order = f"{self.folder}byteorder"
        self.big = order in archive.namelist() and archive.read(order) == b"big"
        self.storages: dict[str, np.ndarray] = {}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self.KNOWN:
            raise pickle.UnpicklingError(f"the file asks for {module}.{name}; gradcli reads tensors and runs nothing that is in a file")
        return self.KNOWN[module, name]

    def persistent_load(self, pid: Any) -> Any:
        what, kind, key, _, count = pid
        if what != "storage" or not isinstance(kind, dtypes.dtype):
            raise pickle.UnpicklingError("the file has a storage of a kind that gradcli does not read")
        if key not in self.storages:
            bits = _in_files(kind.numpy)
            content = self.archive.read(f"{self.folder}data/{key}")
            entries = np.frombuffer(content, bits.newbyteorder(">" if self.big else "<"), count)
            self.storages[key] = entries.astype(bits).view(kind.numpy)
        return self.storages[key]
