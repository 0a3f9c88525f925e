"""``torch.save`` and ``torch.load``: tensors in files that hold data alone.

A file is a zip archive: ``header.json`` has the structure, dictionaries and lists with numbers,
strings and the numbers of tensors; each tensor is an array of NumPy's format. Nothing in a file is
run. PyTorch's own files are pickles: their instructions are read by an unpickler that knows
tensors, ordered dictionaries and nothing else, and refuses every other name.
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
# What JSON has no form for: its type, what is written of it, and what is made of that again.
_KINDS: dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "dtype": (dtypes.dtype, lambda x: x.name, dtypes.NAMES.__getitem__),
    "device": (device, str, device), "Size": (dtypes.Size, list, dtypes.Size),
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
        learned = x.requires_grad and x.is_leaf
        return {"tensor": number, "dtype": x.dtype.name, "requires_grad": learned}
    for name, (kind, written, _) in _KINDS.items():
        if type(x) is kind or (kind is dict and isinstance(x, dict)):
            return {name: _encoded(written(x), tensors)}
    kinds = "tensors, numbers, strings, lists, tuples and dictionaries of them"
    raise TypeError(f"torch.save keeps {kinds}, not {type(x).__name__}")


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
    if hasattr(f, "write"):
        f.write(buffer.getvalue())
    else:
        Path(f).write_bytes(buffer.getvalue())


def _in_files(kind: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype under which entries stand in files, which have no name for bfloat16."""
    return np.dtype(np.uint16) if kind.kind == "V" else kind


def load(
    f: Any, map_location: Any = None, pickle_module: Any = None, *,
    weights_only: bool | None = None, mmap: bool | None = None,
) -> Any:  # fmt: skip
    """Read what `save` wrote, or tensors that PyTorch wrote; nothing in the file is run."""
    if pickle_module is not None or weights_only is False:
        said = "leave pickle_module and weights_only=False out"
        raise TypeError(f"gradcli runs nothing that is in a file: {said}")
    if isinstance(map_location, (str, device)):
        check_device(map_location)
    content = f.read() if hasattr(f, "read") else Path(f).read_bytes()
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except zipfile.BadZipFile:
        said = "no zip archive (PyTorch's files of before version 1.6 are not read)"
        raise RuntimeError(f"this is no file of torch.save's: {said}") from None
    with archive:
        if "header.json" in archive.namelist():
            header = json.loads(archive.read("header.json"))
            if header.get("format") != _FORMAT:
                said = f"the file has the format {header.get('format')!r}"
                raise RuntimeError(f"{said}; this gradcli reads {_FORMAT!r}")
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
        file = io.BytesIO(archive.read(f"tensors/{number}.npy"))
        array = np.lib.format.read_array(file, allow_pickle=False)
        kind = dtypes.NAMES[tree["dtype"]].numpy
        tensors[number] = Tensor(array.view(kind), bool(tree["requires_grad"]))
    return tensors[number]


# -- PyTorch's files --------------------------------------------------------------------------------------------


def _rebuilt(storage: np.ndarray, offset: int, shape: Any, strides: Any, learned: bool, *_: Any) -> Tensor:
    """A tensor of a storage: a copy of the entries that it views."""
    places = np.asarray(int(offset))
    for n, step in zip(shape, strides, strict=True):
        places = places[..., None] + int(step) * np.arange(int(n))
    if places.size and not 0 <= places.min() <= places.max() < len(storage):
        raise RuntimeError("the file is damaged: a tensor lies outside of its storage")
    return Tensor(storage[places], bool(learned) and storage.dtype.kind in dtypes.FLOATS)


def _rebuilt_parameter(data: Tensor, learned: bool, hooks: Any = None) -> Tensor:
    return Tensor(data.array, bool(learned))


class _Unpickler(pickle.Unpickler):
    """Reads PyTorch's files: every name that is none of these is refused."""

    KNOWN: dict[tuple[str, str], Any] = {  # noqa: RUF012 - looked up, never written to
        ("torch._utils", "_rebuild_tensor_v2"): _rebuilt,
        ("torch._utils", "_rebuild_parameter"): _rebuilt_parameter,
        ("collections", "OrderedDict"): OrderedDict,
        ("torch", "Size"): dtypes.Size,
        **{
            ("torch", name): kind for alias, kind in dtypes.NAMES.items() for name in (alias, kind.tensor_type.replace("Tensor", "Storage"))
        },
    }

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        super().__init__(io.BytesIO(archive.read(name)))
        self.archive, self.folder = archive, name.removesuffix("data.pkl")
        order = f"{self.folder}byteorder"
        self.big = order in archive.namelist() and archive.read(order) == b"big"
        self.storages: dict[str, np.ndarray] = {}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self.KNOWN:
            said = "gradcli reads tensors and runs nothing that is in a file"
            raise pickle.UnpicklingError(f"the file asks for {module}.{name}; {said}")
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
