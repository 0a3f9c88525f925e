"""``torch.save`` and ``torch.load``: tensors in files that hold data alone.

A file is a zip archive: ``header.json`` has the structure, dictionaries and lists with numbers, strings and the names of tensors;
each tensor is an array of NumPy's format. Nothing in a file is run. PyTorch's own files are pickles: their instructions are read by an
unpickler that knows tensors, ordered dictionaries and nothing else, and refuses every other name.
"""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gradcli.tensors.core import dtypes
from gradcli.tensors.core.device import check_device, device
from gradcli.tensors.core.tensor import Tensor

_FORMAT = "gradcli tensors 1"
_KINDS: dict[str, Callable[[Any], Any]] = {"tuple": tuple, "Size": dtypes.Size}


class _Writer:
    """A structure as JSON, and the tensors in it by their numbers."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self.known: dict[int, int] = {}

    def written(self, x: Any) -> Any:
        if x is None or isinstance(x, (bool, int, float, str)):
            return {"number": repr(x)} if isinstance(x, float) else x
        if isinstance(x, Tensor):
            if id(x) not in self.known:
                self.known[id(x)] = len(self.tensors)
                self.tensors.append(x)
            bits = {"bits_of": x.dtype.name} if x.dtype is dtypes.bfloat16 else {}  # which files of NumPy's have no name for
            return {"tensor": self.known[id(x)], "requires_grad": x.requires_grad and x.is_leaf, **bits}
        if isinstance(x, dtypes.dtype):
            return {"dtype": x.name}
        if isinstance(x, device):
            return {"device": str(x)}
        if isinstance(x, dict):
            return {"dict": [[self.written(key), self.written(value)] for key, value in x.items()]}
        if isinstance(x, (list, tuple)) and type(x) in (list, tuple, dtypes.Size):
            parts = [self.written(part) for part in x]
            return parts if isinstance(x, list) else {type(x).__name__: parts}
        raise TypeError(f"torch.save keeps tensors, numbers, strings, lists, tuples and dictionaries of them, not {type(x).__name__}")


def save(obj: Any, f: Any, pickle_module: Any = None, pickle_protocol: int = 2, _use_new_zipfile_serialization: bool = True) -> None:
    """Write tensors, and dictionaries and lists of them, to a file or a buffer."""
    if pickle_module is not None:
        raise TypeError("gradcli writes no pickles: leave pickle_module out")
    writer = _Writer()
    tree = writer.written(obj)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("header.json", json.dumps({"format": _FORMAT, "tree": tree}))
        for number, tensor in enumerate(writer.tensors):
            with archive.open(f"tensors/{number}.npy", "w") as file:
                array = np.ascontiguousarray(tensor.array).reshape(tensor.array.shape)
                np.lib.format.write_array(file, array if array.dtype.kind != "V" else array.view(np.uint16), allow_pickle=False)
    if hasattr(f, "write"):
        f.write(buffer.getvalue())
    else:
        Path(f).write_bytes(buffer.getvalue())


def load(f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None, mmap: bool | None = None) -> Any:
    """Read what `save` wrote, or tensors that PyTorch wrote; nothing in the file is run, whatever it is."""
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
        names = archive.namelist()
        if "header.json" in names:
            header = json.loads(archive.read("header.json"))
            if header.get("format") != _FORMAT:
                raise RuntimeError(f"the file has the format {header.get('format')!r}; this gradcli reads {_FORMAT!r}")
            return _Reader(archive).read(header["tree"])
        pickled = [name for name in names if name.endswith("/data.pkl")]
        if len(pickled) == 1:
            return _Unpickler(archive, pickled[0]).load()
    raise RuntimeError("this is no file of torch.save's: the archive has neither header.json nor data.pkl")


class _Reader:
    """What a structure of JSON stands for."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.archive = archive
        self.tensors: dict[int, Tensor] = {}

    def read(self, tree: Any) -> Any:
        if isinstance(tree, list):
            return [self.read(part) for part in tree]
        if not isinstance(tree, dict):
            return tree
        if "tensor" in tree:
            return self._tensor(tree["tensor"], tree["requires_grad"], tree.get("bits_of"))
        ((kind, content),) = tree.items()
        if kind == "number":
            return float(content)
        if kind == "dtype":
            return dtypes.NAMES[content]
        if kind == "device":
            return device(content)
        if kind == "dict":
            return {self.read(key): self.read(value) for key, value in content}
        return _KINDS[kind](self.read(content))

    def _tensor(self, number: int, requires_grad: bool, bits_of: str | None) -> Tensor:
        if number not in self.tensors:
            with self.archive.open(f"tensors/{number}.npy") as file:
                array = np.lib.format.read_array(io.BytesIO(file.read()), allow_pickle=False)
            if bits_of is not None:
                array = array.view(dtypes.NAMES[bits_of].numpy)
            dtypes.of_numpy(array.dtype)
            self.tensors[number] = Tensor(array, bool(requires_grad))
        return self.tensors[number]


