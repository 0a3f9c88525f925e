"""``--save NAME=FILE.npy``: a gradient or the value to a file, written whole or not at all."""

from __future__ import annotations

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
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as stream:
            np.save(stream, array, allow_pickle=False)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise OutputError(f"cannot write '{path}': {error.strerror or error}") from None
