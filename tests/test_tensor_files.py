"""``torch.save`` and ``torch.load``: files that hold data alone, and PyTorch's own, of which
nothing is run.
"""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradcli as torch


def there_and_back(x: Any) -> Any:
    buffer = io.BytesIO()
    torch.save(x, buffer)
    buffer.seek(0)
    return torch.load(buffer)


@pytest.mark.parametrize(
    "kind", ["float16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64", "bool"]
)
@pytest.mark.parametrize("shape", [(), (0, 2), (2, 3)])
def test_tensors_come_back(kind: str, shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(0).uniform(0, 100, shape)
    x = torch.tensor(array).to(getattr(torch, kind))
    y = there_and_back(x)
    assert (y.dtype, y.shape) == (x.dtype, x.shape)
    assert np.array_equal(y.numpy(), x.numpy())


def test_structures_come_back(tmp_path: Path) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    tree = {
        "x": x,
        "again": [x, (1, -0.0, float("inf"), "text", None, True)],
        3: torch.float64,
        "size": torch.Size([2]),
        "t": x.detach()[1:],
    }
    torch.save(tree, tmp_path / "tree")
    found = torch.load(tmp_path / "tree")
    assert found["x"] is found["again"][0]
    assert found["x"].requires_grad
    assert not found["t"].requires_grad
    assert repr(found) == repr(tree)


def test_what_is_no_data_is_refused() -> None:
    with pytest.raises(
        TypeError,
        match="tensors, numbers, strings, lists, tuples and dictionaries of them, not function",
    ):
        torch.save({"f": there_and_back}, io.BytesIO())
    with pytest.raises(TypeError, match="runs nothing that is in a file"):
        torch.load(io.BytesIO(), weights_only=False)
    with pytest.raises(RuntimeError, match="no zip archive"):
        torch.load(io.BytesIO(pickle.dumps({"x": 1})))


class Planted:
    """What a pickle would run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def pytorch_file(instructions: bytes, **storages: bytes) -> io.BytesIO:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", instructions)
        archive.writestr("archive/byteorder", "little")
        for key, content in storages.items():
            archive.writestr(f"archive/data/{key.lstrip('_')}", content)
    buffer.seek(0)
    return buffer


# A matrix of strides (1, 2), {"w": tensor}, in the instructions that PyTorch 2.13 writes for it
# (pickletools shows them).
MATRIX = (
    b"\x80\x02}q\x00X\x01\x00\x00\x00wq\x01ctorch._utils\n_rebuild_tensor_v2\nq\x02((X\x07\x00\x00\x00storageq\x03ctorch\nFloatStorage\nq\x04"
    b"X\x01\x00\x00\x000q\x05X\x03\x00\x00\x00cpuq\x06K\x04tq\x07QK\x00K\x02K\x02\x86q\x08K\x01K\x02\x86q\t\x89ccollections\nOrderedDict\nq\n)"
    b"Rq\x0btq\x0cRq\rs."
)


def test_tensors_of_pytorch_are_read() -> None:
    found = torch.load(pytorch_file(MATRIX, _0=np.arange(4, dtype="<f4").tobytes()))
    assert found["w"].tolist() == [[0, 2], [1, 3]]


def test_nothing_in_a_file_is_run(tmp_path: Path) -> None:
    planted = pytorch_file(pickle.dumps({"x": Planted(tmp_path / "made")}, 2))
    with pytest.raises(
        pickle.UnpicklingError, match=r"asks for (posix|nt)\.mkdir; gradcli reads tensors"
    ):
        torch.load(planted)
    assert not (tmp_path / "made").exists()
    with pytest.raises(pickle.UnpicklingError, match=r"asks for collections\.defaultdict"):
        torch.load(
            pytorch_file(pickle.dumps(OrderedDict, 2).replace(b"OrderedDict", b"defaultdict"))
        )


@pytest.mark.parametrize(
    "change",
    [(b"K\x04tq\x07QK\x00", b"K\x04tq\x07QK\x09"), (b"K\x01K\x02\x86q\t", b"K\x01K\x7f\x86q\t")],
)
def test_tensors_outside_of_their_storage_are_refused(change: tuple[bytes, bytes]) -> None:
    assert change[0] in MATRIX
    with pytest.raises(RuntimeError, match="outside of its storage"):
        torch.load(pytorch_file(MATRIX.replace(*change), _0=np.arange(4, dtype="<f4").tobytes()))
