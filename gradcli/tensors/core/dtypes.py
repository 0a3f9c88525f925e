"""dtypes, sizes and the type promotion of tensors, under PyTorch's names."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.graph.sweep import Parts
from gradcli.ops.calling.inputs import unmask
from gradcli.ops.operands import Operand
from gradcli.ops.reductions.sums import sum_to
from gradcli.ops.spec import Op
from gradcli.tensors.core.modes import device, state, warn_once

FLOATS = "fV"  # NumPy's kinds of tensors' float dtypes; bfloat16 is of kind V


NAMES: dict[str, dtype] = {}  # PyTorch's, of all that tensors hold
_BY_NUMPY: dict[np.dtype[Any], dtype] = {}


class dtype:
    """The type of a tensor's entries: prints as ``torch.float32``."""

    numpy: np.dtype[Any]
    is_complex = False

    def __init__(self, names: str, numpy: Any, tensor_type: str) -> None:
        self.name = names.split(maxsplit=1)[0]
        self.tensor_type = tensor_type
        if numpy is not None:
            self.numpy = np.dtype(numpy)
            _BY_NUMPY[self.numpy] = self
        NAMES.update(dict.fromkeys(names.split(), self))
        self.is_floating_point = numpy is None or self.numpy.kind == "f"

    def __getattr__(self, name: str) -> Any:
        """Return NumPy's dtype where another library has it.

        The library is imported when the dtype is first asked for.
        """
        if name != "numpy":
            raise AttributeError(f"'torch.dtype' object has no attribute {name!r}")
        import ml_dtypes

        self.numpy = np.dtype(getattr(ml_dtypes, self.name))
        _BY_NUMPY[self.numpy] = self
        return self.numpy

    @property
    def in_messages(self) -> str:
        """Return what PyTorch calls it in errors: Float, Long."""
        return self.tensor_type.removesuffix("Tensor")

    @property
    def itemsize(self) -> int:
        return self.numpy.itemsize

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> Any:
        return _dtype_named, (self.name,)  # each dtype exists only once


float16 = dtype("float16 half", np.float16, "HalfTensor")
bfloat16 = dtype("bfloat16", None, "BFloat16Tensor")
float32 = dtype("float32 float", np.float32, "FloatTensor")
float64 = dtype("float64 double", np.float64, "DoubleTensor")
uint8 = dtype("uint8", np.uint8, "ByteTensor")
int8 = dtype("int8", np.int8, "CharTensor")
int16 = dtype("int16 short", np.int16, "ShortTensor")
int32 = dtype("int32 int", np.int32, "IntTensor")
int64 = dtype("int64 long", np.int64, "LongTensor")
uint16 = dtype("uint16", np.uint16, "UInt16Tensor")
uint32 = dtype("uint32", np.uint32, "UInt32Tensor")
uint64 = dtype("uint64", np.uint64, "UInt64Tensor")
bool_ = dtype("bool", np.bool_, "BoolTensor")


def _dtype_named(name: str) -> dtype:
    return NAMES[name]


class _Default:
    """The dtype of floats that say nothing else."""

    dtype = float32


def get_default_dtype() -> dtype:
    return _Default.dtype


def set_default_dtype(d: object) -> None:
    """Set the default dtype.

    It is the dtype of new tensors made of Python floats, and of results of whole numbers.
    """
    if not isinstance(d, dtype) or not d.is_floating_point:
        said = "only floating-point types are supported as the default type"
        raise TypeError(
            f"{said}. This is {d!r}" if isinstance(d, dtype) else f"invalid dtype object: {said}"
        )
    _Default.dtype = d


class _Constants(threading.local):
    """Dtype of floats that a rule, or the body of a function, has of its own.

    It is None for the default.
    """

    dtype: np.dtype[Any] | None = None


_constants = _Constants()


def set_constants(kind: np.dtype[Any] | None) -> np.dtype[Any] | None:
    """Give constants the dtype of what they meet, as far as that is a float's.

    What they had before.
    """
    before = _constants.dtype
    _constants.dtype = kind if kind is None or kind.kind in FLOATS else None
    return before


def constant_float() -> np.dtype[Any]:
    """Return the dtype that a float without one has, here and now."""
    return _constants.dtype or _Default.dtype.numpy


