"""Views: tensors that share the memory of another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gradcli.ops.arrays.shapes import broadcast_to, getitem, reshape, swapaxes, transpose
from gradcli.ops.spec import Op
from gradcli.ops.structure import detach

if TYPE_CHECKING:
    from gradcli.tensors.tensor import Tensor

VIEWS = frozenset({reshape, transpose, swapaxes, getitem, broadcast_to, detach})  # where NumPy lets them, results share memory


class View:
    """How a tensor was made of another one whose memory it shares: the operations, from the base on, and at which version."""

    __slots__ = ("base", "steps", "version")

    def __init__(self, base: Tensor, steps: tuple[tuple[Op, tuple[tuple[str, Any], ...]], ...]) -> None:
        self.base, self.steps, self.version = base, steps, base._version_counter[0]

    @classmethod
    def of(cls, source: Tensor, op: Op, static: Mapping[str, Any]) -> View:
        step = (op, tuple(static.items()))
        return cls(source, (step,)) if source._view is None else cls(source._view.base, (*source._view.steps, step))
