"""NumPy's functions, as what is written down for arrays of pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gradcli.ops.extended import LONG_DOUBLE, WIDER
from gradcli.ops.wholes.slices import in_slices
from gradcli.reference.pairs.deferred import Wide, plain, spread, viewed
from gradcli.reference.pairs.library import multiplied

_POWERS = 16  # whole exponents up to which powers are products


def entries(what: str, *operands: Wide, kind: str | None = None) -> Wide:
    """An operation entry by entry: on rough numbers where all are rough, else on pairs."""
    wide = any(x.kind == "pair" for x in operands)
    kind = kind or ("pair" if wide else "rough")
    if not wide and what in _ROUGH:
        what = "rough_" + what
    elif not (what.startswith("rough_") or what in _OF_TRUTHS):
        operands = tuple(_widened(x) for x in operands)
    if all(x.what == "number" for x in operands):
        return _folded(what, operands, kind)
    return operands[0].numbers.node(kind, spread(operands), what, operands)


def _folded(what: str, operands: Sequence[Wide], kind: str) -> Wide:
    """Of numbers alone, a number."""
    numbers = operands[0].numbers
    high, low = numbers.node(kind, (), what, tuple(viewed(x, ()) for x in operands)).halves()
    return numbers.filled(float(high), 0.0 if low is None else float(low), spread(operands), kind)


_ROUGH = {"add", "sub", "mul", "div", "neg", "abs", "sqrt", "maximum", "minimum", "less", "less_equal", "equal", "not_equal"}
_OF_TRUTHS = {"both", "either", "not", "finite", "single"}


def _widened(x: Wide) -> Wide:
    return x if x.kind == "pair" else x.astype(LONG_DOUBLE)


def _plainly(what: str) -> Callable[..., Wide]:
    return lambda *operands: entries(what, *operands)


def _sum(x: Wide, y: Wide) -> Wide:
    return y if _is(x, 0) and y.shape == spread((x, y)) else x if _is(y, 0) and x.shape == spread((x, y)) else entries("add", x, y)


def _product(x: Wide, y: Wide) -> Wide:
    for a, b in ((x, y), (y, x)):
        if _is(a, 1) and b.shape == spread((x, y)) and b.kind != "truth" and (b.kind == "pair" or a.kind != "pair"):
            return b
    return entries("mul", x, y)


def _is(x: Wide, number: float) -> bool:
    return x.what == "number" and x.held == (number, 0.0)


def _compared(what: str, turned: bool = False) -> Callable[[Wide, Wide], Wide]:
    return lambda x, y: entries(what, *((y, x) if turned else (x, y)), kind="truth")


def _logical(what: str) -> Callable[..., Wide]:
    def made(*operands: Wide) -> Wide:
        return entries(what, *(x if x.kind == "truth" else x != 0 for x in operands), kind="truth")

    return made


def _power(x: Wide, y: Wide) -> Any:
    if y.what == "number" and not y.held[1]:
        exponent, shape = y.held[0], spread((x, y))
        if exponent == int(exponent) and abs(exponent) <= _POWERS and x.shape == shape:
            return _whole_power(x, int(exponent))
        if exponent == 0.5:
            return entries("sqrt", x)
        if exponent == -0.5:
            return 1 / entries("sqrt", x)
    return entries("pow", x, y)


def _whole_power(x: Wide, n: int) -> Any:
    if n <= 0:
        one = x.numbers.filled(1.0, 0.0, x.shape, x.kind)
        return one if n == 0 else one / _whole_power(x, -n)
    found, square = None, x
    while n:
        if n & 1:
            found = square if found is None else found * square
        n >>= 1
        square = square * square if n else square
    return found


def _finite(x: Wide) -> Wide:
    return entries("finite", x, kind="truth") if x.kind == "rough" else entries("known", _widened(x), _widened(x), kind="truth")


def _no_number(x: Wide) -> Any:
    """False, or not known."""
    return ~entries("known", _widened(x), _widened(x), kind="truth")


def _matmul(x: Wide, y: Wide) -> Any:
    if x.kind != "pair" and y.kind != "pair":
        return x.numbers.array(np.matmul(np.asarray(x), np.asarray(y)))
    if x.ndim != 2 or y.ndim != 2:
        return _stacked(x, y)
    left, right = _doubles(x), _doubles(y)
    (m, n), p = x.shape, y.shape[1]
    found = in_slices(left, right) if WIDER and min(m, n, p) > 16 and m * n * p > 1 << 20 else None
    return x.numbers.made("pair", (m, p), multiplied(left, right) if found is None else found)


def _stacked(x: Wide, y: Wide) -> Any:
    """Of batches of matrices, one after the other."""
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    if min(x.ndim, y.ndim) < 2 or np.prod(batch) > 64:
        return np.matmul(plain(x), plain(y))
    left, right = (viewed(a, (*batch, *a.shape[-2:])) for a in (x, y))
    found = [_matmul(left[place], right[place]) for place in np.ndindex(batch)]
    halves = [np.stack([_doubles(z)[i] for z in found]).reshape(*batch, x.shape[-2], y.shape[-1]) for i in (0, 1)]
    return x.numbers.made("pair", halves[0].shape, (halves[0], halves[1]))


def _doubles(x: Wide) -> tuple[np.ndarray, np.ndarray]:
    high, low = x.halves()
    return high, np.zeros(x.shape) if low is None else low


UFUNCS: dict[Any, Callable[..., Any]] = {
    np.add: _sum, np.subtract: _plainly("sub"), np.multiply: _product, np.true_divide: _plainly("div"), np.negative: _plainly("neg"),
    np.positive: lambda x: x, np.absolute: _plainly("abs"), np.fabs: _plainly("abs"), np.square: lambda x: x * x,
    np.sqrt: _plainly("sqrt"), np.cbrt: _plainly("cbrt"), np.exp: _plainly("exp"), np.expm1: _plainly("expm1"),
    np.log: _plainly("log"), np.log1p: _plainly("log1p"), np.sin: _plainly("sin"), np.cos: _plainly("cos"), np.tan: _plainly("tan"),
    np.arctan: _plainly("atan"), np.sinh: _plainly("sinh"), np.cosh: _plainly("cosh"), np.tanh: _plainly("tanh"),
    np.floor: _plainly("floor"), np.ceil: _plainly("ceil"), np.trunc: _plainly("trunc"), np.sign: _plainly("sign"),
    np.maximum: _plainly("maximum"), np.minimum: _plainly("minimum"), np.power: _power, np.reciprocal: lambda x: 1 / x,
    np.less: _compared("less"), np.less_equal: _compared("less_equal"), np.greater: _compared("less", turned=True),
    np.greater_equal: _compared("less_equal", turned=True), np.equal: _compared("equal"), np.not_equal: _compared("not_equal"),
    np.logical_and: _logical("both"), np.logical_or: _logical("either"), np.logical_not: _logical("not"),
    np.bitwise_and: _logical("both"), np.bitwise_or: _logical("either"), np.invert: _logical("not"),
    np.isfinite: _finite, np.isnan: _no_number, np.matmul: _matmul,
}  # fmt: skip


def _where(one: Wide, holds: Any, x: Any, y: Any) -> Any:
    holds, x, y = map(one.like, (holds, x, y))
    holds = holds if holds.kind == "truth" else holds != 0
    if x is y or holds.what == "number":
        return _broadcast(one, x if x is y or holds.held[0] else y, spread((holds, x, y)))
    if "pair" in (x.kind, y.kind):
        operands = holds, _widened(x), _widened(y)
        return one.numbers.node("pair", spread(operands), "where", operands)
    kind = "truth" if x.kind == y.kind == "truth" else "rough"
    return one.numbers.node(kind, spread((holds, x, y)), "rough_where", (holds, x, y))


def _broadcast(one: Wide, x: Any, shape: Any, **_: Any) -> Any:
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    np.broadcast_shapes(x.shape, shape)
    return viewed(x, shape)


def _reshaped(one: Wide, x: Wide, shape: Any, **_: Any) -> Any:
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if -1 in shape:
        rest = -int(np.prod(shape))
        shape = tuple(x.size // rest if n == -1 else n for n in shape)
    if x.what == "number" or [n for n in x.shape if n != 1] == [n for n in shape if n != 1]:
        return viewed(x, shape)
    return x.moved(lambda part: np.ascontiguousarray(part).reshape(shape))


def _filled(number: float) -> Callable[..., Any]:
    return lambda one, x, dtype=None, **_: x.numbers.filled(
        number, 0.0, x.shape, x.kind if dtype is None else "pair" if np.dtype(dtype) == LONG_DOUBLE else "rough"
    )


def _reduced(name: str) -> Callable[..., Any]:
    return lambda one, x, axis=None, keepdims=False, **_: getattr(one.like(x), name)(axis, keepdims)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: _where, np.broadcast_to: _broadcast, np.reshape: _reshaped, np.zeros_like: _filled(0.0), np.ones_like: _filled(1.0),
    np.shape: lambda one, x: x.shape, np.ndim: lambda one, x: x.ndim, np.size: lambda one, x: x.size,
    np.sum: _reduced("sum"), np.max: _reduced("max"), np.min: _reduced("min"), np.any: _reduced("any"), np.all: _reduced("all"),
    np.copy: lambda one, x, **_: x,
}  # fmt: skip


def _taken_apart(function: Any, one: Wide, *arguments: Any, **options: Any) -> Any:
    """A function that moves entries of arrays, its first argument, done to both doubles of all of them."""
    moved, *rest = arguments
    leaves = _leaves([moved])
    kinds = {x.kind for x in leaves if isinstance(x, Wide)}
    if len(kinds) != 1 or not all(_is_one_with(x, kinds) for x in leaves) or any(isinstance(x, Wide) for x in _leaves(rest)):
        return function(*map(plain, arguments), **options)
    high, low = (function(_half(moved, place), *rest, **options) for place in (0, 1))
    (kind,) = kinds
    if isinstance(high, (list, tuple)):
        return [one.numbers.made(kind, h.shape, (h, part)) for h, part in zip(high, low, strict=True)]
    return one.numbers.made(kind, high.shape, (high, low))


def _leaves(arguments: Any) -> list[Any]:
    return [leaf for x in arguments for leaf in (_leaves(x) if isinstance(x, (list, tuple)) else [x])]


def _is_one_with(x: Any, kinds: set[str]) -> bool:
    """Whether entries can stand beside those of a kind: doubles beside numbers, as which they are the high half of a pair."""
    return isinstance(x, Wide) or (isinstance(x, np.ndarray) and x.dtype == np.float64 and "truth" not in kinds)


def _half(x: Any, place: int) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)(_half(part, place) for part in x)
    if isinstance(x, Wide):
        return _doubles(x)[place]
    return np.zeros(x.shape) if place else x


_MOVING = {
    np.transpose, np.swapaxes, np.moveaxis, np.flip, np.take, np.take_along_axis, np.concatenate, np.split, np.roll, np.repeat, np.tile,
    np.stack, np.expand_dims, np.squeeze, np.diagonal, np.rot90,
}  # fmt: skip
FUNCTIONS.update({function: partial(_taken_apart, function) for function in _MOVING})
