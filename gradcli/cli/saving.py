"""``--save NAME=FILE.npy``: an array to a file, written whole or not at all.

Of ``eval`` it is a gradient or the value; of ``check`` the mask of their wrong entries.
"""

from __future__ import annotations

import io
import os
import tempfile
from pathlib import Path

import numpy as np

from gradcli.errors import OutputError, UsageError
from gradcli.report.records import Failure, Record
from gradcli.report.verdicts import Verdict


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


def save_masks(record: Record, targets: dict[str, str]) -> None:
    """Write which entries are wrong, of the gradients (or of the value) or of claims about them."""
    if record.error is not None:
        return
    for name, path in targets.items():
        try:
            mask = _mask(record, name)
            _write(Path(path), mask)
            record.warnings.append(f"the mask of the wrong entries of {name} is in {path}: {int(mask.sum())} of {mask.size}")
        except (OutputError, UsageError) as error:
            record.error = Failure.of(error)
            return


def _mask(record: Record, name: str) -> np.ndarray:
    computed = record.value if name == "value" else (record.grad or {}).get(name)
    if computed is None or record.check is None:
        raise UsageError(f"--save {name}: the result has no gradient of '{name}'")
    mask = np.zeros(np.shape(computed), dtype=bool)
    part = record.check.value if name == "value" else record.check.variables.get(name)
    if part is not None and part.mask is not None:
        mask |= part.mask
    for claim in record.check.claims:
        if claim.of == name and claim.verdict is Verdict.MISMATCH:
            if claim.mask is not None:
                mask |= claim.mask
            else:  # wrong as a whole, or elsewhere at this entry
                mask[... if claim.worst is None else claim.worst.index] = True
    return mask


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
