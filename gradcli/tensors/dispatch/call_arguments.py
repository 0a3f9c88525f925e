"""Arguments of calls as operands and static parameters of operations on tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.arrays.shapes import stack
from gradcli.ops.calling import binding
from gradcli.ops.spec import Op
from gradcli.ops.structure import to_int
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.casts import as_tensor
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.apply import apply
from gradcli.tensors.dispatch.pytorch_types import no_tensor


def requires_grad(argument: Any) -> bool:
    """Return whether something, or a part of a list, would have a gradient now."""
    if isinstance(argument, Tensor):
        return argument.requires_grad and state.recording
    return isinstance(argument, (list, tuple)) and any(map(requires_grad, argument))


class Host:
    """Tensors as the carriers of a call; Python numbers stay as they are, weak in their dtype.

    As in PyTorch, a list is no tensor, and a tensor that requires grad is no number: its gradient would be lost.
    """

    @staticmethod
    def value(argument: Any) -> Any:
        if isinstance(argument, Tensor):
            return argument
        if isinstance(argument, (bool, int, float)):
            return np.asarray(argument)[()]
        if requires_grad(argument):
            kind = type(argument).__name__
            raise TypeError(f"expected Tensor, but got {kind} of tensors that require grad; torch.stack makes a tensor of them")
        return as_tensor(argument)

    @classmethod
    def operand(cls, argument: Any, of: binding.Use) -> Any:
        _refuse_no_tensor(argument, of)
        return cls.value(argument)

    @staticmethod
    def whole(argument: Any, of: binding.Use | None = None) -> Any:
        if of is not None:
            _refuse_no_tensor(argument, of, ())
        tensor = as_tensor(argument)
        if tensor.array.dtype.kind in dtypes.FLOATS and not tensor.array.size:
            tensor = Tensor(tensor.array.astype(np.int64))
        if tensor.array.dtype.kind not in "iub":
            raise RuntimeError(f"expected index tensors to have type torch.long, not {tensor.dtype}")
        return apply(to_int, [tensor], {})

    @staticmethod
    def static(argument: Any, of: binding.Use | None = None) -> Any:
        if isinstance(argument, Tensor):
            if requires_grad(argument):
                raise binding.VaryingParameterError
            return argument.item() if not argument.array.ndim else argument.array
        if isinstance(argument, (tuple, list)):
            return type(argument)(Host.static(part) for part in argument) if type(argument) in (tuple, list) else tuple(argument)
        return argument.item() if isinstance(argument, np.generic) else argument

    @staticmethod
    def literal(parameter: str, argument: Any) -> Any:
        return argument

    @staticmethod
    def varies(argument: Any) -> bool:
        return False

    @staticmethod
    def is_axis(argument: Any) -> bool:
        return argument is None or isinstance(argument, (tuple, list)) or (isinstance(argument, int) and not isinstance(argument, bool))

    @staticmethod
    def is_whole(argument: Any) -> bool:
        return bool(as_tensor(argument).array.dtype.kind in "iu")

    @staticmethod
    def call_op(op: Op, operands: list[Any], static: dict[str, Any]) -> Any:
        for operand in operands:
            if isinstance(operand, Tensor):
                return apply(op, operands, static)
        return apply(op, [o if o is None else _constant(o) for o in operands], static)


def _refuse_no_tensor(argument: Any, of: binding.Use, numbers: Any = (bool, int, float, np.generic)) -> None:
    """Refuse what stands for no tensor: a number may, but in a list of tensors, or for places."""
    _, name, operand = of
    if not isinstance(argument, Tensor) and (operand == "arrays" or not isinstance(argument, numbers)):
        raise no_tensor(name, operand, argument)


def _constant(number: Any) -> Tensor:
    array = np.asarray(number)
    return Tensor(
        array.astype(dtypes.constant_float()) if array.dtype.kind in dtypes.FLOATS and not array.ndim else as_tensor(number).array
    )


class NumpyHost(Host):
    """The same as NumPy takes arguments: lists are arrays, and whatever stands for a number may have a gradient."""

    @classmethod
    def operand(cls, argument: Any, of: binding.Use) -> Any:
        return cls.value(argument)

    @staticmethod
    def whole(argument: Any, of: binding.Use | None = None) -> Any:
        return Host.whole(argument)

    @staticmethod
    def value(argument: Any) -> Any:
        if requires_grad(argument):
            return _stacked(argument, _common(argument))
        kind = _common(argument, None)
        if kind is None:
            return as_tensor(np.asarray(argument))
        made = Host.value(argument)
        floats_among_others = isinstance(argument, (list, tuple)) and kind.kind not in dtypes.FLOATS and made.dtype.is_floating_point
        return as_tensor(argument, dtypes.float64) if floats_among_others else made

    @staticmethod
    def varies(argument: Any) -> bool:
        return requires_grad(argument)


def _common(parts: Any, without: Any = 0.0) -> Any:
    """The dtype of the tensors and arrays in nested lists; without any, that of a number, or None."""
    if isinstance(parts, (list, tuple)):
        kinds = [np.empty(0, kind) for part in parts if (kind := _common(part, without)) is not None]
        return dtypes.result_type(kinds or [without]) if kinds or without is not None else None
    return parts.array.dtype if isinstance(parts, Tensor) else getattr(parts, "dtype", None)


def _stacked(parts: Any, kind: Any) -> Any:
    """Nested lists with tensors in them as one tensor, through which their gradients pass."""
    if isinstance(parts, Tensor):
        return parts
    if requires_grad(parts):
        return apply(stack, [_stacked(part, kind) for part in parts], {"axis": 0})
    return as_tensor(parts, None if hasattr(parts, "dtype") else dtypes.of_numpy(kind))


class ScipyHost(NumpyHost):
    """The same as SciPy takes arguments: counts may be floats."""

    @staticmethod
    def whole(argument: Any, of: binding.Use | None = None) -> Any:
        tensor = as_tensor(argument)
        if tensor.array.dtype.kind in dtypes.FLOATS and bool(np.all(tensor.array == np.rint(tensor.array))):
            tensor = Tensor(tensor.array.astype(np.int64))
        return Host.whole(tensor)


HOST, NUMPY_HOST, SCIPY_HOST = Host(), NumpyHost(), ScipyHost()
