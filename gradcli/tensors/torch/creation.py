"""New tensors: of given entries, of a shape, evenly spaced, and random.

The file also has methods that fill at random, and training dropout.

`rand`, `randn`, `randint`, `randperm`, `uniform_` and `normal_` draw as PyTorch does; all others
are NumPy's distributions, which go on from the same state. Nothing that is drawn has a derivative.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from gradcli.errors import UnreadArgumentError
from gradcli.namespace.generator import Generator, in_memory_order
from gradcli.ops.calling.inputs import unmask
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.dtypes import FLOATS, array_of, default_float, untaken
from gradcli.tensors.core.in_place import (
    assign,
    check_places,
    check_writable,
    common_shape,
    replace,
)
from gradcli.tensors.core.levels import check_no_examples, levels_of, own_entries
from gradcli.tensors.core.modes import check_device, state, warn
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.apply import check_annotations

default_generator = Generator()
manual_seed = default_generator.manual_seed
initial_seed = default_generator.initial_seed
seed = default_generator.seed


COPIED = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than {}(sourceTensor)."
)
_Kind = np.dtype[Any] | None  # the dtype that a call asks for


# -- of given entries ------------------------------------------------------------------------------


@check_annotations
def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Make a tensor of its own entries, copied from nested lists, numbers or an array."""
    check_device(device)
    if isinstance(data, Tensor):
        warn(COPIED.format("torch.tensor"))
    return copy_data(data, dtype, requires_grad)


def copy_data(data: Any, dtype: Any, requires_grad: bool = False) -> Tensor:
    """Make a tensor of its own entries."""
    array = np.array(array_of(data, dtype))
    if requires_grad and array.dtype.kind not in FLOATS:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return Tensor(array).requires_grad_(requires_grad)


def from_numpy(array: np.ndarray) -> Tensor:
    """Make a tensor that shares memory with an array."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    array = unmask(array, "the array")
    dtypes.of_numpy(array.dtype)
    return Tensor(array)


# -- of a shape ------------------------------------------------------------------------------------


def _constructor(entries: Callable[..., Any], name: str = "") -> Callable[..., Tensor]:
    """Return the function that makes tensors of another function's arrays.

    The other function is given the wanted dtype.
    """

    def make(
        *given: Any, dtype: Any = None, requires_grad: bool = False, device: Any = None,
        layout: Any = None, pin_memory: bool = False, memory_format: Any = None, out: Any = None,
        **named: Any,
    ) -> Tensor:  # fmt: skip
        check_device(device)
        if out is not None:
            raise UnreadArgumentError(
                "gradcli does not support out= of constructors",
                help="leave it out, and give the result a name",
            )
        kind = None if dtype is None else dtypes.as_numpy(dtype)
        made = Tensor(entries(*given, kind=kind, **named)).requires_grad_(requires_grad)
        return own_entries(made, levels_of(given)) if state.batch_levels else made

    make.__name__ = make.__qualname__ = name = name or entries.__name__
    make.__doc__ = entries.__doc__
    return check_annotations(make, name)


def size_of(size: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the shape in zeros(2, 3), zeros((2, 3)) and zeros(torch.Size([2, 3])) alike."""
    if not size:
        raise TypeError("a size is wanted")
    parts = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    for place, n in enumerate(parts):
        if not hasattr(n, "__index__"):
            raise TypeError(
                f"a size consists of whole numbers: its part {place} is {type(n).__name__}"
            )
    shape = tuple(map(int, parts))
    if any(n < 0 for n in shape):
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}"
        )
    return shape


def _number(value: Any) -> Any:
    """Return a number, or the number in a tensor without axes and gradient."""
    if isinstance(value, Tensor) and not (value.array.ndim or value.requires_grad):
        return value.item()
    if isinstance(value, (str, list, tuple, Tensor)):
        raise TypeError(
            f"a number is wanted, not {type(value).__name__}: its gradient would be lost"
        )
    return value


def _fillers(name: str, value: float) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    def make(*given: Any, kind: _Kind, size: Any = None) -> np.ndarray:
        return np.full(size_of(given if size is None else (size,)), value, kind or default_float())

    def like(x: Tensor, *, kind: _Kind) -> np.ndarray:
        return np.full(x.array.shape, value, kind or x.array.dtype)

    return _constructor(make, name), _constructor(like, f"{name}_like")


