"""NumPy's functions on tensors, beside arrays, lists and numbers: one table by name.

A function is the catalogue's of that name, or what the table has: NumPy's own of the entries,
where results have no gradients; NumPy's own of the places of the entries, where it only moves
them; or one made of others, by whose calls gradients pass.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from operator import index
from types import SimpleNamespace
from typing import Any

import numpy as np

from gradcli.errors import UnreadArgumentError
from gradcli.namespace import ufuncs
from gradcli.namespace.compositions import letter_operands, line, moving
from gradcli.ops.calling.meanings import is_part, qualified_name
from gradcli.ops.calling.prefixes import NUMPY, SCIPY
from gradcli.ops.spec import Op
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.in_place import as_tensor
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.call_arguments import NUMPY_HOST, requires_grad
from gradcli.tensors.dispatch.library_calls import caller, record_of
from gradcli.tensors.torch.namespace import einsum
from gradcli.texts import words

# NumPy computes these in doubles, whereas PyTorch keeps whole numbers or refuses them.
_IN_DOUBLES = words("average corrcoef cov fabs float_power modf rint")
NO_GRADIENT = (
    "functions with out=... arguments don't support automatic differentiation, but one "
    "of the arguments requires grad."
)


# Functions that differ in the catalogue: `put` returns a new array there, and `ldexp` multiplies by
# 2**other, which may be no float.
_OTHERS = ("put", "ldexp")


# -- functions of the catalogue --------------------------------------------------------------------


def call_function(name: str, arguments: Any, keywords: dict[str, Any], function: Any = None) -> Any:
    """Call a function of NumPy's by its name.

    Raises TypeError, by name, for a function that there is not.
    """
    found = record_of(name, NUMPY)
    if found is None or name in _OTHERS:
        path = f"{getattr(function, '__module__', None) or 'numpy'}.{getattr(function, '__name__', name)}"
        raise TypeError(f"gradcli has no {path} on tensors; tensor.detach().numpy() is the array")
    keywords = {
        key: np.dtype(value) if isinstance(value, str) and key == "dtype" else value
        for key, value in keywords.items()
        if value is not np._NoValue and not (key == "where" and value is True)
    }
    out = keywords.get("out")
    record = found[0]
    if isinstance(out, np.ndarray):
        return write_result(
            out, call_function(name, arguments, {**keywords, "out": None}, function), True
        )
    arguments = tuple(map(strong, arguments))
    named = {k: strong(v) for k, v in keywords.items()}
    of_floats = isinstance(record, Op) and record.refuses and not record.integral
    if of_floats and "dtype" in named and np.dtype(named["dtype"]).kind not in dtypes.FLOATS:
        refuse(name, dtype=named["dtype"])
    if of_floats or name in _IN_DOUBLES:
        arguments = tuple(map(_float, arguments))
    if name in _IN_DOUBLES:
        named = {key: value if key == "out" else _float(value) for key, value in named.items()}
    return caller(name, NUMPY)(*arguments, **named)


def by_name(name: str, *arguments: Any, **keywords: Any) -> Any:
    return call_function(name, arguments, keywords)


def write_result(out: np.ndarray, result: Any, mask: Any) -> np.ndarray:
    """Write a result, which has no graph, to an array, and return the array."""
    if not isinstance(result, Tensor) or result.requires_grad:
        raise RuntimeError(NO_GRADIENT)
    np.copyto(out, result.array, where=arrays_of(mask))
    return out


def refuse(name: str, **given: Any) -> None:
    """Refuse, by name, keywords that would change what is computed."""
    for keyword, value in given.items():
        if value is not None and value is not np._NoValue:
            raise UnreadArgumentError(
                f"{name} of tensors does not support this {keyword}=", help="leave it out"
            )


def tensor_of(argument: Any) -> Any:
    """Return a tensor of an array, a number, or nested lists, whose gradients pass."""
    return as_tensor(NUMPY_HOST.value(argument))


def arrays_of(argument: Any) -> Any:
    """Arrays in the place of tensors, also in lists and tuples."""
    if isinstance(argument, Tensor):
        return argument.array
    is_list = type(argument) in (list, tuple)
    return type(argument)(map(arrays_of, argument)) if is_list else argument


def strong(argument: Any) -> Any:
    """Arrays of numbers as tensors, whose dtypes count."""
    is_array = isinstance(argument, np.ndarray) and argument.dtype.kind in "fiub"
    return as_tensor(argument) if is_array else argument


def _float(argument: Any) -> Any:
    """NumPy's means of whole numbers are floats."""
    whole = isinstance(argument, Tensor) and argument.array.dtype.kind in "iub"
    return argument.to(dtypes.float64) if whole else argument


