"""Arrays that are kept in chunks:

Zarr's stores, HDF5's datasets, Parquet's columns. What is no number, or leads elsewhere, is
refused.
"""

from __future__ import annotations

import numpy as np
import pytest

from gradcli import GradcliError
from gradcli.files import npy
from gradcli.files.arrays import load_array
from gradcli.files.stores import write_at_once
from gradcli.limits import DEFAULT

X = np.random.default_rng(0).normal(size=(50, 3))


@pytest.fixture
def zarr():
    return pytest.importorskip("zarr", reason="zarr is not installed here")


@pytest.fixture
def h5py():
    return pytest.importorskip("h5py", reason="h5py is not installed here")


@pytest.fixture
def parquet():
    return pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed here")


def refused(reference, folder=None):
    with pytest.raises(GradcliError) as raised:
        load_array(str(reference), DEFAULT, folder)
    return raised.value.message, raised.value.help


@pytest.mark.parametrize("version", [2, 3])
def test_zarr(zarr, tmp_path, version):
    zarr.create_array(str(tmp_path / "x.zarr"), data=X, chunks=(7, 2), zarr_format=version)
    group = zarr.open_group(str(tmp_path / "g.zarr"), mode="w", zarr_format=version)
    group.create_array("deep/x", data=X, chunks=(50, 3))
    group.create_array("n", data=np.arange(5))
    assert np.array_equal(load_array(str(tmp_path / "x.zarr"), DEFAULT), X)
    assert np.array_equal(load_array(f"{tmp_path / 'g.zarr'}:deep/x", DEFAULT), X)
    assert load_array(f"{tmp_path / 'g.zarr'}:n", DEFAULT).dtype.kind == "i"
    name = str(tmp_path / "g.zarr")
    assert refused(name) == (
        f"'{name}' needs a key",
        f"write @{name}:KEY with KEY one of deep/x, n",
    )
    assert refused(f"{name}:deep/y") == (f"'{name}' has no key 'deep/y'", "did you mean 'deep/x'?")
    assert (
        refused(f"{tmp_path / 'x.zarr'}:k")[0]
        == f"'{tmp_path / 'x.zarr'}' is one array; it has no parts"
    )


def test_zarr_runs_nothing(zarr, tmp_path):
    """A codec that unpickles what a store holds is named, and not asked."""
    import json

    zarr.create_array(str(tmp_path / "x.zarr"), data=X, zarr_format=2)
    metadata = tmp_path / "x.zarr" / ".zarray"
    said = json.loads(metadata.read_text())
    metadata.write_text(json.dumps({**said, "filters": [{"id": "pickle", "protocol": 5}]}))
    message, _ = refused(tmp_path / "x.zarr")
    assert "pickle" in message
    text = zarr.create_array(str(tmp_path / "t.zarr"), shape=(2,), dtype=str)
    text[:] = ["a", "b"]
    assert "data, not real numbers" in refused(tmp_path / "t.zarr")[0]


def test_a_store_in_a_record_stays_in_its_folder(zarr, tmp_path):
    zarr.create_array(str(tmp_path / "x.zarr"), data=X, chunks=(50, 3))
    assert np.array_equal(load_array("x.zarr", DEFAULT, tmp_path), X)
    assert "leads out of the folder" in refused(tmp_path / "x.zarr", tmp_path)[0]
    (chunk,) = [
        path
        for path in (tmp_path / "x.zarr").rglob("*")
        if path.is_file() and path.suffix != ".json"
    ]
    chunk.rename(tmp_path / "elsewhere")
    chunk.symlink_to(tmp_path / "elsewhere")
    assert (
        refused("x.zarr", tmp_path)[0]
        == "'x.zarr' has links in it, which could lead out of its folder"
    )


