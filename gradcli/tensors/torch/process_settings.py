"""PyTorch's settings of a whole process, of which there is one value here: the CPU, and computations that are the same each time."""

from __future__ import annotations

from typing import Any

from gradcli.tensors.core import dtypes, modes
from gradcli.tensors.core.device import check_device, device


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Whatever is asked for: all algorithms give the same bits each time."""


def are_deterministic_algorithms_enabled() -> bool:
    return True


def set_default_device(where: Any) -> None:
    check_device(where)


def get_default_device() -> device:
    return device("cpu")


def set_default_tensor_type(kind: Any) -> None:
    """As `set_default_dtype`, by a type of tensors or its name."""
    name = kind if isinstance(kind, str) else f"torch.{kind.__name__}"
    found = next((d for d in dtypes.NAMES.values() if f"torch.{d.tensor_type}" == name), None)
    if found is None:
        raise TypeError(f"invalid type object: {name}")
    dtypes.set_default_dtype(found)


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    modes.set_detect_anomaly(mode, check_nan)


def is_anomaly_check_nan_enabled() -> bool:
    return modes.state.nan_checks


SETTINGS = {
    "use_deterministic_algorithms": use_deterministic_algorithms, "set_default_device": set_default_device,
    "are_deterministic_algorithms_enabled": are_deterministic_algorithms_enabled, "get_default_device": get_default_device,
    "set_default_tensor_type": set_default_tensor_type, "is_anomaly_enabled": modes.is_anomaly_enabled,
    "set_anomaly_enabled": set_anomaly_enabled, "is_anomaly_check_nan_enabled": is_anomaly_check_nan_enabled,
}  # fmt: skip