zeros, zeros_like = _fillers("zeros", 0)
ones, ones_like = _fillers("ones", 1)
empty, empty_like = _fillers("empty", 0)


@_constructor
def scalar_tensor(s: Any, *, kind: _Kind) -> np.ndarray:
    """Make a tensor without axes: a float, unless another dtype is asked for."""
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


# -- evenly spaced ---------------------------------------------------------------------------------


def _of_numbers(name: str, kind: np.dtype[Any], entries: np.ndarray) -> np.ndarray:
    if kind.kind == "b":
        raise untaken(name, kind)
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
    return _evenly_spaced("linspace", start, end, steps, kind, lambda line: line)


@_constructor
def logspace(start: Any, end: Any, steps: int, base: float = 10.0, *, kind: _Kind) -> np.ndarray:
    number = float(_number(base))
    return _evenly_spaced("logspace", start, end, steps, kind, lambda line: np.power(number, line))


def _evenly_spaced(
    name: str, start: Any, end: Any, steps: int, kind: _Kind, change: Callable[[np.ndarray], Any]
) -> np.ndarray:
    """Evenly spaced numbers from start to end; tensors that are the ends pass no gradient."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    first, last = (_number(v.detach() if isinstance(v, Tensor) else v) for v in (start, end))
    return _of_numbers(name, kind or default_float(), change(np.linspace(first, last, steps)))


# -- random ----------------------------------------------------------------------------------------


def _random(
    name: str, draw: Callable[..., np.ndarray], draw_like: Callable[..., np.ndarray]
) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    def make(*given: Any, kind: _Kind, size: Any = None, generator: Any = None) -> np.ndarray:
        kind = _of_floats(name, kind or default_float())
        return draw(_source(generator), size_of(given if size is None else (size,)), kind).astype(
            kind
        )

    def like(x: Tensor, *, kind: _Kind, generator: Any = None) -> np.ndarray:
        kind = _of_floats(name, kind or x.array.dtype)
        return draw_like(_source(generator), x.array, kind).astype(kind)

    return _constructor(make, name), _constructor(like, f"{name}_like")


def _source(generator: Generator | None) -> Generator:
    """Return a source of random numbers, which a function of examples may not ask for."""
    check_no_examples()
    return generator or default_generator


def _of_floats(name: str, kind: np.dtype[Any]) -> np.dtype[Any]:
    if kind.kind not in FLOATS:
        raise untaken(name, kind)
    return kind


rand, rand_like = _random("rand", Generator.uniform, Generator.uniform_like)
randn, randn_like = _random("randn", Generator.normal, Generator.normal_like)


@_constructor
def randint(
    low: Any = None, high: Any = None, size: Any = None, *, kind: _Kind, generator: Any = None
) -> np.ndarray:
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
def randint_like(
    x: Tensor, low: Any, high: Any = None, *, kind: _Kind, generator: Any = None
) -> np.ndarray:
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
def normal(
    mean: Any, std: Any = 1.0, size: Any = None, *, kind: _Kind, generator: Any = None
) -> np.ndarray:
    """Draw normal numbers of a mean and a deviation, which may be tensors."""
    middle, spread = (v.array if isinstance(v, Tensor) else v for v in (mean, std))
    kinds = [_of_floats("normal", v.dtype) for v in (middle, spread) if isinstance(v, np.ndarray)]
    if np.any(np.asarray(spread) < 0):
        raise RuntimeError("normal expects all elements of std >= 0.0")
    if size is None and not (isinstance(mean, Tensor) or isinstance(std, Tensor)):
        raise TypeError("normal(): a mean and a deviation that are numbers want a size")
    kind = kind or (kinds or [default_float()])[0]
    shape = common_shape(np.shape(middle), np.shape(spread)) if size is None else size_of((size,))
    noise = _source(generator).normal(shape, kind)
    return np.asarray(noise * spread + middle).astype(kind)


# -- Methods that fill -----------------------------------------------------------------------------


def _require(holds: Any, said: str) -> None:
    if not holds:
        raise RuntimeError(said)


def _fills(draw: Callable[..., np.ndarray]) -> Callable[..., Tensor]:
    """Return the method that writes a function's draws for an array into a tensor."""
    node = "".join(word.capitalize() for word in draw.__name__.split("_")) + "Backward0"
    held = check_annotations(draw)

    def fill(x: Tensor, *given: Any, generator: Generator | None = None, **named: Any) -> Tensor:
        source = _source(generator)
        check_writable(x)
        check_places(x)
        drawn = held(source, x.array, *given, **named)
        return replace(x, Tensor(np.asarray(drawn).astype(x.array.dtype)), node)

    fill.__name__ = draw.__name__
    return fill


