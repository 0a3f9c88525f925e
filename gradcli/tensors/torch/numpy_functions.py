"""NumPy's functions on tensors, beside arrays, lists and numbers: one table by name.

A function is the catalogue's of that name, or what the table has: NumPy's own of the entries,
where results have no gradients; NumPy's own of the places of the entries, where it only moves
them; or one made of others, by whose calls gradients pass.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from gradcli.errors import UnreadArgumentError
from gradcli.namespace.compositions import lettered, line, moving, ratios
from gradcli.ops.calling.prefixes import NUMPY
from gradcli.ops.spec import Op
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.casts import as_tensor
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.call_arguments import NUMPY_HOST, requires_grad
from gradcli.tensors.dispatch.library_calls import caller, known
from gradcli.tensors.torch.catalogue_functions import einsum

# What NumPy computes in doubles, where PyTorch keeps whole numbers, or refuses them.
_IN_DOUBLES = frozenset({"average", "corrcoef", "cov", "fabs", "float_power", "modf", "rint"})
NO_GRADIENT = "functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."


# -- functions of the catalogue ---------------------------------------------------------------------------------


def called(name: str, arguments: Any, keywords: dict[str, Any], function: Any = None) -> Any:
    """A function of NumPy's, by its name. Raises TypeError, by name, for what there is not."""
    found = known(name, NUMPY)
    if found is None:
        module = getattr(function, "__module__", None) or "numpy"
        path = f"{module}.{getattr(function, '__name__', name)}"
        raise TypeError(f"gradcli has no {path} on tensors; tensor.detach().numpy() is the array")
    keywords = {
        key: np.dtype(value) if isinstance(value, str) and key == "dtype" else value
        for key, value in keywords.items()
        if value is not np._NoValue and not (key == "where" and value is True)
    }
    out, record = keywords.get("out"), found[0]
    if isinstance(out, np.ndarray):
        return written(out, called(name, arguments, {**keywords, "out": None}, function), True)
    arguments, named = tuple(map(strong, arguments)), {k: strong(v) for k, v in keywords.items()}
    of_floats = isinstance(record, Op) and record.torch.refuses and not record.integral
    if of_floats and "dtype" in named and np.dtype(named["dtype"]).kind not in dtypes.FLOATS:
        refuse(name, dtype=named["dtype"])
    if of_floats or name in _IN_DOUBLES:
        arguments = tuple(map(_float, arguments))
    if name in _IN_DOUBLES:
        named = {key: value if key == "out" else _float(value) for key, value in named.items()}
    return caller(name, NUMPY)(*arguments, **named)


def by_name(name: str, *arguments: Any, **keywords: Any) -> Any:
    return called(name, arguments, keywords)


def written(out: np.ndarray, result: Any, mask: Any) -> np.ndarray:
    """An array to which a result is written, which has no graph."""
    if not isinstance(result, Tensor) or result.requires_grad:
        raise RuntimeError(NO_GRADIENT)
    np.copyto(out, result.array, where=plain(mask))
    return out


def refuse(name: str, **given: Any) -> None:
    """Refuse, by name, keywords that would change what is computed."""
    for keyword, value in given.items():
        if value is not None and value is not np._NoValue:
            said = f"{name} of tensors does not support this {keyword}="
            raise UnreadArgumentError(said, help="leave it out")


def tensor_of(argument: Any) -> Any:
    """A tensor of an array, a number, or nested lists, whose gradients pass."""
    return as_tensor(NUMPY_HOST.value(argument))


def plain(argument: Any) -> Any:
    """Arrays in the place of tensors, also in lists and tuples."""
    if isinstance(argument, Tensor):
        return argument.array
    is_list = type(argument) in (list, tuple)
    return type(argument)(map(plain, argument)) if is_list else argument


def strong(argument: Any) -> Any:
    """Arrays of numbers as tensors, whose dtypes count."""
    is_array = isinstance(argument, np.ndarray) and argument.dtype.kind in "fiub"
    return as_tensor(argument) if is_array else argument


def _float(argument: Any) -> Any:
    """NumPy's means of whole numbers are floats."""
    whole = isinstance(argument, Tensor) and argument.array.dtype.kind in "iub"
    return argument.to(dtypes.float64) if whole else argument


# -- NumPy's own ------------------------------------------------------------------------------------------------


