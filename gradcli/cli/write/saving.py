"""``--save NAME=FILE.npy``: an array to a file, written whole or not at all.

Of ``eval`` it is a gradient or the value; of ``check`` the mask of their wrong entries.
"""

from __future__ import annotations

import io
import os
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from gradcli.cli.inputs.option_values import assignments
from gradcli.cli.write.whole_files import put_in_place, temporary_beside
from gradcli.errors import OutputError, UsageError
from gradcli.report.records import Failure, Record
from gradcli.report.verdicts import Verdict


def targets_of(texts: list[str]) -> dict[str, str]:
    """The files of ``--save`` by the names of what they take. Raises UsageError."""
    targets = assignments("--save", texts)
    _refuse_other_formats(targets)
    return targets


def _refuse_other_formats(targets: dict[str, str]) -> None:
    """Raise UsageError for a file whose name promises another format than NumPy's, or that is named twice. Devices and pipes have none."""
    for name, path in targets.items():
        suffix = os.path.splitext(path)[1]
        if suffix.lower() != ".npy" and not _is_device(path):
            written = f"{path[: len(path) - len(suffix)]}.npy"
            raise UsageError(f"--save {name}={path}: what is saved is NumPy's format, .npy", help=f"write {written}")
    paths = [os.path.realpath(path) for path in targets.values()]
    for name, path in targets.items():
        if paths.count(os.path.realpath(path)) > 1 and not _is_device(path):
            raise UsageError(f"--save {name}={path}: '{path}' is named twice")


def _is_device(path: str) -> bool:
    return os.path.exists(path) and not os.path.isfile(path)


class SavedArrays:
    """The arrays that go to files: large ones while they are computed, so that memory need not hold them."""

    def __init__(self, targets: dict[str, str]) -> None:
        self.targets = targets

    def place(self, name: str, shape: tuple[int, ...], dtype: Any) -> Any:
        """An array in a file beside its target, or None where there is none."""
        path = Path(self.targets[name]) if name in self.targets else None
        if path is None or not shape or (path.exists() and not path.is_file()) or not hasattr(os, "posix_fallocate"):
            return None
        try:
            handle, temporary = temporary_beside(path)
            try:
                mapped = np.lib.format.open_memmap(temporary, "w+", dtype, shape)
                weakref.finalize(mapped, Path(temporary).unlink, missing_ok=True)  # what was not moved to its place goes
                os.posix_fallocate(handle, 0, os.fstat(handle).st_size)  # a full disk is an error now, not a signal later
            finally:
                os.close(handle)
        except OSError as error:
            raise OutputError(f"cannot write '{path}': {error.strerror or error}") from None
        return mapped

    def save(self, record: Record) -> None:
        """Write the named arrays of a record, and leave them out of what is printed."""
        if record.error is not None:
            return
        arrays = record.jacobian if record.mode == "jacobian" else record.grad
        for name, path in self.targets.items():
            try:
                if name == "value":
                    _write(Path(path), np.asanyarray(record.value))
                    record.warnings.append(f"the value is in {path}")
                    continue
                if arrays is None or name not in arrays:
                    raise UsageError(f"--save {name}: the result has no gradient of '{name}'")
                _write(Path(path), np.asanyarray(arrays.pop(name)))
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
        if isinstance(array, np.memmap) and array.mode == "w+":  # from its place already
            array.flush()
            temporary = str(array.filename)
        else:
            handle, temporary = temporary_beside(path)
            with os.fdopen(handle, "wb") as stream:
                np.save(stream, array, allow_pickle=False)
        put_in_place(temporary, path)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise OutputError(f"cannot write '{path}': {error.strerror or error}") from None
