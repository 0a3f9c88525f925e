"""How tensors lie in memory, under PyTorch's names: ``torch.strided``, which all are, and formats, of which there is one."""

from __future__ import annotations


class layout:
    """What a tensor's ``layout`` is."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"


class memory_format:
    """What is asked for where memory is made."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"


strided = layout("strided")
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
LAYOUTS = {
    "layout": layout, "memory_format": memory_format, "strided": strided, "contiguous_format": contiguous_format,
    "preserve_format": preserve_format, "legacy_contiguous_format": contiguous_format,
}  # fmt: skip
