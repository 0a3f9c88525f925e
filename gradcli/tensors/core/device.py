"""Where tensors live: the CPU."""

from __future__ import annotations

from typing import Any


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
        raise RuntimeError(f"gradcli has no device {where!r}: tensors live on the CPU")
