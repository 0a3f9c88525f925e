"""Files in NumPy's formats as tests make them: with any header, and any parts."""

from __future__ import annotations

import io
import warnings
import zipfile

import numpy as np

from gradcli.files.npy import MAGIC


def array_file(header: str, data: bytes = bytes(64), version: int = 1) -> bytes:
    """A file in NumPy's format with any header."""
    text = header.encode("latin-1")
    return (
        MAGIC
        + bytes([version, 0])
        + len(text).to_bytes(2 if version == 1 else 4, "little")
        + text
        + data
    )


def said(dtype: str = "'<f8'", shape: str = "(8,)", order: str = "False") -> str:
    return f"{{'descr': {dtype}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


def saved(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def archive(parts: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are there twice
        for name, content in parts.items():
            file.writestr(name.rstrip("'"), content)
    return stream.getvalue()


GOOD = saved(np.arange(8.0))
