"""Arrays of pairs whose entries are computed later, many operations at once: what NumPy's functions make of them is written down."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.ops.extended import LONG_DOUBLE, WIDER, Precise
from gradcli.reference.algebra import Unsupported
from gradcli.reference.pairs.methods import Methods

Shape = tuple[int, ...]
Halves = tuple[np.ndarray, np.ndarray | None]
_DTYPES = {"pair": LONG_DOUBLE, "rough": np.float64, "truth": np.bool_}


class OutOfRange(Unsupported):
    """A number that pairs of doubles do not hold: too large, too small, or none."""


class Means(NamedTuple):
    """What knows of these arrays, and is made of them.

    computed   their doubles, of some at once
    put        places, high and low parts, and of how many entries: entries added up at their places
    ufuncs     NumPy's functions of entries, on these arrays
    functions  NumPy's other ones, given one of these arrays first
    """

    computed: Callable[[Sequence[Wide]], list[Halves]]
    put: Callable[[np.ndarray, np.ndarray, np.ndarray, int], tuple[np.ndarray, np.ndarray]]
    ufuncs: Mapping[Any, Callable[..., Any]]
    functions: Mapping[Any, Callable[..., Any]]


class Numbers:
    """What was written down in one judgement: the same operation on the same operands is there once."""

    def __init__(self, means: Means) -> None:
        self.means = means
        self.known: dict[Any, Any] = {}
        self.kept: list[Any] = []  # so that no other array comes to have the id of one that is known

    def array(self, x: Any) -> Wide:
        """An array of NumPy's, exactly."""
        key = "array", id(x)
        if key in self.known:
            found: Wide = self.known[key]
            return found
        self.kept.append(x)
        found = self.known[key] = self._array(np.asarray(x))
        return found

    def _array(self, x: np.ndarray) -> Wide:
        if x.dtype == bool:
            return self.filled(float(x), 0.0, (), "truth") if not x.ndim else self.made("truth", x.shape, (x.astype(np.float64), None))
        kind = "pair" if WIDER and x.dtype == LONG_DOUBLE else "rough"
        high = x.astype(np.float64, copy=False)
        if kind == "rough" and x.dtype.kind in "iu" and x.size and np.abs(x).max() > 2**53:
            raise OutOfRange("whole numbers beyond doubles")
        low = None
        if kind == "pair":
            with np.errstate(all="ignore"):
                rest = (x - high).astype(np.float64)
            low = rest if rest.any() else None
            size = np.abs(high)
            if not (np.isfinite(high).all() and np.all((size < 2.0**1000) & ((size > 2.0**-960) | (size == 0)))):
                high = np.where((size < 2.0**1000) & ((size > 2.0**-960) | (size == 0)), high, np.nan)
        if not x.ndim:
            return self.filled(float(high), 0.0 if low is None else float(low), (), kind)
        return self.made(kind, x.shape, (high, low))

    def given(self, x: Any) -> Wide:
        """An array of NumPy's as a pair, if no digits of it may be missing: where long double is no longer than double, it has few."""
        if WIDER:
            return self.array(x)
        array = np.asarray(x)
        if isinstance(x, Precise):
            return self.filled(float(x), x.rest, (), "pair")
        if array.dtype.kind == "f" and not np.all((array == _shortened(array)) | ~np.isfinite(array)):
            raise OutOfRange("what was computed in doubles")
        found: Wide = self.array(x)
        return found if found.kind == "truth" else found.astype(LONG_DOUBLE)

    def made(self, kind: str, shape: Shape, held: tuple[np.ndarray, np.ndarray | None]) -> Wide:
        """An array that is there."""
        high, low = (None if part is None else np.asarray(part, np.float64) for part in held)
        assert high is not None
        if any(s % high.itemsize for s in high.strides) or (low is not None and low.strides != high.strides):
            high, low = np.ascontiguousarray(high), None if low is None else np.ascontiguousarray(low)
        found = Wide(self, kind, shape, "array", ())
        found.held = high, low
        return found

    def filled(self, high: float, low: float, shape: Shape, kind: str) -> Wide:
        """One number at all places of a shape."""
        found = self.node(kind, shape, "number", (), (high, low, np.signbit(high)))
        found.held = high, low
        return found

    def node(self, kind: str, shape: Shape, what: str, operands: tuple[Wide, ...], static: Any = None) -> Wide:
        key = kind, shape, what, operands, static
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = Wide(self, kind, shape, what, operands, static)
        return found


