"""New tensors: of given entries, of a shape, evenly spaced, and random."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from gradcli.errors import UnreadArgumentError
from gradcli.ops.calling.inputs import unmasked
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.casts import as_tensor
from gradcli.tensors.core.entries import array_of, default_float
from gradcli.tensors.core.levels import check_no_examples
from gradcli.tensors.core.modes import check_device, warn
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.checked_calls import checked
from gradcli.tensors.torch.random_fills import Generator, default_generator, in_memory_order

COPIED = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than {}(sourceTensor)."
)
_Kind = np.dtype[Any] | None  # the dtype that a call asks for


# -- of given entries -------------------------------------------------------------------------------------------


@checked
def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
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
def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:  # fmt: skip
    """A tensor of anything, which shares its memory unless a copy is asked for or has to be."""
    made = as_tensor(obj, dtype, device)
    if copy is False and not (isinstance(obj, (Tensor, np.ndarray)) and as_tensor(obj).dtype == made.dtype):
        raise ValueError("copy=False: the entries of a tensor are copied from lists and other dtypes")
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


# -- of a shape -------------------------------------------------------------------------------------------------


def _constructor(entries: Callable[..., Any], name: str = "") -> Callable[..., Tensor]:
    """The function that makes tensors of another one's arrays, which knows the wanted dtype."""

    def make(
        *given: Any, dtype: Any = None, requires_grad: bool = False, device: Any = None,
        layout: Any = None, pin_memory: bool = False, memory_format: Any = None, out: Any = None,
        **named: Any,
    ) -> Tensor:  # fmt: skip
        check_device(device)
        if out is not None:
            help = "leave it out, and give the result a name"
            raise UnreadArgumentError("gradcli does not support out= of constructors", help=help)
        kind = None if dtype is None else dtypes.as_numpy(dtype)
        return Tensor(entries(*given, kind=kind, **named)).requires_grad_(requires_grad)

    make.__name__ = make.__qualname__ = name = name or entries.__name__
    make.__doc__ = entries.__doc__
    return checked(make, name)