@_fills
def uniform_(source: Generator, x: np.ndarray, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    _of_floats("uniform_", x.dtype)
    _require(low <= high, f"uniform_ expects [from, to), but found from={low:g} > to={high:g}")
    kind: Any = np.float64 if x.dtype == np.float64 else np.float32
    # Rounded once, as in PyTorch's loops.
    return source.uniform_like(x, kind).astype(np.float64) * float(kind(high - low)) + float(
        kind(low)
    )


@_fills
def normal_(source: Generator, x: np.ndarray, mean: float = 0.0, std: float = 1.0) -> np.ndarray:
    _of_floats("normal_", x.dtype)
    _require(std >= 0, f"normal expects std >= 0.0, but found std {std:g}")
    return source.normal_like(x, x.dtype) * std + mean


@_fills
def bernoulli_(source: Generator, x: np.ndarray, p: Any = 0.5) -> np.ndarray:
    return _heads(source, x, p)


def _heads(source: Generator, x: np.ndarray, p: Any) -> np.ndarray:
    chances = np.asarray(p.array if isinstance(p, Tensor) else p)
    _require(((chances >= 0) & (chances <= 1)).all(), f"probabilities are from 0 to 1, not {p}")
    return source.distributions.random_sample(x.shape) < chances


# -- Functions that draw ---------------------------------------------------------------------------


def bernoulli(x: Tensor, p: Any = None, *, generator: Generator | None = None) -> Tensor:
    """1 with the probability that each entry says (or p), else 0."""
    source = _source(generator)
    _of_floats("bernoulli", x.array.dtype)
    return Tensor(_heads(source, x.array, x if p is None else p).astype(x.array.dtype))


# -- dropout ---------------------------------------------------------------------------------------


def _dropping(lead: Callable[[Tensor], int]) -> Callable[..., Tensor]:
    """Return a function that drops entries, or whole channels, while it trains.

    It drops them with probability p; what stays is larger by 1/(1 - p).

    lead  how many axes number what stays or goes as a whole
    """

    def drop(x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        if not isinstance(training, bool):
            raise TypeError(f"training is True or False, not {training!r}")
        if not training or p == 0:
            return x
        axes = lead(x)
        source = _source(None)
        _of_floats("dropout", x.array.dtype)
        drawn = source.distributions.random_sample(x.shape[:axes]) >= p
        spread = drawn.reshape(*x.shape[:axes], *(1,) * (x.ndim - axes))
        result: Tensor = x * Tensor((spread / (1 - p) if p < 1 else spread).astype(x.array.dtype))
        return assign(x, result) if inplace else result

    return drop


def _channels(axes: int) -> Callable[[Tensor], int]:
    """Count the axes that number channels: one without a batch, but in two dimensions."""

    def lead(x: Tensor) -> int:
        fits = x.ndim > 1 and (axes > 1 or x.ndim < 4)
        _require(fits, f"dropout{axes}d: channels are axes of at least 2, not of {x.ndim}")
        return 1 if axes != 2 and x.ndim == axes + 1 else 2

    return lead


RANDOM_IN_PLACE = {fill.__name__: fill for fill in (uniform_, normal_, bernoulli_)}
RANDOM = {"bernoulli": check_annotations(bernoulli)}
OF_NETWORKS: dict[str, Callable[..., Tensor]] = {
    "dropout": _dropping(lambda x: x.ndim),
    **{f"dropout{n}d": _dropping(_channels(n)) for n in (1, 2, 3)},
}
