"""``torch.autograd.forward_ad``: tensors that move, inside of a dual level, and how what is made of them does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from gradcli.ops.arrays.shapes import broadcast_to
from gradcli.tensors.core.levels import Entered, ForwardLevel, check_floats, moving_by, tangent_of
from gradcli.tensors.core.modes import Mode, state
from gradcli.tensors.core.tensor import Tensor


class _DualLevel(ForwardLevel):
    """The one dual level that may be under way."""


_entered: list[Entered] = []  # not more than one, in PyTorch, too


class UnpackedDualTensor(NamedTuple):
    """A tensor as it is, and how it moves: None if it does not."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """From here on, `make_dual` makes tensors that move."""
    if _entered:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    level = Entered(forward=_DualLevel())
    level.__enter__()
    _entered.append(level)
    return 0


def current_level() -> int:
    """0 inside of the dual level, -1 outside."""
    return len(_entered) - 1


def exit_dual_level(*, level: int | None = None) -> None:
    """The end of the dual level: nothing moves any more."""
    if not _entered and level is None:
        raise RuntimeError("Dual level must be a positive number. No dual level was entered")
    if not _entered or level not in (None, 0):
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created. This is not supported.")
    _entered.pop().__exit__()


class dual_level(Mode):
    """A dual level for the time of a ``with`` block, or of a function."""

    def __init__(self) -> None:
        super().__init__()

    def __enter__(self) -> Any:
        return enter_dual_level()

    def __exit__(self, *exception: object) -> None:
        exit_dual_level()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **keywords: Any) -> Any:
            with dual_level():
                return function(*arguments, **keywords)

        return run


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """The same entries, moving by a tangent; differentiable by both."""
    if not _entered or (level is not None and level < 0):
        raise RuntimeError("Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first.")
    if level not in (None, 0):
        raise RuntimeError("Invalid level given to _make_dual")
    for x in (tensor, tangent):
        if not isinstance(x, Tensor):
            raise AttributeError(f"'{type(x).__name__}' object has no attribute 'is_floating_point'")
    check_floats(tensor, tangent)
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            f"Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. Tensor "
            f"is of size {list(tensor.shape)} while the given forward gradient is of size {list(tangent.shape)}."
        )
    if tensor.dtype != tangent.dtype:
        raise RuntimeError(f"Expected the tangent's dtype {tangent.dtype} to be that of the primal, {tensor.dtype}")
    if tangent_of(tensor, _level()) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not supported."
        )
    if tangent_of(tangent, _level()) is not None:
        raise RuntimeError("Expected tangent to have none: it has a forward gradient at the same level; unpack it first")
    alias = _without(tensor)
    alias._view = None  # what is written to it does not move the tensor
    made: Tensor = moving_by(alias, _level(), tangent)
    return made


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """What a tensor is and how it moves at the dual level."""
    if not _entered:
        return UnpackedDualTensor(tensor, None)
    if not isinstance(tensor, Tensor):
        raise TypeError(f"_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {type(tensor).__name__}")
    tangent = tangent_of(tensor, _level())
    if tangent is None:
        return UnpackedDualTensor(tensor, None)
    primal = _without(tensor)
    primal._view = None
    return UnpackedDualTensor(primal, tangent)


def _without(x: Tensor) -> Tensor:
    """The same memory, in the graph, as a tensor that does not move."""
    before = state.change(forward_levels=tuple([other for other in state.forward_levels if other is not _level()]))
    try:
        alias: Tensor = broadcast_to(x, shape=tuple(x.shape))
    finally:
        state.change(**before)
    return alias


def _level() -> ForwardLevel:
    level: ForwardLevel = _entered[-1].forward
    return level
