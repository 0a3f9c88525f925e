"""Names of libraries that are no functions of the catalogue: index makers, limits of floats, types, tests of entries."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, TypeMismatchError, UnknownNameError
from gradcli.graph.nodes import Expr
from gradcli.language import index_makers as makers
from gradcli.language.constructors import array, maximum_of, minimum_of
from gradcli.language.index_makers import OBJECTS, as_boolean, as_float, as_whole, converted, known_number
from gradcli.language.names import Thing, dtype_of
from gradcli.language.scope import Builder, routines
from gradcli.ops import registry
from gradcli.ops.arrays.shapes import reshape
from gradcli.ops.calling.prefixes import JAX, MATH, NUMPY, TORCH, DType
from gradcli.ops.constants import PI
from gradcli.ops.elementwise import arithmetic, logic
from gradcli.ops.structure import detach
from gradcli.spelling import words

_MISSING = object()


class FloatLimits(Thing):
    """``np.finfo(float)``, ``torch.finfo(torch.float32)``, ``sys.float_info``: what is known of floats of a precision."""

    def __init__(self, written: str, dtype: str, names: dict[str, str]) -> None:
        self.written, self.dtype, self.names = written, dtype, names

    def attribute(self, builder: Builder, name: str) -> Any:
        field = self.names.get(name)
        if field is None:
            raise UnknownNameError(f"{self.written} has no attribute '{name}'", help=f"it has {', '.join(self.names)}")
        return builder.graph.constant(float(getattr(np.finfo(self.dtype), field)))


class WholeLimits(Thing):
    """``np.iinfo(np.int64)``."""

    def __init__(self, written: str, dtype: str) -> None:
        self.written, self.dtype = written, dtype

    def attribute(self, builder: Builder, name: str) -> Any:
        if name not in ("max", "min", "bits"):
            raise UnknownNameError(f"{self.written} has no attribute '{name}'", help="it has max, min, bits")
        return builder.graph.constant(int(getattr(np.iinfo(self.dtype), name)))


_FIELDS = {name: name for name in ("eps", "max", "min", "tiny", "smallest_normal", "resolution", "bits", "epsneg", "smallest_subnormal")}
_PLATFORM = {"epsilon": "eps", "max": "max", "min": "tiny", "dig": "precision", "mant_dig": "nmant"}
_FLOATS = {"double": "float64", "float": "float64", "half": "float16"}
_WHOLE = {"long": "int64", "int": "int32"}


def _finfo(library: str) -> Callable[..., Any]:
    def finfo(builder: Builder, dtype: Any = None) -> Any:
        kind = DType(_default(builder, library)) if dtype is None else dtype_of(dtype)
        name = "" if kind is None else _FLOATS.get(kind.name, kind.name)
        if name not in ("float64", "float32", "float16"):
            raise ArgumentError("finfo takes a dtype of floats", help="write np.finfo(float).eps")
        return FloatLimits(f"finfo({name})", name, _FIELDS)

    return finfo


def _default(builder: Builder, library: str) -> str:
    return "float32" if library == TORCH else builder.scope.precision


def _iinfo(builder: Builder, dtype: Any) -> Any:
    kind = dtype_of(dtype)
    name = "" if kind is None else _WHOLE.get(kind.name, kind.name)
    if name not in ("int64", "int32", "int16", "int8", "uint8"):
        raise ArgumentError("iinfo takes a dtype of whole numbers", help="write np.iinfo(np.int64).max")
    return WholeLimits(f"iinfo({name})", name)


class TypeOfTensors(Thing, DType):
    """``torch.LongTensor``: a dtype, and a function that makes a tensor of it from a list."""

    def call(self, builder: Builder, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        made = array(builder, arguments[0]) if len(arguments) == 1 and not keywords else None
        if made is None or not made.shape:
            raise ArgumentError("a tensor is made of a list here", help="write torch.tensor([1., 2.])")
        return detach(made if self.name == "float" else converted(builder, made, DType(self.name), f"{self.name} numbers"))


_TENSOR_TYPES = {
    "Tensor": "float", "FloatTensor": "float", "DoubleTensor": "float", "LongTensor": "long", "IntTensor": "int", "BoolTensor": "bool",
    "HalfTensor": "half", "ByteTensor": "uint8",
}  # fmt: skip
_SEEDS = ("manual_seed", "seed", "default_rng", "PRNGKey", "set_printoptions", "set_default_dtype")
_FORMATS = ("contiguous_format", "preserve_format", "channels_last", "strided")

_TABLES = {
    NUMPY: routines({**makers.SHARED, "finfo": ("dtype", _finfo(NUMPY)), "iinfo": ("dtype|int_type", _iinfo)}),
    TORCH: routines(
        {
            **makers.OF_PYTORCH,
            "finfo": ("dtype|type", _finfo(TORCH)),
            "iinfo": ("dtype|type", _iinfo),
            "device": ("name|type, -index", lambda builder, name: name),
        }
    ),
}
_TABLES[JAX] = _TABLES[NUMPY]


def of_library(builder: Builder, library: str, name: str) -> Any:
    """Return what a library has under a name beside the catalogue; `MISSING` if nothing."""
    routine = _TABLES.get(library, {}).get(name)
    if routine is not None:
        return routine
    if name == "tau" and library == MATH:
        return builder.graph.constant(2) * builder.graph.constant(PI)
    if library in (NUMPY, JAX) and name in OBJECTS:
        return OBJECTS[name]
    if library == TORCH and name in _TENSOR_TYPES:
        return TypeOfTensors(_TENSOR_TYPES[name])
    if name in ("empty", "empty_like"):
        raise UnknownNameError(f"the entries of '{name}' are whatever was in memory", help=f"write {name.replace('empty', 'zeros')}(x)")
    if name in _SEEDS:
        raise UnknownNameError(f"'{name}' is not read: every run draws the same numbers", help="leave it out, and give --random-state 1")
    return name if library == TORCH and name in _FORMATS else MISSING


MISSING = _MISSING


class Interpreter(Thing):
    """``sys``, of which the limits of floats are known."""

    written = "sys"

    def attribute(self, builder: Builder, name: str) -> Any:
        if name == "float_info":
            return FloatLimits("sys.float_info", "float64", _PLATFORM)
        if name == "maxsize":
            return builder.graph.constant(sys.maxsize)
        raise UnknownNameError(f"unknown name 'sys.{name}'")


# -- Names of libraries that are known and out of the language, with what is to be written for them --


class KnownNameError(UnknownNameError):
    """The error of a name that is known, whose words say all."""


_FUNCTION = "it makes a function of a function, and a function is no value here"
_DERIVATIVES = {
    **dict.fromkeys(("grad", "value_and_grad"), "write grad(y, x) for the derivative of y by x"),
    **dict.fromkeys(("jacfwd", "jacrev", "jacobian"), "write jacobian(y, x)"),
    "hessian": "write hessian(y, x)",
    "jvp": "write jvp(y, x, v)",
    "vjp": "write vjp(y, x, v)",
}
_AT_ONCE = "leave it out: functions work on all entries at once"
_LOOP = "write sum(x**2) for a sum over all entries"
_WRAPPING = dict.fromkeys(words("vmap pmap jit checkpoint remat custom_vjp custom_jvp vectorize frompyfunc"), _AT_ONCE)
_LOOPS = dict.fromkeys(words("scan fori_loop while_loop map associative_scan"), _LOOP)
_SEARCHES = words("minimize minimize_scalar root fsolve brentq newton curve_fit least_squares quad odeint solve_ivp")
_BY_MODULES: dict[str, tuple[dict[str, str], str]] = {
    "jax": ({**_DERIVATIVES, **_WRAPPING}, _FUNCTION),
    "torch": ({"vmap": _AT_ONCE, "compile": _AT_ONCE}, _FUNCTION),
    "torch.func": ({**_DERIVATIVES, "vmap": _AT_ONCE}, _FUNCTION),
    "numpy": (dict.fromkeys(("vectorize", "frompyfunc"), _AT_ONCE), _FUNCTION),
    "jax.numpy": ({"vectorize": _AT_ONCE}, _FUNCTION),
    "jax.lax": (
        {**_LOOPS, "cond": "write where(x > 0, x, 0)"},
        _FUNCTION.replace("it makes a function of a function", "it takes functions"),
    ),
    **{
        path: (dict.fromkeys(_SEARCHES, "leave it out, and write the function itself: x**2"), "it runs a function over and over")
        for path in ("scipy.optimize", "scipy.integrate")
    },
}
_OF_WAVES = "write sum(x*cos(w*t)) and sum(x*sin(w*t)) for its two parts"


def refused(path: str, name: str) -> KnownNameError | None:
    """The error of a name that is known to be out of the language, None for others."""
    if path.endswith(".fft"):
        return KnownNameError(f"'{path}.{name}' is not in the language, which has no complex numbers", help=_OF_WAVES)
    names, why = _BY_MODULES.get(path, ({}, ""))
    help = names.get(name)
    return None if help is None else KnownNameError(f"'{path}.{name}' is not in the language: {why}", help=help)


# -- Python's own functions and names: ``int(x)``, ``range(n)``, ``abs``, ``divmod``, ``Ellipsis`` -


def _single(builder: Builder, x: Any, name: str) -> Expr:
    node = builder.value(x)
    if math.prod(node.shape) != 1:
        raise TypeMismatchError(f"{name}() takes one number, not an array of shape {node.shape}", help=f"write x.astype({name})")
    single: Expr = reshape(node, shape=()) if node.shape else node
    return single


def float_(builder: Builder, x: Any = 0) -> Any:
    """A Python float: of a string the number it is, of a number that number; who calls it says whether gradients stop there."""
    if isinstance(x, str):
        return builder.graph.constant(known_number(x))
    return as_float(builder, _single(builder, x, "float"), "float", "float")


def int_(builder: Builder, x: Any = 0) -> Any:
    """The whole number towards 0."""
    if isinstance(x, str):
        return builder.graph.constant(int(known_number(x)))
    return as_whole(builder, _single(builder, x, "int"))


def bool_(builder: Builder, x: Any = False) -> Any:
    """Return whether a number is not 0."""
    return as_boolean(_single(builder, x, "bool"))


def list_(builder: Builder, x: Any) -> Any:
    """The entries of a range, a tuple or an array, in order."""
    return list(x) if isinstance(x, (tuple, list)) else builder.value(x)


def divmod_(builder: Builder, x: Expr, y: Expr) -> Any:
    """The quotient, rounded down, and the rest."""
    return tuple(builder.graph.apply(registry.OPERATORS[sign], (x, y)) for sign in ("//", "%"))


# -- Names as sympy spells them: ``Abs``, ``Max``, ``Piecewise``, ``Rational(1, 3)`` ---------------


_PIECES = "write Piecewise((x, x > 0), (0, True))"


def heaviside(builder: Builder, x: Expr, h0: Any = 0.5) -> Any:
    """The unit step, 1/2 at 0 unless another value is given."""
    return registry.find("heaviside")(x, builder.value(h0))


def piecewise(builder: Builder, pieces: Any) -> Expr:
    """The first of the values whose condition holds; NaN where none does, as in sympy. Raises ArgumentError for what are no pairs."""
    if not pieces or any(not isinstance(piece, tuple) or len(piece) != 2 for piece in pieces):
        raise ArgumentError("Piecewise takes pairs of a value and a condition", help=_PIECES)
    result: Expr = builder.graph.constant(float("nan"))
    for piece in reversed(pieces):
        value, condition = (builder.value(part) for part in piece)
        if condition.kind != "bool":
            raise ArgumentError("the second of a pair is a condition", help=_PIECES)
        always = condition.is_constant and condition.payload is True
        result = value if always else logic.where(condition, value, result)
    return result


def rational(builder: Builder, p: Any, q: Any = 1) -> Any:
    """A quotient; of a string the number that it says."""
    if isinstance(p, str):
        try:
            return builder.graph.constant(float(Fraction(p.replace(" ", ""))))
        except (ValueError, ZeroDivisionError):
            raise ArgumentError(f"{p!r} is no number", help="write Rational(1, 3)") from None
    return builder.graph.apply(registry.OPERATORS["/"], (builder.value(p), builder.value(q)))


FUNCTIONS = routines({
    "float": ("x", float_),
    "int": ("x", int_),
    "bool": ("x", bool_),
    "range": ("start, stop, step", makers.range_),
    "slice": ("***parts", makers.slice_),
    "list": ("x", list_),
    "tuple": ("x", list_),
    "divmod": ("x, y", divmod_),
    "Abs": ("x", lambda builder, x: arithmetic.abs_(builder.value(x))),
    "Max": ("***values", lambda builder, values: maximum_of(builder, *values)),
    "Min": ("***values", lambda builder, values: minimum_of(builder, *values)),
    "Heaviside": ("x, h0", heaviside),
    "Piecewise": ("***pieces", piecewise),
    "piecewise": ("***pieces", piecewise),
    "Rational": ("p, q", rational),
})  # fmt: skip

NAMES = {"Ellipsis": ..., "sys": Interpreter()}