class _Storage:
    """The type of a storage, as PyTorch's pickles name it."""

    def __init__(self, kind: dtypes.dtype) -> None:
        self.kind = kind


_STORAGES = {kind.tensor_type.replace("Tensor", "Storage"): _Storage(kind) for kind in dict.fromkeys(dtypes.NAMES.values())}


def _rebuilt(storage: np.ndarray, offset: int, shape: Any, strides: Any, requires_grad: bool, hooks: Any = None, *_: Any) -> Tensor:
    """A tensor of a storage: a copy of the entries that it views."""
    shape, strides = tuple(map(int, shape)), tuple(map(int, strides))
    last = offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if 0 not in shape else offset
    if offset < 0 or any(n < 0 for n in shape) or any(s < 0 for s in strides) or (0 not in shape and last >= len(storage)):
        raise RuntimeError("the file is damaged: a tensor lies outside of its storage")
    width = storage.itemsize
    view = np.lib.stride_tricks.as_strided(storage[offset:], shape, [s * width for s in strides])
    return Tensor(view.copy(), bool(requires_grad) and storage.dtype.kind in dtypes.FLOATS)


def _rebuilt_parameter(data: Tensor, requires_grad: bool, hooks: Any = None) -> Tensor:
    return Tensor(data.array, bool(requires_grad))


class _Unpickler(pickle.Unpickler):
    """Reads PyTorch's files: every name that is none of these is refused."""

    KNOWN: dict[tuple[str, str], Any] = {  # noqa: RUF012 - looked up, never written to
        ("torch._utils", "_rebuild_tensor_v2"): _rebuilt,
        ("torch._utils", "_rebuild_parameter"): _rebuilt_parameter,
        ("collections", "OrderedDict"): OrderedDict,
        ("torch", "Size"): dtypes.Size,
        **{("torch", name): storage for name, storage in _STORAGES.items()},
        **{("torch", name): kind for name, kind in dtypes.NAMES.items()},
    }

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        super().__init__(io.BytesIO(archive.read(name)))
        self.archive, self.folder = archive, name.removesuffix("data.pkl")
        order = f"{self.folder}byteorder"
        self.big = order in archive.namelist() and archive.read(order) == b"big"
        self.storages: dict[str, np.ndarray] = {}

    def find_class(self, module: str, name: str) -> Any:
        try:
            return self.KNOWN[module, name]
        except KeyError:
            raise pickle.UnpicklingError(
                f"the file asks for {module}.{name}; gradcli reads tensors and runs nothing that is in a file"
            ) from None

    def persistent_load(self, pid: Any) -> Any:
        kind, storage, key, _, count = pid
        if kind != "storage" or not isinstance(storage, _Storage):
            raise pickle.UnpicklingError("the file has a storage of a kind that gradcli does not read")
        if key not in self.storages:
            kind = storage.kind.numpy
            bits = kind if kind.kind != "V" else np.dtype(np.uint16)
            entries = np.frombuffer(self.archive.read(f"{self.folder}data/{key}"), bits.newbyteorder(">" if self.big else "<"), count)
            self.storages[key] = entries.astype(bits).view(kind)
        return self.storages[key]
