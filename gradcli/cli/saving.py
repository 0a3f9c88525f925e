"""``--save NAME=FILE.npy``: a gradient or the value to a file, written whole or not at all."""

from __future__ import annotations

import io
import os
import tempfile
from pathlib import Path

import numpy as np

from gradcli.errors import OutputError, UsageError
from gradcli.report.records import Failure, Record


def save_arrays(record: Record, targets: dict[str, str]) -> None:
    """Write the named arrays of a record, and leave them out of what is printed."""
    arrays = record.jacobian if record.mode == "jacobian" else record.grad
    for name, path in targets.items():
        try:
            if name == "value":
                _write(Path(path), np.asarray(record.value))
                record.warnings.append(f"the value is in {path}")
                continue
            if arrays is None or name not in arrays:
                raise UsageError(f"--save {name}: the result has no gradient of '{name}'")
            _write(Path(path), np.asarray(arrays.pop(name)))
            record.warnings.append(f"the gradient of {name} is in {path}")
        except (OutputError, UsageError) as error:
            record.error = Failure.of(error)
            return


def _write(path: Path, array: np.ndarray) -> None:
    temporary = None
    try:
        if path.exists() and not path.is_file():
            # a device or a pipe is written to, never replaced
            image = io.BytesIO()
            np.save(image, array, allow_pickle=False)
            with path.open("wb") as device:
                device.write(image.getbuffer())
            return
        handle, temporary = tempfile.mkstemp(dir=path.resolve().parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as stream:
            np.save(stream, array, allow_pickle=False)
        os.chmod(temporary, _mode(path))
        os.replace(temporary, path.resolve())
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise OutputError(f"cannot write '{path}': {error.strerror or error}") from None


def _mode(path: Path) -> int:
    """The permissions that a file has, or that a new one would get."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
