"""New tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.errors import UnreadArgumentError
from gradcli.ops.calling.inputs import unmasked
from gradcli.ops.pytorch import unbroadcastable
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.batched import check_no_examples
from gradcli.tensors.core.casts import as_tensor
from gradcli.tensors.core.device import check_device
from gradcli.tensors.core.modes import no_grad
from gradcli.tensors.core.nested_lists import array_of, default_float
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.user_warnings import warn
from gradcli.tensors.dispatch.checked_calls import checked
from gradcli.tensors.torch.fused_multiply_add import fused
from gradcli.tensors.torch.generator import in_memory_order, permutation, uniform, whole
from gradcli.tensors.torch.generator import normal as draw_normal

COPIED = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than {}(sourceTensor)."
)


@checked
def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A tensor of its own entries, copied from nested lists, numbers or an array."""
    check_device(device)
    if isinstance(data, Tensor):
        warn(COPIED.format("torch.tensor"))
    return copied(data, dtype, requires_grad)


def copied(data: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of its own entries."""
    array = np.array(array_of(data, dtype))
    if requires_grad and array.dtype.kind not in dtypes.FLOATS:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return Tensor(array).requires_grad_(requires_grad)


@checked
def asarray(obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool | None = None) -> Tensor:
    """A tensor of anything, which shares its memory unless a copy is asked for or there must be one."""
    made = as_tensor(obj, dtype, device)
    if copy is False:
        kind = as_tensor(obj).dtype
        if not isinstance(obj, (Tensor, np.ndarray)):
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        if kind != made.dtype:
            raise ValueError(f"can't alias tensor with dtype '{kind.in_messages}' into dtype '{made.dtype.in_messages}'.")
    if copy:
        made = made.clone()
    if requires_grad is False:
        return made.detach()
    return made.detach().requires_grad_(True) if requires_grad and not made.requires_grad else made


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor that shares memory with an array."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    array = unmasked(array, "the array")
    dtypes.of_numpy(array.dtype)
    return Tensor(array)


def size_of(size: Any) -> tuple[int, ...]:
    """zeros(2, 3), zeros((2, 3)) and zeros(torch.Size([2, 3])) alike."""
    if not size:
        raise TypeError("a size is wanted")
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = size[0]
    for place, n in enumerate(size):
        if not hasattr(n, "__index__"):
            raise TypeError(f"a size consists of whole numbers: its part {place} is {type(n).__name__}")
    shape = tuple(int(n) for n in size)
    if any(n < 0 for n in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    return shape


def _made(array: np.ndarray, requires_grad: bool, device: Any = None) -> Tensor:
    check_device(device)
    return Tensor(array).requires_grad_(requires_grad)


def _refuse_out(out: Any) -> None:
    if out is not None:
        raise UnreadArgumentError("gradcli does not support out= of constructors", help="leave it out, and give the result a name")


def _number(name: str, parameter: str, value: Any) -> Any:
    """A number, as PyTorch takes it: no tensor whose gradient would be lost."""
    if not hasattr(value, "__float__") or (isinstance(value, Tensor) and (value.array.ndim or value.requires_grad)):
        raise TypeError(f"{name}(): argument '{parameter}' must be Number, not {type(value).__name__}")
    return value


def _end(name: str, parameter: str, value: Any) -> Any:
    """A number, or a tensor that is one: PyTorch has functions of both, which no gradient goes through."""
    if isinstance(value, Tensor):
        if value.array.ndim:
            raise RuntimeError(
                f"{name} only supports 0-dimensional start and end tensors, but got {parameter} with {value.array.ndim} dimension(s)."
            )
        return value.item()
    return _number(name, parameter, value)


def _refuse_booleans(name: str, kind: np.dtype[Any]) -> None:
    if kind.kind == "b":
        raise dtypes.untaken(name, kind)


def _filled(name: str, value: float) -> Any:
    def make(
        *given: Any, size: Any = None, dtype: Any = None, requires_grad: bool = False, device: Any = None, layout: Any = None,
        pin_memory: bool = False, out: Any = None,
    ) -> Tensor:  # fmt: skip
        _refuse_out(out)
        return _made(
            np.full(size_of(given if size is None else (size,)), value, default_float() if dtype is None else dtypes.as_numpy(dtype)),
            requires_grad,
            device,
        )

    def like(x: Tensor, *, dtype: Any = None, requires_grad: bool = False, device: Any = None, memory_format: Any = None) -> Tensor:
        kind = x.array.dtype if dtype is None else dtypes.as_numpy(dtype)
        return _made(np.full_like(x.array, value, kind), requires_grad, device)

    return checked(make, name), checked(like, f"{name}_like")


(zeros, zeros_like), (ones, ones_like), (empty, empty_like) = _filled("zeros", 0), _filled("ones", 1), _filled("empty", 0)


@checked
def scalar_tensor(s: Any, *, dtype: Any = None, requires_grad: bool = False, device: Any = None) -> Tensor:
    """A tensor without axes: a float, unless another dtype is asked for."""
    kind = default_float() if dtype is None else dtypes.as_numpy(dtype)
    return _made(np.full((), _number("scalar_tensor", "s", s), kind), requires_grad, device)


@checked
def full(size: Any, fill_value: Any, *, dtype: Any = None, requires_grad: bool = False, device: Any = None) -> Tensor:
    if not isinstance(size, (tuple, list)):
        raise TypeError("a tuple of whole numbers is wanted")
    return _made(np.full(size_of((size,)), array_of(_number("full", "fill_value", fill_value), dtype)), requires_grad, device)


@checked
def full_like(x: Tensor, fill_value: Any, *, dtype: Any = None, requires_grad: bool = False, device: Any = None) -> Tensor:
    kind = x.array.dtype if dtype is None else dtypes.as_numpy(dtype)
    value = _number("full_like", "fill_value", fill_value)
    return _made(np.full_like(x.array, value.array if isinstance(value, Tensor) else value, kind), requires_grad, device)


@checked
def eye(n: int, m: int | None = None, *, dtype: Any = None, requires_grad: bool = False, device: Any = None) -> Tensor:
    for name, extent in (("n", n), ("m", m)):
        if extent is not None and extent < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {extent}")
    return _made(np.eye(n, m, dtype=default_float() if dtype is None else dtypes.as_numpy(dtype)), requires_grad, device)


@checked
def arange(start: Any, end: Any = None, step: Any = 1, *, dtype: Any = None, requires_grad: bool = False, device: Any = None) -> Tensor:
    for name, bound in (("start", start), ("end", start if end is None else end), ("step", step)):
        _number("arange", name, bound)
    first, last = (0, start) if end is None else (start, end)
    first, last, by = (v.item() if isinstance(v, Tensor) else v for v in (first, last, step))
    if by == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(first) and math.isfinite(last)):
        raise RuntimeError(f"unsupported range: {first:g} -> {last:g}")
    if (last - first) / by < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    whole = all(isinstance(v, (int, np.integer)) for v in (first, last, by))
    kind = dtypes.as_numpy(dtype) if dtype is not None else np.dtype(np.int64) if whole else default_float()
    _refuse_booleans("arange", kind)
    count = math.ceil((last - first) / by)
    narrow = kind.kind in dtypes.FLOATS and kind != np.float64
    entries = _float_range(first, by, count, kind) if narrow else first + by * np.arange(count)
    return _made(np.asarray(entries).astype(kind), requires_grad, device)


def _float_range(first: float, step: float, count: int, kind: np.dtype[Any]) -> np.ndarray:
    """As PyTorch's vectorized loop rounds: bases of blocks of eight, and steps from there; the rest one by one."""
    index = np.arange(count)
    blocks = (index // 8) * 8
    entries = ((first + step * blocks).astype(kind).astype(np.float64) + (index - blocks) * float(step)).astype(kind)
    alone = index >= count - count % 16
    entries[alone] = (first + step * index[alone]).astype(kind)
    return entries


@checked
def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None, requires_grad: bool = False, device: Any = None) -> Tensor:
    """Evenly spaced numbers, rounded as PyTorch rounds them: from both ends to the middle, each by one fused operation."""
    start, end = (_end("linspace", name, given) for name, given in (("start", start), ("end", end)))
    kind = default_float() if dtype is None else dtypes.as_numpy(dtype)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    _refuse_booleans("linspace", kind)
    first, last = float(start), float(end)
    if kind.kind not in dtypes.FLOATS:
        return _made(np.linspace(first, last, steps).astype(kind), requires_grad, device)
    first, last = kind.type(start), kind.type(end)  # and so their difference, in PyTorch
    step = float((last - first) / kind.type(steps - 1)) if steps > 1 else 0.0
    first, last = float(first), float(last)
    index = np.arange(steps, dtype=np.float64)
    if kind == np.float64:
        up, down = fused(index, step, first), fused(index - (steps - 1), step, last)
    else:  # the products are exact in float64
        up, down = first + step * index, last + step * (index - (steps - 1))
    return _made(np.where((index < steps // 2) | (steps == 1), up, down).astype(kind), requires_grad, device)


@checked
def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Any = None, requires_grad: bool = False, device: Any = None
) -> Tensor:
    start, end = (_end("logspace", name, given) for name, given in (("start", start), ("end", end)))
    _number("logspace", "base", base)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    kind = default_float() if dtype is None else dtypes.as_numpy(dtype)
    _refuse_booleans("logspace", kind)
    return _made(np.power(float(base), np.linspace(float(start), float(end), steps)).astype(kind), requires_grad, device)


def _random(name: str, draw: Any) -> Any:
    def make(
        *given: Any, size: Any = None, dtype: Any = None, requires_grad: bool = False, device: Any = None, generator: Any = None
    ) -> Tensor:
        kind = default_float() if dtype is None else dtypes.as_numpy(dtype)
        if kind.kind not in dtypes.FLOATS:
            raise dtypes.untaken(name, kind)
        shape = size_of(given if size is None else (size,))
        check_no_examples()
        return _made(draw(shape, kind, generator), requires_grad, device)

    def like(x: Tensor, *, dtype: Any = None, requires_grad: bool = False, device: Any = None) -> Tensor:
        check_no_examples()
        kind = x.array.dtype if dtype is None else dtypes.as_numpy(dtype)
        laid = np.empty_like(x.array, kind)
        alone = {} if draw is uniform else {"in_blocks": laid.flags.c_contiguous}
        return _made(in_memory_order(laid, lambda shape: draw(shape, kind, None, **alone)), requires_grad, device)

    return checked(make, name), checked(like, f"{name}_like")


(rand, rand_like), (randn, randn_like) = _random("rand", uniform), _random("randn", draw_normal)


@checked
def randint(
    low: Any = None, high: Any = None, size: Any = None, *, generator: Any = None, dtype: Any = None, requires_grad: bool = False,
    device: Any = None,
) -> Tensor:  # fmt: skip
    """Whole numbers from low to high: ``randint(3, (2,))`` and ``randint(3, size=(2,))`` begin with 0."""
    if size is None:
        low, high, size = 0, low, high
    low, high = (0, low) if high is None else (0 if low is None else low, high)
    if size is None or high is None:
        raise TypeError("randint(): the end of the range and the size are wanted: randint(high, size), randint(low, high, size)")
    if not isinstance(size, (tuple, list)):
        raise TypeError("a size is wanted")
    kind, shape = np.dtype(np.int64) if dtype is None else dtypes.as_numpy(dtype), size_of((size,))
    draw = _whole_numbers(low, high, generator, kind)
    check_no_examples()
    return _made(draw(shape), requires_grad, device)


@checked
def randint_like(
    x: Tensor, low: int, high: int | None = None, *, dtype: Any = None, requires_grad: bool = False, device: Any = None
) -> Tensor:
    check_no_examples()
    low, high = (0, low) if high is None else (low, high)
    kind, laid = x.dtype if dtype is None else dtype, np.empty_like(x.array, np.bool_)
    drawn = in_memory_order(laid, _whole_numbers(low, high, None, dtypes.as_numpy(kind)))
    return _made(drawn, requires_grad, device)


def _whole_numbers(low: Any, high: Any, generator: Any, kind: np.dtype[Any]) -> Callable[[tuple[int, ...]], np.ndarray]:
    for bound in (low, high):
        if isinstance(bound, bool) or not hasattr(bound, "__index__"):
            raise TypeError(f"randint(): the range must be int, not {type(bound).__name__}")
    return lambda shape: whole(int(low), int(high), shape, generator).astype(kind)


@checked
def randperm(n: int, *, generator: Any = None, dtype: Any = None, device: Any = None) -> Tensor:
    check_device(device)
    kind = np.dtype(np.int64) if dtype is None else dtypes.as_numpy(dtype)
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    check_no_examples()
    return Tensor(permutation(n, generator).astype(kind))


def _check_normal(mean: Any, std: Any) -> None:
    for given in (mean, std):
        if not isinstance(given, Tensor):
            _number("normal", "mean", given)
        if isinstance(given, Tensor) and given.array.dtype.kind != "f":
            raise dtypes.untaken("normal", given.array.dtype)
    if isinstance(std, Tensor) and (std.array < 0).any():
        raise RuntimeError("normal expects all elements of std >= 0.0")
    if not isinstance(std, Tensor) and std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if isinstance(mean, Tensor) and isinstance(std, Tensor):
        said = unbroadcastable([mean.array.shape, std.array.shape])
        if said is not None:
            raise RuntimeError(said)


@checked
def normal(
    mean: Any, std: Any = 1.0, size: Any = None, *, generator: Any = None, requires_grad: bool = False, device: Any = None
) -> Tensor:
    check_device(device)
    _check_normal(mean, std)
    if size is None and not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        raise TypeError("normal(): a mean and a deviation that are numbers want a size")
    parts = [np.shape(v.array if isinstance(v, Tensor) else v) for v in (mean, std)]
    shape = size_of((size,)) if size is not None else np.broadcast_shapes(*parts)
    kind = next((v.array.dtype for v in (mean, std) if isinstance(v, Tensor)), default_float())
    check_no_examples()
    noise = Tensor(draw_normal(shape, kind, generator))
    with no_grad():
        drawn: Tensor = noise * std + mean
    return drawn.requires_grad_() if requires_grad else drawn
