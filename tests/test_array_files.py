"""Files of arrays: what NumPy and others write is read as it was, and what is damaged is read or
refused.
"""

from __future__ import annotations

import json
import os
import random
import zipfile

import numpy as np
import pytest
from made_files import GOOD, archive, array_file, saved

from gradcli import GradcliError, InputError, LimitError, Limits
from gradcli.files.arrays import load_array
from gradcli.files.npy import MAGIC
from gradcli.limits import DEFAULT

ARRAYS = [
    *(np.arange(-3, 3).astype(dtype) for dtype in ("f2", "<f4", ">f8", "f16", "i1", ">i2", "<i4", "i8")),
    *(np.arange(6).astype(dtype) for dtype in ("u1", ">u2", "u4", "u8", "?")),
    np.array(2.5), np.zeros((0, 3)), np.ones((2, 0, 3), "i4"), np.arange(24.0).reshape(2, 3, 4),
    np.asfortranarray(np.arange(24.0).reshape(2, 3, 4)),
    np.arange(24.0).reshape(4, 6)[::2, 1:], np.arange(300_000.0),
]  # fmt: skip
HEADERS = {  # as other programs write them
    "Python 2": array_file("{'descr': '<f8', 'fortran_order': False, 'shape': (8L,), }\n"),
    "quotes": array_file('{"descr": "<f8", "fortran_order": False, "shape": (8,)}'),
    "another order": array_file("{'shape': (2, 4), 'fortran_order': True, 'descr': '<f8'}  \n"),
    "blanks": array_file(" {'descr' : '<f8' ,'fortran_order':False,'shape' : ( 8 , ) } \n"),
    "version 2": array_file(
        "{'descr': '<f8', 'fortran_order': False, 'shape': (8,), }\n", version=2
    ),
    "version 3": array_file(
        "{'descr': '<f8', 'fortran_order': False, 'shape': (8,), }\n", version=3
    ),
    "more than the array": array_file(
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }\n"
    ),
}


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{array.shape}")
def test_what_numpy_writes_is_read(tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "s.npz", x=array, y=array)
    np.savez_compressed(tmp_path / "c.npz", x=array)
    found = [
        load_array(name, DEFAULT, tmp_path) for name in ("a.npy", "s.npz:x", "s.npz:y.npy", "c.npz")
    ]
    found += [
        load_array(f"-{key}", DEFAULT, piped=(tmp_path / name).read_bytes)
        for name, key in (("a.npy", ""), ("s.npz", ":x"))
    ]
    for read in found:
        assert (read.dtype, read.shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(read, array)


@pytest.mark.filterwarnings("ignore:Reading")  # NumPy's, of what Python 2 wrote
@pytest.mark.parametrize("content", HEADERS.values(), ids=HEADERS)
def test_headers_that_others_write(tmp_path, content):
    (tmp_path / "a.npy").write_bytes(content)
    np.testing.assert_array_equal(
        load_array("a.npy", DEFAULT, tmp_path), np.load(tmp_path / "a.npy")
    )


def test_a_large_file_is_mapped_and_a_small_one_read(tmp_path):
    """So that a small one may change, or go, while it is in use; of a large one that a user names,
    memory need not hold it.
    """
    np.save(tmp_path / "large.npy", np.zeros(1 << 23))
    np.save(tmp_path / "small.npy", np.zeros(1 << 20))
    large, small = (
        load_array(str(tmp_path / f"{name}.npy"), Limits(entries=1 << 22))
        for name in ("large", "small")
    )
    assert isinstance(large, np.memmap)
    assert not isinstance(small, np.memmap)
    os.truncate(tmp_path / "small.npy", 0)
    assert small.sum() == 0
    with pytest.raises(GradcliError, match="over the limit"):
        load_array("large.npy", Limits(entries=1 << 22), tmp_path)


def test_a_name_with_a_colon_is_one_beside_the_record(call_cli, tmp_path):
    (tmp_path / "below").mkdir()
    np.save(tmp_path / "below" / "a:b.npy", np.array(7.0))
    (tmp_path / "below" / "r.jsonl").write_text(json.dumps({"expr": "x", "at": {"x": "@a:b.npy"}}))
    done = call_cli("eval", "--no-check", "--format", "jsonl", "-f", "below/r.jsonl")
    assert json.loads(done.stdout)["value"] == 7


# -- damage
# ---------------------------------------------------------------------------------------------------------

WHOLE = {
    ".npy": [saved(array) for array in ARRAYS[:-1]],
    ".npz": [
        archive({"x.npy": GOOD, "y.npy": saved(np.eye(3))}),
        archive({"x.npy": GOOD}, zipfile.ZIP_STORED),
    ],
    ".csv": [
        b"a,b\n1,2\n3,4\n",
        b'"a;b",c\r\n"1,5",2\r\n',
        b"a;b\n1,5;2\n-0,25;1,234\n",
        b'"x\ny",z\n1,2\n,3\n',
    ],
    ".txt": [b"# t x\n 1 2 # c\n\n3 4\n", b"mass kg\tlen m\n1\t2\n", b"1.5\n-2e3\n+.5\ninf\nnan\n"],
    ".json": [
        b"[[1,0.1],[3,4]]",
        b'{"x":[1,"nan",true],"y":{"z":1}}',
        b"[1,[2],null,{}]",
        b"[18446744073709551616,-1]",
    ],
}
PIECES = [
    b"(",
    b"]",
    b"{",
    b'"',
    b"\n",
    b"\r",
    b"\0",
    b"\xff",
    b"9" * 30,
    b"1e400",
    b"PK\x05\x06",
    MAGIC,
    b"\xff" * 4,
    b"|O",
    b"<c16",
    b",",
]


def damaged(content: bytes, draw: random.Random) -> bytes:
    """A file with bits turned over, bytes left out, put in and repeated, or its end cut off."""
    data = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 5))):
        at, what = draw.randrange(len(data) + 1), draw.randrange(5)
        if what == 0 and at < len(data):
            data[at] ^= 1 << draw.randrange(8)
        elif what == 1:
            del data[at:]
        elif what == 2:
            del data[at : at + draw.randrange(1, 20)]
        elif what == 3:
            data[at:at] = draw.choice(PIECES)
        else:
            data[at:at] = data[at // 2 : at] * 3
    return bytes(data)


@pytest.mark.parametrize("suffix", WHOLE)
def test_damaged_files_are_read_or_refused(tmp_path, suffix):
    draw = random.Random(suffix)
    for i in range(400):
        content = damaged(draw.choice(WHOLE[suffix]), draw)
        (tmp_path / f"d{suffix}").write_bytes(content)
        for key in ("", ":x"):
            try:
                load_array(f"d{suffix}{key}", DEFAULT, tmp_path)
                load_array(f"-{key}", DEFAULT, piped=lambda content=content: content)
            except (InputError, LimitError):
                pass
            except Exception as error:
                raise AssertionError(f"file {i}, {content!r}{key}: {error!r}") from error