class Wide(Methods, np.lib.mixins.NDArrayOperatorsMixin):
    """An array whose entries are pairs of doubles, rough numbers (doubles, for bounds and sizes) or truths.

    what      "array", "number", "view", a reduction, or an operation entry by entry
    operands  what it is made of, until it is computed
    held      the doubles that it is made of, once it is: the high parts, and the low ones unless they are zero
    """

    __slots__ = ("held", "kind", "numbers", "operands", "shape", "static", "what")
    numbers: Numbers

    def __init__(self, numbers: Numbers, kind: str, shape: Shape, what: str, operands: tuple[Wide, ...], static: Any = None) -> None:
        self.numbers, self.kind, self.shape, self.what, self.operands, self.static = numbers, kind, shape, what, operands, static
        self.held: Any = None

    __hash__ = object.__hash__

    # -- as arrays are

    @property
    def dtype(self) -> Any:
        return np.dtype(_DTYPES[self.kind])

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def T(self) -> Any:
        return np.transpose(self)

    def __len__(self) -> int:
        return self.shape[0]

    def rough(self) -> Wide:
        if self.kind == "rough":
            return self
        if self.what == "number":
            return self.numbers.filled(self.held[0], 0.0, self.shape, "rough")
        return self.numbers.node("rough", self.shape, "rounded", (self,))

    def filled(self, number: float) -> Wide:
        return self.numbers.filled(number, 0.0, self.shape, "rough")

    @property
    def alike(self) -> float | None:
        return self.held[0] if self.what == "number" else None

    @property
    def doubles(self) -> Halves:
        """Its doubles, where they are there."""
        if self.what == "number":
            high, low = self.held
            return np.broadcast_to(high, self.shape), None if not low else np.broadcast_to(low, self.shape)
        if self.what == "view":
            high, low = self.operands[0].doubles
            return _view(high, self.shape), None if low is None else _view(low, self.shape)
        found: Halves = self.held
        return found

    def halves(self) -> Halves:
        """Its doubles, computed now; the low parts are None where all are zero."""
        (found,) = self.numbers.means.computed([self])
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        high, low = self.halves()
        if self.kind != "rough" and np.isnan(high).any():
            raise OutOfRange("numbers beyond pairs of doubles")
        if self.kind == "pair" and not WIDER:
            raise OutOfRange("what is computed in doubles only")
        if self.kind == "pair":
            found = high.astype(LONG_DOUBLE)
            if low is not None:
                found += low
        else:
            found = high if self.kind == "rough" else high != 0
        return np.asarray(found) if dtype is None else np.asarray(found, dtype)

    def __bool__(self) -> bool:
        return bool(np.asarray(self))

    def __float__(self) -> float:
        return float(np.asarray(self))

    def __iter__(self) -> Any:
        return iter([self[i] for i in range(len(self))])

    def __getitem__(self, index: Any) -> Any:
        return self.moved(lambda part: part[index])

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        known = self.numbers.means.ufuncs
        if method == "__call__" and not options and ufunc in known:
            return known[ufunc](*map(self.like, inputs))
        return getattr(ufunc, method)(*map(plain, inputs), **{name: plain(value) for name, value in options.items()})

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        means = self.numbers.means
        if function in means.functions:
            return means.functions[function](self, *arguments, **options)
        return function(*map(plain, arguments), **{name: plain(value) for name, value in options.items()})

    def like(self, x: Any) -> Wide:
        """Another operand as an array of this kind."""
        if isinstance(x, Wide):
            return x
        if isinstance(x, (bool, np.bool_)):
            return self.numbers.filled(float(x), 0.0, (), "truth")
        if isinstance(x, (int, float)) and abs(x) <= 2**53 and (WIDER or not isinstance(x, np.float64)):
            return self.numbers.filled(float(x), 0.0, (), "rough")
        return self.numbers.given(x)

    # -- what is written down

    def reduced(self, what: str, axis: Any, keepdims: bool, kind: str) -> Wide:
        axes = tuple(range(self.ndim)) if axis is None else tuple(sorted(a % self.ndim for a in (axis if np.iterable(axis) else (axis,))))
        kept = tuple(1 if i in axes else n for i, n in enumerate(self.shape))
        shape = kept if keepdims else tuple(n for i, n in enumerate(self.shape) if i not in axes)
        if not axes:
            return self
        if not self.size:
            return self.numbers.array(np.asarray(getattr(np, what)(np.zeros(self.shape, self.dtype), axis=axes, keepdims=keepdims)))
        found = self.numbers.node(kind, kept, what, (self,), axes)
        return found if shape == kept else viewed(found, shape)

    def moved(self, function: Any) -> Any:
        """What moves entries, done to both doubles."""
        if self.what == "number":
            return self.numbers.filled(self.held[0], self.held[1], np.shape(function(np.broadcast_to(0.0, self.shape))), self.kind)
        high, low = self.halves()
        return self.numbers.made(self.kind, np.shape(moved := function(high)), (moved, None if low is None else function(low)))

    def put(self, places: Any, shape: Shape) -> Wide:
        """Entries added up at their places in an array of a shape."""
        high, low = viewed(self, np.shape(places)).halves()
        low = np.zeros(high.size) if low is None else low.reshape(-1)
        found = self.numbers.means.put(places.reshape(-1), high.reshape(-1), low, int(np.prod(shape)))
        return self.numbers.made(self.kind, shape, (found[0].reshape(shape), found[1].reshape(shape)))


def _shortened(x: np.ndarray) -> np.ndarray:
    """With 32 bits: what computing leaves has more, but where it is exact."""
    fraction, exponent = np.frexp(x)
    found: np.ndarray = np.ldexp(np.rint(np.ldexp(fraction, 32)), exponent - 32)
    return found


def _view(part: np.ndarray, shape: Shape) -> np.ndarray:
    """As `viewed` means it."""
    try:
        return np.broadcast_to(part, shape)
    except ValueError:
        return part.reshape(shape)


def viewed(x: Wide, shape: Shape) -> Wide:
    """The same entries in the same order, or repeated where extents are 1."""
    if x.shape == shape:
        return x
    if x.what == "number":
        high, low = x.held
        return x.numbers.filled(high, low, shape, x.kind)
    return x.numbers.node(x.kind, shape, "view", (x,))


def plain(x: Any) -> Any:
    """As NumPy's own arrays."""
    if isinstance(x, Wide):
        return np.asarray(x)
    return type(x)(plain(part) for part in x) if type(x) in (list, tuple) else x


def spread(operands: Sequence[Wide]) -> Shape:
    return np.broadcast_shapes(*(x.shape for x in operands))