def test_hdf5(h5py, tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=X, chunks=(8, 3), compression="gzip")
        file.create_dataset("g/n", data=np.arange(5))
        file.create_dataset("s", data=np.array([b"a"]))
        file["away"] = h5py.ExternalLink("b.h5", "/x")
        layout = h5py.VirtualLayout((50, 3), "f8")
        layout[...] = h5py.VirtualSource("b.h5", "x", (50, 3))
        file.create_virtual_dataset("v", layout)
    name = str(tmp_path / "a.h5")
    assert np.array_equal(load_array(f"{name}:x", DEFAULT), X)
    assert load_array(f"{name}:g/n", DEFAULT).tolist() == [0, 1, 2, 3, 4]
    assert refused(name) == (
        f"'{name}' needs a key",
        f"write @{name}:KEY with KEY one of g/n, s, v, x",
    )
    assert refused(f"{name}:away") == (f"'{name}:away' is a link to another file", "name that file")
    assert refused(f"{name}:v") == (f"'{name}:v' lies in other files", "copy it into one")
    assert "not real numbers" in refused(f"{name}:s")[0]
    (tmp_path / "b.h5").write_bytes(b"no")
    assert refused(tmp_path / "b.h5")[0].startswith(f"cannot read '{tmp_path / 'b.h5'}'")


def test_parquet(parquet, tmp_path):
    import pyarrow

    table = pyarrow.table(
        {
            "a": X[:, 0],
            "n": pyarrow.array([None, *range(49)]),
            "s": ["t"] * 50,
            "k": np.arange(50, dtype=np.int32),
        }
    )
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=20)
    name = str(tmp_path / "t.parquet")
    assert np.array_equal(load_array(f"{name}:a", DEFAULT), X[:, 0])
    assert load_array(f"{name}:k", DEFAULT).dtype == np.int32
    assert refused(name)[0] == f"'{name}' needs a key"
    assert refused(f"{name}:b")[0] == f"'{name}' has no key 'b'"
    assert refused(f"{name}:s")[0] == f"the column 's' of '{name}' holds string, not real numbers"
    assert (
        refused(f"{name}:n")[0]
        == f"the column 'n' of '{name}' has missing values among rows 1 to 20"
    )


@pytest.mark.parametrize("suffix", [".zarr", ".h5", ".parquet"])
def test_a_missing_library_is_named(monkeypatch, tmp_path, suffix):
    monkeypatch.setattr("gradcli.files.stores.import_module", _nothing)
    library = {".zarr": "zarr", ".h5": "h5py", ".parquet": "pyarrow"}[suffix]
    extra = {".h5": "hdf5"}.get(suffix, library if suffix == ".zarr" else "parquet")
    assert refused(tmp_path / f"x{suffix}") == (
        f"reading {suffix} wants {library}, which is not installed",
        f"pip install 'gradcli[{extra}]'",
    )


def _nothing(name):
    raise ModuleNotFoundError(name)


@pytest.mark.parametrize("suffix", [".zarr", ".h5", ".parquet"])
def test_a_missing_file_is_named(request, tmp_path, suffix):
    request.getfixturevalue({".zarr": "zarr", ".h5": "h5py", ".parquet": "parquet"}[suffix])
    assert refused(tmp_path / f"x{suffix}")[0] == f"there is no file '{tmp_path / f'x{suffix}'}'"


def test_what_is_large_is_laid_out_in_a_file(zarr, tmp_path, monkeypatch):
    monkeypatch.setattr(npy, "MAPPED", 100)
    zarr.create_array(str(tmp_path / "x.zarr"), data=X, chunks=(7, 2))
    found = load_array(str(tmp_path / "x.zarr"), DEFAULT)
    assert isinstance(found, np.memmap)
    assert np.array_equal(found, X)
    assert [path.name for path in tmp_path.iterdir()] == ["x.zarr"]


@pytest.mark.parametrize("suffix", [".zarr", ".h5", ".parquet"])
def test_what_is_written_is_read(request, tmp_path, suffix):
    request.getfixturevalue({".zarr": "zarr", ".h5": "h5py", ".parquet": "parquet"}[suffix])
    for _ in range(2):  # the second time over the first
        write_at_once(tmp_path / f"g{suffix}", "x", X[:, 0])
        assert np.array_equal(load_array(f"{tmp_path / f'g{suffix}'}", DEFAULT), X[:, 0])
        assert [path.name for path in tmp_path.iterdir()] == [f"g{suffix}"]
    if suffix != ".parquet":
        write_at_once(tmp_path / f"m{suffix}", "x", X)
        assert np.array_equal(load_array(f"{tmp_path / f'm{suffix}'}", DEFAULT), X)
    else:
        with pytest.raises(GradcliError, match="has 2 dimensions, and a column of Parquet's one"):
            write_at_once(tmp_path / "m.parquet", "x", X)