# -- NumPy's own -----------------------------------------------------------------------------------


def _of_entries(function: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function of the entries, whose results are places, counts and truths."""
    return lambda *given, **named: function(
        *arrays_of(given), **{k: arrays_of(v) for k, v in named.items()}
    )


def of_constants(function: Callable[..., Any], first: int = 0) -> Callable[..., Any]:
    """Return NumPy's function of the entries, for arguments whose gradients would be lost.

    These are the arguments from ``first`` on; it refuses those that require grad.
    """

    def run(*given: Any, **named: Any) -> Any:
        if requires_grad([*given[first:], *named.values()]):
            raise TypeError(
                f"{function.__name__}: a tensor that requires grad loses its gradient here: write "
                "x.detach()"
            )
        found = _of_entries(function)(*given, **named)
        return Tensor(np.asarray(found)) if first else found

    return run


def _moving(function: Callable[..., Any], at: int = 0) -> Callable[..., Any]:
    """Return a function that only moves entries.

    It moves those of its argument at the place ``at``, an array or nested lists of arrays.
    """
    moved = moving(function, tensor_of, at)

    def run(*given: Any, out: None = None, **named: Any) -> Any:
        refuse(function.__name__, out=out)
        arguments = [
            argument if place == at else arrays_of(argument) for place, argument in enumerate(given)
        ]
        return moved(*arguments, **{key: arrays_of(value) for key, value in named.items()})

    return run


# -- functions made of others ----------------------------------------------------------------------


def _einsum(equation: Any, *operands: Any, optimize: Any = False, **keywords: Any) -> Any:
    """With letters, or with lists of labels: ``np.einsum(x, [0, 1], y, [1, 2], [0, 2])``."""
    refuse("einsum", **keywords)
    given: Any = (
        (equation, operands)
        if isinstance(equation, str)
        else letter_operands((equation, *operands), index)
    )
    return einsum(given[0], *map(tensor_of, given[1]))


def _transpose(a: Any, axes: Any = None) -> Any:
    return by_name(
        "transpose", a, **({} if axes is None else {"axes": tuple(np.atleast_1d(axes).tolist())})
    )


def _ordering(name: str) -> Callable[..., Any]:
    def run(
        x: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None
    ) -> Any:
        refuse(name, order=order)
        x, axis = (np.ravel(x), -1) if axis is None else (x, axis)
        return by_name(name, x, axis=axis, kind=kind)

    return run


def _unique(
    x: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
    axis: int | None = None, **keywords: Any,
) -> Any:  # fmt: skip
    """Different entries, or slices: the first of each, whose gradient is theirs."""
    flags: Any = (True, return_inverse, return_counts, axis)
    found: Any = np.unique(arrays_of(x), *flags, **keywords)
    kept = np.take(np.ravel(x) if axis is None else x, found[1], axis=axis or 0)
    results = (kept, *found[1 if return_index else 2 :])
    return results if len(results) > 1 else kept


def _linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None, axis: int = 0
) -> Any:  # fmt: skip
    """Numbers in equal distances between tensors."""
    first, last = map(
        _float, map(tensor_of, np.broadcast_arrays(tensor_of(start), tensor_of(stop)))
    )
    numbers, step = line(first, last, index(num), endpoint)
    made = np.moveaxis(numbers, 0, axis)
    made = made if dtype is None else made.astype(dtype)
    return (made, step) if retstep else made


def inner_products(x1: Any, x2: Any, /, *, axis: int = -1, **keywords: Any) -> Any:
    """``np.vecdot``: the axis is counted in each array by itself, and the others broadcast."""
    first, second = (np.moveaxis(tensor_of(x), axis, -1) for x in (x1, x2))
    return by_name("vecdot", first, second, **keywords)


def _astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    return x.astype(dtype, copy=copy)


def _parts(name: str) -> Callable[..., Any]:
    """Parts along an axis, in a list as NumPy has them."""
    return lambda *given, **named: list(call_function(name, given, named))


_ENTRIES = words("""
    shape ndim size allclose array_equal isclose isrealobj iscomplexobj argwhere flatnonzero
    argpartition nanargmax nanargmin lexsort searchsorted digitize isin array_equiv
    iscomplex isreal common_type can_cast any min_scalar_type all count_nonzero nonzero
    result_type may_share_memory shares_memory ravel_multi_index unravel_index
    tril_indices_from einsum_path triu_indices_from diag_indices_from
""")  # fmt: skip
_LIKE = ("zeros_like", "ones_like", "full_like", "empty_like")
_COUNTS = words("bincount histogram histogram_bin_edges histogram2d histogramdd")
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _of_entries(getattr(np, name)) for name in _ENTRIES},
    "linalg.matrix_rank": _of_entries(np.linalg.matrix_rank),
    **{name: of_constants(getattr(np, name)) for name in _COUNTS},
    **{name: of_constants(getattr(np, name), 1) for name in _LIKE},
    **{name: _moving(getattr(np, name)) for name in ("block", "delete", "roll")},
    "choose": _moving(np.choose, 1), "fftshift": _moving(np.fft.fftshift),
    "ifftshift": _moving(np.fft.ifftshift),
    "where": lambda condition, *choices: (
        by_name("where", condition, *choices) if choices else np.nonzero(arrays_of(condition))
    ),
    "transpose": _transpose, "astype": _astype, "einsum": _einsum,
    "sort": _ordering("sort"), "argsort": _ordering("argsort"), "unique": _unique,
    "real_if_close": lambda a, tol=100: a, "imag": np.zeros_like,
    "angle": lambda z, deg=False: np.degrees(by_name("angle", z)) if deg else by_name("angle", z),
    "linspace": _linspace,
    "linalg.vecdot": inner_products,
    **{name: _parts(name) for name in words("split array_split hsplit vsplit dsplit")},
}  # fmt: skip


# -- SciPy's functions on tensors: the catalogue's by their names, and some made of others -------


def _call_by_name(name: str, *arguments: Any, **keywords: Any) -> Any:
    named = {key: strong(value) for key, value in keywords.items()}
    return caller(name, SCIPY)(*map(strong, arguments), **named)


# -- scipy.special ---------------------------------------------------------------------------------


def _of_whole_orders(name: str) -> Callable[..., Any]:
    """Return a function that takes a whole order only; the catalogue's takes all orders."""

    def run(order: Any, x: Any) -> Any:
        if np.ndim(number := arrays_of(order)) or number % 1:
            raise ValueError(f"{name} takes one whole order: {name[0]}v takes others")
        return _call_by_name(name, order, x)

    return run


def _counts(name: str, target: str) -> Callable[..., Any]:
    """Return a function of counts, which is zero for what cannot be counted.

    The function of real numbers is not zero there.
    """

    def run(*counts: Any, exact: bool = False) -> Any:
        refuse(name, exact=exact or None)
        parts = np.broadcast_arrays(*map(tensor_of, counts))
        total, *taken = arrays_of(list(parts))
        outside = np.any([total < 0, *[(m < 0) | (m > total) for m in taken]], axis=0)
        return np.where(
            outside, 0.0, _call_by_name(target, *(np.where(outside, 1.0, n) for n in parts))
        )

    return run


_SPECIAL: dict[str, Callable[..., Any]] = {
    "comb": _counts("comb", "binom"), "perm": _counts("perm", "perm"),
    "factorial": _counts("factorial", "factorial"),
    "kn": _of_whole_orders("kn"), "yn": _of_whole_orders("yn"),
}  # fmt: skip
# Functions that differ in SciPy from those of these names in NumPy or PyTorch.
_OTHERWISE = ("linalg.lu_factor", "linalg.lu_solve", "signal.convolve")


@cache
def scipy_function(path: str) -> Any:
    """Return what stands at a path of SciPy's: a function, or a distribution with its functions.

    Raises AttributeError if there is nothing.
    """
    if path in _OTHERWISE:
        raise AttributeError(f"gradcli has no scipy.{path}")
    part, _, last = path.rpartition(".")
    if part == "special" and last in _SPECIAL:
        return _SPECIAL[last]
    if part == "stats" and is_part(last, SCIPY):
        return Part(path=path)
    if last == "rvs":  # SciPy draws them, and no gradient passes through
        from scipy import stats

        return of_constants(getattr(stats, part.removeprefix("stats.")).rvs)
    name = qualified_name(last, path, SCIPY)
    # A distribution's `mean`, for example, is not the function `mean` of its arguments.
    if record_of(name, SCIPY) is None or ("." in part and name == last):
        raise AttributeError(f"gradcli has no scipy.{path}")

    def run(*arguments: Any, **keywords: Any) -> Any:
        return _call_by_name(name, *arguments, **keywords)

    run.__name__ = run.__qualname__ = last
    return run


class Part(SimpleNamespace):
    """A part of SciPy, or a distribution (``norm.logpdf``), whose functions are found when asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return scipy_function(f"{self.path}.{name}")


# -- NumPy's protocols of tensors: ``np.sum(t, axis=1)``, ``np.sin(t)``, ``np.add.reduce(t)`` ----


_OF_WHOLE_NUMBERS = words("bitwise_and bitwise_or bitwise_xor invert left_shift right_shift bitwise_count gcd lcm")  # fmt: skip


def function_on_tensors(
    x: Tensor, function: Any, types: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """Apply a NumPy function, recorded as the operation of that name."""
    name = function.__name__
    of_matrices = function.__module__ == "numpy.linalg"
    path = f"linalg.{name}" if of_matrices else name
    if path in FUNCTIONS:
        return FUNCTIONS[path](*arguments, **keywords)
    return call_function(
        qualified_name(name, path, NUMPY) if of_matrices else name, arguments, keywords, function
    )


def ufunc_on_tensors(x: Tensor, ufunc: Any, how: str, *inputs: Any, **keywords: Any) -> Any:
    """Apply a ufunc or one of its methods, recorded as the operations of that name."""
    out = keywords.pop("out", None)
    out = out if out is None or len(out) > 1 else out[0]
    name = f"np.{ufunc.__name__}"
    if isinstance(out, tuple):
        raise UnreadArgumentError(
            f"{name} of tensors does not support out= for several results", help="leave it out"
        )
    if isinstance(out, Tensor):
        raise TypeError(f"{name}: tensors cannot be written to by out=; use the in-place methods")
    if how in ("at", "reduceat"):
        raise TypeError(
            f"{name}.{how} of tensors is not supported; tensor.detach().numpy() is the array"
        )
    mask = keywords.pop("where", True) if how == "__call__" else True
    result = (_call if how == "__call__" else partial(_method, how))(ufunc, *inputs, **keywords)
    if out is not None:
        return write_result(out, result, mask)
    if mask is not True:
        raise UnreadArgumentError(
            f"{name} does not support where= without out=",
            help=f"write np.where(mask, {name}(...), x), or give out=",
        )
    return result


def _call(
    ufunc: Any, *inputs: Any, order: str = "K", casting: Any = "same_kind", subok: bool = True,
    **keywords: Any,
) -> Any:  # fmt: skip
    name: str = ufunc.__name__
    whole = isinstance(inputs[0], Tensor) and inputs[0].array.dtype.kind in "iu"
    if name in _OF_WHOLE_NUMBERS or (name == "reciprocal" and whole):
        return Tensor(np.asarray(ufunc(*arrays_of(inputs), casting=casting, **keywords)))
    refuse(f"np.{name}", order=None if order in ("K", "A", "C") else order)
    refuse(f"np.{name}", casting=None if casting == "same_kind" else casting)
    made = _MADE.get(name, _SPECIAL.get(name))
    if made is not None and (name in _MADE or not keywords):
        return made(*inputs, **keywords)
    return call_function(name, inputs, keywords, ufunc)


def _method(how: str, ufunc: Any, x: Any, *arguments: Any, **keywords: Any) -> Any:
    """Apply ``np.add.reduce`` and its kin.

    dtype and out are put in their places, if they are given by position.
    """
    name = ufunc.__name__
    given = tensor_of(x)
    if how == "outer":
        return ufuncs.outer(
            lambda of, *operands: _call(ufunc, *operands, **keywords),
            name,
            given,
            tensor_of(arguments[0]),
        )
    keywords |= dict(zip(_PARAMETERS[how], arguments, strict=False))
    keywords = {
        key: value for key, value in keywords.items() if key != "out" and value is not np._NoValue
    }
    kind = keywords.pop("dtype", None)
    if keywords.get("where") is True:
        del keywords["where"]
    return getattr(ufuncs, how)(
        by_name, name, given if kind is None else given.astype(kind), **keywords
    )


_PARAMETERS = {
    "reduce": words("axis dtype out keepdims initial where"), "accumulate": ("axis", "dtype", "out"),
}  # fmt: skip
_MADE: dict[str, Callable[..., Any]] = {
    "vecdot": inner_products, "conjugate": np.positive,
}  # fmt: skip