def size_of(size: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape in zeros(2, 3), zeros((2, 3)) and zeros(torch.Size([2, 3])) alike."""
    if not size:
        raise TypeError("a size is wanted")
    parts = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    for place, n in enumerate(parts):
        if not hasattr(n, "__index__"):
            raise TypeError(f"a size consists of whole numbers: its part {place} is {type(n).__name__}")
    shape = tuple(map(int, parts))
    if any(n < 0 for n in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    return shape


def _number(value: Any) -> Any:
    """A number, or what a tensor without axes and gradient holds."""
    if isinstance(value, Tensor) and not (value.array.ndim or value.requires_grad):
        return value.item()
    if isinstance(value, (str, list, tuple, Tensor)):
        raise TypeError(f"a number is wanted, not {type(value).__name__}: its gradient would be lost")
    return value


def _filled(name: str, value: float) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    def make(*given: Any, kind: _Kind, size: Any = None) -> np.ndarray:
        return np.full(size_of(given if size is None else (size,)), value, kind or default_float())

    def like(x: Tensor, *, kind: _Kind) -> np.ndarray:
        return np.full(x.array.shape, value, kind or x.array.dtype)

    return _constructor(make, name), _constructor(like, f"{name}_like")


zeros, zeros_like = _filled("zeros", 0)
ones, ones_like = _filled("ones", 1)
empty, empty_like = _filled("empty", 0)


@_constructor
def scalar_tensor(s: Any, *, kind: _Kind) -> np.ndarray:
    """A tensor without axes: a float, unless another dtype is asked for."""
    return np.full((), _number(s), kind or default_float())


@_constructor
def full(size: Any, fill_value: Any, *, kind: _Kind) -> np.ndarray:
    if not isinstance(size, (tuple, list)):
        raise TypeError("a tuple of whole numbers is wanted")
    return np.full(size_of((size,)), array_of(_number(fill_value), kind))


@_constructor
def full_like(x: Tensor, fill_value: Any, *, kind: _Kind) -> np.ndarray:
    return np.full(x.array.shape, _number(fill_value), kind or x.array.dtype)


@_constructor
def eye(n: int, m: int | None = None, *, kind: _Kind) -> np.ndarray:
    if n < 0 or (m or 0) < 0:
        raise RuntimeError(f"an identity matrix has no negative extents: {n}, {m}")
    return np.eye(n, m, dtype=kind or default_float())


# -- evenly spaced ----------------------------------------------------------------------------------------------


def _of_numbers(name: str, kind: np.dtype[Any], entries: np.ndarray) -> np.ndarray:
    if kind.kind == "b":
        raise dtypes.untaken(name, kind)
    return entries.astype(kind)


@_constructor
def arange(start: Any, end: Any = None, step: Any = 1, *, kind: _Kind) -> np.ndarray:
    first, last = (0, start) if end is None else (start, end)
    first, last, by = map(_number, (first, last, step))
    if by == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(first) and math.isfinite(last)):
        raise RuntimeError(f"unsupported range: {first:g} -> {last:g}")
    if (last - first) / by < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    whole = all(isinstance(v, (int, np.integer)) for v in (first, last, by))
    kind = kind or (np.dtype(np.int64) if whole else default_float())
    return _of_numbers("arange", kind, first + by * np.arange(math.ceil((last - first) / by)))


@_constructor
def linspace(start: Any, end: Any, steps: int, *, kind: _Kind) -> np.ndarray:
    return _spaced("linspace", start, end, steps, kind, lambda line: line)


@_constructor
def logspace(start: Any, end: Any, steps: int, base: float = 10.0, *, kind: _Kind) -> np.ndarray:
    number = float(_number(base))
    return _spaced("logspace", start, end, steps, kind, lambda line: np.power(number, line))


def _spaced(name: str, start: Any, end: Any, steps: int, kind: _Kind, change: Callable[[np.ndarray], Any]) -> np.ndarray:
    """Evenly spaced numbers from start to end; tensors that are the ends pass no gradient."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    first, last = (_number(v.detach() if isinstance(v, Tensor) else v) for v in (start, end))
    return _of_numbers(name, kind or default_float(), change(np.linspace(first, last, steps)))


# -- random -----------------------------------------------------------------------------------------------------


def _random(
    name: str, draw: Callable[..., np.ndarray], draw_like: Callable[..., np.ndarray]
) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    def make(*given: Any, kind: _Kind, size: Any = None, generator: Any = None) -> np.ndarray:
        kind = _of_floats(name, kind or default_float())
        return draw(_source(generator), size_of(given if size is None else (size,)), kind).astype(kind)

    def like(x: Tensor, *, kind: _Kind, generator: Any = None) -> np.ndarray:
        kind = _of_floats(name, kind or x.array.dtype)
        return draw_like(_source(generator), x.array, kind).astype(kind)

    return _constructor(make, name), _constructor(like, f"{name}_like")


def _source(generator: Generator | None) -> Generator:
    check_no_examples()
    return generator or default_generator


def _of_floats(name: str, kind: np.dtype[Any]) -> np.dtype[Any]:
    if kind.kind not in dtypes.FLOATS:
        raise dtypes.untaken(name, kind)
    return kind


rand, rand_like = _random("rand", Generator.uniform, Generator.uniform_like)
randn, randn_like = _random("randn", Generator.normal, Generator.normal_like)


@_constructor
def randint(low: Any = None, high: Any = None, size: Any = None, *, kind: _Kind, generator: Any = None) -> np.ndarray:
    """Whole numbers from low, or 0, to high: ``randint(3, (2,))``, ``randint(3, size=(2,))``."""
    if size is None:
        low, high, size = 0, low, high
    low, high = (0, low) if high is None else (0 if low is None else low, high)
    if size is None or high is None:
        raise TypeError("randint(): randint(high, size) or randint(low, high, size) are wanted")
    if not isinstance(size, (tuple, list)):
        raise TypeError("a size is wanted")
    drawn = _source(generator).whole(index(low), index(high), size_of((size,)))
    return drawn.astype(kind or np.int64)


@_constructor
def randint_like(x: Tensor, low: Any, high: Any = None, *, kind: _Kind, generator: Any = None) -> np.ndarray:
    low, high = (0, low) if high is None else (low, high)
    source = _source(generator)
    drawn = in_memory_order(x.array, lambda shape: source.whole(index(low), index(high), shape))
    return drawn.astype(kind or x.array.dtype)


@_constructor
def randperm(n: int, *, kind: _Kind, generator: Any = None) -> np.ndarray:
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    return _source(generator).permutation(n).astype(kind or np.int64)


@_constructor
def normal(mean: Any, std: Any = 1.0, size: Any = None, *, kind: _Kind, generator: Any = None) -> np.ndarray:
    """Normal numbers of a mean and a deviation, which may be tensors."""
    middle, spread = (v.array if isinstance(v, Tensor) else v for v in (mean, std))
    kinds = [_of_floats("normal", v.dtype) for v in (middle, spread) if isinstance(v, np.ndarray)]
    if np.any(np.asarray(spread) < 0):
        raise RuntimeError("normal expects all elements of std >= 0.0")
    if size is None and not (isinstance(mean, Tensor) or isinstance(std, Tensor)):
        raise TypeError("normal(): a mean and a deviation that are numbers want a size")
    kind = kind or (kinds or [default_float()])[0]
    try:
        shape = np.broadcast_shapes(np.shape(middle), np.shape(spread)) if size is None else size_of((size,))
    except ValueError as error:
        raise RuntimeError(str(error)) from None
    noise = _source(generator).normal(shape, kind)
    return np.asarray(noise * spread + middle).astype(kind)