def is_bfloat16(numpy: np.dtype[Any]) -> bool:
    """Return whether a dtype of NumPy's is bfloat16.

    The library that has bfloat16 is not imported for this: if it is not yet there, no dtype is.
    """
    return numpy.kind == "V" and numpy.name == "bfloat16" and numpy == bfloat16.numpy


def limits(numpy: np.dtype[Any]) -> Any:
    """Return what is known of a dtype of floats, as NumPy's finfo has it."""
    if numpy.kind == "f":
        return np.finfo(numpy)
    import ml_dtypes

    return ml_dtypes.finfo(numpy)  # type: ignore[no-untyped-call]


def of_numpy(numpy: np.dtype[Any]) -> dtype:
    """Our dtype for NumPy's. Raises TypeError for what tensors cannot hold."""
    try:
        return _BY_NUMPY[numpy]
    except KeyError:
        if is_bfloat16(numpy):
            return bfloat16
        raise TypeError(
            f"can't convert np.ndarray of type numpy.{numpy}. The supported types are: float64, "
            "float32, float16, int64, int32, "
            "int16, int8, uint64, uint32, uint16, uint8, and bool"
        ) from None


def of_pytorch(kind: Any) -> dtype | None:
    """Return our dtype for one of PyTorch's own, or None if it is not one.

    PyTorch's functions that our tensors pass through name its dtypes.
    """
    return NAMES.get(str(kind).removeprefix("torch.")) if type(kind).__module__ == "torch" else None


def as_numpy(kind: Any) -> np.dtype[Any]:
    """NumPy's dtype for one of ours, of PyTorch's, of NumPy's or of Python's (float, int, bool)."""
    if isinstance(kind, dtype):
        return kind.numpy
    foreign = of_pytorch(kind)
    if foreign is not None:
        return foreign.numpy
    if isinstance(kind, str):
        raise TypeError(f"argument 'dtype' must be torch.dtype, not str: {kind!r}")
    numpy: np.dtype[Any] = np.dtype(kind)  # float64 for Python's float
    return numpy


class Size(tuple[int, ...]):
    """The shape of a tensor: a tuple that prints as PyTorch's."""

    __slots__ = ()

    def numel(self) -> int:
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, item: Any) -> Any:
        part = super().__getitem__(item)
        return Size(part) if isinstance(item, slice) else part

    def __add__(self, other: Any) -> Any:
        return Size(super().__add__(tuple(other)))


_RANK = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2}


def result_type(operands: Sequence[Any]) -> np.dtype[Any]:
    """Return the common dtype of arrays and Python numbers, as PyTorch has it.

    Arrays with axes decide before those without, and these before Python numbers. A lower one
    counts only if it is of a higher kind (a boolean, a whole number, a float).
    """
    decided: list[np.dtype[Any] | None] = [None, None, None]
    for operand in operands:
        if hasattr(operand, "dtype") and not isinstance(operand, np.generic):
            level, found = (0 if operand.ndim else 1), operand.dtype
        elif isinstance(operand, bool):
            level, found = 2, np.dtype(np.bool_)
        elif isinstance(operand, int):
            level, found = 2, np.dtype(np.int64)
        else:
            level, found = 2, constant_float()
        before = decided[level]
        decided[level] = found if before is None else common_dtype(before, found)
    result: np.dtype[Any] | None = None
    for found_at_level in decided:
        if found_at_level is not None and (
            result is None or _RANK[found_at_level.kind] > _RANK[result.kind]
        ):
            result = found_at_level
    assert result is not None
    return result