def _of_entries(function: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function of the entries, whose results are places, counts and truths."""
    return lambda *given, **named: function(*plain(given), **{k: plain(v) for k, v in named.items()})


def of_constants(function: Callable[..., Any], first: int = 0) -> Callable[..., Any]:
    """The same, where gradients by the arguments from the first on would be lost."""

    def run(*given: Any, **named: Any) -> Any:
        if requires_grad([*given[first:], *named.values()]):
            said = f"{function.__name__}: a tensor that requires grad loses its gradient here"
            raise TypeError(f"{said}: write x.detach()")
        found = _of_entries(function)(*given, **named)
        return Tensor(np.asarray(found)) if first else found

    return run


def _moving(function: Callable[..., Any], at: int = 0) -> Callable[..., Any]:
    """A function that only moves entries: those of its argument at a place, an array or nested lists of arrays."""
    moved = moving(function, tensor_of, at)

    def run(*given: Any, out: None = None, **named: Any) -> Any:
        refuse(function.__name__, out=out)
        arguments = [argument if place == at else plain(argument) for place, argument in enumerate(given)]
        return moved(*arguments, **{key: plain(value) for key, value in named.items()})

    return run


# -- functions made of others -----------------------------------------------------------------------------------


def _einsum(equation: Any, *operands: Any, optimize: Any = False, **keywords: Any) -> Any:
    """With letters, or with lists of labels: ``np.einsum(x, [0, 1], y, [1, 2], [0, 2])``."""
    refuse("einsum", **keywords)
    if not isinstance(equation, str):
        equation, operands = lettered((equation, *operands), index)
    return einsum(equation, *map(tensor_of, operands))


def _along_axis(function: Callable[..., Any], axis: int, arr: Any, *given: Any, **named: Any) -> Any:
    """A function of each vector along an axis, in whose place its results stand."""
    moved = np.moveaxis(tensor_of(arr), axis, -1)
    rows, lead = np.reshape(moved, (-1, moved.shape[-1])), tuple(moved.shape[:-1])
    found = [tensor_of(function(row, *given, **named)) for row in rows]
    if not found:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    made = np.reshape(np.stack(found), lead + tuple(found[0].shape))
    inner, start = made.ndim - len(lead), axis % np.ndim(arr)
    places = [[*range(first, first + inner)] for first in (len(lead), start)]
    return np.moveaxis(made, *places)


def _piecewise(x: Any, condlist: Any, funclist: Any, *given: Any, **named: Any) -> Any:
    """Values, or functions of the entries for which a condition is the last to hold."""
    entries = tensor_of(x)
    chosen = np.piecewise(np.zeros(entries.shape), plain(condlist), [*range(1, len(funclist) + 1)])
    result = np.zeros_like(entries)
    for place, value in enumerate(funclist, 1):
        mask = chosen == place
        if mask.any():
            result[mask] = value(entries[mask], *given, **named) if callable(value) else value
    return result


def _transposed(a: Any, axes: Any = None) -> Any:
    given = {} if axes is None else {"axes": tuple(np.atleast_1d(axes).tolist())}
    return by_name("transpose", a, **given)


def _ordering(name: str) -> Callable[..., Any]:
    def run(x: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
        refuse(name, order=order)
        x, axis = (np.ravel(x), -1) if axis is None else (x, axis)
        return by_name(name, x, axis=axis, kind=kind)

    return run


def _partition(x: Any, kth: Any, axis: int | None = -1, kind: Any = "introselect", order: Any = None) -> Any:
    refuse("partition", order=order)
    x, axis = (np.ravel(x), -1) if axis is None else (x, axis)
    return np.take_along_axis(x, np.argpartition(plain(x), kth, axis, kind), axis)


def _unique(
    x: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
    axis: int | None = None, **keywords: Any,
) -> Any:  # fmt: skip
    """Different entries, or slices: the first of each, whose gradient is theirs."""
    flags: Any = (True, return_inverse, return_counts, axis)
    found: Any = np.unique(plain(x), *flags, **keywords)
    kept = np.take(np.ravel(x) if axis is None else x, found[1], axis=axis or 0)
    results = (kept, *found[1 if return_index else 2 :])
    return results if len(results) > 1 else kept


def _inserted(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """Return what is put in takes the array's dtype, as in an assignment."""
    given, put = tensor_of(arr), tensor_of(values)
    if put.requires_grad and not given.dtype.is_floating_point:
        said = "insert: floats that require grad cannot be put into whole numbers"
        raise UnreadArgumentError(said, help="make the array one of floats")
    joined = _moving(lambda pair: np.insert(pair[0], plain(obj), pair[1], axis))
    return joined([given, put.to(given.dtype)])


def _linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None, axis: int = 0
) -> Any:  # fmt: skip
    """Numbers in equal distances between tensors."""
    numbers, step = line(*_floats(start, stop), index(num), endpoint)
    made = _arranged(numbers, dtype, axis)
    return (made, step) if retstep else made


