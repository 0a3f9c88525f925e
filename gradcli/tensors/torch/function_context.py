"""What forward hands to backward in a user's `autograd.Function`: PyTorch's ``ctx``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli.tensors.core.saved_values import SECOND_TIME
from gradcli.tensors.core.tensor import Tensor


class Context:
    """What `forward` hands to `backward`: PyTorch's ``ctx``."""

    needs_input_grad: tuple[bool, ...] = ()
    materialize_grads = True
    _saved: tuple[Any, ...] = ()
    _for_forward: tuple[Any, ...] = ()
    _versions: Sequence[tuple[list[int], int]] = ()
    _freed = False
    _dirty: tuple[Any, ...] = ()
    _flat: frozenset[int] = frozenset()

    def save_for_backward(self, *tensors: Any) -> None:
        versions = []
        for i, t in enumerate(tensors):
            if isinstance(t, Tensor):
                versions.append((t._version_counter, t._version))
            elif t is not None:
                raise TypeError(f"save_for_backward can only save variables, but argument {i} is of type {type(t).__name__}")
        self._saved, self._versions = tensors, versions

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        if self._freed:
            raise RuntimeError(SECOND_TIME)
        for counter, version in self._versions:
            if counter[0] != version:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an inplace operation: a tensor given to "
                    f"save_for_backward is at version {counter[0]}; expected version {version} instead."
                )
        return self._saved

    def set_materialize_grads(self, value: bool) -> None:
        self.materialize_grads = value

    def mark_dirty(self, *tensors: Any) -> None:
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        self._flat = frozenset(map(id, tensors))

    def save_for_forward(self, *tensors: Any) -> None:
        """What `jvp` will find as ``saved_tensors``."""
        self._for_forward = tensors