def common_dtype(x: np.dtype[Any], y: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype that two dtypes have in common."""
    if _RANK[x.kind] != _RANK[y.kind]:
        return max(x, y, key=lambda d: _RANK[d.kind])  # whole numbers never widen floats
    if {x.kind, y.kind} == set(FLOATS) and x.itemsize == y.itemsize:
        return float32.numpy  # neither float16 nor bfloat16 can hold the other
    if x != y and (x in _BARE or y in _BARE):
        raise RuntimeError(
            "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
            f"{of_numpy(x).in_messages} and {of_numpy(y).in_messages}"
        )
    return np.promote_types(x, y)


# Whole numbers that are never promoted with other dtypes.
_BARE = frozenset({uint16.numpy, uint32.numpy, uint64.numpy})


def can_cast(found: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    """Return whether results of a dtype may be written to tensors of another one.

    The other one must be of no lower kind.
    """
    return wanted.kind in FLOATS or (
        found.kind not in FLOATS and (wanted.kind != "b" or found.kind == "b")
    )


def untaken(name: str, kind: np.dtype[Any]) -> NotImplementedError:
    """Return the error for tensors of a dtype that a function is not defined for."""
    return NotImplementedError(f"{name} takes no tensors of {of_numpy(kind).name}")


# -- Floats of 16 bits, float16 and bfloat16: stored as such, computed with in float32, and rounded
# once, as PyTorch's CPU does it.


def is_half(kind: np.dtype[Any]) -> bool:
    """Return whether floats of a dtype are of 16 bits."""
    return kind.itemsize == 2 and kind.kind in FLOATS


def holds_halves(kinds: Any) -> bool:
    """Return whether a result is of such floats, or one of several."""
    return any(map(is_half, kinds)) if isinstance(kinds, tuple) else is_half(kinds)


def widen(value: Any) -> Any:
    """Return an array, or each of several, in the dtype that it is computed with.

    Any other value is unchanged.
    """
    if isinstance(value, np.ndarray):
        return value.astype(np.float32) if is_half(value.dtype) else value
    if isinstance(value, Parts):
        return Parts.like(value, map(widen, value))
    return tuple(map(widen, value)) if type(value) is tuple else value


_TAKE_NUMBERS = {
    "sum",
    "difference",
    "product",
    "quotient",
}  # these take Python's numbers unrounded, next to 16-bit floats


def computed_with(op: Op, arrays: Sequence[Any], kind: np.dtype[Any] | None) -> list[Any]:
    """Return the operands of an operation as it computes with them.

    Numbers are rounded first, too, unless the operation's loops take them unrounded.
    """
    wide = [widen(array) for array in arrays]
    if op.elementwise and kind is not None and op.algebra not in _TAKE_NUMBERS:
        wide = [float(np.asarray(a, kind)) if type(a) is float else a for a in wide]
    return wide


def narrow_parts(parts: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
    """Return what a rule passes back to operands, in their shapes and dtypes.

    Each part is summed to its operand's shape before it is rounded to its dtype.
    """
    return [
        None if part is None or operand is None else _fit(np.asarray(part), operand)
        for part, operand in zip(parts, operands, strict=True)
    ]  # fmt: skip


def _fit(part: np.ndarray, operand: Any) -> np.ndarray:
    fitting = part if part.shape == operand.shape else sum_to(part, shape=operand.shape)
    return np.asarray(fitting, operand.dtype)


# -- What holds of a tensor as an array: its shape and dtype, and its entries as Python's and
# NumPy's numbers, lists and arrays.


_TO_A_NUMBER = (
    "Converting a tensor with requires_grad=True to a scalar may lead to unexpected "
    "behavior.\nConsider using tensor.detach() first."
)


def as_numbers(array: np.ndarray) -> Any:
    """Return the entries as Python's numbers, in nested lists.

    An array without axes gives one number.
    """
    return (array if array.dtype.kind != "V" else array.astype(np.float32)).tolist()


_Kind = dtype


class Entries(Operand):
    """Questions of PyTorch, Python and NumPy to an array, or of the one number in it."""

    __slots__ = ()
    array: np.ndarray
    requires_grad: Any  # a property
    name: str | None = None
    is_cpu = True
    is_cuda = False

    # -- what they are -----------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        return Size(self.array.shape)

    @property
    def dtype(self) -> _Kind:
        return of_numpy(self.array.dtype)

    @property
    def ndim(self) -> int:
        return self.array.ndim

    @property
    def device(self) -> device:
        return device("cpu")

    @property
    def itemsize(self) -> int:
        return self.array.itemsize

    @property
    def nbytes(self) -> int:
        return self.array.size * self.array.itemsize

    # -- as numbers --------------------------------------------------------------------------------

    def item(self) -> Any:
        if self.array.size != 1:
            raise RuntimeError(
                f"a Tensor with {self.array.size} elements cannot be converted to Scalar"
            )
        return as_numbers(self.array.reshape(()))

    def tolist(self) -> Any:
        return as_numbers(self.array)

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """Return the entries as an array that shares memory."""
        if self.requires_grad and state.recording and not force:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
                "instead."
            )
        if self.array.dtype.kind == "V":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        return (
            array.astype(dtype)
            if dtype is not None and dtype != array.dtype
            else array.copy()
            if copy
            else array
        )

    def __len__(self) -> int:
        if not self.array.ndim:
            raise TypeError("len() of a 0-d tensor")
        return len(self.array)

    def __contains__(self, value: Any) -> bool:
        if not isinstance(value, (Entries, bool, int, float, np.generic)):
            raise RuntimeError(
                "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
                f"{type(value)}."
            )
        return bool((self.array == (value.array if isinstance(value, Entries) else value)).any())

    def __bool__(self) -> bool:
        if self.array.size != 1:
            values = "more than one value" if self.array.size else "no values"
            raise RuntimeError(f"Boolean value of Tensor with {values} is ambiguous")
        return bool(self.item())

    def __float__(self) -> float:
        if self.requires_grad:
            warn_once(_TO_A_NUMBER)
        return float(self._single())

    def __int__(self) -> int:
        return int(self._single())

    def _single(self) -> Any:
        if self.array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def __index__(self) -> int:
        if self.array.size != 1 or self.array.dtype.kind not in "iub":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec) if self.array.ndim else format(self.item(), spec)


# -- Nested lists, numbers, arrays and tensors as one array, whose dtype is PyTorch's choice -----


def default_float() -> np.dtype[Any]:
    """NumPy's dtype of floats that say nothing else."""
    return get_default_dtype().numpy


def array_of(data: Any, dtype: Any) -> np.ndarray:
    """Return an array of nested lists, numbers, arrays or tensors.

    Python floats have the default dtype. The memory of an array may be shared.
    """
    data = unmask(data, "the array")
    if isinstance(data, Entries):
        array = data.array
    elif isinstance(data, (np.ndarray, np.generic)):
        array = np.asarray(data)
    else:
        try:
            array = np.array(_as_lists(data))
        except ValueError:
            raise ValueError("nested lists must have one length at every depth") from None
        if (array.dtype.kind in FLOATS and not _holds_numpy(data)) or (
            not array.size and array.dtype.kind not in "iub"
        ):
            with np.errstate(all="ignore"):  # what a dtype cannot hold becomes infinite
                array = np.array(
                    _as_lists(data), default_float() if dtype is None else as_numpy(dtype)
                )
        elif array.dtype.kind in "iu" and not _holds_numpy(data):
            array = array.astype(np.int64)
    if array.dtype.kind not in "fiub" and not is_bfloat16(array.dtype):
        # The error that PyTorch raises for dtypes that it does not know.
        error = RuntimeError if array.dtype.kind == "O" else TypeError
        raise error(
            f"tensors hold real numbers of at most 64 bits and booleans, not {array.dtype}: "
            f"{data!r:.40}"
        )
    if dtype is None:
        of_numpy(array.dtype)
        return array
    with np.errstate(all="ignore"):
        return array.astype(as_numpy(dtype), copy=False)


def _holds_numpy(data: Any) -> bool:
    """Return whether the first entry is NumPy's, which knows its dtype."""
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return isinstance(data, (np.generic, np.ndarray))


def _as_lists(data: Any) -> Any:
    """Nested sequences with tensors among them as lists of numbers."""
    if isinstance(data, Entries):
        return data.tolist()
    return [_as_lists(part) for part in data] if isinstance(data, (list, tuple, range)) else data


def legacy(data: Any, more: Any) -> np.ndarray:
    """Return the array that ``torch.Tensor(...)`` makes.

    It has the entries of a sequence in the default dtype, or it has the extents given.
    """
    if isinstance(data, int) and not isinstance(data, bool):
        return np.zeros((data,) if isinstance(more, bool) else (data, more), default_float())
    return np.array(array_of(data, get_default_dtype()))