def _logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Any:  # fmt: skip
    return _arranged(np.power(base, line(*_floats(start, stop), index(num), endpoint)[0]), dtype, axis)


def _geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    first, last = _floats(start, stop)
    if np.any(np.sign(plain(first)) * np.sign(plain(last)) <= 0):
        raise ValueError("geomspace needs two ends of one sign, neither of them 0")
    return _arranged(ratios(first, last, index(num), endpoint), dtype, axis)


def _floats(*ends: Any) -> Any:
    return [_float(tensor_of(end)) for end in np.broadcast_arrays(*map(tensor_of, ends))]


def _arranged(numbers: Any, dtype: Any, axis: int) -> Any:
    made = np.moveaxis(numbers, 0, axis)
    return made if dtype is None else made.astype(dtype)


def inner_products(x1: Any, x2: Any, /, *, axis: int = -1, **keywords: Any) -> Any:
    """``np.vecdot``: the axis is counted in each array by itself, and the others broadcast."""
    first, second = (np.moveaxis(tensor_of(x), axis, -1) for x in (x1, x2))
    return by_name("vecdot", first, second, **keywords)


def _astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    return x.astype(dtype, copy=copy)


def _parts(name: str) -> Callable[..., Any]:
    """Parts along an axis, in a list as NumPy has them."""
    return lambda *given, **named: list(called(name, given, named))


_ENTRIES = (
    "shape", "ndim", "size", "allclose", "array_equal", "isclose", "isrealobj", "iscomplexobj",
    "argwhere", "flatnonzero", "argpartition", "nanargmax", "nanargmin", "lexsort", "searchsorted",
    "digitize", "isin", "array_equiv", "iscomplex", "isreal", "common_type", "can_cast", "any",
    "min_scalar_type", "all", "count_nonzero", "nonzero", "result_type", "may_share_memory",
    "shares_memory", "ravel_multi_index", "unravel_index", "tril_indices_from", "einsum_path",
    "triu_indices_from", "diag_indices_from",
)  # fmt: skip
_LIKE = ("zeros_like", "ones_like", "full_like", "empty_like")
_COUNTS = ("bincount", "histogram", "histogram_bin_edges", "histogram2d", "histogramdd")
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _of_entries(getattr(np, name)) for name in _ENTRIES},
    "linalg.matrix_rank": _of_entries(np.linalg.matrix_rank),
    **{name: of_constants(getattr(np, name)) for name in _COUNTS},
    **{name: of_constants(getattr(np, name), 1) for name in _LIKE},
    **{name: _moving(getattr(np, name)) for name in ("block", "delete", "roll")},
    "choose": _moving(np.choose, 1), "fftshift": _moving(np.fft.fftshift),
    "ifftshift": _moving(np.fft.ifftshift), "insert": _inserted,
    "where": lambda condition, *choices: (
        by_name("where", condition, *choices) if choices else np.nonzero(plain(condition))
    ),
    "transpose": _transposed, "astype": _astype, "einsum": _einsum,
    "apply_along_axis": _along_axis, "piecewise": _piecewise,
    "sort": _ordering("sort"), "argsort": _ordering("argsort"), "partition": _partition,
    "unique": _unique,
    "real_if_close": lambda a, tol=100: a, "imag": np.zeros_like,
    "angle": lambda z, deg=False: np.degrees(by_name("angle", z)) if deg else by_name("angle", z),
    "linspace": _linspace, "logspace": _logspace, "geomspace": _geomspace,
    "linalg.vecdot": inner_products,
    **{name: _parts(name) for name in ("split", "array_split", "hsplit", "vsplit", "dsplit")},
}  # fmt: skip
