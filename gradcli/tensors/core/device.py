"""Where tensors live: the CPU."""

from __future__ import annotations

from typing import Any

_KINDS = (
    "Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia, "
    "privateuseone"
)


class _NoCudaError(AssertionError, RuntimeError):
    """A place that tensors cannot live in: PyTorch without CUDA asserts that it has it."""


class device:
    """A place for tensors under PyTorch's name: the CPU."""

    def __init__(self, kind: Any = "cpu", index: int | None = None) -> None:
        self.type, self.index = str(getattr(kind, "type", kind)).split(":")[0], index

    def __repr__(self) -> str:
        return f"device(type='{self.type}')"

    def __str__(self) -> str:
        return self.type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and str(other) == self.type

    def __hash__(self) -> int:
        return hash(self.type)


def check_device(where: Any) -> None:
    """Refuse any other place. Raises RuntimeError."""
    if where is not None and str(getattr(where, "type", where)).split(":")[0] != "cpu":
        kind = str(getattr(where, "type", where)).split(":")[0]
        if kind == "cuda":
            raise _NoCudaError("Torch not compiled with CUDA enabled. Tensors of gradcli live on the CPU")
        if isinstance(where, int):
            raise RuntimeError("Cannot access accelerator device when none is available. Tensors of gradcli live on the CPU")
        raise RuntimeError(f"{_KINDS} device type at start of device string: {kind}. Tensors of gradcli live on the CPU")


def set_default_device(where: Any) -> None:
    check_device(where)


def get_default_device() -> device:
    return device("cpu")
